"""`np.ndindex`, `np.ndenumerate`, `np.nditer` and `np.broadcast` on traced arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft as wf
from tests.frontends.flow.comparing import as_python

SMALL = np.arange(6.0).reshape(2, 3) + 0.5
LARGE = np.linspace(-1.0, 2.0, 77).reshape(7, 11)
nditer: Any = np.nditer  # whose type hints know one kind of it
SIZES = pytest.mark.parametrize("x", [SMALL, LARGE], ids=["unrolled", "rolled"])


@SIZES
def test_ndenumerate(x: Any) -> None:
    def total(x: Any) -> Any:
        s = 0.0
        for (i, j), v in np.ndenumerate(x):
            s = s + i * v - j
        return s

    as_python(total, x)


@SIZES
def test_ndindex(x: Any) -> None:
    def filled(x: Any) -> Any:
        y = np.zeros(x.shape)
        for i, j in np.ndindex(*x.shape):
            y[i, j] = x[i, j] * i + j
        for place in np.ndindex(x.shape):
            y[place] += x[place]
        return y

    as_python(filled, x)


@SIZES
def test_flat(x: Any) -> None:
    def total(x: Any) -> Any:
        s = 0.0
        for v in x.flat:
            s = s + v
        for k, v in enumerate(x.flat):
            s = s + k * v
        for v, w in zip(x.flat, x.T.flat, strict=True):
            s = s + v * w
        return s

    as_python(total, x)


@SIZES
def test_nditer_that_reads(x: Any) -> None:
    def total(x: Any) -> Any:
        s = 0.0
        for v in nditer(x):
            s = s + v * v
        for a, b in nditer([x, x[0]]):
            s = s + a * b
        return s

    as_python(total, x)


@SIZES
def test_nditer_with_places(x: Any) -> None:
    def total(x: Any) -> Any:
        it = nditer(x, flags=["multi_index", "f_index"])
        squares, s = np.zeros_like(x), 0.0
        while not it.finished:
            squares[it.multi_index] = it[0] ** 2
            s = s + it.index * it.value
            it.iternext()
        return squares, s

    as_python(total, x)


@SIZES
def test_nditer_that_writes(x: Any) -> None:
    def doubled(x: Any) -> Any:
        y = x.copy()
        with nditer(y, op_flags=["readwrite"]) as it:
            for v in it:
                v[...] = 2 * v
        with nditer([x, None]) as it:
            for a, b in it:
                b[...] = a + 1.0
            return y, it.operands[1]

    as_python(doubled, x)


def test_order_of_visits() -> None:
    def listed(x: Any) -> Any:
        by_memory = [v + 0.0 for v in nditer(x.T)]
        by_rows = [v + 0.0 for v in nditer(x.T, order="C")]
        by_columns = []
        for v in nditer(x, order="F"):
            by_columns.append(v + 0.0)
        return by_memory, by_rows, by_columns

    as_python(listed, SMALL)


@pytest.mark.parametrize("argument", [{"flags": ["external_loop"]}, {"op_dtypes": ["f4"]}])
def test_nditer_with_what_is_not_traced(argument: Any) -> None:
    def visited(x: Any) -> Any:
        return [v for v in nditer(x, **argument)]

    with pytest.raises(wf.TraceError, match=r"np\.nditer of traced arrays"):
        wf.jit(visited, control_flow=True)(SMALL)


def test_iterators_are_used_once() -> None:
    def twice(x: Any) -> Any:
        places, s = np.ndindex(2, 3), 0.0
        for _ in range(2):
            for i, j in places:
                s = s + x[i, j]
        return s

    with pytest.raises(wf.TraceError, match="write it again"):
        wf.jit(twice, control_flow=True)(SMALL)


def test_an_iterator_is_not_advanced_by_a_branch() -> None:
    def skipped(x: Any) -> Any:
        it = nditer(x)
        if x[0, 0] > 0:
            it.iternext()
        return it.value

    with pytest.raises(wf.TraceError):
        wf.jit(skipped, control_flow=True)(SMALL)


def test_broadcast_has_a_shape() -> None:
    def shaped(x: Any) -> Any:
        both = np.broadcast(x, x[:, :1])
        return np.zeros(both.shape) + x, both.size, both.nd

    as_python(shaped, SMALL)


def test_derivative_of_a_visit() -> None:
    def loss(x: Any) -> Any:
        s = 0.0
        for (i, _), v in np.ndenumerate(x):
            s = s + i * v * v
        return s

    expected = 2 * np.arange(7.0)[:, None] * LARGE
    np.testing.assert_allclose(wf.grad(loss, control_flow=True)(LARGE), expected)
