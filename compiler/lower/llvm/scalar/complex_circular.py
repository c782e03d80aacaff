"""Circular and hyperbolic functions of complex elements, and their inverses.

After Kahan, "Branch cuts for complex elementary functions" (1987): signed zeros tell the sides of
a cut. Special values are those of C's Annex G, which are NumPy's. A circular function is the
hyperbolic one with the parts exchanged on the way in and out.
"""

from __future__ import annotations

import math

from weft.compiler.lower.llvm import math as functions
from weft.compiler.lower.llvm.emit.function import Function, V
from weft.compiler.lower.llvm.math.polynomial import by_width
from weft.compiler.lower.llvm.scalar.arithmetic import exact
from weft.compiler.lower.llvm.scalar.complex_arithmetic import Complex, choose, is_infinite
from weft.compiler.lower.llvm.scalar.complex_powers import sqrt
from weft.compiler.lower.llvm.scalar.logic import is_finite


def sin(f: Function, z: Complex) -> Complex:
    return _swapped(sinh(f, _swapped(z)))


def cos(f: Function, z: Complex) -> Complex:
    return cosh(f, (f.neg(z[1]), z[0]))


def tan(f: Function, z: Complex) -> Complex:
    return _swapped(tanh(f, _swapped(z)))


def asinh(f: Function, z: Complex) -> Complex:
    return _swapped(asin(f, _swapped(z)))


def atan(f: Function, z: Complex) -> Complex:
    return _swapped(atanh(f, _swapped(z)))


def _swapped(z: Complex) -> Complex:
    return z[1], z[0]


# --- hyperbolic ---------------------------------------------------------------------------------


def _hyperbolic(f: Function, x: V) -> tuple[V, V, V, V]:
    """sinh(x), cosh(x), a factor that both still need where they might overflow, and e**|x| (its
    root where there is such a factor).
    """
    size = f.abs(x)
    again = size.gt(by_width(x, 80.0, 700.0))
    less = functions.call(f, "expm1", f.select(again, size * 0.5, size))
    growth = less + 1.0
    factor = f.select(again, growth, f.const(1.0, x.type))
    half = growth * 0.5
    cosh = f.select(again, half, half + f.divide(f.const(0.5, x.type), growth))
    sinh = f.select(again, half, (less + f.divide(less, growth)) * 0.5)
    return f.copysign(sinh, x), cosh, factor, growth


def sinh(f: Function, z: Complex) -> Complex:
    """sinh(x) cos(y) + i cosh(x) sin(y)."""
    x, y = z
    with exact(f):
        sine, cosine = (functions.call(f, turn, y) for turn in ("sin", "cos"))
        first, second, factor, _ = _hyperbolic(f, x)
        real, imag = first * cosine * factor, second * sine * factor
        is_end = ~is_finite(f, y) & (x.eq(0) | is_infinite(f, x))
        return f.select(is_end, x, real), f.select(y.eq(0), y, imag)


def cosh(f: Function, z: Complex) -> Complex:
    """cosh(x) cos(y) + i sinh(x) sin(y)."""
    x, y = z
    with exact(f):
        sine, cosine = (functions.call(f, turn, y) for turn in ("sin", "cos"))
        first, second, factor, _ = _hyperbolic(f, x)
        real, imag = second * cosine * factor, first * sine * factor
        is_turned = ~is_finite(f, y)
        real = f.select(is_turned & is_infinite(f, x), f.abs(x), real)
        imag = f.select(is_turned & x.eq(0), x, imag)
        return real, f.select(y.eq(0), y * f.copysign(f.const(1.0, x.type), x), imag)


def tanh(f: Function, z: Complex) -> Complex:
    """(sinh(x) cosh(x) + i sin(y) cos(y)) / (sinh(x)**2 + cos(y)**2)."""
    x, y = z
    with exact(f):
        sine, cosine = (functions.call(f, turn, y) for turn in ("sin", "cos"))
        first, second, factor, growth = _hyperbolic(f, x)
        is_far = f.abs(x).gt(by_width(x, 11.0, 22.0))
        bottom = first * first + cosine * cosine
        one = f.const(1.0, x.type)
        real = f.select(is_far, f.copysign(one, x), first * second / bottom)
        decay = f.divide(f.const(2.0, x.type), growth)
        far = sine * cosine * decay / factor * decay / factor
        imag = f.select(is_far, far, sine * cosine / bottom)
        real = f.select(x.eq(0) & ~is_finite(f, y), x, real)
        is_end = is_infinite(f, x) & ~is_finite(f, y)
        imag = f.select(is_end, f.copysign(f.const(0.0, x.type), y), imag)
        return real, f.select(y.eq(0), y, imag)


# --- inverse ------------------------------------------------------------------------------------


def asin(f: Function, z: Complex) -> Complex:
    x, y = z
    with exact(f):
        low, high, imag = _roots(f, z)
        # Both products of the root of 1 - z**2 have one sign.
        cosine = low[0] * high[0] - low[1] * high[1]
        is_end = is_infinite(f, x) | is_infinite(f, y)
        sides = choose(f, is_end, (x, f.abs(y)), (_shrunk(f, z)[0][0], cosine))
        real = functions.call(f, "atan2", *sides)
        imag = f.select(is_end, f.copysign(f.const(math.inf, x.type), y), imag)
        real = f.select(x.eq(0), x, real)
        return choose(f, _is_small(f, z), z, (real, imag))


def acos(f: Function, z: Complex) -> Complex:
    x, y = z
    with exact(f):
        low, high, imag = _roots(f, z)
        is_end = is_infinite(f, x) | is_infinite(f, y)
        sides = choose(f, is_end, (f.abs(y), x), (low[0], high[0]))
        angle = functions.call(f, "atan2", *sides)
        real = f.select(is_end, angle, angle * 2.0)
        real = f.select(x.eq(0) & f.is_nan(y), f.const(math.pi / 2, x.type), real)
        imag = f.select(is_end, f.copysign(f.const(math.inf, x.type), y), imag)
        return real, f.neg(f.select(_is_small(f, z), y, imag))


def acosh(f: Function, z: Complex) -> Complex:
    """acos(z) turned by a right angle, into the right half plane."""
    real, imag = acos(f, z)
    return f.abs(imag), f.copysign(real, z[1])


def _is_small(f: Function, z: Complex) -> V:
    """Whether z is so close to 0 that it is its own sine."""
    limit = by_width(z[0], 2.0**-13, 2.0**-28)
    return f.abs(z[0]).lt(limit) & f.abs(z[1]).lt(limit)


def _shrunk(f: Function, z: Complex) -> tuple[Complex, V, V]:
    """z times a power of two, that power as its unit, and how much asinh lost by it; the power is 1
    unless |z| is so large that its double might overflow.
    """
    large = f.maximum(f.abs(z[0]), f.abs(z[1])).gt(by_width(z[0], 2.0**100, 2.0**1000))
    unit = f.select(large, f.const(2.0**-20, z[0].type), f.const(1.0, z[0].type))
    lost = f.select(large, f.const(20 * math.log(2), z[0].type), f.const(0.0, z[0].type))
    return (z[0] * unit, z[1] * unit), unit, lost


def _roots(f: Function, z: Complex) -> tuple[Complex, Complex, V]:
    """The roots of 1 - z and 1 + z, and from them the imaginary part of asin(z)."""
    (x, y), unit, lost = _shrunk(f, z)
    low, high = sqrt(f, (unit - x, f.neg(y))), sqrt(f, (unit + x, y))
    # Again both products have one sign.
    inverse = functions.call(f, "asinh", low[0] * high[1] - low[1] * high[0])
    return low, high, inverse + f.copysign(lost, inverse)


def atanh(f: Function, z: Complex) -> Complex:
    """log1p(4x / ((1 - x)**2 + y**2)) / 4 + i atan2(2y, (1 - x)(1 + x) - y**2) / 2."""
    x, y = z
    with exact(f):
        size = f.abs(x)
        real = f.copysign(_atanh_size(f, size, functions.call(f, "hypot", 1.0 - size, y)), x)
        across = ((1.0 - size) * (1.0 + size) - y * y) * 0.5
        imag = functions.call(f, "atan2", y, across) * 0.5
        is_end = is_infinite(f, x) | is_infinite(f, y)
        zero = f.copysign(f.const(0.0, x.type), x)
        right = f.copysign(f.const(math.pi / 2, x.type), y)
        real = f.select(is_end | (x.eq(0) & f.is_nan(y)), zero, real)
        return real, f.select(is_end & ~f.is_nan(y), right, imag)


def _atanh_size(f: Function, x: V, distance: V) -> V:
    """log1p(4x / distance**2) / 4; close to 1, where the square would underflow,
    log(2 / distance) / 2 in numbers that do not overflow.
    """
    is_close = distance.lt(by_width(x, 2.0**-50, 2.0**-200))
    unit = by_width(x, 2.0**-24, 2.0**-100)
    close = f.divide(f.const(unit, x.type), distance)
    apart = f.divide(f.divide(x, distance) * 4.0, distance)
    made = functions.call(f, "log1p", f.select(is_close, close, apart))
    return f.select(is_close, (made + math.log(2 / unit)) * 0.5, made * 0.25)
