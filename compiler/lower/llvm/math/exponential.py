"""e ** x and its kin. All reduce x to n * log(2) + r with |r| <= log(2) / 2 and scale by 2 ** n.

Arguments whose power of two leaves the range of normal numbers, and NaN, take a rare path.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from weft.compiler.lower.llvm.emit.function import Function, Operand, V
from weft.compiler.lower.llvm.math.polynomial import (
    Pair,
    by_width,
    fast_two_sum,
    format_of,
    power_of_two,
    rarely,
    two_chains,
    two_sum,
)

LOG2_E: Final = 1.4426950408889634
LOG2_E_REST_SINGLE: Final = 1.925963033500011e-08  # what the nearest f32 leaves of it
# log(2) as the nearest float and the rest.
LN2_SINGLE: Final = (0.693147182464599609375, -1.904654299957767e-09)
LN2_DOUBLE: Final = (0.6931471805599453, 2.3190468138462996e-17)

# (e ** r - 1 - r) / r ** 2: relative error of e ** r 2 ** -28.2 and 2 ** -57.9.
_EXP_SINGLE: Final = (
    0.4999999403953552,
    0.1666652262210846,
    0.04166829213500023,
    0.008368532173335552,
    0.0013818304287269711,
)
_EXP_DOUBLE: Final = (
    0.5000000000000011,
    0.16666666666666466,
    0.0416666666665288,
    0.00833333333347019,
    0.0013888888943700353,
    0.00019841269546302836,
    2.4801493170231868e-05,
    2.755755841983086e-06,
    2.7630195344039964e-07,
    2.5007238267864167e-08,
)
# (e ** r - 1 - r - r ** 2 / 2) / r ** 3: relative error of e ** r - 1 2 ** -31.1 and 2 ** -61.6.
_EXPM1_SINGLE: Final = (
    0.1666666567325592,
    0.04166649281978607,
    0.008333547040820122,
    0.001393233658745885,
    0.0001976023195311427,
)
_EXPM1_DOUBLE: Final = (
    0.16666666666666677,
    0.04166666666666669,
    0.008333333333321773,
    0.001388888888888651,
    0.00019841269885348417,
    2.4801587295629577e-05,
    2.7557245208511327e-06,
    2.7557315088074784e-07,
    2.5108648097354543e-08,
    2.0898207731975383e-09,
)


class ReducedArgument(NamedTuple):
    """x = n * log(2) + r + low."""

    n: V  # an integer of which the low bits count: the high ones are those of a float
    r: V
    low: V


def whole_part(f: Function, x: V, scale: Operand) -> tuple[V, V]:
    """x * scale rounded to a whole number, as a float and in the low bits of an integer."""
    form = format_of(x)
    shifted = f.fma(x, scale, form.shifter)
    return shifted - form.shifter, shifted.bits(form.integer)


def reduced(f: Function, x: V) -> ReducedArgument:
    """The reduction of x for its exponential."""
    n, bits = whole_part(f, x, LOG2_E)
    high, low = by_width(x, LN2_SINGLE, LN2_DOUBLE)
    first = f.fma(n, -high, x)  # exact: a multiple of high's last bit, and small
    r = f.fma(n, -low, first)
    return ReducedArgument(bits, r, f.fma(n, -low, first - r))


def reduced_base_two(f: Function, x: V) -> ReducedArgument:
    """The reduction of x * log(2), for 2 ** x."""
    n, bits = whole_part(f, x, 1.0)
    part = x - n
    high, low = by_width(x, LN2_SINGLE, LN2_DOUBLE)
    r = part * high
    return ReducedArgument(bits, r, f.fma(part, low, f.fma(part, high, -r)))


def scaled(f: Function, x: V, n: V) -> V:
    """x * 2 ** n, rounded once, for |n| <= 2 * bias in the low bits of an integer: a power of two
    beyond the range of the format is two factors.
    """
    half = n >> 1
    bias = format_of(x).bias
    return x * power_of_two(f, half + bias, x) * power_of_two(f, n - half + bias, x)


def scaled_normal(f: Function, x: V, n: V) -> V:
    """x * 2 ** n for normal x and result."""
    return (x.bits(n.type) + (n << format_of(x).mantissa)).bits(x.type)


def clamped(f: Function, x: V, low: float, high: float) -> V:
    """x kept between two bounds; NaN stays."""
    return f.maximum(f.minimum(x, high), low)


def beyond(f: Function, x: V, single: float, double: float) -> V:
    """Whether |x| reaches the bound of its format, or is NaN."""
    return ~f.abs(x).lt(by_width(x, single, double))


def exp_parts(f: Function, r: V, low: V | None = None) -> Pair:
    """e ** (r + low) for |r| <= log(2) / 2, as 1 + r rounded and the rest."""
    square = r * r
    curve = two_chains(f, r, square, by_width(r, _EXP_SINGLE, _EXP_DOUBLE))
    high, rest = fast_two_sum(f, 1, r)
    return high, rest + (square * curve if low is None else f.fma(square, curve, low))


def expm1_rest(f: Function, r: V, low: V) -> V:
    """e ** (r + low) - 1 - r for |r| <= log(2) / 2."""
    square = r * r
    curve = two_chains(f, r, square, by_width(r, _EXPM1_SINGLE, _EXPM1_DOUBLE))
    return f.fma(square, 0.5, f.fma(square * r, curve, f.fma(low, r, low)))


def exp(f: Function, x: V) -> V:
    """e ** x."""
    bound, limits = by_width(x, (87.0, (-104.0, 89.0)), (708.0, (-746.0, 710.0)))
    return _power(f, x, bound, limits, lambda y: reduced(f, y)[:2])


def exp2(f: Function, x: V) -> V:
    """2 ** x, exact for whole x."""
    bound, limits = by_width(x, (126.0, (-151.0, 129.0)), (1022.0, (-1076.0, 1025.0)))
    return _power(f, x, bound, limits, lambda y: reduced_base_two(f, y))


def _power(
    f: Function, x: V, bound: float, limits: tuple[float, float], reduce: Callable[[V], Sequence[V]]
) -> V:
    """A power that is normal for |x| below the bound, 0 and infinite at the limits."""
    extreme = beyond(f, x, bound, bound)
    y = rarely(f, extreme, [x], lambda: [clamped(f, x, *limits)])[0]
    n, *parts = reduce(y)
    high, low = exp_parts(f, *parts)
    value = high + low

    def careful() -> list[V]:
        # A product that underflows to 0 takes long on some machines, one with 0 does not.
        return [scaled(f, f.select(x.le(limits[0]), f.const(0.0, x.type), value), n)]

    return rarely(f, extreme, [scaled_normal(f, value, n)], careful)[0]


def expm1_parts(f: Function, x: V, scale: float) -> Pair:
    """(e ** x - 1) * scale, not normalised, for a power of two that keeps 2 ** n * scale normal."""
    n, r, low = reduced(f, x)
    form = format_of(x)
    power = power_of_two(f, n + form.bias + round(math.log2(scale)), x)
    start, lost = fast_two_sum(f, power, f.const(-scale, x.type))
    high = f.fma(power, r, start)
    rest = f.fma(power, r, start - high)
    return high, f.fma(power, expm1_rest(f, r, low), rest + lost)


def expm1(f: Function, x: V) -> V:
    """e ** x - 1."""
    extreme = beyond(f, x, 86.0, 708.0)
    limits = by_width(x, (-40.0, 89.0), (-40.0, 710.0))
    y = rarely(f, extreme, [x], lambda: [clamped(f, x, *limits)])[0]
    high, low = expm1_parts(f, y, 0.5)
    tiny = f.abs(x).lt(by_width(x, 2.0**-26, 2.0**-55))  # where halves of subnormals would round
    return f.select(tiny, x, (high + low) * 2)


def sigmoid(f: Function, x: V) -> V:
    """1 / (1 + e ** -x); far to the left the power is taken too small, so that it does not
    overflow, and the result is made so much smaller afterwards.
    """
    form = format_of(x)
    bound, most, shift = by_width(x, (87.0, 104.0, 40), (708.0, 746.0, 100))
    extreme = beyond(f, x, bound, bound)
    bias = f.const(form.bias, form.integer.with_lanes(x.type.lanes))

    def careful() -> list[V]:
        return [clamped(f, -x, -40.0, most), f.select(x.lt(-bound), bias - shift, bias)]

    y, offset = rarely(f, extreme, [-x, bias], careful)
    n, r, low = reduced(f, y)
    power = power_of_two(f, n + offset, x)
    high, rest = fast_two_sum(f, *exp_parts(f, r, low))
    total, lost = two_sum(f, high * power, 1.0)
    lost = f.fma(rest, power, lost)
    inverse = 1 / total
    missing = f.fma(-inverse, lost, f.fma(-inverse, total, 1.0))
    value = f.fma(missing, inverse, inverse)

    def unscaled() -> list[V]:
        return [value * f.select(x.lt(-bound), f.const(2.0**-shift, x.type), 1.0)]

    return rarely(f, extreme, [value], unscaled)[0]


FUNCTIONS: Final[Mapping[str, Callable[..., V]]] = {
    "exp": exp,
    "exp2": exp2,
    "expm1": expm1,
    "sigmoid": sigmoid,
}
