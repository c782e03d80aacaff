"""Modified Bessel functions of the first kind, scaled by e ** -|x|, on floats of any lanes.

Errors are within 1 ulp.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from weft.compiler.lower.llvm.emit.function import Function, V
from weft.compiler.lower.llvm.math.exponential import exp_parts, reduced, scaled_normal
from weft.compiler.lower.llvm.math.polynomial import (
    Pair,
    by_width,
    fast_two_sum,
    horner,
    two_chains,
    two_product,
    two_sum,
)
from weft.compiler.record import record

_INFINITY: Final = float("inf")
_BOUND: Final = 8.0  # where one polynomial follows the other


@record
class _Fit:
    """The polynomials of one function in one format."""

    near: Sequence[float]  # I(x), or I(x) / x if it is odd, in powers of x**2, up to the bound
    centre: float
    rest: float  # of the first coefficient that follows
    far: Sequence[float]  # I(x) * e ** -x * sqrt(x) in powers of 1 / x - centre


_ZERO_DOUBLE: Final = _Fit(
    near=(
        1.0,
        0.25,
        0.015624999999999993,
        0.00043402777777778643,
        6.781684027773673e-06,
        6.781684027880297e-08,
        4.709502795518219e-10,
        2.4028075648481963e-12,
        9.385965951422506e-15,
        2.8969083598183334e-17,
        7.242088474674908e-20,
        1.4967518635080403e-22,
        2.5905231001964997e-25,
        3.93054988546704e-28,
        4.214463288817572e-31,
        8.532184600129723e-34,
    ),
    centre=0.0625,
    rest=-1.8193174995171282e-17,
    far=(
        0.4021765094450081,
        0.05376883173868553,
        0.03487131504388579,
        0.0456418664135459,
        0.0972454397141243,
        0.3118043715673882,
        1.4884838327173284,
        10.556574201170799,
        92.6192645431514,
        518.9418783573741,
        -7522.476752649323,
        -235668.83864811345,
        -1424388.2989031263,
        33863256.227604754,
        475712160.32852334,
        -3975620156.6090045,
        -85326272590.53517,
        429517984156.2192,
        10550308753021.521,
        -39732797958083.42,
        -820849564334038.5,
        2599934564602845.0,
        2.986429830734879e16,
        -8.442768402511138e16,
    ),
)
_ZERO_SINGLE: Final = _Fit(
    near=(
        1.0,
        0.25,
        0.015625,
        0.00043402766,
        6.7817277e-06,
        6.781039e-08,
        4.7143717e-10,
        2.3818838e-12,
        9.9159775e-15,
        2.1222303e-17,
        1.3101221e-19,
    ),
    centre=0.0625,
    rest=1.0032973563056657e-08,
    far=(
        0.4021765,
        0.053768888,
        0.034871656,
        0.045518484,
        0.09670634,
        0.37964532,
        1.827786,
    ),
)
# The derivative of log(I0(x)) by x**2, to a hundredth.
_ZERO_GROWTH: Final = (
    0.1917977,
    -0.0071286326,
    0.00016318877,
    -1.9163072e-06,
    1.0919714e-08,
    -2.395154e-11,
)
_ONE_DOUBLE: Final = _Fit(
    near=(
        0.5,
        0.0625,
        0.0026041666666666665,
        5.425347222222244e-05,
        6.781684027776632e-07,
        5.651403356511371e-09,
        3.363930568872378e-11,
        1.501754723066511e-13,
        5.214425791817886e-16,
        1.4484531965215796e-18,
        3.291884471094981e-21,
        6.235978357020633e-24,
        9.969841295530244e-27,
        1.3984454534625263e-29,
        1.4313987051374438e-32,
        2.606947496668726e-35,
    ),
    centre=0.0625,
    rest=-1.1949232740000462e-17,
    far=(
        0.38939845902587233,
        -0.1559932350917716,
        -0.056124355541007254,
        -0.061597889337639565,
        -0.12025267634065992,
        -0.36530872625621164,
        -1.677908924953597,
        -11.577485460401594,
        -100.46287834483937,
        -579.0060494422304,
        7512.275393364317,
        246740.73898211998,
        1580740.3318404565,
        -34316157.35389571,
        -506269344.26311094,
        3905270539.771402,
        89669681051.2134,
        -411763531294.7651,
        -11024457445226.059,
        37695872402891.36,
        855302514884070.5,
        -2472607660957792.5,
        -3.106943407769365e16,
        8.1085360297249e16,
    ),
)
_ONE_SINGLE: Final = _Fit(
    near=(
        0.5,
        0.0625,
        0.0026041667,
        5.425343e-05,
        6.781771e-07,
        5.6505267e-09,
        3.3689402e-11,
        1.4845384e-13,
        5.574762e-16,
        1.0042094e-18,
        6.1605334e-21,
    ),
    centre=0.0625,
    rest=3.482434562940284e-09,
    far=(
        0.38939846,
        -0.1559933,
        -0.056124873,
        -0.06146031,
        -0.11954236,
        -0.44067574,
        -2.0762193,
    ),
)
# The derivative of log(I1(x) / x) by x**2, to a hundredth.
_ONE_GROWTH: Final = (
    0.11574781,
    -0.0027325598,
    5.1571624e-05,
    -5.4655425e-07,
    2.924793e-09,
    -6.1498996e-12,
)


def _near(f: Function, x: V, near: Sequence[float], growth: Sequence[float]) -> tuple[V, V, V]:
    """near(x**2) * e ** -x, as n and a sum of two of which it is 2**n times.

    What the square's rounding changes is put into the exponent, by the slope of the logarithm.
    """
    square, square_rest = two_product(f, x, x)
    # One rounding per step: powers of the square would bring their own.
    value, value_rest = horner(f, square, near[4:]), f.const(0.0, x.type)
    for place in (3, 2, 1, 0):
        # Where the product is the smaller one in the first of these, both count for little.
        add = fast_two_sum if place > 2 else two_sum
        value, value_rest = _step(f, square, (value, value_rest), near[place], add)
    slope = two_chains(f, square, square * square, growth)
    n, r, low = reduced(f, -x)
    high, rest = exp_parts(f, r)
    rest = f.fma(high, f.fma(square_rest, slope, low), rest)
    product, lost = two_product(f, value, high)
    return n, product, f.fma(value, rest, f.fma(value_rest, high, lost))


def _step(
    f: Function, x: V, value: Pair, coefficient: float, add: Callable[[Function, V, V], Pair]
) -> Pair:
    """x * value + coefficient, the last steps of a polynomial, whose roundings count most."""
    product, rest = two_product(f, x, value[0])
    total, lost = add(f, product, f.const(coefficient, x.type))
    return total, f.fma(x, value[1], rest + lost)


def _far(f: Function, x: V, fit: _Fit) -> V:
    """far(1 / x) / sqrt(x), with a root that is refined as its operand is rounded."""
    t = 1.0 / x
    root = f.sqrt(t)
    whole, whole_rest = two_product(f, x, root)
    half_gap = 0.5 * f.fma(-whole_rest, root, f.fma(-whole, root, 1.0))
    away = t - fit.centre
    curve = away * two_chains(f, away, away * away, fit.far[1:])
    high, low = fast_two_sum(f, fit.far[0], curve)
    return f.fma(root, high, root * f.fma(high, half_gap, low + fit.rest))


def _joined(f: Function, magnitude: V, fit: _Fit, near: Callable[[V], V]) -> V:
    """`near` of operands below the bound, and `_far` of the others."""
    small, large = f.minimum(magnitude, _BOUND), f.maximum(magnitude, _BOUND)
    far = f.select(magnitude.eq(_INFINITY), 0.0, _far(f, large, fit))
    return f.select(magnitude.lt(_BOUND), near(small), far)


def i0e(f: Function, x: V) -> V:
    """e ** -|x| * I0(x)."""
    fit = by_width(x, _ZERO_SINGLE, _ZERO_DOUBLE)

    def near(y: V) -> V:
        n, high, low = _near(f, y, fit.near, _ZERO_GROWTH)
        return scaled_normal(f, high + low, n)

    return _joined(f, f.abs(x), fit, near)


def i1e(f: Function, x: V) -> V:
    """e ** -|x| * I1(x)."""
    fit = by_width(x, _ONE_SINGLE, _ONE_DOUBLE)

    def near(y: V) -> V:
        n, high, low = _near(f, y, fit.near, _ONE_GROWTH)
        return scaled_normal(f, f.fma(y, high, y * low), n)

    return f.copysign(_joined(f, f.abs(x), fit, near), x)


FUNCTIONS: Final[Mapping[str, Callable[..., V]]] = {"i0e": i0e, "i1e": i1e}
