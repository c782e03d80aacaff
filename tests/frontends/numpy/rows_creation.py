"""Rows of the functions that make arrays: from data, from shapes, sequences, grids, diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.frontends.numpy.arrays import (
    ALL,
    FLOAT,
    NUMBER,
    SIGNED,
    WITHOUT_COMPLEX,
    Draw,
    a_dtype,
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
from tests.frontends.numpy.checking import Call, call
from tests.frontends.numpy.row import Row, rows

# --- from data and from shapes --------------------------------------------------------------------


def data(draw: Draw) -> Call:
    return call(operand(draw), **options(draw, dtype=a_dtype(NUMBER)))


def fortran(a: Any, dtype: Any = None) -> Any:
    return np.asarray(a, dtype)


def nested(draw: Draw) -> Call:
    of = shape(draw, most_rank=2)
    rows = [array(draw, of=of) for _ in range(integer(draw, 1, 3))]
    return call([rows, rows] if chance(draw) else rows)


def with_least_rank(draw: Draw) -> Call:
    return call(operand(draw), ndmin=integer(draw, 0, 4))


def copied(draw: Draw) -> Call:
    return call(operand(draw))


def filled(draw: Draw) -> Call:
    target = choice(draw, 3, (), (0,), (2, 0), (2, 3), [2, 1])
    return call(target, **options(draw, dtype=a_dtype()))


def full(draw: Draw) -> Call:
    target = shape(draw)
    value = operand(draw, of=broadcastable(draw, target), values="finite", scalars=(2, 1.5, True))
    return call(target, value, **options(draw, dtype=a_dtype(NUMBER)))


def filled_like(draw: Draw) -> Call:
    return call(operand(draw), **options(draw, dtype=a_dtype(), shape=st.just((2, 3))))


def full_like(draw: Draw) -> Call:
    value = operand(draw, of=(), values="finite", scalars=(2, 1.5, True, 3))
    return call(array(draw), value, **options(draw, dtype=a_dtype(NUMBER)))


def zeros_in_place_of(prototype: Any, **kwargs: Any) -> Any:
    return np.zeros_like(prototype, **kwargs)


# --- sequences ------------------------------------------------------------------------------------


def whole_range(draw: Draw) -> Call:
    bounds = [integer(draw, -4, 9) for _ in range(integer(draw, 1, 3))]
    if len(bounds) == 3:
        bounds[2] = bounds[2] or 2
    return call(*bounds, **options(draw, dtype=a_dtype((*SIGNED[2:], *FLOAT))))


def broken_range(draw: Draw) -> Call:
    start, stop = integer(draw, -8, 8) / 4, integer(draw, -8, 16) / 4
    return call(start, stop, choice(draw, 0.25, 0.5, -0.5, 0.3, 1))


def spaced(draw: Draw) -> Call:
    ends = [operand(draw, of=choice(draw, (), (), (3,)), values="finite") for _ in range(2)]
    extra = options(draw, endpoint=st.booleans(), dtype=a_dtype(("float32", "float64")))
    if any(np.iscomplexobj(plain(end)) for end in ends):
        extra.pop("dtype", None)
    return call(*ends, integer(draw, 0, 7), **extra, **_axis_of_ends(draw, ends))


def spaced_with_step(draw: Draw) -> Call:
    ends = [operand(draw, of=(), values="finite") for _ in range(2)]
    return call(*ends, integer(draw, 2, 7), retstep=True, endpoint=chance(draw))


def log_spaced(draw: Draw) -> Call:
    ends = [operand(draw, of=(), values="small", scalars=(2, 1, 0.5)) for _ in range(2)]
    return call(*ends, integer(draw, 0, 5), **options(draw, base=st.sampled_from((2, 10.0, 1.5))))


def geometric(draw: Draw) -> Call:
    of = choice(draw, (), (), (2,))
    ends = [operand(draw, NUMBER, of, values="positive", scalars=(2, 1, 0.5, 8)) for _ in range(2)]
    return call(*ends, integer(draw, 0, 5), **options(draw, endpoint=st.booleans()))


def _axis_of_ends(draw: Draw, ends: list[Any]) -> dict[str, int]:
    rank = max(np.ndim(plain(end)) for end in ends)
    return {"axis": integer(draw, -1, rank)} if chance(draw) else {}


# --- grids ----------------------------------------------------------------------------------------


def grid(draw: Draw) -> Call:
    parts = [array(draw, most_rank=1) for _ in range(integer(draw, 1, 3))]
    extra = options(draw, sparse=st.booleans(), indexing=st.sampled_from(("xy", "ij")))
    return call(*parts, **extra)


def index_grid(draw: Draw) -> Call:
    return call(shape(draw), **options(draw, sparse=st.booleans(), dtype=a_dtype(NUMBER)))


def from_function(draw: Draw) -> Call:
    def function(*indices: Any) -> Any:
        return sum(indices, 1) * 2

    return call(function, shape(draw, least_rank=1), **options(draw, dtype=a_dtype(FLOAT[1:])))


def powers(draw: Draw) -> Call:
    x = array(draw, ALL, least_rank=1, most_rank=1, most=4, values="small")
    return call(x, **options(draw, N=st.integers(0, 4), increasing=st.booleans()))


# --- diagonals and triangles ----------------------------------------------------------------------


def unit_matrix(draw: Draw) -> Call:
    extra = options(draw, M=st.integers(0, 4), k=st.integers(-5, 5), dtype=a_dtype())
    return call(integer(draw, 0, 4), **extra)


def identity(draw: Draw) -> Call:
    return call(integer(draw, 0, 4), **options(draw, dtype=a_dtype()))


def diagonal_matrix(draw: Draw) -> Call:
    return call(array(draw, least_rank=1, most_rank=2), **options(draw, k=st.integers(-4, 4)))


def flat_diagonal(draw: Draw) -> Call:
    return call(operand(draw, most_rank=2), **options(draw, k=st.integers(-3, 3)))


def diagonals(draw: Draw) -> Call:
    x = array(draw, least_rank=2)
    first, second = distinct_axes(draw, x.ndim, least=2)[:2]
    return call(x, **options(draw, offset=st.integers(-4, 4)), axis1=first, axis2=second)


def trace(draw: Draw) -> Call:
    given = diagonals(draw)
    return Call(given.args, {**given.kwargs, **options(draw, dtype=a_dtype(NUMBER))})


def triangle(draw: Draw) -> Call:
    return call(array(draw, least_rank=1), **options(draw, k=st.integers(-4, 4)))


def triangle_indices(draw: Draw) -> Call:
    return call(integer(draw, 0, 4), **options(draw, k=st.integers(-4, 4), m=st.integers(0, 4)))


def triangle_indices_from(draw: Draw) -> Call:
    return call(array(draw, least_rank=2, most_rank=2), **options(draw, k=st.integers(-4, 4)))


def diagonal_indices(draw: Draw) -> Call:
    return call(integer(draw, 0, 4), **options(draw, ndim=st.integers(1, 3)))


def diagonal_indices_from(draw: Draw) -> Call:
    return call(array(draw, of=(integer(draw, 0, 3),) * integer(draw, 2, 3)))


def diagonal_to_fill(draw: Draw) -> Call:
    rank = integer(draw, 2, 3)
    of = shape(draw, 2, 2) if rank == 2 else (integer(draw, 0, 3),) * 3
    x = array(draw, NUMBER, of)
    value = choice(
        draw, 3, array(draw, (str(x.dtype),), (2,)), array(draw, WITHOUT_COMPLEX[:5], ())
    )
    return call(x, value, **options(draw, wrap=st.booleans()))


def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> Any:
    filled = a.copy()
    np.fill_diagonal(filled, val, wrap)
    return filled


ROWS: list[Row] = [
    *[Row(f.__name__, data, oracle=f) for f in (np.asarray, np.asanyarray, np.array)],
    *[Row(f.__name__, data, oracle=f) for f in (np.ascontiguousarray, np.require)],
    Row("asfortranarray", data, oracle=fortran),
    *[Row(f.__name__, nested, oracle=f) for f in (np.asarray, np.array)],
    Row("array", with_least_rank, oracle=np.array),
    Row("copy", copied, oracle=np.copy),
    *rows("zeros ones", filled),
    Row("empty", filled, oracle=np.zeros),
    Row("full", full, oracle=np.full),
    *rows("zeros_like ones_like", filled_like),
    Row("empty_like", filled_like, oracle=zeros_in_place_of),
    Row("full_like", full_like),
    *rows("arange", whole_range),
    *rows("arange", broken_range),
    *rows("linspace", spaced),
    *rows("linspace", spaced_with_step),
    Row("logspace", log_spaced, tolerance=64),
    Row("geomspace", geometric, tolerance=64),
    Row("meshgrid", grid),
    Row("indices", index_grid),
    Row("fromfunction", from_function),
    Row("vander", powers),
    *rows("eye tri", unit_matrix),
    Row("identity", identity),
    Row("diag", diagonal_matrix),
    Row("diagflat", flat_diagonal),
    Row("diagonal", diagonals),
    Row("trace", trace),
    *rows("tril triu", triangle),
    *rows("tril_indices triu_indices", triangle_indices),
    *rows("tril_indices_from triu_indices_from", triangle_indices_from),
    Row("diag_indices", diagonal_indices),
    Row("diag_indices_from", diagonal_indices_from),
    Row("fill_diagonal", diagonal_to_fill, function=fill_diagonal),
]
