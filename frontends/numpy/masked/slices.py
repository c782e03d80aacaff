"""Slices with traced bounds, as Python reads them: from the end where negative, clipped to the
axis.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from weft.compiler.ir.dims import Dim
from weft.frontends.numpy.masked.choice import Span, difference, largest, smallest, total
from weft.frontends.tracing import core
from weft.frontends.tracing.bounds import Number, is_at_least, is_same, known, remembered
from weft.frontends.tracing.trace import Tracer


def has_traced_bounds(item: Any) -> bool:
    """Whether an item of a key is a slice with bounds that are not known."""
    return isinstance(item, slice) and any(
        isinstance(bound, Tracer) for bound in (item.start, item.stop, item.step)
    )


def is_full(item: slice) -> bool:
    """Whether it is written as `:`."""
    return item.start is None and item.stop is None and item.step is None


def resolve(item: slice, size: Number) -> tuple[bool, Span]:
    """Whether a slice goes backwards, and which elements of an axis of that size it takes: of the
    reversed axis where it goes backwards.
    """
    step = _step(item.step)
    if step > 0:
        start = 0 if item.start is None else _clipped(item.start, size, size)
        stop = size if item.stop is None else _clipped(item.stop, size, size)
        return False, Span.of(start, largest(start, stop), step)
    last = difference(size, 1)
    first = 0 if item.start is None else difference(last, _clipped(item.start, size, last, -1))
    end = size if item.stop is None else difference(last, _clipped(item.stop, size, last, -1))
    return True, Span.of(first, largest(first, end), -step)


def _clipped(bound: Any, size: Number, high: Number, low: int = 0) -> Any:
    """A bound counted from the front, moved to between `low` and `high`: the same number for the
    same bound, so that slices that are written alike are seen to be alike.
    """
    number = _integer(bound, "bound")
    return remembered(("clipped", number, size, high, low), lambda: _moved(number, size, high, low))


def _moved(number: Any, size: Number, high: Number, low: int) -> Any:
    if is_at_least(-1, number):
        number = total(size, number)
    elif not is_at_least(number, 0):
        number = np.where(number < 0, total(size, number), number)
    return smallest(largest(number, low), high)


def _step(step: Any) -> int:
    if step is None:
        return 1
    number = known(_integer(step, "step"))
    if not isinstance(number, int):
        raise core.trace_error("the step of a slice must be a Python int, not a traced value")
    if number == 0:
        raise core.trace_error("a slice step must not be zero")
    return number


def _integer(bound: Any, what: str) -> Any:
    if isinstance(bound, Dim):
        return bound
    if not isinstance(bound, Tracer):
        return operator.index(bound)
    if bound.type.size != 1 or not bound.type.dtype.is_integer:
        raise core.trace_error(f"a slice {what} must be an integer, got {bound.type}")
    return bound.reshape(()) if bound.type.shape else bound  # type: ignore[attr-defined]


def is_whole(span: Span, size: Number) -> bool:
    """Whether a span takes all of an axis for certain."""
    return span.step == 1 and is_same(span.start, 0) and is_same(span.stop, size)
