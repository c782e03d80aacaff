"""Functions around the gamma function: incomplete integrals, beta, zeta; on traced arrays.

They are written as users would, with NumPy's functions on arrays of one floating-point dtype; where
a loop finds the value, the derivative is a rule of its own.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from weft.compiler.ops import special
from weft.frontends.tracing.core import lift, wrap

_MOST_STEPS: Final = 2000
_EULER: Final = 0.5772156649015329

# Bernoulli numbers B(2k) over (2k)!, the coefficients of the Euler-Maclaurin formula.
_BERNOULLI: Final = (
    1 / 12,
    -1 / 720,
    1 / 30240,
    -1 / 1209600,
    1 / 47900160,
    -691 / 1307674368000,
    1 / 74724249600,
    -3617 / 10670622842880000,
    43867 / 5109094217170944000,
    -174611 / 802857662698291200000,
)


def lgamma(x: Any) -> Any:
    """log |gamma(x)|."""
    return wrap(special.lgamma(lift(x)))


def digamma(x: Any) -> Any:
    """The derivative of log gamma(x)."""
    return wrap(special.digamma(lift(x)))


def gammasgn(x: Any) -> Any:
    """The sign of gamma(x), that of x at 0, and NaN at negative integers."""
    is_negative = (x < 0) & (np.floor(x) % 2 != 0)
    sign = np.where(is_negative, -1, np.copysign(np.ones_like(x), np.where(x == 0, x, 1)))
    is_pole = (x < 0) & (np.floor(x) == x)
    return np.where(is_pole | np.isnan(x), np.nan, sign).astype(x.dtype)


def gamma(x: Any) -> Any:
    """The gamma function: infinite at 0 with its sign, NaN at negative integers."""
    return gammasgn(x) * np.exp(lgamma(x))


def rgamma(x: Any) -> Any:
    """1 / gamma(x), which is 0 at the poles."""
    is_pole = (x <= 0) & (np.floor(x) == x)
    safe = np.where(is_pole, 1.0, x).astype(x.dtype)
    return np.where(is_pole, 0.0, gammasgn(safe) * np.exp(-lgamma(safe))).astype(x.dtype)


# --- loops --------------------------------------------------------------------------------------


def _repeat(
    step: Callable[..., tuple[Any, ...]], is_unfinished: Callable[..., Any], *start: Any
) -> tuple[Any, ...]:
    """`state = step(n, *state)` for n = 1, 2, ... until all elements are done."""
    from weft.frontends.regions.control import while_loop  # few programs need it

    def condition(carry: Any) -> Any:
        count, state = carry
        return (count < _MOST_STEPS) & np.any(is_unfinished(*state))

    def body(carry: Any) -> Any:
        count, state = carry
        made = step((count + 1).astype(state[0].dtype), *state)
        return count + 1, tuple(part.astype(state[0].dtype) for part in made)

    return while_loop(condition, body, (0, tuple(start)))[1]  # type: ignore[no-any-return]


def _unit(x: Any) -> float:
    return float(np.finfo(x.dtype).eps)


def with_rule(function: Callable[..., Any], rule: Callable[..., Any]) -> Callable[..., Any]:
    """The function with its own forward derivative."""
    from weft.frontends.regions.custom import CustomJvp  # few programs need it

    result = CustomJvp(function)
    result.defjvp(rule)
    return result


def weighted(slopes: Any, tangents: Any) -> Any:
    """The sum of slopes times tangents, which may be None; slopes are functions."""
    parts = [slope() * t for slope, t in zip(slopes, tangents, strict=True) if t is not None]
    return functools.reduce(lambda left, right: left + right, parts)


# --- incomplete gamma integrals -----------------------------------------------------------------


def _lower_series(a: Any, x: Any) -> tuple[Any, Any]:
    """S = 1 + x / (a+1) + x^2 / ((a+1)(a+2)) + ... and its derivative by a."""
    unit = _unit(x)

    def step(n: Any, term: Any, total: Any, slope: Any, slopes: Any) -> tuple[Any, ...]:
        factor = x / (a + n)
        slope = slope * factor - term * factor / (a + n)
        term = term * factor
        return term, total + term, slope, slopes + slope

    def is_unfinished(term: Any, total: Any, slope: Any, slopes: Any) -> Any:
        return (term > unit * total) | (np.abs(slope) > unit * np.abs(slopes))

    one, zero = np.ones_like(x), np.zeros_like(x)
    _, total, _, slopes = _repeat(step, is_unfinished, one, one, zero, zero)
    return total, slopes


def _upper_fraction(a: Any, x: Any) -> tuple[Any, Any]:
    """The continued fraction F of the upper integral x^a e^-x F, and its derivative by a.

    By the recurrence of its numerators and denominators, divided down before they overflow.
    """
    unit = _unit(x)

    def step(n: Any, *state: Any) -> tuple[Any, ...]:
        p, q, p_last, q_last, dp, dq, dp_last, dq_last, last, dlast, _, _ = state
        weight, z = n * (n + 1 - a), x - a + (2 * n + 2)
        following_p, following_q = p * z - p_last * weight, q * z - q_last * weight
        slope_p = dp * z - p - dp_last * weight + p_last * n
        slope_q = dq * z - q - dq_last * weight + q_last * n
        scale = np.where(np.abs(following_q) > 1 / unit, unit, 1.0).astype(x.dtype)
        ratio = following_p / following_q
        dratio = (slope_p - ratio * slope_q) / following_q
        kept = [following_p, following_q, p, q, slope_p, slope_q, dp, dq]
        return (*[part * scale for part in kept], ratio, dratio, last, dlast)

    def is_unfinished(*state: Any) -> Any:
        ratio, dratio, last, dlast = state[8:]
        is_value = np.abs(ratio - last) > unit * np.abs(ratio)
        return is_value | (np.abs(dratio - dlast) > unit * (np.abs(dratio) + np.abs(ratio)))

    one, zero = np.ones_like(x), np.zeros_like(x)
    p, q = x + 1, (x + 2 - a) * x
    ratio, dratio = p / q, p * x / (q * q)
    first = (p, q, one, x, zero, -x, zero, zero, ratio, dratio, zero, zero)
    state = _repeat(step, is_unfinished, *first)
    return state[8], state[9]


def _incomplete(a: Any, x: Any) -> tuple[Any, ...]:
    """Where the upper fraction is taken, and both sums with their derivatives, each of operands
    that it converges for.
    """
    is_upper = (x > 1) & (x > a)
    low_x, low_a = np.where(is_upper, 1.0, x), np.where(is_upper, 1.0, a)
    high_x, high_a = np.where(is_upper, x, 2.0), np.where(is_upper, a, 1.0)
    dtype = x.dtype
    lower = _lower_series(low_a.astype(dtype), low_x.astype(dtype))
    upper = _upper_fraction(high_a.astype(dtype), high_x.astype(dtype))
    return is_upper, *lower, *upper


def _front(a: Any, x: Any) -> Any:
    """x^a e^-x / gamma(a)."""
    safe = np.where(x > 0, x, 1.0).astype(x.dtype)
    return np.where(x > 0, np.exp(a * np.log(safe) - x - lgamma(a)), 0).astype(x.dtype)


def _domain(a: Any, x: Any) -> tuple[Any, Any, Any]:
    """Whether the integral exists, and operands that are harmless where it does not."""
    is_right = (a > 0) & (x >= 0)
    is_plain = is_right & np.isfinite(x) & np.isfinite(a)
    return (
        is_right,
        np.where(is_plain, a, 1.0).astype(x.dtype),
        np.where(is_plain, x, 1.0).astype(x.dtype),
    )


def _regularised(a: Any, x: Any, upper: bool) -> Any:
    is_right, safe_a, safe_x = _domain(a, x)
    is_upper, series, _, fraction, _ = _incomplete(safe_a, safe_x)
    front = _front(safe_a, safe_x)
    low, high = front * series / safe_a, front * fraction
    made = np.where(is_upper, high, 1 - low) if upper else np.where(is_upper, 1 - high, low)
    beyond = np.where(np.isinf(x), 1.0, 0.0)
    at_limits = 1 - beyond if upper else beyond
    made = np.where(np.isinf(x) | np.isinf(a), at_limits, made)
    at_pole = np.where(x > 0, 1.0 - upper, np.nan)
    is_right = is_right & ~(np.isinf(x) & np.isinf(a))
    made = np.where((a == 0) & (x >= 0), at_pole, np.where(is_right, made, np.nan))
    return made.astype(x.dtype)


def _slope_by_a(a: Any, x: Any) -> Any:
    """The derivative of the lower regularised integral by a."""
    is_right, safe_a, safe_x = _domain(a, x)
    is_upper, series, series_slope, fraction, fraction_slope = _incomplete(safe_a, safe_x)
    front = _front(safe_a, safe_x)
    logarithm = np.log(np.where(safe_x > 0, safe_x, 1.0).astype(x.dtype))
    low = front * (series_slope + series * (logarithm - digamma(safe_a + 1))) / safe_a
    high = -front * (fraction_slope + fraction * (logarithm - digamma(safe_a)))
    return np.where(is_right, np.where(is_upper, high, low), np.nan).astype(x.dtype)


def _slope_by_x(a: Any, x: Any) -> Any:
    """The density of the gamma distribution."""
    safe = np.where(x > 0, x, 1.0).astype(x.dtype)
    inside = np.exp((a - 1) * np.log(safe) - safe - lgamma(a))
    at_zero = np.where(a < 1, np.inf, np.where(a == 1, 1.0, 0.0))
    return np.where(x > 0, inside, at_zero).astype(x.dtype)


@functools.cache
def _incomplete_gamma(upper: bool) -> Callable[..., Any]:
    sign = -1.0 if upper else 1.0

    def rule(primals: Any, tangents: Any) -> Any:
        a, x = primals
        slopes = (lambda: _slope_by_a(a, x)), (lambda: _slope_by_x(a, x))
        slope = weighted(slopes, tangents)
        return _regularised(a, x, upper), slope * slope.dtype.type(sign)

    return with_rule(lambda a, x: _regularised(a, x, upper), rule)


def gammainc(a: Any, x: Any) -> Any:
    """The lower regularised incomplete gamma integral, with derivatives by both operands."""
    return _incomplete_gamma(False)(*np.broadcast_arrays(a, x))


def gammaincc(a: Any, x: Any) -> Any:
    """The upper regularised incomplete gamma integral."""
    return _incomplete_gamma(True)(*np.broadcast_arrays(a, x))


def log_sample_slope(a: Any, log_x: Any) -> Any:
    """d log x / da of a sample x of the gamma distribution at a fixed probability: the implicit
    derivative -(dP/da) / (x dP/dx). In logarithms, as samples of a small shape underflow.
    """
    x = np.exp(log_x)
    is_upper, series, series_slope, fraction, fraction_slope = _incomplete(a, x)
    low = (series_slope + series * (log_x - digamma(a + 1))) / a
    high = -(fraction_slope + fraction * (log_x - digamma(a)))
    return -np.where(is_upper, high, low).astype(x.dtype)


# --- beta ---------------------------------------------------------------------------------------


def betaln(a: Any, b: Any) -> Any:
    """log |beta(a, b)|; infinite where a or b is 0."""
    is_pole = (a == 0) | (b == 0)
    first, second = [np.where(is_pole, 1.0, v).astype(v.dtype) for v in (a, b)]
    made = lgamma(first) + lgamma(second) - lgamma(first + second)
    return np.where(is_pole, np.inf, made).astype(made.dtype)


def beta(a: Any, b: Any) -> Any:
    """gamma(a) gamma(b) / gamma(a + b); NaN at negative integers."""
    return gammasgn(a) * gammasgn(b) * gammasgn(a + b) * np.exp(betaln(a, b))


def _beta_fraction(a: Any, b: Any, x: Any) -> Any:
    """The continued fraction of the incomplete beta integral, by Lentz's method."""
    unit, tiny = _unit(x), float(np.finfo(x.dtype).tiny) / _unit(x)

    def guarded(value: Any) -> Any:
        return np.where(np.abs(value) < tiny, tiny, value).astype(x.dtype)

    def step(n: Any, c: Any, d: Any, made: Any, _: Any) -> tuple[Any, ...]:
        even = n * (b - n) * x / ((a + 2 * n - 1) * (a + 2 * n))
        d, c = 1 / guarded(1 + even * d), guarded(1 + even / c)
        made = made * c * d
        odd = -(a + n) * (a + b + n) * x / ((a + 2 * n) * (a + 2 * n + 1))
        d, c = 1 / guarded(1 + odd * d), guarded(1 + odd / c)
        return c, d, made * c * d, c * d

    def is_unfinished(c: Any, d: Any, made: Any, change: Any) -> Any:
        return np.abs(change - 1) > unit

    one = np.ones_like(x)
    d = 1 / guarded(1 - (a + b) * x / (a + 1))
    return _repeat(step, is_unfinished, one, d, d, one * 0)[2]


def betainc(a: Any, b: Any, x: Any) -> Any:
    """The regularised incomplete beta integral, for positive a and b and x in [0, 1]."""
    a, b, x = np.broadcast_arrays(a, b, x)
    is_right = (a > 0) & (b > 0) & (x >= 0) & (x <= 1)
    is_inside = is_right & (x > 0) & (x < 1)
    a, b, inner = [np.where(is_inside, v, 0.5).astype(x.dtype) for v in (a, b, x)]
    # The fraction converges fast below the mean; above it the other tail is taken.
    is_turned = inner > (a + 1) / (a + b + 2)
    first, second = np.where(is_turned, b, a), np.where(is_turned, a, b)
    at = np.where(is_turned, 1 - inner, inner)
    logarithm = first * np.log(at) + second * np.log1p(-at) - betaln(first, second)
    tail = np.exp(logarithm) * _beta_fraction(first, second, at) / first
    made = np.where(is_turned, 1 - tail, tail)
    made = np.where(is_inside, made, np.where(x >= 1, 1.0, 0.0))
    return np.where(is_right, made, np.nan).astype(x.dtype)


# --- exponential integral -----------------------------------------------------------------------


@functools.cache
def _exp1() -> Callable[[Any], Any]:
    def rule(primals: Any, tangents: Any) -> Any:
        (x,) = primals
        return exp1(x), weighted([lambda: -np.exp(-x) / x], tangents)

    return with_rule(lambda x: _exponential_integral(x.astype(np.float64)).astype(x.dtype), rule)


def exp1(x: Any) -> Any:
    """The integral of exp(-t) / t from x on; infinite at 0, NaN to the left."""
    return _exp1()(x)


def _exponential_integral(x: Any) -> Any:
    """By its series up to 2, and by the continued fraction of the incomplete gamma integral."""
    is_small = x <= 2
    small = np.where(is_small & (x > 0), x, 0.5)
    total: Any = np.zeros_like(small)
    for k in range(28, 0, -1):
        total = small * (total + (-1.0) ** (k + 1) / (k * math.factorial(k)))
    near = total - np.log(small) - _EULER
    large = np.where(is_small | ~np.isfinite(x), 3.0, x)
    far = np.exp(-large) * _upper_fraction(np.zeros_like(large), large)[0]
    made = np.where(is_small, near, np.where(np.isinf(x), 0.0, far))
    return np.where(x > 0, made, np.where(x == 0, np.inf, np.nan))


# --- zeta ---------------------------------------------------------------------------------------


def zeta(x: Any, q: Any) -> Any:
    """The Hurwitz zeta function, the sum of (q + k)^-x, for x > 1 and q > 0; else as SciPy says.

    By the first terms and the Euler-Maclaurin formula for the others, in f64, with the roundings of
    sums added up.
    """
    x, q = np.broadcast_arrays(x, q)
    is_right = (x > 1) & (q > 0)
    power = np.where(is_right, x, 2.0).astype(np.float64)
    start = np.where(is_right, q, 1.0).astype(np.float64)
    terms = 12
    end = start + terms
    tail = _shifted_power(start, terms, 1 - power)
    first = tail / end
    rest, factor = first * 0.5, power * first / end
    for k, coefficient in enumerate(_BERNOULLI):
        rest = rest + coefficient * factor
        factor = factor * (power + (2 * k + 1)) * (power + (2 * k + 2)) / (end * end)
    total = tail / (power - 1)
    for k in reversed(range(terms)):
        step = _shifted_power(start, k, -power)
        before, total = total, total + step
        shadow = total - before
        rest = rest + ((before - (total - shadow)) + (step - shadow))
    is_finite = np.isfinite(power) & np.isfinite(start) & np.isfinite(total)
    total = np.where(is_finite, total + rest, start**-power)
    is_pole = (x == 1) | ((x > 1) & (q <= 0) & (np.floor(q) == q))
    outside = np.where(is_pole, np.inf, np.nan)
    return np.where(is_right, total, outside).astype(x.dtype)


def _shifted_power(x: Any, k: int, power: Any) -> Any:
    """(x + k) ** power, with what the sum rounds off: that is exact, as k has few digits."""
    shifted = x + k
    made = shifted**power
    return made + made * (power * (x - (shifted - k)) / shifted) if k else made


def polygamma(n: Any, x: Any) -> Any:
    """The derivative of digamma of order n, a traced or known number."""
    if isinstance(n, int):
        if n == 0:
            return digamma(x)
        return wrap(special.polygamma(lift(x), order=n))
    n, x = np.broadcast_arrays(n, x)
    sign = np.where(n % 2 == 0, -1.0, 1.0).astype(x.dtype)
    made = sign * np.exp(lgamma(n + 1)) * zeta(n + 1, x)
    return np.where(n == 0, digamma(x), made).astype(x.dtype)


def multigammaln(a: Any, d: int) -> Any:
    """The logarithm of the gamma function of d dimensions."""
    total = functools.reduce(lambda sum_, i: sum_ + lgamma(a - i / 2), range(1, d), lgamma(a))
    return total + d * (d - 1) / 4 * math.log(math.pi)
