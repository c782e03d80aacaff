"""Powers: x ** y, and the square roots.

x ** y = e ** (y * log|x|) needs the logarithm to about a dozen bits more than the result has, which
pairs of floats give.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from weft.compiler.lower.llvm.emit.function import Function, V
from weft.compiler.lower.llvm.math import exponential, logarithm
from weft.compiler.lower.llvm.math.exponential import (
    beyond,
    clamped,
    exp_parts,
    scaled,
    scaled_normal,
    whole_part,
)
from weft.compiler.lower.llvm.math.polynomial import (
    Pair,
    by_width,
    estrin,
    format_of,
    rarely,
    two_product,
)

# (2 * atanh(s) - 2 * s - 2/3 * s ** 3) / s ** 5 in powers of s ** 2: relative errors of atanh(s)
# 2 ** -36.7 and 2 ** -73.5.
_ATANH_SINGLE: Final = (0.40000152587890625, 0.2854709029197693, 0.23419633507728577)
_ATANH_DOUBLE: Final = (
    0.3999999999999998,
    0.2857142857144384,
    0.22222222217789597,
    0.18181818844030256,
    0.15384558424708933,
    0.1333626469053173,
    0.11675776032281746,
    0.11981798200372676,
)
_TWO_THIRDS_SINGLE: Final = (0.6666666865348816, -1.9868214925130208e-08)
_TWO_THIRDS_DOUBLE: Final = (0.6666666666666666, 3.700743415417188e-17)


class _Range(NamedTuple):
    """Where results leave the range of a format."""

    far: float  # such an exponent leads to 0, 1 or infinity, and so does a larger one
    normal: float  # below this |y * log|x|| the power is a normal number
    least: float  # at this the power is 0, or infinite ...
    most: float
    finite: float  # ... and so it is beyond this


_RANGE_SINGLE: Final = _Range(2.0**33, 87.0, -104.0, 89.0, 110.0)
_RANGE_DOUBLE: Final = _Range(2.0**64, 708.0, -746.0, 710.0, 750.0)


def sqrt(f: Function, x: V) -> V:
    """The square root, rounded correctly."""
    return f.sqrt(x)


def rsqrt(f: Function, x: V) -> V:
    """1 / sqrt(x): in f64 both rounded, as NumPy does; in f32 as if it were computed in f64."""
    if x.type.bits == 64:
        return 1 / f.sqrt(x)
    least = 2.0**-90
    special = ~(x.ge(least) & x.lt(math.inf))
    small = x.lt(least)
    y = rarely(f, special, [x], lambda: [f.select(small, x * 2.0**64, x)])[0]
    root = f.sqrt(y)
    inverse = 1 / root
    # y = root ** 2 + residue, and 1 / root = inverse * (1 + rest).
    residue, rest = f.fma(-root, root, y), f.fma(-root, inverse, 1.0)
    value = f.fma(inverse, f.fma(residue * inverse, inverse * -0.5, rest), inverse)

    def limits() -> list[V]:
        ordinary = x.gt(0.0) & x.lt(math.inf)
        return [f.select(ordinary, f.select(small, value * 2.0**32, value), 1 / f.sqrt(x))]

    return rarely(f, special, [value], limits)[0]


def pow(f: Function, x: V, y: V) -> V:
    """x ** y with the special cases of C."""
    limits = by_width(x, _RANGE_SINGLE, _RANGE_DOUBLE)
    special = logarithm.is_special(f, x) | ~f.abs(y).lt(limits.far)
    shifter = f.const(format_of(x).shifter, x.type)

    def careful() -> list[V]:
        return [*logarithm.normalised(f, f.abs(x)), clamped(f, y, -limits.far, limits.far)]

    base, offset, power = rarely(f, special, [x, shifter, y], careful)
    log, rest = precise_log(f, *logarithm.decomposed(f, base, offset))
    product, low = two_product(f, log, power)
    low = f.fma(rest, power, low)
    extreme = beyond(f, product, limits.normal, limits.normal)

    def bounded() -> list[V]:
        kept = f.select(f.abs(product).lt(limits.finite), low, 0.0)
        return [clamped(f, product, limits.least, limits.most), kept]

    product, low = rarely(f, extreme, [product, low], bounded)
    n, bits = whole_part(f, product, exponential.LOG2_E)
    first, second = by_width(x, exponential.LN2_SINGLE, exponential.LN2_DOUBLE)
    high, rest = exp_parts(f, f.fma(n, -first, product))
    tail = f.fma(n, -second, low)
    if x.type.bits == 32:  # where the low part of log(2) is so large that a square counts
        tail = f.fma(tail * 0.5, tail, tail)
    value = high + f.fma(tail, high + rest, rest)

    def limited() -> list[V]:
        return [_with_limits(f, x, y, scaled(f, value, bits))]

    return rarely(f, special | extreme, [scaled_normal(f, value, bits)], limited)[0]


def precise_log(f: Function, k: V, t: V) -> Pair:
    """k * log(2) + log(1 + t) to a dozen bits more than the format has, not normalised.

    log(1 + t) = s * (2 + z * (2/3 + z * curve)) for s = t / (2 + t) and z = s ** 2. Each sum is one
    fused operation, and what that rounds off is another one, beside the path to the result.
    """
    under = 2 + t
    inverse = 1 / under
    s = t * inverse
    s_low = inverse * f.fma(-s, t - (under - 2), f.fma(-s, under, t))
    z = s * s
    z_low = f.fma(s + s, s_low, f.fma(s, s, -z))
    curve = estrin(f, z, by_width(t, _ATANH_SINGLE, _ATANH_DOUBLE))
    third, third_low = by_width(t, _TWO_THIRDS_SINGLE, _TWO_THIRDS_DOUBLE)
    inner = f.fma(z, curve, third)
    inner_low = f.fma(z_low, curve, f.fma(z, curve, third - inner) + third_low)
    factor = f.fma(z, inner, 2.0)
    factor_low = f.fma(z, inner, 2 - factor) + f.fma(z, inner_low, z_low * inner)
    unit, unit_low = by_width(t, logarithm.LN2_SINGLE, logarithm.LN2_DOUBLE)
    whole = k * unit
    total = f.fma(s, factor, whole)
    lost = f.fma(s, factor, whole - total)
    return total, f.fma(s, factor_low, f.fma(s_low, factor, f.fma(k, unit_low, lost)))


def _with_limits(f: Function, x: V, y: V, value: V) -> V:
    """x ** y from |x| ** y, which is right for finite y and positive finite |x|."""
    away = f.abs(x)
    grows = away.gt(1.0) ^ y.lt(0.0)  # towards infinity as |y| does
    limit = f.select(grows, f.const(math.inf, x.type), 0.0)
    has_limit = away.eq(0.0) | away.eq(math.inf) | f.abs(y).eq(math.inf)
    value = f.select(has_limit, f.select(away.eq(1.0), f.const(1.0, x.type), limit), value)
    whole = f.trunc(y).eq(y)
    odd = whole & (f.trunc(y * 0.5) * 2).ne(y)
    negative = x.bits(format_of(x).integer).lt(0)
    value = f.select(negative & odd, -value, value)
    undefined = x.lt(0.0) & x.gt(-math.inf) & ~whole
    undefined = undefined | f.is_nan(x) | f.is_nan(y)
    value = f.select(undefined, f.const(math.nan, x.type), value)
    return f.select(x.eq(1.0) | y.eq(0.0), f.const(1.0, x.type), value)


FUNCTIONS: Final[Mapping[str, Callable[..., V]]] = {"sqrt": sqrt, "rsqrt": rsqrt, "pow": pow}
