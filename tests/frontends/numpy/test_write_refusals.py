"""Writes in place that a trace refuses, and how it says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft as wf
from tests.frontends.checking import Function, assert_as_numpy, matrix

# --- what NumPy decides by strides ----------------------------------------------------------------


def write_to_ravelled_transpose(x: Any) -> Any:
    y = x * 1.0
    y.T.ravel()[0] = 5.0
    return y


def read_stale_ravelled_transpose(x: Any) -> Any:
    y = x * 1.0
    flat = y.T.ravel()
    y[0, 0] = 5.0
    return flat


def read_stale_column_major(x: Any) -> Any:
    y = x * 1.0
    flat = y.reshape(-1, order="F")
    y[0, 0] = 5.0
    return flat


@pytest.mark.parametrize(
    "function",
    [write_to_ravelled_transpose, read_stale_ravelled_transpose, read_stale_column_major],
    ids=lambda f: f.__name__,
)
def test_sharing_that_depends_on_strides_is_refused(function: Function) -> None:
    with pytest.raises(wf.TraceError, match="depends on strides") as caught:
        wf.jit(function)(matrix())
    assert ".copy()" in str(caught.value)
    assert "test_write_refusals.py" in str(caught.value)


def test_a_copy_resolves_it() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        flat = y.T.ravel().copy()
        column_major = y.reshape(-1, order="F")
        unused = y.T.reshape(2, 3)
        flat[0] = 5.0
        return y, flat, column_major, unused

    assert_as_numpy(f, matrix())


def test_a_write_through_a_diagonal_is_refused() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        np.diagonal(y)[0] = 0.0
        return y

    with pytest.raises(wf.TraceError, match="write through this view"):
        wf.jit(f)(matrix())


# --- refusals -------------------------------------------------------------------------------------


def write_item(x: Any) -> Any:
    x[0, 1] = 7.0
    return x


def write_view(x: Any) -> Any:
    x.T[0] = 7.0
    return x


def write_view_of_view(x: Any) -> Any:
    x[0].reshape(3, 1)[1:] = 7.0
    return x


def add_in_place(x: Any) -> Any:
    x += 1.0
    return x


def sort_argument(x: Any) -> Any:
    x.sort()
    return x


def fill_argument(x: Any) -> Any:
    x.fill(1.0)
    return x


def out_argument(x: Any) -> Any:
    return np.exp(x, out=x)


def add_at_argument(x: Any) -> Any:
    np.add.at(x, 0, 1.0)
    return x


def fill_diagonal_of_argument(x: Any) -> Any:
    np.fill_diagonal(x, 1.0)
    return x


ARGUMENT_WRITES: list[tuple[Function, str]] = [
    (write_item, "x = x.at[0, 1].set(...)"),
    (write_view, "x = x.at[0].set(...)"),
    (write_view_of_view, "x = x.at[1:].set(...)"),
    (add_in_place, "x = x + ..."),
    (sort_argument, "x = np.sort(x)"),
    (fill_argument, "x = x.at[...].set(...)"),
    (out_argument, "x = np.exp(...)"),
    (add_at_argument, "x = x.at[i].add(...)"),
    (fill_diagonal_of_argument, "x = weft.numpy.fill_diagonal(x, ...)"),
]


@pytest.mark.parametrize(
    ("function", "instead"), ARGUMENT_WRITES, ids=lambda item: getattr(item, "__name__", "")
)
def test_an_argument_is_not_written_to(function: Function, instead: str) -> None:
    """But by `jit`, which hands it back."""
    x = matrix()
    before = x.copy()
    with pytest.raises(wf.TraceError) as caught:
        wf.trace(function)(x)
    text = str(caught.value)
    assert "the argument x is written to in place, which would change the caller's array" in text
    assert instead in text
    assert "test_write_refusals.py" in text
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: wf.grad(lambda x: np.sum(f(x))),
        lambda f: wf.jit(wf.grad(lambda x: np.sum(f(x)))),
        lambda f: lambda x: wf.vjp(f, x),
        lambda f: lambda x: wf.jvp(f, (x,), (x,)),
        lambda f: wf.vmap(lambda x: f(x[None])),
        lambda f: wf.grad(lambda x: np.sum(wf.jit(f)(x))),
    ],
    ids=["grad", "jit of grad", "vjp", "jvp", "vmap", "grad of jit"],
)
def test_transforms_refuse_the_same_write(transform: Function) -> None:
    with pytest.raises(wf.TraceError, match="the argument x is written to in place"):
        transform(write_item)(matrix())


def test_a_leaf_of_a_tree_is_named() -> None:
    def f(params: Any) -> Any:
        params["layers"][1] += 1.0
        return params["layers"][0]

    with pytest.raises(wf.TraceError, match=r"the argument params\.layers\.1 is written to"):
        wf.trace(f)({"layers": [np.zeros(2), np.zeros(2)]})


def loop_writes(wrap: Function) -> Function:
    def f(x: Any) -> Any:
        y = x * 1.0

        def body(c: Any) -> Any:
            y[0] = 0.0
            return c + 1.0

        return wrap(body), y

    return f


@pytest.mark.parametrize(
    "wrap",
    [
        lambda body: wf.scan(lambda c, _: (body(c), None), 0.0, length=2),
        lambda body: wf.fori_loop(0, 2, lambda i, c: body(c), 0.0),
        lambda body: wf.while_loop(lambda c: c < 2.0, body, 0.0),
        lambda body: wf.cond(np.array(True), body, body, 0.0),
        lambda body: wf.map(body, np.zeros(2)),
        lambda body: wf.checkpoint(body)(0.0),
    ],
    ids=["scan", "fori_loop", "while_loop", "cond", "map", "checkpoint"],
)
def test_a_value_of_the_enclosing_function_is_not_written_to(wrap: Function) -> None:
    with pytest.raises(wf.TraceError) as caught:
        wf.jit(loop_writes(wrap))(np.zeros(3))
    text = str(caught.value)
    assert "written to in place inside a loop body or branch" in text
    assert "make it a carry or a result, and write x = x.at[0].set(...)" in text


@pytest.mark.parametrize(
    ("wrap", "owner"),
    [
        (lambda f, y: wf.cond(y[0] > 0, f, f, y), "an operand of a branch"),
        (lambda f, y: wf.switch(y.astype(int)[0], [f, f], y), "an operand of a branch"),
        (lambda f, y: wf.checkpoint(f)(y), "an argument of a checkpoint"),
        (lambda f, y: wf.map(f, y[None]), "a row of a sequence"),
        (lambda f, y: wf.scan(lambda c, r: (c, f(r)), 0.0, y[None]), "a row of a sequence"),
    ],
    ids=["cond", "switch", "checkpoint", "map", "scan"],
)
def test_what_python_would_change_for_the_caller_is_not_written_to(
    wrap: Function, owner: str
) -> None:
    """In Python the function's write would show in y; a trace has given it a copy."""

    def clear(x: Any) -> Any:
        x[0] = 0.0
        return x

    with pytest.raises(wf.TraceError, match=f"{owner} is written to in place"):
        wf.jit(lambda x: wrap(clear, x * 1.0))(np.ones(3))


def test_a_carry_is_written_to() -> None:
    def f(x: Any) -> Any:
        def body(i: Any, c: Any) -> Any:
            c[i] = c[i] * 10.0
            c[0] += 1.0
            return c

        return wf.fori_loop(1, 3, body, x * 1.0)

    np.testing.assert_array_equal(wf.jit(f)(np.ones(3)), [3.0, 10.0, 10.0])


def test_a_loop_reads_the_array_as_it_is_when_the_loop_runs() -> None:
    """A view that is stale when a body captures it is read again outside of the body."""

    def f(x: Any) -> Any:
        y = x * 1.0
        row, turned = y[1], y.T
        step = lambda c, _: (c + row + turned[0, 0], None)  # noqa: E731
        first, _ = wf.scan(step, np.zeros(3), length=2)
        y[1, 0] = 50.0
        y[0, 0] = -1.0
        second, _ = wf.scan(step, np.zeros(3), length=2)
        return first, second

    x = matrix()
    first, second = wf.jit(f)(x)
    np.testing.assert_array_equal(first, 2 * (x[1] + x[0, 0]))
    np.testing.assert_array_equal(second, 2 * (np.array([50.0, -5.0, 9.0]) - 1.0))


def test_out_that_is_a_numpy_array_is_refused() -> None:
    buffer = np.zeros((2, 3))
    with pytest.raises(wf.TraceError, match="out= is a NumPy array that the trace cannot write"):
        wf.jit(lambda x: np.exp(x, out=buffer))(matrix())
    with pytest.raises(wf.TraceError, match="writes to a NumPy array from inside a trace"):
        wf.jit(lambda x: np.add.at(buffer, 0, x[0]))(matrix())
    np.testing.assert_array_equal(buffer, np.zeros((2, 3)))


def test_writing_a_traced_value_into_a_numpy_array_is_refused() -> None:
    """NumPy puts a ValueError of its own over our explanation, which is what users see."""

    def f(x: Any) -> Any:
        y = np.zeros(3)
        y[0] = x[0]
        return y

    with pytest.raises(wf.TraceError, match=r"weft.numpy.zeros or np.zeros_like\(x\)") as caught:
        wf.jit(f, control_flow=False)(np.ones(3))
    assert "the write to y[0]" in str(caught.value)


def test_where_without_out_is_refused() -> None:
    with pytest.raises(wf.TraceError, match="where= needs out="):
        wf.jit(lambda x: np.sqrt(x, where=x > 0))(matrix())
