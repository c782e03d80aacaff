"""What Python's numbers and lists are of a traced array: `x.item()` and `x.tolist()`, where control
flow is converted and traced numbers can be used as Python's are.
"""

from __future__ import annotations

from typing import Any

from weft.compiler.ir import dtypes
from weft.frontends.numpy.functions import indexing, manipulation
from weft.frontends.tracing import core
from weft.frontends.tracing.trace import Tracer


def item(array: Tracer, place: tuple[Any, ...]) -> Tracer:
    """`x.item()` of one element, or of the one at a place."""
    place = place[0] if len(place) == 1 and isinstance(place[0], tuple) else place
    if len(place) > 1:
        return _number(core.wrap(indexing.getitem(array, place)))
    flat = manipulation.reshape(array, -1)
    if place:
        return _number(core.wrap(indexing.getitem(flat, place[0])))
    if array.type.size != 1:
        raise ValueError("can only convert an array of size 1 to a Python scalar")
    return _number(flat)


def to_list(array: Any) -> Any:
    """`x.tolist()`."""
    return [to_list(part) for part in array] if array.type.shape else _number(array)


def _number(array: Tracer) -> Tracer:
    """A Python number: an element in the widest dtype of its kind."""
    value = core.lift(array)
    dtype = value.type.dtype
    if dtype.is_complex:
        wide = dtypes.c128
    elif dtype.is_inexact:
        wide = dtypes.f64
    else:
        wide = dtype if dtype.is_bool or dtype is dtypes.u64 else dtypes.i64
    return core.wrap(core.cast(core.reshape(value, ()), wide), weak=True)
