"""Transforms of transforms: jit, grad, vmap, control flow and random numbers inside each other."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import weft as wf


def inner_function(x: Any) -> Any:
    return np.sin(x) * x


inner = wf.jit(inner_function)
SLOPE = np.sin(0.5) + 0.5 * np.cos(0.5)


def test_grad_of_jit_and_jit_of_grad_of_jit() -> None:
    assert wf.grad(inner)(0.5) == pytest.approx(SLOPE, abs=1e-14)
    assert wf.jit(wf.grad(inner))(0.5) == pytest.approx(SLOPE, abs=1e-14)
    assert wf.grad(wf.jit(wf.grad(inner)))(0.5) == pytest.approx(
        2 * np.cos(0.5) - 0.5 * np.sin(0.5)
    )


def test_vmap_of_grad_of_jit() -> None:
    np.testing.assert_allclose(wf.vmap(wf.grad(inner))(np.full(2, 0.5)), [SLOPE, SLOPE])


def test_gradient_descent_inside_a_loop_is_differentiable() -> None:
    def descend(rate: Any) -> Any:
        step = wf.grad(lambda w: (w - 3) ** 2)
        return wf.fori_loop(0, 5, lambda i, w: w - rate * step(w), 0.0)

    expected = 3 * 5 * 2 * (1 - 2 * 0.1) ** 4
    assert wf.grad(descend)(0.1) == pytest.approx(expected)


def test_jacobian_of_a_function_that_captures_a_traced_value() -> None:
    def f(x: Any) -> Any:
        return wf.jacfwd(lambda y: np.stack([y * x, inner(y)]))(x)

    np.testing.assert_allclose(wf.jit(f)(0.5), [0.5, SLOPE])


def test_a_dropout_mask_is_the_same_in_the_backward_part() -> None:
    def loss(w: Any, key: Any) -> Any:
        kept = wf.random.bernoulli(key, 0.5, (64,))
        return np.sum(np.where(kept, w * 2.0, 0.0) ** 2)

    key = wf.random.key(3)
    mask = wf.random.bernoulli(key, 0.5, (64,))
    np.testing.assert_array_equal(wf.grad(loss)(np.ones(64), key), np.where(mask, 8.0, 0.0))


def test_vmap_over_random_keys_draws_for_each() -> None:
    keys = wf.random.split(wf.random.key(3), 3)
    drawn = wf.vmap(lambda key: wf.random.normal(key, (2,)))(keys)
    np.testing.assert_array_equal(drawn, [wf.random.normal(key, (2,)) for key in keys])


def test_vmap_of_a_while_loop_stops_each_lane_on_its_own() -> None:
    def power(limit: Any) -> Any:
        return wf.while_loop(lambda c: c[0] < limit, lambda c: (c[0] + 1, c[1] * 2.0), (0.0, 1.0))[
            1
        ]

    np.testing.assert_array_equal(wf.vmap(power)(np.array([1.0, 3.0, 5.0])), [2.0, 8.0, 32.0])


def test_gradient_of_a_while_loop_obeys_its_memory() -> None:
    def run(w: Any, memory: int | None) -> Any:
        start = (0, np.full(16, 0.9))
        step = lambda k: (k[0] + 1, np.sin(k[1] * w))  # noqa: E731
        return wf.while_loop(lambda k: k[0] < 100, step, start, memory=memory)[1].sum()

    full = wf.grad(lambda w: run(w, None))(1.1)
    budget = 8 * (16 + 1) * 5
    assert wf.grad(lambda w: run(w, budget))(1.1) == pytest.approx(float(full), rel=1e-13)
    graph = wf.trace(wf.grad(lambda w: run(w, budget)))(1.1)
    slots = [
        p.type
        for region in graph.regions()
        for p in region.parameters
        if p.type.shape[:1] == (5,) and p.type.rank == 2
    ]
    assert {str(type) for type in slots} == {"f64[5, 16]"}
    assert not graph.defined_symbols, "no record of all steps is kept"


def test_complex_gradient_points_uphill() -> None:
    z = np.array([1 + 2j])
    np.testing.assert_allclose(wf.grad(lambda z: np.sum(np.abs(z) ** 2))(z), 2 * z)


@dataclasses.dataclass
class Model:
    w: Any
    power: int = dataclasses.field(default=2, metadata={"static": True})


def test_gradient_of_a_dataclass_is_a_dataclass() -> None:
    gradient = wf.grad(lambda model: np.sum(model.w**model.power))(Model(np.ones(2)))
    assert isinstance(gradient, Model) and gradient.power == 2
    np.testing.assert_array_equal(gradient.w, [2.0, 2.0])


def test_custom_rules_may_call_their_own_function() -> None:
    @wf.custom_jvp
    def grow(x: Any) -> Any:
        return np.exp(x)

    @grow.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        y = grow(*primals)
        return y, tangents[0] * y

    @wf.custom_vjp
    def grow_back(x: Any) -> Any:
        return np.exp(x)

    def forward(x: Any) -> Any:
        y = grow_back(x)
        return y, y

    grow_back.defvjp(forward, lambda y, cotangent: (cotangent * y,))
    for function in (grow, grow_back):
        assert wf.grad(function)(1.0) == pytest.approx(np.e)
        np.testing.assert_allclose(wf.vmap(wf.grad(function))(np.zeros(2)), [1.0, 1.0])
    assert wf.grad(wf.grad(wf.grad(grow)))(1.0) == pytest.approx(np.e)


def test_implicit_root_has_derivatives_of_every_order() -> None:
    def newton(a: Any) -> Any:
        return wf.fori_loop(0, 20, lambda i, x: 0.5 * (x + a / x), a)

    derivative = wf.implicit.root(lambda x, a: x * x - a, newton)
    for expected in (2.0, 0.25, -0.03125, 0.01171875, -0.00732421875):
        assert derivative(4.0) == pytest.approx(expected, rel=1e-12)
        derivative = wf.grad(derivative)


@pytest.mark.parametrize(
    ("function", "point"),
    [
        (lambda x: np.where(x > 0, x, np.exp(x) - 1), 1000.0),
        (lambda x: np.where(x > 0, np.sqrt(x), 0.0), 0.0),
        (lambda x: np.where(x > 0, x * np.log(x), 0.0), 0.0),
        (lambda x: np.where(x > 0, -3 / x, 0.0), 0.0),
    ],
)
def test_a_branch_of_where_that_is_not_taken_does_not_leak(function: Any, point: float) -> None:
    expected, point = (1.0 if point > 0 else 0.0), np.float64(point)  # -3 / 0.0 is Python's error
    assert wf.grad(function)(point) == expected
    assert wf.jvp(function, (point,), (1.0,))[1] == expected
    assert wf.grad(wf.grad(function))(point) == 0.0
