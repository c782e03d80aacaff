"""SciPy's special functions that are ufuncs, by name, so that SciPy is not imported for them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from weft.compiler.ir.build import constant
from weft.compiler.ir.graph import Value
from weft.compiler.ops.arithmetic import add, mul, neg, sub
from weft.compiler.ops.logic import and_, eq, gt, is_finite, is_nan, not_, or_, select
from weft.compiler.ops.special import (
    digamma,
    erf,
    erfc,
    erfinv,
    i0e,
    i1e,
    lgamma,
    log,
    log1p,
    sigmoid,
    softplus,
)


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


def _normal_quantile(p: Value) -> Value:
    scaled = add(mul(p, _number(p, 2)), _number(p, -1))
    return mul(erfinv(scaled), _number(p, math.sqrt(2)))


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
        "ndtri": _normal_quantile,
    }
)
"""From the name of a ufunc of `scipy.special` to the ops that compute it."""
