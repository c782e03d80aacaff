"""Functions that take elements out of arrays by index, or put them back, and index arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.compiler.ir import dtypes
from weft.compiler.ir.build import constant
from weft.compiler.ir.dims import Size
from weft.compiler.ir.errors import BoundsError, DTypeError, ShapeError
from weft.compiler.ir.graph import Constant, Value
from weft.compiler.ir.types import Shape, format_shape
from weft.compiler.ops import indexing
from weft.compiler.ops.arithmetic import add, clamp, floor_divide, mul, remainder
from weft.frontends.numpy.functions.axis_ops import (
    as_value,
    checked,
    flat,
    gather_axis,
    pick,
    slice_axis,
    stack_values,
    static_array,
    unstack_value,
    without_axis,
)
from weft.frontends.numpy.functions.indexing import fit
from weft.frontends.tracing import core
from weft.frontends.tracing.core import (
    as_shape,
    broadcast_shapes,
    broadcast_value,
    cast,
    check_no,
    lift,
    normalize_axis,
    product,
    result_dtype,
    size_value,
    trace_error,
    transpose,
    wrap,
)
from weft.frontends.tracing.trace import ArrayLike, Tracer

__all__ = [
    "choose",
    "put_along_axis",
    "ravel_multi_index",
    "take",
    "take_along_axis",
    "unravel_index",
]


# --- by index -------------------------------------------------------------------------------------


def take(
    a: ArrayLike,
    indices: ArrayLike,
    axis: int | None = None,
    out: None = None,
    mode: str = "raise",
) -> Tracer:
    """As `numpy.take`."""
    check_no("take", out=out)
    value, index = as_value(a), integers(indices)
    value, place = along(value, axis)
    size = value.type.shape[place]
    if size == 0 and index.type.size != 0:
        raise BoundsError(f"there is nothing to take from axis {place} of {value.type}")
    if value.type.size == 0:
        mode = "clip"  # no element is looked at, and NumPy does not check
    if isinstance(index, Constant) and isinstance(size, int):
        return wrap(_take_known(value, _inside(index.array, size, mode), place))
    moved = wrapped(index, size, mode)
    return wrap(gather_axis(value, moved, place, mode="raise" if moved is index else "clip"))


def take_along_axis(arr: ArrayLike, indices: ArrayLike, axis: int | None = -1) -> Tracer:
    """As `numpy.take_along_axis`."""
    value, index, place = _aligned(arr, indices, axis)
    order = _axis_last(value.type.rank, place)
    value, index = transpose(value, order), transpose(index, order)
    batch = broadcast_shapes(value.type.shape[:-1], index.type.shape[:-1])
    value, index = (broadcast_value(v, (*batch, v.type.shape[-1])) for v in (value, index))
    last = len(batch)
    gathered = indexing.gather(value, index, axes=(last,), batch_dims=last)
    return wrap(transpose(gathered, np.argsort(order).tolist()))


def put_along_axis(
    arr: ArrayLike, indices: ArrayLike, values: ArrayLike, axis: int | None
) -> Tracer:
    """As `numpy.put_along_axis`, but returns the new array: traced arrays do not change."""
    original = as_value(arr)
    value, index, place = _aligned(arr, indices, axis)
    order = _axis_last(value.type.rank, place)
    new = as_value(values, value.type.dtype)
    value, index = transpose(value, order), transpose(index, order)
    sizes = (*value.type.shape[:-1], index.type.shape[-1])
    if broadcast_shapes(sizes, index.type.shape) != sizes:
        raise ShapeError(
            f"indices of shape {format_shape(index.type.shape)} name an element of an array of "
            f"shape {format_shape(value.type.shape)} more than once; broadcast the array first"
        )
    unordered = tuple([sizes[order.index(i)] for i in range(len(sizes))])
    updates = transpose(fit(new, unordered), order)
    last = len(sizes) - 1
    written = indexing.scatter(
        value, updates, broadcast_value(index, sizes), axes=(last,), batch_dims=last, kind="set"
    )
    return wrap(core.reshape(transpose(written, np.argsort(order).tolist()), original.type.shape))


def choose(a: ArrayLike, choices: Any, out: None = None, mode: str = "raise") -> Tracer:
    """As `numpy.choose`."""
    check_no("choose", out=out)
    options = [wrap(v) for v in unstack_value(lift(choices))] if _is_array(choices) else choices
    if not len(options):
        raise ShapeError("choose needs at least one array to choose from")
    common = result_dtype(*options)
    values, index = [as_value(option, common) for option in options], integers(a)
    target = broadcast_shapes(index.type.shape, *[value.type.shape for value in values])
    stacked = stack_values([broadcast_value(value, target) for value in values], len(target))
    moved = broadcast_value(wrapped(index, len(values), mode), target)
    return wrap(
        indexing.gather(
            stacked,
            moved,
            axes=(len(target),),
            batch_dims=len(target),
            mode="raise" if mode == "raise" else "clip",
        )
    )


def along(value: Value, axis: int | None) -> tuple[Value, int]:
    """The value and the axis to work along; without an axis, the flat value."""
    if axis is not None and value.type.rank:
        return value, normalize_axis(axis, value.type.rank)
    # NumPy takes an array of rank 0 for one of rank 1 here.
    return flat(value), normalize_axis(axis or 0, 1)


def _aligned(arr: ArrayLike, indices: ArrayLike, axis: int | None) -> tuple[Value, Value, int]:
    """The array and indices of one rank, and the axis that the indices are along."""
    value, index = as_value(arr), as_value(indices)
    if not index.type.dtype.is_integer:
        raise DTypeError(f"indices must be integers, got {index.type}")
    if axis is None:
        value = flat(value)
    if value.type.rank != index.type.rank:
        raise ShapeError(
            f"indices of shape {format_shape(index.type.shape)} and the array of shape "
            f"{format_shape(value.type.shape)} must have the same rank"
        )
    return value, index, normalize_axis(0 if axis is None else axis, value.type.rank)


def _axis_last(rank: int, axis: int) -> list[int]:
    return [*[a for a in range(rank) if a != axis], axis]


def integers(indices: ArrayLike) -> Value:
    """Indices as integers; bools count as 0 and 1, and no indices at all may be of any dtype."""
    value = as_value(indices)
    if value.type.dtype.is_integer:
        return value
    if value.type.dtype.is_bool or (isinstance(indices, list | tuple) and value.type.size == 0):
        return cast(value, dtypes.i64)
    raise DTypeError(f"indices must be integers, got {value.type}")


def _is_array(choices: Any) -> bool:
    return isinstance(choices, Tracer | np.ndarray)


def wrapped(index: Value, size: Size, mode: str) -> Value:
    """The indices moved inside the axis as `mode` says; the gather looks after "raise"."""
    _require_mode(mode)
    if mode == "raise":
        return index
    wide = cast(index, dtypes.i64)
    if mode == "wrap":
        return remainder(wide, size_value(size, dtypes.i64))
    return clamp(constant(0, dtypes.i64), wide, size_value(size - 1, dtypes.i64))


def _inside(index: np.ndarray[Any, Any], size: int, mode: str) -> np.ndarray[Any, Any]:
    """As `wrapped`, for indices that are known; those outside are refused at once."""
    _require_mode(mode)
    position: np.ndarray[Any, Any] = index.astype(np.int64)
    if mode == "raise":
        outside = (position < -size) | (position >= size)
        if outside.any():
            culprit = position[outside][0]
            raise BoundsError(f"index {culprit} is out of bounds for an axis of size {size}")
        position += size * (position < 0)
    elif mode == "wrap":
        position %= max(size, 1)
    else:
        position = position.clip(0, max(size - 1, 0))
    return position


def _require_mode(mode: str) -> None:
    if mode not in ("raise", "wrap", "clip"):
        raise BoundsError(f'mode is "raise", "wrap" or "clip", got {mode!r}')


def _take_known(value: Value, index: np.ndarray[Any, Any], axis: int) -> Value:
    if not index.ndim:
        return without_axis(slice_axis(value, axis, int(index), int(index) + 1), axis)
    if index.ndim == 1:
        return pick(value, index, axis)
    return gather_axis(value, Constant(index), axis)


# --- flat indices ---------------------------------------------------------------------------------


def unravel_index(indices: ArrayLike, shape: Any, order: str = "C") -> tuple[Tracer, ...]:
    """As `numpy.unravel_index`; a traced index outside of the shape is an error when it runs."""
    sizes, value = as_shape(shape), integers(indices)
    if isinstance(value, Constant) and value.array.size:
        least, most, count = value.array.min(), value.array.max(), product(sizes)
        if least < 0 or (isinstance(count, int) and most >= count):
            raise BoundsError(
                f"index {least if least < 0 else most} is out of bounds for an array of shape "
                f"{format_shape(sizes)}"
            )
    is_known = isinstance(value, Constant)
    position = cast(value, dtypes.i64) if is_known else checked(value, product(sizes))
    if _require_order(order) == "F":
        return tuple([wrap(index) for index in unravel(position, sizes[::-1])[::-1]])
    return tuple([wrap(index) for index in unravel(position, sizes)])


def ravel_multi_index(
    multi_index: Any, dims: Any, mode: str | Sequence[str] = "raise", order: str = "C"
) -> Tracer:
    """As `numpy.ravel_multi_index`; a traced index out of range is an error when it runs."""
    sizes = as_shape(dims)
    given = unstack_value(lift(multi_index)) if _is_array(multi_index) else multi_index
    parts = [integers(wrap(p) if isinstance(p, Value) else p) for p in given]
    if len(parts) != len(sizes):
        raise ShapeError(f"there are {len(parts)} index arrays for the {len(sizes)} sizes of dims")
    modes = [mode] * len(sizes) if isinstance(mode, str) else list(mode)
    moved = [_in_range(*part) for part in zip(parts, sizes, modes, strict=True)]
    values = core.broadcast_together([cast(part, dtypes.i64) for part in moved])
    if _require_order(order) == "F":
        values, sizes = values[::-1], sizes[::-1]
    result = values[0]
    for value, size in zip(values[1:], sizes[1:], strict=True):
        result = add(mul(result, size_value(size, dtypes.i64)), value)
    return wrap(result)


def _in_range(index: Value, size: Size, mode: str) -> Value:
    """An index array moved inside as `mode` says; in "raise", known ones outside are refused."""
    known = static_array(wrap(index))
    if known is not None and mode == "raise" and isinstance(size, int):
        if ((known < 0) | (known >= size)).any():
            raise BoundsError(f"ravel_multi_index: an index is out of bounds for size {size}")
    is_checked = known is None and mode == "raise"
    return checked(index, size) if is_checked else wrapped(index, size, mode)


def unravel(position: Value, sizes: Shape) -> list[Value]:
    """The index along each axis of a flat position."""
    indices: list[Value] = []
    for size in sizes[:0:-1]:
        divisor = size_value(size, dtypes.i64)
        indices.append(remainder(position, divisor))
        position = floor_divide(position, divisor)
    return [position, *indices[::-1]] if sizes else []


def _require_order(order: str) -> str:
    if order not in ("C", "F"):
        raise trace_error(f'order is "C" or "F", got {order!r}')
    return order
