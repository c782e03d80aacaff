"""The logarithm of the gamma function and its derivatives, on floats of any number of lanes.

All is computed in f64, which leaves f32 results no error but their rounding. Those of f64 are
within 2 ulp, of polygamma hardly more than rounded. On the left there are roots between the poles,
where terms cancel: `gamma_roots` and `digamma_roots` keep lgamma and digamma accurate there. The
error of polygamma of even orders near such a root is within 2**-52 of its largest term.

For large x the expansions are about h = x - 1/2, as those have fewer terms than the usual ones.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Final

from weft.compiler.lower.llvm.emit.function import Function, V
from weft.compiler.lower.llvm.emit.types import F32, F64
from weft.compiler.lower.llvm.math import digamma_roots, gamma_roots
from weft.compiler.lower.llvm.math.inverse import log_pair
from weft.compiler.lower.llvm.math.logarithm import decomposed
from weft.compiler.lower.llvm.math.polynomial import (
    Pair,
    any_lane,
    fast_two_sum,
    format_of,
    pair_product,
    rarely,
    rarely_called,
    two_chains,
    two_product,
    two_sum,
)
from weft.compiler.lower.llvm.math.power import precise_log

_INFINITY: Final = float("inf")
_NAN: Final = float("nan")

# log(2 * pi) / 2 in two parts.
_LOG_ROOT: Final = (0.9189385332046728, -3.8782941580672414e-17)
# (lgamma(x) - h * (log(h) - 1) - log(2 * pi) / 2) * h in powers of h**-2, for x >= 5/2: relative
# error of lgamma(x) 2**-57.
_STIRLING: Final = (
    -0.041666666666653564,
    0.0024305555514312674,
    -0.0007688487213558815,
    0.0005905575497003614,
    -0.0008389368623939225,
    0.0018857950483722105,
    -0.005819578941453561,
    0.020821270224471555,
    -0.07299268835587785,
    0.21977976708982125,
    -0.5146894448488776,
    0.8536743372856505,
    -0.879767433094034,
    0.4204164858186737,
)
# The same for x from 4 to 26 with an absolute error of 2**-63.2.
_STIRLING_MIDDLE: Final = (
    -0.041666666666666664,
    0.0024305555555527865,
    -0.0007688492052918148,
    0.0005905876005150032,
    -0.000840085730002054,
    0.0019151716014396414,
    -0.006345446370204488,
    0.02752841153269763,
    -0.13328226718903557,
    0.5836097988047436,
    -1.8243704776124672,
    2.840029278804076,
)
# lgamma(2 + s) / s for |s| <= 1/2, and the rest of the first coefficient: 2**-56.3.
_ABOUT_TWO: Final = (
    0.42278433509846713,
    0.3224670334241133,
    -0.06735230105319576,
    0.020580808427765277,
    -0.007385551028926283,
    0.002890510331879231,
    -0.0011927539012837726,
    0.0005096694941767393,
    -0.00022315497301163417,
    9.945795679338434e-05,
    -4.492376600542161e-05,
    2.0503446437381458e-05,
    -9.456102587239905e-06,
    4.3939527152032476e-06,
    -1.9747813802754174e-06,
    8.988869572006285e-07,
    -5.806428287697007e-07,
    2.9868541145548504e-07,
)
_ABOUT_TWO_REST: Final = 1.3928018347063623e-18
# (sin(pi * d) / (pi * d) - 1) / d**2 in powers of d**2, for |d| <= 1/2: 2**-61.3.
_SINC: Final = (
    -1.6449340668482264,
    0.8117424252833462,
    -0.19075182412167532,
    0.02614784780794247,
    -0.0023460809132861958,
    0.0001484279165400417,
    -6.972267191079988e-06,
    2.451831387189398e-07,
)
# (digamma(x) - log(h)) * h**2 in powers of h**-2, for x >= 3: relative error of digamma(x) 2**-58.
_DIGAMMA_FAR: Final = (
    0.04166666666665102,
    -0.00729166665936728,
    0.0038442447888375913,
    -0.004134004415403936,
    0.0075550125824975466,
    -0.02086808915748863,
    0.07782653539134521,
    -0.3374852820376866,
    1.4347107011468199,
    -5.137441589651628,
    13.589857046942504,
    -22.803169348138937,
    17.909212255456644,
)
# The positive root of digamma, less 1, itself, and plus 1, each in two parts.
_ROOTS: Final = (
    (0.46163214496836236, -1.5522348162858677e-17),
    (1.4616321449683622, 9.549995429965697e-17),
    (2.4616321449683625, -1.2654465062537432e-16),
)
# digamma(x) / (x - root) in powers of x - 3/2, for x from 1 to 2, and the rest of the first
# coefficient: 2**-55.9.
_DIGAMMA_NEAR: Final = (
    0.951055876031833,
    -0.4236274212814606,
    0.24054248424077398,
    -0.14840492305388608,
    0.09498872445496648,
    -0.06192213327502379,
    0.04076083381143809,
    -0.02697579667978555,
    0.017907252459114398,
    -0.011908219633732484,
    0.007926944411527893,
    -0.005279943869404063,
    0.0035190081880033855,
    -0.0023454374488990973,
    0.001556622964621192,
    -0.0010367684399831185,
    0.000723353730010698,
    -0.0004849309014727838,
    0.00022718540624605104,
    -0.00014667100501987565,
    0.0002597214615071483,
    -0.00017676463645144218,
)
_DIGAMMA_NEAR_REST: Final = -5.4303503804770607e-17
# (pi * d * cot(pi * d) - 1) / d**2 in powers of d**2, for |d| <= 1/2, and the rest of the first
# coefficient: absolute error of pi * cot(pi * d) 2**-60.
_COTANGENT: Final = (
    -3.289868133696453,
    -2.164646467422305,
    -2.034686123962821,
    -2.008154712998934,
    -2.0019891161016288,
    -2.0004934001022163,
    -2.0000926844960105,
    -2.0005407541431417,
    -1.9936997020948735,
    -2.05713465622448,
    -1.6194688236199988,
    -3.8513156709461454,
    4.446696616390791,
    -17.409576976183477,
    21.21570877900861,
    -19.852043643209594,
)
_COTANGENT_REST: Final = -2.021315494370799e-17
# How many terms the series of polygamma may have; fewer need a larger operand.
_MOST_TERMS: Final = 14


def _in_double(
    f: Function,
    x: V,
    compute: Callable[[Function, V], V],
    mend: Callable[[Function, V, V], V] | None = None,
) -> V:
    """What `compute` gives for f64 values, rounded to the type of x; `mend` makes up for what f64
    loses near roots, which is nothing to f32.
    """
    if x.type.element is F32:
        return compute(f, x.to(F64)).to(F32)
    value = compute(f, x)
    return value if mend is None else mend(f, x, value)


def _from_integer(f: Function, x: V) -> V:
    """How far x is from the nearest whole number, exactly."""
    return x - f.round(x)


# --- lgamma ---


def lgamma(f: Function, x: V) -> V:
    """log(|gamma(x)|), infinite at 0, at negative integers and at both infinities."""
    return _in_double(f, x, _lgamma, _lgamma_mended)


def _lgamma_mended(f: Function, x: V, value: V) -> V:
    """The value, computed anew where its terms cancel: that is between poles, and nowhere left of
    -22.
    """
    is_small = x.lt(0.0) & f.abs(value).lt(8.0)

    def mended(f: Function, x: V, value: V) -> V:
        is_between = x.lt(0.0) & x.gt(-22.0) & f.abs(value).lt(8.0)
        careful = _lgamma_between_poles(f, f.select(is_between, -x, 2.5))
        value = f.select(is_between, careful, value)
        return gamma_roots.lgamma(f, x, value)

    return rarely_called(f, "lgamma.left", is_small, mended, x, value)


def _lgamma(f: Function, x: V) -> V:
    least, most = 2.0**-1000, 2.0**1000
    positive = _lgamma_of_positive(f, f.minimum(f.maximum(f.abs(x), least), most))
    value = positive[0] + positive[1]
    is_special = ~(x.ge(least) & x.le(most))

    def careful() -> list[V]:
        return [f.select(is_special, _lgamma_elsewhere(f, x, positive), value)]

    return rarely(f, is_special, [value], careful)[0]


def _lgamma_of_positive(f: Function, x: V) -> Pair:
    """For x that is neither tiny nor huge: Stirling's series from 5/2 on, below a polynomial about
    2 and the logarithm of what x is multiplied with to get there.
    """
    half = x - 0.5
    above, above_rest = fast_two_sum(f, 1.0, x)
    product, product_rest = two_product(f, x, above)
    product_rest = f.fma(x, above_rest, product_rest)
    is_far, is_low, is_lowest = x.ge(2.5), x.lt(1.5), x.lt(0.5)
    argument = f.select(is_low, f.select(is_lowest, product, x), f.const(1.0, x.type))
    argument = f.select(is_far, half, argument)
    inverse = 1.0 / argument
    log, log_rest = log_pair(f, argument)
    log_rest = log_rest + f.select(is_lowest, product_rest * inverse, 0.0)
    far = _stirling(f, half, inverse, (log, log_rest))
    steps = f.select(is_low, f.select(is_lowest, f.const(0.0, x.type), 1.0), 2.0)
    near, near_rest = _lgamma_about_two(f, x - steps)
    total, lost = two_sum(f, near, -log)
    rest = lost + (near_rest - log_rest)
    return f.select(is_far, far[0], total), f.select(is_far, far[1], rest)


def _stirling(
    f: Function, h: V, inverse: V, log: Pair, coefficients: Sequence[float] = _STIRLING
) -> Pair:
    """h log(h) - h + log(2 pi) / 2 + P(1 / h**2) / h."""
    product, product_rest = two_product(f, h, log[0] - 1.0)
    total, lost = two_sum(f, product, _LOG_ROOT[0])
    square = inverse * inverse
    tail = inverse * two_chains(f, square, square * square, coefficients)
    return total, lost + (product_rest + f.fma(h, log[1], tail + _LOG_ROOT[1]))


def _lgamma_about_two(f: Function, s: V) -> Pair:
    """log(gamma(2 + s)) for |s| <= 1/2."""
    slope, slope_rest = _pair_of_polynomial(
        f, (s, f.const(0.0, s.type)), _ABOUT_TWO, _ABOUT_TWO_REST
    )
    value, rest = two_product(f, s, slope)
    return value, f.fma(s, slope_rest, rest)


def _lgamma_elsewhere(f: Function, x: V, positive: Pair) -> V:
    """For x that is negative, 0, tiny, huge or NaN, given the value for |x|.

    On the left it is -log(|x| sin(pi d) / pi) less that value, d the distance to an integer.
    """
    magnitude = f.abs(x)
    distance = f.abs(_from_integer(f, x))
    is_tiny, is_huge = magnitude.lt(2.0**-60), x.gt(1.0)
    product, rest = _scaled_sine(f, magnitude, distance)
    argument = f.select(is_tiny, magnitude * 2.0**200, f.select(is_huge, magnitude, product))
    log, log_rest = log_pair(f, argument)
    total, lost = two_sum(f, -log, -positive[0])
    left = total + (lost - (positive[1] + (log_rest + rest / product)))
    left = f.select(distance.gt(0.0), left, _INFINITY)
    tiny = (200 * math.log(2) - log) - log_rest
    tiny = f.select(magnitude.gt(0.0), tiny, _INFINITY)
    value = f.select(is_huge, x * ((log - 1.0) + log_rest), f.select(is_tiny, tiny, left))
    return f.select(f.is_nan(x), x, value)


def _lgamma_between_poles(f: Function, x: V) -> V:
    """lgamma(-x) for x from 0 to 22, with smaller errors than terms that cancel usually have.

    It is -log(sin(pi d) / (pi (x + 1) (x + 2) (x + 3))) - lgamma(x + 4), by reflection.
    """

    def log(x: V) -> Pair:
        return precise_log(f, *decomposed(f, x, f.const(format_of(x).shifter, x.type)))

    half, half_rest = two_sum(f, x, 3.5)
    log_half = log(half)
    positive, positive_rest = _stirling(f, half, 1.0 / half, log_half, _STIRLING_MIDDLE)
    positive_rest = f.fma(half_rest, log_half[0], positive_rest)
    steps = [two_sum(f, x, float(step)) for step in (1, 2, 3)]
    below = functools.reduce(functools.partial(pair_product, f), steps)
    sine = _scaled_sine(f, f.const(1.0, x.type), f.abs(_from_integer(f, x)))
    quotient = sine[0] / below[0]
    missing = f.fma(-quotient, below[0], sine[0]) + f.fma(-quotient, below[1], sine[1])
    first, first_rest = log(quotient)
    total, lost = two_sum(f, -first, -positive)
    return total + (lost - (positive_rest + (first_rest + missing / sine[0])))


def _scaled_sine(f: Function, x: V, d: V) -> Pair:
    """x * sin(pi * d) / pi for d from 0 to 1/2."""
    square = two_product(f, d, d)
    slope = _pair_of_polynomial(f, square, _SINC, 0.0)
    bend, bend_rest = pair_product(f, square, slope)
    sinc, sinc_rest = fast_two_sum(f, 1.0, bend)
    return pair_product(f, two_product(f, x, d), (sinc, sinc_rest + bend_rest))


def _pair_of_polynomial(f: Function, x: Pair, coefficients: Sequence[float], rest: float) -> Pair:
    """A polynomial as a pair: the sums and products of its first two coefficients keep their rests,
    and so does the first coefficient itself.
    """
    curve = x[0] * two_chains(f, x[0], x[0] * x[0], coefficients[2:])
    slope, slope_rest = fast_two_sum(f, coefficients[1], curve)
    climb, climb_rest = two_product(f, x[0], slope)
    climb_rest = f.fma(x[0], slope_rest, f.fma(x[1], slope, climb_rest))
    value, value_rest = fast_two_sum(f, coefficients[0], climb)
    return value, value_rest + (climb_rest + rest)


# --- digamma ---


def digamma(f: Function, x: V) -> V:
    """The derivative of log(gamma(x)); -inf at 0, inf at -0.0, NaN at negative integers."""
    return _in_double(f, x, _digamma, _digamma_mended)


def _digamma_mended(f: Function, x: V, value: V) -> V:
    """The value, computed anew near a root left of 0."""
    is_small = x.lt(0.0) & f.abs(value).lt(digamma_roots.REACH)

    def mended(f: Function, x: V, value: V) -> V:
        is_far = x.lt(digamma_roots.LEAST) & f.abs(value).lt(digamma_roots.REACH)

        def far() -> list[V]:
            return [f.select(is_far, digamma_roots.digamma(f, x), value)]

        return gamma_roots.digamma(f, x, rarely(f, is_far, [value], far)[0])

    return rarely_called(f, "digamma.left", is_small, mended, x, value)


def _digamma(f: Function, x: V) -> V:
    least = 2.0**-1000
    positive = _digamma_of_positive(f, f.maximum(f.abs(x), least))
    value = positive[0] + positive[1]
    is_special = ~(x.ge(least) & x.lt(_INFINITY))

    def careful() -> list[V]:
        return [f.select(is_special, _digamma_elsewhere(f, x, positive), value)]

    return rarely(f, is_special, [value], careful)[0]


def _digamma_of_positive(f: Function, x: V) -> Pair:
    """For x that is neither tiny nor huge: an asymptotic series from 3 on, below a polynomial
    times the distance to the root, and one step of the recurrence to get between 1 and 2.
    """
    half = x - 0.5
    is_far, is_middle, is_low = x.ge(3.0), x.ge(2.0), x.lt(1.0)
    below = f.select(is_far, half, f.select(is_middle, x - 1.0, x))
    inverse = 1.0 / below
    inverse_rest = f.fma(-inverse, below, 1.0) * inverse
    square = inverse * inverse
    log, log_rest = log_pair(f, half)
    far_rest = f.fma(square, two_chains(f, square, square * square, _DIGAMMA_FAR), log_rest)

    def by_step(up: float, none: float, down: float) -> V:
        """What belongs to x + 1, x and x - 1."""
        return f.select(
            is_low, f.const(up, x.type), f.select(is_middle, f.const(down, x.type), none)
        )

    root = by_step(*(root for root, _ in _ROOTS))
    root_rest = by_step(*(rest for _, rest in _ROOTS))
    sign = by_step(-1.0, 0.0, 1.0)
    away, away_rest = two_sum(f, x, -root)
    t = x - by_step(0.5, 1.5, 2.5)
    near, near_rest = _digamma_about_root(f, t, (away, away_rest - root_rest))
    total, lost = two_sum(f, sign * inverse, near)
    rest = lost + f.fma(sign, inverse_rest, near_rest)
    return f.select(is_far, log, total), f.select(is_far, far_rest, rest)


def _digamma_about_root(f: Function, t: V, away: Pair) -> Pair:
    """digamma(3/2 + t) for |t| <= 1/2, which is so far away from the root."""
    curve = t * two_chains(f, t, t * t, _DIGAMMA_NEAR[1:])
    slope, slope_rest = fast_two_sum(f, _DIGAMMA_NEAR[0], curve)
    value, rest = two_product(f, away[0], slope)
    rest = f.fma(away[0], slope_rest + _DIGAMMA_NEAR_REST, rest)
    return value, f.fma(away[1], slope, rest)


def _digamma_elsewhere(f: Function, x: V, positive: Pair) -> V:
    """For x that is negative, 0, tiny, infinite or NaN, given the value for |x|.

    On the left it is that value + 1 / |x| - pi cot(pi d), d the distance to an integer, which are
    summed with their rests as there are roots.
    """
    magnitude = f.abs(x)
    d = _from_integer(f, x)
    bend, bend_rest = _cotangent_bend(f, d)
    zero = f.const(0.0, x.type)
    pole, pole_rest = _inverse_power(f, (d, zero), 1)
    step, step_rest = _inverse_power(f, (magnitude, zero), 1)
    total, lost = two_sum(f, positive[0], -pole)
    total, lost_again = two_sum(f, total, -bend)
    rest = (positive[1] + (step_rest - pole_rest)) + ((lost + lost_again) - bend_rest)
    total, lost = two_sum(f, total, step)
    left = total + (lost + rest)
    left = f.select(d.eq(0.0), _NAN, left)
    value = f.select(magnitude.lt(2.0**-1000), -1.0 / x, left)
    return f.select(x.gt(1.0), x, value)


def _cotangent_bend(f: Function, d: V) -> Pair:
    """pi * cot(pi * d) - 1 / d for |d| <= 1/2."""
    slope, slope_rest = _pair_of_polynomial(f, two_product(f, d, d), _COTANGENT, _COTANGENT_REST)
    value, rest = two_product(f, d, slope)
    return value, f.fma(d, slope_rest, rest)


# --- polygamma ---


def polygamma(f: Function, x: V, *, order: int) -> V:
    """The derivative of digamma of this order, infinite at 0 and at negative integers."""
    return _in_double(f, x, lambda f, x: _polygamma(f, x, order))


def _polygamma(f: Function, x: V, order: int) -> V:
    """Up to its sign and factorial this is the sum of (x + k) ** -power over k >= 0.

    Far to the left most terms are left out: those with x + k beyond -bound are a difference of two
    tails on the other side.
    """
    power = order + 1
    bound, coefficients = _tail_series(order)
    d = _from_integer(f, x)
    is_left = x.lt(-bound)
    start = rarely(f, is_left, [x], lambda: [f.select(is_left, d - bound, x)])[0]
    (total, rest), last = _sum_of_powers(f, start, power, bound)
    tail, tail_rest = _tail(f, last, order, coefficients)
    total, lost = two_sum(f, total, tail)
    rest = rest + (lost + tail_rest)

    def with_left() -> list[V]:
        zero = f.const(0.0, x.type)
        near, near_rest = _tail(f, (bound + 1.0 - d, zero), order, coefficients)
        far, far_rest = _tail(f, (1.0 - x, zero), order, coefficients)
        missing = (near - far) + (near_rest - far_rest)
        return [rest + f.select(is_left, missing if power % 2 == 0 else -missing, 0.0)]

    rest = rarely(f, is_left, [rest], with_left)[0]
    factor = _factorial(order) * (1 if order % 2 else -1)
    value = f.fma(total, factor, rest * factor)
    # Where the sum overflows its rest is NaN.
    value = f.select(f.abs(total).lt(_INFINITY), value, total * factor)
    is_pole = d.eq(0.0) & x.le(0.0)
    return f.select(is_pole, math.copysign(_INFINITY, factor), value)


def _factorial(n: int) -> float:
    return float(math.factorial(n)) if n <= 170 else _INFINITY


def _sum_of_powers(f: Function, x: V, power: int, bound: float) -> tuple[Pair, Pair]:
    """The sum of y ** -power over y = x, x + 1 ... below a bound, and the first y that is left out,
    both with their rests.
    """
    zero = f.const(0.0, x.type)
    y, missing, total, rest = (f.variable(value) for value in (x, zero, zero, zero))
    with f.loop_while() as loop:
        at, at_rest = y.get(), missing.get()
        is_below = at.lt(bound)
        loop.stop_unless(any_lane(f, is_below))
        term, term_rest = _inverse_power(f, (at, at_rest), power)
        sum_, lost = two_sum(f, total.get(), f.select(is_below, term, 0.0))
        total.set(sum_)
        rest.set(rest.get() + (lost + f.select(is_below, term_rest, 0.0)))
        following, lost = fast_two_sum(f, 1.0, at)  # exact for larger ones too, as 1 is short
        y.set(f.select(is_below, following, at))
        missing.set(f.select(is_below, at_rest + lost, at_rest))
    return (total.get(), rest.get()), (y.get(), missing.get())


def _inverse_power(f: Function, x: Pair, power: int) -> Pair:
    """x ** -power for power >= 1, by squaring pairs, or plain numbers where those overflow."""
    inverse = 1.0 / x[0]
    base: Pair = (inverse, f.fma(-inverse, x[1], f.fma(-inverse, x[0], 1.0)) * inverse)
    plain_base = inverse
    result, plain = (base, inverse) if power % 2 else (None, None)
    while power := power // 2:
        base, plain_base = pair_product(f, base, base), plain_base * plain_base
        if power % 2:
            result = base if result is None else pair_product(f, result, base)
            plain = plain_base if plain is None else plain * plain_base
    assert result is not None and plain is not None
    is_regular = f.abs(result[0] + result[1]).lt(_INFINITY)
    return f.select(is_regular, result[0], plain), f.select(is_regular, result[1], 0.0)


def _tail(f: Function, x: Pair, order: int, coefficients: tuple[float, ...]) -> Pair:
    """The sum of (x + k) ** -(order + 1) over k >= 0, for x beyond the series' bound."""
    h, h_rest = two_sum(f, x[0], -0.5)
    h_rest = f.select(h.lt(_INFINITY), h_rest + x[1], 0.0)
    value, rest = _inverse_power(f, (h, h_rest), order)
    inverse = 1.0 / h
    square = inverse * inverse
    bend = square * two_chains(f, square, square * square, coefficients)
    rest = f.fma(value, bend, rest)
    quotient = value / float(order)
    return quotient, (f.fma(-quotient, float(order), value) + rest) * (1 / order)


@functools.cache
def _tail_series(order: int) -> tuple[float, tuple[float, ...]]:
    """The coefficients of `_tail` in powers of h ** -2, and the bound from which their first
    missing term is below 2**-58.
    """
    bound, limit = 6, Fraction(1, 2**58)
    while True:
        square = Fraction(2, 2 * bound - 1) ** 2
        terms: list[Fraction] = []
        while len(terms) < _MOST_TERMS:
            term = _tail_coefficient(order, len(terms) + 1)
            if abs(term) * square ** (len(terms) + 1) < limit:
                return float(bound), tuple(map(float, terms))
            terms.append(term)
        bound += 1


def _tail_coefficient(order: int, k: int) -> Fraction:
    """From digamma(h + 1/2) = log(h) - sum of B_2k(1/2) / (2k) h ** -2k, differentiated."""
    at_half = (Fraction(2, 4**k) - 1) * _bernoulli(2 * k)
    rising = Fraction(math.factorial(2 * k + order - 1), math.factorial(2 * k - 1))
    return at_half / (2 * k) * rising / math.factorial(order - 1)


@functools.cache
def _bernoulli(n: int) -> Fraction:
    if n == 0:
        return Fraction(1)
    total = sum((math.comb(n + 1, k) * _bernoulli(k) for k in range(n)), Fraction(0))
    return -total / (n + 1)


FUNCTIONS: Final[Mapping[str, Callable[..., V]]] = {
    "lgamma": lgamma,
    "digamma": digamma,
    "polygamma": polygamma,
}
