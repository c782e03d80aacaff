"""NumPy's basic and advanced indexing, reading and writing, in terms of slice, gather and scatter.

A key is first brought to one entry per axis (`Key`); ints, slices and new axes are then a slice and
a reshape, and index arrays are one gather over their axes. Writing is the reverse of the same
steps.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from weft.compiler.ir import dims, dtypes
from weft.compiler.ir.build import constant
from weft.compiler.ir.dims import Dim, Size
from weft.compiler.ir.errors import BoundsError, ShapeError
from weft.compiler.ir.graph import Constant, Value
from weft.compiler.ir.types import Shape, format_shape
from weft.compiler.ops import indexing, shape
from weft.compiler.ops.arithmetic import add, maximum, minimum, mul
from weft.compiler.ops.logic import select
from weft.frontends.numpy.functions import windows
from weft.frontends.numpy.functions.axis_ops import as_value
from weft.frontends.tracing.core import (
    broadcast_shapes,
    broadcast_value,
    cast,
    lift,
    reshape,
    trace_error,
    transpose,
)
from weft.frontends.tracing.trace import ArrayLike, Tracer, current_trace

COMBINE = {"add": add, "mul": mul, "min": minimum, "max": maximum}


@dataclass
class Key:
    """A key with one entry per axis of the array it indexes, new axes included.

    `expanded` is the array's shape with a 1 for each new axis. `slices` and `advanced` together
    hold every axis once; an axis in `dropped` is of size 1 after slicing and vanishes from the
    result. `split` says that an ellipsis stands between index arrays, if only for no axes.
    """

    expanded: list[Size] = field(default_factory=list)
    slices: dict[int, slice] = field(default_factory=dict)
    advanced: dict[int, Value] = field(default_factory=dict)
    dropped: set[int] = field(default_factory=set)
    mask: Value | None = None
    split: bool = False

    @property
    def is_basic(self) -> bool:
        return not self.advanced


def getitem(array: ArrayLike, key: Any) -> Value:
    """The value of `array[key]`."""
    value = lift(array)
    found, key = _without_windows(value.type.shape, key)
    for window in found:
        value = windows.take(value, window)
    parsed = parse_key(value.type.shape, key)
    if parsed.mask is not None:
        raise _mask_error(parsed.mask)
    return _read(value, parsed)


def update(
    array: ArrayLike, key: Any, new: ArrayLike, kind: str = "set", mode: str = "raise"
) -> Value:
    """The array with `array[key]` set to, or combined with, new values; duplicates accumulate."""
    value = lift(array)
    updates = lift(new, value.type.dtype)
    found, key = _without_windows(value.type.shape, key)
    if found:
        return _write_windows(value, found, key, updates, kind, mode)
    parsed = parse_key(value.type.shape, key)
    if parsed.mask is not None:
        return _write_mask(value, parsed.mask, updates, kind)
    return _write(value, parsed, updates, kind, mode)


def _without_windows(array_shape: Shape, key: Any) -> tuple[list[windows.Window], Any]:
    """The slices of a key whose place is traced but not their width, and the key of what they
    leave.
    """
    items = list(key) if isinstance(key, tuple) else [key]
    if not any(isinstance(i, slice) and isinstance(i.start, Tracer) for i in items):
        return [], key
    if any(_is_index_array(item) for item in items):
        return [], key
    found, rest = windows.windows(with_all_axes(items, array_shape))
    return found, tuple(rest)


def _write_windows(
    value: Value, found: list[windows.Window], key: Any, updates: Value, kind: str, mode: str
) -> Value:
    """Write to a part of windows in windows, and put each back where it was."""
    parts = [value]
    for window in found:
        parts.append(windows.take(parts[-1], window))
    written = _write(parts[-1], parse_key(parts[-1].type.shape, key), updates, kind, mode)
    for part, window in zip(reversed(parts[:-1]), reversed(found), strict=True):
        written = windows.put(part, written, window)
    return written


# --- parsing --------------------------------------------------------------------------------------


def parse_key(array_shape: Shape, key: Any) -> Key:
    """Bring a key to one entry per axis."""
    items = list(key) if isinstance(key, tuple) else [key]
    items = [_stacked(i) if isinstance(i, list | tuple | range) else i for i in items]
    mask = _traced_mask(items, array_shape)
    if mask is not None:
        return Key(mask=mask)
    items = [part for item in items for part in _expand_mask(item)]
    split = _ellipsis_splits(items)
    items = with_all_axes(items, array_shape)
    parsed, axis = Key(split=split), 0
    has_arrays = any(_is_index_array(item) or isinstance(item, Tracer) for item in items)
    for item in items:
        position = len(parsed.expanded)
        if item is None:
            parsed.expanded.append(1)
            parsed.slices[position] = slice(None)
            continue
        size = array_shape[axis]
        axis += 1
        parsed.expanded.append(size)
        _add_entry(parsed, position, item, size, has_arrays)
    return parsed


def _stacked(item: Sequence[Any]) -> Any:
    """A list, tuple or range as an index; traced numbers and symbolic sizes in it are joined."""
    if not any(isinstance(part, Tracer | Dim) for part in item):
        return list(item)
    return current_trace().wrap(as_value(item, None))


@dataclass(frozen=True)
class _MaskAxis:
    """The positions along one axis of a mask's true elements, and the mask's size there."""

    positions: np.ndarray[Any, Any]
    size: int


def _add_entry(parsed: Key, position: int, item: Any, size: Size, has_arrays: bool) -> None:
    if isinstance(item, _MaskAxis):
        if item.size != size:
            raise BoundsError(
                f"a mask has size {item.size} along an axis of size {size}",
                location=trace_error("").location,
            )
        item = item.positions
    if isinstance(item, slice):
        parsed.slices[position] = item
    elif _is_index_array(item) or isinstance(item, Tracer):
        parsed.advanced[position] = _index_value(item)
    elif has_arrays:
        parsed.advanced[position] = _start(_static_index(item, size))
    else:
        start = _static_index(item, size)
        parsed.slices[position] = slice(start, start + 1)
        parsed.dropped.add(position)


def _is_index_array(item: Any) -> bool:
    """Whether an item makes the key an advanced one: an array or list of rank 1 or more."""
    if isinstance(item, Tracer):
        return item.type.rank > 0
    return isinstance(item, list | _MaskAxis) or (isinstance(item, np.ndarray) and item.ndim > 0)


def _index_value(item: Any) -> Value:
    value = lift(np.asarray(item, np.int64) if isinstance(item, list) and not item else item)
    if not value.type.dtype.is_integer:
        raise trace_error(
            f"arrays used as indices must be of integer or bool dtype, got {value.type}"
        )
    if isinstance(value, Constant) and value.array.dtype != np.int64:
        return cast(value, dtypes.i64)
    return value


def _static_index(item: Any, size: Size) -> Size:
    if isinstance(item, Dim):
        return item
    try:
        index = operator.index(item)
    except TypeError:
        raise trace_error(
            "an index must be an integer, a slice, None, ..., or an integer or bool array, not "
            f"{item!r}"
        ) from None
    if isinstance(size, int) and not -size <= index < size:
        raise BoundsError(
            f"index {index} is out of bounds for an axis of size {size}",
            location=trace_error("").location,
        )
    return index + size if index < 0 else index


def _expand_mask(item: Any) -> list[Any]:
    """A bool array that is known now as the index arrays of its true elements."""
    if isinstance(item, np.ndarray) and item.ndim == 0:
        item = item[()]
    if isinstance(item, bool | np.bool_):
        raise trace_error("indexing with a single bool is not supported; use a slice or None")
    if isinstance(item, list):
        item = np.asarray(item) if item else np.asarray(item, np.int64)
    if isinstance(item, np.ndarray) and item.dtype == np.bool_:
        return [_MaskAxis(*pair) for pair in zip(np.nonzero(item), item.shape, strict=True)]
    return [item]


def _traced_mask(items: list[Any], array_shape: Shape) -> Value | None:
    """The mask if the key is one traced bool array over the leading axes, else None."""
    masks = [i for i in items if isinstance(i, Tracer) and i.type.dtype.is_bool]
    if not masks:
        return None
    rest = [i for i in items if i is not masks[0] and i is not Ellipsis and i != slice(None)]
    if rest or items[0] is not masks[0]:
        raise _mask_error(masks[0].value)
    mask = lift(masks[0])
    if mask.type.shape != array_shape[: mask.type.rank]:
        raise ShapeError(
            f"the mask has shape {format_shape(mask.type.shape)}, the array "
            f"{format_shape(array_shape)}",
            location=trace_error("").location,
        )
    return mask


def _mask_error(mask: Value) -> Exception:
    return trace_error(
        f"indexing with the traced bool array {mask.type} gives a shape that depends on its "
        "values; keep the shape "
        "with np.where(mask, x, other), write with x.at[mask].set(v), or give the number of "
        "results with "
        "weft.numpy.nonzero(mask, size=...) and index with those"
    )


def _ellipsis_splits(items: list[Any]) -> bool:
    """Whether an ellipsis is between indices: in NumPy it parts them even if it fills nothing."""
    indices = [not (i is None or i is Ellipsis or isinstance(i, slice)) for i in items]
    places = [i for i, item in enumerate(items) if item is Ellipsis]
    return any(any(indices[:place]) and any(indices[place:]) for place in places)


def with_all_axes(items: list[Any], array_shape: Shape) -> list[Any]:
    """A key with an item for each axis."""
    consumed = sum(1 for item in items if item is not None and item is not Ellipsis)
    places = [i for i, item in enumerate(items) if item is Ellipsis]
    if len(places) > 1:
        raise trace_error("an index can only have a single ellipsis (...)")
    if consumed > len(array_shape):
        raise BoundsError(
            f"too many indices: the array has rank {len(array_shape)}, but {consumed} axes were "
            "indexed",
            location=trace_error("").location,
        )
    missing = [slice(None)] * (len(array_shape) - consumed)
    place = places[0] if places else len(items)
    return [*items[:place], *missing, *items[place + len(places) :]]


# --- slices ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Range:
    """The elements of one axis that a slice takes, lowest first, and whether they are taken
    backwards.
    """

    start: Size
    limit: Size
    stride: int
    backwards: bool

    @property
    def size(self) -> Size:
        return dims.floor_divide(self.limit - self.start + self.stride - 1, self.stride)


def _resolve_slice(item: slice, size: Size) -> _Range:
    step = 1 if item.step is None else _bound(item.step, "step")
    if not isinstance(step, int) or step == 0:
        raise trace_error("a slice step must be a non-zero Python int")
    if step > 0:
        start = _clip(item.start, 0, 0, size)
        stop = _clip(item.stop, size, 0, size)
        return _Range(start, dims.maximum(start, stop), step, False)
    last = _clip(item.start, size - 1, -1, size - 1, size)
    stop = _clip(item.stop, -1, -1, size - 1, size)
    count = dims.maximum(dims.floor_divide(last - stop - step - 1, -step), 0)
    if isinstance(count, int) and count == 0:
        return _Range(0, 0, -step, True)
    return _Range(last + (count - 1) * step, last + 1, -step, True)


def _clip(bound: Any, default: Size, low: Size, high: Size, size: Size | None = None) -> Size:
    """A slice bound as Python reads it: negative from the end, then clipped."""
    if bound is None:
        return default
    number = _bound(bound, "bound")
    length = high if size is None else size
    if isinstance(number, int) and number < 0:
        number = number + length
    return dims.minimum(dims.maximum(number, low), high)


def _bound(bound: Any, what: str) -> Size:
    if isinstance(bound, Dim):
        return bound
    if isinstance(bound, Tracer):
        raise trace_error(
            f"a slice {what} is the traced value {bound.type}, so the shape would depend on it; "
            "use x[i : i + 3] or wf.dynamic_slice(x, starts, sizes), which have a fixed size"
        )
    return operator.index(bound)


# --- reading --------------------------------------------------------------------------------------


def _read(value: Value, key: Key) -> Value:
    sliced = _slice(reshape(value, tuple(key.expanded)), key)
    if key.is_basic:
        kept = [size for axis, size in enumerate(sliced.type.shape) if axis not in key.dropped]
        return reshape(sliced, tuple(kept))
    axes, indices = _index_arrays(key)
    gathered = indexing.gather(sliced, *indices, axes=axes)
    return _from_gather_order(gathered, key, indices[0].type.rank)


def _slice(value: Value, key: Key) -> Value:
    """The slices of a key applied; axes with index arrays are kept whole."""
    full = value.type.shape
    ranges = {axis: _resolve_slice(item, full[axis]) for axis, item in key.slices.items()}
    whole = {axis: _Range(0, size, 1, False) for axis, size in enumerate(full)}
    chosen = [ranges.get(axis, whole[axis]) for axis in range(len(full))]
    if any((r.start, r.limit, r.stride) != (0, full[a], 1) for a, r in enumerate(chosen)):
        value = shape.slice_(
            value,
            starts=[r.start for r in chosen],
            limits=[r.limit for r in chosen],
            strides=[r.stride for r in chosen],
        )
    backwards = tuple(axis for axis, r in enumerate(chosen) if r.backwards)
    return shape.reverse(value, axes=backwards) if backwards else value


def _index_arrays(key: Key) -> tuple[tuple[int, ...], list[Value]]:
    """The axes with index arrays, and the arrays broadcast together."""
    axes = tuple(sorted(key.advanced))
    values = [key.advanced[axis] for axis in axes]
    if len({v.type.dtype for v in values}) > 1:
        values = [cast(v, dtypes.i64) for v in values]
    try:
        common = broadcast_shapes(*(v.type.shape for v in values))
    except ShapeError as error:
        raise error.at(trace_error("").location, "index arrays") from None
    return axes, [broadcast_value(v, common) for v in values]


def _place(key: Key) -> int:
    """Where the index arrays' axes stand in the result: in place if adjacent, else in front."""
    axes = sorted(key.advanced)
    adjacent = axes == list(range(axes[0], axes[-1] + 1))
    return axes[0] if adjacent and not key.split else 0


def _gather_order(key: Key, index_rank: int) -> list[int]:
    """The permutation from gather's order (index axes first) to NumPy's."""
    rest = len(key.expanded) - len(key.advanced)
    place = _place(key)
    tail = list(range(index_rank, index_rank + rest))
    return [*tail[:place], *range(index_rank), *tail[place:]]


def _from_gather_order(value: Value, key: Key, index_rank: int) -> Value:
    return transpose(value, _gather_order(key, index_rank))


def _to_gather_order(value: Value, key: Key, index_rank: int) -> Value:
    return transpose(value, np.argsort(_gather_order(key, index_rank)).tolist())


# --- writing --------------------------------------------------------------------------------------


def _write(value: Value, key: Key, updates: Value, kind: str, mode: str) -> Value:
    original = value.type.shape
    expanded = reshape(value, tuple(key.expanded))
    if key.is_basic:
        written = _write_slices(expanded, key, updates, kind)
    else:
        part = _slice(expanded, key)
        axes, indices = _index_arrays(key)
        rank = indices[0].type.rank
        rest = [size for axis, size in enumerate(part.type.shape) if axis not in axes]
        order = _gather_order(key, rank)
        gathered_shape = (*indices[0].type.shape, *rest)
        target = tuple([gathered_shape[i] for i in order])
        placed = _to_gather_order(fit(updates, target), key, rank)
        scattered = indexing.scatter(part, placed, *indices, axes=axes, kind=kind, mode=mode)
        is_whole = part.type.shape == expanded.type.shape and part is expanded
        written = scattered if is_whole else _write_slices(expanded, key, scattered, "set")
    return reshape(written, original)


def _write_slices(value: Value, key: Key, updates: Value, kind: str) -> Value:
    """Set or combine the block that the slices of a key name."""
    full = value.type.shape
    ranges = [
        _resolve_slice(key.slices[a], size) if a in key.slices else _Range(0, size, 1, False)
        for a, size in enumerate(full)
    ]
    block = tuple([r.size for r in ranges])
    kept = tuple([size for axis, size in enumerate(block) if axis not in key.dropped])
    placed = reshape(fit(updates, kept), block)
    backwards = tuple(axis for axis, r in enumerate(ranges) if r.backwards)
    if backwards:
        placed = shape.reverse(placed, axes=backwards)
    if kind != "set":
        current = _slice(
            value, Key(slices={a: slice(r.start, r.limit, r.stride) for a, r in enumerate(ranges)})
        )
        placed = COMBINE[kind](current, placed)
    if block == full:
        return placed
    if all(r.stride == 1 for r in ranges):
        starts = [_start(r.start) for r in ranges]
        return shape.dynamic_update_slice(value, placed, *starts)
    return _write_strided(value, placed, ranges)


def _start(start: Size) -> Value:
    return constant(start, dtypes.i64) if isinstance(start, int) else shape.dim_value(dim=start)


def _write_strided(value: Value, block: Value, ranges: list[_Range]) -> Value:
    """Spread the block over its strides with padding, and choose by a mask spread the same way."""
    low = [r.start for r in ranges]
    high = [
        size - r.start - ((r.size - 1) * r.stride + 1)
        for r, size in zip(ranges, value.type.shape, strict=True)
    ]
    interior = [r.stride - 1 for r in ranges]
    if any(r.size == 0 for r in ranges):
        return value
    spread = shape.pad(block, constant(0, block.type.dtype), low=low, high=high, interior=interior)
    ones = broadcast_value(constant(True, dtypes.bool_), block.type.shape)
    chosen = shape.pad(ones, constant(False, dtypes.bool_), low=low, high=high, interior=interior)
    return select(chosen, spread, value)


def _write_mask(value: Value, mask: Value, updates: Value, kind: str) -> Value:
    full = value.type.shape
    trailing = full[mask.type.rank :]
    if updates.type.rank > len(trailing):
        raise trace_error(
            "x[mask] = v with a traced mask needs a v that broadcasts to each selected element "
            "(shape "
            f"{format_shape(trailing)}), got {updates.type}; use np.where(mask, v, x) with a v of "
            "x's shape"
        )
    stretched = broadcast_value(updates, full)
    wide = reshape(mask, (*mask.type.shape, *[1] * len(trailing)))
    chosen = broadcast_value(wide, full)
    return select(chosen, stretched if kind == "set" else COMBINE[kind](value, stretched), value)


def fit(updates: Value, target: Shape) -> Value:
    """Updates broadcast to the shape of what they replace; leading size-1 axes may be dropped, as
    NumPy does.
    """
    extra = updates.type.rank - len(target)
    if extra > 0 and all(size == 1 for size in updates.type.shape[:extra]):
        updates = reshape(updates, updates.type.shape[extra:])
    try:
        return broadcast_value(updates, target)
    except ShapeError:
        raise ShapeError(
            f"could not broadcast {format_shape(updates.type.shape)} into the shape "
            f"{format_shape(target)}",
            location=current_trace().error("").location,
        ) from None
