"""Parts of arrays whose sizes are only known when the program runs: keys of keys."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.compiler.ir import dtypes
from weft.frontends.numpy.masked import slices
from weft.frontends.numpy.masked.array import Selected, refuse
from weft.frontends.numpy.masked.choice import (
    Choice,
    Mask,
    Span,
    difference,
    iota,
    is_same_choice,
    largest,
    smallest,
    total,
)
from weft.frontends.numpy.masked.requirements import require
from weft.frontends.tracing import core
from weft.frontends.tracing.bounds import is_at_least, is_same
from weft.frontends.tracing.trace import Tracer


def item(array: Selected, key: Any) -> Any:
    """What `array[key]` is."""
    array = _packed_for(array, key)
    items, chosen = _resolved(array, key)
    part = array.whole[tuple(items)]
    if not any(chosen):
        return part
    return Selected(part.copy() if _is_copied(key) else part, chosen)


def set_item(array: Selected, key: Any, new: Any) -> None:
    """Write to `array[key]`."""
    items, chosen = _resolved(array, key)
    if any(chosen):
        Selected(array.whole[tuple(items)], chosen).assign(new)
    else:
        array.whole[tuple(items)] = new


def packed(array: Selected, axis: int) -> Selected:
    """The same elements, along an axis from its start on and without gaps."""
    choice, size = array.chosen[axis], array.whole.shape[axis]
    if choice is None or (
        isinstance(choice, Span) and choice.step == 1 and is_same(choice.start, 0)
    ):
        return array
    if isinstance(choice, Mask):
        behind = np.where(choice.flags, choice.ranks(size), size)
        nothing: Any = core.wrap(core.full((size,), 0, dtypes.i64))
        places = nothing.at[behind].set(iota(size), "fill")
    else:
        places = choice.start + iota(size) * choice.step
    whole = array.whole if size == 0 else np.take(array.whole, places, axis=axis, mode="clip")
    chosen = list(array.chosen)
    chosen[axis] = Span.of(0, choice.count())
    return Selected(whole, tuple(chosen))


def _packed_for(array: Selected, key: Any) -> Selected:
    """With elements side by side that a mask chose and the key slices."""
    items = list(key) if isinstance(key, tuple) else [key]
    if any(isinstance(item, Selected) for item in items):
        return array
    found, axis = array, 0
    for item in _without_ellipsis(items, array.ndim):
        if item is None:
            continue
        is_cut = isinstance(item, slice) and not slices.is_full(item)
        if is_cut and isinstance(array.chosen[axis], Mask):
            found = packed(found, axis)
        axis += 1
    return found


def _resolved(array: Selected, key: Any) -> tuple[list[Any], tuple[Choice | None, ...]]:
    """A key of the whole, and what is chosen of what that gives."""
    items = list(key) if isinstance(key, tuple) else [key]
    if not any(isinstance(item, Selected) for item in items):
        items = _without_ellipsis(items, array.ndim)
    if len(items) == 1 and isinstance(items[0], Selected) and items[0].dtype == np.bool_:
        return _chosen_again(array, items[0])
    wholes: list[Any] = []
    chosen: list[Choice | None] = []
    axis = 0
    for item in items:
        if item is None:
            wholes.append(None)
            chosen.append(None)
            continue
        made = _along(array, axis, item)
        wholes.append(made[0])
        chosen += made[1:]
        axis += 1
    return wholes, tuple(chosen)


def _along(array: Selected, axis: int, item: Any) -> tuple[Any, ...]:
    """An item of a key of the whole, and what is chosen of the axis that it leaves, if any."""
    choice, size = array.chosen[axis], array.whole.shape[axis]
    is_number = isinstance(item, int | np.integer) or _is_traced_number(item)
    if isinstance(item, slice):
        if slices.is_full(item) or (choice is None and not slices.has_traced_bounds(item)):
            return item, choice
        return _sliced(choice, size, item)
    if is_number:
        return (item if choice is None else _place(choice, item, size),)
    if choice is None:
        refuse("this index of it")
    if array.ndim > 1 or not isinstance(item, list | np.ndarray | Tracer):
        refuse("this index of it")
    numbers: Any = np.asarray(item) if isinstance(item, list) else item
    if numbers.dtype == np.bool_:
        refuse("a mask of another size")
    return _places(choice, core.wrap(core.lift(numbers)), size), *[None] * numbers.ndim


def _sliced(choice: Choice | None, size: Any, item: slice) -> tuple[Any, Choice]:
    if isinstance(choice, Mask):
        refuse("a write to a slice of it", "y = x[mask][:] + 0, and y[a:b] = v")
    count = size if choice is None else choice.count()
    is_backwards, span = slices.resolve(item, count)
    if choice is not None and is_backwards:
        # The element of number k is counted from the end of the axis that is turned around.
        last = choice.start + (count - 1) * choice.step
        first: Any = np.where(count > 0, size - 1 - last, 0)
        start = total(first, span.start * choice.step)
        stop = start + (span.stop - span.start) * choice.step
        limit = np.where(count > 0, size - choice.start, 0)
        inner = Span.of(start, np.minimum(stop, limit), choice.step * span.step)
        return slice(None, None, -1), _ordered(inner)
    if choice is not None:
        start = total(choice.start, span.start * choice.step if choice.step > 1 else span.start)
        length = span.stop - span.start
        stop = total(start, length * choice.step if choice.step > 1 else length)
        if choice.step > 1:
            stop = np.minimum(stop, choice.stop)
        span = _ordered(Span.of(start, stop, choice.step * span.step))
    return (slice(None, None, -1) if is_backwards else slice(None)), span


def _chosen_again(array: Selected, key: Selected) -> tuple[list[Any], tuple[Choice | None, ...]]:
    if key.ndim != 1 or array.chosen[0] is None or key.chosen[0] is None:
        refuse("this index of it")
    if not is_same_choice(array.chosen[0], key.chosen[0]):
        refuse("a mask that was made of elements chosen in another way")
    size = array.whole.shape[0]
    flags = Mask(array.chosen[0].mask(size) & key.whole)
    return [slice(None)] * array.ndim, (flags, *array.chosen[1:])


def _is_traced_number(item: Any) -> bool:
    return isinstance(item, Tracer) and not item.type.rank and item.type.dtype.is_integer


def _is_copied(key: Any) -> bool:
    items = key if isinstance(key, tuple) else (key,)
    return any(isinstance(item, Selected) for item in items)


def _without_ellipsis(items: list[Any], rank: int) -> list[Any]:
    """A key with one item for each axis."""
    used = sum(item is not None and item is not Ellipsis for item in items)
    missing = [slice(None)] * (rank - used)
    places = [place for place, item in enumerate(items) if item is Ellipsis]
    place = places[0] if places else len(items)
    if used > rank or len(places) > 1:
        raise core.trace_error(f"too many indices for an array of rank {rank}")
    return [*items[:place], *missing, *items[place + len(places) :]]


def _ordered(span: Span) -> Span:
    """A span that ends where it starts, or behind."""
    if is_at_least(span.stop, span.start):
        return span
    return Span.of(span.start, np.maximum(span.start, span.stop), span.step)


def _place(choice: Choice, number: Any, size: Any) -> Any:
    """Where the element of that number is in the whole. If there is none the program raises, which
    it would not for a lane of `vmap` that has ended; so the place is always inside.
    """
    count = choice.count()
    counted = number
    if is_at_least(-1, number):
        counted = total(count, number)
    elif not is_at_least(number, 0):
        counted = np.where(number < 0, number + count, number)
    if is_at_least(counted, 0) and is_at_least(difference(count, 1), counted):
        return choice.place(counted)
    counted = core.wrap(core.lift(counted))
    at: Any = counted
    fits = (at >= 0) & (at < count)
    require(
        fits, "index {} is out of bounds for an axis of size {}", number, count, kind=IndexError
    )
    return smallest(largest(choice.place(counted), 0), difference(size, 1))


def _places(choice: Choice, numbers: Any, size: Any) -> Any:
    """Where the elements of several numbers are; behind the end if there are none."""
    count = choice.count()
    counted: Any = np.where(numbers < 0, numbers + count, numbers)
    return np.where((counted < 0) | (counted >= count), size, choice.place(counted))
