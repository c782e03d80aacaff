"""The error function, its complement and its inverse on floats of any number of lanes.

All are within 1 ulp.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from weft.compiler.lower.llvm.emit.function import Function, V
from weft.compiler.lower.llvm.math.exponential import (
    exp_parts,
    expm1_rest,
    reduced,
    scaled,
    scaled_normal,
)
from weft.compiler.lower.llvm.math.inverse import log_pair
from weft.compiler.lower.llvm.math.polynomial import (
    Pair,
    by_lane,
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

_INFINITY: Final = float("inf")

# 2 / sqrt(pi) in two parts.
_SLOPE: Final = (1.1283791670955126, 1.533545961316588e-17)
# (-log(erfc(x)) / x - 2 / sqrt(pi)) / x, up to where erf(x) is 1: relative error of erf(x) 2**-57.
_ERF_DOUBLE: Final = (
    0.6366197723675828,
    0.10277260330182054,
    -0.01912844700565768,
    -0.00020919468867801796,
    0.0016962063445210426,
    -0.0005901253640861804,
    2.5877982273285144e-05,
    6.449338711563314e-05,
    -2.9726907852862524e-05,
    3.411443835009713e-06,
    2.8303224318991064e-06,
    -1.7371161723544217e-06,
    3.3309122838740606e-07,
    1.3913165923074894e-07,
    -1.42699026885283e-07,
    6.60963086981655e-08,
    -2.1075211719514698e-08,
    5.025421128435246e-09,
    -9.135591176084181e-10,
    1.2562592269254758e-10,
    -1.269605846985898e-11,
    8.909494579130976e-13,
    -3.8802444075429616e-14,
    7.8985108661105e-16,
)
# For f32: erf(x) / x - 1 in powers of x**2 - 1/2 up to the bound, then (8 * erfc(x)) ** (1/4) in
# powers of x - 3/2: relative error of erf(x) 2**-29.2, absolute one 2**-27.5.
_ERF_NEAR: Final = 1.21875
_ERF_NEAR_SINGLE: Final = (
    -0.03453126,
    -0.28107217,
    0.07940998,
    -0.018283926,
    0.003480523,
    -0.0005615576,
    7.767857e-05,
    -7.880956e-06,
)
_ERF_FAR_SINGLE: Final = (
    0.7216156,
    -0.63300145,
    0.11660052,
    0.055428106,
    -0.021047475,
    -0.0027374933,
    0.0023287244,
    -0.00031763356,
)
# The shift s, the centre c and coefficients of log(e ** (x**2) * erfc(x) / w) in powers of w - c,
# where w = 1 / (x + s), for x from 0 to where erfc(x) is 0: error 2**-60 and 2**-28.6.
_ERFC_DOUBLE: Final = (
    2.25,
    0.210205078125,
    (
        0.000299231849110154,
        3.2060443227268434,
        2.04831053737112,
        -2.7989055735061537,
        -8.259552294339962,
        4.953167585151767,
        38.91379955547184,
        -12.699471333461474,
        -205.84710655849156,
        71.38461999506356,
        1149.6195260359918,
        -705.5799272088191,
        -6356.969939290974,
        6995.145931124552,
        32274.4351393989,
        -59434.08246006314,
        -134082.21067945467,
        415523.85864203435,
        333194.6710888882,
        -2260887.540055867,
        607682.6651042583,
        8373914.882551646,
        -10441897.163000016,
        -13195509.819260487,
        37465237.59438586,
        -23105035.941174354,
    ),
)
_ERFC_SINGLE: Final = (
    2.5,
    0.18603515625,
    (
        3.0448384e-06,
        3.7186317,
        3.5583143,
        -1.4330732,
        -14.238939,
        -11.872669,
        63.44316,
        132.51605,
        -350.59644,
        -960.8645,
        3395.5671,
        -2655.6387,
    ),
)
# The centre c, the rest of the first coefficient and coefficients of erfinv(x) / x in powers of
# w - c, for w = -log(1 - x**2) from 0 to 5: relative error 2**-56 and 2**-27.3.
_CENTRAL_DOUBLE: Final = (
    2.5,
    -8.222323093395813e-17,
    (
        1.501409351110792,
        0.24664027674416708,
        -0.004177317724382952,
        -0.0012527079078120007,
        0.00021825026433971038,
        -4.99607959548774e-06,
        -3.416619585603636e-06,
        4.78725213189745e-07,
        1.3416789610094738e-08,
        -1.0861164297381905e-08,
        9.073142903859575e-10,
        1.1960456460594193e-10,
        -3.1107774539502186e-11,
        9.123586440799911e-13,
        5.371351803047857e-13,
        -7.629030362165444e-14,
        -3.171108762553626e-15,
        1.917434091671824e-15,
        -1.0183949953842288e-16,
        -2.829518240982232e-17,
        2.5531353100201265e-18,
        2.1461729137900783e-19,
    ),
)
_CENTRAL_SINGLE: Final = (
    2.5,
    -5.2145093576427826e-08,
    (
        1.5014094,
        0.24664028,
        -0.0041773827,
        -0.0012527342,
        0.00021834092,
        -4.9666332e-06,
        -3.4618088e-06,
        4.6675615e-07,
        2.3162077e-08,
        -8.827966e-09,
    ),
)
# The same in powers of sqrt(w) - c, for w from 5 to 16 and from 16 on: 2**-54.9, 2**-57.3, and for
# f32, which ends at 16, 2**-28.5.
_TAIL_DOUBLE: Final = (
    3.125,
    5.1486635216615665e-17,
    (
        2.958320150240462,
        1.0037186917979262,
        0.007047884417812823,
        -0.005301010608607845,
        0.0037944200148358007,
        -0.0025198826880942935,
        0.0012606698911177292,
        -0.0003286622222347778,
        -8.955335699052571e-05,
        0.00013610525732694732,
        -5.8852135962546734e-05,
        2.182745215279791e-06,
        1.1399993085871492e-05,
        -6.267351039583932e-06,
        9.020757199233689e-07,
        7.419244859563927e-07,
        -5.549492359283155e-07,
        1.417964369542023e-07,
        5.189843641200632e-08,
        -5.003469520684856e-08,
        3.3730471805967193e-09,
        4.815992250253505e-09,
    ),
)
_FAR_TAIL_DOUBLE: Final = (
    5.0,
    -7.586541880440724e-17,
    (
        4.849906401408584,
        1.0103004648645453,
        -0.00013871931838085503,
        -0.0002150301198247992,
        7.599527811437049e-05,
        -1.9681770739812027e-05,
        4.526052354396179e-06,
        -9.930291603418508e-07,
        2.2905366642360582e-07,
        -6.755684155465761e-08,
        2.901627763098588e-08,
        -1.525406981942944e-08,
        7.825337969106489e-09,
        -3.4721562697543247e-09,
        1.3122552689479673e-09,
        -4.3722671620860253e-10,
        7.149091544286469e-11,
        4.2819771823847576e-11,
        -2.0801055987982223e-11,
    ),
)
_TAIL_SINGLE: Final = (
    3.125,
    5.935021807346175e-09,
    (
        2.9583201,
        1.0037186,
        0.0070480886,
        -0.0052993684,
        0.0037921702,
        -0.002529332,
        0.0012710424,
        -0.00030785555,
        -0.0001134709,
        0.000119956676,
        -3.1858133e-05,
    ),
)


def erf(f: Function, x: V) -> V:
    """The error function."""
    return by_width(x, _erf_single, _erf_double)(f, x)


def _erf_single(f: Function, x: V) -> V:
    """x + x * p(x**2) or 1 - q(x) ** 4 / 8, with polynomials that differ by their coefficients
    only. The factor leaves the power just below 1, where rounding changes it least.
    """
    magnitude = f.minimum(f.abs(x), 3.93)  # from where on the result is 1
    is_near = magnitude.lt(_ERF_NEAR)
    t = f.select(is_near, f.fma(magnitude, magnitude, -0.5), magnitude - 1.5)
    curve = horner(f, t, by_lane(f, is_near, _ERF_NEAR_SINGLE, _ERF_FAR_SINGLE, x))
    square = curve * curve
    near, far = f.fma(magnitude, curve, magnitude), f.fma(square * -0.125, square, 1.0)
    return f.copysign(f.select(is_near, near, far), x)


def _erf_double(f: Function, x: V) -> V:
    """-expm1(-q(|x|)), where q is -log(erfc): smooth, and accurate near 0."""
    magnitude = f.minimum(f.abs(x), 5.95)  # from where on the result is 1
    curve = two_chains(f, magnitude, magnitude * magnitude, _ERF_DOUBLE)
    slope, slope_rest = fast_two_sum(f, _SLOPE[0], magnitude * curve)
    q, q_rest = two_product(f, magnitude, slope)
    q_rest = f.fma(magnitude, slope_rest + _SLOPE[1], q_rest)
    return f.copysign(_one_less_exp(f, q, q_rest), x)


def _one_less_exp(f: Function, x: V, rest: V) -> V:
    """1 - e ** -(x + rest) for x from 0 to where it is 1, and a small rest."""
    n, r, low = reduced(f, -x)
    power = power_of_two(f, n + format_of(x).bias, x)
    start = 1.0 - power
    high = f.fma(-power, r, start)
    lost = f.fma(-power, r, start - high)
    return high + f.fma(-power, expm1_rest(f, r, low - rest), lost)


def erfc(f: Function, x: V) -> V:
    """1 - erf(x), with all its digits for large x."""
    tail = _erfc_of_positive(f, f.abs(x))
    return f.select(x.lt(0.0), 2.0 - tail, tail)


def _erfc_of_positive(f: Function, x: V) -> V:
    """erfc(x) for x >= 0 as e ** (r(w) - x**2) * w, where w is 1 / (x + shift).

    The absolute error of the logarithm r is the relative one of the result; it is added to the
    square before the exponential is taken, all with their rests.
    """
    bounded = f.minimum(x, by_width(x, 10.5, 28.0))
    shift, centre, coefficients = by_width(x, _ERFC_SINGLE, _ERFC_DOUBLE)
    # Shift and centre are short enough for these sums to be exact in either order of sizes.
    below, below_rest = fast_two_sum(f, shift, bounded)
    w = 1.0 / below
    w_rest = f.fma(-w, below_rest, f.fma(-w, below, 1.0)) * w
    v, v_rest = fast_two_sum(f, -centre, w)
    curve = two_chains(f, v, v * v, coefficients[2:])
    q, q_rest = fast_two_sum(f, coefficients[1], v * curve)
    r, r_rest = two_product(f, v, q)
    r_rest = f.fma(v, q_rest, r_rest + coefficients[0])
    slope = f.fma(v, coefficients[2], coefficients[1])
    r_rest = f.fma(slope, v_rest + w_rest, f.fma(w_rest, below, r_rest))
    square, square_rest = two_product(f, bounded, bounded)
    exponent, exponent_rest = two_sum(f, -square, r)
    n, e, e_rest = _exp_of_sum(f, exponent, exponent_rest + (r_rest - square_rest))
    value = f.fma(w, e, w * e_rest)
    is_extreme = ~x.lt(by_width(x, 9.0, 26.0))
    quick = scaled_normal(f, value, n)
    return rarely(f, is_extreme, [quick], lambda: [scaled(f, value, n)])[0]


def _exp_of_sum(f: Function, x: V, rest: V) -> tuple[V, V, V]:
    """e ** (x + rest) for a small rest: n, and a sum of two of which it is 2**n times."""
    n, r, r_rest = reduced(f, x)
    r, r_rest = fast_two_sum(f, r, r_rest + rest)
    high, low = exp_parts(f, r)
    return n, high, f.fma(high, r_rest, low)


def erfinv(f: Function, x: V) -> V:
    """The inverse of erf, infinite at -1 and 1, NaN beyond.

    The logarithm that its polynomials are in is a pair.
    """
    is_regular = f.abs(x).lt(1.0)
    inside = f.select(is_regular, f.fma(-x, x, 1.0), f.const(1.0, x.type))
    log, log_rest = fast_two_sum(f, *log_pair(f, inside))
    w = -log
    near = _times_polynomial(f, x, (w, -log_rest), by_width(x, _CENTRAL_SINGLE, _CENTRAL_DOUBLE))

    def careful() -> list[V]:
        square, square_rest = two_product(f, x, x)
        high, low = fast_two_sum(f, 1.0, -square)
        missing = ((high - inside) + low) - square_rest  # of 1 - x**2, by rounding
        w_rest = -f.fma(missing, 1.0 / inside, log_rest)
        root = f.sqrt(w)
        pair = root, (f.fma(-root, root, w) + w_rest) * 0.5 / root
        far = _times_polynomial(f, x, pair, by_width(x, _TAIL_SINGLE, _TAIL_DOUBLE))
        if x.type.bits == 64:
            farthest = _times_polynomial(f, x, pair, _FAR_TAIL_DOUBLE)
            far = f.select(w.lt(16.0), far, farthest)
        pole = f.select(f.abs(x).eq(1.0), x * _INFINITY, float("nan"))
        return [f.select(is_regular, f.select(w.lt(5.0), near, far), pole)]

    return rarely(f, ~(w.lt(5.0) & is_regular), [near], careful)[0]


def _times_polynomial(
    f: Function, x: V, argument: Pair, fit: tuple[float, float, Sequence[float]]
) -> V:
    """x times a polynomial about a centre, whose first coefficient, the largest of its terms, has a
    rest.
    """
    centre, rest, coefficients = fit
    t, lost = fast_two_sum(f, -centre, argument[0])  # exact: centres are short
    curve = t * two_chains(f, t, t * t, coefficients[2:])
    slope, slope_rest = fast_two_sum(f, coefficients[1], curve)
    climb, climb_rest = two_product(f, t, slope)
    high, low = fast_two_sum(f, coefficients[0], climb)
    climb_rest = f.fma(lost + argument[1], slope, climb_rest + rest)
    low = low + f.fma(t, slope_rest, climb_rest)
    raised = x * 2.0**64  # so that the low product has its digits
    return f.copysign(f.fma(raised, high, raised * low) * 2.0**-64, x)


FUNCTIONS: Final[Mapping[str, Callable[..., V]]] = {"erf": erf, "erfc": erfc, "erfinv": erfinv}
