"""Products that make the sums of their right operand's columns: which do, and what they give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft as wf
from weft.compiler.ir.edit import rebuild
from weft.compiler.ir.evaluate import evaluate
from weft.compiler.ir.graph import Graph
from weft.compiler.loops.fuse_bias_gradient import fuse_bias_gradients

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(11)
X, Y = RNG.standard_normal((64, 300)), RNG.standard_normal((300, 96))


def shared(f: Callable[..., Any], *values: Array) -> Graph:
    graph = wf.trace(f)(*values)
    return rebuild(graph, fuse_bias_gradients(graph))


PAIRS: dict[str, Callable[..., Any]] = {
    "product first": lambda x, y: (x @ y, y.sum(axis=0)),
    "sum first": lambda x, y: (y.sum(axis=0), x @ y),
    "used between": lambda x, y: (np.exp(y.sum(axis=0)), np.tanh(x @ y)),
    "added together": lambda x, y: x @ y + y.sum(axis=0),
    "several axes": lambda x, y: (
        np.tensordot(x.reshape(64, 20, 15), y := y.reshape(20, 15, 96), ((1, 2), (0, 1))),
        y.sum(axis=(0, 1)),
    ),
}
OTHERS: dict[str, Callable[..., Any]] = {
    "other axes": lambda x, y: (x @ y, y.sum(axis=1)),
    "the left operand": lambda x, y: (x @ y, x.sum(axis=1)),
    "the product waits for the sum": lambda x, y: (x * y.sum(axis=0)[:64, None]) @ y,
    "few rows": lambda x, y: (x[:8] @ y, y.sum(axis=0)),
    "another array": lambda x, y: (x @ y, (y + 1).sum(axis=0)),
}


@pytest.mark.parametrize("name", PAIRS)
def test_a_product_makes_the_sums_of_its_right_operand(name: str) -> None:
    graph = shared(PAIRS[name], X, Y)
    names = [op.name for op in graph.ops]
    assert names.count("dot_general_sums") == 1 and "reduce_sum" not in names
    wanted = PAIRS[name](X, Y)
    for got, want in zip(evaluate(graph, [X, Y]), _flat(wanted), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", OTHERS)
def test_other_sums_are_left_alone(name: str) -> None:
    assert "dot_general_sums" not in [op.name for op in shared(OTHERS[name], X, Y).ops]


def test_halves_are_left_to_the_product_that_widens_them() -> None:
    def f(x: Any, y: Any) -> Any:
        wide = y.astype(np.float32)
        return x.astype(np.float32) @ wide, wide.sum(axis=0)

    graph = shared(f, X.astype(np.float16), Y.astype(np.float16))
    assert "dot_general_sums" not in [op.name for op in graph.ops]


@settings(max_examples=12, deadline=None)
@given(
    m=st.integers(16, 150),
    n=st.integers(2, 140),
    k=st.integers(16, 600),
    dtype=st.sampled_from(["f4", "f8"]),
    name=st.sampled_from(["product first", "used between", "added together"]),
    products=st.sampled_from(["generated", "blas"]),
)
def test_native_code_gives_the_same_sums(
    m: int, n: int, k: int, dtype: str, name: str, products: Any
) -> None:
    x = (RNG.standard_normal((m, k)) / k).astype(dtype)
    y = (RNG.standard_normal((k, n)) / k).astype(dtype)
    f = wf.jit(PAIRS[name], products=products)
    made = []
    for count in (1, 2, 3):
        with wf.threads(count):
            made.append(_flat(f(x, y)))
    wanted = _flat(PAIRS[name](x.astype("f8"), y.astype("f8")))
    for got, want in zip(made[0], wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=0, atol=8 * float(np.finfo(dtype).eps))
    if products == "generated":
        for other in made[1:]:
            assert [a.tobytes() for a in other] == [a.tobytes() for a in made[0]]


def test_gradients_of_biases_are_made_with_those_of_weights() -> None:
    def loss(w: Any, b: Any, x: Any) -> Any:
        return np.sum(np.tanh(x @ w + b) ** 2)

    x, w = RNG.standard_normal((256, 64)), RNG.standard_normal((64, 96))
    values = [v.astype("f4") for v in (w, np.zeros(96), x)]
    step = wf.jit(wf.grad(loss, (0, 1)))
    of_weight, of_bias = step(*values)
    assert "over [0], [0], and sums of the second: generated" in step.explain()
    wanted = wf.jit(wf.grad(loss, (0, 1)), backend="reference")(*values)
    np.testing.assert_allclose(of_weight, wanted[0], rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(of_bias, wanted[1], rtol=1e-4, atol=1e-4)


def test_who_reads_rows_and_sums_waits_for_both() -> None:
    """As many columns as rows: sums look like something that is made row by row, but are not."""

    def f(x: Any, y: Any) -> Any:
        return np.tanh(x @ y + y.sum(axis=0)[:, None])

    x, y = (RNG.standard_normal(shape) / 100 for shape in ((96, 300), (300, 96)))
    compiled = wf.jit(f)
    for count in (1, 2, 3):
        with wf.threads(count):
            np.testing.assert_allclose(compiled(x, y), f(x, y), rtol=1e-9, atol=1e-12)
    assert "row by row" not in compiled.explain()


def _flat(made: Any) -> list[Array]:
    return list(made) if isinstance(made, tuple) else [made]
