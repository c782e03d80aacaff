"""SciPy's special functions that are ufuncs, by name, so that SciPy is not imported for them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from weft.compiler.ir.build import constant
from weft.compiler.ir.graph import Value
from weft.compiler.ops.arithmetic import abs_, add, div, mul, neg, sub
from weft.compiler.ops.logic import and_, eq, ge, gt, is_finite, is_nan, not_, or_, select
from weft.compiler.ops.special import (
    cbrt,
    digamma,
    erf,
    erfc,
    erfinv,
    exp,
    exp2,
    expm1,
    i0e,
    i1e,
    lgamma,
    log,
    log1p,
    sigmoid,
    softplus,
)
from weft.frontends.numpy.functions import bessel, elliptic, gammas, normals
from weft.frontends.tracing.core import lift, wrap


def _number(like: Value, number: float) -> Value:
    return constant(number, like.type.dtype)


def _times_log(logarithm: Callable[..., Value], least: float) -> Callable[[Value, Value], Value]:
    """x log(y), which is 0 where x is 0, even if the logarithm is infinite or none: it never sees
    such a y, so that gradients stay finite.
    """

    def emit(x: Value, y: Value) -> Value:
        has_one = and_(gt(y, _number(y, least)), is_finite(y))
        is_zero = and_(eq(x, _number(x, 0)), not_(or_(has_one, is_nan(y))))
        safe = select(is_zero, _number(y, 1), y)
        return select(is_zero, _number(x, 0), mul(x, logarithm(safe)))

    return emit


def _entropy(x: Value) -> Value:
    """-x log(x), 0 at 0, and -inf below."""
    inside = gt(x, _number(x, 0))
    safe = select(inside, x, _number(x, 1))
    outside = select(eq(x, _number(x, 0)), _number(x, 0), _number(x, -math.inf))
    return select(is_nan(x), x, select(inside, neg(mul(x, log(safe))), outside))


def _logit(x: Value) -> Value:
    return sub(log(x), log1p(neg(x)))


def _normal_cdf(x: Value) -> Value:
    return mul(_number(x, 0.5), erfc(mul(x, _number(x, -math.sqrt(0.5)))))


def _relative_entropy(x: Value, y: Value) -> Value:
    """x log(x / y), 0 where x is 0 and y is not negative, and infinite elsewhere outside."""
    zero = _number(x, 0)
    inside = and_(gt(x, zero), gt(y, zero))
    one = _number(x, 1)
    made = mul(x, log(div(select(inside, x, one), select(inside, y, one))))
    outside = select(and_(eq(x, zero), ge(y, zero)), zero, _number(x, math.inf))
    has_nan = or_(is_nan(x), is_nan(y))
    return select(has_nan, _number(x, math.nan), select(inside, made, outside))


def _divergence(x: Value, y: Value) -> Value:
    entropy = _relative_entropy(x, y)
    is_infinite = eq(entropy, _number(x, math.inf))
    return select(is_infinite, entropy, add(sub(entropy, x), y))


def _traced(function: Callable[..., Any]) -> Callable[..., Value]:
    """A function of traced arrays as one of values."""
    return lambda *values: lift(function(*[wrap(value) for value in values]))


def _grown(scaled: Callable[[Value], Value]) -> Callable[[Value], Value]:
    """A Bessel function from the one without its exponential growth."""
    return lambda x: mul(scaled(x), exp(abs_(x)))


_BESSEL: Final = ("j0", "j1", "y0", "y1", "k0", "k0e", "k1", "k1e")
_ELLIPTIC: Final = ("ellipe", "ellipeinc", "ellipk", "ellipkinc", "ellipkm1")

SPECIAL: Final[Mapping[str, Callable[..., Value]]] = MappingProxyType(
    {
        "erf": erf,
        "erfc": erfc,
        "erfinv": erfinv,
        "gammaln": lgamma,
        "psi": digamma,
        "i0e": i0e,
        "i1e": i1e,
        "expit": sigmoid,
        "log_expit": lambda x: neg(softplus(neg(x))),
        "logit": _logit,
        "xlogy": _times_log(log, 0),
        "xlog1py": _times_log(log1p, -1),
        "entr": _entropy,
        "ndtr": _normal_cdf,
        "ndtri": _traced(normals.ndtri),
        "log_ndtr": _traced(normals.log_ndtr),
        "erfcx": _traced(normals.erfcx),
        "erfcinv": _traced(normals.erfcinv),
        "rel_entr": _relative_entropy,
        "kl_div": _divergence,
        "i0": _grown(i0e),
        "i1": _grown(i1e),
        "gamma": _traced(gammas.gamma),
        "gammasgn": _traced(gammas.gammasgn),
        "gammainc": _traced(gammas.gammainc),
        "gammaincc": _traced(gammas.gammaincc),
        "beta": _traced(gammas.beta),
        "betaln": _traced(gammas.betaln),
        "betainc": _traced(gammas.betainc),
        "exp2": exp2,
        "expm1": expm1,
        "log1p": log1p,
        "cbrt": cbrt,
        **{name: _traced(getattr(bessel, name)) for name in _BESSEL},
        **{name: _traced(getattr(elliptic, name)) for name in _ELLIPTIC},
        "exp1": _traced(gammas.exp1),
        "rgamma": _traced(gammas.rgamma),
    }
)
"""From the name of a ufunc of `scipy.special` to the ops that compute it."""
