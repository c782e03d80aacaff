"""Keys with a traced mask, or with the places where one is true: reading gives `Selected`, writing
goes by the mask.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.compiler.ir.errors import ShapeError
from weft.compiler.ir.graph import Value
from weft.compiler.ir.types import format_shape
from weft.frontends.numpy.functions import indexing
from weft.frontends.numpy.masked.array import Selected, refuse, require_same
from weft.frontends.tracing import core
from weft.frontends.tracing.trace import Tracer

Items = list[Any]


def is_masked_key(key: Any) -> bool:
    """Whether a key has a traced mask of rank 1 or more, or places where one is true."""
    items = key if isinstance(key, tuple) else (key,)
    return any(isinstance(item, Selected) or _is_mask(item) for item in items)


def _is_mask(item: Any) -> bool:
    return isinstance(item, Tracer) and item.type.dtype.is_bool and item.type.rank > 0


def select(array: Any, key: Any) -> Selected:
    """What `array[key]` is."""
    items = list(key) if isinstance(key, tuple) else [key]
    if any(isinstance(item, Selected) for item in items):
        return _at_places(array, items)
    place, basic = _basic(array, items)
    mask = items[place]
    part = array[tuple(basic)] if len(items) > 1 else array
    return Selected(*_flattened(part, mask, _axis(items, place)), _axis(items, place))


def written(array: Any, key: Any, new: Any) -> Value:
    """The value of the array after `array[key] = new`."""
    items = list(key) if isinstance(key, tuple) else [key]
    if any(isinstance(item, Selected) for item in items):
        return _written_at_places(array, items, new)
    place, basic = _basic(array, items)
    axis = _axis(items, place)
    part = array[tuple(basic)] if len(items) > 1 else array
    whole, mask = _flattened(part, items[place], axis)
    target = Selected(whole, mask, axis)
    values = _whole_of(new, target)
    made = np.where(target.wide_mask, values, whole).astype(array.dtype).reshape(part.shape)
    return indexing.update(array, tuple(basic) if len(items) > 1 else ..., made)


def _whole_of(new: Any, target: Selected) -> Any:
    """The values of what is written, one for each element of the whole."""
    if isinstance(new, Selected):
        require_same((target, new))
        if new.ndim - new.axis != target.ndim - target.axis:
            refuse("a write along another axis")
        return new.whole
    shape = core.wrap(core.lift(new)).type.shape
    place = target.ndim - target.axis
    if len(shape) >= place and shape[len(shape) - place] != 1:
        raise core.trace_error(
            f"x[mask] = v with a traced mask needs a v that broadcasts to each selected element, "
            f"or one that was chosen by the same mask (x[mask] = y[mask]), got "
            f"{format_shape(shape)}; use np.where(mask, v, x) with a v of x's shape"
        )
    return core.wrap(core.lift(new))


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


def _at_places(array: Any, items: Items) -> Selected:
    found = [i for i, item in enumerate(items) if isinstance(item, Selected)]
    _require_places(items, found)
    filled = [item.filled() if isinstance(item, Selected) else item for item in items]
    return Selected(array[tuple(filled)], items[found[0]].mask, _axis(items, found[0]))


def _written_at_places(array: Any, items: Items, new: Any) -> Value:
    found = [i for i, item in enumerate(items) if isinstance(item, Selected)]
    _require_places(items, found)
    first = items[found[0]]
    behind = array.shape[found[0]]
    filled = [item.whole if isinstance(item, Selected) else item for item in items]
    filled[found[0]] = first.replaced(behind)
    values = new
    if isinstance(new, Selected):
        require_same((first, new))
        values = new.whole
    elif np.ndim(new) and _axis(items, found[0]) + len(found) == array.ndim:
        _whole_of(new, Selected(first.whole, first.mask))
    return indexing.update(array, tuple(filled), values, "set", "fill")


def _require_places(items: Items, found: list[int]) -> None:
    require_same([items[i] for i in found])
    is_plain = all(isinstance(item, slice | Selected) for item in items)
    are_numbers = all(items[i].ndim == 1 and items[i].dtype != np.bool_ for i in found)
    if not is_plain or not are_numbers or found != list(range(found[0], found[-1] + 1)):
        refuse("this index")
