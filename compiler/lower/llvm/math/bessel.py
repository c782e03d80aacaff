"""Modified Bessel functions of the first kind, scaled by e ** -|x|, on floats of any lanes.

Errors are within 4 ulp in f64 and 2.5 in f32.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from weft.compiler.lower.llvm.emit import Function, V
from weft.compiler.lower.llvm.math.exponential import exp_parts, reduced, scaled_normal
from weft.compiler.lower.llvm.math.polynomial import (
    by_width,
    fast_two_sum,
    horner,
    two_chains,
    two_product,
)

_INFINITY: Final = float("inf")


@dataclass(frozen=True, slots=True)
class _Fit:
    """The polynomials of one function in one format."""

    bound: float  # where the second takes over
    near: Sequence[float]  # I(x), or I(x) / x if it is odd, in powers of x**2
    centre: float
    rest: float  # of the first coefficient that follows
    far: Sequence[float]  # I(x) * e ** -x * sqrt(x) in powers of 1 / x - centre


_ZERO_DOUBLE: Final = _Fit(
    bound=12.0,
    near=(
        1.0,
        0.25,
        0.015625000000000003,
        0.0004340277777777742,
        6.781684027779136e-06,
        6.781684027751484e-08,
        4.709502797372303e-10,
        2.4028075472259457e-12,
        9.385967109931587e-15,
        2.896902947209053e-17,
        7.242270600937295e-20,
        1.4963098332778676e-22,
        2.5981758916190605e-25,
        3.838653999956982e-28,
        4.937662841665009e-31,
        5.223674056514913e-34,
        6.288118306709807e-37,
        1.823334652604162e-40,
        8.060453222227363e-43,
    ),
    centre=0.046875,
    rest=-2.6783887914466485e-17,
    far=(
        0.4013447163692835,
        0.05271113393036039,
        0.03286356478372515,
        0.04022962212572224,
        0.07724408088730972,
        0.21102889128216834,
        0.7812481508912399,
        3.8367937542811785,
        24.975158905407557,
        225.68982941989955,
        2917.4882937376933,
        32670.180705873645,
        -104511.38341583521,
        -9704116.928126873,
        -84896921.66772932,
        531230407.8341452,
        7913430267.677341,
    ),
)
_ZERO_SINGLE: Final = _Fit(
    bound=8.0,
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
    bound=12.0,
    near=(
        0.5,
        0.0625,
        0.002604166666666667,
        5.425347222222198e-05,
        6.781684027778546e-07,
        5.651403356468427e-09,
        3.3639305694701504e-11,
        1.5017547175134812e-13,
        5.214426151056004e-16,
        1.4484515381375862e-18,
        3.2919397361967115e-21,
        6.234648350764599e-24,
        9.992686448788895e-27,
        1.3712211097667917e-29,
        1.6440565859412845e-32,
        1.6410957015682578e-35,
        1.8217241933800427e-38,
        5.5962738024569807e-42,
        2.0748769934744191e-44,
    ),
    centre=0.046875,
    rest=-1.7976193270479432e-17,
    far=(
        0.39182237921673846,
        -0.15428273022417402,
        -0.05340047980725135,
        -0.05486565588892291,
        -0.09665494841645986,
        -0.25073470681599885,
        -0.8962817122036048,
        -4.28947856490413,
        -27.35537732666612,
        -242.69754700063015,
        -3097.9091097635496,
        -34918.92243213869,
        94882.43077414173,
        10045567.048938138,
        90186914.00313905,
        -526923971.1536528,
        -8139964772.428587,
    ),
)
_ONE_SINGLE: Final = _Fit(
    bound=8.0,
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


def _near(f: Function, x: V, near: Sequence[float], growth: Sequence[float]) -> V:
    """near(x**2) * e ** -x.

    What the square's rounding changes is put into the exponent, by the slope of the logarithm.
    """
    square, square_rest = two_product(f, x, x)
    # One rounding per step: powers of the square would bring their own.
    value = horner(f, square, near)
    slope = two_chains(f, square, square * square, growth)
    n, r, low = reduced(f, -x)
    high, rest = exp_parts(f, r)
    rest = f.fma(high, f.fma(square_rest, slope, low), rest)
    return scaled_normal(f, f.fma(value, high, value * rest), n)


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


def _bounded(f: Function, magnitude: V, fit: _Fit) -> tuple[V, V]:
    """The operands for `_near` and `_far`, which are of no use beyond the bound."""
    return f.minimum(magnitude, fit.bound), f.maximum(magnitude, fit.bound)


def i0e(f: Function, x: V) -> V:
    """e ** -|x| * I0(x)."""
    fit = by_width(x, _ZERO_SINGLE, _ZERO_DOUBLE)
    magnitude = f.abs(x)
    small, large = _bounded(f, magnitude, fit)
    near = _near(f, small, fit.near, _ZERO_GROWTH)
    far = f.select(magnitude.eq(_INFINITY), 0.0, _far(f, large, fit))
    return f.select(magnitude.lt(fit.bound), near, far)


def i1e(f: Function, x: V) -> V:
    """e ** -|x| * I1(x)."""
    fit = by_width(x, _ONE_SINGLE, _ONE_DOUBLE)
    magnitude = f.abs(x)
    small, large = _bounded(f, magnitude, fit)
    near = _near(f, small, fit.near, _ONE_GROWTH)
    far = f.select(magnitude.eq(_INFINITY), 0.0, _far(f, large, fit))
    return f.copysign(f.select(magnitude.lt(fit.bound), near * small, far), x)


FUNCTIONS: Final[Mapping[str, Callable[..., V]]] = {"i0e": i0e, "i1e": i1e}
