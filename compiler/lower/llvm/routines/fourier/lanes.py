"""Fourier transforms in lanes: all stages of a length, on vectors with a transform in each lane."""

from __future__ import annotations

from dataclasses import replace

from weft.compiler.lower.llvm.emit.function import Function, Operand, V
from weft.compiler.lower.llvm.emit.types import I1, I64, Type
from weft.compiler.lower.llvm.routines.common import rows, sizes
from weft.compiler.lower.llvm.routines.fourier.stages import (
    RADICES,
    FourierStage,
    Planes,
    emit_stage,
    factors,
)


def transform_lanes(
    f: Function,
    type: Type,
    source: Planes,
    stride: Operand,
    buffers: tuple[Planes, Planes],
    length: Operand,
    roots: V,
) -> Planes:
    """Transform vectors that lie `stride` numbers apart, lane by lane; which of the buffers holds
    the result.
    """
    if not sizes.is_known(length):
        return _transform_lanes_later(f, type, source, stride, buffers, length, roots)
    rest, done = int(length), 1
    target, other = buffers
    if rest == 1:
        target.store(f, source.load(f, type, 0), 0)
    for radix in factors(rest):
        rest //= radix
        emit_stage(f, type, source, target, FourierStage(radix, rest, done, stride, roots))
        done *= radix
        source, stride, target, other = target, done * type.lanes, other, target
    return source if length != 1 else target


def _transform_lanes_later(
    f: Function,
    type: Type,
    source: Planes,
    stride: Operand,
    buffers: tuple[Planes, Planes],
    length: Operand,
    roots: V,
) -> Planes:
    """The same for a length that is known at run time."""
    first, second = buffers
    first.store(f, source.load(f, type, 0), 0)
    here = [f.variable(pointer) for pointer in source.pointers]
    step = f.variable(stride, I64)
    left, done = f.variable(length, I64), f.variable(1, I64)
    goes_first = f.variable(f.const(True, I1))
    with f.loop_while() as loop:
        loop.stop_unless(left.get().gt(1))
        name = rows.shared(f.module, "fft.radix", I64, [("length", I64)], _build_radix)
        radix = f.call(name, I64, [left.get()])
        left.set(f.divide(left.get(), radix))
        pairs = zip(first.pointers, second.pointers, strict=True)
        target = Planes(*[f.select(goes_first.get(), x, y) for x, y in pairs])
        given = Planes(here[0].get(), here[1].get())
        stage = FourierStage(radix, left.get(), done.get(), step.get(), roots)
        _emit_any_stage(f, type, given, target, stage)
        done.set(done.get() * radix)
        step.set(done.get() * type.lanes)
        goes_first.set(~goes_first.get())
        for variable, pointer in zip(here, target.pointers, strict=True):
            variable.set(pointer)
    # A transform of one element is the copy made at first.
    is_one = f.const(length, I64).eq(1)
    made = [
        f.select(is_one, pointer, variable.get())
        for variable, pointer in zip(here, first.pointers, strict=True)
    ]
    return Planes(made[0], made[1])


def _emit_any_stage(
    f: Function, type: Type, source: Planes, target: Planes, stage: FourierStage
) -> None:
    """A stage whose radix is known at run time."""
    radix = f.const(stage.radix, I64)
    is_prime = f.variable(f.const(True, I1))
    for known in RADICES:
        is_known = radix.eq(known)
        is_prime.set(is_prime.get() & ~is_known)
        with f.when(is_known):
            emit_stage(f, type, source, target, replace(stage, radix=known))
    with f.when(is_prime.get()):
        emit_stage(f, type, source, target, stage)


def _build_radix(f: Function) -> None:
    """The next radix of a length: 8, 4, 2, or the least odd factor."""
    (length,) = f.arguments
    found = f.variable(1, I64)
    for power in (2, 4, 8):
        with f.when((length & (power - 1)).eq(0)):
            found.set(power)
    with f.when(found.get().eq(1)):
        found.set(3)
        with f.loop_while() as loop:
            radix = found.get()
            loop.stop_if((radix * radix).gt(length))
            loop.stop_if(f.remainder(length, radix).eq(0))
            found.set(radix + 2)
        # No factor up to the square root: the length is prime.
        found.set(f.select((found.get() * found.get()).gt(length), length, found.get()))
    f.ret(found.get())
