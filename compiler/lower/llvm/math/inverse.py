"""Inverse circular and hyperbolic functions on floats of any number of lanes.

Each reduces its operand to a short range, where it is t + t**3 P(t**2), or to a logarithm; what the
reduction rounds away is carried along, which is why errors stay well below 1 ulp.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from weft.compiler.lower.llvm.emit.function import Function, V
from weft.compiler.lower.llvm.math.logarithm import (
    LN2_DOUBLE,
    LN2_SINGLE,
    decomposed,
    log1p_tail,
)
from weft.compiler.lower.llvm.math.polynomial import (
    Pair,
    by_width,
    fast_two_sum,
    format_of,
    rarely,
    sign_bit,
    two_chains,
    two_product,
    two_sum,
    with_sign,
)

_INFINITY: Final = float("inf")

# pi / 2 in two parts.
_HALF_PI_DOUBLE: Final = (1.5707963267948966, 6.123233995736766e-17)
_HALF_PI_SINGLE: Final = (1.5707963705062866, -4.371139000186241e-08)

# (atan(t) - t) / t**3 in powers of t**2, for |t| <= 1/2: relative error of atan(t) 2**-57.7
# and 2**-27.4.
_ATAN_DOUBLE: Final = (
    -0.3333333333333298,
    0.199999999999031,
    -0.14285714276384506,
    0.11111110659555991,
    -0.09090896242319456,
    0.07692073869868052,
    -0.06663810144327717,
    0.05858295539896911,
    -0.05121990245283682,
    0.04186459741794201,
    -0.027434225641515316,
    0.010116338733913825,
)
_ATAN_SINGLE: Final = (
    -0.33333233,
    0.19994168,
    -0.14174213,
    0.10155787,
    -0.051249444,
)
# (asin(t) - t) / t**3 in powers of t**2, for |t| <= 1/2: 2**-55.8 and 2**-27.6.
_ASIN_DOUBLE: Final = (
    0.16666666666665408,
    0.07500000000337162,
    0.04464285682818479,
    0.030381959143604222,
    0.02237175787785406,
    0.017359707524107412,
    0.013885206958598148,
    0.012169405453489962,
    0.0065271125156319085,
    0.01953068607718355,
    -0.016228137302671673,
    0.03191498615185579,
)
_ASIN_SINGLE: Final = (
    0.16666752,
    0.074953094,
    0.04546915,
    0.02418478,
    0.042158302,
)
# (asinh(t) - t) / t**3 in powers of t**2, for |t| <= 1/2: 2**-60.3 and 2**-29.5.
_ASINH_DOUBLE: Final = (
    -0.1666666666666661,
    0.07499999999984416,
    -0.0446428571278304,
    0.030381943716331638,
    -0.022372138356644745,
    0.017352386932588997,
    -0.013960232071505957,
    0.011512983141433324,
    -0.009534139493765673,
    0.007465593371400466,
    -0.004747504271299555,
    0.001718079146584294,
)
_ASINH_SINGLE: Final = (
    -0.16666643,
    0.074986406,
    -0.04438296,
    0.02816108,
    -0.013223541,
)
# (atanh(t) - t) / t**3 in powers of t**2, for |t| <= 1/2: 2**-56.7 and 2**-29.4.
_ATANH_DOUBLE: Final = (
    0.3333333333333399,
    0.199999999997945,
    0.1428571430809546,
    0.11111109885672837,
    0.09090948567650628,
    0.0769149332195339,
    0.06677960632410775,
    0.0577427272499396,
    0.059830297897501446,
    0.014544075854547199,
    0.14497032896816478,
    -0.15294240067962753,
    0.22479798710124244,
)
_ATANH_SINGLE: Final = (
    0.33333302,
    0.20002453,
    0.14223789,
    0.11816344,
    0.051606353,
    0.17637542,
)
# (acosh(1 + t) / sqrt(2 * t) - 1) / t, for 0 <= t <= 1/2: 2**-60.2 and 2**-29.5.
_ACOSH_DOUBLE: Final = (
    -0.08333333333333305,
    0.018749999999961003,
    -0.005580357140975731,
    0.0018988714821784858,
    -0.0006991293222130973,
    0.000271131032709999,
    -0.0001090642376527385,
    4.497231100189191e-05,
    -1.862070133334416e-05,
    7.28963849479434e-06,
    -2.3173039892188557e-06,
    4.1916270866657743e-07,
)
_ACOSH_SINGLE: Final = (
    -0.08333322,
    0.018746596,
    -0.0055478,
    0.001759808,
    -0.00041293897,
)


def _half_pi(x: V) -> tuple[float, float]:
    return by_width(x, _HALF_PI_SINGLE, _HALF_PI_DOUBLE)


def _odd_tail(f: Function, t: V, square: V, coefficients: Sequence[float]) -> V:
    """t**3 P(t**2)."""
    return t * square * two_chains(f, square, square * square, coefficients)


def _offset_sum(f: Function, base: V, t: V, rest: V) -> V:
    """base + t + rest, where base is 0 or larger than t, and rest is small."""
    total, lost = fast_two_sum(f, base, t)
    return total + (lost + rest)


def _octant(f: Function, small: V, large: V) -> tuple[V, V, V]:
    """atan(small / large) for 0 <= small <= large: whether to add pi/4 to it, and the angle from
    there as a sum of two.

    Above a half of it the quotient is (small - large) / (small + large), of which the numerator is
    exact and the angle at most atan(1/3).
    """
    is_middle = (small + small).gt(large)
    total, lost = fast_two_sum(f, large, small)
    numerator = f.select(is_middle, small - large, small)
    denominator = f.select(is_middle, total, large)
    denominator_rest = f.select(is_middle, lost, 0.0)
    inverse = 1.0 / denominator
    t = numerator * inverse
    remainder = f.fma(-t, denominator_rest, f.fma(-t, denominator, numerator))
    tail = _odd_tail(f, t, t * t, by_width(t, _ATAN_SINGLE, _ATAN_DOUBLE))
    return is_middle, t, f.fma(remainder, inverse, tail)


def atan(f: Function, x: V) -> V:
    """The angle in [-pi/2, pi/2] whose tangent is x: pi/2 less that of 1/x beyond 1."""
    high, low = _half_pi(x)
    # Beyond 2**60 nothing is left of 1/x, and infinity would become NaN.
    magnitude = f.minimum(f.abs(x), 2.0**60)
    is_steep = magnitude.gt(1.0)
    small = f.select(is_steep, f.const(1.0, x.type), magnitude)
    large = f.select(is_steep, magnitude, 1.0)
    is_middle, t, rest = _octant(f, small, large)
    half_pis = f.select(is_steep, f.const(1.0, x.type), 0.0)
    half_pis = f.select(is_middle, f.const(0.5, x.type), half_pis)
    t, rest = f.select(is_steep, -t, t), f.select(is_steep, -rest, rest)
    angle = _offset_sum(f, half_pis * high, t, f.fma(half_pis, low, rest))
    return f.copysign(angle, x)


def atan2(f: Function, y: V, x: V) -> V:
    """The angle in [-pi, pi] of the point (x, y), with the signs of zeros respected."""
    high, low = _half_pi(x)
    a, b = f.abs(x), f.abs(y)
    is_steep = b.gt(a)
    small, large = _within_range(f, f.select(is_steep, a, b), f.select(is_steep, b, a))
    is_middle, t, rest = _octant(f, small, large)
    is_tiny = small.lt(by_width(x, 2.0**-90, 2.0**-960)) & small.gt(0.0)  # rests are subnormal

    def divided() -> list[V]:
        return [f.select(is_tiny, small / large, t), f.select(is_tiny, f.const(0.0, x.type), rest)]

    t, rest = rarely(f, is_tiny, [t, rest], divided)
    # As quarters of a turn in front of the y axis; behind it the angle is seen in a mirror.
    half_pis = f.select(is_steep, f.const(1.0, x.type), 0.0)
    half_pis = f.select(is_middle, f.const(0.5, x.type), half_pis)
    is_behind = sign_bit(f, x).ne(0)
    half_pis = f.select(is_behind, 2.0 - half_pis, half_pis)
    is_back = is_steep ^ is_behind
    t, rest = f.select(is_back, -t, t), f.select(is_back, -rest, rest)
    base, base_rest = two_product(f, half_pis, high)
    rest = f.fma(half_pis, low, base_rest + rest)
    return f.copysign(_offset_sum(f, base, t, rest), y)


def _within_range(f: Function, small: V, large: V) -> tuple[V, V]:
    """Numbers 0 <= small <= large scaled by one power of two, so that nothing overflows when they
    are divided; 0 and 0 become 0 and 1, two infinities 1 and 1.
    """
    most = by_width(small, 2.0**60, 2.0**500)
    is_huge, is_tiny = large.gt(most), large.lt(1 / most)
    scale = f.select(is_tiny, f.const(most, small.type), 1.0)
    scale = f.select(is_huge, f.const(1 / most, small.type), scale)
    is_infinite = large.eq(_INFINITY)
    beside_infinity = f.select(small.eq(_INFINITY), f.const(1.0, small.type), small * 0.0)
    above = f.select(is_infinite, beside_infinity, small * scale)
    below = f.select(is_infinite | large.eq(0.0), f.const(1.0, small.type), large * scale)
    return above, below


def _asin_parts(f: Function, x: V) -> tuple[V, V, V]:
    """Whether |x| is above 1/2, and the arcsine of |x|, or there of sqrt((1 - |x|) / 2), as a sum
    of two.
    """
    magnitude = f.abs(x)
    is_large = magnitude.gt(0.5)
    square = f.select(is_large, (1.0 - magnitude) * 0.5, magnitude * magnitude)
    root = f.sqrt(square)
    root_rest = f.fma(-root, root, square) * 0.5 / f.maximum(root, 1e-30)
    t = f.select(is_large, root, magnitude)
    tail = _odd_tail(f, t, square, by_width(x, _ASIN_SINGLE, _ASIN_DOUBLE))
    return is_large, t, f.select(is_large, tail + root_rest, tail)


def asin(f: Function, x: V) -> V:
    """The angle in [-pi/2, pi/2] whose sine is x; NaN outside of [-1, 1]."""
    high, low = _half_pi(x)
    is_large, t, rest = _asin_parts(f, x)
    base = f.select(is_large, f.const(high, x.type), 0.0)
    t = f.select(is_large, t * -2.0, t)
    rest = f.select(is_large, f.fma(rest, -2.0, low), rest)
    return f.copysign(_offset_sum(f, base, t, rest), x)


def acos(f: Function, x: V) -> V:
    """The angle in [0, pi] whose cosine is x; NaN outside of [-1, 1]."""
    high, low = _half_pi(x)
    is_large, t, rest = _asin_parts(f, x)
    far = f.select(x.lt(0.0), f.const(2.0, x.type), 0.0)
    half_pis = f.select(is_large, far, f.const(1.0, x.type))
    factor = with_sign(f, f.select(is_large, f.const(2.0, x.type), -1.0), sign_bit(f, x))
    rest = f.fma(rest, factor, half_pis * low)
    return _offset_sum(f, half_pis * high, t * factor, rest)


def asinh(f: Function, x: V) -> V:
    """The inverse of sinh: log(|x| + sqrt(x**2 + 1)) from 1/2 on."""
    magnitude = f.abs(x)
    square, square_rest = two_product(f, magnitude, magnitude)
    near = magnitude + _odd_tail(f, magnitude, square, by_width(x, _ASINH_SINGLE, _ASINH_DOUBLE))
    sum_, sum_rest = two_sum(f, square, 1.0)
    far = _log_with_root(f, magnitude, sum_, sum_rest + square_rest)
    return f.copysign(f.select(magnitude.lt(0.5), near, far), x)


def acosh(f: Function, x: V) -> V:
    """The inverse of cosh with values >= 0, NaN below 1: log(x + sqrt(x**2 - 1)) from 3/2 on."""
    excess = x - 1.0
    root = f.sqrt(excess + excess)
    root_rest = f.fma(-root, root, excess + excess) * 0.5 / f.maximum(root, 1e-30)
    coefficients = by_width(x, _ACOSH_SINGLE, _ACOSH_DOUBLE)
    tail = root * excess * two_chains(f, excess, excess * excess, coefficients)
    near = root + (root_rest + tail)
    square, square_rest = two_product(f, x, x)
    sum_, sum_rest = two_sum(f, square, -1.0)
    far = _log_with_root(f, x, sum_, sum_rest + square_rest)
    return f.select(x.lt(1.5), near, far)


def _log_with_root(f: Function, x: V, square: V, square_rest: V) -> V:
    """log(x + sqrt(square + square_rest)), for square within 1 of x**2; log(2 * x) for huge x."""
    is_huge = x.gt(by_width(x, 2.0**14, 2.0**29))
    root = f.sqrt(square)
    total, lost = fast_two_sum(f, f.maximum(root, x), f.minimum(x, root))
    twice = root + root
    remainder = f.fma(-root, root, square) + square_rest
    relative = f.fma(lost, twice, remainder) / (twice * total)
    relative = f.select(is_huge, f.const(0.0, x.type), relative)
    shift = f.select(is_huge, f.const(1.0, x.type), 0.0)
    value = _log_of_sum(f, f.select(is_huge, x, total), relative, shift)
    return f.select(x.lt(_INFINITY), value, x)


def _log_of_sum(f: Function, x: V, relative: V, shift: V) -> V:
    """log(x * (1 + relative) * 2**shift) for normal x and a small relative rest."""
    total, rest = log_pair(f, x, shift)
    return total + (rest + relative)


def log_pair(f: Function, x: V, shift: V | None = None) -> Pair:
    """log(x * 2**shift) for positive normal x as a sum of two, of which the second is smaller."""
    high, low = by_width(x, LN2_SINGLE, LN2_DOUBLE)
    k, t = decomposed(f, x, f.const(format_of(x).shifter, x.type))
    k = k if shift is None else k + shift
    total, lost = fast_two_sum(f, k * high, t)
    # The tail takes the square of t as rounded.
    lost = f.fma(two_product(f, t, t)[1], -0.5, lost)
    return total, lost + f.fma(k, low, log1p_tail(f, t))


def atanh(f: Function, x: V) -> V:
    """The inverse of tanh, infinite at -1 and 1, NaN beyond: half of log((1 + x) / (1 - x)) from
    1/2 on.
    """
    magnitude = f.abs(x)
    square = magnitude * magnitude
    near = magnitude + _odd_tail(f, magnitude, square, by_width(x, _ATANH_SINGLE, _ATANH_DOUBLE))
    above, above_rest = fast_two_sum(f, 1.0, magnitude)
    below = 1.0 - magnitude
    quotient = above / below
    remainder = f.fma(-quotient, below, above) + above_rest
    # 1 / above to within a hundredth, which is enough for so small a correction.
    relative = remainder * f.fma(above, -0.33, 1.16)
    far = _log_of_sum(f, quotient, relative, f.const(0.0, x.type)) * 0.5
    at_pole = f.select(magnitude.eq(1.0), f.const(_INFINITY, x.type), float("nan"))
    far = f.select(magnitude.lt(1.0), far, at_pole)
    return f.copysign(f.select(magnitude.lt(0.5), near, far), x)


FUNCTIONS: Final[Mapping[str, Callable[..., V]]] = {
    "asin": asin,
    "acos": acos,
    "atan": atan,
    "atan2": atan2,
    "asinh": asinh,
    "acosh": acosh,
    "atanh": atanh,
}
