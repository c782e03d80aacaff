"""What becomes one kernel: the cases that fusion is for, and those it must leave alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft as wf
from weft.compiler.ir.dims import Size
from weft.compiler.loops.fusion import Fusion
from weft.compiler.loops.group import FusionGroup, Node, OpaqueNode, PiecewiseNode, Reduction
from weft.compiler.loops.memory import RegionPlan
from weft.compiler.loops.pipeline import lower_to_loops
from weft.compiler.passes.pipeline import optimise


def planned(function: Callable[..., Any], *specs: str) -> RegionPlan:
    graph = wf.trace(function)(*[wf.spec(text) for text in specs])
    return lower_to_loops(optimise(graph)[0], 32, verify=True)[0].plan


def parted(function: Callable[..., Any], *specs: str) -> Fusion:
    return planned(function, *specs).fusion


def kinds(nodes: list[Node]) -> list[str]:
    """Each node as one word: its op, or what its kernel reduces."""
    made = []
    for node in nodes:
        match node:
            case OpaqueNode():
                made.append(node.op.name)
            case PiecewiseNode():
                made.append("assembly")
            case FusionGroup():
                reduced = [c.kind for c in node.entries.values() if isinstance(c, Reduction)]
                made.append("+".join(sorted(reduced)) or ("map" if node.loops else "number"))
    return made


def softmax(x: Any) -> Any:
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def layer_norm(x: Any) -> Any:
    mean = x.mean(-1, keepdims=True)
    return (x - mean) / np.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5)


@pytest.mark.parametrize("shape", ["f32[100, 64]", "f32[n, 64]", "f32[n, m]"])
def test_softmax_is_one_kernel(shape: str) -> None:
    assert kinds(planned(softmax, shape).nodes) == ["max+sum"]


def test_layer_norm_is_one_kernel() -> None:
    assert kinds(planned(layer_norm, "f32[100, 64]").nodes) == ["sum+sum"]


def test_the_gradient_of_a_row_local_loss_is_one_kernel() -> None:
    def loss(x: Any) -> Any:
        return np.sum(softmax(x) ** 2)

    assert len(parted(wf.grad(loss), "f32[100, 64]").nodes) == 1


def test_elementwise_chains_and_views_are_one_kernel() -> None:
    def function(x: Any, y: Any) -> Any:
        return np.exp(x.T[::-1, 1:]) * y + np.sin(y[None][0])

    assert kinds(planned(function, "f64[5, 7]", "f64[7, 4]").nodes) == ["map"]


def test_a_value_with_two_readers_is_a_further_result_of_one_of_them() -> None:
    def function(x: Any) -> Any:
        y = np.exp(x)
        return y, y @ y, np.tanh(y) + 1

    partition = parted(function, "f64[30, 30]")
    hosts = [
        node for node in partition.nodes if isinstance(node, FusionGroup) and len(node.stores) == 2
    ]
    assert len(hosts) == 1


def all_pairs(x: Any) -> Any:
    d = x[:, None, :] - x[None, :, :]
    return np.sum(1 / np.sqrt(np.sum(d * d, axis=-1) + 0.01))


def largest(made: RegionPlan) -> Size:
    sizes = [int(b.bytes) for b in made.buffers if b.kind == "temporary"]
    return max(sizes, default=0)


def kernel_times_vector(x: Any) -> Any:
    d = x[:, None, :] - x[None, :, :]
    return np.sum((np.exp(-np.sum(d * d, axis=-1)) @ x[:, 0]) ** 2)


@pytest.mark.parametrize("loss", [all_pairs, kernel_times_vector])
def test_all_pairs_are_never_stored(loss: Callable[..., Any]) -> None:
    for function in (loss, wf.grad(loss)):
        assert largest(planned(function, "f64[4000, 3]")) <= 4000 * 3 * 8


def test_reductions_that_share_work_are_one_kernel() -> None:
    def function(x: Any, y: Any) -> Any:
        pairs = np.exp(x[:, None] * y[None, :])
        return np.sum(pairs, axis=1), np.sum(pairs * y, axis=1)

    assert kinds(planned(function, "f64[1000]", "f64[1000]").nodes) == ["sum+sum"]


def test_sweeps_of_a_stencil_are_stored_each() -> None:
    def sweeps(u: Any) -> Any:
        for _ in range(6):
            u = u.copy()
            u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        return u

    partition = parted(sweeps, "f64[100, 100]")
    assert kinds(partition.nodes) == ["map"] * 6
    assert any("5 times" in refusal.reason for refusal in partition.refusals)


def test_a_full_reduction_is_not_done_again_for_every_element() -> None:
    def function(x: Any) -> Any:
        return x / np.sum(x)

    assert kinds(planned(function, "f64[1000, 1000]").nodes) == ["sum", "map"]


def softmax_down(x: Any) -> Any:
    e = np.exp(x - x.max(0))
    return e / e.sum(0)


def test_long_columns_are_gone_through_in_the_order_of_memory() -> None:
    assert kinds(planned(softmax_down, "f32[64, 1024]").nodes) == ["max+sum"]
    assert kinds(planned(softmax_down, "f32[4096, 1024]").nodes) == ["max", "map", "sum", "map"]
    assert kinds(planned(lambda x: np.sqrt(x.sum(0)), "f32[4096, 1024]").nodes) == ["sum"]

    def highest(x: Any) -> Any:
        return x + x.argmax(0)

    assert kinds(planned(highest, "f32[64, 1024]").nodes) == ["argmax"]
    assert kinds(planned(highest, "f32[4096, 1024]").nodes) == ["argmax", "map"]


def test_what_a_column_needs_is_not_computed_for_every_row() -> None:
    def function(x: Any, y: Any) -> Any:
        return x + np.exp(y)

    partition = parted(function, "f64[1000, 100]", "f64[100]")
    assert kinds(partition.nodes) == ["map", "map"]
    assert any("outer loop" in refusal.reason for refusal in partition.refusals)


def test_numbers_are_no_kernels() -> None:
    def function(x: Any, y: Any) -> Any:
        return np.exp(x) * y + x

    assert kinds(planned(function, "f64[]", "f64[]").nodes) == ["number"] * 3


def test_a_fence_is_not_crossed() -> None:
    def function(x: Any) -> Any:
        return wf.fence(np.exp(x)) + 1

    assert kinds(planned(function, "f64[100]").nodes) == ["map", "map"]


def test_what_is_to_be_fused_is_not_stored() -> None:
    def function(x: Any, y: Any) -> Any:
        return x + wf.fuse(np.exp(y))

    assert kinds(planned(function, "f64[1000, 100]", "f64[100]").nodes) == ["map"]


def test_many_pieces_are_written_one_by_one() -> None:
    def function(x: Any) -> Any:
        return np.concatenate([x, x + 1, x * 2, x - 3, np.exp(x)])

    (node,) = parted(function, "f64[10]").nodes
    assert isinstance(node, PiecewiseNode)
    assert len(node.groups) == 5


def test_each_refusal_has_a_reason_and_a_line() -> None:
    def function(x: Any) -> Any:
        y = np.exp(x)
        return y @ y, np.tanh(y) @ y

    for refusal in parted(function, "f64[30, 30]").refusals:
        assert refusal.reason
        assert refusal.producer.location is not None


@pytest.mark.parametrize("columns", [8, 64, 300])
@pytest.mark.parametrize("reduced", [np.mean, np.max])
def test_rows_written_with_their_reductions_wait_for_them(
    reduced: Callable[..., Any], columns: int
) -> None:
    def levelled(x: Any) -> Any:
        y = x.copy()
        for _ in range(3):
            y[:, :-1] = 0.5 * reduced(y, axis=1)[:, None] - y[:, :1]
        return y, reduced(y, axis=1)

    x = np.random.default_rng(0).normal(size=(2, columns))
    for made, expected in zip(wf.jit(levelled)(x), levelled(x), strict=True):
        np.testing.assert_allclose(made, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("shape", [(2, 64), (2, 8, 8)])
def test_a_reduction_does_not_join_one_that_reads_it(shape: tuple[int, ...]) -> None:
    def levelled(x: Any) -> Any:
        axes = tuple(range(1, x.ndim))
        inside = (slice(None), *[slice(-1)] * len(axes))
        y = x.copy()
        for _ in range(3):
            y[inside] = y.mean(axes, keepdims=True)
        return y

    x = np.random.default_rng(0).normal(size=shape)
    np.testing.assert_allclose(wf.jit(levelled)(x), levelled(x), rtol=1e-12, atol=1e-14)
