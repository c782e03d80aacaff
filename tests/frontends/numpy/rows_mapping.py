"""Rows of functions applied along axes, of writes, bits, windows, and histograms of points."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

import weft.numpy
from tests.frontends.numpy.arrays import (
    ALL,
    BOOL,
    FLOAT,
    INTEGER,
    NUMBER,
    Array,
    Draw,
    an_axis,
    array,
    broadcastable,
    chance,
    choice,
    integer,
    options,
)
from tests.frontends.numpy.checking import Call, Known, call
from tests.frontends.numpy.row import Row, rows

# --- along axes -----------------------------------------------------------------------------------


def total(line: Any) -> Any:
    return np.sum(line)


def ends(line: Any) -> Any:
    return np.stack([line[0], line[-1]])


def spread(line: Any, factor: Any) -> Any:
    return np.multiply.outer(line, line) * factor


def along(draw: Draw) -> Call:
    x = array(draw, ("float64", "float32", "int64"), least_rank=1, least=1, values="finite")
    axis = integer(draw, -x.ndim, x.ndim - 1)
    return choice(draw, call(total, axis, x), call(ends, axis, x), call(spread, axis, x, 2))


def over_axes(draw: Draw) -> Call:
    x = array(draw, ("float64", "int64"), least_rank=2, values="finite")
    return call(choice(draw, np.sum, np.cumsum), x, choice(draw, 0, [0, 1], (-1,)))


def windowed(draw: Draw) -> Call:
    x = array(draw, ALL, least_rank=1, most_rank=2, least=1, most=5)
    axis = integer(draw, -x.ndim, x.ndim - 1)
    if chance(draw):
        return call(x, tuple(integer(draw, 1, 4) for _ in x.shape))
    return call(x, integer(draw, 1, 3), axis=axis)


# --- writes ---------------------------------------------------------------------------------------


def written(name: str) -> Any:
    """What an array is once NumPy's function wrote to it."""

    def function(a: Any, *args: Any, **kwargs: Any) -> Any:
        target = a.copy()
        getattr(np, name)(target, *args, **kwargs)
        return target

    return function


def copied(draw: Draw) -> Call:
    x = array(draw, ("float64", "float32", "int64", "complex64"))
    new = choice(draw, 2, array(draw, NUMBER, broadcastable(draw, x.shape), values="finite"))
    given = options(draw, where=st.just(array(draw, BOOL, broadcastable(draw, x.shape))))
    return call(x, new, **given, **options(draw, casting=st.just("unsafe")))


def put(draw: Draw) -> Call:
    x = array(draw, ("float64", "int64"), least=1)
    index = array(draw, ("int64",), choice(draw, (), (3,), (2, 2)), values="finite") % x.size
    if chance(draw):
        return call(x, index * 3, array(draw, ("int64",), (2,)), mode=choice(draw, "wrap", "clip"))
    return call(x, choice(draw, index, Known(index)), choice(draw, 2, array(draw, of=(2,))))


def masked(draw: Draw) -> Call:
    x = array(draw, ("float64", "int64"))
    mask = array(draw, BOOL, x.shape)
    return call(x, mask, array(draw, ("float64", "int8"), (integer(draw, 1, 4),), values="finite"))


# --- bits and windows -----------------------------------------------------------------------------


def packed(draw: Draw) -> Call:
    x = array(draw, (*BOOL, *INTEGER), least_rank=1, most=5, values="small")
    x = np.tile(x, 3)
    axis = choice(draw, None, an_axis(draw, x.ndim))
    return call(x, axis=axis, **options(draw, bitorder=st.sampled_from(("big", "little"))))


def unpacked(draw: Draw) -> Call:
    x = array(draw, ("uint8",), least_rank=1)
    axis = choice(draw, None, integer(draw, -x.ndim, x.ndim - 1))
    given = options(
        draw,
        count=st.sampled_from((None, 3, 9, 0, -2)),
        bitorder=st.sampled_from(("big", "little")),
    )
    return call(x, axis=axis, **given)


def points(draw: Draw) -> Call:
    return call(integer(draw, 0, 9))


def points_and_shape(draw: Draw) -> Call:
    return call(integer(draw, 0, 9), array(draw, ("float64", "int64"), (), values="finite"))


# --- points ---------------------------------------------------------------------------------------


def bins(draw: Draw) -> dict[str, Any]:
    edges = [np.array([-8.0, -1.0, 0.5, 8.0]), np.array([-2.0, 0.0, 4.0])]
    return choice(
        draw,
        {},
        {"bins": 3},
        {"bins": [2, 3]},
        {"bins": edges},
        {"bins": [3, 2], "range": [[-4.0, 4.0], [-2.0, 8.0]]},
    )


def planar(draw: Draw) -> Call:
    count = integer(draw, 1, 6)
    x, y = [array(draw, ("float64",), (count,), values="finite") for _ in range(2)]
    weights = array(draw, FLOAT, (count,), values="unit")
    given = options(draw, weights=st.just(weights), density=st.just(True))
    return call(x, y, **bins(draw), **given)


def spatial(draw: Draw) -> Call:
    sample = array(draw, ("float64",), (integer(draw, 1, 6), 2), values="finite")
    return call(sample, **bins(draw), **options(draw, density=st.just(True)))


def kinds(draw: Draw) -> Call:
    return call(*[array(draw, (*FLOAT, "complex64", "int32")) for _ in range(integer(draw, 1, 3))])


def histogramdd(sample: Array, **options: Any) -> Any:
    """With the edges in a tuple, as traced results are."""
    counts, edges = np.histogramdd(sample, **options)
    return counts, tuple(edges)


def fortran(a: Any, dtype: Any = None) -> Any:
    return np.asarray(a, dtype)


ROWS: list[Row] = [
    Row("apply_along_axis", along, tolerance=64),
    Row("apply_over_axes", over_axes, tolerance=64),
    Row(
        "sliding_window_view",
        windowed,
        oracle=np.lib.stride_tricks.sliding_window_view,
        function=weft.numpy.sliding_window_view,
    ),
    Row("copyto", copied, function=written("copyto")),
    Row("put", put, function=written("put")),
    *[Row(n, masked, function=written(n)) for n in ("putmask", "place")],
    Row("packbits", packed),
    Row("unpackbits", unpacked),
    *rows("bartlett blackman hamming hanning", points),
    Row("kaiser", points_and_shape, oracle=np.kaiser, tolerance=64),
    Row("histogram2d", planar, tolerance=64),
    Row("histogramdd", spatial, oracle=histogramdd, tolerance=64),
    Row("common_type", kinds),
]
