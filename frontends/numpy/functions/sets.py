"""Distinct elements, and what two arrays have in common.

How many these are is known only when the program runs: the results are `Selected`, which have
their true size once returned. With a further argument `size=` they are arrays of that size, with
`fill_value=` for the places that are left over.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from weft.compiler.ir import dtypes
from weft.compiler.ir.dims import Size
from weft.compiler.ir.graph import Constant, Value
from weft.compiler.ops import ordering
from weft.compiler.ops.cumulative import cumsum
from weft.compiler.ops.indexing import scatter
from weft.compiler.ops.logic import and_, is_nan, ne, not_, select, xor
from weft.frontends.numpy.functions.axis_access import element, move, padded
from weft.frontends.numpy.functions.axis_ops import (
    flat,
    gather_axis,
    iota,
    join,
    slice_axis,
    unstack_value,
)
from weft.frontends.numpy.functions.conditions import compress
from weft.frontends.numpy.functions.reducing import ANY, reduce
from weft.frontends.numpy.functions.sorting import isin
from weft.frontends.numpy.masked.array import Selected
from weft.frontends.numpy.masked.choice import Span
from weft.frontends.tracing.core import (
    as_size,
    broadcast_value,
    cast,
    full,
    lift,
    normalize_axis,
    promote,
    reshape,
    size_value,
    wrap,
)
from weft.frontends.tracing.trace import ArrayLike, Tracer

__all__ = [
    "intersect1d",
    "setdiff1d",
    "setxor1d",
    "union1d",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]


class UniqueAllResult(NamedTuple):
    """What `unique_all` returns."""

    values: Tracer
    indices: Tracer
    inverse_indices: Tracer
    counts: Tracer


class UniqueCountsResult(NamedTuple):
    """What `unique_counts` returns."""

    values: Tracer
    counts: Tracer


class UniqueInverseResult(NamedTuple):
    """What `unique_inverse` returns."""

    values: Tracer
    inverse_indices: Tracer


def unique(
    ar: ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
    size: Any = None,
    fill_value: ArrayLike | None = None,
) -> Any:
    """The distinct values in order, as `numpy.unique`; if traced, exactly `size` of them if given.

    If there are more, the largest are left out; if there are fewer, `fill_value` (else the
    smallest value) fills up, with index and count 0.
    """
    found = _distinct(ar, axis, equal_nan, size, fill_value)
    chosen = (return_index, return_inverse, return_counts)
    parts = (found.indices, found.inverse_indices, found.counts)
    wanted = [part for part, is_wanted in zip(parts, chosen, strict=True) if is_wanted]
    return (found.values, *wanted) if wanted else found.values


def unique_values(
    x: ArrayLike, /, *, size: Any = None, fill_value: ArrayLike | None = None
) -> Tracer:
    """As `numpy.unique_values`, with exactly `size` values if given; see `unique`."""
    return _distinct(x, None, False, size, fill_value).values


def unique_all(
    x: ArrayLike, /, *, size: Any = None, fill_value: ArrayLike | None = None
) -> UniqueAllResult:
    """As `numpy.unique_all`, with exactly `size` values if given; see `unique`."""
    return _distinct(x, None, False, size, fill_value)


def unique_counts(
    x: ArrayLike, /, *, size: Any = None, fill_value: ArrayLike | None = None
) -> UniqueCountsResult:
    """As `numpy.unique_counts`, with exactly `size` values if given; see `unique`."""
    found = _distinct(x, None, False, size, fill_value)
    return UniqueCountsResult(found.values, found.counts)


def unique_inverse(
    x: ArrayLike, /, *, size: Any = None, fill_value: ArrayLike | None = None
) -> UniqueInverseResult:
    """As `numpy.unique_inverse`, with exactly `size` values if given; see `unique`."""
    found = _distinct(x, None, False, size, fill_value)
    return UniqueInverseResult(found.values, found.inverse_indices)


def _distinct(
    ar: ArrayLike,
    axis: int | None,
    equal_nan: bool,
    size: Any,
    fill_value: ArrayLike | None,
) -> UniqueAllResult:
    """Distinct elements, or slices along an axis, with all that can be said about them."""
    value = lift(ar)
    is_unknown = size is None and not isinstance(value, Constant)
    if size is None and isinstance(value, Constant):
        found = np.unique(value.array, axis=axis, equal_nan=equal_nan)
        size = found.shape[axis or 0]
    rows = flat(value)
    if axis is not None:
        rows = move(value, normalize_axis(axis, value.type.rank), 0)
    if is_unknown:
        size = rows.type.shape[0]
    values, indices, inverse, counts = _runs(rows, as_size(size), fill_value, equal_nan)
    if axis is None:
        inverse = reshape(inverse, value.type.shape)
    else:
        values = move(values, 0, normalize_axis(axis, value.type.rank))
    made = UniqueAllResult(wrap(values), wrap(indices), wrap(inverse), wrap(counts))
    return _of_true_size(made, axis or 0) if is_unknown else made


def _of_true_size(made: UniqueAllResult, axis: int) -> UniqueAllResult:
    """Results without the places that are left over."""
    span = Span.of(0, np.count_nonzero(made.counts))  # type: ignore[call-overload]
    rank = made.values.type.rank
    place = normalize_axis(axis, rank)
    chosen = tuple([span if a == place else None for a in range(rank)])
    values: Any = Selected(made.values, chosen)
    indices: Any = Selected(made.indices, (span,))
    counts: Any = Selected(made.counts, (span,))
    return UniqueAllResult(values, indices, made.inverse_indices, counts)


def _runs(
    rows: Value, size: Size, fill_value: ArrayLike | None, equal_nan: bool
) -> tuple[Value, Value, Value, Value]:
    """The distinct rows in order, the first place of each, the number of each row's, and counts.

    What is equal stands together once it is sorted; the number of a run is that of those before it.
    Runs from `size` on are written outside, which a scatter of mode "fill" drops.
    """
    count = rows.type.shape[0]
    if count == 0:
        fill = lift(0 if fill_value is None else fill_value, rows.type.dtype)
        nothing = full((size,), 0, dtypes.i64)
        empty = broadcast_value(fill, (size, *rows.type.shape[1:]))
        return empty, nothing, full((0,), 0, dtypes.i64), nothing
    table, places = _sorted_rows(rows)
    is_new = _differs_from_previous(table, equal_nan)
    runs = padded(cumsum(cast(is_new, dtypes.i64), axis=0), 0, 1, 0)
    is_first = join([full((1,), True, dtypes.bool_), is_new], 0)
    outside = size_value(size, dtypes.i64)
    starts = select(is_first, runs, outside)
    fill = element(table, 0, 0) if fill_value is None else lift(fill_value, rows.type.dtype)
    empty = broadcast_value(fill, (size, *rows.type.shape[1:]))
    zeros = full((size,), 0, dtypes.i64)
    ones = full((count,), 1, dtypes.i64)
    return (
        scatter(empty, table, starts, axes=(0,), kind="set", mode="fill"),
        scatter(zeros, places, starts, axes=(0,), kind="set", mode="fill"),
        scatter(full((count,), 0, dtypes.i64), runs, places, axes=(0,), kind="set"),
        scatter(zeros, ones, runs, axes=(0,), kind="add", mode="fill"),
    )


def _sorted_rows(rows: Value) -> tuple[Value, Value]:
    """The rows in order, by their first element first, and where each was."""
    places = iota((rows.type.shape[0],), 0)
    if rows.type.rank == 1:
        table, order = ordering.sort.emit(rows, places, axis=0)
        return table, order
    width = rows.type.size // rows.type.shape[0]
    columns = unstack_value(reshape(rows, (rows.type.shape[0], width)), 1)
    if not columns:
        return rows, places
    *_, order = ordering.sort.emit(*columns, places, axis=0, num_keys=len(columns))
    return gather_axis(rows, order, 0), order


def _differs_from_previous(table: Value, equal_nan: bool) -> Value:
    """Whether each row but the first differs from the one before it."""
    count = table.type.shape[0]
    later, earlier = slice_axis(table, 0, 1, count), slice_axis(table, 0, 0, count - 1)
    differs = ne(later, earlier)
    if equal_nan and table.type.dtype.is_inexact and table.type.rank == 1:
        differs = and_(differs, not_(and_(is_nan(later), is_nan(earlier))))
    return reduce(ANY, differs, tuple(range(1, table.type.rank)))


# --- two arrays ---------------------------------------------------------------------------------


def union1d(
    ar1: ArrayLike, ar2: ArrayLike, *, size: Any = None, fill_value: ArrayLike | None = None
) -> Tracer:
    """As `numpy.union1d`, with exactly `size` values if given; see `unique`."""
    joined = wrap(_joined(ar1, ar2))
    return _distinct(joined, None, True, size, fill_value).values


def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: Any = None,
    fill_value: ArrayLike = 0,
) -> Any:
    """As `numpy.intersect1d`; of traced arrays the first `size`, then `fill_value` and index 0."""
    first, second = [flat(value) for value in promote(wrap(lift(ar1)), wrap(lift(ar2)))]
    table, places = _sorted_rows(first)
    is_common = and_(_is_first(table), lift(isin(wrap(table), wrap(second))))
    chosen = _chosen(is_common, table, size, fill_value)
    if not return_indices:
        return chosen
    own = _chosen(is_common, places, size, 0)
    others, other_places = _sorted_rows(second)
    table_of_both = chosen.whole if isinstance(chosen, Selected) else chosen
    found = ordering.searchsorted(others, lift(table_of_both), side="left")
    theirs = wrap(gather_axis(other_places, found, 0, "clip"))
    both = Selected(theirs, chosen.chosen) if isinstance(chosen, Selected) else theirs
    return chosen, own, both


def setdiff1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: Any = None,
    fill_value: ArrayLike = 0,
) -> Any:
    """As `numpy.setdiff1d`; of traced arrays the first `size`, then `fill_value`."""
    table = flat(lift(ar1))
    is_alone = not_(lift(isin(wrap(table), ar2)))
    if not assume_unique:
        table = ordering.sort(table, axis=0)
        is_alone = and_(_is_first(table), not_(lift(isin(wrap(table), ar2))))
    return _chosen(is_alone, table, size, fill_value)


def setxor1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: Any = None,
    fill_value: ArrayLike = 0,
) -> Any:
    """As `numpy.setxor1d`; of traced arrays the first `size`, then `fill_value`."""
    table = ordering.sort(_joined(ar1, ar2), axis=0)
    in_one = xor(lift(isin(wrap(table), ar1)), lift(isin(wrap(table), ar2)))
    return _chosen(and_(_is_first(table), in_one), table, size, fill_value)


def _joined(ar1: ArrayLike, ar2: ArrayLike) -> Value:
    return join([flat(value) for value in promote(wrap(lift(ar1)), wrap(lift(ar2)))], 0)


def _is_first(table: Value) -> Value:
    """Whether each element of a sorted array is the first of those equal to it."""
    if table.type.size == 0:
        return full((0,), True, dtypes.bool_)
    return join([full((1,), True, dtypes.bool_), _differs_from_previous(table, True)], 0)


def _chosen(mask: Value, table: Value, size: Any, fill_value: ArrayLike) -> Any:
    return compress(wrap(mask), wrap(table), size=size, fill_value=fill_value)
