"""Slices of a fixed width at a traced place: `x[i : i + 3]`.

The width is known if both bounds are the same sum of traced numbers up to a constant. The window
has to lie inside the axis: NumPy would give fewer elements, but shapes cannot depend on values.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from weft.compiler.ir import dtypes
from weft.compiler.ir.build import constant
from weft.compiler.ir.dims import Size
from weft.compiler.ir.graph import Value
from weft.compiler.ops import indexing, logic, shape
from weft.compiler.ops.arithmetic import add
from weft.frontends.tracing import core
from weft.frontends.tracing.bounds import linear
from weft.frontends.tracing.trace import Tracer


class Window(NamedTuple):
    """So many elements of an axis, from a traced place on."""

    axis: int
    start: Value
    width: int


def windows(items: list[Any]) -> tuple[list[Window], list[Any]]:
    """The windows of a key with one item per axis (or None, for a new one), and the key of what
    they leave.
    """
    found: list[Window] = []
    rest: list[Any] = []
    axis = 0
    for item in items:
        fixed = width(item)
        if fixed is not None:
            start = core.cast(core.lift(item.start), dtypes.i64)
            found.append(Window(axis, start, fixed))
            item = slice(None)
        rest.append(item)
        axis += item is not None
    return found, rest


def take(value: Value, window: Window) -> Value:
    """The elements of a window."""
    places = _places(window, value.type.shape[window.axis])
    taken = indexing.gather(value, places, axes=(window.axis,))
    return core.transpose(taken, _moved(value.type.rank, 0, window.axis))


def put(value: Value, part: Value, window: Window) -> Value:
    """The array with the elements of a window replaced."""
    places = _places(window, value.type.shape[window.axis])
    first = core.transpose(part, _moved(value.type.rank, window.axis, 0))
    return indexing.scatter(value, first, places, axes=(window.axis,), kind="set", mode="raise")


def _places(window: Window, size: Size) -> Value:
    """The places of a window; negative ones, which would count from the end, are made invalid."""
    steps = shape.iota(dtype=dtypes.i64, shape=(window.width,), axis=0)
    is_inside = logic.ge(window.start, constant(0, dtypes.i64))
    start = logic.select(is_inside, window.start, core.size_value(size, dtypes.i64))
    return add(steps, start)


def _moved(rank: int, source: int, target: int) -> list[int]:
    order = [axis for axis in range(rank) if axis != source]
    return [*order[:target], source, *order[target:]]


def width(item: Any) -> int | None:
    """The width of a slice with traced bounds, if it is known."""
    if not isinstance(item, slice) or isinstance(item.step, Tracer) or item.step not in (None, 1):
        return None
    if not isinstance(item.start, Tracer) or not isinstance(item.stop, Tracer):
        return None
    difference = linear(item.stop).plus(linear(item.start), -1)
    if difference.terms or not isinstance(difference.constant, int):
        return None
    return max(difference.constant, 0)
