"""Roots of unity: in tables made now for lengths that are known, at run time for others.

A root is exp(-2 pi i t / n), as forward transforms use it. Long lengths have two short tables
instead of one long one: a root is the product of one from each.
"""

from __future__ import annotations

import math as scalar_math
from typing import Any

import numpy as np

from weft.compiler.lower.llvm import math
from weft.compiler.lower.llvm.emit.arrays import Env
from weft.compiler.lower.llvm.emit.function import Function, Operand, V
from weft.compiler.lower.llvm.emit.types import F64, I1, I64, PTR, VOID, Type
from weft.compiler.lower.llvm.routines.common import rows, sizes
from weft.compiler.lower.llvm.routines.fourier.stages import Complex, multiply
from weft.compiler.record import record

NDArray = np.ndarray[Any, Any]


# --- known lengths ------------------------------------------------------------------------------


def roots_of_unity(numbers: NDArray, length: int) -> NDArray:
    """exp(-2 pi i t / length) for whole numbers t, as c128 with an error of one rounding."""
    quadrant, rest = np.divmod(4 * (np.asarray(numbers, np.int64) % length), length)
    # Only angles up to 45 degrees are computed; the longer float makes up for rounding the angle.
    is_low = 2 * rest <= length
    short = np.where(is_low, rest, length - rest).astype(np.longdouble)
    angle = short * (2 * np.arctan(np.longdouble(1)) / length)
    cosine, sine = np.cos(angle), np.sin(angle)
    cosine, sine = np.where(is_low, cosine, sine), np.where(is_low, sine, cosine)
    choices = [cosine, -sine, -cosine, sine], [sine, cosine, -sine, -cosine]
    real, imaginary = (np.choose(quadrant, choice) for choice in choices)
    return real.astype(np.float64) - 1j * imaginary.astype(np.float64)


def interleaved(f: Function, values: NDArray, type: Type) -> V:
    """The address of constant complex numbers, real and imaginary parts in turn."""
    held = values.astype(np.complex128 if type.bits == 64 else np.complex64)
    return V(f, f"@{f.module.data(held)}", PTR)


def planar(f: Function, values: NDArray, type: Type) -> tuple[V, V]:
    """The addresses of the real and the imaginary parts of constant complex numbers."""
    kind = np.float64 if type.bits == 64 else np.float32
    data = [f.module.data(part.astype(kind)) for part in (values.real, values.imag)]
    return V(f, f"@{data[0]}", PTR), V(f, f"@{data[1]}", PTR)


# --- run time -----------------------------------------------------------------------------------


def fill(
    f: Function, type: Type, target: V, count: Operand, step: Operand, length: Operand
) -> None:
    """Write the roots of t * step / length for all t below `count`; steps stay below `length`."""
    name = f"fft.roots.{type.element.suffix}"
    numbers = [f.const(x, I64) for x in (count, step, length)]
    parameters = [("target", PTR), ("count", I64), ("step", I64), ("length", I64)]

    def build(g: Function) -> None:
        table, total, by, whole = g.arguments
        with g.range(0, total) as t:
            for part, value in enumerate(_root(g, t * by, whole)):
                g.store(value.to(type.element), g.element(table, type, t * 2 + part))
        g.ret()

    rows.shared(f.module, name, VOID, parameters, build)
    f.call(name, VOID, [target, *numbers])


def _root(f: Function, number: V, length: V) -> Complex:
    """One root in f64, by the way of `roots_of_unity`."""
    quadrant, rest = f.divide(number * 4, length), f.remainder(number * 4, length)
    is_low = (rest * 2).le(length)
    short = f.select(is_low, rest, length - rest)
    angle = short.to(F64) * (f.const(scalar_math.pi / 2, F64) / length.to(F64))
    x, y = math.call(f, "cos", angle), math.call(f, "sin", angle)
    cosine, sine = f.select(is_low, x, y), f.select(is_low, y, x)
    is_odd, is_late = (quadrant & 1).ne(0), quadrant.ge(2)
    real, imaginary = f.select(is_odd, -sine, cosine), f.select(is_odd, cosine, sine)
    return f.select(is_late, -real, real), f.select(is_late, imaginary, -imaginary)


@record
class SplitRoots:
    """Any root of a length as the product of two from short tables, in f64."""

    low: V
    high: V
    shift: Operand

    @property
    def operands(self) -> list[Operand]:
        return [self.low, self.high, self.shift]

    def root(self, f: Function, number: V) -> Complex:
        shift = f.const(self.shift, I64)
        mask = (f.const(1, I64) << shift) - 1
        parts = [
            (
                f.load(f.element(table, F64, at * 2), F64),
                f.load(f.element(table, F64, at * 2 + 1), F64),
            )
            for table, at in ((self.low, number & mask), (self.high, number >> shift))
        ]
        return multiply(*parts)

    def lanes(self, f: Function, type: Type, first: V, step: V) -> Complex:
        """The roots of first, first + step, ... in lanes, or of the first one alone."""
        found = [self.root(f, first + step * lane) for lane in range(max(type.lanes, 1))]
        real, imaginary = (
            rows.vector_of(f, part).to(type.element) for part in zip(*found, strict=True)
        )
        return real, imaginary


def split_roots(f: Function, env: Env, length: Operand) -> tuple[SplitRoots, list[V]]:
    """The two tables of a length, and the memory to give back."""
    if sizes.is_known(length):
        half = split_shift(length)
        low = roots_of_unity(np.arange(1 << half), length)
        high = roots_of_unity(np.arange(0, length, 1 << half), length)
        return SplitRoots(interleaved(f, low, F64), interleaved(f, high, F64), half), []
    shift = (bit_length(f, f.const(length, I64)) + 1) >> 1
    count = f.const(1, I64) << shift
    memory = env.workspace(f, count * 32)
    second = f.offset(memory, count * 16)
    fill(f, F64, memory, f.minimum(count, length), 1, length)
    fill(f, F64, second, sizes.ceil_divide(f, length, count), count, length)
    return SplitRoots(memory, second, shift), [memory]


def bit_length(f: Function, x: V) -> V:
    """How many bits a positive number has."""
    given = [x, f.const(False, I1)]
    return f.const(64, I64) - f.call("llvm.ctlz.i64", I64, given, immediate=(1,))


def split_shift(length: int) -> int:
    """How many bits of a number the lower table takes."""
    return (length.bit_length() + 1) // 2
