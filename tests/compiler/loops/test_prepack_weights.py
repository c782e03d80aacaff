"""Weights of loops are laid out once, before the loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft as wf

RNG = np.random.default_rng(5)


def network(x: Any, w: Any, v: Any) -> Any:
    def step(h: Any, _: Any) -> Any:
        h = np.tanh(h @ w.T) @ v
        return h, h.sum()

    return wf.scan(step, x, None, length=6)


def arrays(rows: int, dtype: str = "f4") -> tuple[Any, ...]:
    x = RNG.standard_normal((rows, 40))
    w, v = RNG.standard_normal((72, 40)) / 9, RNG.standard_normal((72, 40)) / 9
    return x.astype(dtype), w.astype(dtype), v.astype(dtype)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("rows", [2, 30, 96, 97])
def test_results_are_those_of_the_reference(rows: int, dtype: str) -> None:
    values = arrays(rows, dtype)
    wanted = wf.jit(network, backend="reference")(*values)
    f = wf.jit(network)
    for got, want in zip(f(*values), wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-4)
    name = {"f4": "f32", "f8": "f64"}[dtype]
    turned = f"dot_general of {name}[{rows}, 40] by {name}[40, 72] over [1], [0]"
    assert (turned in f.explain()) == (rows <= 96)


def test_gradients_and_nested_loops() -> None:
    def loss(x: Any, w: Any, v: Any) -> Any:
        def outer(h: Any, _: Any) -> Any:
            return network(h, w, v)[0], None

        return np.sum(wf.scan(outer, x, None, length=5)[0] ** 2)

    values = arrays(16)
    wanted = wf.jit(wf.grad(loss, argnums=(0, 1, 2)), backend="reference")(*values)
    for got, want in zip(wf.jit(wf.grad(loss, argnums=(0, 1, 2)))(*values), wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-3, atol=1e-4)
