"""What a thread takes at a time: numbered work items that cover every step once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft as wf
from weft.compiler.ir import dims
from weft.compiler.loops.costs import LIMITS
from weft.compiler.loops.pipeline import lower_to_loops
from weft.compiler.loops.schedule import KernelCase
from weft.compiler.loops.work_items import is_shared, item_count, item_shape, single_loops


def case_of(function: Any, *specs: str) -> KernelCase:
    graph = wf.trace(function)(*[wf.spec(text) for text in specs])
    program, _ = lower_to_loops(graph, 32, verify=True)
    (case,) = program.scheduled.cases.values()
    return case


def test_blocks_of_a_vector_loop() -> None:
    case = case_of(lambda x: np.exp(x), "f32[100000]")
    block = case.vectors.block
    assert item_shape(case.kernel, case.vectors) == [-(-100_000 // block)]
    assert single_loops(case.kernel, case.vectors) == []


def test_rows_of_a_kernel_that_reduces() -> None:
    case = case_of(lambda x: x / x.sum(1, keepdims=True), "f32[300, 700]")
    assert item_shape(case.kernel, case.vectors) == [300]


def test_tiles_of_a_transpose_cover_all_steps() -> None:
    case = case_of(lambda x: x.T + 1, "f32[300, 700]")
    assert case.vectors.tile is not None
    assert case.vectors.outer is not None
    count = item_count(case.kernel, case.vectors)
    assert isinstance(count, int)
    assert count * case.vectors.block * case.vectors.lanes >= 300 * 700


def test_parts_of_a_reduction_of_everything() -> None:
    case = case_of(lambda x: x.sum(), "f64[4000000]")
    assert case.vectors.tiling is not None
    assert item_shape(case.kernel, case.vectors)[0] == case.vectors.tiling.parts


@pytest.mark.parametrize("n", [17, 4095, 4096, 4097, 100_000])
def test_items_of_symbolic_sizes_are_those_of_numbers(n: int) -> None:
    symbolic = case_of(lambda x: np.exp(x), "f32[n]")
    known = case_of(lambda x: np.exp(x), f"f32[{n}]")
    assert symbolic.vectors.block == known.vectors.block
    count = item_count(symbolic.kernel, symbolic.vectors)
    assert dims.evaluate(count, {"n": n}) == item_count(known.kernel, known.vectors)


def test_small_kernels_stay_on_one_thread() -> None:
    small = case_of(lambda x: x + 1, "f32[100]")
    assert not is_shared(small.kernel, small.vectors)
    large = case_of(lambda x: x + 1, f"f32[{LIMITS.shared * 16}]")
    assert is_shared(large.kernel, large.vectors)
    unknown = case_of(lambda x: x + 1, "f32[n]")
    assert is_shared(unknown.kernel, unknown.vectors)
