"""NumPy's sorting and searching functions, and `top_k`; all sorts are stable."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from weft.compiler.ir import dtypes
from weft.compiler.ir.build import constant
from weft.compiler.ir.errors import ShapeError
from weft.compiler.ir.graph import Value
from weft.compiler.ops import ordering
from weft.compiler.ops.logic import eq, not_
from weft.frontends.numpy.functions.axis_ops import gather_axis, iota, unstack_value
from weft.frontends.tracing.core import (
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
from weft.frontends.tracing.trace import ArrayLike, Tracer

__all__ = [
    "argpartition",
    "argsort",
    "isin",
    "lexsort",
    "partition",
    "searchsorted",
    "sort",
    "sort_complex",
    "top_k",
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


def sort_complex(a: ArrayLike) -> Tracer:
    """As `numpy.sort_complex`."""
    value = lift(a)
    is_small = value.type.dtype.is_integer and value.type.dtype.bits <= 16
    wanted = dtypes.c64 if is_small else dtypes.c128
    made = value if value.type.dtype.is_complex else cast(value, wanted)
    return wrap(ordering.sort(made, axis=normalize_axis(-1, value.type.rank)))


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
