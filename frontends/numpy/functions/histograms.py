"""NumPy's histograms and counts: how many elements fall into each of a fixed number of bins."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from weft.compiler.ir import dtypes
from weft.compiler.ir.build import constant
from weft.compiler.ir.dims import Size
from weft.compiler.ir.errors import DTypeError, ShapeError
from weft.compiler.ir.graph import Constant, Value
from weft.compiler.ops import ordering, reduction
from weft.compiler.ops.arithmetic import add, div, mul, sub
from weft.compiler.ops.indexing import scatter
from weft.compiler.ops.logic import and_, eq, lt, select
from weft.compiler.ops.shape import reverse
from weft.frontends.numpy.functions.axis_access import element, stretch
from weft.frontends.numpy.functions.axis_ops import iota, slice_axis, unstack_value
from weft.frontends.numpy.functions.reducing import SUM, reduce, wide_dtype
from weft.frontends.tracing.core import (
    as_size,
    cast,
    full,
    inexact_dtype,
    lift,
    product,
    promote,
    reshape,
    result_dtype,
    size_value,
    trace_error,
    wrap,
)
from weft.frontends.tracing.trace import ArrayLike, Tracer

__all__ = [
    "bincount",
    "digitize",
    "histogram",
    "histogram2d",
    "histogram_bin_edges",
    "histogramdd",
]


def bincount(
    x: ArrayLike,
    /,
    weights: ArrayLike | None = None,
    minlength: int = 0,
    *,
    length: Size | None = None,
) -> Tracer:
    """As `numpy.bincount` of a known length: `length`, which ignores larger values, or `minlength`.

    With `minlength` alone, a value that does not fit is an error when the program runs.
    """
    value = lift(x)
    if value.type.rank != 1:
        raise ShapeError(f"bincount takes an array of rank 1, got {value.type}")
    if not np.can_cast(value.type.dtype.numpy, np.int64):
        raise DTypeError(f"bincount counts integers, got {value.type}; cast to i64 first")
    count = _bincount_length(value, minlength, length)
    if value.type.size == 0:
        # Then NumPy does not look at the weights.
        return wrap(full((count,), 0, dtypes.i64))
    updates = _bincount_weights(value, weights)
    # Negative values wrap to huge ones: out of range instead of counted from the end.
    places = cast(cast(value, dtypes.i64), dtypes.u64)
    empty = full((count,), 0, updates.type.dtype)
    mode = "raise" if length is None else "fill"
    return wrap(scatter(empty, updates, places, axes=(0,), kind="add", mode=mode))


def _bincount_length(value: Value, minlength: int, length: Size | None) -> Size:
    if length is not None:
        return as_size(length)
    if isinstance(value, Constant):
        return max(
            int(value.array.max(initial=0)) + 1 if value.array.size else 0,
            operator.index(minlength),
        )
    if minlength <= 0:
        raise trace_error(
            f"the length of bincount({value.type}) depends on its values; give length=n, or "
            "minlength=n if all values are known to be below n"
        )
    return as_size(minlength)


def _bincount_weights(value: Value, weights: ArrayLike | None) -> Value:
    if weights is None:
        return full(value.type.shape, 1, dtypes.i64)
    weight = lift(weights, dtypes.f64)
    if weight.type.shape != value.type.shape:
        raise ShapeError(f"weights {weight.type} and values {value.type} differ in shape")
    return weight


def digitize(x: ArrayLike, bins: ArrayLike, right: bool = False) -> Tracer:
    """As `numpy.digitize`, for bins that increase or decrease."""
    values, edges = promote(x, bins)
    if edges.type.rank != 1:
        raise ShapeError(f"bins must be of rank 1, got {edges.type}")
    side = "left" if right else "right"
    count = edges.type.shape[0]
    if count == 0:
        return wrap(full(values.type.shape, 0, dtypes.i64))
    if isinstance(edges, Constant):
        decreases: Any = bool(edges.array[0] > edges.array[-1])
        if not decreases:
            return wrap(ordering.searchsorted(edges, values, side=side))
        places = ordering.searchsorted(reverse(edges, axes=(0,)), values, side=side)
        return wrap(sub(size_value(count, dtypes.i64), places))
    falls = lt(element(edges, 0, count - 1), element(edges, 0, 0))
    increasing = select(falls, reverse(edges, axes=(0,)), edges)
    places = ordering.searchsorted(increasing, values, side=side)
    return wrap(select(falls, sub(size_value(count, dtypes.i64), places), places))


def histogram_bin_edges(
    a: ArrayLike,
    bins: int | ArrayLike = 10,
    range: Any = None,
    weights: ArrayLike | None = None,
) -> Tracer:
    """As `numpy.histogram_bin_edges`, for a number of bins or given edges."""
    return wrap(_edges(a, bins, range))


def histogram(
    a: ArrayLike,
    bins: int | ArrayLike = 10,
    range: Any = None,
    density: bool | None = None,
    weights: ArrayLike | None = None,
) -> tuple[Tracer, Tracer]:
    """As `numpy.histogram`, for a number of bins or given edges; NaN falls into no bin."""
    edges = _edges(a, bins, range)
    count = edges.type.shape[0] - 1
    common = result_dtype(a, wrap(edges))
    flat, table = _flatten(lift(a, common)), cast(edges, common)
    # Values below the first edge have place -1, which as the huge number is that of no bin.
    bin_of = cast(_bin_of(flat, table, count), dtypes.u64)
    updates = _histogram_weights(flat, weights)
    empty = full((count,), 0, updates.type.dtype)
    counts = scatter(empty, updates, bin_of, axes=(0,), kind="add", mode="fill")
    return wrap(_density(counts, edges) if density else counts), wrap(edges)


def histogram2d(
    x: ArrayLike,
    y: ArrayLike,
    bins: Any = 10,
    range: Any = None,
    density: bool | None = None,
    weights: ArrayLike | None = None,
) -> tuple[Tracer, Tracer, Tracer]:
    """As `numpy.histogram2d`, for numbers of bins or given edges."""
    if not isinstance(bins, int | np.integer) and len(bins) not in (1, 2):
        bins = [bins, bins]
    counts, (x_edges, y_edges) = histogramdd([x, y], bins, range, density, weights)
    return counts, x_edges, y_edges


def histogramdd(
    sample: Any,
    bins: Any = 10,
    range: Any = None,
    density: bool | None = None,
    weights: ArrayLike | None = None,
) -> tuple[Tracer, tuple[Tracer, ...]]:
    """As `numpy.histogramdd`, for numbers of bins or given edges; NaN falls into no bin."""
    columns = _columns(sample)
    each = [bins] * len(columns) if isinstance(bins, int | np.integer) else list(bins)
    limits = [None] * len(columns) if range is None else list(range)
    if not len(each) == len(limits) == len(columns):
        raise ShapeError(f"histogramdd: there are {len(columns)} coordinates, {len(each)} bins")
    edges = [_edges(wrap(c), b, r) for c, b, r in zip(columns, each, limits, strict=True)]
    sizes = [edge.type.shape[0] - 1 for edge in edges]
    total = product(sizes)
    place: Value = constant(0, dtypes.i64)
    inside: Value = constant(True, dtypes.bool_)
    for column, edge, size in zip(columns, edges, sizes, strict=True):
        own = _bin_of(column, edge, size)
        is_in = lt(cast(own, dtypes.u64), size_value(size, dtypes.u64))
        place, inside = add(mul(place, size_value(size, dtypes.i64)), own), and_(inside, is_in)
    outside = size_value(total, dtypes.i64)
    updates = cast(_histogram_weights(columns[0], weights), dtypes.f64)
    empty = full((total,), 0, dtypes.f64)
    places = select(inside, place, outside)
    counts = scatter(empty, updates, places, axes=(0,), kind="add", mode="fill")
    shaped = reshape(counts, tuple(sizes))
    if density:
        shaped = _density_of_all(shaped, edges)
    return wrap(shaped), tuple([wrap(edge) for edge in edges])


def _columns(sample: Any) -> list[Value]:
    """The coordinates of points: given as columns of an array, or as a list of arrays."""
    if isinstance(sample, list | tuple):
        return [lift(column) for column in sample]
    value = lift(sample)
    if value.type.rank == 1:
        return [value]
    if value.type.rank != 2:
        raise ShapeError(f"histogramdd: points are rows of an array of rank 2, got {value.type}")
    return unstack_value(value, 1)


def _bin_of(column: Value, edges: Value, count: Size) -> Value:
    """The bin of each number, -1 or `count` if there is none; the last bin has its right edge."""
    common = dtypes.promote(column.type.dtype, edges.type.dtype)
    column, table = cast(column, common), cast(edges, common)
    places = ordering.searchsorted(table, column, side="right")
    at_end = eq(column, element(table, 0, count))
    return sub(select(at_end, size_value(count, dtypes.i64), places), constant(1, dtypes.i64))


def _density_of_all(counts: Value, edges: list[Value]) -> Value:
    total = reduce(SUM, counts, None)
    for axis, edge in enumerate(edges):
        size = edge.type.shape[0]
        widths = sub(slice_axis(edge, 0, 1, size), slice_axis(edge, 0, 0, size - 1))
        spread = stretch(cast(widths, dtypes.f64), (axis,), counts.type.shape)
        counts = div(counts, spread)
    return div(counts, total)


def _flatten(value: Value) -> Value:
    return reshape(value, (value.type.size,))


def _histogram_weights(flat: Value, weights: ArrayLike | None) -> Value:
    if weights is None:
        return full(flat.type.shape, 1, dtypes.i64)
    weight = lift(weights)
    if weight.type.size != flat.type.size:
        raise ShapeError(f"weights {weight.type} must have the shape of the array")
    return _flatten(weight)


def _density(counts: Value, edges: Value) -> Value:
    size = edges.type.shape[0]
    widths = sub(slice_axis(edges, 0, 1, size), slice_axis(edges, 0, 0, size - 1))
    common = dtypes.promote(counts.type.dtype, dtypes.f64)
    numbers = cast(counts, common)
    return div(div(numbers, cast(widths, common)), reduce(SUM, numbers, None))


def _edges(a: ArrayLike, bins: int | ArrayLike, limits: Any) -> Value:
    if isinstance(bins, str):
        raise trace_error(
            f"histogram: bins={bins!r} chooses the number of bins by the values, which are not "
            "known; give a number or the edges"
        )
    if isinstance(bins, int | np.integer):
        return _equal_edges(a, operator.index(bins), limits)
    edges = lift(bins)
    if edges.type.rank != 1:
        raise trace_error(f"histogram: bins must be an int or edges of rank 1, got {edges.type}")
    return edges


def _equal_edges(a: ArrayLike, count: int, limits: Any) -> Value:
    """`count + 1` edges at equal distances between the limits, or the extremes of the values."""
    if count < 1:
        raise trace_error(f"histogram: bins must be positive, got {count}")
    value = lift(a)
    ends: tuple[ArrayLike, ArrayLike]
    if limits is not None:
        ends = tuple(limits)
    elif value.type.size == 0:
        ends = 0, 1
    else:
        axes = tuple(np.arange(value.type.rank).tolist())
        ends = (
            wrap(reduction.reduce_min(value, axes=axes)),
            wrap(reduction.reduce_max(value, axes=axes)),
        )
    dtype = result_dtype(a, *ends)
    dtype = dtype if dtype.is_inexact else dtypes.promote(dtype, dtypes.f64)
    wide = wide_dtype(inexact_dtype(dtypes.promote(*[lift(end).type.dtype for end in ends])))
    low, high = _widened(*[lift(end, wide) for end in ends])
    step = div(sub(high, low), constant(count, wide))
    counted = iota((count + 1,), 0, wide)
    inner = add(mul(counted, step), low)
    is_last = eq(counted, constant(count, wide))
    return cast(select(is_last, high, inner), dtype)


def _widened(low: Value, high: Value) -> tuple[Value, Value]:
    """The limits, half a unit apart from the value if they are the same."""
    same, half = eq(low, high), constant(0.5, low.type.dtype)
    return select(same, sub(low, half), low), select(same, add(high, half), high)
