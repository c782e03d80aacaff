"""Fourier transforms of rows of any length at all.

Lengths with a large prime factor become convolutions of a longer, better length: Bluestein's
algorithm. With c[j] = exp(-pi i j * j / n), a transform is c times the convolution of c * x with
the conjugate of c, since j * k = (j * j + k * k - (k - j) ** 2) / 2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from weft.compiler.lower.llvm.emit.arrays import Env, times
from weft.compiler.lower.llvm.emit.function import Function, Operand, V
from weft.compiler.lower.llvm.emit.types import I1, I64, Type
from weft.compiler.lower.llvm.routines.common import rows, sizes
from weft.compiler.lower.llvm.routines.fourier import roots as fourier_roots
from weft.compiler.lower.llvm.routines.fourier import rows as fourier_rows
from weft.compiler.lower.llvm.routines.fourier.rows import RowPlan
from weft.compiler.lower.llvm.routines.fourier.stages import (
    MOST_PRIME,
    Planes,
    conjugate,
    factors,
    multiply,
    scale,
)
from weft.compiler.record import record

# Up to this length what Bluestein's algorithm multiplies by is a table in the code.
MOST_TABLED: Final = 4096


def is_smooth(length: int) -> bool:
    """Whether a length has small prime factors only."""
    return max(factors(length), default=1) <= MOST_PRIME


@record
class Engine:
    """Transforms rows of one length in place. `plan` is for the length itself or, unless
    `is_direct`, for the longer one of a convolution with `spectrum` between products by `chirp`.
    """

    length: Operand
    plan: RowPlan
    is_direct: bool | V
    chirp: Planes | None = None
    spectrum: Planes | None = None
    memory: tuple[V, ...] = ()

    @property
    def operands(self) -> list[Operand]:
        """All that a function needs to know."""
        planes = [x for held in (self.chirp, self.spectrum) if held for x in held.pointers]
        return [self.length, self.is_direct, *planes, *self.plan.operands]

    def rebound(self, operands: Sequence[Operand]) -> Engine:
        """The engine with operands as another function knows them."""
        length, is_direct, *rest = operands
        assert isinstance(is_direct, bool | V)
        if self.chirp is None:
            return Engine(length, self.plan.rebound(rest), is_direct)
        pointers = [x for x in rest[:4] if isinstance(x, V)]
        plan = self.plan.rebound(rest[4:])
        return Engine(length, plan, is_direct, Planes(*pointers[:2]), Planes(*pointers[2:]))

    def run(self, f: Function, data: Planes, scratch: V, env: Env | None = None) -> None:
        """Transform a row in planes; on several threads at once if `env` is given."""

        def transform(planes: Planes) -> None:
            fourier_rows.transform(f, self.plan, planes, planes, scratch, env)

        if not isinstance(self.is_direct, V):
            if self.is_direct:
                transform(data)
            else:
                self._convolve(f, data, transform)
            return
        with f.otherwise(self.is_direct) as choice:
            transform(data)
            choice.otherwise()
            self._convolve(f, data, transform)

    def _convolve(self, f: Function, data: Planes, transform: Callable[[Planes], None]) -> None:
        assert self.chirp is not None and self.spectrum is not None
        whole = times(f, self.plan.height, self.plan.width)
        self._multiply(f, data, self.chirp, self.length)
        _clear(f, self.plan, data, self.length, whole)
        transform(data)
        self._multiply(f, data, self.spectrum, whole)
        transform(data.turned)
        self._multiply(f, data, self.chirp, self.length)

    def _multiply(self, f: Function, data: Planes, factor: Planes, count: Operand) -> None:
        def step(i: V, lanes: int) -> None:
            kind = self.plan.type.with_lanes(lanes)
            data.store(f, multiply(data.load(f, kind, i), factor.load(f, kind, i)), i)

        rows.vector_range(f, count, self.plan.lanes, step)


def _clear(f: Function, plan: RowPlan, data: Planes, begin: Operand, end: Operand) -> None:
    def step(i: V, lanes: int) -> None:
        zero = f.const(0.0, plan.type.with_lanes(lanes))
        data.store(f, (zero, zero), i)

    rows.vector_range(f, end, plan.lanes, step, begin)


# --- engines ------------------------------------------------------------------------------------


def make_engine(f: Function, env: Env, type: Type, length: Operand) -> Engine:
    """The engine of a length above 0; `memory` is to be given back."""
    if not sizes.is_known(length):
        return _engine_later(f, env, type, f.const(length, I64))
    if is_smooth(length):
        plan = fourier_rows.plan_rows(f, env, type, length)
        return Engine(length, plan, True, memory=plan.memory)
    whole = convolution_length(length)
    plan = fourier_rows.plan_rows(f, env, type, whole)
    if length > MOST_TABLED:
        chirp, spectrum = _factor_room(f, env, plan)
        _compute_factors(f, env, plan, length, chirp, spectrum)
        return Engine(length, plan, False, chirp, spectrum, (*plan.memory, chirp.real))
    table = fourier_roots.roots_of_unity(np.arange(length) ** 2, 2 * length)
    around = np.zeros(whole, np.complex128)
    around[:length] = table.conj()
    around[whole - length + 1 :] = table[:0:-1].conj()
    spectrum = Planes(*fourier_roots.planar(f, np.fft.fft(around) / whole, type))
    chirp = Planes(*fourier_roots.planar(f, table, type))
    return Engine(length, plan, False, chirp, spectrum, plan.memory)


def convolution_length(length: int) -> int:
    """The least good length that holds a convolution of a length with itself."""
    least = 2 * length - 1
    odds = (1, 3, 5, 9, 15, 25, 27, 45, 75, 81, 125, 135, 225, 243)
    return min(odd << (-(-least // odd) - 1).bit_length() for odd in odds)


def _engine_later(f: Function, env: Env, type: Type, length: V) -> Engine:
    """The engine of a length that is known at run time, whichever way suits it."""
    name = rows.shared(f.module, "fft.is_smooth", I1, [("length", I64)], _build_is_smooth)
    is_direct = f.call(name, I1, [length])
    bits = fourier_roots.bit_length(f, length * 2 - 2)
    whole = f.select(is_direct, length, f.const(1, I64) << bits)
    plan = fourier_rows.plan_rows(f, env, type, whole)
    chirp, spectrum = _factor_room(f, env, plan)
    with f.when(~is_direct):
        _compute_factors(f, env, plan, length, chirp, spectrum)
    return Engine(length, plan, is_direct, chirp, spectrum, (*plan.memory, chirp.real))


def _build_is_smooth(f: Function) -> None:
    (length,) = f.arguments
    left = f.variable(length)
    radix = f.variable(2, I64)
    with f.loop_while() as loop:
        loop.stop_unless(radix.get().le(MOST_PRIME))
        divides = f.remainder(left.get(), radix.get()).eq(0)
        with f.otherwise(divides) as choice:
            left.set(f.divide(left.get(), radix.get()))
            choice.otherwise()
            radix.set(radix.get() + 1)
    f.ret(left.get().eq(1))


def _factor_room(f: Function, env: Env, plan: RowPlan) -> tuple[Planes, Planes]:
    """Memory for the chirp and the spectrum; it is the first pointer's."""
    type, size = plan.type, plan.data_numbers(f)
    memory = env.workspace(f, times(f, size, 4 * type.itemsize))
    rest = [f.element(memory, type, times(f, size, i)) for i in range(1, 4)]
    return Planes(memory, rest[0]), Planes(rest[1], rest[2])


def _compute_factors(
    f: Function, env: Env, plan: RowPlan, length: Operand, chirp: Planes, spectrum: Planes
) -> None:
    """The chirp, and the transform of its conjugate divided by the length of the convolution."""
    type, whole = plan.type, times(f, plan.height, plan.width)
    split, tables = fourier_roots.split_roots(f, env, times(f, length, 2))
    _clear(f, plan, spectrum, 0, whole)
    with f.range(0, length) as j:
        root = split.root(f, f.remainder(j * j, times(f, length, 2)))
        value = root[0].to(type), root[1].to(type)
        chirp.store(f, value, j)
        spectrum.store(f, conjugate(value), j)
        # The place of -j; that of 0 is beyond the end, where nothing reads it.
        spectrum.store(f, conjugate(value), f.sub(whole, j))
    scratch = env.workspace(f, times(f, plan.scratch_numbers(f), type.itemsize))
    fourier_rows.prepare_scratch(f, plan, scratch)
    fourier_rows.transform(f, plan, spectrum, spectrum, scratch)
    factor = f.const(1.0, type) / f.const(whole, I64).to(type)
    with f.range(0, whole) as k:
        spectrum.store(f, scale(spectrum.load(f, type, k), factor), k)
    for held in (scratch, *tables):
        env.free(f, held)
