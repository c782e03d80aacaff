"""`numpy.linalg`'s norms of vectors and matrices, and condition numbers."""

from __future__ import annotations

import math

from weft.compiler.ir.build import constant
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.errors import ShapeError
from weft.compiler.ir.graph import Value
from weft.compiler.ops.arithmetic import div, mul, pow_
from weft.compiler.ops.linalg import svd
from weft.compiler.ops.logic import and_, gt, is_nan, not_, select
from weft.frontends.numpy.functions.axis_access import element
from weft.frontends.numpy.functions.magnitude import magnitude, root, squared_magnitude
from weft.frontends.numpy.functions.matrices import inverse, matrices, square_matrices
from weft.frontends.numpy.functions.reducing import (
    ANY,
    MAX,
    MIN,
    SUM,
    Axis,
    may_be_empty,
    reduce,
    truth,
    wide_dtype,
)
from weft.frontends.tracing.core import (
    cast,
    expand,
    full,
    inexact_dtype,
    lift,
    normalize_axes,
    trace_error,
    transpose,
    wrap,
)
from weft.frontends.tracing.trace import ArrayLike, Tracer

__all__ = ["cond", "matrix_norm", "norm", "vector_norm"]

Order = float | str | None


def norm(x: ArrayLike, ord: Order = None, axis: Axis = None, keepdims: bool = False) -> Tracer:
    """As `numpy.linalg.norm`, with all its orders."""
    value, result = _prepare(x)
    axes = normalize_axes(axis, value.type.rank)
    if axis is None and ord is None:
        found = _vector_norm(value, axes, 2)
    elif len(axes) == 1:
        found = _vector_norm(value, axes, ord)
    elif len(axes) == 2:
        found = _matrix_norm(value, axes[0], axes[1], ord)
    else:
        raise ShapeError(f"a norm is taken over one or two axes, got {len(axes)}; give axis=")
    return _finish(found, result, axes, value, keepdims)


def vector_norm(
    x: ArrayLike, /, *, axis: Axis = None, keepdims: bool = False, ord: Order = 2
) -> Tracer:
    """As `numpy.linalg.vector_norm`: over any number of axes as one vector."""
    value, result = _prepare(x)
    axes = normalize_axes(axis, value.type.rank)
    return _finish(_vector_norm(value, axes, ord), result, axes, value, keepdims)


def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: Order = "fro") -> Tracer:
    """As `numpy.linalg.matrix_norm`: of the matrices in the last two axes."""
    return norm(x, ord, (-2, -1), keepdims)


def cond(x: ArrayLike, p: Order = None) -> Tracer:
    """As `numpy.linalg.cond`."""
    value = matrices("cond", x)
    shape = value.type.shape
    rank = len(shape)
    if shape[-1] == 0 or shape[-2] == 0:
        raise ShapeError(f"cond has no meaning for empty matrices, got {value.type}")
    if p in (None, 2, -2):
        values = _singular_values(value)
        ends = element(values, rank - 2, 0), element(values, rank - 2, values.type.shape[-1] - 1)
        found = div(*ends) if p != -2 else div(*ends[::-1])
    else:
        square = square_matrices("cond", wrap(value))
        norms = [_matrix_norm(m, rank - 2, rank - 1, p) for m in (square, inverse(square))]
        found = mul(*norms)
    # NaN that comes of a singular matrix, not of NaN in it, means infinite.
    had_nan = reduce(ANY, is_nan(value), (rank - 2, rank - 1))
    is_singular = and_(is_nan(found), not_(had_nan))
    return wrap(select(is_singular, constant(math.inf, found.type.dtype), found))


def _prepare(x: ArrayLike) -> tuple[Value, DType]:
    """The value to compute with and the dtype of the norm; half precision is computed in f32."""
    value = lift(x)
    dtype = inexact_dtype(value.type.dtype)
    return cast(value, wide_dtype(dtype)), dtype.real


def _finish(
    found: Value, dtype: DType, axes: tuple[int, ...], value: Value, keepdims: bool
) -> Tracer:
    result = cast(found, dtype)
    return wrap(expand(result, axes, value.type.shape) if keepdims else result)


def _vector_norm(value: Value, axes: tuple[int, ...], order: Order) -> Value:
    if isinstance(order, str):
        raise trace_error(f"{order!r} is no order of a vector norm; give a number")
    if order is None or order == 2:
        return root(reduce(SUM, squared_magnitude(value), axes))
    if order == 0:
        return reduce(SUM, cast(truth(value), value.type.dtype.real), axes)
    sizes = magnitude(value)
    if order == math.inf:
        return _largest(sizes, axes)
    if order == -math.inf:
        return reduce(MIN, sizes, axes)
    if order == 1:
        return reduce(SUM, sizes, axes)
    dtype = sizes.type.dtype
    total = reduce(SUM, pow_(sizes, constant(order, dtype)), axes)
    found = pow_(total, constant(1 / order, dtype))
    # Where it is 0, so is its derivative, as for order 2.
    return select(gt(total, constant(0, dtype)), found, total) if order > 1 else found


def _largest(sizes: Value, axes: tuple[int, ...]) -> Value:
    """The largest of numbers that are not negative, 0 of none."""
    return reduce(MAX, sizes, axes, initial=0 if may_be_empty(sizes.type.shape, axes) else None)


def _matrix_norm(value: Value, row: int, column: int, order: Order) -> Value:
    if order in (None, "fro", "f"):
        return root(reduce(SUM, squared_magnitude(value), (row, column)))
    if order in ("nuc", 2, -2):
        rest = [axis for axis in range(value.type.rank) if axis not in (row, column)]
        return _spectral_norm(transpose(value, [*rest, row, column]), order)
    summed = {1: row, -1: row, math.inf: column, -math.inf: column}.get(order)  # type: ignore[arg-type]
    if summed is None:
        raise trace_error(f"{order!r} is no order of a matrix norm; use fro, nuc, 1, 2 or inf")
    sums = reduce(SUM, magnitude(value), summed)
    other = column if summed == row else row
    axis = other - (summed < other)
    if order in (1, math.inf):
        return _largest(sums, (axis,))
    return reduce(MIN, sums, axis)


def _spectral_norm(value: Value, order: Order) -> Value:
    values = _singular_values(value)
    last = values.type.rank - 1
    count = values.type.shape[last]
    if order == "nuc":
        return reduce(SUM, values, last)
    if count == 0 and order == 2:
        return full(values.type.shape[:-1], 0, values.type.dtype)
    return element(values, last, 0 if order == 2 else count - 1)


def _singular_values(value: Value) -> Value:
    return svd.emit(matrices("svd", wrap(value)), full=False)[1]
