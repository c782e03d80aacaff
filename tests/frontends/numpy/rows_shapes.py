"""Rows of the functions that reorder, join, split, repeat and pad arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.frontends.numpy.arrays import (
    NUMBER,
    WITHOUT_COMPLEX,
    Array,
    Draw,
    a_dtype,
    an_axis,
    array,
    broadcastable,
    chance,
    choice,
    distinct_axes,
    integer,
    operand,
    options,
    plain,
    shape,
)
from tests.frontends.numpy.checking import Call, Known, call
from tests.frontends.numpy.row import Row, rows

# --- shapes ---------------------------------------------------------------------------------------


def reshaped(draw: Draw) -> Call:
    x = array(draw)
    sizes = {0: [(0,), (0, 3), (2, 0)], 1: [(), (1,), (1, 1)]}.get(x.size, [x.size, (1, x.size)])
    target = choice(draw, *sizes, x.shape[::-1], -1, (-1, 1), (2, -1), (7,))
    return call(x, target, **options(draw, order=st.sampled_from("CF")))


def raveled(draw: Draw) -> Call:
    return call(operand(draw), **options(draw, order=st.sampled_from("CF")))


def squeezed(draw: Draw) -> Call:
    x = array(draw, most=2)
    ones = tuple(i for i, size in enumerate(x.shape) if size == 1)
    axis = choice(draw, None, ones, an_axis(draw, x.ndim))
    return call(x, **options(draw, axis=st.just(axis)))


def expanded(draw: Draw) -> Call:
    x = operand(draw)
    rank = np.ndim(plain(x))
    places = distinct_axes(draw, rank + 2)[:2]
    return call(x, choice(draw, an_axis(draw, rank + 1), places))


def some_arrays(draw: Draw) -> Call:
    return call(*[operand(draw) for _ in range(integer(draw, 1, 3))])


def one_shape(draw: Draw) -> Call:
    x = array(draw)
    return call(
        *[operand(draw, of=broadcastable(draw, x.shape)) for _ in range(integer(draw, 1, 2))], x
    )


def shapes(draw: Draw) -> Call:
    common = shape(draw)
    return call(common, *[broadcastable(draw, common) for _ in range(2)], choice(draw, 1, 2, ()))


def stretched(draw: Draw) -> Call:
    target = shape(draw, most_rank=4)
    return call(operand(draw, of=broadcastable(draw, target)), choice(draw, target, (3, 2)))


# --- order ----------------------------------------------------------------------------------------


def transposed(draw: Draw) -> Call:
    x = array(draw)
    order = distinct_axes(draw, x.ndim, least=x.ndim)
    return call(x, **options(draw, axes=st.sampled_from([None, order, list(order), order[:1]])))


def matrix(draw: Draw) -> Call:
    return call(array(draw, least_rank=1))


def moved(draw: Draw) -> Call:
    x = array(draw, least_rank=1)
    source, destination = distinct_axes(draw, x.ndim), distinct_axes(draw, x.ndim)
    count = min(len(source), len(destination))
    if chance(draw):
        return call(x, an_axis(draw, x.ndim), an_axis(draw, x.ndim))
    return call(x, source[:count], destination[:count])


def rolled_axis(draw: Draw) -> Call:
    x = array(draw, least_rank=1)
    return call(x, an_axis(draw, x.ndim), **options(draw, start=st.integers(-x.ndim, x.ndim)))


def swapped(draw: Draw) -> Call:
    x = array(draw, least_rank=1)
    return call(x, an_axis(draw, x.ndim), an_axis(draw, x.ndim))


def flipped(draw: Draw) -> Call:
    x = array(draw)
    axis = choice(draw, None, an_axis(draw, x.ndim), distinct_axes(draw, x.ndim))
    return call(x, **options(draw, axis=st.just(axis)))


def turned(draw: Draw) -> Call:
    x = array(draw, least_rank=2)
    plane = distinct_axes(draw, x.ndim, least=2)[:2]
    return call(x, **options(draw, k=st.integers(-5, 5), axes=st.just(plane)))


def rolled(draw: Draw) -> Call:
    x = array(draw)
    axis = choice(draw, None, an_axis(draw, x.ndim), distinct_axes(draw, x.ndim, least=1) or None)
    shifts: Any = integer(draw, -5, 5)
    if isinstance(axis, tuple) and chance(draw):
        shifts = tuple(integer(draw, -4, 4) for _ in axis)
    if chance(draw):
        shifts = np.array(shifts)
    return call(x, shifts, **({} if axis is None else {"axis": axis}))


# --- joining and splitting ------------------------------------------------------------------------


def one_or_more(draw: Draw, least_rank: int = 1, same: bool = False) -> tuple[list[Any], int]:
    """Arrays that differ in their dtypes and along one axis only, and that axis."""
    first = array(draw, least_rank=least_rank)
    along = an_axis(draw, first.ndim)
    place = along % first.ndim if first.ndim else 0
    found: list[Any] = [first]
    for _ in range(integer(draw, 0, 2)):
        sizes = list(first.shape)
        if not same and first.ndim:
            sizes[place] = integer(draw, 0, 2)
        other = array(draw, of=sizes)
        found.append(Known(other) if integer(draw, 0, 3) == 3 else other)
    return found, along


def joined(draw: Draw) -> Call:
    arrays, axis = one_or_more(draw)
    chosen = options(draw, dtype=a_dtype(NUMBER))
    return call(
        arrays, **({"axis": None} if integer(draw, 0, 5) == 5 else {"axis": axis}), **chosen
    )


def stacked(draw: Draw) -> Call:
    arrays, axis = one_or_more(draw, 0, same=True)
    return call(tuple(arrays), **options(draw, axis=st.just(axis), dtype=a_dtype(NUMBER)))


def stacked_in_order(draw: Draw) -> Call:
    rank = integer(draw, 0, 3)
    arrays, _ = one_or_more(draw, rank, same=True)
    return call(arrays)


def blocks(draw: Draw) -> Call:
    of = (integer(draw, 1, 2), integer(draw, 1, 2))
    parts = [[array(draw, of=of) for _ in range(2)] for _ in range(integer(draw, 1, 2))]
    return call(choice(draw, parts, parts[0], parts[0][0], [parts[0][0], 2.0]))


def split(draw: Draw) -> Call:
    x = array(draw, least_rank=1, most=6)
    axis = an_axis(draw, x.ndim)
    where = choice(draw, 1, 2, 3, [1], [1, 2], [2, 1, -1], [0, 9])
    return call(x, where, **options(draw, axis=st.just(axis)))


def split_in_order(draw: Draw) -> Call:
    return call(array(draw, least_rank=1, most=6), choice(draw, 1, 2, [1], [1, 3], []))


def unstacked(draw: Draw) -> Call:
    x = array(draw)
    return call(x, **options(draw, axis=st.just(an_axis(draw, x.ndim))))


# --- other sizes ----------------------------------------------------------------------------------


def tiled(draw: Draw) -> Call:
    times = choice(draw, integer(draw, 0, 3), tuple(draw(st.lists(st.integers(0, 2), max_size=4))))
    return call(operand(draw), times)


def repeated(draw: Draw) -> Call:
    x = array(draw)
    axis = choice(draw, None, an_axis(draw, x.ndim))
    size = x.size if axis is None else (x.shape[axis] if -x.ndim <= axis < x.ndim else 1)
    each = [integer(draw, 0, 2) for _ in range(min(size, 27))]
    repeats = choice(draw, integer(draw, 0, 3), each, Known(np.array(each, np.int64)), [2])
    return call(x, repeats, **options(draw, axis=st.just(axis)))


def resized(draw: Draw) -> Call:
    return call(operand(draw), choice(draw, 5, (2, 3), (0,), (), (3, 1, 2)))


def appended(draw: Draw) -> Call:
    arrays, axis = one_or_more(draw)
    other = arrays[-1] if len(arrays) > 1 else operand(draw)
    return call(arrays[0], other, **options(draw, axis=st.just(axis)))


def places(draw: Draw, size: int) -> Any:
    """Where along an axis to insert or delete."""
    some = draw(st.lists(st.integers(-size, max(size - 1, 0)), max_size=3))
    mask = np.array([chance(draw) for _ in range(min(size, 27))], bool)
    one = integer(draw, -size, size)
    return choice(
        draw, one, some, slice(None, None, 2), slice(1, 3), Known(np.array(some, int)), Known(mask)
    )


def deleted(draw: Draw) -> Call:
    x = array(draw)
    if x.ndim and chance(draw):
        axis = integer(draw, -x.ndim, x.ndim - 1)
        return call(x, places(draw, x.shape[axis]), axis=axis)
    return call(x, places(draw, x.size))


def inserted(draw: Draw) -> Call:
    x = array(draw, NUMBER)
    value = operand(draw, (str(x.dtype),), (), scalars=(2, 1))
    if x.ndim and chance(draw):
        axis = integer(draw, -x.ndim, x.ndim - 1)
        return call(x, places(draw, x.shape[axis]), value, axis=axis)
    return call(x, places(draw, x.size), value)


def inserted_block(draw: Draw) -> Call:
    x = array(draw, NUMBER, least_rank=1, least=1)
    axis = integer(draw, -x.ndim, x.ndim - 1)
    block = list(x.shape)
    block[axis] = integer(draw, 1, 2)
    where = choice(draw, [integer(draw, 0, x.shape[axis])], [0, 1][: block[axis]])
    return call(x, where, array(draw, (str(x.dtype),), block), axis=axis)


# --- padding --------------------------------------------------------------------------------------


def widths(draw: Draw, x: Array, most: int = 4) -> Any:
    pairs = tuple((integer(draw, 0, most), integer(draw, 0, most)) for _ in range(x.ndim))
    return choice(
        draw, integer(draw, 0, most), (integer(draw, 0, most), integer(draw, 0, most)), pairs
    )


def padded(draw: Draw) -> Call:
    x = array(draw)
    value = st.sampled_from((3, 1, (1, 2), np.array(2)))
    return call(
        x, widths(draw, x), **options(draw, mode=st.just("constant"), constant_values=value)
    )


def padded_by_mode(draw: Draw) -> Call:
    x = array(draw, values="finite")
    mode = choice(draw, "edge", "wrap", "reflect", "symmetric", "empty")
    extra = options(draw, reflect_type=st.sampled_from(("even", "odd")))
    return call(x, widths(draw, x), mode, **(extra if mode in ("reflect", "symmetric") else {}))


def padded_by_statistic(draw: Draw) -> Call:
    x = array(draw, WITHOUT_COMPLEX, values="finite")
    mode = choice(draw, "maximum", "minimum", "mean", "median")
    return call(
        x, widths(draw, x), mode, **options(draw, stat_length=st.sampled_from((1, 2, (2, 1))))
    )


def padded_by_ramp(draw: Draw) -> Call:
    x = array(draw, NUMBER, values="finite")
    ends = st.sampled_from((0, 2, (1, 3)))
    return call(x, widths(draw, x), "linear_ramp", **options(draw, end_values=ends))


def pad(array: Any, pad_width: Any, mode: str = "constant", **kwargs: Any) -> Any:
    """NumPy's, but where the new elements of mode "empty" could be anything, zeros."""
    numpy_pad: Any = np.pad
    return numpy_pad(array, pad_width, "constant" if mode == "empty" else mode, **kwargs)


ROWS: list[Row] = [
    Row("reshape", reshaped),
    Row("ravel", raveled),
    Row("squeeze", squeezed),
    Row("expand_dims", expanded),
    *rows("atleast_1d atleast_2d atleast_3d", some_arrays),
    Row("broadcast_arrays", one_shape),
    Row("broadcast_shapes", shapes),
    Row("broadcast_to", stretched),
    *rows("transpose permute_dims", transposed),
    Row("matrix_transpose", matrix),
    Row("linalg.matrix_transpose", matrix),
    Row("moveaxis", moved),
    Row("rollaxis", rolled_axis),
    Row("swapaxes", swapped),
    Row("flip", flipped),
    *rows("fliplr flipud", matrix),
    Row("rot90", turned),
    Row("roll", rolled),
    *rows("concatenate concat", joined),
    Row("stack", stacked),
    Row("row_stack", stacked_in_order, oracle=np.vstack),
    *rows("vstack hstack dstack column_stack", stacked_in_order),
    Row("block", blocks),
    *rows("split array_split", split),
    *rows("vsplit hsplit dsplit", split_in_order),
    Row("unstack", unstacked),
    Row("tile", tiled),
    Row("repeat", repeated),
    Row("resize", resized),
    Row("append", appended),
    Row("delete", deleted),
    Row("insert", inserted),
    Row("insert", inserted_block),
    Row("pad", padded),
    Row("pad", padded_by_mode, oracle=pad),
    Row("pad", padded_by_statistic),
    Row("pad", padded_by_ramp),
]
