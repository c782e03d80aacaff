"""Functions around the normal distribution and the error function, with all digits in the tails."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from weft.compiler.ops import special
from weft.frontends.tracing.core import lift, wrap

_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


def erfc(x: Any) -> Any:
    """1 - erf(x)."""
    return wrap(special.erfc(lift(x)))


def _tail_series(x: Any, unit: float, terms: int = 9) -> Any:
    """1 - 1/x^2 + 3/x^4 - 15/x^6 + ..., which Mills's ratio times x is for large x."""
    inverse = unit / (x * x)
    total, term = 1.0, 1.0
    for k in range(terms):
        term = term * inverse * -(2 * k + 1)
        total = total + term
    return total


def log_ndtr(x: Any) -> Any:
    """The logarithm of the normal distribution function; no operand underflows."""
    dtype = x.dtype
    far = -20.0 if np.finfo(dtype).bits == 64 else -10.0
    # Every branch sees harmless numbers where another is taken: no NaN reaches a derivative.
    low = np.where(x < far, x, far).astype(dtype)
    middle = np.where((x >= far) & (x < 0), x, -1.0).astype(dtype)
    high = np.where(x >= 0, x, 1.0).astype(dtype)
    below = -0.5 * low * low - np.log(-low) - _HALF_LOG_TWO_PI + np.log(_tail_series(low, 1.0))
    inside = np.log(0.5 * erfc(-middle * math.sqrt(0.5)))
    above = np.log1p(-0.5 * erfc(high * math.sqrt(0.5)))
    made = np.where(x < far, below, np.where(x < 0, inside, above))
    return np.where(np.isnan(x), x, np.where(x == -np.inf, -np.inf, made)).astype(dtype)


def erfcx(x: Any) -> Any:
    """e^(x^2) erfc(x), which does not underflow."""
    is_large = x > 7
    near = np.where(is_large, 1.0, x).astype(x.dtype)
    far = np.where(is_large, x, 7.0).astype(x.dtype)
    inside = np.exp(near * near) * erfc(near)
    outside = _tail_series(far, 0.5, 16) / (far * math.sqrt(math.pi))
    made = np.where(is_large, outside, inside)
    return np.where(np.isnan(x), x, made).astype(x.dtype)


@functools.cache
def _quantile() -> Callable[..., Any]:
    from weft.frontends.regions.custom import CustomJvp  # few programs need it

    result = CustomJvp(_ndtri)

    @result.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (p,), (tangent,) = primals, tangents
        x = result(p)
        return x, tangent * np.exp(0.5 * x * x + _HALF_LOG_TWO_PI)

    return result


def ndtri(p: Any) -> Any:
    """The quantile of the normal distribution, right in the lower tail too."""
    return _quantile()(p)


def _ndtri(p: Any) -> Any:
    """By the inverse error function; in the lower tail by Newton's method on the logarithm."""
    dtype = p.dtype
    is_tail = (p > 0) & (p < 0.05)
    centre = np.where(is_tail, 0.5, p).astype(dtype)
    root: Any = wrap(special.erfinv(lift(2 * centre - 1)))
    inside = root * math.sqrt(2)
    target = np.log(np.where(is_tail, p, 0.01).astype(dtype))
    x = -np.sqrt(-2 * target)
    x = x + np.log(-x * math.sqrt(2 * math.pi)) / -x
    for _ in range(4):
        value = log_ndtr(x)
        slope = np.exp(-0.5 * x * x - _HALF_LOG_TWO_PI - value)
        x = x - (value - target) / slope
    return np.where(is_tail, x, inside).astype(dtype)


def erfcinv(x: Any) -> Any:
    """The inverse of erfc, right for small operands."""
    return ndtri(x * 0.5) * -math.sqrt(0.5)
