"""What an index is: whether it gives a view, and how users wrote it."""

from __future__ import annotations

from types import EllipsisType
from typing import Any

import numpy as np

from weft.compiler.ir.dims import Dim
from weft.frontends.tracing.trace import Tracer


def with_known(value: Any) -> Any:
    """A value with NumPy's arrays in place of those of the trace that are known."""
    if isinstance(value, Tracer):
        known = value.known
        return value if known is None else known
    if type(value) in (list, tuple) and any(map(_may_hold, value)):
        return type(value)([with_known(part) for part in value])
    if isinstance(value, slice):
        return slice(*[with_known(part) for part in (value.start, value.stop, value.step)])
    return value


def _may_hold(part: Any) -> bool:
    return isinstance(part, Tracer | list | tuple | slice)


def is_basic(key: Any) -> bool:
    """Whether it is made of slices and integers: then there is a view, but of single elements.

    A traced integer of rank 0 is one, as a number is and an array of rank 0 is not: a trace knows
    no difference, and numbers are what programs count with.
    """
    items = key if isinstance(key, tuple) else (key,)
    return all(
        item is None
        or isinstance(item, slice | int | np.integer | EllipsisType | Dim)
        or (isinstance(item, Tracer) and not item.type.rank and item.type.dtype.is_integer)
        for item in items
    )


def has_ellipsis(key: Any) -> bool:
    """Whether a basic key gives a view even of a single element."""
    return any(item is Ellipsis for item in (key if isinstance(key, tuple) else (key,)))


def key_text(key: Any) -> str:
    """The index as in `x[...]`, for messages."""
    items = key if isinstance(key, tuple) else (key,)
    return ", ".join(_item_text(item) for item in items)


def _item_text(item: Any) -> str:
    if isinstance(item, slice):
        parts = ["" if b is None else str(b) for b in (item.start, item.stop, item.step)]
        return ":".join(parts[:2] if item.step is None else parts)
    return (
        "..."
        if item is Ellipsis
        else "i"
        if isinstance(item, Tracer | np.ndarray | list)
        else str(item)
    )
