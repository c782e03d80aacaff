"""NumPy's moments: variance, standard deviation, weighted average."""

from __future__ import annotations

import math

from weft.compiler.ir import dtypes
from weft.compiler.ir.build import constant
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.errors import ShapeError
from weft.compiler.ir.graph import Value
from weft.compiler.ir.types import Shape, format_shape
from weft.compiler.ops.arithmetic import div, maximum, mul, sub
from weft.compiler.ops.logic import gt, select
from weft.frontends.numpy.functions import reducing
from weft.frontends.numpy.functions.axis_access import stretch
from weft.frontends.numpy.functions.magnitude import root, squared_magnitude
from weft.frontends.numpy.functions.reducing import Axis, kept_axes, reduce
from weft.frontends.tracing.core import (
    broadcast_value,
    cast,
    check_no,
    inexact_dtype,
    lift,
    normalize_axes,
    product,
    size_value,
    transpose,
    wrap,
)
from weft.frontends.tracing.trace import ArrayLike, Tracer

__all__ = ["average", "nanstd", "nanvar", "std", "var"]


# --- variance ----------------------------------------------------------------------------------


def var(
    a: ArrayLike,
    axis: Axis = None,
    dtype: object = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    correction: float | None = None,
) -> Tracer:
    """As `numpy.var`; half precision is summed in f32."""
    check_no("var", out=out)
    freedom = ddof if correction is None else correction
    return wrap(_variance(lift(a), axis, dtype, freedom, keepdims, where, mean))


def std(
    a: ArrayLike,
    axis: Axis = None,
    dtype: object = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    correction: float | None = None,
) -> Tracer:
    """As `numpy.std`."""
    check_no("std", out=out)
    freedom = ddof if correction is None else correction
    return wrap(root(_variance(lift(a), axis, dtype, freedom, keepdims, where, mean)))


def nanvar(
    a: ArrayLike,
    axis: Axis = None,
    dtype: object = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    correction: float | None = None,
) -> Tracer:
    """As `numpy.nanvar`."""
    check_no("nanvar", out=out)
    freedom = ddof if correction is None else correction
    return wrap(_nan_variance(lift(a), axis, dtype, freedom, keepdims, where, mean))


def nanstd(
    a: ArrayLike,
    axis: Axis = None,
    dtype: object = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    correction: float | None = None,
) -> Tracer:
    """As `numpy.nanstd`."""
    check_no("nanstd", out=out)
    freedom = ddof if correction is None else correction
    return wrap(root(_nan_variance(lift(a), axis, dtype, freedom, keepdims, where, mean)))


def _nan_variance(
    value: Value,
    axis: Axis,
    dtype: object,
    ddof: float,
    keepdims: bool,
    where: ArrayLike | None,
    mean: ArrayLike | None,
) -> Value:
    chosen = reducing.where_not_nan(value, where)
    mask = None if chosen is None else wrap(chosen)
    variance = _variance(value, axis, dtype, ddof, keepdims, mask, mean)
    if mask is None or not value.type.dtype.is_inexact:
        return variance
    # NumPy calls the result NaN where no degree of freedom is left, also if the sum is not 0.
    count = reducing.count_value(value.type.shape, axis, keepdims, mask, variance.type.dtype.real)
    enough = gt(count, constant(ddof, count.type.dtype))
    return select(enough, variance, constant(math.nan, variance.type.dtype))


def _variance(
    value: Value,
    axis: Axis,
    dtype: object,
    ddof: float,
    keepdims: bool,
    where: ArrayLike | None,
    mean: ArrayLike | None,
) -> Value:
    result = inexact_dtype(value.type.dtype) if dtype is None else dtypes.dtype(dtype)
    wide = reducing.wide_dtype(result)
    values = cast(cast(value, result), wide)
    shape = value.type.shape
    if mean is None:
        total = reduce(reducing.SUM, values, axis, False, None, where)
        center = div(total, reducing.count_value(shape, axis, False, where, wide))
        center = stretch(center, kept_axes(axis, len(shape)), shape)
    else:
        center = broadcast_value(lift(mean, wide), shape)
    squares = squared_magnitude(sub(values, center))
    total = reduce(reducing.SUM, squares, axis, keepdims, None, where)
    count = _freedom(shape, axis, keepdims, where, ddof, squares.type.dtype)
    return cast(div(total, count), result.real if dtype is None else result)


def _freedom(
    shape: Shape,
    axis: Axis,
    keepdims: bool,
    where: ArrayLike | None,
    ddof: float,
    dtype: DType,
) -> Value:
    """The number of elements less `ddof`, at least 0."""
    if where is None or where is True:
        size = product(shape[a] for a in normalize_axes(axis, len(shape)))
        if isinstance(size, int):
            return constant(max(size - ddof, 0), dtype)
    count = reducing.count_value(shape, axis, keepdims, where, dtype)
    if ddof == 0:
        return count
    return maximum(sub(count, constant(ddof, dtype)), constant(0, dtype))


# --- average -----------------------------------------------------------------------------------


def average(
    a: ArrayLike,
    axis: Axis = None,
    weights: ArrayLike | None = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Tracer | tuple[Tracer, Tracer]:
    """As `numpy.average`, but NaN or infinite where the weights sum to 0 and NumPy raises."""
    value = lift(a)
    axes = normalize_axes(axis, value.type.rank)
    if weights is None:
        total, scale = _plain_average(value, axes, keepdims)
    else:
        total, scale = _weighted_average(a, axes, axis is None, weights, keepdims)
    result = wrap(cast(div(total, scale), _average_dtype(a, weights)))
    if not returned:
        return result
    shape = result.type.shape
    return result, wrap(broadcast_value(cast(scale, result.type.dtype), shape))


def _average_dtype(a: ArrayLike, weights: ArrayLike | None) -> DType:
    own = lift(a).type.dtype
    if weights is None:
        return inexact_dtype(own)
    common = dtypes.promote(own, lift(weights).type.dtype)
    return common if own.is_inexact else dtypes.promote(common, dtypes.f64)


def _plain_average(value: Value, axes: tuple[int, ...], keepdims: bool) -> tuple[Value, Value]:
    wide = reducing.wide_dtype(inexact_dtype(value.type.dtype))
    total = reduce(reducing.SUM, cast(value, wide), axes, keepdims)
    return total, size_value(product(value.type.shape[axis] for axis in axes), wide)


def _weighted_average(
    a: ArrayLike, axes: tuple[int, ...], is_flat: bool, weights: ArrayLike, keepdims: bool
) -> tuple[Value, Value]:
    """The weighted sum and the sum of the weights."""
    wide = reducing.wide_dtype(_average_dtype(a, weights))
    value, weight = lift(a, wide), lift(weights, wide)
    if weight.type.shape != value.type.shape:
        weight = _spread_weights(weight, axes, is_flat, value.type.shape)
    total = reduce(reducing.SUM, mul(value, weight), axes, keepdims)
    return total, reduce(reducing.SUM, weight, axes, keepdims)


def _spread_weights(weight: Value, axes: tuple[int, ...], is_flat: bool, shape: Shape) -> Value:
    """Weights given per index of the averaged axes, stretched to the shape of the array."""
    along = tuple(shape[axis] for axis in axes)
    if is_flat or weight.type.shape != along:
        raise ShapeError(
            f"weights have shape {format_shape(weight.type.shape)}, the array "
            f"{format_shape(shape)}; give weights of the array's shape, or axis= and weights for it"
        )
    ordered = transpose(weight, sorted(range(len(axes)), key=axes.__getitem__))
    return stretch(ordered, sorted(axes), shape)
