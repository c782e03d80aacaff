"""Keys by which the number of elements is only known when the program runs: traced masks, the
places where one is true, and slices with traced bounds. Reading gives `Selected`, writing goes to
its elements.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.compiler.ir.errors import ShapeError
from weft.compiler.ir.graph import Value
from weft.compiler.ir.types import format_shape
from weft.frontends.numpy.functions import indexing, windows
from weft.frontends.numpy.masked import slices
from weft.frontends.numpy.masked.array import Selected, refuse
from weft.frontends.numpy.masked.choice import Choice, Mask, is_same_choice
from weft.frontends.numpy.masked.writing import written_over
from weft.frontends.tracing import core
from weft.frontends.tracing.trace import Tracer

Items = list[Any]


def is_sized_key(key: Any) -> bool:
    """Whether the number of elements that a key takes is not known."""
    items = key if isinstance(key, tuple) else (key,)
    return any(isinstance(item, Selected) or _is_mask(item) or _is_cut(item) for item in items)


def _is_mask(item: Any) -> bool:
    return isinstance(item, Tracer) and item.type.dtype.is_bool and item.type.rank > 0


def _is_cut(item: Any) -> bool:
    return slices.has_traced_bounds(item) and windows.width(item) is None


def select(array: Any, key: Any) -> Any:
    """What `array[key]` is."""
    items = list(key) if isinstance(key, tuple) else [key]
    if any(isinstance(item, Selected) for item in items):
        return _at_places(array, items)
    if not any(map(_is_mask, items)):
        part = _sliced(array, items)
        if isinstance(part, Selected):
            part.note_origin(array, key)
        return part
    place, basic = _basic(array, items)
    part, chosen = _cut(array, basic) if len(items) > 1 else (array, (None,) * array.ndim)
    return _by_mask(part, chosen, items[place], _axis(items, place))


def written(array: Any, key: Any, new: Any) -> Value:
    """The value of the array after `array[key] = new`."""
    items = list(key) if isinstance(key, tuple) else [key]
    if isinstance(new, Selected) and new.is_from(array, key):
        return core.lift(array)  # `x[i:] += v` has written to x already
    if any(isinstance(item, Selected) for item in items):
        return _written_at_places(array, items, new)
    if any(map(_is_mask, items)):
        return _written_by_mask(array, items, new)
    target = _sliced(array, items)
    if not isinstance(target, Selected):
        return indexing.update(array, _known(items), new)
    made = written_over(target, new)
    return indexing.update(array, tuple(_wholes(array, items)[0]), made)


# --- slices ---------------------------------------------------------------------------------------


def _sliced(array: Any, items: Items) -> Any:
    part, chosen = _cut(array, items)
    return Selected(part, chosen) if any(chosen) else part


def _cut(array: Any, items: Items) -> tuple[Any, tuple[Choice | None, ...]]:
    """The array of a key without its traced slices, and what these choose of it."""
    wholes, chosen = _wholes(array, items)
    return array[tuple(wholes)], chosen


def _wholes(array: Any, items: Items) -> tuple[Items, tuple[Choice | None, ...]]:
    """A key without its traced slices, and what these choose of what it gives."""
    items = indexing.with_all_axes(items, array.shape)
    wholes: Items = []
    chosen: list[Choice | None] = []
    axis = 0
    arrays = [i for i, item in enumerate(items) if np.ndim(item) and not _is_bool_array(item)]
    if len(arrays) > 1 or any(map(_is_bool_array, items)):
        refuse("a slice with traced bounds beside several index arrays, or a mask that is known")
    for place, item in enumerate(items):
        if item is None:
            wholes.append(None)
            chosen.append(None)
            continue
        size = array.shape[axis]
        axis += 1
        if _is_cut(item):
            is_backwards, span = slices.resolve(item, size)
            item = slice(None, None, -1) if is_backwards else slice(None)
            if not slices.is_whole(span, size):
                wholes.append(item)
                chosen.append(span)
                continue
        wholes.append(item)
        if isinstance(item, slice):
            chosen.append(None)
        elif np.ndim(item):
            if any(_is_number(other) for other in items):
                refuse("a slice with traced bounds beside a number and an index array")
            chosen += [None] * np.ndim(item)
        assert place >= 0
    return wholes, tuple(chosen)


def _is_bool_array(item: Any) -> bool:
    return isinstance(item, np.ndarray | list) and np.asarray(item).dtype == np.bool_


def _is_number(item: Any) -> bool:
    return not isinstance(item, slice | type(None)) and np.ndim(item) == 0


def _known(items: Items) -> Any:
    return tuple(items)


# --- masks ----------------------------------------------------------------------------------------


def _by_mask(part: Any, chosen: tuple[Choice | None, ...], mask: Any, axis: int) -> Selected:
    rank = mask.type.rank
    if any(chosen[axis : axis + rank]):
        refuse("a mask over a slice with traced bounds")
    whole, flags = _flattened(part, mask, axis)
    return Selected(whole, (*chosen[:axis], Mask(flags), *chosen[axis + rank :]))


def _written_by_mask(array: Any, items: Items, new: Any) -> Value:
    place, basic = _basic(array, items)
    axis = _axis(items, place)
    wholes, chosen = _wholes(array, basic)
    part = array[tuple(wholes)] if len(items) > 1 else array
    target = _by_mask(part, chosen, items[place], axis)
    made = written_over(target, new).reshape(part.shape)
    return indexing.update(array, tuple(wholes) if len(items) > 1 else ..., made)


def _basic(array: Any, items: Items) -> tuple[int, Items]:
    """Where the mask stands in a key, and the key with slices in its place."""
    masks = [index for index, item in enumerate(items) if _is_mask(item)]
    index = masks[0]
    plain = slice | int | np.integer | type(None) | type(Ellipsis)
    others = [item for i, item in enumerate(items) if i != index]
    if len(masks) > 1 or not all(isinstance(item, plain) for item in others):
        refuse("a mask beside index arrays")
    numbers = [i for i, item in enumerate(items) if isinstance(item, int | np.integer)]
    if any(
        not isinstance(items[i], int | np.integer)
        for number in numbers
        for i in range(min(number, index) + 1, max(number, index))
    ):
        refuse("a mask and a number with slices between them")
    if Ellipsis in others:
        used = sum(item is not None and item is not Ellipsis for item in others)
        missing = array.ndim - used - items[index].type.rank
        spot = next(i for i, item in enumerate(items) if item is Ellipsis)
        items[spot : spot + 1] = [slice(None)] * missing
        index = next(i for i, item in enumerate(items) if _is_mask(item))
    rank = items[index].type.rank
    return index, [*items[:index], *[slice(None)] * rank, *items[index + 1 :]]


def _axis(items: Items, place: int) -> int:
    """The axis of the result along which elements are chosen."""
    return sum(item is None or isinstance(item, slice) for item in items[:place])


def _flattened(part: Any, mask: Any, axis: int) -> tuple[Any, Any]:
    """An array and its mask with the axes of the mask as one."""
    rank = mask.type.rank
    covered = part.shape[axis : axis + rank]
    if covered != mask.type.shape:
        raise ShapeError(
            f"the mask has shape {format_shape(mask.type.shape)}, the array "
            f"{format_shape(part.shape)}",
            location=core.trace_error("").location,
        )
    whole, flat = part.copy(), mask.copy()
    if rank == 1:
        return whole, flat
    size = core.product(covered)
    return whole.reshape(*part.shape[:axis], size, *part.shape[axis + rank :]), flat.reshape(size)


# --- places where a mask is true ------------------------------------------------------------------


def _at_places(array: Any, items: Items) -> Selected:
    found = _require_places(items)
    filled = [item.replaced(0) if isinstance(item, Selected) else item for item in items]
    axis = _axis(items, found[0])
    whole = array[tuple(filled)]
    chosen = list((None,) * whole.ndim)
    chosen[axis] = items[found[0]].chosen[0]
    return Selected(whole, tuple(chosen))


def _written_at_places(array: Any, items: Items, new: Any) -> Value:
    found = _require_places(items)
    first = items[found[0]]
    choice = first.chosen[0]
    behind = array.shape[found[0]]
    filled = [item.whole if isinstance(item, Selected) else item for item in items]
    inside = np.where(first.whole < -behind, behind, first.whole)
    filled[found[0]] = Selected(inside, first.chosen).replaced(behind)
    values = new
    axis = _axis(items, found[0])
    if isinstance(new, Selected) or np.ndim(new):
        part = Selected(
            array[tuple([i.replaced(0) if isinstance(i, Selected) else i for i in items])],
            (*[None] * axis, choice, *[None] * (array.ndim - len(found) - axis)),
        )
        values = written_over(part, new)
    return indexing.update(array, tuple(filled), values, "set", "fill")


def _require_places(items: Items) -> list[int]:
    found = [i for i, item in enumerate(items) if isinstance(item, Selected)]
    is_plain = all(isinstance(item, slice | Selected) for item in items)
    are_numbers = all(items[i].ndim == 1 and items[i].dtype != np.bool_ for i in found)
    if not is_plain or not are_numbers or found != list(range(found[0], found[-1] + 1)):
        refuse("this index")
    first = items[found[0]].chosen[0]
    if not all(is_same_choice(first, items[i].chosen[0]) for i in found[1:]):
        refuse("an index by arrays chosen in different ways")
    return found
