"""Rows of the functions that sort, search, and find distinct elements."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.frontends.numpy.arrays import (
    ALL,
    REAL,
    Array,
    Draw,
    an_axis,
    array,
    chance,
    choice,
    integer,
    operand,
    options,
    plain,
)
from tests.frontends.numpy.checking import Call, Known, call
from tests.frontends.numpy.row import Row


def sorted_along(draw: Draw) -> Call:
    x = operand(draw, most=5)
    axis = choice(draw, None, an_axis(draw, np.ndim(plain(x))))
    return call(x, **options(draw, axis=st.just(axis)))


def order_along(draw: Draw) -> Call:
    """Of what is equal, the first comes first, as only a stable sort of NumPy's has it."""
    given = sorted_along(draw)
    return Call(given.args, {**given.kwargs, "kind": "stable"})


def keys(draw: Draw) -> Call:
    of = choice(draw, (5,), (2, 4), (0,), ())
    made = [array(draw, ALL, of, values="small") for _ in range(integer(draw, 1, 3))]
    if chance(draw):
        return call(tuple(made), **options(draw, axis=st.just(an_axis(draw, len(of)))))
    return call(array(draw, ALL, (integer(draw, 1, 3), *of), values="small"))


def partly_sorted(draw: Draw) -> Call:
    x = array(draw, least_rank=1, least=1, most=5)
    axis = integer(draw, -x.ndim, x.ndim - 1)
    kth = integer(draw, -x.shape[axis], x.shape[axis] - 1)
    return call(x, choice(draw, kth, [kth, 0]), axis=axis)


def fully_sorted(a: Array, kth: Any, axis: int) -> Array:
    """What Weft promises of partition: a full sort."""
    return np.sort(a, axis)


def full_order(a: Array, kth: Any, axis: int) -> Array:
    return np.argsort(a, axis, kind="stable")


def leading(draw: Draw) -> Call:
    x = array(draw, REAL, least_rank=1, least=1, most=5)
    axis = integer(draw, -x.ndim, x.ndim - 1)
    k = integer(draw, 1, x.shape[axis])
    return call(x, k, axis=axis, **options(draw, largest=st.booleans()))


def top_k(x: Array, k: int, axis: int, largest: bool = True) -> tuple[Array, Array]:
    """By sorting; the first of equal elements comes first, and NaN counts as largest."""
    rank = np.argsort(np.argsort(x, axis, kind="stable"), axis)
    if largest:
        backwards = np.flip(x, axis)
        order = x.shape[axis] - 1 - np.argsort(backwards, axis, kind="stable")
        order = np.flip(order, axis)
    else:
        order = np.argsort(rank, axis)
    chosen = np.take(order, np.arange(k), axis)
    return np.take_along_axis(x, chosen, axis), chosen


def searched(draw: Draw) -> Call:
    table = np.sort(array(draw, REAL, (integer(draw, 0, 6),), values="finite"))
    values = operand(draw, REAL, scalars=(2, 1.5))
    form = choice(draw, table, Known(table))
    if len(table) and chance(draw):
        order = np.arange(len(table))[::-1].copy()
        return call(table[::-1].copy(), values, sorter=order, side=choice(draw, "left", "right"))
    return call(form, values, **options(draw, side=st.sampled_from(("left", "right"))))


def contained(draw: Draw) -> Call:
    x, tested = operand(draw, values="small"), operand(draw, values="small")
    return call(x, tested, **options(draw, invert=st.booleans()))


def whole(draw: Draw) -> Call:
    return call(array(draw, ALL, least_rank=1))


ROWS: list[Row] = [
    Row("sort", sorted_along),
    Row("argsort", order_along),
    Row("lexsort", keys),
    Row("partition", partly_sorted, oracle=fully_sorted),
    Row("argpartition", partly_sorted, oracle=full_order),
    Row("top_k", leading, oracle=top_k),
    Row("searchsorted", searched),
    Row("isin", contained),
    Row("sort_complex", whole),
]
