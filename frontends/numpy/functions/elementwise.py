"""NumPy's functions of each element that are no ufuncs: clipping, rounding, choosing, testing."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from weft.compiler.ir import dtypes
from weft.compiler.ir.build import constant
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.errors import DTypeError, ShapeError
from weft.compiler.ir.graph import Constant, Value
from weft.compiler.ir.types import Shape, format_shape
from weft.compiler.ops import conversion
from weft.compiler.ops.arithmetic import add, clamp, div, maximum, minimum, mul, round_, sub
from weft.compiler.ops.logic import and_, eq, is_finite, is_nan, le, not_, or_
from weft.compiler.ops.logic import select as choose
from weft.compiler.ops.special import atan2, exp, i0e, sin
from weft.frontends.numpy.functions import reductions
from weft.frontends.numpy.functions.axis_ops import unstack_value
from weft.frontends.numpy.functions.magnitude import magnitude, real_part
from weft.frontends.numpy.functions.reducing import truth
from weft.frontends.numpy.functions.ufuncs import apply_ufunc
from weft.frontends.numpy.masked.array import positions
from weft.frontends.tracing.core import (
    broadcast_shapes,
    broadcast_together,
    broadcast_value,
    cast,
    check_no,
    full,
    inexact_dtype,
    lift,
    promote,
    result_dtype,
    trace_error,
    wrap,
)
from weft.frontends.tracing.trace import ArrayLike, Tracer

__all__ = [
    "allclose",
    "angle",
    "around",
    "array_equal",
    "array_equiv",
    "clip",
    "fix",
    "i0",
    "imag",
    "isclose",
    "iscomplex",
    "iscomplexobj",
    "isneginf",
    "isposinf",
    "isreal",
    "isrealobj",
    "nan_to_num",
    "piecewise",
    "real",
    "round",
    "select",
    "sinc",
    "where",
]


# --- clipping and rounding ---------------------------------------------------------------------


def clip(
    a: ArrayLike,
    a_min: ArrayLike | None = None,
    a_max: ArrayLike | None = None,
    out: None = None,
    *,
    min: ArrayLike | None = None,
    max: ArrayLike | None = None,
) -> Tracer:
    """As `numpy.clip`, for real numbers."""
    check_no("clip", out=out)
    # Unlike its bounds, a number that is clipped promotes as an array.
    value = lift(a)
    own = value.type.dtype
    low = _useful_bound(min if a_min is None else a_min, own, is_low=True)
    high = _useful_bound(max if a_max is None else a_max, own, is_low=False)
    bounds = [bound for bound in (low, high) if bound is not None]
    if not bounds:
        unchanged: Tracer = apply_ufunc(np.positive, wrap(value))
        return unchanged
    value, *limits = broadcast_together(promote(wrap(value), *bounds))
    if len(limits) == 2 and not value.type.dtype.is_bool:
        return wrap(clamp(limits[0], value, limits[1]))
    if low is not None:
        value = maximum(value, limits.pop(0))
    return wrap(minimum(value, limits[0]) if limits else value)


def _useful_bound(bound: ArrayLike | None, dtype: DType, *, is_low: bool) -> ArrayLike | None:
    """The bound, or None for a Python int that no integer of the dtype goes beyond."""
    if not isinstance(bound, int) or not dtype.is_integer:
        return bound
    limits = np.iinfo(dtype.numpy)
    is_useless = bound <= limits.min if is_low else bound >= limits.max
    return None if is_useless else bound


def round(a: ArrayLike, decimals: int = 0, out: None = None) -> Tracer:
    """As `numpy.round`."""
    check_no("round", out=out)
    value = lift(a)
    if value.type.dtype.is_bool:
        if decimals != 0:
            raise DTypeError("bools have no decimals to round to; cast to a float dtype first")
        result: Tracer = apply_ufunc(np.rint, a)
        return result
    return wrap(_round(value, decimals))


around = round


def _round(value: Value, decimals: int) -> Value:
    dtype = value.type.dtype
    if dtype.is_integer:
        return value if decimals >= 0 else cast(_round(cast(value, dtypes.f64), decimals), dtype)
    if dtype.is_complex:
        parts = conversion.real(value), conversion.imag(value)
        return conversion.complex_(*[_round(part, decimals) for part in parts])
    if decimals == 0:
        return round_(value)
    scale = constant(10.0 ** abs(decimals), dtype)
    grow, shrink = (mul, div) if decimals > 0 else (div, mul)
    return shrink(round_(grow(value, scale)), scale)


def fix(x: ArrayLike, out: None = None) -> Tracer:
    """As `numpy.fix`: rounded towards zero."""
    check_no("fix", out=out)
    result: Tracer = apply_ufunc(np.trunc, x)
    return result


def nan_to_num(
    x: ArrayLike,
    copy: bool = True,
    nan: ArrayLike = 0.0,
    posinf: ArrayLike | None = None,
    neginf: ArrayLike | None = None,
) -> Tracer:
    """As `numpy.nan_to_num`."""
    value = lift(x)
    if not value.type.dtype.is_inexact:
        return wrap(value)
    limits = ml_dtypes.finfo(value.type.dtype.real.numpy)  # type: ignore[no-untyped-call]
    largest = float(limits.max)
    replace = functools.partial(
        _replace_special,
        nan=nan,
        posinf=largest if posinf is None else posinf,
        neginf=-largest if neginf is None else neginf,
    )
    if not value.type.dtype.is_complex:
        return wrap(replace(value))
    parts = conversion.real(value), conversion.imag(value)
    return wrap(conversion.complex_(*[replace(part) for part in parts]))


def _replace_special(value: Value, nan: ArrayLike, posinf: ArrayLike, neginf: ArrayLike) -> Value:
    dtype, shape = value.type.dtype, value.type.shape
    cases = (
        (is_nan(value), nan),
        (eq(value, constant(math.inf, dtype)), posinf),
        (eq(value, constant(-math.inf, dtype)), neginf),
    )
    for case, replacement in cases:
        new = lift(replacement, dtype)
        value = choose(case, broadcast_value(new, shape) if new.type.shape else new, value)
    return value


# --- choosing ----------------------------------------------------------------------------------


def where(condition: ArrayLike, x: ArrayLike | None = None, y: ArrayLike | None = None, /) -> Any:
    """As `numpy.where`."""
    if x is None and y is None:
        value = lift(condition)
        if isinstance(value, Constant):
            return tuple([wrap(Constant(found)) for found in np.nonzero(value.array)])
        return positions(wrap(value))
    if x is None or y is None:
        raise trace_error("where takes the condition alone, or the condition with both x and y")
    try:
        choices = promote(x, y)
    except OverflowError:
        choices = promote(_wrapped(x, y), _wrapped(y, x))
    return wrap(choose(*broadcast_together([truth(lift(condition)), *choices])))


def _wrapped(number: ArrayLike, other: ArrayLike) -> ArrayLike:
    """A Python integer that the dtype of the other choice has no room for, as `numpy.where` casts
    it.
    """
    if type(number) is not int:
        return number
    return np.array(np.int64(number)).astype(lift(other).type.dtype.numpy)


def select(
    condlist: Sequence[ArrayLike], choicelist: Sequence[ArrayLike], default: ArrayLike = 0
) -> Tracer:
    """As `numpy.select`: the choice of the first condition that holds."""
    if len(condlist) != len(choicelist) or not condlist:
        raise trace_error(
            f"select takes one choice per condition and at least one, got {len(condlist)} "
            f"conditions and {len(choicelist)} choices"
        )
    conditions = [_require_bool(lift(condition)) for condition in condlist]
    *choices, result = promote(*choicelist, default)
    values = (*conditions, *choices, result)
    target = broadcast_shapes(*[value.type.shape for value in values])
    for condition, choice in zip(conditions[::-1], choices[::-1], strict=True):
        result = choose(*[_fit(value, target) for value in (condition, choice, result)])
    return wrap(broadcast_value(result, target))


def _require_bool(condition: Value) -> Value:
    if not condition.type.dtype.is_bool:
        raise DTypeError(f"a condition must be a bool array, got {condition.type}")
    return condition


def _fit(value: Value, target: Shape) -> Value:
    """The value stretched, unless it has rank 0, which ops stretch themselves."""
    return broadcast_value(value, target) if value.type.shape else value


def piecewise(
    x: ArrayLike,
    condlist: Any,
    funclist: Sequence[Callable[..., ArrayLike] | ArrayLike],
    *args: Any,
    **kw: Any,
) -> Tracer:
    """As `numpy.piecewise`, but functions see all of x, not only where their condition holds."""
    value = lift(x)
    conditions = [_require_bool(c) for c in _conditions(condlist, value)]
    if len(funclist) == len(conditions) + 1:
        met = functools.reduce(or_, [_fit(c, value.type.shape) for c in conditions])
        conditions.append(not_(met))
    if len(funclist) != len(conditions):
        raise trace_error(
            f"piecewise with {len(conditions)} conditions takes as many functions or one more, "
            f"got {len(funclist)}"
        )
    dtype, shape = value.type.dtype, value.type.shape
    result: Value = constant(0, dtype)
    for condition, function in zip(conditions, funclist, strict=True):
        made = function(wrap(value), *args, **kw) if callable(function) else function
        result = choose(_fit(condition, shape), _fit(lift(made, dtype), shape), result)
    return wrap(broadcast_value(result, shape))


def _conditions(given: Any, value: Value) -> list[Value]:
    """The conditions, given as a list, as one array, or as an array with one more axis."""
    if isinstance(given, list | tuple):
        holds_arrays = isinstance(given[0], list | np.ndarray | Tracer)
        if holds_arrays or not value.type.shape:
            return [lift(condition) for condition in given]
    array = lift(given)
    return [array] if array.type.rank <= value.type.rank else unstack_value(array)


# --- complex numbers ---------------------------------------------------------------------------


def real(val: ArrayLike) -> Tracer:
    """As `numpy.real`."""
    return wrap(real_part(lift(val)))


def imag(val: ArrayLike) -> Tracer:
    """As `numpy.imag`; zeros for real numbers."""
    value = lift(val)
    if not value.type.dtype.is_complex:
        return wrap(full(value.type.shape, 0, value.type.dtype))
    return wrap(conversion.imag(value))


def angle(z: ArrayLike, deg: bool = False) -> Tracer:
    """As `numpy.angle`."""
    value = lift(z)
    if value.type.dtype.is_complex:
        result = atan2(conversion.imag(value), conversion.real(value))
    else:
        result = lift(apply_ufunc(np.arctan2, 0, z))
    return wrap(mul(result, constant(180 / math.pi, result.type.dtype)) if deg else result)


def isreal(x: ArrayLike) -> Tracer:
    """As `numpy.isreal`: whether the imaginary part is 0."""
    value = lift(x)
    if not value.type.dtype.is_complex:
        return wrap(full(value.type.shape, True, dtypes.bool_))
    part = conversion.imag(value)
    return wrap(eq(part, constant(0, part.type.dtype)))


def iscomplex(x: ArrayLike) -> Tracer:
    """As `numpy.iscomplex`: whether the imaginary part is not 0."""
    return wrap(not_(lift(isreal(x))))


def isrealobj(x: ArrayLike) -> bool:
    """As `numpy.isrealobj`: a question about the dtype, answered now."""
    return not iscomplexobj(x)


def iscomplexobj(x: ArrayLike) -> bool:
    """As `numpy.iscomplexobj`: a question about the dtype, answered now."""
    return lift(x).type.dtype.is_complex


# --- tests -------------------------------------------------------------------------------------


def isposinf(x: ArrayLike, out: None = None) -> Tracer:
    """As `numpy.isposinf`."""
    check_no("isposinf", out=out)
    return wrap(_equals(lift(x), math.inf, "isposinf"))


def isneginf(x: ArrayLike, out: None = None) -> Tracer:
    """As `numpy.isneginf`."""
    check_no("isneginf", out=out)
    return wrap(_equals(lift(x), -math.inf, "isneginf"))


def _equals(value: Value, infinite: float, name: str) -> Value:
    if value.type.dtype.is_complex:
        raise DTypeError(f"{name} has no meaning for complex numbers, got {value.type}")
    if not value.type.dtype.is_float:
        return full(value.type.shape, False, dtypes.bool_)
    return eq(value, constant(infinite, value.type.dtype))


def isclose(
    a: ArrayLike,
    b: ArrayLike,
    rtol: ArrayLike = 1e-5,
    atol: ArrayLike = 1e-8,
    equal_nan: bool = False,
) -> Tracer:
    """As `numpy.isclose`: |a - b| <= atol + rtol * |b|, or equal infinities."""
    common = result_dtype(a, b, 1.0)
    x, y = broadcast_together([lift(a, common), lift(b, common)])
    relative, absolute = lift(rtol, common.real), lift(atol, common.real)
    allowed = _broadcast(add, absolute, _broadcast(mul, relative, magnitude(y)))
    is_near = _broadcast(le, magnitude(sub(x, y)), allowed)
    is_close = or_(_broadcast(and_, is_near, is_finite(y)), eq(x, y))
    if equal_nan:
        is_close = or_(is_close, and_(is_nan(x), is_nan(y)))
    return wrap(is_close)


def _broadcast(op: Callable[..., Value], x: Value, y: Value) -> Value:
    return op(*broadcast_together([x, y]))


def allclose(
    a: ArrayLike,
    b: ArrayLike,
    rtol: ArrayLike = 1e-5,
    atol: ArrayLike = 1e-8,
    equal_nan: bool = False,
) -> Tracer:
    """As `numpy.allclose`, but a traced bool."""
    return reductions.all(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> Tracer:
    """As `numpy.array_equal`, but a traced bool; whether shapes are equal must be known."""
    x, y = lift(a1), lift(a2)
    if x.type.shape == y.type.shape:
        return reductions.all(wrap(_equal(x, y, equal_nan)))
    if x.type.rank == y.type.rank and not (x.type.is_static and y.type.is_static):
        raise ShapeError(
            f"array_equal: whether the shapes {format_shape(x.type.shape)} and "
            f"{format_shape(y.type.shape)} are equal is only known when the program runs"
        )
    return wrap(constant(False, dtypes.bool_))


def array_equiv(a1: ArrayLike, a2: ArrayLike) -> Tracer:
    """As `numpy.array_equiv`, but a traced bool."""
    x, y = lift(a1), lift(a2)
    try:
        broadcast_shapes(x.type.shape, y.type.shape)
    except ShapeError:
        return wrap(constant(False, dtypes.bool_))
    return reductions.all(wrap(_equal(x, y, equal_nan=False)))


def _equal(x: Value, y: Value, equal_nan: bool) -> Value:
    same = lift(apply_ufunc(np.equal, wrap(x), wrap(y)))
    if not equal_nan or not x.type.dtype.is_inexact or not y.type.dtype.is_inexact:
        return same
    return or_(same, and_(is_nan(x), is_nan(y)))


# --- special functions -------------------------------------------------------------------------


def sinc(x: ArrayLike) -> Tracer:
    """As `numpy.sinc`: sin(pi x) / (pi x), and 1 at 0 with derivative 0."""
    value = lift(x)
    value = cast(value, inexact_dtype(value.type.dtype))
    one, pi = constant(1, value.type.dtype), constant(math.pi, value.type.dtype)
    is_zero = eq(value, constant(0, value.type.dtype))
    # The quotient is taken of a harmless number at 0, so that no NaN reaches the derivative.
    angles = mul(choose(is_zero, one, value), pi)
    return wrap(choose(is_zero, one, div(sin(angles), angles)))


def i0(x: ArrayLike) -> Tracer:
    """As `numpy.i0`: the modified Bessel function of the first kind of order 0."""
    value = lift(x)
    if value.type.dtype.is_complex:
        raise DTypeError(f"i0 takes real numbers, got {value.type}")
    value = cast(value, inexact_dtype(value.type.dtype))
    return wrap(mul(i0e(value), exp(magnitude(value))))
