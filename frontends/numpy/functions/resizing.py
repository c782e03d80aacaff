"""Functions that give an array more elements or fewer: repeating, inserting, deleting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.compiler.ir import dims
from weft.compiler.ir.dims import Size
from weft.compiler.ir.errors import BoundsError, ShapeError
from weft.compiler.ir.graph import Value
from weft.compiler.ir.types import Shape, format_shape
from weft.compiler.ops import shape as shape_ops
from weft.frontends.numpy.functions.axis_ops import (
    Positions,
    as_value,
    flat,
    join,
    pick,
    slice_axis,
    static_array,
    with_axis,
)
from weft.frontends.numpy.functions.joining import concatenate
from weft.frontends.numpy.functions.manipulation import moveaxis, stretch
from weft.frontends.tracing import core
from weft.frontends.tracing.core import (
    as_shape,
    as_size,
    normalize_axis,
    product,
    trace_error,
    wrap,
)
from weft.frontends.tracing.trace import ArrayLike, Tracer

__all__ = ["append", "delete", "insert", "repeat", "resize", "tile"]


# --- repeating ------------------------------------------------------------------------------------


def tile(A: ArrayLike, reps: Any) -> Tracer:
    """As `numpy.tile`; repetitions may be symbolic."""
    value, times = as_value(A), as_shape(reps)
    rank = max(value.type.rank, len(times))
    sizes = (*((1,) * (rank - value.type.rank)), *value.type.shape)
    return wrap(_tile(value, sizes, (*((1,) * (rank - len(times))), *times)))


def repeat(a: ArrayLike, repeats: Any, axis: int | None = None) -> Tracer:
    """As `numpy.repeat`; the repetitions must be known, as the result's size depends on them."""
    value = as_value(a)
    # An array of rank 0 is taken for one of rank 1.
    place = 0 if axis is None else normalize_axis(axis, max(value.type.rank, 1))
    value = flat(value) if axis is None or not value.type.rank else value
    counts = _counts(repeats)
    if not isinstance(counts, np.ndarray):
        return wrap(_repeat_evenly(value, counts, place))
    size = value.type.shape[place]
    if size != len(counts):
        raise ShapeError(
            f"repeats has {len(counts)} elements for axis {place} of size {size} of {value.type}; "
            "give one for each element, or one for all"
        )
    return wrap(pick(value, np.repeat(np.arange(len(counts)), counts), place))


def resize(a: ArrayLike, new_shape: Any) -> Tracer:
    """As `numpy.resize`: the elements of the flat array over and over."""
    value, target = as_value(a), as_shape(new_shape)
    wanted, available = product(target), value.type.size
    if available == 0:
        return wrap(core.full(target, 0, value.type.dtype))
    copies = -dims.floor_divide(-wanted, available)
    repeated = _tile(flat(value), (available,), (copies,))
    return wrap(core.reshape(slice_axis(repeated, 0, 0, wanted), target))


def _tile(value: Value, sizes: Shape, times: Shape) -> Value:
    """The value, taken in the shape `sizes`, repeated along each axis by one broadcast."""
    target: list[Size] = []
    kept: list[int] = []
    for size, count in zip(sizes, times, strict=True):
        if count != 1 and size != 1:
            target.append(count)
        kept.append(len(target))
        target.append(count if size == 1 else size)
    result = tuple([size * count for size, count in zip(sizes, times, strict=True)])
    if result == sizes:
        return core.reshape(value, sizes)
    dims_of_value = kept[len(sizes) - value.type.rank :]
    return core.reshape(shape_ops.broadcast(value, shape=target, dims=dims_of_value), result)


def _counts(repeats: Any) -> Size | np.ndarray[Any, Any]:
    """The repetitions: one number for all elements, or an array with one for each."""
    if not isinstance(repeats, Sequence | np.ndarray | Tracer):
        return as_size(repeats)
    known = static_array(repeats)
    if known is None:
        assert isinstance(repeats, Tracer)
        return as_size(repeats)
    if known.size == 1:
        return int(known.item())
    return known if known.size else known.astype(np.int64)


def _repeat_evenly(value: Value, count: Size, axis: int) -> Value:
    if count == 1:
        return value
    sizes = value.type.shape
    target = (*sizes[:axis], sizes[axis] * count, *sizes[axis + 1 :])
    return core.reshape(with_axis(value, axis + 1, count), target)


# --- inserting and deleting -----------------------------------------------------------------------


def append(arr: ArrayLike, values: ArrayLike, axis: int | None = None) -> Tracer:
    """As `numpy.append`."""
    return concatenate([arr, values], axis)


def insert(arr: ArrayLike, obj: Any, values: ArrayLike, axis: int | None = None) -> Tracer:
    """As `numpy.insert`; the places must be known."""
    value, place = _along("insert", arr, axis)
    where = _places("insert", obj, value.type.shape[place])
    new = as_value(values, value.type.dtype)
    new = core.reshape(new, (*((1,) * (value.type.rank - new.type.rank)), *new.type.shape))
    if where.size == 1:
        if not where.ndim:
            new = moveaxis(wrap(new), 0, place).value
        return wrap(_insert_block(value, int(where.item()), new, place))
    size = _known_size("insert", value.type.shape[place])
    order = _checked(np.insert, np.arange(size), where, -1)
    count = len(order) - size
    block = stretch(new, (*value.type.shape[:place], count, *value.type.shape[place + 1 :]))
    # NumPy gives the new elements in the order of `obj`, not of their places.
    order = _checked(np.insert, np.arange(size), where, np.arange(size, size + count))
    return wrap(pick(join([value, block], place), order, place))


def delete(arr: ArrayLike, obj: Any, axis: int | None = None) -> Tracer:
    """As `numpy.delete`; the places must be known."""
    value, place = _along("delete", arr, axis)
    where = _places("delete", obj, value.type.shape[place])
    if not where.ndim:
        size = value.type.shape[place]
        start = _from_start(int(where.item()), size, place, size)
        before, after = (0, start), (start + 1, size)
        kept = [slice_axis(value, place, *part) for part in (before, after) if part[0] != part[1]]
        return wrap(join(kept or [slice_axis(value, place, 0, 0)], place))
    size = _known_size("delete", value.type.shape[place])
    return wrap(pick(value, _checked(np.delete, np.arange(size), where), place))


def _insert_block(value: Value, index: int, new: Value, axis: int) -> Value:
    """The value cut in two with new elements between."""
    size = value.type.shape[axis]
    start = _from_start(index, size, axis, size + 1)
    block_shape = (*value.type.shape[:axis], new.type.shape[axis], *value.type.shape[axis + 1 :])
    block = stretch(new, block_shape)
    parts = [slice_axis(value, axis, 0, start), block, slice_axis(value, axis, start, size)]
    return join([part for part in parts if part.type.shape[axis] != 0] or parts[:1], axis)


def _from_start(index: int, size: Size, axis: int, end: Size) -> Size:
    """An index counted from the start; places below `end` are allowed."""
    if isinstance(size, int) and isinstance(end, int) and not -size <= index < end:
        raise BoundsError(f"index {index} is out of bounds for axis {axis} of size {size}")
    return index + size if index < 0 else index


def _along(function: str, array: ArrayLike, axis: int | None) -> tuple[Value, int]:
    """The value and the axis to work along; without an axis, the flat value."""
    value = as_value(array)
    if axis is None:
        return flat(value), 0
    if not value.type.rank:
        raise ShapeError(f"{function}: an array of rank 0 has no axis {axis}")
    return value, normalize_axis(axis, value.type.rank)


def _places(function: str, obj: Any, size: Size) -> np.ndarray[Any, Any]:
    """The integer indices at which to insert or delete; they must be known."""
    if isinstance(obj, slice):
        return np.arange(_known_size(function, size))[obj]
    known = static_array(obj)
    if known is None:
        raise trace_error(
            f"{function}: the places are traced, so the result cannot be laid out now; give them "
            "as Python ints or NumPy arrays, or choose elements with np.where"
        )
    if known.dtype != np.bool_:
        return known if known.size else known.astype(np.int64)
    if known.shape != (size,):
        raise ShapeError(
            f"{function}: the mask has shape {format_shape(known.shape)}, expected "
            f"{format_shape((size,))}: one bool for each element of the axis"
        )
    return np.flatnonzero(known)


def _known_size(function: str, size: Size) -> int:
    if not isinstance(size, int):
        raise trace_error(
            f"{function}: several places along an axis of size {size} need a size that is known; "
            "give a single place, or call with a fixed size"
        )
    return size


def _checked(function: Any, *arguments: Any) -> Positions:
    """What NumPy's own insert or delete does to positions, its errors as ours."""
    try:
        positions: Positions = function(*arguments)
    except (IndexError, ValueError) as error:
        raise BoundsError(f"{function.__name__}: {error}") from None
    return positions
