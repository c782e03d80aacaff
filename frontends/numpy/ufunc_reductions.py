"""`reduce`, `accumulate`, `reduceat` and `at` of ufuncs: by a primitive where there is one.

Else by halves where the order of operands does not matter, and one after the other where it does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any, Final

import numpy as np

from weft.compiler.ir import dtypes
from weft.compiler.ir.build import constant
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.errors import BoundsError, DTypeError, ShapeError
from weft.compiler.ir.graph import Constant, Value
from weft.compiler.ops import cumulative
from weft.compiler.ops.arithmetic import add
from weft.compiler.ops.indexing import scatter
from weft.compiler.ops.logic import and_, ge, lt, select
from weft.frontends.numpy.functions import indexing, reducing, reductions
from weft.frontends.numpy.functions.axis_access import element, move, stretch
from weft.frontends.numpy.functions.axis_ops import (
    checked,
    flat,
    gather_axis,
    iota,
    join,
    slice_axis,
    stack_values,
    with_axis,
)
from weft.frontends.numpy.functions.loops import scan_rows
from weft.frontends.numpy.functions.ufuncs import apply_ufunc
from weft.frontends.tracing import core
from weft.frontends.tracing.trace import Tracer

_REDUCE: Final[Mapping[np.ufunc, Any]] = {
    np.add: reductions.sum,
    np.multiply: reductions.prod,
    np.maximum: reductions.max,
    np.minimum: reductions.min,
    np.logical_and: reductions.all,
    np.logical_or: reductions.any,
}
_ACCUMULATE: Final[Mapping[np.ufunc, Any]] = {
    np.add: reductions.cumsum,
    np.multiply: reductions.cumprod,
    np.maximum: cumulative.cummax,
    np.minimum: cumulative.cummin,
}
_AT: Final[Mapping[np.ufunc, str]] = {
    np.add: "add",
    np.subtract: "add",
    np.multiply: "mul",
    np.maximum: "max",
    np.minimum: "min",
}
_BY_HALVES: Final = frozenset(
    (np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.logical_xor, np.logaddexp, np.logaddexp2)
    + (np.hypot, np.fmax, np.fmin, np.gcd, np.lcm)
)
"""Ufuncs whose operands may be joined in any order."""

_FEW: Final = 32
"""So many pieces of `reduceat` are cut out one by one."""


def _joined(ufunc: np.ufunc, left: Value, right: Value, dtype: DType) -> Value:
    return core.lift(apply_ufunc(ufunc, core.wrap(left), core.wrap(right)), dtype)


def _loop_dtype(ufunc: np.ufunc, value: Value, dtype: Any) -> DType:
    """The dtype in which NumPy reduces: that of the operand, unless the ufunc has none for it."""
    own = value.type.dtype
    wanted = own if dtype is None else dtypes.dtype(dtype)
    with_control_flow = dtypes.f32 if wanted is dtypes.bf16 else wanted
    try:
        made, _, _ = ufunc.resolve_dtypes((None, with_control_flow.numpy, None), reduction=True)
    except TypeError:
        raise DTypeError(f"numpy.{ufunc.__name__} does not reduce {wanted}") from None
    return wanted if wanted is dtypes.bf16 else dtypes.dtype(made)


# --- reduce -------------------------------------------------------------------------------------


def reduce(
    ufunc: np.ufunc,
    array: Any,
    axis: Any = 0,
    dtype: Any = None,
    keepdims: bool = False,
    initial: Any = np._NoValue,
    where: Any = True,
) -> Any:
    """What `ufunc.reduce` computes."""
    if ufunc in _REDUCE:
        return _reduce_by_op(ufunc, array, axis, dtype, keepdims, initial, where)
    value = core.lift(array)
    value = core.cast(value, _loop_dtype(ufunc, value, dtype))
    axes = reducing.reduced_axes(axis, value.type.rank)
    if len(axes) > 1 and ufunc not in _BY_HALVES:
        raise ShapeError(f"numpy.{ufunc.__name__} is not reorderable, so it reduces one axis only")
    start = _start(ufunc, value, initial)
    if where is not True:
        value = _masked(ufunc, value, where)
    lines = _reduced_last(value, axes)
    made = _reduce_lines(ufunc, lines, start)
    return core.wrap(core.expand(made, axes, value.type.shape) if keepdims else made)


def _reduce_by_op(
    ufunc: np.ufunc, array: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any
) -> Any:
    options: dict[str, Any] = {"keepdims": keepdims}
    is_logical = ufunc in (np.logical_and, np.logical_or)
    if is_logical and initial is not np._NoValue and initial is not None:
        made = _reduce_by_op(ufunc, array, axis, dtype, keepdims, np._NoValue, where)
        return apply_ufunc(ufunc, initial, made)
    if not is_logical and initial is not np._NoValue:
        options["initial"] = initial
    if where is not True:
        options["where"] = where
    if dtype is not None and ufunc in (np.add, np.multiply):
        options["dtype"] = dtype
    elif dtype is not None:
        array = core.wrap(core.lift(array, dtypes.dtype(dtype)))
    return _REDUCE[ufunc](array, axis=axis, **options)


def _start(ufunc: np.ufunc, value: Value, initial: Any) -> Value | None:
    """What the reduction begins with, if anything."""
    if initial is not np._NoValue and initial is not None:
        return core.lift(initial, value.type.dtype)
    return None


def _identity(ufunc: np.ufunc, dtype: DType) -> Value | None:
    """What changes no operand, if there is such a number."""
    number = ufunc.identity
    if ufunc in (np.maximum, np.minimum) and dtype.is_float:
        number = -math.inf if ufunc is np.maximum else math.inf
    if number is None:
        return None
    known = np.array(number)
    return constant(known.astype(dtype.numpy), dtype)


def _masked(ufunc: np.ufunc, value: Value, where: Any) -> Value:
    neutral = _identity(ufunc, value.type.dtype)
    if neutral is None:
        raise core.trace_error(
            f"numpy.{ufunc.__name__}.reduce has no identity, so where= has no meaning in a trace; "
            "replace what is left out with np.where"
        )
    return select(reducing.mask_value(where, value.type.shape), value, neutral)


def _reduced_last(value: Value, axes: Sequence[int]) -> Value:
    """The reduced axes as one, which is the last."""
    kept = [axis for axis in range(value.type.rank) if axis not in axes]
    turned = core.transpose(value, [*kept, *axes])
    around = turned.type.shape[: len(kept)]
    return core.reshape(turned, (*around, core.product(turned.type.shape[len(kept) :])))


def _reduce_lines(ufunc: np.ufunc, lines: Value, start: Value | None) -> Value:
    last, dtype = lines.type.rank - 1, lines.type.dtype
    around, count = lines.type.shape[:last], lines.type.shape[last]
    if count == 0:
        neutral = _identity(ufunc, dtype) if start is None else start
        if neutral is None:
            raise ShapeError(f"numpy.{ufunc.__name__}.reduce of no elements has no identity")
        return core.broadcast_value(neutral, around)
    if ufunc in _BY_HALVES and isinstance(count, int):
        made = _halved(ufunc, lines, count)
        return made if start is None else _joined(ufunc, start, made, dtype)
    rows = move(lines, last, 0)
    if start is None:
        first, rows = element(rows, 0, 0), slice_axis(rows, 0, 1, count)
    else:
        first = core.broadcast_value(start, around)
    return scan_rows(lambda carry, row: (_joined(ufunc, carry, row[0], dtype), ()), first, rows)[0]


def _halved(ufunc: np.ufunc, lines: Value, count: int) -> Value:
    """Both halves joined element by element, until one element is left."""
    last, dtype = lines.type.rank - 1, lines.type.dtype
    while count > 1:
        half = count // 2
        first, second = slice_axis(lines, last, 0, half), slice_axis(lines, last, half, 2 * half)
        joined = _joined(ufunc, first, second, dtype)
        rest = [slice_axis(lines, last, 2 * half, count)] if count % 2 else []
        lines, count = join([joined, *rest], last), half + count % 2
    return element(lines, last, 0)


# --- accumulate ---------------------------------------------------------------------------------


def accumulate(ufunc: np.ufunc, array: Any, axis: int = 0, dtype: Any = None) -> Any:
    """What `ufunc.accumulate` computes."""
    value = core.lift(array)
    if not value.type.rank:
        raise ShapeError(f"numpy.{ufunc.__name__}.accumulate needs an array of rank 1 or more")
    if ufunc in (np.add, np.multiply):
        return _ACCUMULATE[ufunc](array, axis=axis, dtype=dtype)
    place = core.normalize_axis(axis, value.type.rank)
    if ufunc in _ACCUMULATE:
        if dtype is not None:
            value = core.cast(value, dtypes.dtype(dtype))
        return core.wrap(_ACCUMULATE[ufunc](value, axis=place))
    value = core.cast(value, _loop_dtype(ufunc, value, dtype))
    if ufunc is np.logaddexp:
        return core.wrap(cumulative.cumlogsumexp(value, axis=place))
    return core.wrap(_accumulated(ufunc, value, place))


def _accumulated(ufunc: np.ufunc, value: Value, axis: int) -> Value:
    rows, dtype = move(value, axis, 0), value.type.dtype
    count = rows.type.shape[0]
    if count == 0:
        return value
    first = element(rows, 0, 0)

    def step(carry: Value, row: tuple[Value, ...]) -> tuple[Value, list[Value]]:
        made = _joined(ufunc, carry, row[0], dtype)
        return made, [made]

    _, (later,) = scan_rows(step, first, slice_axis(rows, 0, 1, count))
    return move(join([with_axis(first, 0), later], 0), 0, axis)


# --- reduceat -----------------------------------------------------------------------------------


def reduceat(ufunc: np.ufunc, array: Any, indices: Any, axis: int = 0, dtype: Any = None) -> Tracer:
    """What `ufunc.reduceat` computes: reductions from each index up to the next."""
    value, index = core.lift(array), core.lift(indices)
    if not index.type.dtype.is_integer or index.type.rank != 1:
        raise DTypeError(f"reduceat: indices are integers of rank 1, got {index.type}")
    place = core.normalize_axis(axis, value.type.rank)
    if isinstance(index, Constant) and len(index.array) <= _FEW:
        return core.wrap(_pieces(ufunc, value, index.array, place, dtype))
    if index.type.shape == (0,):
        return core.wrap(_pieces(ufunc, value, np.zeros(0, np.int64), place, dtype))
    return core.wrap(_pieces_by_mask(ufunc, value, index, place, dtype))


def _pieces(
    ufunc: np.ufunc, value: Value, index: np.ndarray[Any, Any], axis: int, dtype: Any
) -> Value:
    """Known pieces, each cut out."""
    size = value.type.shape[axis]
    made = []
    for here, following in zip_longest(index, index[1:]):
        begin = int(here)
        if isinstance(size, int) and not 0 <= begin < size:
            raise BoundsError(
                f"reduceat: index {begin} is out of bounds for an axis of size {size}"
            )
        is_run = following is None or following > here
        end = (size if following is None else int(following)) if is_run else begin + 1
        piece = slice_axis(value, axis, begin, end)
        made.append(core.lift(reduce(ufunc, core.wrap(piece), axis, dtype)))
    if not made:
        return slice_axis(core.lift(accumulate(ufunc, core.wrap(value), axis, dtype)), axis, 0, 0)
    return stack_values(made, axis)


def _pieces_by_mask(ufunc: np.ufunc, value: Value, index: Value, axis: int, dtype: Any) -> Value:
    """Pieces that are traced, or many: of all elements, those outside count as the identity."""
    if ufunc not in _REDUCE:
        raise core.trace_error(
            f"numpy.{ufunc.__name__}.reduceat takes at most {_FEW} indices, known while tracing"
        )
    lines = move(value, axis, value.type.rank - 1)
    size, count = lines.type.shape[-1], index.type.shape[0]
    begin = checked(index, size)
    end_of_all = core.broadcast_value(core.size_value(size, dtypes.i64), (1,))
    following = join([slice_axis(begin, 0, 1, count), end_of_all], 0)
    single = add(begin, constant(1, dtypes.i64))
    end = select(lt(begin, following), following, single)
    shape = (*lines.type.shape[:-1], count, size)
    rank = len(shape)
    position = iota((count, size), 1)
    bounds = [stretch(limit, (0,), (count, size)) for limit in (begin, end)]
    inside = and_(ge(position, bounds[0]), lt(position, bounds[1]))
    spread = stretch(lines, (*range(rank - 2), rank - 1), shape)
    mask = stretch(inside, (rank - 2, rank - 1), shape)
    options: dict[str, Any] = {"where": core.wrap(mask)}
    if ufunc in (np.maximum, np.minimum):
        options["initial"] = _extreme(ufunc, value.type.dtype)
    made = reduce(ufunc, core.wrap(spread), rank - 1, dtype, **options)
    return move(core.lift(made), rank - 2, axis)


def _extreme(ufunc: np.ufunc, dtype: DType) -> Any:
    """What no maximum or minimum is changed by."""
    if dtype.is_inexact:
        return -math.inf if ufunc is np.maximum else math.inf
    if dtype.is_bool:
        return ufunc is np.minimum
    limits = np.iinfo(dtype.numpy)
    return int(limits.min if ufunc is np.maximum else limits.max)


# --- at -----------------------------------------------------------------------------------------


def at(ufunc: np.ufunc, array: Any, key: Any, new: Any = None) -> None:
    """What `ufunc.at` does: a write that counts an index as often as it is there."""
    if not isinstance(array, Tracer):
        raise core.trace_error(
            f"numpy.{ufunc.__name__}.at writes to a NumPy array from inside a trace; make it with "
            "weft.numpy.zeros or np.zeros_like(x), or use weft.numpy.asarray(x).at[i]"
        )
    spelled = ufunc.__name__.removesuffix("imum")
    known = ("add", "subtract", "multiply", "max", "min")
    spelling = f"x = x.at[i].{spelled}(...)" if spelled in known else "x = x.at[i].set(...)"
    if ufunc in _AT and _keeps_dtype(ufunc, array, new):
        if ufunc is np.subtract:
            new = apply_ufunc(np.negative, core.wrap(core.lift(new, array.type.dtype)))
        array.assign(indexing.update(array, key, new, _AT[ufunc]), spelling)
        return
    array.require_writable(spelling)
    array.assign(_one_by_one(ufunc, array, key, new), spelling)


def _keeps_dtype(ufunc: np.ufunc, array: Tracer, new: Any) -> bool:
    """Whether a scatter of operands of the array's dtype gives what NumPy makes, which casts after
    each operation.
    """
    own, made = array.type.dtype, core.result_dtype(array, new)
    if own.is_bool or (own.is_complex and ufunc in (np.maximum, np.minimum)):
        return False
    if own.is_integer and made.is_integer:  # modulo a power of two, in any width
        return made is own or ufunc in (np.add, np.subtract, np.multiply)
    return made is own or (own.is_float and made.is_float)


def _one_by_one(ufunc: np.ufunc, array: Tracer, key: Any, new: Any) -> Value:
    """The array after one operation for each index, in order."""
    value, shape = core.lift(array), array.type.shape
    every = core.reshape(iota((value.type.size,), 0), shape)
    places = indexing.getitem(core.wrap(every), key)
    target, dtype = places.type.shape, value.type.dtype
    operands = [] if ufunc.nin == 1 else [flat(core.broadcast_value(core.lift(new), target))]

    def step(current: Value, row: tuple[Value, ...]) -> tuple[Value, Sequence[Value]]:
        place, *given = row
        old = gather_axis(current, place, 0, "clip")
        made = apply_ufunc(ufunc, core.wrap(old), *[core.wrap(g) for g in given])
        cast = core.lift(made, dtype)
        return scatter(current, cast, place, axes=(0,), kind="set", mode="clip"), ()

    done, _ = scan_rows(step, flat(value), flat(places), *operands)
    return core.reshape(done, shape)
