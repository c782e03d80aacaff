"""NumPy's functions that write to their first argument.

Here they return the new array, as arrays are values; through plain NumPy they write to a traced
array that was made in the function, as ever.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.compiler.ir import dtypes
from weft.compiler.ir.build import constant
from weft.compiler.ir.errors import DTypeError, ShapeError
from weft.compiler.ir.graph import Value
from weft.compiler.ops import indexing
from weft.compiler.ops.arithmetic import remainder, sub
from weft.compiler.ops.cumulative import cumsum
from weft.compiler.ops.logic import select
from weft.frontends.numpy.functions.axis_ops import as_value, flat, gather_axis, iota
from weft.frontends.numpy.functions.indexing import fit
from weft.frontends.numpy.functions.reducing import mask_value, truth
from weft.frontends.numpy.functions.selection import integers, wrapped
from weft.frontends.tracing.core import cast, lift, reshape, size_value, wrap
from weft.frontends.tracing.trace import ArrayLike, Tracer

__all__ = ["copyto", "place", "put", "putmask"]


def copyto(
    dst: ArrayLike, src: ArrayLike, casting: Any = "same_kind", where: ArrayLike = True
) -> Tracer:
    """As `numpy.copyto`, but returns the new array."""
    old = lift(dst)
    new = lift(src)
    is_number = isinstance(src, bool | int | float | complex)
    given: Any = src if is_number else new.type.dtype.numpy
    kind = np.result_type(given, old.type.dtype.numpy) if is_number else given
    if not np.can_cast(kind, old.type.dtype.numpy, casting):
        raise DTypeError(
            f"copyto: {new.type} does not fit into {old.type}; cast it, or give casting='unsafe'"
        )
    made = fit(cast(new, old.type.dtype), old.type.shape)
    if where is True:
        return wrap(made)
    return wrap(select(mask_value(where, old.type.shape), made, old))


def putmask(a: ArrayLike, /, mask: ArrayLike, values: ArrayLike) -> Tracer:
    """As `numpy.putmask`, but returns the new array."""
    old, new = lift(a), _cycle_of(values, lift(a))
    chosen = as_value(mask)
    if chosen.type.shape != old.type.shape:
        raise ShapeError(f"putmask: the mask is {chosen.type}, the array {old.type}")
    if new is None or old.type.size == 0:
        return wrap(old)
    spread = reshape(_cycled(new, iota((old.type.size,), 0)), old.type.shape)
    return wrap(select(truth(chosen), spread, old))


def place(arr: ArrayLike, mask: ArrayLike, vals: ArrayLike) -> Tracer:
    """As `numpy.place`, but returns the new array."""
    old, new = lift(arr), _cycle_of(vals, lift(arr))
    chosen = flat(truth(as_value(mask)))
    if chosen.type.size != old.type.size:
        raise ShapeError(f"place: the mask is {chosen.type}, the array {old.type}")
    if new is None:
        raise ShapeError("place: there are no values to put in")
    if old.type.size == 0:
        return wrap(old)
    running = sub(cumsum(cast(chosen, dtypes.i64), axis=0), constant(1, dtypes.i64))
    return wrap(reshape(select(chosen, _cycled(new, running), flat(old)), old.type.shape))


def put(a: ArrayLike, ind: ArrayLike, v: ArrayLike, mode: str = "raise") -> Tracer:
    """As `numpy.put`, but returns the new array."""
    old, new, index = lift(a), _cycle_of(v, lift(a), "unsafe"), flat(integers(ind))
    if new is None or index.type.size == 0:
        return wrap(old)
    places = wrapped(index, old.type.size, mode)
    updates = _cycled(new, iota((index.type.size,), 0))
    written = indexing.scatter(flat(old), updates, places, axes=(0,), kind="set")
    return wrap(reshape(written, old.type.shape))


def _cycle_of(values: ArrayLike, like: Value, casting: Any = "safe") -> Value | None:
    """The values that are put in one after the other, in the dtype of the array, or None."""
    if isinstance(values, Tracer | np.ndarray | np.generic):
        own = lift(values).type.dtype
        if not np.can_cast(own.numpy, like.type.dtype.numpy, casting):
            raise DTypeError(f"values of {own} do not fit into {like.type}; cast them first")
    new = flat(as_value(values, like.type.dtype))
    return None if new.type.size == 0 else new


def _cycled(values: Value, positions: Value) -> Value:
    """The values at positions that go round and round."""
    size = size_value(values.type.size, dtypes.i64)
    return gather_axis(values, remainder(positions, size), 0, "clip")
