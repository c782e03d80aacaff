"""Neighbouring loops become one exactly where every position in memory allows it."""

from __future__ import annotations

import itertools
from random import Random

import pytest

from tests.compiler.loops.samples import SAMPLES
from tests.compiler.lower.llvm.program.random_graphs import random_graph
from tests.compiler.lower.llvm.program.random_steps import ALL
from weft.compiler.ir import dims
from weft.compiler.ir.graph import Value
from weft.compiler.ir.index.affine import Index, Loop
from weft.compiler.loops.build_kernels import build
from weft.compiler.loops.collapse import collapse
from weft.compiler.loops.kernel import Kernel, Layout
from weft.compiler.loops.memory import RegionPlan
from weft.compiler.loops.naming import groups_of
from weft.compiler.loops.pipeline import lower_to_loops
from weft.compiler.loops.program import LoopProgram


def built(program: LoopProgram) -> list[Kernel]:
    """The kernels of a program before loops are joined."""
    kernels: list[Kernel] = []
    for plan in program.plan.all_regions():

        def layout_of(value: Value, written: bool, plan: RegionPlan = plan) -> Layout | None:
            if value.type.rank:
                return plan.layout(value)
            return Layout(("slot", value), 0, ()) if written else None

        for node in plan.nodes:
            for group in groups_of(node):
                kernels.append(build(group, layout_of, plan.fusion.position))
    return kernels


def kernel_of(name: str) -> Kernel:
    (kernel,) = built(lower_to_loops(SAMPLES[name].start().graph, 32)[0])
    return kernel


def positions(index: Index, loops: tuple[Loop, ...]) -> list[int]:
    """All positions in the order in which loops go through them."""
    found = []
    for counters in itertools.product(
        *(range(dims.evaluate(loop.size, {"n": 3})) for loop in loops)
    ):
        at = dict(zip(loops, counters, strict=True))
        found.append(sum(at[loop] * dims.evaluate(size, {"n": 3}) for loop, size in index.terms))
    return found


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("elementwise_chain", [8, 16], [128]),
        ("broadcast", [8, 16], [8, 16]),
        ("transpose_in_squares", [64, 64], [64, 64]),
    ],
)
def test_loops_are_joined_where_rows_follow_each_other(
    name: str, before: list[int], after: list[int]
) -> None:
    kernel = kernel_of(name)
    assert [loop.size for loop in kernel.outer] == before
    assert [loop.size for loop in collapse(kernel)[0].outer] == after


def test_rows_are_joined_with_each_other_only() -> None:
    kernel = kernel_of("elementwise_chain")
    joined, rows = collapse(kernel, kernel.outer[:1])
    assert joined is kernel
    assert rows == kernel.outer[:1]


@pytest.mark.parametrize("seed", range(30))
def test_joined_loops_go_through_the_same_positions(seed: int) -> None:
    random = Random(seed)
    program, _ = lower_to_loops(random_graph(random, random.randint(3, 20), ALL, 3), 32)
    for kernel in built(program):
        if kernel.inner or any(index.extras for index in kernel.indices()):
            continue
        joined = collapse(kernel)[0]
        old, new = list(kernel.indices()), list(joined.indices())
        assert len(old) == len(new)
        for before, after in zip(old, new, strict=True):
            assert positions(before, kernel.outer) == positions(after, joined.outer)
