"""Random graphs give the same natively as by the reference evaluator, after any passes and for
arguments that lie in memory in any way.

Exact graphs hold whole numbers only, so all bits agree; those with transcendental functions are
compared with a tolerance.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.compiler.lower.llvm.program.comparing import (
    assert_native_is_right,
    assert_stub_is_right,
    random_arguments,
    run_native,
)
from tests.compiler.lower.llvm.program.random_graphs import SIMPLE, random_graph
from tests.compiler.lower.llvm.program.random_steps import ALL, WHOLE
from tests.compiler.passes import random_programs
from weft.compiler.ir.evaluate import evaluate
from weft.compiler.passes.pipeline import DEFAULT, optimise
from weft.compiler.passes.running import Pass

QUICK = settings(max_examples=22, deadline=None, suppress_health_check=list(HealthCheck))
LONG = settings(QUICK, max_examples=1500)
SINGLE = {item.name: [item] for item in DEFAULT}
COLUMNS: dict[str, list[Pass]] = {"none": [], "default": list(DEFAULT), **SINGLE}
# These round differently, or treat infinities and NaN as their rules allow.
INEXACT = ("stabilise",)
RANDOM = st.randoms(use_true_random=False)
STEPS = st.integers(1, 25)
N = st.sampled_from([None, None, 0, 1, 2, 7, 17, 33])


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def check_exact(random: Random, steps: int, n: int | None, kinds: Any, column: str) -> None:
    graph = random_graph(random, steps, kinds, n)
    arguments = random_arguments(graph, random, n, special=False)
    assert_native_is_right(graph, arguments, COLUMNS[column], copied=random.random() < 0.5)


@QUICK
@given(RANDOM, STEPS, N)
def test_graph_without_passes(random: Random, steps: int, n: int | None) -> None:
    check_exact(random, steps, n, ALL, "none")


@QUICK
@given(RANDOM, STEPS, N)
def test_graph_after_the_pipeline(random: Random, steps: int, n: int | None) -> None:
    check_exact(random, steps, n, ALL, "default")


@pytest.mark.slow
@QUICK
@given(RANDOM, STEPS, N, st.sampled_from(sorted(SINGLE)))
def test_graph_after_one_pass(random: Random, steps: int, n: int | None, column: str) -> None:
    check_exact(random, steps, n, ALL, column)


@pytest.mark.slow
@QUICK
@given(RANDOM, STEPS)
def test_fused_loops(random: Random, steps: int) -> None:
    check_exact(random, 2 * steps, None, SIMPLE, "none")


@pytest.mark.slow
@QUICK
@given(RANDOM, STEPS, N)
def test_loops_around_routines(random: Random, steps: int, n: int | None) -> None:
    check_exact(random, steps, n, [*WHOLE, *SIMPLE[:14]], "none")


@QUICK
@given(RANDOM, STEPS, N, st.sampled_from(sorted(set(COLUMNS) - set(INEXACT) - {"default"})))
def test_infinities_and_nan(random: Random, steps: int, n: int | None, column: str) -> None:
    graph = random_graph(random, steps, ALL, n, special=True)
    arguments = random_arguments(graph, random, n, special=True)
    assert_native_is_right(graph, arguments, COLUMNS[column])


@pytest.mark.slow
@settings(QUICK, max_examples=8)
@given(RANDOM, STEPS, N)
def test_calls_through_the_stub(random: Random, steps: int, n: int | None) -> None:
    graph = random_graph(random, steps, ALL, n)
    first, second = [random_arguments(graph, random, n, special=False) for _ in range(2)]
    assert_stub_is_right(graph, first, second)


def check_rounded(random: Random, seed: int) -> None:
    graph = random_programs.random_program(random)
    arguments = random_programs.random_arguments(graph, seed)
    after, _ = optimise(graph)
    for made, wanted in zip(run_native(after, arguments), evaluate(graph, arguments), strict=True):
        # The programs are bounded and continuous; a few hundred roundings stay far below this.
        np.testing.assert_allclose(made, wanted, rtol=1e-9, atol=1e-9, err_msg=str(graph))


@QUICK
@given(RANDOM, st.integers(0, 1000))
def test_graph_with_transcendental_functions(random: Random, seed: int) -> None:
    check_rounded(random, seed)


@pytest.mark.slow
@pytest.mark.parametrize("column", COLUMNS)
def test_many_graphs(column: str) -> None:
    @settings(LONG, max_examples=1500 if column in ("none", "default") else 300)
    @given(RANDOM, st.integers(1, 40), N)
    def check(random: Random, steps: int, n: int | None) -> None:
        check_exact(random, steps, n, ALL, column)

    check()


@pytest.mark.slow
@LONG
@given(RANDOM, st.integers(0, 1000))
def test_many_graphs_with_transcendental_functions(random: Random, seed: int) -> None:
    check_rounded(random, seed)
