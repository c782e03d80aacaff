"""Functions that find or take the elements for which a condition holds.

How many these are is known only when the program runs: the results are `Selected`, which have
their true size once returned. With a further argument `size=` they are arrays of that size, with
`fill_value=` for the places that are left over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.compiler.ir import dims, dtypes
from weft.compiler.ir.build import constant
from weft.compiler.ir.dims import Size
from weft.compiler.ir.errors import ShapeError
from weft.compiler.ir.graph import Constant, Value
from weft.compiler.ops import indexing
from weft.compiler.ops.arithmetic import sub
from weft.compiler.ops.cumulative import cumsum
from weft.compiler.ops.logic import lt, select
from weft.frontends.numpy.functions.axis_ops import (
    as_value,
    flat,
    gather_axis,
    iota,
    join,
    slice_axis,
    stack_values,
)
from weft.frontends.numpy.functions.reducing import truth
from weft.frontends.numpy.functions.selection import along, take, unravel
from weft.frontends.numpy.masked.array import Selected, positions, rows_of
from weft.frontends.numpy.masked.choice import Mask
from weft.frontends.tracing import core
from weft.frontends.tracing.core import (
    as_size,
    broadcast_value,
    cast,
    check_no,
    lift,
    size_value,
    wrap,
)
from weft.frontends.tracing.trace import ArrayLike, Tracer

__all__ = ["argwhere", "compress", "extract", "flatnonzero", "ix_", "nonzero"]


def nonzero(
    a: ArrayLike, *, size: Any = None, fill_value: ArrayLike | Sequence[ArrayLike] = 0
) -> tuple[Any, ...]:
    """As `numpy.nonzero`; if given, the first `size`, the rest filled with `fill_value`.

    >>> import numpy as np, weft as wf
    >>> wf.numpy.nonzero(np.array([0, 5, 0, 7]), size=3, fill_value=-1)
    (array([ 1,  3, -1]),)
    """
    value = as_value(a)
    if not value.type.rank:
        raise ShapeError("nonzero needs an array of rank 1 or more; use atleast_1d first")
    if _is_unknown(value, size):
        return positions(wrap(value))
    return tuple([wrap(index) for index in _find("nonzero", value, size, fill_value)])


def flatnonzero(a: ArrayLike, *, size: Any = None, fill_value: ArrayLike = 0) -> Any:
    """As `numpy.flatnonzero`, with `size` and `fill_value` as in `nonzero`."""
    if _is_unknown(as_value(a), size):
        return positions(wrap(flat(as_value(a))))[0]
    return wrap(_find("flatnonzero", flat(as_value(a)), size, fill_value)[0])


def argwhere(
    a: ArrayLike, *, size: Any = None, fill_value: ArrayLike | Sequence[ArrayLike] = 0
) -> Any:
    """As `numpy.argwhere`, with `size` and `fill_value` as in `nonzero`."""
    value = as_value(a)
    if _is_unknown(value, size) and value.type.rank:
        return rows_of(positions(wrap(value)))
    found = _find("argwhere", value if value.type.rank else flat(value), size, fill_value)
    rows = stack_values(found, 1)
    return wrap(rows if value.type.rank else slice_axis(rows, 1, 0, 0))


def compress(
    condition: ArrayLike,
    a: ArrayLike,
    axis: int | None = None,
    out: None = None,
    *,
    size: Any = None,
    fill_value: ArrayLike = 0,
) -> Any:
    """As `numpy.compress`; with `size` of a traced condition the first, then `fill_value`."""
    check_no("compress", out=out)
    mask = as_value(condition)
    if mask.type.rank != 1:
        raise ShapeError(f"the condition must be of rank 1, got {mask.type}")
    value, place = along(as_value(a), axis)
    return _compress("compress", mask, value, place, size, fill_value)


def extract(
    condition: ArrayLike, arr: ArrayLike, *, size: Any = None, fill_value: ArrayLike = 0
) -> Any:
    """As `numpy.extract`; with `size` of a traced condition the first, then `fill_value`."""
    mask, value = flat(as_value(condition)), flat(as_value(arr))
    return _compress("extract", mask, value, 0, size, fill_value)


def ix_(*args: ArrayLike) -> tuple[Tracer, ...]:
    """As `numpy.ix_`; bool arrays must be known."""
    grids = []
    for axis, argument in enumerate(args):
        value = as_value(argument)
        if value.type.rank != 1:
            raise ShapeError(f"ix_ needs arrays of rank 1, got {value.type}")
        if value.type.dtype.is_bool:
            value = flatnonzero(wrap(value)).value
        elif value.type.size == 0 and isinstance(argument, list | tuple):
            value = cast(value, dtypes.i64)
        sizes = tuple([value.type.size if i == axis else 1 for i in range(len(args))])
        grids.append(wrap(core.reshape(value, sizes)))
    return tuple(grids)


def _is_unknown(condition: Value, size: Any) -> bool:
    """Whether it is not known how many elements are true."""
    return size is None and not isinstance(condition, Constant)


def _find(function: str, value: Value, size: Any, fill_value: Any) -> list[Value]:
    """The index along each axis of the elements that are not 0."""
    if size is None:
        assert isinstance(value, Constant)
        return [Constant(index) for index in np.nonzero(value.array)]
    rank = value.type.rank
    items = fill_value if isinstance(fill_value, list | tuple) else [fill_value] * rank
    fills = [lift(item, dtypes.i64) for item in items]
    if len(fills) != rank or any(fill.type.rank for fill in fills):
        raise ShapeError(f"{function}: fill_value must be one integer, or one for each axis")
    return _first_nonzero(value, as_size(size), fills)


def _first_nonzero(value: Value, count: Size, fills: Sequence[Value]) -> list[Value]:
    """The indices of the first `count` elements that are not 0, then the fills.

    Each such element writes its flat position to the place of its running number; the others, and
    those beyond `count`, write outside, which a scatter of mode "fill" drops.
    """
    mask = truth(flat(value))
    total = size_value(mask.type.size, dtypes.i64)
    outside = size_value(count, dtypes.i64)
    running = sub(cumsum(cast(mask, dtypes.i64), axis=0), constant(1, dtypes.i64))
    places = select(mask, running, outside)
    positions = iota((mask.type.size,), 0)
    is_line = value.type.rank == 1
    empty = broadcast_value(fills[0] if is_line else total, (count,))
    found = indexing.scatter(empty, positions, places, axes=(0,), kind="set", mode="fill")
    if is_line:
        return [found]
    is_found = lt(found, total)
    indices = unravel(found, value.type.shape)
    return [select(is_found, i, f) for i, f in zip(indices, fills, strict=True)]


def _compress(
    function: str, mask: Value, value: Value, axis: int, size: Any, fill_value: ArrayLike
) -> Any:
    """The elements along an axis where the mask, which may be shorter, is true."""
    if isinstance(mask, Constant) and size is None:
        return take(wrap(value), np.flatnonzero(mask.array), axis)
    available = value.type.shape[axis]
    mask = slice_axis(mask, 0, 0, dims.minimum(mask.type.shape[0], available))
    if size is None:
        rest = available - mask.type.shape[0]
        flags = join([truth(mask), core.full((rest,), False, dtypes.bool_)], 0)
        choices = (None,) * axis, (None,) * (value.type.rank - axis - 1)
        return Selected(wrap(value), (*choices[0], Mask(wrap(flags)), *choices[1]))
    end = size_value(available, dtypes.i64)
    (found,) = _find(function, mask, size, wrap(end))
    taken = gather_axis(value, found, axis, mode="fill")
    if isinstance(fill_value, int | float) and fill_value == 0:
        return wrap(taken)
    ones_after = (1,) * (value.type.rank - axis - 1)
    is_found = core.reshape(lt(found, end), (*found.type.shape, *ones_after))
    fill = broadcast_value(lift(fill_value, value.type.dtype), taken.type.shape)
    return wrap(select(broadcast_value(is_found, taken.type.shape), taken, fill))
