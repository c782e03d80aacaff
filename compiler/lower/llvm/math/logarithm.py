"""Logarithms: x = 2 ** k * (1 + t) with 1 + t between sqrt(1/2) and sqrt(2).

Arguments that are no positive normal numbers take a rare path.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final

from weft.compiler.lower.llvm.emit.function import Function, V
from weft.compiler.lower.llvm.math import exponential
from weft.compiler.lower.llvm.math.polynomial import (
    by_width,
    fast_two_sum,
    format_of,
    horner,
    power_of_two,
    rarely,
    two_chains,
    two_product,
    two_sum,
)

# 2 * (atanh(s) / s - 1) / s ** 2 in powers of s ** 2: s ** 2 times it has an error of 2 ** -58.5.
_ATANH: Final = (
    0.6666666666666734,
    0.39999999999416525,
    0.28571428742071636,
    0.22222198599214424,
    0.1818356321416021,
    0.1531407424127043,
    0.14795751184980416,
)
# (log(1 + t) - t + t ** 2 / 2) / t ** 3: relative error of log(1 + t) 2 ** -27.3.
_LOG1P: Final = (
    0.3333333134651184,
    -0.2500081956386566,
    0.20001240074634552,
    -0.16623401641845703,
    0.14201608300209045,
    -0.13159753382205963,
    0.12762132287025452,
    -0.07635915279388428,
)
# Constants in two parts; of logarithms of 2 the first is so short that k times it is exact.
LN2_SINGLE: Final = (0.693145751953125, 1.428606765330187e-06)
LN2_DOUBLE: Final = (0.6931471805598903, 5.497923018708371e-14)
_LOG10_2_SINGLE: Final = (0.30103302001953125, -3.024355464731343e-06)
_LOG10_2_DOUBLE: Final = (0.30102999566395283, 2.8363394551044964e-14)
_LOG2_E_SINGLE: Final = (1.4426950216293335, 1.925963033500011e-08)
_LOG2_E_DOUBLE: Final = (1.4426950408889634, 2.0355273740931033e-17)
_LOG10_E_SINGLE: Final = (0.4342944920063019, -1.0103049952192578e-08)
_LOG10_E_DOUBLE: Final = (0.4342944819032518, 1.098319650216765e-17)


def exponent(f: Function, x: V) -> V:
    """k of x = 2 ** k * (1 + t) as an integer, for positive normal x."""
    form = format_of(x)
    root_half = by_width(x, 0x3F3504F3, 0x3FE6A09E667F3BCD)
    return (x.bits(form.integer) - root_half) >> form.mantissa


def number(f: Function, k: V, shifter: V) -> V:
    """An integer as a float; a shifter other than the format's makes it less by so much."""
    return (k + format_of(shifter).shifter_bits).bits(shifter.type) - shifter


def decomposed(f: Function, x: V, shifter: V) -> tuple[V, V]:
    """k as `number` gives it and t of x = 2 ** k * (1 + t), for positive normal x."""
    form = format_of(x)
    k = exponent(f, x)
    m = (x.bits(form.integer) - (k << form.mantissa)).bits(x.type)
    return number(f, k, shifter), m - 1.0


def log1p_tail(f: Function, t: V) -> V:
    """log(1 + t) - t for 1 + t between sqrt(1/2) and sqrt(2)."""
    square = t * t
    if t.type.bits == 32:
        return f.fma(square * t, two_chains(f, t, square, _LOG1P), square * -0.5)
    s = t / (2 + t)
    z = s * s
    half = square * 0.5
    return f.fma(s, f.fma(z, horner(f, z, _ATANH), half), -half)


def is_special(f: Function, x: V) -> V:
    """Whether x is no positive normal number."""
    form = format_of(x)
    least = 1 << form.mantissa
    return (x.bits(form.unsigned) - least).ge(form.exponent_mask - least)


def normalised(f: Function, x: V) -> list[V]:
    """Subnormal x scaled up, and the shifter that takes the scale out of k again."""
    form = format_of(x)
    up = form.mantissa + 2
    small = x.lt(form.least_normal)
    shifter = f.select(small, f.const(form.shifter + up, x.type), form.shifter)
    return [f.select(small, x * 2.0**up, x), shifter]


def _with_limits(f: Function, x: V, value: V, pole: float) -> V:
    """The logarithm with what it is at its pole, below that, at infinity and NaN."""
    outside = f.select(x.eq(pole), f.const(-math.inf, x.type), math.nan)
    return f.select(x.gt(pole), f.select(x.lt(math.inf), value, x), outside)


def logarithm(f: Function, x: V, combine: Callable[[V, V], V]) -> V:
    """A logarithm of x = 2 ** k * (1 + t) from `combine(k, t)`."""
    special = is_special(f, x)
    shifter = f.const(format_of(x).shifter, x.type)
    y, offset = rarely(f, special, [x, shifter], lambda: normalised(f, x))
    value = combine(*decomposed(f, y, offset))
    return rarely(f, special, [value], lambda: [_with_limits(f, x, value, 0.0)])[0]


def log(f: Function, x: V) -> V:
    """The natural logarithm."""

    def combine(k: V, t: V) -> V:
        high, low = by_width(x, LN2_SINGLE, LN2_DOUBLE)
        total, lost = fast_two_sum(f, k * high, t)
        return total + (lost + f.fma(k, low, log1p_tail(f, t)))

    return logarithm(f, x, combine)


def _in_base(f: Function, k: V, t: V, unit: tuple[float, float], e: tuple[float, float]) -> V:
    """k * unit + log(1 + t) * e, both constants in two parts.

    Of log(1 + t) = t - t**2 / 2 + ... the first term is multiplied and added exactly, and in f32,
    where polynomials are no better than the results, so is the second.
    """
    product, rounding = two_product(f, t, e[0])
    total, lost = fast_two_sum(f, k * unit[0], product)
    square, square_low = two_product(f, t, t)  # of which log1p_tail leaves out the low part
    rounding = f.fma(square_low, -0.5 * e[0], rounding)
    if t.type.bits == 32:
        second, second_low = two_product(f, square, -0.5 * e[0])
        total, lost_again = fast_two_sum(f, total, second)
        tail = square * t * two_chains(f, t, square, _LOG1P)
        rounding, lost = rounding + second_low, lost + lost_again
    else:
        tail = log1p_tail(f, t)
    small = f.fma(tail, e[0], f.fma(t, e[1], rounding))
    return total + (lost + (f.fma(k, unit[1], small) if unit[1] else small))


def log2(f: Function, x: V) -> V:
    """The logarithm to base 2."""
    e = by_width(x, _LOG2_E_SINGLE, _LOG2_E_DOUBLE)
    return logarithm(f, x, lambda k, t: _in_base(f, k, t, (1.0, 0.0), e))


def log10(f: Function, x: V) -> V:
    """The logarithm to base 10."""
    unit = by_width(x, _LOG10_2_SINGLE, _LOG10_2_DOUBLE)
    e = by_width(x, _LOG10_E_SINGLE, _LOG10_E_DOUBLE)
    return logarithm(f, x, lambda k, t: _in_base(f, k, t, unit, e))


def log1p(f: Function, x: V) -> V:
    """log(1 + x). Where 1 + x would need a scale below the least normal number, x is as good, and
    is scaled down beforehand.
    """
    form = format_of(x)
    large, down = by_width(x, (2.0**100, 64), (2.0**1000, 64))
    special = ~(x.gt(-1.0) & x.lt(large))
    shifter = f.const(form.shifter, x.type)

    def careful() -> list[V]:
        huge = x.ge(large)
        offset = f.select(huge, f.const(form.shifter - down, x.type), shifter)
        return [f.select(huge, x * 2.0**-down, x), offset]

    y, offset = rarely(f, special, [x, shifter], careful)
    k = exponent(f, 1 + y)
    power = power_of_two(f, form.bias - k, x)
    t, lost = two_sum(f, y * power, power - 1.0)
    value = f.copysign(_log1p_sum(f, number(f, k, offset), t, lost), x)
    return rarely(f, special, [value], lambda: [_with_limits(f, x, value, -1.0)])[0]


def _log1p_sum(f: Function, k: V, t: V, lost: V) -> V:
    """k * log(2) + log(1 + t + lost)."""
    high, low = by_width(t, LN2_SINGLE, LN2_DOUBLE)
    total, rounding = fast_two_sum(f, k * high, t)
    correction = f.fma(-lost, t, lost)
    return total + (rounding + (correction + f.fma(k, low, log1p_tail(f, t))))


def softplus(f: Function, x: V) -> V:
    """log(1 + e ** x), as max(x, 0) + log(1 + e ** -|x|)."""
    bound, most = by_width(x, (87.0, 104.0), (708.0, 746.0))
    away = f.abs(x)
    extreme = exponential.beyond(f, x, bound, bound)
    y = rarely(f, extreme, [away], lambda: [f.minimum(away, most)])[0]
    n, r, low = exponential.reduced(f, -y)
    high, rest = fast_two_sum(f, *exponential.exp_parts(f, r, low))
    power = power_of_two(f, n + format_of(x).bias, x)
    p, lost = high * power, rest * power
    upper = p.gt(math.sqrt(2) - 1)  # 1 + p is halved
    u, rounding = fast_two_sum(f, -1, p)
    t = f.select(upper, u * 0.5, p)
    lost = f.select(upper, (lost + rounding) * 0.5, lost)
    first, second = by_width(x, exponential.LN2_SINGLE, exponential.LN2_DOUBLE)
    base, missing = two_sum(
        f, f.maximum(f.const(0.0, x.type), x), f.select(upper, f.const(first, x.type), 0.0)
    )
    total, again = two_sum(f, base, t)
    small = f.fma(-lost, t, lost) + f.select(upper, f.const(second, x.type), 0.0)
    value = total + ((missing + again) + (small + log1p_tail(f, t)))

    def far() -> list[V]:
        left = exponential.scaled(f, high, n)
        return [f.select(extreme, f.select(x.gt(0), x, left), value)]

    return rarely(f, extreme, [value], far)[0]


FUNCTIONS: Final[Mapping[str, Callable[..., V]]] = {
    "log": log,
    "log2": log2,
    "log10": log10,
    "log1p": log1p,
    "softplus": softplus,
}
