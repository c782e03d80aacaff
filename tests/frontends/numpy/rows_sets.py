"""Rows of distinct elements and of what two arrays have in common, with the size of the result."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.frontends.numpy.arrays import ALL, Array, Draw, array, chance, choice, integer, options
from tests.frontends.numpy.checking import Call, Known, call
from tests.frontends.numpy.row import Row


def distinct(draw: Draw) -> Call:
    x = array(draw, ALL, values=choice(draw, "small", "any"))
    fill = options(draw, fill_value=st.sampled_from((0, 1)))
    return call(x, size=integer(draw, 0, 9), **fill)


def distinct_with_more(draw: Draw) -> Call:
    given = distinct(draw)
    asked = [f"return_{name}" for name in ("index", "inverse", "counts") if chance(draw)]
    more = {**dict.fromkeys(asked, True), "equal_nan": chance(draw)}
    return Call(given.args, {**given.kwargs, **more})


def distinct_slices(draw: Draw) -> Call:
    x = array(draw, ("int8", "int64", "float64"), least_rank=1, least=1, values="small")
    asked = [f"return_{name}" for name in ("index", "inverse", "counts") if chance(draw)]
    axis = integer(draw, -x.ndim, x.ndim - 1)
    return call(x, size=integer(draw, 0, 5), axis=axis, **dict.fromkeys(asked, True))


def known(draw: Draw) -> Call:
    """Of an array that is known the size is too."""
    return call(Known(array(draw, ("int8", "float64"), values="small")))


def unique(
    ar: Array,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    size: int | None = None,
    fill_value: Any = None,
    equal_nan: bool = True,
) -> Any:
    found, index, inverse, counts = np.unique(ar, True, True, True, axis, equal_nan=equal_nan)
    if size is None:
        size = len(found)
    place = 0 if axis is None else axis
    rows = np.moveaxis(found, place, 0)
    fill = fill_value if fill_value is not None else rows[0] if len(rows) else 0
    made = np.full((size, *rows.shape[1:]), fill, ar.dtype)
    made[: len(rows)] = rows[:size]
    results = [np.moveaxis(made, 0, place)]
    for wanted, part in ((return_index, index), (return_counts, counts)):
        if wanted:
            results.append(np.resize(np.append(part, np.zeros(size, int)), size))
    if return_inverse:
        results.insert(1 + return_index, inverse)
    return tuple(results) if len(results) > 1 else results[0]


def unique_values(x: Array, **options: Any) -> Any:
    return unique(x, equal_nan=False, **options)


def unique_all(x: Array, **options: Any) -> Any:
    made = unique(x, True, True, True, equal_nan=False, **options)
    return type(np.unique_all(x))(*made)


def unique_counts(x: Array, **options: Any) -> Any:
    made = unique(x, return_counts=True, equal_nan=False, **options)
    return type(np.unique_counts(x))(*made)


def unique_inverse(x: Array, **options: Any) -> Any:
    made = unique(x, return_inverse=True, equal_nan=False, **options)
    return type(np.unique_inverse(x))(*made)


# --- two arrays -----------------------------------------------------------------------------------

KINDS = ("int8", "int64", "float64", "uint16")


def two(draw: Draw) -> Call:
    pair = [array(draw, KINDS, values="small") for _ in range(2)]
    return call(*pair, size=integer(draw, 0, 9), **options(draw, fill_value=st.just(7)))


def common_with_places(draw: Draw) -> Call:
    pair = [array(draw, KINDS, least_rank=1, least=1, values="small") for _ in range(2)]
    count = len(np.intersect1d(pair[0], pair[1]))
    return call(*pair, size=count, return_indices=True)


def sized(function: Any) -> Any:
    """NumPy's function, cut or filled up to a size."""

    def made(ar1: Array, ar2: Array, *, size: int, fill_value: Any = None, **more: Any) -> Any:
        found = function(ar1, ar2, **more)
        if more:
            return found
        fill = fill_value
        if fill is None:
            fill = found[0] if function is np.union1d and len(found) else 0
        filled = np.full(size, fill, found.dtype)
        filled[: len(found)] = found[:size]
        return filled

    return made


ROWS: list[Row] = [
    Row("unique", distinct_with_more, oracle=unique),
    Row("unique", distinct_slices, oracle=unique),
    Row("unique_values", distinct, oracle=unique_values),
    Row("unique_all", distinct, oracle=unique_all),
    Row("unique_counts", distinct, oracle=unique_counts),
    Row("unique_inverse", distinct, oracle=unique_inverse),
    *[Row(f.__name__, known, oracle=f) for f in (unique, unique_values, unique_counts)],
    *[
        Row(name, two, oracle=sized(getattr(np, name)))
        for name in ("union1d", "intersect1d", "setdiff1d", "setxor1d")
    ],
    Row("intersect1d", common_with_places, oracle=sized(np.intersect1d)),
]
