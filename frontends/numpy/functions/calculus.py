"""NumPy's numerical calculus: differences, gradients, integrals, interpolation, polynomials."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft.compiler.ir import dtypes
from weft.compiler.ir.build import constant
from weft.compiler.ir.dims import Size
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.errors import DTypeError, ShapeError
from weft.compiler.ir.graph import Value
from weft.compiler.ir.types import Shape, format_shape
from weft.compiler.ops import ordering
from weft.compiler.ops.arithmetic import abs_, add, clamp, div, mul, remainder, sub
from weft.compiler.ops.cumulative import cumsum
from weft.compiler.ops.logic import and_, eq, gt, le, lt, ne, or_, select, xor
from weft.frontends.numpy.functions.axis_access import element, padded, stretch
from weft.frontends.numpy.functions.axis_ops import gather_axis, join, slice_axis, unstack_value
from weft.frontends.numpy.functions.reducing import SUM, Axis, reduce
from weft.frontends.numpy.functions.ufuncs import apply_ufunc
from weft.frontends.tracing.core import (
    broadcast_value,
    cast,
    full,
    inexact_dtype,
    lift,
    normalize_axes,
    normalize_axis,
    reshape,
    result_dtype,
    size_value,
    trace_error,
    wrap,
)
from weft.frontends.tracing.trace import ArrayLike, Tracer

__all__ = ["diff", "ediff1d", "gradient", "interp", "polyval", "trapezoid", "unwrap"]


# --- differences -------------------------------------------------------------------------------


def diff(
    a: ArrayLike,
    n: int = 1,
    axis: int = -1,
    prepend: ArrayLike | None = None,
    append: ArrayLike | None = None,
) -> Tracer:
    """As `numpy.diff`."""
    if n < 0:
        raise trace_error(f"diff: the order must be 0 or more, got {n}")
    value = lift(a)
    if not value.type.shape:
        raise ShapeError("diff needs an array of rank 1 or more")
    along = normalize_axis(axis, value.type.rank)
    if n == 0:
        return wrap(value)
    parts = [lift(part) for part in (prepend, a, append) if part is not None]
    dtype = dtypes.promote(*[part.type.dtype for part in parts])
    shaped = [_as_part(cast(part, dtype), value, along) for part in parts]
    joined = join(shaped, along)
    for _ in range(n):
        joined = difference(joined, along)
    return wrap(joined)


def _as_part(part: Value, value: Value, axis: int) -> Value:
    """A scalar stretched to one element along the axis."""
    if part.type.shape:
        return part
    shape = value.type.shape
    return broadcast_value(part, (*shape[:axis], 1, *shape[axis + 1 :]))


def difference(value: Value, axis: int) -> Value:
    """Each element along an axis less the one before; of bools, whether they differ."""
    return (xor if value.type.dtype.is_bool else sub)(*_neighbours(value, axis))


def _neighbours(value: Value, axis: int) -> tuple[Value, Value]:
    """All elements along an axis but the first, and all but the last."""
    size = value.type.shape[axis]
    if size == 0:
        return value, value
    return slice_axis(value, axis, 1, size), slice_axis(value, axis, 0, size - 1)


def ediff1d(
    ary: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None
) -> Tracer:
    """As `numpy.ediff1d`."""
    value = lift(ary)
    if value.type.dtype.is_bool:
        raise DTypeError("ediff1d subtracts, which bool cannot; cast to an integer dtype first")
    parts = [difference(_flatten(value), 0)]
    if to_begin is not None:
        parts.insert(0, _flatten(_same_kind(to_begin, value.type.dtype, "to_begin")))
    if to_end is not None:
        parts.append(_flatten(_same_kind(to_end, value.type.dtype, "to_end")))
    return wrap(join(parts, 0))


def _same_kind(operand: ArrayLike, dtype: DType, name: str) -> Value:
    value = lift(operand)
    if not np.can_cast(value.type.dtype.numpy, dtype.numpy, "same_kind"):
        raise DTypeError(f"ediff1d: {name} is {value.type}, which does not fit into {dtype}")
    return cast(value, dtype)


def _flatten(value: Value) -> Value:
    return reshape(value, (value.type.size,))


def unwrap(
    p: ArrayLike, discont: float | None = None, axis: int = -1, *, period: float = 2 * math.pi
) -> Tracer:
    """As `numpy.unwrap`: jumps of more than half a period are taken out."""
    dtype = result_dtype(p, period)
    values = lift(p, dtype)
    along = normalize_axis(axis, values.type.rank)
    if values.type.shape[along] == 0:
        return wrap(values)
    steps = difference(values, along)
    half = period // 2 if dtype.is_integer else period / 2
    low, high = constant(-half, dtype), constant(half, dtype)
    folded = add(remainder(sub(steps, low), constant(period, dtype)), low)
    if not dtype.is_integer or period % 2 == 0:
        # A step of half a period may go up or down; it keeps the sign it has.
        goes_up = gt(steps, constant(0, dtype))
        folded = select(and_(eq(folded, low), goes_up), high, folded)
    jump = period / 2 if discont is None else discont
    is_small = lift(apply_ufunc(np.less, wrap(abs_(steps)), jump))
    correction = select(is_small, constant(0, dtype), sub(folded, steps))
    return wrap(add(values, padded(cumsum(correction, axis=along), along, 1, 0)))


# --- gradient and integral ---------------------------------------------------------------------


def gradient(f: ArrayLike, *varargs: ArrayLike, axis: Axis = None, edge_order: int = 1) -> Any:
    """As `numpy.gradient`: one array for one axis, else a tuple."""
    if edge_order not in (1, 2):
        raise trace_error(f"gradient: edge_order must be 1 or 2, got {edge_order}")
    value = lift(f)
    value = cast(value, inexact_dtype(value.type.dtype))
    axes = normalize_axes(axis, value.type.rank)
    spacings = [lift(spacing, value.type.dtype) for spacing in varargs or (1.0,)]
    if len(spacings) == 1 and not spacings[0].type.shape:
        spacings = spacings * len(axes)
    if len(spacings) != len(axes):
        raise trace_error(f"gradient takes one spacing per axis ({len(axes)}), got {len(varargs)}")
    pairs = zip(axes, spacings, strict=True)
    slopes = [wrap(_gradient(value, along, spacing, edge_order)) for along, spacing in pairs]
    return slopes[0] if len(slopes) == 1 else tuple(slopes)


def _gradient(value: Value, axis: int, spacing: Value, edge_order: int) -> Value:
    """Central differences inside, one-sided ones of the given order at both ends."""
    size = value.type.shape[axis]
    if size < edge_order + 1:
        raise ShapeError(
            f"gradient needs {edge_order + 1} elements along axis {axis}, got {value.type}"
        )
    steps = _steps(spacing, axis, value)
    slopes = div(difference(value, axis), steps)
    edges = [
        _edge(slopes, steps, axis, at, inner, edge_order)
        for at, inner in ((0, 1), (size - 2, size - 3))
    ]
    if size == 2:
        return join(edges, axis)
    if steps.type.shape:
        inside = _weighted_slopes(slopes, steps, axis)
    else:
        ends = slice_axis(value, axis, 2, size), slice_axis(value, axis, 0, size - 2)
        inside = div(sub(*ends), mul(steps, constant(2, steps.type.dtype)))
    return join([edges[0], inside, edges[1]], axis)


def _steps(spacing: Value, axis: int, value: Value) -> Value:
    """The distances between neighbours: rank 0 if all are the same, else in the shape of slopes."""
    shape = value.type.shape
    if not spacing.type.shape:
        return spacing
    if spacing.type.shape != (shape[axis],):
        raise ShapeError(
            f"gradient: the coordinates have shape {format_shape(spacing.type.shape)}, but axis "
            f"{axis} has size {shape[axis]}; give one coordinate for each element"
        )
    target = (*shape[:axis], shape[axis] - 1, *shape[axis + 1 :])
    return stretch(difference(spacing, 0), (axis,), target)


def _weighted_slopes(slopes: Value, steps: Value, axis: int) -> Value:
    """The slope at each inner element: that on either side, weighted with the other's distance."""
    count = slopes.type.shape[axis]
    left, right = slice_axis(slopes, axis, 0, count - 1), slice_axis(slopes, axis, 1, count)
    before, after = slice_axis(steps, axis, 0, count - 1), slice_axis(steps, axis, 1, count)
    return div(add(mul(after, left), mul(before, right)), add(before, after))


def _edge(slopes: Value, steps: Value, axis: int, at: Size, inner: Size, order: int) -> Value:
    """The slope at an end: that beside it, extrapolated with the next one for order 2."""
    outer = slice_axis(slopes, axis, at, at + 1)
    if order == 1:
        return outer
    change = sub(outer, slice_axis(slopes, axis, inner, inner + 1))
    if not steps.type.shape:
        return add(outer, mul(change, constant(0.5, change.type.dtype)))
    own, other = slice_axis(steps, axis, at, at + 1), slice_axis(steps, axis, inner, inner + 1)
    return add(outer, mul(change, div(own, add(own, other))))


def trapezoid(
    y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1
) -> Tracer:
    """As `numpy.trapezoid`."""
    values = lift(y)
    shape = values.type.shape
    along = normalize_axis(axis, len(shape))
    widths: ArrayLike = dx if x is None else wrap(_widths(lift(x), along, shape))
    sums: ArrayLike = apply_ufunc(np.add, *map(wrap, _neighbours(values, along)))
    is_even = values.type.dtype.is_inexact and not lift(widths).type.shape
    if is_even:
        sums = wrap(reduce(SUM, lift(sums), along))
    # Integers wrap in the product, as NumPy's do.
    areas = lift(apply_ufunc(np.true_divide, apply_ufunc(np.multiply, widths, sums), 2.0))
    return wrap(areas if is_even else reduce(SUM, areas, along))


def _widths(x: Value, axis: int, shape: Shape) -> Value:
    """The distances between coordinates, given for the whole array or for the axis alone."""
    if x.type.rank != 1:
        return difference(x, normalize_axis(axis - len(shape), x.type.rank))
    target = [1] * len(shape)
    steps = difference(x, 0)
    return reshape(steps, (*target[:axis], steps.type.shape[0], *target[axis + 1 :]))


# --- interpolation and polynomials -------------------------------------------------------------


def interp(
    x: ArrayLike,
    xp: ArrayLike,
    fp: ArrayLike,
    left: ArrayLike | None = None,
    right: ArrayLike | None = None,
    period: ArrayLike | None = None,
) -> Tracer:
    """As `numpy.interp`, in float64 or complex128 as there."""
    at, points = lift(x, dtypes.f64), lift(xp, dtypes.f64)
    is_complex = lift(fp).type.dtype.is_complex
    values = lift(fp, dtypes.c128 if is_complex else dtypes.f64)
    if points.type.rank != 1 or points.type.shape != values.type.shape:
        raise ShapeError(
            f"interp: xp {points.type} and fp {values.type} must be of one rank-1 shape"
        )
    if period is not None:
        at, points, values = _periodic(at, points, values, lift(period, dtypes.f64))
        left = right = None
    return wrap(_interpolate(at, points, values, left, right))


def _periodic(at: Value, points: Value, values: Value, period: Value) -> tuple[Value, Value, Value]:
    """Everything folded into one period, with a point beyond each end."""
    period = abs_(period)
    points, values = ordering.sort.emit(remainder(points, period), values, axis=0, num_keys=1)
    count = points.type.shape[0]
    first, last = slice_axis(points, 0, 0, 1), slice_axis(points, 0, count - 1, count)
    wrapped = slice_axis(values, 0, count - 1, count), slice_axis(values, 0, 0, 1)
    return (
        remainder(at, period),
        join([sub(last, period), points, add(first, period)], 0),
        join([wrapped[0], values, wrapped[1]], 0),
    )


def _interpolate(
    at: Value, points: Value, values: Value, left: ArrayLike | None, right: ArrayLike | None
) -> Value:
    count, dtype = points.type.shape[0], values.type.dtype
    first, last = element(points, 0, 0), element(points, 0, count - 1)
    if count == 1:
        inside = element(values, 0, 0)
    else:
        above = clamp(
            constant(1, dtypes.i64),
            ordering.searchsorted(points, at, side="right"),
            size_value(count - 1, dtypes.i64),
        )
        below = sub(above, constant(1, dtypes.i64))
        x0, x1 = [gather_axis(points, place, 0, "clip") for place in (below, above)]
        y0, y1 = [gather_axis(values, place, 0, "clip") for place in (below, above)]
        slope = div(sub(y1, y0), cast(sub(x1, x0), dtype))
        inside = add(mul(slope, cast(sub(at, x0), dtype)), y0)
        other = inside if dtype.is_complex else add(mul(slope, sub(at, x1)), y1)
        inside = select(ne(inside, inside), _beside_nan(at, (x0, x1), (y0, y1), other), inside)
    lowest = element(values, 0, 0) if left is None else lift(left, dtype)
    highest = element(values, 0, count - 1) if right is None else lift(right, dtype)
    return select(lt(at, first), lowest, select(gt(at, last), highest, inside))


def _beside_nan(
    at: Value, points: tuple[Value, Value], values: tuple[Value, Value], other: Value
) -> Value:
    """What NumPy gives where a line from the left gives NaN: the value of a point that is hit, the
    line from the right, or the value of both points.
    """
    level = select(and_(eq(*values), le(points[0], at)), values[0], other)
    made = select(ne(other, other), level, other)
    made = select(eq(at, points[1]), values[1], made)
    return select(eq(at, points[0]), values[0], made)


def polyval(p: ArrayLike, x: ArrayLike) -> Tracer:
    """As `numpy.polyval`, by Horner's rule; the number of coefficients must be known."""
    coefficients, at = lift(p), lift(x)
    if coefficients.type.rank != 1:
        raise ShapeError(f"polyval: the coefficients must have rank 1, got {coefficients.type}")
    dtype = dtypes.promote(coefficients.type.dtype, at.type.dtype)
    at = cast(at, dtype)
    terms = unstack_value(cast(coefficients, dtype))
    if not terms:
        return wrap(full(at.type.shape, 0, lift(x).type.dtype))
    times, plus = (and_, or_) if dtype.is_bool else (mul, add)
    result = terms[0]
    for term in terms[1:]:
        result = plus(times(result, at), term)
    return wrap(broadcast_value(result, at.type.shape))
