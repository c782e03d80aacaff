"""`vmap`: axes, trees, nesting, and batching through control flow, derivatives and random keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft as wf
from tests.frontends.checking import op_counts

RANDOM = np.random.default_rng(0)
A = RANDOM.normal(size=(4, 3))
B = RANDOM.normal(size=(4, 3))
W = RANDOM.normal(size=(3, 2))


def stacked(function: Callable[..., Any], *columns: Any) -> Any:
    """The function on each example by itself."""
    return np.stack([function(*row) for row in zip(*columns, strict=True)])


@pytest.mark.parametrize("run", [lambda f: f, wf.jit], ids=["eager", "jit"])
def test_vmap_is_a_loop_over_examples(run: Callable[..., Any]) -> None:
    f = lambda a, b: np.tanh(a) @ b + a[0]  # noqa: E731
    np.testing.assert_allclose(run(wf.vmap(f))(A, B), stacked(f, A, B), rtol=1e-14)


def test_vmap_leaves_no_loop_in_the_graph() -> None:
    graph = wf.trace(wf.vmap(lambda x: np.tanh(x @ W).sum()))(A)
    assert "scan" not in op_counts(graph)
    assert op_counts(graph)["dot_general"] == 1


@pytest.mark.parametrize(
    ("in_axes", "out_axes"), [(0, 0), (1, 0), (-1, 1), (2, -1), (-2, 2), ((1,), (1,))]
)
def test_axes_in_and_out(in_axes: Any, out_axes: Any) -> None:
    x = RANDOM.normal(size=(2, 3, 4))
    axis = in_axes[0] if isinstance(in_axes, tuple) else in_axes
    f = lambda m: (m * 2.0,) if isinstance(out_axes, tuple) else m * 2.0  # noqa: E731
    got = wf.vmap(f, in_axes=in_axes, out_axes=out_axes)(x)
    place = out_axes[0] if isinstance(out_axes, tuple) else out_axes
    want = np.stack([m * 2.0 for m in np.moveaxis(x, axis, 0)], axis=place)
    np.testing.assert_array_equal(got[0] if isinstance(got, tuple) else got, want)


def test_arguments_that_are_not_batched() -> None:
    got = wf.vmap(lambda x, w: x @ w, in_axes=(0, None))(A, W)
    np.testing.assert_allclose(got, A @ W)
    got = wf.vmap(lambda w, x: x @ w, in_axes=(1, None), out_axes=1)(W, A)
    np.testing.assert_allclose(got, A @ W)


def test_axes_for_parts_of_trees() -> None:
    def f(p: Any, x: Any) -> Any:
        return {"y": x @ p["w"] + p["b"], "x": x}

    params = {"w": W, "b": RANDOM.normal(size=(4, 2))}
    got = wf.vmap(f, in_axes=({"w": None, "b": 0}, 0), out_axes={"y": 1, "x": 0})(params, A)
    np.testing.assert_allclose(got["y"], (A @ W + params["b"]).T)
    np.testing.assert_array_equal(got["x"], A)


def test_results_that_are_not_batched() -> None:
    f = lambda x: (x * 2.0, W.sum())  # noqa: E731
    doubled, total = wf.vmap(f)(A)
    assert doubled.shape == (4, 3) and total.shape == (4,)
    doubled, total = wf.vmap(f, out_axes=(0, None))(A)
    assert total.shape == ()


def test_keyword_arguments_are_not_batched() -> None:
    np.testing.assert_allclose(wf.vmap(lambda x, w: x @ w)(A, w=W), A @ W)


def test_nested_vmaps_are_an_outer_product() -> None:
    f = wf.vmap(wf.vmap(lambda a, b: a @ b, in_axes=(None, 0)), in_axes=(0, None))
    np.testing.assert_allclose(f(A, B), A @ B.T, rtol=1e-14)


def test_a_batch_of_size_zero_and_of_symbolic_size() -> None:
    assert wf.vmap(lambda x: x @ W)(np.zeros((0, 3))).shape == (0, 2)
    graph = wf.trace(wf.vmap(lambda x: np.tanh(x @ W)))(wf.spec("f64[n, 3]"))
    assert str(graph.results[0].type) == "f64[n, 2]"
    np.testing.assert_allclose(wf.evaluate(graph, [A])[0], np.tanh(A @ W))


def test_captured_traced_values_are_shared() -> None:
    def f(x: Any, w: Any) -> Any:
        scaled = w * 2.0
        return wf.vmap(lambda row: row @ scaled)(x)

    np.testing.assert_allclose(wf.jit(f)(A, W), A @ W * 2)


def test_indexing_and_writing_per_example() -> None:
    indices = np.array([0, 2, 1, -1])
    got = wf.vmap(lambda x, i: x[i])(A, indices)
    np.testing.assert_array_equal(got, A[np.arange(4), indices])
    got = wf.vmap(lambda x, i: x.at[i].add(10.0))(A, indices)
    want = A.copy()
    want[np.arange(4), indices] += 10.0
    np.testing.assert_array_equal(got, want)


# --- control flow ---------------------------------------------------------------------------------


def collatz(n: Any) -> Any:
    def step(c: Any) -> Any:
        n, count = c
        return np.where(n % 2 == 0, n // 2, 3 * n + 1), count + 1

    return wf.while_loop(lambda c: c[0] > 1, step, (n, 0))[1]


def test_a_while_loop_runs_as_long_as_each_example_needs() -> None:
    numbers = np.array([1, 2, 3, 7, 27, 1])
    np.testing.assert_array_equal(wf.vmap(collatz)(numbers), [0, 1, 7, 16, 111, 0])


def test_a_while_loop_in_which_no_example_runs() -> None:
    np.testing.assert_array_equal(wf.vmap(collatz)(np.array([1, 0])), [0, 0])


def test_a_while_loop_does_not_touch_finished_examples() -> None:
    """Going on would give 0/0: an example that has finished must keep its value."""

    def halve(x: Any) -> Any:
        return wf.while_loop(lambda c: c > 1.0, lambda c: c / np.where(c > 1.0, 2.0, 0.0), x)

    x = np.array([0.0, 8.0, 3.0])
    np.testing.assert_array_equal(wf.vmap(halve)(x), [0.0, 1.0, 0.75])
    np.testing.assert_array_equal(wf.vmap(wf.grad(halve))(x), [1.0, 0.125, 0.25])


@pytest.mark.parametrize("p", [np.array([True, False, True, False]), np.ones(4, bool)])
def test_cond_per_example(p: Any) -> None:
    f = lambda p, x: wf.cond(p, np.exp, lambda x: -x, x)  # noqa: E731
    np.testing.assert_allclose(wf.vmap(f)(p, A), np.where(p[:, None], np.exp(A), -A))


def test_cond_with_one_predicate_for_all_stays_a_branch() -> None:
    f = wf.vmap(lambda p, x: wf.cond(p, lambda x: x * 2, lambda x: x, x), in_axes=(None, 0))
    assert "switch" in op_counts(wf.trace(f)(True, A))
    np.testing.assert_array_equal(f(np.array(True), A), A * 2)


def test_switch_per_example() -> None:
    f = lambda i, x: wf.switch(i, [lambda x: x, lambda x: x * 10, lambda x: x * 100], x)  # noqa: E731
    got = wf.vmap(f)(np.array([0, 2, 1, 7]), A)
    np.testing.assert_allclose(got, A * np.array([1.0, 100.0, 10.0, 100.0])[:, None])


def test_scan_with_a_batched_carry_sequence_or_constant() -> None:
    def f(start: Any, xs: Any, w: Any) -> Any:
        return wf.scan(lambda c, x: (c * w + x, c + x), start, xs)

    starts, ws = np.arange(4.0), np.linspace(0.5, 1.5, 4)
    for axes in ((0, None, None), (None, 0, None), (None, None, 0), (0, 0, 0)):
        arguments = [
            full if axis is not None else full[1]
            for axis, full in zip(axes, (starts, A, ws), strict=True)
        ]
        got = wf.vmap(f, in_axes=axes)(*arguments)
        rows = [
            f(*[a[i] if axis is not None else a for axis, a in zip(axes, arguments, strict=True)])
            for i in range(4)
        ]
        np.testing.assert_allclose(got[0], [row[0] for row in rows], rtol=1e-13)
        np.testing.assert_allclose(got[1], [row[1] for row in rows], rtol=1e-13)


def test_loops_inside_loops() -> None:
    def f(x: Any, n: Any) -> Any:
        return wf.scan(lambda c, r: (wf.fori_loop(0, n, lambda i, d: d * 0.5 + r, c), c), 0.0, x)[0]

    counts = np.array([0, 1, 2, 5])
    np.testing.assert_allclose(wf.vmap(f)(A, counts), stacked(f, A, counts), rtol=1e-13)


def test_random_keys_per_example() -> None:
    keys = wf.random.split(wf.random.key(0), 4)
    f = lambda key, x: x + wf.random.normal(key, (3,))  # noqa: E731
    np.testing.assert_array_equal(wf.vmap(f)(keys, A), stacked(f, keys, A))
    dropout = lambda key, x: np.where(wf.random.bernoulli(key, 0.5, (3,)), x, 0.0)  # noqa: E731
    np.testing.assert_array_equal(wf.vmap(dropout)(keys, A), stacked(dropout, keys, A))


# --- derivatives ----------------------------------------------------------------------------------


def loss(params: Any, x: Any, y: Any) -> Any:
    return np.sum((np.tanh(x @ params["w"] + params["b"]) - y) ** 2)


def test_per_example_gradients() -> None:
    params = {"w": W, "b": np.array([0.1, -0.3])}
    y = RANDOM.normal(size=(4, 2))
    got = wf.jit(wf.vmap(wf.grad(loss), in_axes=(None, 0, 0)))(params, A, y)
    rows = [wf.grad(loss)(params, a, b) for a, b in zip(A, y, strict=True)]
    for name, value in params.items():
        assert got[name].shape == (4, *value.shape)
        np.testing.assert_allclose(got[name], [row[name] for row in rows], rtol=1e-12)
    total = wf.grad(lambda p: np.sum(wf.vmap(loss, in_axes=(None, 0, 0))(p, A, y)))(params)
    np.testing.assert_allclose(total["w"], got["w"].sum(axis=0), rtol=1e-12)


def test_vmap_of_jvp_vjp_and_hessian() -> None:
    f = lambda x: np.sum(np.sin(x) * x[0])  # noqa: E731
    got = wf.vmap(wf.hessian(f))(A)
    np.testing.assert_allclose(got, [wf.hessian(f)(a) for a in A], rtol=1e-13)
    got = wf.vmap(lambda x, t: wf.jvp(f, (x,), (t,))[1])(A, B)
    np.testing.assert_allclose(got, [wf.jvp(f, (a,), (b,))[1] for a, b in zip(A, B, strict=True)])


def test_grad_of_vmap_of_scan() -> None:
    def run(w: Any, xs: Any) -> Any:
        return wf.scan(lambda c, x: (np.tanh(w * c + x), None), 0.0, xs)[0]

    def total(w: Any) -> Any:
        return np.sum(wf.vmap(run, in_axes=(None, 0))(w, A) ** 2)

    def by_hand(w: float) -> Any:
        state, slope, gradient = np.zeros(4), np.zeros(4), 0.0
        for x in A.T:
            new = np.tanh(w * state + x)
            slope = (1 - new**2) * (state + w * slope)
            state = new
        gradient = np.sum(2 * state * slope)
        return gradient

    assert wf.jit(wf.grad(total))(0.7) == pytest.approx(by_hand(0.7), rel=1e-12)


# --- misuse ---------------------------------------------------------------------------------------

MISUSE: list[tuple[type[Exception], Callable[[], Any], str]] = [
    (
        wf.ShapeError,
        lambda: wf.vmap(np.add)(np.ones(3), np.ones(4)),
        r"batched axes differ: \S+ of shape \(3,\) has 3, \S+ of shape \(4,\) has 4",
    ),
    (
        wf.ShapeError,
        lambda: wf.vmap(lambda x, y: x)(A, 1.0),
        r"axis 0 is out of range for the argument y of type f64\[\]; say None in in_axes",
    ),
    (wf.ShapeError, lambda: wf.vmap(lambda x: x, in_axes=2)(A), "axis 2 is out of range"),
    (wf.ArgumentError, lambda: wf.vmap(lambda x: x, in_axes=None)(A), "no argument is batched"),
    (
        wf.ArgumentError,
        lambda: wf.vmap(lambda x: x, in_axes=(0, 0))(A),
        "in_axes has 2 entries for 1 arguments",
    ),
    (
        wf.ArgumentError,
        lambda: wf.vmap(lambda p: p["a"], in_axes=({"b": 0},))({"a": A}),
        "the axes given for .* do not match its structure",
    ),
    (
        wf.ArgumentError,
        lambda: wf.vmap(lambda x: x, out_axes=None)(A),
        "out_axes says None for a result that depends on the batched arguments",
    ),
    (wf.ShapeError, lambda: wf.vmap(lambda x: x.sum(), out_axes=1)(A), "axis 1 is out of bounds"),
    (
        wf.ArgumentError,
        lambda: wf.vmap(lambda x: (x, x), out_axes=(0, 0, 0))(A),
        "the axes given for the result do not match its structure",
    ),
]


@pytest.mark.parametrize(("error", "call", "match"), MISUSE)
def test_misuse_is_explained(error: type[Exception], call: Callable[[], Any], match: str) -> None:
    with pytest.raises(error, match=match) as caught:
        call()
    assert "test_vmap.py" in str(caught.value)
