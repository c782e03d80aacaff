"""Graphs evaluate the same before and after every pass and the whole pipeline, which verify in
between and find nothing more to do in a second run.
"""

from __future__ import annotations

import functools
from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import weft as wf
from tests.compiler.ir.random_graphs import graphs
from tests.compiler.passes.models import MODELS
from tests.compiler.passes.random_programs import random_arguments, random_program
from tests.compiler.rewrite.checking import assert_same_bits
from weft.compiler.ir import dims
from weft.compiler.ir.evaluate import evaluate
from weft.compiler.ir.graph import Graph
from weft.compiler.ir.types import ArrayType
from weft.compiler.passes.pipeline import DEFAULT, optimise
from weft.compiler.passes.running import Pass, count_ops
from weft.frontends.tracing import tree

Array = np.ndarray[Any, Any]
PASSES = {item.name: item for item in DEFAULT}
INEXACT = ("stabilise", "merge_products", "sink_views", "join_padded", "lay_out_channels")
EXACT = [item for name, item in PASSES.items() if name not in INEXACT]


def arguments(made: Graph, seed: int) -> list[Array]:
    """Random arrays for a graph's parameters, with the symbol at 3 and some edge values."""
    random = np.random.default_rng(seed)
    return [_array(parameter.type, random) for parameter in made.parameters]


def _array(type: ArrayType, random: np.random.Generator) -> Array:
    shape = [dims.evaluate(size, {"n": 3}) for size in type.shape]
    if type.dtype.is_integer:
        return random.integers(-5, 5, shape).astype(type.dtype.numpy)
    array = np.asarray(random.standard_normal(shape))
    edges = random.choice([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan], shape)
    return np.where(random.random(shape) < 0.2, edges, array).astype(type.dtype.numpy)


def _has_sums(made: Graph) -> bool:
    """Whether rounding depends on an order that is no part of the meaning."""
    names = {op.name for region in made.regions() for op in region.ops}
    return bool(names & {"reduce_sum", "dot_general"})


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(graphs(most_ops=12, can_run=True), st.integers(0, 1000))
def test_random_graph_after_exact_passes(made: Graph, seed: int) -> None:
    after, _ = optimise(made, passes=EXACT, verify=True)
    _assert_same(made, after, arguments(made, seed))
    assert optimise(after, passes=EXACT)[0] is after


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(graphs(most_ops=12, can_run=True), st.integers(0, 1000))
def test_random_graph_after_all_passes(made: Graph, seed: int) -> None:
    after, _ = optimise(made, verify=True)
    assert optimise(after)[0] is after
    assert [r.type for r in after.results] == [r.type for r in made.results]
    assert after.region.parameter_types == made.region.parameter_types
    assert wf.parse(after.text(embed_constants=True)).content_hash() == after.content_hash()
    evaluate(after, arguments(made, seed))


def _assert_same(before: Graph, after: Graph, arrays: list[Array]) -> None:
    for new, old in zip(evaluate(after, arrays), evaluate(before, arrays), strict=True):
        if not _has_sums(before):
            assert_same_bits(new, old)
            continue
        few = {"float64": 1e-12, "float32": 1e-5, "bfloat16": 5e-2}.get(str(old.dtype), 0)
        wide_new, wide_old = new.astype(np.float64), old.astype(np.float64)
        np.testing.assert_allclose(wide_new, wide_old, rtol=few, atol=few)


# --- models -------------------------------------------------------------------------------------


@functools.cache
def gradient_graph(name: str) -> tuple[Graph, tuple[Array, ...]]:
    loss, args = MODELS[name]()
    made = wf.trace(wf.value_and_grad(loss))(*args)
    return made, tuple(np.asarray(leaf) for leaf in tree.flatten(args)[0])


@pytest.mark.parametrize("name", MODELS)
def test_gradient_after_the_pipeline(name: str) -> None:
    before, arrays = gradient_graph(name)
    after, report = optimise(before, verify=True)
    assert_close(before, after, arrays)
    again, _ = optimise(after)
    assert again is after
    assert count_ops(after) == report.steps[-1].after


@pytest.mark.parametrize("item", PASSES.values(), ids=lambda item: item.name)
@pytest.mark.parametrize("name", MODELS)
def test_gradient_after_one_pass(name: str, item: Pass) -> None:
    before, arrays = gradient_graph(name)
    fired: Counter[str] = Counter()
    after = item.run(before, fired).verify()
    assert (after is before) == (not fired.total()), f"{item.name} and its count disagree: {fired}"
    assert_close(before, after, arrays)
    assert item.run(after, Counter()) is after


@pytest.mark.parametrize("left_out", PASSES)
@pytest.mark.parametrize("name", ["recurrent", "attention"])
def test_gradient_without_one_pass(name: str, left_out: str) -> None:
    before, arrays = gradient_graph(name)
    column = [item for item in DEFAULT if item.name != left_out]
    assert_close(before, optimise(before, passes=column, verify=True)[0], arrays)


def assert_close(
    before: Graph, after: Graph, arrays: tuple[Array, ...], least: float = 1e-11
) -> None:
    for new, old in zip(evaluate(after, arrays), evaluate(before, arrays), strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-9, atol=least)


def names_of(made: Graph) -> Counter[str]:
    return Counter(op.name for region in made.regions() for op in region.ops)


def test_images_are_laid_out_once() -> None:
    """The last convolution is of one tap and goes into a mean, which takes any layout; its kernel's
    gradient is a product too. Transposes vanish, whatever stands between them.
    """
    before, _ = gradient_graph("images")
    after, report = optimise(before)
    assert report.fired["channels last for one tap"] == 1
    assert report.fired["kernel gradient as product"] == 2
    for name in ("reshape", "slice", "pad", "concatenate"):
        assert report.fired[f"transpose below {name}"]
    assert names_of(after)["convolution"] == names_of(before)["convolution"] - 3
    assert names_of(after)["transpose"] <= 13 < names_of(before)["transpose"]


def test_queries_keys_and_values_are_one_product() -> None:
    before, _ = gradient_graph("attention")
    after, report = optimise(before)
    assert report.fired["3 products"] == 1
    assert names_of(after)["dot_general"] == names_of(before)["dot_general"] - 2


def test_gates_are_one_product_per_operand_of_the_loop() -> None:
    loss, args = MODELS["recurrent"]()
    before = wf.trace(loss)(*args)
    after, report = optimise(before)
    assert report.fired["4 products"] == 2
    (loop,) = [op for op in after.ops if op.name == "scan"]
    inside = Counter(op.name for op in loop.regions[0].ops)
    assert inside["dot_general"] == 1  # the other one left the loop
    assert inside["concatenate"] == 0
    assert inside["sigmoid"] == 3


def test_one_hot_loss_stays_finite_for_large_scores() -> None:
    loss, (parameters, x, labels) = MODELS["network"]()
    large = {**parameters, "v": parameters["v"] * 1e4}
    graph, _ = optimise(wf.trace(loss)(large, x, labels))
    arrays = [np.asarray(leaf) for leaf in tree.flatten((large, x, labels))[0]]
    (made,) = evaluate(graph, arrays)
    assert np.isfinite(made)


# --- random programs ------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False), st.integers(0, 1000))
def test_random_program_after_all_passes(random: Random, seed: int) -> None:
    before = random_program(random)
    arrays = tuple(random_arguments(before, seed))
    after, _ = optimise(before, verify=True)
    assert_close(before, after, arrays, 1e-9)
    assert optimise(after)[0] is after


@pytest.mark.parametrize("item", PASSES.values(), ids=lambda item: item.name)
@pytest.mark.parametrize("seed", range(20))
def test_random_program_after_one_pass(seed: int, item: Pass) -> None:
    before = random_program(Random(seed))
    after = item.run(before, Counter()).verify()
    assert_close(before, after, tuple(random_arguments(before, seed)), 1e-9)
    assert item.run(after, Counter()) is after


@pytest.mark.parametrize("rows", [1, 8, 21])
def test_one_graph_serves_all_sizes_after_the_pipeline(rows: int) -> None:
    loss, (parameters, _, _) = MODELS["network"]()
    specs = wf.spec("f64[n, 5]"), wf.spec("i64[n]")
    before = wf.trace(wf.value_and_grad(loss))(parameters, *specs)
    after, _ = optimise(before, verify=True)
    x = np.random.default_rng(rows).standard_normal((rows, 5))
    leaves = tree.flatten((parameters, x, np.arange(rows) % 4))[0]
    assert_close(before, after, tuple(np.asarray(leaf) for leaf in leaves))
