"""Gradient graphs as they come out of the transforms, before any pass: about as many ops as a
program written by hand, and linear in depth.

Counts include the ops inside loops. Each test derives the count by hand, to which the transforms
may add a tenth: literal arithmetic such as 1/n, which constant folding removes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import weft as wf
from tests.frontends.checking import op_count, op_counts
from weft.compiler.ir.build import Builder

RANDOM = np.random.default_rng(0)


def assert_lean(function: Callable[..., Any], arguments: tuple[Any, ...], by_hand: int) -> None:
    made = op_count(wf.trace(wf.value_and_grad(function))(*arguments))
    assert by_hand * 0.9 <= made <= by_hand * 1.1


# --- a network ------------------------------------------------------------------------------------


def mlp(params: Any, x: Any, y: Any) -> Any:
    for w, b in params[:-1]:
        x = np.tanh(x @ w + b)
    w, b = params[-1]
    return np.mean((x @ w + b - y) ** 2)


def mlp_arguments(layers: int) -> tuple[Any, ...]:
    params = [(RANDOM.normal(size=(4, 4)), RANDOM.normal(size=4)) for _ in range(layers)]
    return params, RANDOM.normal(size=(5, 4)), RANDOM.normal(size=(5, 4))


@pytest.mark.parametrize("layers", [3, 8])
def test_the_gradient_of_a_network(layers: int) -> None:
    """Forward: per layer a product, a stretched bias, their sum and a tanh, which the last lacks;
    then difference, square, sum and division.
    Backward: 2/n times the difference; per layer the gradients of weight and bias, a product and a
    sum; the product that goes on to the layer below, except for the first; and per tanh
    g * (1 - h * h), three ops.
    """
    forward = 4 * layers - 1 + 4
    backward = 1 + 2 * layers + (layers - 1) + 3 * (layers - 1)
    assert op_count(wf.trace(mlp)(*mlp_arguments(layers))) == forward
    assert_lean(mlp, mlp_arguments(layers), forward + backward)


def test_ops_grow_linearly_with_layers() -> None:
    counts = [op_count(wf.trace(wf.value_and_grad(mlp))(*mlp_arguments(k))) for k in (4, 8, 16)]
    per_layer = (counts[1] - counts[0]) // 4
    assert counts == [counts[0], counts[0] + 4 * per_layer, counts[0] + 12 * per_layer]
    assert per_layer == 10


@pytest.mark.counts_ops
def test_the_work_of_the_transforms_grows_linearly_with_layers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Counted in ops emitted on the way, which unlike time is exact."""
    emitted = [0]
    emit = Builder.emit

    def counting(self: Builder, *args: Any, **kwargs: Any) -> Any:
        emitted[0] += 1
        return emit(self, *args, **kwargs)

    monkeypatch.setattr(Builder, "emit", counting)
    work = []
    for layers in (4, 8, 16):
        arguments = mlp_arguments(layers)
        emitted[0] = 0
        wf.trace(wf.value_and_grad(mlp))(*arguments)
        work.append(emitted[0])
    assert work[2] - work[1] == 2 * (work[1] - work[0])
    assert work[2] <= 3 * op_count(wf.trace(wf.value_and_grad(mlp))(*mlp_arguments(16)))


def test_the_second_derivative_is_a_small_multiple() -> None:
    """A Hessian-vector product costs a few gradients, whatever the depth."""
    for layers in (4, 8):
        params, x, y = mlp_arguments(layers)

        def product(p: Any, v: Any, x: Any = x, y: Any = y) -> Any:
            return wf.hvp(lambda p: mlp(p, x, y), (p,), (v,))

        gradient = op_count(wf.trace(wf.grad(mlp))(params, x, y))
        assert op_count(wf.trace(product)(params, params)) <= 3 * gradient


# --- a recurrent network --------------------------------------------------------------------------


def lstm(p: Any, xs: Any) -> Any:
    def step(c: Any, x: Any) -> Any:
        h, s = c
        i, f, o, u = np.split(x @ p["wx"] + h @ p["wh"] + p["b"], 4, axis=-1)
        sigmoid = scipy.special.expit
        s = sigmoid(f) * s + sigmoid(i) * np.tanh(u)
        h = sigmoid(o) * np.tanh(s)
        return (h, s), h

    start = np.zeros((2, 3)), np.zeros((2, 3))
    _, hs = wf.scan(step, start, xs)
    return np.sum(hs**2)


def lstm_arguments(length: int = 7) -> tuple[Any, ...]:
    p = {"wx": np.ones((4, 12)), "wh": np.ones((3, 12)), "b": np.ones(12)}
    return p, np.ones((length, 2, 4))


def test_the_gradient_of_an_lstm() -> None:
    """Forward step: 2 products, 2 sums and a stretched bias, 4 slices, 3 sigmoids, 2 tanhs, 3
    products of gates and a sum. Around it the scan, a square and a sum.
    Backward step: the cotangents of h meet (1); of a gate and its partner, each of 3 products of
    gates gives 2; sigmoids y * (1 - y) * g, 3 ops each; tanhs (1 - y * y) * g, 3 ops each; those of
    s meet (1); the slices are padded and added (4 + 3); the gradients by weights and bias, 2
    products and a sum, and the product to h (4); these add up over the steps (3). Around it the
    scan, 2 h, and 5 zeros to start from.
    """
    forward = (2 + 3 + 4 + 3 + 2 + 4) + 3
    step = 1 + 3 * 2 + 3 * 3 + 2 * 3 + 1 + 7 + 4 + 3
    assert op_count(wf.trace(lstm, control_flow=False)(*lstm_arguments())) == forward
    assert_lean(lstm, lstm_arguments(), forward + step + 7)


def test_the_gradient_of_a_loop_does_not_depend_on_its_length() -> None:
    derivative = wf.value_and_grad(lstm, control_flow=False)
    graphs = [wf.trace(derivative)(*lstm_arguments(n)) for n in (3, 100)]
    assert op_counts(graphs[0]) == op_counts(graphs[1])


def test_a_loop_hands_over_what_its_backward_part_needs_and_no_more() -> None:
    """Per step of the LSTM: the gates i, f, o and u, tanh(s), and the carries h and s before it;
    with derivatives of tanh and sigmoid formed on either side, at most 5 more.
    """
    graph = wf.trace(wf.value_and_grad(lstm, control_flow=False))(*lstm_arguments())
    forward, backward = [op for op in graph.ops if op.name == "scan"]
    results = 3
    handed = set(forward.results[results:]) & set(backward.operands)
    assert len(handed) == len(forward.results) - results
    assert 7 <= len(handed) <= 12


# --- attention ------------------------------------------------------------------------------------


def attention(p: Any, x: Any) -> Any:
    q, k, v = x @ p["q"], x @ p["k"], x @ p["v"]
    scores = q @ k.T / 2.0
    scores = scores - wf.stop_gradient(np.max(scores, axis=-1, keepdims=True))
    weights = np.exp(scores)
    weights = weights / np.sum(weights, axis=-1, keepdims=True)
    return np.sum((weights @ v @ p["o"]) ** 2)


def attention_arguments() -> tuple[Any, ...]:
    return {name: RANDOM.normal(size=(4, 4)) for name in "qkvo"}, RANDOM.normal(size=(6, 4))


def test_the_gradient_of_attention() -> None:
    """Forward: 6 products, a transpose, the division by 2; maximum, its axis put back, the stop,
    stretched, subtracted; exponential; sum, axis, stretched, divided by; square and sum.
    Backward: 2 * out; output weight and what goes on (2); values and weights (2); through the
    division g / n, its sum with -w as factors (2 + 1), reshaped, stretched and added (3), times
    the exponential; the division by 2; queries and keys with the transpose back (3); and the
    gradients of three weights.
    """
    forward = 6 + 1 + 1 + 5 + 1 + 4 + 2
    softmax = 1 + 2 + 1 + 3 + 1
    backward = 1 + 2 + 2 + softmax + 1 + 3 + 3
    assert op_count(wf.trace(attention)(*attention_arguments())) == forward
    assert_lean(attention, attention_arguments(), forward + backward)


# --- what is not asked for ------------------------------------------------------------------------


def test_frozen_layers_below_are_not_differentiated() -> None:
    """The gradient by the last layer: k products forward and one for its weight; no derivative of
    tanh, so the only factors are those of the loss.
    """

    def loss(last: Any, frozen: Any, x: Any, y: Any) -> Any:
        return mlp([*frozen, last], x, y)

    params, x, y = mlp_arguments(5)
    counts = op_counts(wf.trace(wf.grad(loss))(params[-1], params[:-1], x, y))
    assert counts["dot_general"] == 5 + 1
    assert counts["tanh"] == 4
    assert counts["mul"] <= 2
    assert counts["reduce_sum"] == 1


@pytest.mark.parametrize("how", ["argnums", "stop_gradient", "closure"])
def test_a_frozen_layer_in_between_passes_on_and_has_no_gradient(how: str) -> None:
    """Three layers: 3 products forward; backward 2 for the last, 1 through the frozen one and 1
    for the weight of the first. Trained too, the middle would cost a product and a sum more.
    """
    params, x, y = mlp_arguments(3)

    def by_argnums(first: Any, last: Any, middle: Any) -> Any:
        return mlp([first, middle, last], x, y)

    def stopped(first: Any, last: Any, middle: Any) -> Any:
        return mlp([first, wf.stop_gradient(middle), last], x, y)

    def closed(first: Any, last: Any, _: Any) -> Any:
        return mlp([first, params[1], last], x, y)

    function = {"argnums": by_argnums, "stop_gradient": stopped, "closure": closed}[how]
    graph = wf.trace(wf.grad(function, (0, 1)))(params[0], params[2], params[1])
    counts = op_counts(graph)
    assert counts["dot_general"] == 3 + 2 + 1 + 1
    assert counts["reduce_sum"] == 2
    trained = op_counts(wf.trace(wf.grad(by_argnums, (0, 1, 2)))(params[0], params[2], params[1]))
    assert trained["dot_general"] == counts["dot_general"] + 1
    assert trained["reduce_sum"] == counts["reduce_sum"] + 1


def test_grad_does_not_compute_the_value() -> None:
    """sum(x * x): the gradient needs neither the squares nor the sum."""
    counts = op_counts(wf.trace(wf.grad(lambda x: np.sum(x * x)))(np.ones(3)))
    assert "reduce_sum" not in counts


def test_results_that_are_not_used_leave_no_op() -> None:
    def f(x: Any) -> Any:
        unused = np.exp(x) @ np.sin(x)
        carry, ys = wf.scan(lambda c, r: (np.tanh(c * r), np.cos(r)), 0.0, x)
        return carry, (unused, ys)

    counts = op_counts(wf.trace(wf.grad(lambda x: f(x)[0]))(np.ones(3)))
    assert not {"exp", "sin", "cos"} & set(counts)


def test_a_linear_function_keeps_nothing() -> None:
    """The gradient of a linear function does not read the point."""
    graph = wf.trace(wf.grad(lambda x: np.sum(3.0 * x[::2] - x[1::2])))(np.ones(6))
    (x,) = graph.parameters
    assert all(x not in op.operands for op in graph.ops)


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_nested_loops_give_nested_loops(depth: int) -> None:
    """d loops within each other: the gradient has 2 d of them and one derivative of sine."""

    def f(x: Any) -> Any:
        def level(c: Any, left: int) -> Any:
            if left == 0:
                return np.sin(c * x)
            return wf.scan(lambda c, _: (level(c, left - 1), None), c, length=2)[0]

        return level(x, depth)

    counts = op_counts(wf.trace(wf.grad(f))(0.5))
    assert counts["scan"] == 2 * depth
    assert counts["cos"] == 1
