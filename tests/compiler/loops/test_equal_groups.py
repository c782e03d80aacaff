"""Equal groups share a kernel: it is the one that each of them would have been given on its own."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import weft as wf
from tests.compiler.loops.samples import SAMPLES
from tests.compiler.lower.llvm.program.random_graphs import random_graph
from tests.compiler.lower.llvm.program.random_steps import ALL
from weft.compiler.ir.errors import VerifyError
from weft.compiler.loops import build_kernels
from weft.compiler.loops.build_kernels import Kernels
from weft.compiler.loops.kernel import Kernel
from weft.compiler.loops.kernel_text import kernel_text
from weft.compiler.loops.pipeline import COLUMN, lower_to_loops
from weft.compiler.loops.program import LoopProgram
from weft.compiler.passes.pipeline import optimise


def what_it_is(kernel: Kernel) -> tuple[object, ...]:
    """All that tells kernels of one program apart."""
    offsets = kernel.offsets or (0,) * len(kernel.arrays)
    return kernel_text(kernel), kernel.arrays, kernel.arguments, offsets, kernel.weight


def both_ways(program: LoopProgram) -> tuple[Kernels, Kernels]:
    """The kernels of a program, and those that are built for each group on its own."""
    for step in COLUMN:
        if step.name == "build_kernels":
            break
        program = step.run(program)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build_kernels, "signature", lambda *_: None)
        alone = build_kernels.build_kernels(program.plan)
    return build_kernels.build_kernels(program.plan), alone


def assert_same(program: LoopProgram) -> Kernels:
    shared, alone = both_ways(program)
    assert shared.of_group.keys() == alone.of_group.keys()
    for group, kernel in shared.of_group.items():
        assert what_it_is(kernel) == what_it_is(alone.of_group[group])
    for group, (kernel, rows) in shared.in_rows.items():
        other, other_rows = alone.in_rows[group]
        assert what_it_is(kernel) == what_it_is(other)
        places = [kernel.outer.index(row) for row in rows]
        assert places == [other.outer.index(row) for row in other_rows]
    return shared


def started(function: Any, *specs: str) -> LoopProgram:
    graph = wf.trace(function)(*[wf.spec(text) for text in specs])
    return LoopProgram(optimise(graph)[0], 32)


def shared_ones(kernels: Kernels) -> int:
    in_rows = [kernel for kernel, _ in kernels.in_rows.values()]
    return sum(kernel.like is not None for kernel in (*kernels.of_group.values(), *in_rows))


@pytest.mark.parametrize("name", SAMPLES)
def test_samples(name: str) -> None:
    assert_same(SAMPLES[name].start())


@settings(
    deadline=None,
    max_examples=40,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
@given(st.randoms(use_true_random=False), st.integers(1, 40), st.sampled_from([None, 0, 1, 7, 33]))
def test_random_programs(random: Random, steps: int, n: int | None) -> None:
    assert_same(LoopProgram(random_graph(random, steps, ALL, n), 32))


def layers(x: Any, *weights: Any) -> Any:
    for a, b, c in zip(*[iter(weights)] * 3, strict=True):
        h = np.tanh(x @ a + b)
        x = x + (h - np.mean(h, axis=1, keepdims=True)) @ c
    return np.sum(x * x)


@pytest.mark.parametrize("rows", ["32", "n"])
def test_layers_have_the_kernels_of_the_first_ones(rows: str) -> None:
    specs = [f"f64[{rows}, 64]", *["f64[64, 64]", "f64[64]", "f64[64, 64]"] * 8]
    graph_of = wf.value_and_grad(layers, argnums=tuple(range(1, len(specs))))
    kernels = assert_same(started(graph_of, *specs))
    distinct = {kernel.like or kernel for kernel in kernels.of_group.values()}
    assert len(distinct) <= 12 < len(kernels.of_group)


def test_pieces_begin_elsewhere() -> None:
    kernels = assert_same(started(lambda *pieces: np.concatenate(pieces), *["f32[8]"] * 9))
    assert shared_ones(kernels) >= 7
    offsets = sorted(sum(kernel.offsets) for kernel in kernels.of_group.values())
    assert offsets == [32 * number for number in range(9)]


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: [np.exp(x[k : k + 4] + y[3 * k]) for k in range(8)],
        lambda x, y: [np.exp(x[::-1][k : k + 4]) * y[:4] for k in range(8)],
        lambda x, y: [np.cumsum(x * (k + 0.25)) + np.sum(y) for k in range(4)],
        lambda x, y: [np.exp(x * k) + y for k in (0.5, 0.5, 0.75, 1.0, 2.0, 3.0)],
        lambda x, y: [np.where(x > k, x, y) for k in range(4)],
        lambda x, y: [x.reshape(5, 8).T @ y.reshape(5, 8) + k for k in (1.5, 2.5)],
        lambda x, y: [np.pad(x, k) for k in range(3)],
        lambda x, y: [np.roll(np.tanh(x), k) + y for k in range(4)],
    ],
)
def test_families(function: Any) -> None:
    assert_same(started(function, "f64[40]", "f64[40]"))


def test_literals_tell_groups_apart_and_other_numbers_do_not() -> None:
    def scaled(x: Any) -> Any:
        return [np.tanh(x) * k for k in (0.3, 0.7, 0.5, 2.0)]

    def separately(*xs: Any) -> Any:
        return [np.tanh(x) * k for x, k in zip(xs, (0.3, 0.7, 0.5, 2.0), strict=True)]

    assert_same(started(scaled, "f64[40]"))
    kernels = assert_same(started(separately, *["f64[40]"] * 4))
    assert shared_ones(kernels) == 1


def test_text_says_what_a_kernel_is_like() -> None:
    def separately(x: Any, y: Any) -> Any:
        return np.tanh(x) * 0.3, np.tanh(y) * 0.7

    graph = wf.trace(separately)(wf.spec("f64[40]"), wf.spec("f64[40]"))
    program, _ = lower_to_loops(graph, 32, verify=True)
    assert "a0 = 0.7: f64) like k0" in str(program)


def test_kernel_that_is_not_like_the_other_is_refused() -> None:
    def separately(x: Any, y: Any) -> Any:
        return np.tanh(x), np.tanh(y)

    graph = wf.trace(separately)(wf.spec("f64[40]"), wf.spec("f64[40]"))
    program, _ = lower_to_loops(graph, 32)
    assert program.kernels is not None
    for kernel in program.kernels.of_group.values():
        if kernel.like is not None:
            kernel.arrays.reverse()
    with pytest.raises(VerifyError, match="is not like the kernel"):
        program.verify()


def test_values_are_those_of_numpy() -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((8, 8)) / 8 for _ in range(1 + 3 * 20)]
    value = wf.jit(layers)(*arrays)
    np.testing.assert_allclose(value, layers(*arrays), rtol=1e-12)
