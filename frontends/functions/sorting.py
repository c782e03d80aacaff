"""NumPy's sorting, searching and set functions, and `top_k`; all sorts are stable."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from weft.compiler.ir import dtypes
from weft.compiler.ir.build import constant
from weft.compiler.ir.dims import Size
from weft.compiler.ir.errors import ShapeError, TraceError
from weft.compiler.ir.graph import Value
from weft.compiler.ops import ordering
from weft.compiler.ops.cumulative import cumsum
from weft.compiler.ops.indexing import scatter
from weft.compiler.ops.logic import and_, eq, is_nan, ne, not_
from weft.frontends.functions.along import element, padded
from weft.frontends.functions.core import (
    as_size,
    broadcast_value,
    cast,
    check_no,
    full,
    lift,
    normalize_axis,
    promote,
    reshape,
    trace_error,
    wrap,
)
from weft.frontends.functions.pieces import gather_axis, iota, slice_axis, unstack_value
from weft.frontends.trace import ArrayLike, Tracer

__all__ = [
    "argpartition",
    "argsort",
    "isin",
    "lexsort",
    "partition",
    "searchsorted",
    "sort",
    "top_k",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]


# --- sorting -----------------------------------------------------------------------------------


def sort(
    a: ArrayLike,
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
    *,
    stable: bool | None = None,
) -> Tracer:
    """As `numpy.sort`; always stable, whatever `kind` says."""
    check_no("sort", order=order)
    value, along = _along(a, axis)
    return wrap(ordering.sort(value, axis=along))


def argsort(
    a: ArrayLike,
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
    *,
    stable: bool | None = None,
) -> Tracer:
    """As `numpy.argsort`; always stable, whatever `kind` says."""
    check_no("argsort", order=order)
    value, along = _along(a, axis if lift(a).type.shape else None)
    return wrap(_order([value], along))


def lexsort(keys: ArrayLike | Sequence[ArrayLike], axis: int = -1) -> Tracer:
    """As `numpy.lexsort`: the order by the last key, then by the one before it, and so on."""
    if isinstance(keys, list | tuple):
        values = [lift(key) for key in keys]
    else:
        values = unstack_value(lift(keys))
    if not values:
        raise trace_error("lexsort needs at least one key")
    shape = values[0].type.shape
    if not shape:
        return wrap(constant(0, dtypes.i64))
    return wrap(_order(values[::-1], normalize_axis(axis, len(shape))))


def partition(
    a: ArrayLike,
    kth: int | Sequence[int],
    axis: int | None = -1,
    kind: str = "introselect",
    order: None = None,
) -> Tracer:
    """As `numpy.partition`, by a full sort."""
    check_no("partition", order=order)
    _require_kth(kth, *_along(a, axis))
    return sort(a, axis)


def argpartition(
    a: ArrayLike,
    kth: int | Sequence[int],
    axis: int | None = -1,
    kind: str = "introselect",
    order: None = None,
) -> Tracer:
    """As `numpy.argpartition`, by a full sort."""
    check_no("argpartition", order=order)
    _require_kth(kth, *_along(a, axis))
    return argsort(a, axis)


def top_k(x: ArrayLike, k: int, axis: int = -1, largest: bool = True) -> tuple[Tracer, Tracer]:
    """The k largest (or smallest) elements along an axis in order, and their indices.

    Ties go to the lowest index; NaN counts as largest. Not in NumPy.
    """
    value, along = _along(x, axis)
    values, indices = ordering.top_k.emit(value, k=k, axis=along, largest=largest)
    return wrap(values), wrap(indices)


def _along(a: ArrayLike, axis: int | None) -> tuple[Value, int]:
    """The value, flattened for axis None, and the axis to sort."""
    value = lift(a)
    if axis is None:
        return reshape(value, (value.type.size,)), 0
    return value, normalize_axis(axis, value.type.rank)


def _order(keys: Sequence[Value], axis: int) -> Value:
    """The indices that sort by the first key, then the second, and so on."""
    indices = iota(keys[0].type.shape, axis)
    *_, order = ordering.sort.emit(*keys, indices, axis=axis, num_keys=len(keys))
    return order


def _require_kth(kth: int | Sequence[int], value: Value, axis: int) -> None:
    size = value.type.shape[axis]
    for place in np.atleast_1d(np.asarray(kth)).tolist():
        if isinstance(size, int) and not -size <= place < size:
            raise ShapeError(f"kth is {place}, which is out of bounds for an axis of size {size}")


# --- searching ---------------------------------------------------------------------------------


def searchsorted(
    a: ArrayLike, v: ArrayLike, side: str = "left", sorter: ArrayLike | None = None
) -> Tracer:
    """As `numpy.searchsorted`."""
    table, values = promote(a, v)
    if table.type.rank != 1:
        raise ShapeError(f"searchsorted looks in an array of rank 1, got {table.type}")
    if sorter is not None:
        table = gather_axis(table, lift(sorter), 0)
    return wrap(ordering.searchsorted(table, values, side=side))


def isin(
    element: ArrayLike,
    test_elements: ArrayLike,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: str | None = None,
) -> Tracer:
    """As `numpy.isin`; `assume_unique` and `kind` make no difference."""
    # Numbers promote as arrays here.
    values, tested = promote(wrap(lift(element)), wrap(lift(test_elements)))
    if tested.type.size == 0:
        return wrap(full(values.type.shape, invert, dtypes.bool_))
    table = ordering.sort(reshape(tested, (tested.type.size,)), axis=0)
    places = ordering.searchsorted(table, values, side="left")
    found = eq(gather_axis(table, places, 0, "clip"), values)
    return wrap(not_(found) if invert else found)


# --- unique ------------------------------------------------------------------------------------


def unique(
    ar: ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
    size: Size | None = None,
    fill_value: ArrayLike | None = None,
) -> Tracer:
    """The distinct values in order, as `numpy.unique`, but exactly `size` of them.

    If there are more, the largest are left out; if there are fewer, `fill_value` (else the
    smallest value) fills up.
    """
    if return_index or return_inverse or return_counts or axis is not None:
        raise trace_error(
            "unique gives values of the flattened array only, without axis= or return_...="
        )
    value = lift(ar)
    if size is None:
        raise _unknown_number("unique", value)
    return wrap(_unique(reshape(value, (value.type.size,)), as_size(size), fill_value, equal_nan))


def unique_values(
    x: ArrayLike, *, size: Size | None = None, fill_value: ArrayLike | None = None
) -> Tracer:
    """As `numpy.unique_values`, but exactly `size` values; see `unique`."""
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)


def unique_all(x: ArrayLike) -> Tracer:
    """Refused: the number of results depends on values."""
    raise _unknown_number("unique_all", lift(x))


def unique_counts(x: ArrayLike) -> Tracer:
    """Refused: the number of results depends on values."""
    raise _unknown_number("unique_counts", lift(x))


def unique_inverse(x: ArrayLike) -> Tracer:
    """Refused: the number of results depends on values."""
    raise _unknown_number("unique_inverse", lift(x))


def _unknown_number(name: str, value: Value) -> TraceError:
    return trace_error(
        f"{name}({value.type}) has as many results as there are distinct values, which is not "
        "known before the program runs; use weft.numpy.unique(x, size=..., fill_value=...)"
    )


def _unique(flat: Value, size: Size, fill_value: ArrayLike | None, equal_nan: bool) -> Value:
    """The first of each run of equal elements, written to the number of runs before it."""
    dtype, count = flat.type.dtype, flat.type.shape[0]
    if count == 0:
        return broadcast_value(lift(0 if fill_value is None else fill_value, dtype), (size,))
    table = ordering.sort(flat, axis=0)
    fill = element(table, 0, 0) if fill_value is None else lift(fill_value, dtype)
    later, earlier = slice_axis(table, 0, 1, count), slice_axis(table, 0, 0, count - 1)
    is_new = ne(later, earlier)
    if equal_nan and dtype.is_inexact:
        is_new = and_(is_new, not_(and_(is_nan(later), is_nan(earlier))))
    runs_before = padded(cumsum(cast(is_new, dtypes.i64), axis=0), 0, 1, 0)
    # Equal elements write the same value to the same place; places from `size` on are dropped.
    empty = broadcast_value(fill, (size,))
    return scatter(empty, table, runs_before, axes=(0,), kind="set", mode="fill")
