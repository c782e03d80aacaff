"""Derivatives of control flow, nested and to second order, against the same program unrolled.

Each case is a function of a vector with Weft's loops and branches, and its twin with Python's,
which runs for the trip counts that the point at hand gives. Both are differentiated by Weft; the
twin has no control flow left in its graph, and is checked against differences as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import weft as wf
from tests.frontends.checking import numerical_gradient, op_counts

X = np.array([0.6, -0.4, 0.9, 0.3])


@dataclass(frozen=True)
class Twins:
    """A function with control flow, and the same without, at a point."""

    name: str
    looped: Callable[[Any], Any]
    unrolled: Callable[[Any], Any]
    point: Any = None

    @property
    def x(self) -> Any:
        return X if self.point is None else self.point


CASES: list[Twins] = []


def twins(
    looped: Callable[[Any], Any], point: Any = None
) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Register a function, decorating its unrolled twin."""

    def register(unrolled: Callable[[Any], Any]) -> Callable[[Any], Any]:
        CASES.append(Twins(unrolled.__name__, looped, unrolled, point))
        return unrolled

    return register


# --- loops ----------------------------------------------------------------------------------------


def _scan(x: Any) -> Any:
    carry, ys = wf.scan(lambda c, r: (np.tanh(c * x[0] + r), c * r), x[1], x)
    return carry * 2.0 + np.sum(ys**2)


@twins(_scan)
def scan(x: Any) -> Any:
    c, total = x[1], 0.0
    for r in x:
        total = total + (c * r) ** 2
        c = np.tanh(c * x[0] + r)
    return c * 2.0 + total


def _reverse(x: Any) -> Any:
    carry, ys = wf.scan(lambda c, r: (np.sin(c + r * x[2]), c), x[0], x * x, reverse=True)
    return carry + np.sum(ys * x)


@twins(_reverse)
def reverse_scan(x: Any) -> Any:
    c, total = x[0], 0.0
    for i in range(4)[::-1]:
        total = total + c * x[i]
        c = np.sin(c + x[i] * x[i] * x[2])
    return c + total


def _scan_of_scan(x: Any) -> Any:
    def outer(c: Any, r: Any) -> Any:
        inner, ys = wf.scan(lambda d, s: (d * np.cos(s) + r * x[3], d + s), c, x)
        return inner, np.sum(ys) * r

    carry, ys = wf.scan(outer, x[0], x[:3])
    return carry + np.sum(ys**2)


@twins(_scan_of_scan)
def scan_of_scan(x: Any) -> Any:
    c, total = x[0], 0.0
    for r in x[:3]:
        d, partial = c, 0.0
        for s in x:
            partial = partial + d + s
            d = d * np.cos(s) + r * x[3]
        total = total + (partial * r) ** 2
        c = d
    return c + total


def _while_loop(x: Any) -> Any:
    step = lambda c: (c[0] + 1, np.sin(c[1] * x[0]) + x[1])  # noqa: E731
    count, value = wf.while_loop(lambda c: c[0] < 5, step, (0, x[2]))
    return value * value * (count + 0.0)


@twins(_while_loop)
def while_loop(x: Any) -> Any:
    value = x[2]
    for _ in range(5):
        value = np.sin(value * x[0]) + x[1]
    return value * value * 5.0


def _snapshots(memory: int, trips: int) -> Callable[[Any], Any]:
    """The same loop with a budget for snapshots, from which reverse mode computes steps again."""

    def looped(x: Any) -> Any:
        step = lambda c: (c[0] + 1, np.sin(c[1] * x[0]) + x[1])  # noqa: E731
        return wf.while_loop(lambda c: c[0] < trips, step, (0, x[2]), memory=memory)[1]

    return looped


def _steps(trips: int) -> Callable[[Any], Any]:
    def unrolled(x: Any) -> Any:
        value = x[2]
        for _ in range(trips):
            value = np.sin(value * x[0]) + x[1]
        return value

    return unrolled


for memory, trips in ((1, 5), (32, 7), (48, 1), (48, 0), (10_000, 6)):
    CASES.append(
        Twins(f"{trips} steps in {memory} bytes", _snapshots(memory, trips), _steps(trips))
    )


def _while_that_stops_by_value(x: Any) -> Any:
    return wf.while_loop(lambda c: np.sum(c * c) > 0.5, lambda c: c * np.cos(x[1]) * 0.8, x)[0]


@twins(_while_that_stops_by_value)
def while_that_stops_by_value(x: Any) -> Any:
    c, known = x, X
    while np.sum(known * known) > 0.5:
        c, known = c * np.cos(x[1]) * 0.8, known * np.cos(X[1]) * 0.8
    return c[0]


def _while_without_iterations(x: Any) -> Any:
    value = wf.while_loop(lambda c: c > 100.0, lambda c: c * x[0] * x[1], x[2] * x[2])
    return value * x[3]


@twins(_while_without_iterations)
def while_without_iterations(x: Any) -> Any:
    return x[2] * x[2] * x[3]


def _scan_of_length_zero(x: Any) -> Any:
    carry, ys = wf.scan(lambda c, r: (c * r, c + x[0]), x[1] * x[2], x[:0])
    return carry * x[0] + np.sum(ys)


@twins(_scan_of_length_zero)
def scan_of_length_zero(x: Any) -> Any:
    return x[1] * x[2] * x[0]


def _scan_of_while(x: Any) -> Any:
    """0, 1, 2 and 3 iterations of the inner loop, one after the other."""

    def step(c: Any, xs: Any) -> Any:
        r, n = xs
        _, value = wf.while_loop(
            lambda d: d[0] < n, lambda d: (d[0] + 1, d[1] * np.sin(r) + x[0]), (0, c)
        )
        return value, value * r

    carry, ys = wf.scan(step, x[1], (x, np.arange(4)))
    return carry + np.sum(ys * ys)


@twins(_scan_of_while)
def scan_of_while(x: Any) -> Any:
    c, total = x[1], 0.0
    for n, r in enumerate(x):
        for _ in range(n):
            c = c * np.sin(r) + x[0]
        total = total + (c * r) ** 2
    return c + total


def _while_of_scan(x: Any) -> Any:
    def step(c: Any) -> Any:
        inner, ys = wf.scan(lambda d, r: (d * r + x[0], d), c[1], x)
        return c[0] + 1, np.tanh(inner) + np.sum(ys) * 0.1

    return wf.while_loop(lambda c: c[0] < 3, step, (0, x[2]))[1]


@twins(_while_of_scan)
def while_of_scan(x: Any) -> Any:
    c = x[2]
    for _ in range(3):
        d, total = c, 0.0
        for r in x:
            total = total + d
            d = d * r + x[0]
        c = np.tanh(d) + total * 0.1
    return c


def _while_of_while(x: Any) -> Any:
    def outer(c: Any) -> Any:
        n, value = c
        _, value = wf.while_loop(
            lambda d: d[0] < n, lambda d: (d[0] + 1, np.cos(d[1] * x[1])), (0, value)
        )
        return n + 1, value + x[0]

    return wf.while_loop(lambda c: c[0] < 4, outer, (0, x[3]))[1]


@twins(_while_of_while)
def while_of_while(x: Any) -> Any:
    value = x[3]
    for n in range(4):
        for _ in range(n):
            value = np.cos(value * x[1])
        value = value + x[0]
    return value


def _fori_with_traced_bounds(x: Any) -> Any:
    high = wf.numpy.asarray(4) + (x[0] > 100.0)
    return wf.fori_loop(1, high, lambda i, c: c * x[0] + np.sin(x[1]) * i, x[2])


@twins(_fori_with_traced_bounds)
def fori_with_traced_bounds(x: Any) -> Any:
    c = x[2]
    for i in range(1, 4):
        c = c * x[0] + np.sin(x[1]) * i
    return c


def _map(x: Any) -> Any:
    return np.sum(wf.map(lambda r: np.sin(r * x[0]) * r, x) ** 2)


@twins(_map)
def mapped(x: Any) -> Any:
    return np.sum((np.sin(x * x[0]) * x) ** 2)


def _carry_tree(x: Any) -> Any:
    def step(c: Any, r: Any) -> Any:
        new = {
            "a": c["b"] * r,
            "b": (c["a"] + np.sin(c["b"])),
            "n": c["n"] + 1,
            "fixed": c["fixed"],
        }
        return new, None

    end, _ = wf.scan(step, {"a": x[0], "b": x[1], "n": 0, "fixed": x}, x)
    return end["a"] * end["b"] + np.sum(end["fixed"]) * end["n"]


@twins(_carry_tree)
def carry_of_many_kinds(x: Any) -> Any:
    a, b = x[0], x[1]
    for r in x:
        a, b = b * r, a + np.sin(b)
    return a * b + np.sum(x) * 4.0


# --- branches -------------------------------------------------------------------------------------


def _cond(x: Any) -> Any:
    first = wf.cond(x[0] > 0, lambda y: np.sin(y) * x[1], lambda y: y * y, x)
    second = wf.cond(x[1] > 0, lambda: x[0] * 5.0, lambda: np.exp(x[2]) * x[1])
    return np.sum(first * first) * second


@twins(_cond)
def cond(x: Any) -> Any:
    first = np.sin(x) * x[1]
    return np.sum(first * first) * np.exp(x[2]) * x[1]


def _cond_of_scan(x: Any) -> Any:
    def forward(y: Any) -> Any:
        return wf.scan(lambda c, r: (c * r + np.sin(c), None), y, x)[0]

    def backward(y: Any) -> Any:
        return wf.scan(lambda c, r: (np.tanh(c + r), None), y, x, reverse=True)[0]

    return wf.cond(x[0] > 0, forward, backward, x[1]) + wf.cond(x[0] < 0, forward, backward, x[2])


@twins(_cond_of_scan)
def cond_of_scan(x: Any) -> Any:
    first, second = x[1], x[2]
    for r in x:
        first = first * r + np.sin(first)
    for r in x[::-1]:
        second = np.tanh(second + r)
    return first + second


def _while_of_cond(x: Any) -> Any:
    def step(c: Any) -> Any:
        n, value = c
        new = wf.cond(
            n % 2 == 0, lambda v: np.sin(v) * x[0], lambda v: v * v + wf.numpy.take(x, n % 4), value
        )
        return n + 1, new

    return wf.while_loop(lambda c: c[0] < 5, step, (0, x[1]))[1]


@twins(_while_of_cond)
def while_of_cond(x: Any) -> Any:
    value = x[1]
    for n in range(5):
        value = np.sin(value) * x[0] if n % 2 == 0 else value * value + x[n % 4]
    return value


def _switch_in_scan(x: Any) -> Any:
    branches = [lambda c: c * x[0], lambda c: np.sin(c), lambda c: c + x[3] ** 2]
    return wf.scan(lambda c, i: (wf.switch(i, branches, c), c), x[1], np.array([0, 1, 2, 1]))[0]


@twins(_switch_in_scan)
def switch_in_scan(x: Any) -> Any:
    return np.sin(np.sin(x[1] * x[0]) + x[3] ** 2)


def _nested_jit(x: Any) -> Any:
    inner = wf.jit(lambda y, z: np.sin(y) * z)
    return wf.scan(lambda c, r: (inner(c, r) + x[0], None), x[1], x)[0]


@twins(_nested_jit)
def nested_jit(x: Any) -> Any:
    c = x[1]
    for r in x:
        c = np.sin(c) * r + x[0]
    return c


# --- the checks -----------------------------------------------------------------------------------

ALL = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@ALL
def test_value_and_twin(case: Twins) -> None:
    assert case.looped(case.x) == pytest.approx(case.unrolled(case.x), rel=1e-13)
    assert wf.jit(case.looped)(case.x) == pytest.approx(case.unrolled(case.x), rel=1e-13)


@ALL
def test_gradient(case: Twins) -> None:
    got = wf.jit(wf.grad(case.looped))(case.x)
    np.testing.assert_allclose(got, wf.grad(case.unrolled)(case.x), rtol=1e-11, atol=1e-13)
    differences = numerical_gradient(case.unrolled, case.x)
    np.testing.assert_allclose(got, differences, rtol=1e-7, atol=1e-9)


@ALL
def test_forward_mode(case: Twins) -> None:
    direction = np.array([1.0, -2.0, 0.5, 3.0])
    got = wf.jvp(case.looped, (case.x,), (direction,))[1]
    assert got == pytest.approx(wf.grad(case.unrolled)(case.x) @ direction, rel=1e-11)
    value, push = wf.linearize(case.looped, case.x)
    assert push(direction) == pytest.approx(got, rel=1e-12)


@pytest.mark.slow
@ALL
def test_second_order(case: Twins) -> None:
    want = wf.hessian(case.unrolled)(case.x)
    assert_close = np.testing.assert_allclose
    assert_close(wf.hessian(case.looped)(case.x), want, rtol=1e-10, atol=1e-12)
    assert_close(wf.jacrev(wf.grad(case.looped))(case.x), want, rtol=1e-10, atol=1e-12)
    assert_close(wf.jacfwd(wf.jacfwd(case.looped))(case.x), want, rtol=1e-10, atol=1e-12)
    assert_close(wf.jacrev(wf.jacfwd(case.looped))(case.x), want, rtol=1e-10, atol=1e-12)


@ALL
def test_batched(case: Twins) -> None:
    """At the same point thrice, so that the twin's trip counts hold, with gradients batched too."""
    xs = np.stack([case.x] * 3)
    got = wf.vmap(wf.value_and_grad(case.looped))(xs)
    want = wf.value_and_grad(case.unrolled)(case.x)
    np.testing.assert_allclose(got[0], np.full(3, want[0]), rtol=1e-12)
    np.testing.assert_allclose(got[1], np.stack([want[1]] * 3), rtol=1e-11, atol=1e-13)
    total = wf.grad(lambda xs: np.sum(wf.vmap(case.looped)(xs)))(xs)
    np.testing.assert_allclose(total, got[1], rtol=1e-11, atol=1e-13)


# --- what is special about one op -----------------------------------------------------------------


def test_trip_counts_that_differ_within_a_batch() -> None:
    def f(x: Any, n: Any) -> Any:
        return wf.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, np.sin(c[1] * x)), (0, x))[1]

    counts, x = np.array([0, 1, 5, 3]), 1.3
    got = wf.vmap(wf.grad(f), in_axes=(None, 0))(x, counts)
    want = [wf.grad(f)(x, n) for n in counts]
    np.testing.assert_allclose(got, want, rtol=1e-13)
    second = wf.vmap(wf.grad(wf.grad(f)), in_axes=(None, 0))(x, counts)
    np.testing.assert_allclose(second, [wf.grad(wf.grad(f))(x, n) for n in counts], rtol=1e-12)


def test_trip_counts_that_differ_within_a_batch_with_snapshots() -> None:
    def f(x: Any, n: Any, memory: int | None) -> Any:
        step = lambda c: (c[0] + 1, np.sin(c[1] * x))  # noqa: E731
        return wf.while_loop(lambda c: c[0] < n, step, (0, x), memory=memory)[1]

    counts, x = np.array([0, 1, 5, 3]), 1.3
    got = wf.vmap(wf.grad(lambda x, n: f(x, n, 40)), in_axes=(None, 0))(x, counts)
    np.testing.assert_allclose(got, [wf.grad(lambda x, n=n: f(x, n, None))(x) for n in counts])


def test_predicates_that_differ_within_a_batch() -> None:
    def f(x: Any) -> Any:
        return wf.cond(x > 0, lambda x: np.sqrt(x), lambda x: x * x, x)

    x = np.array([4.0, -3.0, 1.0])
    np.testing.assert_allclose(wf.vmap(wf.grad(f))(x), [0.25, -6.0, 0.5])
    np.testing.assert_allclose(wf.vmap(wf.grad(wf.grad(f)))(x), [-1 / 32, 2.0, -0.25])


def test_the_branch_not_taken_costs_nothing_and_leaks_no_nan() -> None:
    f = lambda x: wf.cond(x > 0, lambda: np.sqrt(x), lambda: x * 3.0)  # noqa: E731
    assert wf.grad(f)(-1.0) == 3.0
    assert wf.grad(f)(0.0) == 3.0


def test_symbolic_lengths_are_differentiated() -> None:
    def f(x: Any) -> Any:
        return wf.scan(lambda c, r: (np.sin(c + r), None), 0.0, x)[0]

    graph = wf.trace(wf.grad(f))(wf.spec("f64[n]"))
    for size in (1, 2, 6):
        x = np.linspace(0.1, 1.0, size)
        np.testing.assert_allclose(wf.evaluate(graph, [x])[0], wf.grad(f)(x), rtol=1e-14)


def test_constants_of_a_loop_add_up() -> None:
    """The gradient by a captured matrix is the sum over steps, kept in one carry."""
    w = np.array([[0.5, -0.2], [0.1, 0.4]])
    xs = np.arange(6.0).reshape(3, 2) / 6

    def f(w: Any) -> Any:
        return np.sum(wf.scan(lambda c, x: (np.tanh(w @ c + x), None), np.zeros(2), xs)[0])

    np.testing.assert_allclose(wf.grad(f)(w), numerical_gradient(f, w), rtol=1e-8)


def test_integers_in_a_carry_have_no_part_in_the_backward_loop() -> None:
    def f(x: Any) -> Any:
        step = lambda c, _: ((c[0] + 1, np.sin(c[1])), None)  # noqa: E731
        return wf.scan(step, (0, x), length=3)[0][1]

    graph = wf.trace(wf.grad(f))(1.0)
    for op in graph.ops:
        if op.name == "scan":
            assert all(str(o.type.dtype) != "i64" for o in op.operands)


def test_a_gradient_through_a_loop_keeps_its_graph_small() -> None:
    """The trip count does not show in the graph."""

    def gradient_size(length: int) -> int:
        f = lambda x: wf.scan(lambda c, _: (np.sin(c), None), x, length=length)[0]  # noqa: E731
        return op_counts(wf.trace(wf.grad(f))(1.0)).total()

    assert gradient_size(3) == gradient_size(1000)
