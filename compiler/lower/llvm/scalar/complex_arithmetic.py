"""Arithmetic on complex elements, as pairs of their parts.

Formulas and special values are NumPy's. Products and sums of parts round each: with fused ones
z * conj(z) would not be real.
"""

from __future__ import annotations

import math
from typing import TypeAlias

from weft.compiler.lower.llvm import math as functions
from weft.compiler.lower.llvm.emit.function import Function, V
from weft.compiler.lower.llvm.math.polynomial import by_width
from weft.compiler.lower.llvm.scalar.arithmetic import exact
from weft.compiler.lower.llvm.scalar.logic import is_finite

Complex: TypeAlias = tuple[V, V]


def add(f: Function, z: Complex, w: Complex) -> Complex:
    return z[0] + w[0], z[1] + w[1]


def sub(f: Function, z: Complex, w: Complex) -> Complex:
    return z[0] - w[0], z[1] - w[1]


def mul(f: Function, z: Complex, w: Complex) -> Complex:
    with exact(f):
        return z[0] * w[0] - z[1] * w[1], z[0] * w[1] + z[1] * w[0]


def div(f: Function, z: Complex, w: Complex) -> Complex:
    """z / w by Smith's method: the divisor's smaller part is taken relative to the larger one."""
    with exact(f):
        size = f.abs(w[0]), f.abs(w[1])
        is_tall = ~size[0].ge(size[1])
        low, high = choose(f, is_tall, w, (w[1], w[0]))
        ratio = low / high
        scale = 1.0 / (high + low * ratio)
        wide = z[0] + z[1] * ratio, z[1] - z[0] * ratio
        tall = z[0] * ratio + z[1], z[1] * ratio - z[0]
        real, imag = choose(f, is_tall, tall, wide)
        by_zero = size[0].eq(0) & size[1].eq(0)
        return choose(f, by_zero, (z[0] / size[0], z[1] / size[0]), (real * scale, imag * scale))


def neg(f: Function, z: Complex) -> Complex:
    return f.neg(z[0]), f.neg(z[1])


def conj(f: Function, z: Complex) -> Complex:
    return z[0], f.neg(z[1])


def real(f: Function, z: Complex) -> V:
    return z[0]


def imag(f: Function, z: Complex) -> V:
    return z[1]


def pair(f: Function, x: V, y: V) -> Complex:
    return x, y


def absolute(f: Function, z: Complex) -> V:
    """|z|, infinite if either part is."""
    return functions.call(f, "hypot", *z)


def sign(f: Function, z: Complex) -> Complex:
    """z / |z|, 0 for 0; one infinite part leaves its own sign only, two leave NaN."""
    with exact(f):
        zero, one = f.const(0.0, z[0].type), f.const(1.0, z[0].type)
        # Halved where |z| might overflow though z does not.
        is_large = f.maximum(f.abs(z[0]), f.abs(z[1])).ge(by_width(z[0], 2.0**126, 2.0**1022))
        x, y = (f.select(is_large, part * 0.5, part) for part in z)
        size = absolute(f, (x, y))
        is_far = size.eq(math.inf)
        ends = [f.select(is_infinite(f, part), f.copysign(one, part), zero) for part in z]
        made = choose(f, is_far, (ends[0], ends[1]), (x / size, y / size))
        made = choose(f, size.eq(0), (zero, zero), made)
        is_lost = f.is_nan(size) | (is_infinite(f, x) & is_infinite(f, y))
        nan = f.const(math.nan, x.type)
        return choose(f, is_lost, (nan, nan), made)


def is_nan(f: Function, z: Complex) -> V:
    return f.is_nan(z[0]) | f.is_nan(z[1])


def is_all_finite(f: Function, z: Complex) -> V:
    return is_finite(f, z[0]) & is_finite(f, z[1])


def eq(f: Function, z: Complex, w: Complex) -> V:
    return z[0].eq(w[0]) & z[1].eq(w[1])


def ne(f: Function, z: Complex, w: Complex) -> V:
    return z[0].ne(w[0]) | z[1].ne(w[1])


def is_infinite(f: Function, x: V) -> V:
    return f.abs(x).eq(math.inf)


def choose(f: Function, condition: V, on_true: Complex, on_false: Complex) -> Complex:
    """One of two complex numbers."""
    return f.select(condition, on_true[0], on_false[0]), f.select(
        condition, on_true[1], on_false[1]
    )
