"""Bits packed into bytes and taken out again."""

from __future__ import annotations

import numpy as np

from weft.compiler.ir import dims, dtypes
from weft.compiler.ir.errors import DTypeError
from weft.compiler.ir.graph import Constant, Value
from weft.compiler.ops.arithmetic import mul
from weft.compiler.ops.logic import and_, shift_right
from weft.compiler.ops.reduction import reduce_sum
from weft.frontends.numpy.functions.axis_access import padded, stretch
from weft.frontends.numpy.functions.reducing import truth
from weft.frontends.numpy.functions.selection import along
from weft.frontends.tracing.core import cast, lift, reshape, trace_error, wrap
from weft.frontends.tracing.trace import ArrayLike, Tracer

__all__ = ["packbits", "unpackbits"]


def packbits(a: ArrayLike, /, axis: int | None = None, bitorder: str = "big") -> Tracer:
    """As `numpy.packbits`."""
    given = lift(a)
    if given.type.dtype.is_inexact:
        raise DTypeError(f"packbits takes bools or integers, got {given.type}")
    value, place = along(cast(truth(given), dtypes.u8), axis)
    size = value.type.shape[place]
    count = (size + 7) // 8
    value = padded(value, place, 0, count * 8 - size)
    shape = value.type.shape
    groups = reshape(value, (*shape[:place], count, 8, *shape[place + 1 :]))
    weights = Constant(1 << _shifts(bitorder))
    spread = stretch(weights, (place + 1,), groups.type.shape)
    return wrap(reduce_sum(mul(groups, spread), axes=(place + 1,)))


def unpackbits(
    a: ArrayLike, /, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> Tracer:
    """As `numpy.unpackbits`."""
    given = lift(a)
    if given.type.dtype is not dtypes.u8:
        raise DTypeError(f"unpackbits takes uint8, got {given.type}")
    value, place = along(given, axis)
    shape = value.type.shape
    target = (*shape[: place + 1], 8, *shape[place + 1 :])
    kept = [i for i in range(len(target)) if i != place + 1]
    shifts = stretch(Constant(_shifts(bitorder)), (place + 1,), target)
    one = Constant(np.ones((), np.uint8))
    bits: Value = and_(shift_right(stretch(value, kept, target), shifts), one)
    made = reshape(bits, (*shape[:place], shape[place] * 8, *shape[place + 1 :]))
    if count is None:
        return wrap(made)
    size = made.type.shape[place]
    return wrap(
        padded(made, place, 0, (count if count >= 0 else dims.maximum(size + count, 0)) - size)
    )


def _shifts(bitorder: str) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """How far each bit of a byte is from its lowest, in the order in which bits are read."""
    if bitorder not in ("big", "little"):
        raise trace_error(f"bitorder is 'big' or 'little', got {bitorder!r}")
    counted = np.arange(8, dtype=np.uint8)
    return counted[::-1].copy() if bitorder == "big" else counted
