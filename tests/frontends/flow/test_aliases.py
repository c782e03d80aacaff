"""Names that stand for one array on some ways and for two on others: as in Python, or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import optree
import pytest

import weft as wf
from tests.frontends.flow.alias_programs import PROGRAMS, REFUSED
from weft.compiler.ir.errors import TraceError

X = np.array([0.5, -1.0, 2.0, 0.25])
ARGUMENTS = [(1.0, 0), (-1.0, 1), (1.0, 2), (-1.0, 3)]


def jitted(name: str) -> Any:
    return wf.jit(PROGRAMS[name], control_flow=True, backend="reference")


@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - REFUSED))
def test_as_in_python(name: str) -> None:
    made = jitted(name)
    for p, k in ARGUMENTS:
        expected = optree.tree_leaves(PROGRAMS[name](X.copy(), p, k))
        found = optree.tree_leaves(made(X.copy(), np.float64(p), np.int64(k)))
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, err_msg=f"p = {p}, k = {k}")


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_refused(name: str) -> None:
    with pytest.raises(TraceError) as caught:
        jitted(name)(X.copy(), np.float64(1.0), np.int64(2))
    assert ".copy()" in str(caught.value) or "copy where the two part" in str(caught.value)
    assert "alias_programs.py" in str(caught.value)


def test_native_code_and_derivatives_see_writes_through_other_names() -> None:
    def loss(x: Any, p: Any) -> Any:
        y = x * 1.0
        w = y if p > 0 else y + 1.0
        w[0] = w[0] * 3.0
        return (y * y).sum()

    gradient = wf.jit(wf.grad(loss, control_flow=True))
    x = np.array([1.0, 2.0])
    np.testing.assert_allclose(gradient(x, np.float64(1.0)), [18.0, 4.0], rtol=1e-14)
    np.testing.assert_allclose(gradient(x, np.float64(-1.0)), [2.0, 4.0], rtol=1e-14)


def test_nothing_is_added_where_nothing_is_written_to() -> None:
    def function(x: Any, p: Any) -> Any:
        w = x if p > 0 else x * 2.0
        return w + x

    graph = wf.trace(function, control_flow=True)(X, np.float64(1.0))
    assert [op.name for op in graph.ops] == ["gt", "switch", "add"]


def test_the_message_names_the_line_of_the_write() -> None:
    with pytest.raises(TraceError, match=r"may be the same as one that was written to.*un\[:\]"):
        jitted("another_name_for_a_buffer")(X.copy(), np.float64(1.0), np.int64(2))


def test_a_row_of_a_numpy_array_is_not_written_to() -> None:
    table = np.arange(6.0).reshape(3, 2)

    def function(place: Any) -> Any:
        row = table[place]
        row += 1.0
        return row

    with pytest.raises(TraceError, match="a part of a NumPy array is written to in place"):
        wf.jit(function, control_flow=True)(1)


def test_arrays_of_several_dtypes_are_not_picked_at_a_traced_place() -> None:
    def function(x: Any, k: Any) -> Any:
        return [x, x.astype("f4")][k]

    with pytest.raises(TraceError, match="of f64 and f32, so that of the one at a traced place"):
        wf.jit(function, control_flow=True)(X, 1)


@pytest.mark.parametrize("dtype", ["u1", "u8", "i1", "i8"])
def test_places_of_any_integer_dtype_pick_an_array(dtype: str) -> None:
    def function(x: Any, k: Any) -> Any:
        both = [x.copy(), x * 2.0]
        both[k][0] = 7.0
        return both[0], both[1]

    f = wf.jit(function, control_flow=True)
    for place in np.arange(2, dtype=dtype):
        for one, other in zip(f(X, place), function(X, place), strict=True):
            np.testing.assert_array_equal(one, other)


def swaps(number: int) -> Any:
    def f(x: Any, b: Any) -> Any:
        y, z = x * 1.0, x * 2.0
        first = y
        for i in range(number):
            if b[i] > 0:
                y, z = z, y
        y[0] = 7.0
        return y, z, first

    return f


@pytest.mark.parametrize("number", [1, 2, 3, 8])
def test_names_that_are_swapped_again_and_again(number: int) -> None:
    rng = np.random.default_rng(0)
    compiled = wf.jit(swaps(number), backend="reference")
    for _ in range(6):
        given = np.arange(3.0), rng.normal(size=8)
        for made, expected in zip(compiled(*given), swaps(number)(*given), strict=True):
            np.testing.assert_array_equal(made, expected)


def test_swaps_do_not_double_what_is_known_of_names() -> None:
    types = wf.spec("f64[3]"), wf.spec("f64[16]")
    sizes = [len(wf.trace(swaps(number))(*types).ops) for number in (4, 8, 12)]
    assert sizes[2] - sizes[1] == sizes[1] - sizes[0]
