"""Calls as rows of a table compute what calls as code do, bit by bit, and are written once."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import weft as wf
import weft.numpy as wnp
from tests.compiler.lower.llvm.program.comparing import assert_native_is_right, random_arguments
from tests.compiler.lower.llvm.program.random_graphs import random_graph
from tests.compiler.lower.llvm.program.random_steps import ALL
from weft.compiler.lower.llvm.program import call_table, sections


@pytest.fixture
def every_call_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sections, "LEAST_NODES", 1)
    monkeypatch.setattr(call_table, "LEAST_EQUAL", 1)


@pytest.mark.usefixtures("every_call_is_a_row")
@settings(
    deadline=None,
    max_examples=30,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.randoms(use_true_random=False), st.integers(2, 25), st.sampled_from([None, 0, 1, 3, 7]))
def test_random_graphs_as_rows(random: Random, steps: int, n: int | None) -> None:
    graph = random_graph(random, steps, ALL, n)
    assert_native_is_right(graph, random_arguments(graph, random, n, special=False), ())


def text_of(f: Any, *args: Any) -> str:
    return str(f.lower(*args).llvm)


def layers(x: Any, weights: Any) -> Any:
    for w in weights:
        x = wnp.tanh(x @ w) + x
    return wnp.sum(x * x)


def weights(count: int) -> list[Any]:
    rng = np.random.default_rng(2)
    return [rng.standard_normal((24, 24)) * 0.1 for _ in range(count)]


def test_code_of_equal_layers_does_not_grow() -> None:
    x = np.ones((8, 24))
    lengths = []
    for count in (50, 100):
        f = wf.jit(wf.grad(layers, argnums=1))
        text = text_of(f, x, weights(count))
        assert "@rows(" in text
        lengths.append(len(text.splitlines()))
    # Only the longer one is so long that it asks on its way whether to stop, which is code once.
    assert lengths[1] <= lengths[0] + 50


def test_program_of_different_calls_has_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sections, "LEAST_NODES", 2)

    def function(x: Any) -> Any:
        return wnp.sort(x @ x, axis=0).sum(1), wnp.cumsum(x[::-1], axis=1)

    assert "@rows(" not in text_of(wf.jit(function), np.ones((30, 30)))


@pytest.mark.usefixtures("every_call_is_a_row")
def test_numbers_go_in_and_out_of_rows() -> None:
    """Numbers that are arguments, constants, results of kernels and of routines, complex too."""

    def function(x: Any, scale: Any, z: Any) -> Any:
        total = wnp.sum(x * scale)
        place = wnp.argmax(x * total)
        sign, size = wnp.linalg.slogdet(wnp.outer(x, x) * total + wnp.eye(7))
        rotated = z * (wnp.sum(z) + total)
        return total, place, sign * size, rotated * wnp.prod(z), x / total

    x, z = np.linspace(1.0, 2.0, 7), np.arange(1, 4) + 1j
    made = wf.jit(function)(x, 3.0, z)
    wanted = wf.jit(function, backend="reference")(x, 3.0, z)
    for one, other in zip(made, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
