"""Elementwise functions of analysis: roots, logarithms, circular, hyperbolic and special.

References compute in double; SciPy is imported when one of its functions first runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from weft.compiler.ir.attributes import INT
from weft.compiler.ir.errors import VerifyError
from weft.compiler.ir.graph import Op, Value
from weft.compiler.ir.opdef import OpDef, Trait
from weft.compiler.ir.rules import Maybe
from weft.compiler.ir.types import ArrayType
from weft.compiler.ops import helpers
from weft.compiler.ops.common import FLOAT, INEXACT, require_kind
from weft.compiler.ops.elementwise import binary, by_divisor, unary
from weft.compiler.ops.precision import Array, in_double, widen
from weft.compiler.ops.primitives import ops


def _scipy(name: str) -> Any:
    """A ufunc of scipy.special, looked up when called: `import weft` must not load SciPy."""

    def compute(x: Array) -> Any:
        from scipy import special

        return getattr(special, name)(x)

    return compute


sqrt = unary(
    "sqrt",
    "The square root, NaN for negative floats; complex: the one with real part >= 0.",
    kinds=INEXACT,
    reference=in_double(np.sqrt),
    derivative=lambda x, y: ops.div(helpers.number(0.5, y), y),
    cost=4,
)

rsqrt = unary(
    "rsqrt",
    "1 / sqrt(x), infinite at 0.",
    kinds=INEXACT,
    reference=in_double(lambda x: 1 / np.sqrt(x)),
    derivative=lambda x, y: ops.mul(helpers.scale(y, -0.5), helpers.square(y)),
    cost=10,
)

cbrt = unary(
    "cbrt",
    "The real cube root, of negative x too.",
    kinds=FLOAT,
    reference=in_double(np.cbrt),
    derivative=lambda x, y: ops.div(helpers.number(1 / 3, y), helpers.square(y)),
    cost=10,
)

exp = unary(
    "exp",
    "e ** x.",
    kinds=INEXACT,
    reference=in_double(np.exp),
    derivative=lambda x, y: y,
    cost=10,
)

exp2 = unary(
    "exp2",
    "2 ** x.",
    kinds=INEXACT,
    reference=in_double(np.exp2),
    derivative=lambda x, y: helpers.scale(y, math.log(2)),
    cost=10,
)

expm1 = unary(
    "expm1",
    "e ** x - 1, exact to the last digits near 0.",
    kinds=INEXACT,
    reference=in_double(np.expm1),
    derivative=lambda x, y: helpers.offset(y, 1),
    cost=14,
)

log = unary(
    "log",
    "The natural logarithm, -inf at 0 and NaN below; complex: imaginary part in [-pi, pi].",
    kinds=INEXACT,
    reference=in_double(np.log),
    jvp=by_divisor(lambda x, y: x),
    cost=10,
)

log2 = unary(
    "log2",
    "The logarithm to base 2.",
    kinds=INEXACT,
    reference=in_double(np.log2),
    derivative=lambda x, y: ops.div(helpers.number(1 / math.log(2), x), x),
    cost=10,
)

log10 = unary(
    "log10",
    "The logarithm to base 10.",
    kinds=INEXACT,
    reference=in_double(np.log10),
    derivative=lambda x, y: ops.div(helpers.number(1 / math.log(10), x), x),
    cost=10,
)


def _log1p(x: Array) -> Any:
    # NumPy's complex kernel forms 1 + x and so loses the digits that log1p is there to keep.
    return _scipy("log1p")(x) if np.iscomplexobj(x) else np.log1p(x)


log1p = unary(
    "log1p",
    "log(1 + x), exact to the last digits near 0.",
    kinds=INEXACT,
    reference=in_double(_log1p),
    jvp=by_divisor(lambda x, y: helpers.offset(x, 1)),
    cost=14,
)

sin = unary(
    "sin",
    "The sine of an angle in radians.",
    kinds=INEXACT,
    reference=in_double(np.sin),
    derivative=lambda x, y: cos(x),
    cost=14,
)

cos: OpDef = unary(
    "cos",
    "The cosine of an angle in radians.",
    kinds=INEXACT,
    reference=in_double(np.cos),
    derivative=lambda x, y: ops.neg(sin(x)),
    cost=14,
)

tan = unary(
    "tan",
    "The tangent of an angle in radians.",
    kinds=INEXACT,
    reference=in_double(np.tan),
    derivative=lambda x, y: helpers.offset(helpers.square(y), 1),
    cost=20,
)


def _one_less_square(x: Value) -> Value:
    """1 - x**2 as a product, which keeps its digits near 1."""
    one = helpers.number(1, x)
    return ops.mul(ops.sub(one, x), ops.add(one, x))


asin = unary(
    "asin",
    "The angle in [-pi/2, pi/2] whose sine is x, NaN for floats outside of [-1, 1].",
    kinds=INEXACT,
    reference=in_double(np.arcsin),
    derivative=lambda x, y: rsqrt(_one_less_square(x)),
    cost=20,
)

acos = unary(
    "acos",
    "The angle in [0, pi] whose cosine is x, NaN for floats outside of [-1, 1].",
    kinds=INEXACT,
    reference=in_double(np.arccos),
    derivative=lambda x, y: ops.neg(rsqrt(_one_less_square(x))),
    cost=20,
)

atan = unary(
    "atan",
    "The angle in [-pi/2, pi/2] whose tangent is x.",
    kinds=INEXACT,
    reference=in_double(np.arctan),
    jvp=by_divisor(lambda x, y: helpers.offset(helpers.square(x), 1)),
    cost=20,
)


def _atan2_jvp(op: Op, tangents: Sequence[Maybe]) -> Maybe:
    """(x dy - y dx) / r**2, divided by r twice as its square may overflow; 0 at the origin."""
    (dy, dx), (y, x) = tangents, op.operands
    radius = helpers.unless_zero(ops.hypot(x, y))
    turning: Maybe = None
    if dy is not None:
        slope = ops.div(ops.div(x, radius), radius)
        turning = ops.mul(dy, slope)
    if dx is None:
        return turning
    slope = ops.div(ops.div(y, radius), radius)
    back = ops.mul(dx, slope)
    return ops.neg(back) if turning is None else ops.sub(turning, back)


atan2 = binary(
    "atan2",
    "The angle in [-pi, pi] of the point (x, y), with the signs of zeros respected.",
    kinds=FLOAT,
    reference=in_double(np.arctan2),
    operands=("y", "x"),
    jvp=_atan2_jvp,
    cost=20,
)

sinh = unary(
    "sinh",
    "The hyperbolic sine.",
    kinds=INEXACT,
    reference=in_double(np.sinh),
    derivative=lambda x, y: cosh(x),
    cost=20,
)

cosh: OpDef = unary(
    "cosh",
    "The hyperbolic cosine.",
    kinds=INEXACT,
    reference=in_double(np.cosh),
    derivative=lambda x, y: sinh(x),
    cost=20,
)

tanh = unary(
    "tanh",
    "The hyperbolic tangent.",
    kinds=INEXACT,
    reference=in_double(np.tanh),
    derivative=lambda x, y: ops.sub(helpers.number(1, y), helpers.square(y)),
    cost=14,
)


def _asinh_divisor(x: Value, y: Value) -> Value:
    """sqrt(1 + x**2), for floats without the overflow of the square."""
    one = helpers.number(1, x)
    if x.type.dtype.is_complex:
        return sqrt(ops.add(one, helpers.square(x)))
    return ops.hypot(x, one)


asinh = unary(
    "asinh",
    "The inverse of sinh.",
    kinds=INEXACT,
    reference=in_double(np.arcsinh),
    jvp=by_divisor(_asinh_divisor),
    cost=40,
)


def _acosh_derivative(x: Value, y: Value) -> Value:
    """1 / sqrt(x - 1) / sqrt(x + 1): of complex x the root of the product is on another branch."""
    one = helpers.number(1, x)
    return ops.mul(rsqrt(ops.sub(x, one)), rsqrt(ops.add(x, one)))


acosh = unary(
    "acosh",
    "The inverse of cosh with values >= 0, NaN for floats below 1.",
    kinds=INEXACT,
    reference=in_double(np.arccosh),
    derivative=_acosh_derivative,
    cost=40,
)

atanh = unary(
    "atanh",
    "The inverse of tanh, infinite at -1 and 1, NaN for floats beyond.",
    kinds=INEXACT,
    reference=in_double(np.arctanh),
    jvp=by_divisor(lambda x, y: _one_less_square(x)),
    cost=40,
)


def _sigmoid(x: Array) -> Any:
    # The exponential of -|x| cannot overflow, on either side.
    small = np.exp(-np.abs(x))
    return np.where(x < 0, small, 1) / (1 + small)


sigmoid = unary(
    "sigmoid",
    "1 / (1 + e ** -x), 0 and 1 far out.",
    kinds=FLOAT,
    reference=in_double(_sigmoid),
    derivative=lambda x, y: ops.mul(y, ops.sub(helpers.number(1, y), y)),
    cost=14,
)


def _softplus(x: Array) -> Any:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


softplus = unary(
    "softplus",
    "log(1 + e ** x), 0 far to the left and x itself far to the right.",
    kinds=FLOAT,
    reference=in_double(_softplus),
    derivative=lambda x, y: sigmoid(x),
    cost=14,
)


def _scaled_bell(x: Value, scale: float) -> Value:
    """scale * e ** -x**2."""
    return helpers.scale(exp(ops.neg(helpers.square(x))), scale)


erf = unary(
    "erf",
    "The error function, 2/sqrt(pi) times the integral of e ** -t**2 from 0 to x.",
    kinds=FLOAT,
    reference=in_double(_scipy("erf")),
    derivative=lambda x, y: _scaled_bell(x, 2 / math.sqrt(math.pi)),
    cost=14,
)

erfc = unary(
    "erfc",
    "1 - erf(x), with all its digits for large x.",
    kinds=FLOAT,
    reference=in_double(_scipy("erfc")),
    derivative=lambda x, y: _scaled_bell(x, -2 / math.sqrt(math.pi)),
    cost=20,
)


def _erfinv(x: Array) -> Any:
    # SciPy drops the sign of -0.0.
    return np.copysign(_scipy("erfinv")(x), x)


erfinv = unary(
    "erfinv",
    "The inverse of erf, infinite at -1 and 1, NaN beyond.",
    kinds=FLOAT,
    reference=in_double(_erfinv),
    derivative=lambda x, y: helpers.scale(exp(helpers.square(y)), math.sqrt(math.pi) / 2),
    cost=40,
)


def _lgamma(x: Array) -> Any:
    # SciPy returns -inf at -inf; C and the limit through the poles say inf.
    return np.where(np.isinf(x), np.inf, _scipy("gammaln")(x))


lgamma = unary(
    "lgamma",
    "log(|gamma(x)|), infinite at 0, at negative integers and at both infinities.",
    kinds=FLOAT,
    reference=in_double(_lgamma),
    derivative=lambda x, y: digamma(x),
    cost=80,
)

digamma: OpDef = unary(
    "digamma",
    "The derivative of log(gamma(x)); -inf at 0, inf at -0.0, NaN at negative integers.",
    kinds=FLOAT,
    reference=in_double(_scipy("digamma")),
    derivative=lambda x, y: polygamma(x, order=1),
    cost=80,
)


def _infer_polygamma(x: ArrayType, *, order: int) -> ArrayType:
    require_kind(x, FLOAT, "x")
    if order < 1:
        raise VerifyError(f"order is {order}, expected 1 or more; digamma is order 0")
    return x


def _polygamma(x: Array, *, order: int) -> Any:
    from scipy import special

    # SciPy takes -inf for a pole; between poles and humps there is no limit, as for digamma.
    return np.where(x == -np.inf, np.nan, special.polygamma(order, widen(x)))


def _polygamma_jvp(op: Op, tangents: Sequence[Maybe]) -> Maybe:
    (tangent,), (x,) = tangents, op.operands
    assert tangent is not None
    return ops.mul(tangent, polygamma(x, order=op.attributes["order"] + 1))


polygamma: OpDef = OpDef(
    "polygamma",
    "The derivative of digamma of this order, infinite at 0 and at negative integers.",
    infer=_infer_polygamma,
    reference=_polygamma,
    attributes={"order": INT},
    operands=("x",),
    traits=Trait.ELEMENTWISE,
    jvp=_polygamma_jvp,
    cost=80,
)

i0e = unary(
    "i0e",
    "e ** -|x| times the modified Bessel function of the first kind of order 0.",
    kinds=FLOAT,
    reference=in_double(_scipy("i0e")),
    derivative=lambda x, y: ops.sub(i1e(x), ops.mul(ops.sign(x), y)),
    cost=80,
)


def _i1e(x: Array) -> Any:
    # SciPy drops the sign of -0.0.
    return np.copysign(_scipy("i1e")(x), x)


def _i1e_derivative(x: Value, y: Value) -> Value:
    """i0e(x) - y * (sign(x) + 1 / x), where y / x is 1/2 at 0."""
    is_zero = ops.eq(x, helpers.number(0, x))
    ratio = ops.div(y, ops.select(is_zero, helpers.number(1, x), x))
    ratio = ops.select(is_zero, helpers.number(0.5, x), ratio)
    return ops.sub(ops.sub(i0e(x), ops.mul(ops.sign(x), y)), ratio)


i1e: OpDef = unary(
    "i1e",
    "e ** -|x| times the modified Bessel function of the first kind of order 1.",
    kinds=FLOAT,
    reference=in_double(_i1e),
    derivative=_i1e_derivative,
    cost=80,
)

OPS: Final = (
    sqrt,
    rsqrt,
    cbrt,
    exp,
    exp2,
    expm1,
    log,
    log2,
    log10,
    log1p,
    sin,
    cos,
    tan,
    asin,
    acos,
    atan,
    atan2,
    sinh,
    cosh,
    tanh,
    asinh,
    acosh,
    atanh,
    sigmoid,
    softplus,
    erf,
    erfc,
    erfinv,
    lgamma,
    digamma,
    polygamma,
    i0e,
    i1e,
)
