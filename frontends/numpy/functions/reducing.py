"""How reductions are computed, on values: what `reductions` and `statistics` are written with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, TypeAlias

from weft.compiler.ir import dims, dtypes
from weft.compiler.ir.build import constant
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.errors import ShapeError
from weft.compiler.ir.graph import Value
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ir.types import Shape, format_shape
from weft.compiler.ops import cumulative, reduction
from weft.compiler.ops.arithmetic import add, maximum, minimum, mul
from weft.compiler.ops.indexing import gather
from weft.compiler.ops.logic import and_, is_nan, ne, not_, or_, select
from weft.compiler.ops.ordering import top_k
from weft.compiler.ops.shape import pad
from weft.compiler.record import record
from weft.frontends.tracing.core import (
    broadcast_value,
    cast,
    expand,
    lift,
    normalize_axes,
    normalize_axis,
    product,
    reshape,
    size_value,
    trace_error,
    transpose,
)
from weft.frontends.tracing.scalars import Scalar
from weft.frontends.tracing.trace import ArrayLike

Axis: TypeAlias = "int | Sequence[int] | None"


@record
class ReductionKind:
    """A reduction: its primitive, the op that joins two results, and what changes none."""

    reduce: OpDef
    combine: OpDef
    identity: Scalar | None


SUM: Final = ReductionKind(reduction.reduce_sum, add, 0)
PROD: Final = ReductionKind(reduction.reduce_prod, mul, 1)
ANY: Final = ReductionKind(reduction.reduce_any, or_, False)
ALL: Final = ReductionKind(reduction.reduce_all, and_, True)
MAX: Final = ReductionKind(reduction.reduce_max, maximum, None)
MIN: Final = ReductionKind(reduction.reduce_min, minimum, None)


@record
class Running:
    """A cumulative function: its primitive, the one for bools, and the result of no elements."""

    accumulate: OpDef
    for_bool: OpDef
    start: Scalar


CUMSUM: Final = Running(cumulative.cumsum, cumulative.cummax, 0)
CUMPROD: Final = Running(cumulative.cumprod, cumulative.cummin, 1)


# --- axes, dtypes, masks -------------------------------------------------------------------------


def reduced_axes(axis: Axis, rank: int) -> tuple[int, ...]:
    """The axes to reduce; NumPy takes axis 0 and -1 of a rank-0 array for none."""
    if rank == 0 and axis in (0, -1):
        return ()
    return normalize_axes(axis, rank)


def kept_axes(axis: Axis, rank: int) -> tuple[int, ...]:
    """The axes that a reduction leaves."""
    reduced = reduced_axes(axis, rank)
    return tuple(a for a in range(rank) if a not in reduced)


def to_accumulator(value: Value, dtype: object) -> Value:
    """The value in the dtype NumPy sums in: the one asked for, else 64 bits for integers."""
    own = value.type.dtype
    if dtype is not None:
        return cast(value, dtypes.dtype(dtype))
    if own.is_inexact:
        return value
    return cast(value, dtypes.u64 if own.kind == "uint" else dtypes.i64)


def wide_dtype(dtype: DType) -> DType:
    """Where sums that are used further are kept: f32 for half precision, else the dtype itself."""
    return dtypes.f32 if dtype.is_float and dtype.bits == 16 else dtype


def truth(value: Value) -> Value:
    """Whether each element counts as true."""
    return value if value.type.dtype.is_bool else ne(value, constant(0, value.type.dtype))


def mask_value(where: ArrayLike, shape: Shape) -> Value:
    """`where=` as a bool value for an array of this shape; rank 0 is left for ops to stretch."""
    mask = lift(where, dtypes.bool_)
    if not mask.type.shape:
        return mask
    try:
        return broadcast_value(mask, shape)
    except ShapeError:
        raise ShapeError(
            f"where= has shape {format_shape(mask.type.shape)}, which does not broadcast to the "
            f"array's {format_shape(shape)}"
        ) from None


def count_value(
    shape: Shape, axis: Axis, keepdims: bool, where: ArrayLike | None, dtype: DType
) -> Value:
    """How many elements a reduction combines: rank 0, or one per result if `where=` chooses."""
    if where is None or where is True:
        # Unlike in a sum, an array of rank 0 has no axis here.
        return size_value(product(shape[a] for a in normalize_axes(axis, len(shape))), dtype)
    chosen = cast(broadcast_value(lift(where, dtypes.bool_), shape), dtype)
    return reduce(SUM, chosen, axis, keepdims)


def merge_axes(value: Value, axes: Sequence[int]) -> Value:
    """The value with these axes moved to the end and joined into one."""
    kept = kept_axes(axes, value.type.rank)
    moved = transpose(value, [*kept, *axes])
    shape = value.type.shape
    return reshape(moved, (*[shape[a] for a in kept], product(shape[a] for a in axes)))


# --- reductions ----------------------------------------------------------------------------------


def reduce(
    kind: ReductionKind,
    value: Value,
    axis: Axis,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Value:
    """The reduction of a value in its own dtype, by NumPy's arguments."""
    axes = reduced_axes(axis, value.type.rank)
    start = None if initial is None else lift(initial, value.type.dtype)
    if where is not None and where is not True:
        value = _masked(kind, value, where, start)
    reduced = _reduce_axes(kind, value, axes, start)
    return expand(reduced, axes, value.type.shape) if keepdims else reduced


def _masked(kind: ReductionKind, value: Value, where: ArrayLike, start: Value | None) -> Value:
    rest = start if kind.identity is None else constant(kind.identity, value.type.dtype)
    if rest is None:
        raise trace_error(
            "a maximum or minimum with where= needs initial=, for where nothing is chosen"
        )
    return select(mask_value(where, value.type.shape), value, rest)


def _reduce_axes(
    kind: ReductionKind, value: Value, axes: tuple[int, ...], start: Value | None
) -> Value:
    is_extreme, is_complex = kind.identity is None, value.type.dtype.is_complex
    if start is not None and is_extreme and (is_complex or may_be_empty(value.type.shape, axes)):
        value, start = _padded(value, axes, start), None
    if not axes:
        reduced = value
    elif is_extreme and is_complex:
        reduced = _complex_extreme(value, axes, largest=kind is MAX)
    else:
        reduced = kind.reduce(value, axes=axes)
    return reduced if start is None else kind.combine(reduced, start)


def may_be_empty(shape: Shape, axes: Sequence[int]) -> bool:
    """Whether one of the axes could have no elements."""
    return any((dims.lower(shape[axis]) or 0) < 1 for axis in axes)


def _padded(value: Value, axes: Sequence[int], start: Value) -> Value:
    """The value with one more element, `start`, along each axis, so that none is empty."""
    rank = value.type.rank
    high = [int(axis in axes) for axis in range(rank)]
    return pad(value, start, low=[0] * rank, high=high, interior=[0] * rank)


def nan_extreme(
    kind: ReductionKind,
    value: Value,
    axis: Axis,
    keepdims: bool,
    initial: ArrayLike | None,
    where: ArrayLike | None,
) -> Value:
    """The largest or smallest element that is not NaN; NaN where there is none and no `initial`."""
    if not value.type.dtype.is_inexact:
        return reduce(kind, value, axis, keepdims, initial, where)
    missing = is_nan(value)
    cleaned = select(missing, lowest(value.type.dtype, kind is MAX), value)
    found = reduce(kind, cleaned, axis, keepdims, initial, where)
    if initial is not None:
        return found
    nothing = reduce(ALL, missing, axis, keepdims)
    return select(nothing, constant(math.nan, value.type.dtype), found)


def lowest(dtype: DType, is_maximum: bool) -> Value:
    """The number that a maximum (else a minimum) of floats never chooses over another."""
    infinite = -math.inf if is_maximum else math.inf
    return constant(complex(infinite, infinite) if dtype.is_complex else infinite, dtype)


# --- positions -----------------------------------------------------------------------------------


def position(value: Value, axis: int | None, keepdims: bool, *, largest: bool) -> Value:
    """The index of the first largest (or smallest) element; the first NaN comes before all."""
    shape = value.type.shape
    if axis is None or not shape:
        axes = reduced_axes(axis, len(shape))
        found = _position(reshape(value, (value.type.size,)), 0, largest)
        return expand(found, axes, shape) if keepdims else found
    along = normalize_axis(axis, len(shape))
    found = _position(value, along, largest)
    return expand(found, (along,), shape) if keepdims else found


def _position(value: Value, axis: int, largest: bool) -> Value:
    if not value.type.dtype.is_complex:
        return (reduction.argmax if largest else reduction.argmin)(value, axis=axis)
    # Complex numbers have an order only in sorting, where NaN counts as largest.
    first = complex(math.nan, math.nan) if largest else complex(-math.inf, -math.inf)
    keys = select(is_nan(value), constant(first, value.type.dtype), value)
    _, indices = top_k.emit(keys, k=1, axis=axis, largest=largest)
    return reshape(indices, (*value.type.shape[:axis], *value.type.shape[axis + 1 :]))


def _complex_extreme(value: Value, axes: Sequence[int], largest: bool) -> Value:
    merged = merge_axes(value, axes)
    last = merged.type.rank - 1
    indices = _position(merged, last, largest)
    return gather(merged, indices, axes=(last,), batch_dims=last, mode="clip")


def nan_position(value: Value, axis: int | None, keepdims: bool, *, largest: bool) -> Value:
    """As `position` among what is not NaN; -1 where there is nothing."""
    if not value.type.dtype.is_inexact:
        return position(value, axis, keepdims, largest=largest)
    missing = is_nan(value)
    cleaned = select(missing, lowest(value.type.dtype, largest), value)
    found = position(cleaned, axis, keepdims, largest=largest)
    nothing = reduce(ALL, missing, axis, keepdims)
    return select(nothing, constant(-1, dtypes.i64), found)


# --- running -------------------------------------------------------------------------------------


def accumulate(kind: Running, value: Value, axis: int | None) -> Value:
    """The running combination along an axis, or of the flattened array for None."""
    if axis is None or not value.type.shape:
        reduced_axes(axis, value.type.rank)
        value, axis = reshape(value, (value.type.size,)), 0
    op = kind.for_bool if value.type.dtype.is_bool else kind.accumulate
    return op(value, axis=normalize_axis(axis, value.type.rank))


def accumulate_with_start(
    kind: Running, value: Value, axis: int | None, include_initial: bool
) -> Value:
    """As `accumulate` by the array API: the axis must be named unless it is the only one."""
    if axis is None and value.type.rank > 1:
        raise ShapeError(f"axis= is required for an array of rank {value.type.rank}")
    running = accumulate(kind, value, axis)
    if not include_initial:
        return running
    along = 0 if axis is None else normalize_axis(axis, running.type.rank)
    low = [int(a == along) for a in range(running.type.rank)]
    none = [0] * running.type.rank
    return pad(running, constant(kind.start, running.type.dtype), low=low, high=none, interior=none)


# --- NaN -----------------------------------------------------------------------------------------


def replace_nan(value: Value, fill: Scalar) -> Value:
    """The value with NaN replaced; integers have none."""
    if not value.type.dtype.is_inexact:
        return value
    return select(is_nan(value), constant(fill, value.type.dtype), value)


def where_not_nan(value: Value, where: ArrayLike | None) -> Value | None:
    """The mask of the elements that `where=` chooses and that are not NaN; None for all."""
    chosen = None if where is None or where is True else mask_value(where, value.type.shape)
    if not value.type.dtype.is_inexact:
        return chosen
    present = not_(is_nan(value))
    return present if chosen is None else and_(present, chosen)
