"""Stacks of layers whose channels are laid out anew give the same values and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft as wf
from weft.compiler.ir.evaluate import evaluate
from weft.compiler.passes.layout.channels import layout_changes
from weft.compiler.passes.pipeline import optimise
from weft.frontends.tracing import tree

KINDS = ("one tap", "one tap", "residual", "dense", "average", "join", "pad", "last")


def layer(kind: str, x: Any, start: Any, weights: Any) -> Any:
    half = x.shape[1] // 2
    match kind:
        case "one tap":
            return np.tanh(wf.conv(x, weights["one"]) + weights["bias"][:, None, None])
        case "residual":
            return x + start
        case "dense":
            return wf.conv(x, weights["dense"], padding="same")
        case "average":
            return wf.avg_pool(x, 3, strides=1, padding=1)
        case "join":
            return np.concatenate([x[:, :half], start[:, half:]], axis=1)
        case "pad":
            padded = np.pad(x.transpose(0, 2, 3, 1), ((0, 0), (1, 0), (0, 1), (0, 0)))
            return padded[:, 1:, :-1].transpose(0, 3, 1, 2)
    return np.sin(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)


@settings(max_examples=25, deadline=None)
@given(
    kinds=st.lists(st.sampled_from(KINDS), min_size=2, max_size=6),
    images=st.integers(1, 4),
    channels=st.sampled_from([8, 64, 160]),
    size=st.sampled_from([1, 2, 3, 5]),
)
def test_values_and_gradients_stay(kinds: list[str], images: int, channels: int, size: int) -> None:
    r = np.random.default_rng(len(kinds))
    weights = {
        "one": r.normal(size=(channels, channels, 1, 1)) / channels**0.5,
        "bias": r.normal(size=channels),
        "dense": r.normal(size=(channels, channels, 3, 3)) / (9 * channels) ** 0.5,
    }
    x = r.normal(size=(images, channels, size, size))

    def loss(weights: Any, x: Any) -> Any:
        made = x
        for kind in kinds:
            made = layer(kind, made, x, weights)
        return np.sum(made**2)

    function = wf.value_and_grad(loss, (0, 1))
    before = wf.trace(function)(weights, x)
    after, _ = optimise(before, verify=True)
    assert optimise(after)[0] is after
    arrays = [np.asarray(leaf) for leaf in tree.flatten((weights, x))[0]]
    for new, old in zip(evaluate(after, arrays), evaluate(before, arrays), strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-8, atol=1e-8 * np.abs(old).max())


def stack(x: Any, *weights: Any) -> Any:
    for w in weights:
        x = np.maximum(wf.conv(x, w), 0)
    return x.mean(axis=(2, 3))


@pytest.mark.parametrize("channels", [16, 96])
def test_a_stack_of_one_tap_is_not_transposed_at_all(channels: int) -> None:
    r = np.random.default_rng(0)
    x = r.normal(size=(4, channels, 7, 7)).astype("f4")
    weights = [r.normal(size=(channels, channels, 1, 1)).astype("f4") / 8 for _ in range(3)]
    f = wf.jit(stack)
    wanted = wf.jit(stack, backend="reference")(x, *weights)
    np.testing.assert_allclose(f(x, *weights), wanted, rtol=1e-3, atol=1e-4)
    assert "channels last for one tap 3" in f.passes()
    assert "convolution" not in f.explain().split("\n", 3)[-1]
    assert "layout:" not in f.explain()


def test_explain_lists_the_transposes_that_remain() -> None:
    f = wf.jit(lambda x, w: np.tanh(wf.conv(x, w)))
    x, w = np.ones((2, 512, 7, 7), "f4"), np.ones((512, 512, 1, 1), "f4")
    f(x, w)
    assert "layout: f32[2, 7, 7, 512] becomes f32[2, 512, 7, 7], by transpose" in f.explain()
    plain = wf.trace(lambda x: np.tanh(x.transpose(0, 2, 1)))(np.ones((2, 3, 4)))
    assert layout_changes(plain) == []
