"""Work that leaves loops: what is left in them, and that results stay what they were."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pytest

import weft as wf
from tests.compiler.ir.making import graph, number, ops, region
from tests.compiler.lower.llvm.program.comparing import run_native
from tests.compiler.passes.models import MODELS
from tests.compiler.passes.scans.random_loops import random_loops
from weft.compiler.ir import dims
from weft.compiler.ir.dtypes import DType, dtype
from weft.compiler.ir.evaluate import evaluate
from weft.compiler.ir.graph import Graph, Op, Region, Value
from weft.compiler.ops import contraction
from weft.compiler.passes.pipeline import DEFAULT, optimise
from weft.compiler.passes.scans.batch_products import batch_scan_products
from weft.compiler.passes.scans.defer_sums import defer_scan_sums
from weft.compiler.passes.scans.sink_results import sink_from_scan
from weft.frontends.tracing import tree

Array = np.ndarray[Any, Any]
PASSES = {item.name: item for item in DEFAULT}
MOVING = (
    "push_slices_up",
    "join_padded",
    "hoist_invariants",
    "defer_scan_sums",
    "batch_scan_products",
    "sink_from_scan",
    "recompute_scanned",
)


def loops_of(made: Graph) -> list[Op]:
    return [op for region in made.regions() for op in region.ops if op.name == "scan"]


def names_in(region: Region) -> Counter[str]:
    return Counter(op.name for op in region.ops)


def arguments(made: Graph, seed: int, n: int = 3) -> list[Array]:
    random = np.random.default_rng(seed)
    shapes = [[dims.evaluate(d, {"n": n}) for d in p.type.shape] for p in made.parameters]
    types = [p.type.dtype for p in made.parameters]
    return [_array(shape, type, random) for shape, type in zip(shapes, types, strict=True)]


def _array(shape: list[int], type: DType, random: np.random.Generator) -> Array:
    if type.is_integer:
        return random.integers(-100, 100, shape).astype(type.numpy)
    return np.asarray(random.standard_normal(shape), type.numpy)


def assert_same(before: Graph, after: Graph, arrays: list[Array]) -> None:
    """Integers exactly; floats to what another order of additions explains."""
    for new, old in zip(evaluate(after, arrays), evaluate(before, arrays), strict=True):
        rounding = 1e-9 if old.dtype == np.float64 else 1e-4
        few = 0 if old.dtype.kind in "iu" else rounding
        np.testing.assert_allclose(new, old, rtol=few, atol=few)


# --- random loops -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", MOVING)
@pytest.mark.parametrize("kind", ["f64", "i32"])
def test_random_loops_after_one_pass(name: str, kind: str) -> None:
    fired: Counter[str] = Counter()
    for seed in range(40):
        before = random_loops(Random(seed), dtype(kind)).verify()
        after = PASSES[name].run(before, fired).verify()
        assert_same(before, after, arguments(before, seed))
        assert PASSES[name].run(after, Counter()) is after, f"seed {seed}"
    assert fired.total(), "the pass had nothing to do"


@pytest.mark.parametrize("kind", ["f64", "f32", "i64", "u8"])
@pytest.mark.parametrize("seed", range(12))
def test_random_loops_after_the_pipeline(seed: int, kind: str) -> None:
    before = random_loops(Random(seed + 1000), dtype(kind)).verify()
    after, _ = optimise(before, verify=True)
    assert_same(before, after, arguments(before, seed))
    assert optimise(after)[0] is after


@pytest.mark.parametrize("seed", range(12))
def test_random_loops_of_unknown_length(seed: int) -> None:
    before = random_loops(Random(seed), length=dims.symbol("n", lower=0)).verify()
    after, _ = optimise(before, verify=True)
    for n in (0, 1, 7):
        assert_same(before, after, arguments(before, seed, n))


@pytest.mark.parametrize("seed", range(4))
def test_random_loops_natively(seed: int) -> None:
    before = random_loops(Random(seed + 7)).verify()
    arrays = arguments(before, seed)
    after, _ = optimise(before)
    for new, old in zip(run_native(after, arrays), evaluate(before, arrays), strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-9, atol=1e-9)


# --- models -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["recurrent", "lstm", "gru", "layers"])
def test_only_products_with_the_state_stay_in_loops(name: str) -> None:
    loss, args = MODELS[name]()
    after, report = optimise(wf.trace(wf.value_and_grad(loss))(*args))
    inner = [loop for loop in loops_of(after) if not names_in(loop.regions[0])["scan"]]
    forward, backward = [names_in(loop.regions[0]) for loop in inner]
    gates = {"recurrent": 4, "gru": 3}.get(name, 1)
    assert forward["dot_general"] == 1
    assert backward["dot_general"] == gates
    assert forward["reduce_sum"] == backward["reduce_sum"] == 0
    assert report.fired["dot_general"] >= 3


def test_lstm_gradient_is_lean() -> None:
    loss, args = MODELS["lstm"]()
    after, report = optimise(wf.trace(wf.value_and_grad(loss))(*args))
    forward, backward = loops_of(after)
    # Stacked: h, the h before, c before, three gates with their exponentials, two tanh.
    assert len(forward.results) == 2 + 11
    assert backward.attributes["n_carry"] == 2
    assert len(backward.results) == 2 + 1
    inside = names_in(backward.regions[0])
    assert inside["pad"] == 0 and inside["concatenate"] == 1
    assert report.fired["recomputed"] == 3


def test_an_array_may_be_scanned_and_used_whole() -> None:
    def f(x: Any) -> Any:
        whole = np.broadcast_to(x, (40, *x.shape)) * 2.0
        return wf.scan(lambda c, s: (c + s[0].sum() * s[1].sum(), c), 0.0, (whole, x))

    before = wf.trace(f)(wf.spec("f64[40, 3]"))
    after, report = optimise(before, verify=True)
    assert report.fired["recomputed"] == 1
    assert_same(before, after, arguments(before, 0))


@pytest.mark.parametrize("name", ["recurrent", "lstm", "gru", "layers"])
def test_native_gradient_is_that_of_the_graph_as_traced(name: str) -> None:
    loss, args = MODELS[name]()
    before = wf.trace(wf.value_and_grad(loss))(*args)
    wanted = evaluate(before, [np.asarray(leaf) for leaf in tree.flatten(args)[0]])
    made = tree.flatten(wf.jit(wf.value_and_grad(loss))(*args))[0]
    for new, old in zip(made, wanted, strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["recurrent", "lstm", "gru"])
def test_second_derivative_along_a_direction(name: str) -> None:
    loss, args = MODELS[name]()

    def slope(*given: Any) -> Any:
        gradient = wf.grad(loss)(*given)
        return sum(np.sum(np.sin(leaf)) for leaf in tree.flatten(gradient)[0])

    before = wf.trace(wf.grad(slope))(*args)
    after, _ = optimise(before, verify=True)
    arrays = [np.asarray(leaf) for leaf in tree.flatten(args)[0]]
    assert_same(before, after, arrays)


@pytest.mark.parametrize("length", [0, 1, 9])
def test_one_gradient_serves_all_lengths(length: int) -> None:
    loss, (parameters, _) = MODELS["lstm"]()
    before = wf.trace(wf.value_and_grad(loss))(parameters, wf.spec("f64[n>=0, 2, 3]"))
    after, _ = optimise(before, verify=True)
    assert [names_in(loop.regions[0])["dot_general"] for loop in loops_of(after)] == [1, 1]
    x = np.random.default_rng(0).standard_normal((length, 2, 3))
    leaves = [np.asarray(leaf) for leaf in tree.flatten((parameters, x))[0]]
    with np.errstate(invalid="ignore"):  # the mean of nothing
        assert_same(before, after, leaves)


# --- what it may cost ---------------------------------------------------------------------------


def _sum_of_products(rows: int, columns: int, batch: int, length: int) -> Graph:
    def step(total: Value, h: Value, x: Value) -> list[Value]:
        new = ops.tanh(h)
        added = ops.dot_general(x, new, lhs_contract=[0], rhs_contract=[0])
        return [ops.add(total, added), new]

    shapes = [f"f32[{rows}, {columns}]", f"f32[{batch}, {columns}]", f"f32[{batch}, {rows}]"]
    body = region(shapes, step)

    def write(h: Value, x: Value) -> Value:
        zero = ops.broadcast(number(0), shape=(rows, columns), dims=())
        return ops.scan.emit(zero, h, x, n_carry=2, length=length, regions=[body])[0]

    return graph({"h": shapes[1], "x": f"f32[{length}, {batch}, {rows}]"}, write)


def test_gradients_of_weights_of_usual_sizes_leave() -> None:
    assert (
        loops_of(defer_scan_sums(_sum_of_products(128, 512, 32, 64)))[0].attributes["n_carry"] == 1
    )


def test_sum_stays_where_more_is_kept_than_the_sum_holds() -> None:
    made = _sum_of_products(16, 16, 4096, 1000)
    assert defer_scan_sums(made) is made


def test_large_stacks_are_not_made() -> None:
    """The memory of kept products is bounded by what the loop scans, above some bytes."""

    def make(columns: int, length: int) -> Graph:
        body = region(
            [f"f32[8, {columns}]", f"f32[{columns}]", "f32[4, 8]"],
            lambda w, h, x: [ops.tanh(ops.add(h, ops.reduce_sum(_times(x, w), axes=(0,))))],
        )
        return graph(
            {"w": f"f32[8, {columns}]", "h": f"f32[{columns}]", "x": f"f32[{length}, 4, 8]"},
            lambda w, h, x: ops.scan.emit(
                w, h, x, n_consts=1, n_carry=1, length=length, regions=[body]
            )[0],
        )

    wide = make(1024, 10_000)
    assert batch_scan_products(wide) is wide
    assert batch_scan_products(make(1024, 100)) is not wide
    assert (
        names_in(loops_of(batch_scan_products(make(32, 10_000)))[0].regions[0])["dot_general"] == 0
    )


@pytest.mark.parametrize(("rows", "stays"), [(1, 0), (8, 0), (64, 1)])
def test_product_leaves_a_long_loop_if_it_has_few_rows(rows: int, stays: int) -> None:
    state, weights = f"f32[{rows}, 64]", "f32[64, 64]"
    body = region([weights, state, state], lambda w, h, x: [ops.tanh(ops.add(h, _times(x, w)))])

    def write(w: Value, h: Value, x: Value) -> Value:
        return ops.scan.emit(w, h, x, n_consts=1, n_carry=1, length=10_000, regions=[body])[0]

    made = graph({"w": weights, "h": state, "x": f"f32[10000, {rows}, 64]"}, write)
    after = batch_scan_products(made.verify()).verify()
    assert names_in(loops_of(after)[0].regions[0])["dot_general"] == stays


def _times(x: Value, w: Value) -> Value:
    return ops.dot_general(x, w, lhs_contract=[1], rhs_contract=[0])


def test_layer_on_the_outputs_is_one_product_after_the_loop() -> None:
    def predict(w: Any, u: Any, x: Any) -> Any:
        def step(h: Any, row: Any) -> Any:
            h = np.tanh(row + h @ w)
            return h, np.exp(h @ u)

        return wf.scan(step, np.zeros((2, 4)), x)[1]

    before = wf.trace(predict)(np.ones((4, 4)), np.ones((4, 5)), np.ones((6, 2, 4)))
    after, _ = optimise(before, verify=True)
    assert names_in(loops_of(after)[0].regions[0])["dot_general"] == 1
    assert [op.name for op in after.ops][-2:] == ["dot_general", "exp"]
    assert_same(before, after, arguments(before, 0))


def test_embedding_in_a_loop_leaves_it_with_its_product() -> None:
    def run(table: Any, w: Any, labels: Any) -> Any:
        def step(h: Any, label: Any) -> Any:
            return np.tanh(h + table[label] @ w), None

        return wf.scan(step, np.zeros((2, 3)), labels)[0]

    labels = np.arange(12).reshape(6, 2) % 5
    before = wf.trace(run)(np.ones((5, 4)), np.ones((4, 3)), labels)
    after, _ = optimise(before, verify=True)
    assert names_in(loops_of(after)[0].regions[0])["dot_general"] == 0
    random = np.random.default_rng(0)
    arrays = [random.standard_normal((5, 4)), random.standard_normal((4, 3)), labels]
    assert_same(before, after, arrays)


def test_convolution_of_scanned_images_leaves_the_loop() -> None:
    def write(w: Value, h: Value, x: Value) -> Value:
        def step(w: Value, h: Value, x: Value) -> list[Value]:
            made = ops.convolution(
                x, w, strides=[1], padding=[(1, 1)], lhs_dilation=[1], rhs_dilation=[1]
            )
            return [ops.tanh(ops.add(h, made))]

        body = region(["f64[4, 3, 3]", "f64[2, 4, 6]", "f64[2, 3, 6]"], step)
        return ops.scan.emit(w, h, x, n_consts=1, n_carry=1, length=5, regions=[body])[0]

    before = graph({"w": "f64[4, 3, 3]", "h": "f64[2, 4, 6]", "x": "f64[5, 2, 3, 6]"}, write)
    after = batch_scan_products(before.verify()).verify()
    assert names_in(loops_of(after)[0].regions[0])["convolution"] == 0
    assert_same(before, after, arguments(before, 0))


def test_graph_without_loops_is_left_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = graph({"x": "f32[2, 3]", "w": "f32[3, 3]"}, _times)
    for run in (defer_scan_sums, batch_scan_products, sink_from_scan):
        monkeypatch.setattr(f"{run.__module__}.edit", None)
        assert run(made) is made
    assert contraction.dot_general is made.ops[0].definition
