"""Exponentials, logarithms, roots and powers of complex elements.

Each is a formula in real functions that neither cancels nor overflows on the way, with the special
values of C's Annex G, which are NumPy's.
"""

from __future__ import annotations

import math

from weft.compiler.lower.llvm import math as functions
from weft.compiler.lower.llvm.emit.function import Function, V, Variable
from weft.compiler.lower.llvm.emit.types import F32, F64, I32
from weft.compiler.lower.llvm.math.polynomial import (
    any_lane,
    by_width,
    format_of,
    power_of_two,
    two_product,
    two_sum,
)
from weft.compiler.lower.llvm.scalar import complex_arithmetic as parts
from weft.compiler.lower.llvm.scalar.arithmetic import exact
from weft.compiler.lower.llvm.scalar.complex_arithmetic import Complex, choose, is_infinite
from weft.compiler.lower.llvm.scalar.logic import is_finite

# --- exponentials -------------------------------------------------------------------------------


def exp(f: Function, z: Complex) -> Complex:
    """e ** z."""
    return _turned(f, "exp", z, (functions.call(f, "cos", z[1]), functions.call(f, "sin", z[1])))


def exp2(f: Function, z: Complex) -> Complex:
    """2 ** z; the angle y * log(2) is taken in twice the precision."""
    y = z[1]
    with exact(f):
        angle, rest = two_product(f, y, math.log(2))
        rest = f.fma(y, by_width(y, -1.904654299957768e-09, 2.3190468138462996e-17), rest)
        # As a small angle only; where it is larger, y is far beyond what an angle should be.
        is_small = f.abs(rest).lt(by_width(y, 2.0**-12, 2.0**-27))
        rest = f.select(is_small, rest, f.const(0.0, y.type))
        cosine, sine = functions.call(f, "cos", angle), functions.call(f, "sin", angle)
        return _turned(f, "exp2", z, (cosine - rest * sine, sine + rest * cosine))


def _turned(f: Function, name: str, z: Complex, direction: Complex) -> Complex:
    """The real function of this name at x, in a direction of length 1 that y gives."""
    x, y = z
    with exact(f):
        size, again = _growth(f, name, x)
        turned = [size * part for part in direction]
        real, imag = (f.select(again, part * size, part) for part in turned)
        # Infinity, and the zero at -infinity, stay whatever the angle is.
        is_lost = is_infinite(f, x) & ~is_finite(f, y)
        real = f.select(is_lost, size, real)
        imag = f.select(is_lost & x.lt(0), size, imag)
        return real, f.select(y.eq(0), y, imag)


def _growth(f: Function, name: str, x: V) -> tuple[V, V]:
    """An exponential of x; where it might leave the range before it is turned back into it, its
    root, and a mask that says so.
    """
    again = f.abs(x).gt(by_width(x, 80.0, 700.0))
    return functions.call(f, name, f.select(again, x * 0.5, x)), again


def expm1(f: Function, z: Complex) -> Complex:
    """e ** z - 1: the real part is (e**x - 1) * cos(y) - 2 * sin(y / 2)**2."""
    x, y = z
    with exact(f):
        size, again = _growth(f, "exp", x)
        cosine, sine = (functions.call(f, turn, y) for turn in ("cos", "sin"))
        half = functions.call(f, "sin", y * 0.5)
        near = functions.call(f, "expm1", x) * cosine - 2.0 * half * half
        imag = size * sine
        imag = f.select(again, imag * size, imag)
        real = f.select(again & x.gt(0), size * cosine * size, near)
        return real, imag


# --- logarithms ---------------------------------------------------------------------------------


def log(f: Function, z: Complex) -> Complex:
    """The logarithm with an imaginary part in [-pi, pi]."""
    with exact(f):
        size = _log_size(f, z, _excess(f, z, f.const(-1.0, z[0].type)))
        return size, functions.call(f, "atan2", z[1], z[0])


def log2(f: Function, z: Complex) -> Complex:
    return _log_of_base(f, z, 2)


def log10(f: Function, z: Complex) -> Complex:
    return _log_of_base(f, z, 10)


def _log_of_base(f: Function, z: Complex, base: int) -> Complex:
    real, imag = log(f, z)
    with exact(f):
        return real * (1 / math.log(base)), imag * (1 / math.log(base))


def log1p(f: Function, z: Complex) -> Complex:
    """log(1 + z): with x as it is in |1 + z|**2 - 1 = 2x + x**2 + y**2."""
    x, y = z
    with exact(f):
        shifted = x + 1.0
        size = _log_size(f, (shifted, y), _excess(f, z, x * 2.0))
        size = f.select(x.eq(0) & size.eq(0), x, size)
        return size, functions.call(f, "atan2", y, shifted)


def _excess(f: Function, z: Complex, more: V) -> V:
    """x**2 + y**2 + more, of which most may cancel, so in twice the precision."""
    (p, p_low), (q, q_low) = (two_product(f, part, part) for part in z)
    is_swapped = q.gt(p)
    p, q = f.select(is_swapped, q, p), f.select(is_swapped, p, q)
    first, first_low = two_sum(f, p, more)
    high, high_low = two_sum(f, first, q)
    low, lowest = two_sum(f, p_low, q_low)
    total, rest = two_sum(f, high, low)
    return total + (rest + (lowest + (first_low + high_low)))


def _log_size(f: Function, z: Complex, excess: V) -> V:
    """log|z|, for |z| near 1 from |z|**2 - 1; else log(a) + log1p((b / a)**2) / 2 for the larger
    part a and the smaller b.
    """
    a, b = f.abs(z[0]), f.abs(z[1])
    is_swapped = b.gt(a)
    a, b = f.select(is_swapped, b, a), f.select(is_swapped, a, b)
    is_near = excess.gt(-0.5) & excess.lt(2.0)
    ratio = f.select(a.eq(0), b, f.divide(b, a))
    correction = functions.call(f, "log1p", f.select(is_near, excess, ratio * ratio)) * 0.5
    made = f.select(is_near, correction, functions.call(f, "log", a) + correction)
    return f.select(is_infinite(f, a) | is_infinite(f, b), f.const(math.inf, a.type), made)


# --- roots --------------------------------------------------------------------------------------


def sqrt(f: Function, z: Complex) -> Complex:
    """The root with a real part that is not negative, and an imaginary part of the sign of z's."""
    with exact(f):
        scale, unscale = _even_power(f, f.maximum(f.abs(z[0]), f.abs(z[1])))
        x, y = (f.abs(part) * scale for part in z)
        size = f.sqrt(f.fma(x, x, y * y))
        long = f.sqrt((x + f.select(is_infinite(f, x), x, size)) * 0.5) * unscale
        width = f.abs(z[1])
        short = f.select(long.eq(0), width, f.divide(width, long * 2.0))
        is_left = z[0].lt(0)
        real, imag = f.select(is_left, short, long), f.select(is_left, long, short)
        is_far = width.eq(math.inf)
        return f.select(is_far, width, real), f.copysign(f.select(is_far, width, imag), z[1])


def _even_power(f: Function, x: V) -> tuple[V, V]:
    """A power of four that brings x near 1, and the root of its inverse."""
    form = format_of(x)
    half = ((x.bits(form.integer) >> form.mantissa) - form.bias) >> 1
    limit = form.bias // 2
    half = f.maximum(f.minimum(half, limit), -limit)
    scale = power_of_two(f, form.bias - (half << 1), x)
    return scale, power_of_two(f, half + form.bias, x)


def rsqrt(f: Function, z: Complex) -> Complex:
    """1 / sqrt(z)."""
    one, zero = f.const(1.0, z[0].type), f.const(0.0, z[0].type)
    return parts.div(f, (one, zero), sqrt(f, z))


# --- powers -------------------------------------------------------------------------------------


def power(f: Function, z: Complex, w: Complex) -> Complex:
    """z ** w; small whole exponents by squaring, and 0 for z = 0 beside a positive real part.

    In f64 also for c64: an exponential magnifies the rounding of a large exponent.
    """
    if z[0].type.element is F32:
        real, imag = power(f, (z[0].to(F64), z[1].to(F64)), (w[0].to(F64), w[1].to(F64)))
        return real.to(F32), imag.to(F32)
    one, zero, nan = (f.const(number, z[0].type) for number in (1.0, 0.0, math.nan))
    made = exp(f, parts.mul(f, w, log(f, z)))
    is_whole = w[1].eq(0) & f.trunc(w[0]).eq(w[0]) & f.abs(w[0]).lt(100.0)
    made = choose(f, is_whole, _whole_power(f, z, f.select(is_whole, w[0], zero)), made)
    of_zero = f.select(w[0].gt(0), zero, nan)
    made = choose(f, z[0].eq(0) & z[1].eq(0), (of_zero, of_zero), made)
    return choose(f, w[0].eq(0) & w[1].eq(0), (one, zero), made)


def _whole_power(f: Function, z: Complex, exponent: V) -> Complex:
    """z to a whole number below 100, by squaring; a negative one gives the inverse at the end."""
    one, zero = f.const(1.0, z[0].type), f.const(0.0, z[0].type)
    size = f.abs(exponent).to(I32)
    made, square = (f.variable(one), f.variable(zero)), (f.variable(z[0]), f.variable(z[1]))
    place = f.variable(1, I32)
    with f.loop_while() as loop:
        bit = f.splat(place.get(), size.type.lanes)
        loop.stop_unless(any_lane(f, size.ge(bit)))
        base, before = _get(square), _get(made)
        # The first factor is taken as it is: infinity times the 1 before it would be NaN.
        is_first = (size & (bit - 1)).eq(0)
        after = choose(f, is_first, base, parts.mul(f, before, base))
        _set(made, choose(f, (size & bit).ne(0), after, before))
        _set(square, parts.mul(f, base, base))
        place.set(place.get() << 1)
    positive = _get(made)
    return choose(f, exponent.lt(0), parts.div(f, (one, zero), positive), positive)


def _get(places: tuple[Variable, Variable]) -> Complex:
    return places[0].get(), places[1].get()


def _set(places: tuple[Variable, Variable], z: Complex) -> None:
    places[0].set(z[0])
    places[1].set(z[1])
