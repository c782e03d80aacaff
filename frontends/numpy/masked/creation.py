"""New arrays whose sizes are only known when the program runs: `np.zeros(i)`, `np.arange(i)`, where
a loop or an operation says how large `i` can be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np

from weft.compiler.ir.dims import Size
from weft.compiler.ir.graph import Value
from weft.compiler.ir.types import Shape
from weft.frontends.numpy.masked.array import Selected
from weft.frontends.numpy.masked.choice import Choice, Span, difference, iota, largest
from weft.frontends.numpy.masked.requirements import require
from weft.frontends.tracing import core
from weft.frontends.tracing.bounds import greatest, is_at_least, known
from weft.frontends.tracing.trace import Tracer

_LARGEST: Final = 1 << 24  # elements along an axis, of which most may not be used


def of_shape(shape: Any, make: Callable[[Shape], Value]) -> Any:
    """An array of a shape of which sizes may be traced."""
    items = shape if isinstance(shape, Iterable) and not isinstance(shape, Tracer) else (shape,)
    if not any(map(_is_unknown, items)):
        return core.wrap(make(core.as_shape(shape)))
    sizes: list[Size] = []
    chosen: list[Choice | None] = []
    for item in items:
        sizes.append(_bound(item) if _is_unknown(item) else core.as_size(_plain(item)))
        chosen.append(_span(item) if _is_unknown(item) else None)
    return Selected(core.wrap(make(tuple(sizes))), tuple(chosen))


def counted(start: Any, stop: Any) -> Selected | None:
    """What `numpy.arange` gives of bounds of which one is a traced integer; None of others."""
    numbers = (start, stop)
    if not any(map(_is_unknown, numbers)) or any(_kind(n) not in "iu" for n in numbers):
        return None
    count = largest(difference(stop, start), 0)
    return Selected(iota(_bound(count)) + start, (Span.of(0, count),))


def _kind(number: Any) -> str:
    return (
        number.type.dtype.numpy.kind
        if isinstance(number, Tracer)
        else np.asarray(number).dtype.kind
    )


def _is_unknown(size: Any) -> bool:
    is_number = isinstance(size, Tracer) and not size.type.rank and size.type.dtype.is_integer
    return is_number and known(size) is None


def _plain(size: Any) -> Any:
    return known(size) if isinstance(size, Tracer) and not size.type.rank else size


def _bound(size: Any) -> Size:
    most = greatest(size)
    if most is None or (isinstance(most, int) and most > _LARGEST):
        core.as_size(size)  # which says what to do
        raise AssertionError("a traced size is refused")
    return max(most, 0) if isinstance(most, int) else most


def _span(size: Any) -> Span:
    if not is_at_least(size, 0):
        require(size >= 0, "negative dimensions are not allowed")
    return Span.of(0, size)
