"""`scipy.special` on traced arrays: gamma, error, entropy functions, normalised exponentials.

>>> import numpy as np, weft as wf
>>> float(wf.grad(wf.scipy.special.gammainc, 0)(2.0, 1.0)) < 0
True
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.frontends.eager.anywhere import eager
from weft.frontends.numpy.functions import gammas
from weft.frontends.numpy.functions.special_ufuncs import SPECIAL
from weft.frontends.regions.control import stop_gradient
from weft.frontends.scipy.floats import floats, spread
from weft.frontends.tracing.core import lift, wrap
from weft.frontends.tracing.trace import ArrayLike

_OTHERS = (
    *("binom", "digamma", "factorial", "log_softmax", "loggamma", "logsumexp", "multigammaln"),
    *("ndtr", "poch", "polygamma", "sinc", "softmax", "zeta"),
)

__all__ = sorted({*SPECIAL, *_OTHERS})


def _elementwise(name: str, emit: Callable[..., Any]) -> Callable[..., Any]:
    def function(*operands: ArrayLike) -> Any:
        return wrap(emit(*[lift(operand) for operand in spread(*operands)]))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"As `scipy.special.{name}`, for real numbers."
    return eager(function)


globals().update({name: _elementwise(name, emit) for name, emit in SPECIAL.items()})

digamma = _elementwise("digamma", SPECIAL["psi"])


@eager
def zeta(x: ArrayLike, q: ArrayLike = 1.0) -> Any:
    """As `scipy.special.zeta`, of x > 1 and q > 0; NaN elsewhere, infinite at poles."""
    return gammas.zeta(*spread(x, q))


@eager
def polygamma(n: ArrayLike, x: ArrayLike) -> Any:
    """As `scipy.special.polygamma`; the order may be traced."""
    if isinstance(n, int):
        return gammas.polygamma(n, floats(x)[0])
    return gammas.polygamma(*spread(n, x))


@eager
def multigammaln(a: ArrayLike, d: int) -> Any:
    """As `scipy.special.multigammaln`."""
    return gammas.multigammaln(floats(a)[0], d)


@eager
def factorial(n: ArrayLike) -> Any:
    """As `scipy.special.factorial`: 0 of negative numbers."""
    (number,) = floats(n)
    made = gammas.gamma(np.where(number < 0, 0.0, number).astype(number.dtype) + 1)
    return np.where(number < 0, 0, made).astype(number.dtype)


@eager
def binom(n: ArrayLike, k: ArrayLike) -> Any:
    """As `scipy.special.binom`, for n above -1; 0 for k outside of 0 to n of whole numbers."""
    count, chosen = spread(n, k)
    is_out = (chosen < 0) | ((chosen > count) & (np.floor(count) == count))
    safe = np.where(is_out, 0.0, chosen).astype(count.dtype)
    made = np.exp(-gammas.betaln(1 + count - safe, 1 + safe) - np.log1p(count))
    sign = gammas.gammasgn(1 + count - safe) * gammas.gammasgn(1 + safe)
    return np.where(is_out, 0, sign * made).astype(count.dtype)


@eager
def loggamma(z: ArrayLike) -> Any:
    """As `scipy.special.loggamma` of real numbers: NaN left of 0, where it would be complex."""
    (x,) = floats(z)
    return np.where(x < 0, np.nan, gammas.lgamma(x))


@eager
def poch(z: ArrayLike, m: ArrayLike) -> Any:
    """As `scipy.special.poch`: gamma(z + m) / gamma(z), for positive z and z + m."""
    start, steps = spread(z, m)
    ratio = np.exp(gammas.lgamma(start + steps) - gammas.lgamma(start))
    return np.where(steps == 0, 1.0, ratio)


@eager
def sinc(x: ArrayLike) -> Any:
    """As `scipy.special.sinc`."""
    return np.sinc(floats(x)[0])


# --- along axes ---------------------------------------------------------------------------------


@eager
def logsumexp(
    a: ArrayLike,
    axis: Any = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: bool = False,
) -> Any:
    """As `scipy.special.logsumexp`, for real numbers: without overflow, -inf of nothing.

    >>> import numpy as np, weft as wf
    >>> round(float(wf.scipy.special.logsumexp(np.array([1000.0, 1000.0]))), 6)
    1000.693147
    """
    x, *weights = spread(a) if b is None else spread(a, b)
    if weights:
        # What counts nothing must not set the scale.
        x = np.where(weights[0] == 0, -np.inf, x).astype(x.dtype)
    largest = np.max(x, axis=axis, keepdims=True, initial=-np.inf)
    # The shift drops out of the sum, so that its derivative is none.
    shift = stop_gradient(np.where(np.isfinite(largest), largest, 0).astype(x.dtype))
    terms = np.exp(x - shift)
    total = np.sum(terms * weights[0] if weights else terms, axis=axis, keepdims=True)
    size = np.abs(total) if return_sign else total
    made = np.log(size) + shift
    result = made if keepdims else _without(made, axis)
    if not return_sign:
        return result
    sign = np.sign(total)
    return result, sign if keepdims else _without(sign, axis)


def _without(x: Any, axis: Any) -> Any:
    return np.squeeze(x, tuple(range(x.ndim)) if axis is None else axis)


@eager
def softmax(x: ArrayLike, axis: Any = None) -> Any:
    """As `scipy.special.softmax`."""
    (value,) = floats(x)
    shifted = np.exp(value - np.max(value, axis=axis, keepdims=True))
    return shifted / np.sum(shifted, axis=axis, keepdims=True)


@eager
def log_softmax(x: ArrayLike, axis: Any = None) -> Any:
    """As `scipy.special.log_softmax`."""
    (value,) = floats(x)
    shifted = value - np.max(value, axis=axis, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"scipy.special.{name} has no traced version; write it with those in weft.scipy.special, "
        "or call SciPy's with wf.callback"
    )
