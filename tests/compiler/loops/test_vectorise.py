"""Along which loop the lanes of a kernel go, and how many there are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft as wf
from weft.compiler.loops.pipeline import lower_to_loops
from weft.compiler.loops.schedule import KernelCase


def only_case(function: Any, *specs: str, vector_bytes: int = 32) -> KernelCase:
    graph = wf.trace(function)(*[wf.spec(text) for text in specs])
    program, _ = lower_to_loops(graph, vector_bytes, verify=True)
    (case,) = program.scheduled.cases.values()
    return case


@pytest.mark.parametrize(
    ("dtype", "vector_bytes", "lanes"),
    [("f32", 32, 32), ("f64", 32, 16), ("f32", 16, 16), ("f32", 64, 64), ("f16", 32, 64)],
)
def test_light_work_fills_four_registers(dtype: str, vector_bytes: int, lanes: int) -> None:
    case = only_case(lambda x: x + x, f"{dtype}[1000]", vector_bytes=vector_bytes)
    assert case.vectors.lanes == lanes


def test_heavy_work_fills_two() -> None:
    assert only_case(np.tanh, "f32[1000]").vectors.lanes == 16


def test_short_loops_have_no_more_lanes_than_they_fill() -> None:
    assert only_case(lambda x: x + x, "f32[9]").vectors.lanes == 8


def test_lanes_go_along_what_lies_side_by_side() -> None:
    case = only_case(lambda x: x[:, :7] * 2, "f32[50, 64]")
    assert case.vectors.outer is case.kernel.outer[-1]


def test_rows_are_reduced_along_themselves_and_columns_beside_each_other() -> None:
    rows = only_case(lambda x: x.sum(1), "f32[100, 64]")
    assert rows.vectors.outer is None
    assert list(rows.vectors.along.values()) == [rows.kernel.stages[0].loops[0]]
    columns = only_case(lambda x: x.sum(0), "f32[100, 64]")
    assert columns.vectors.outer is columns.kernel.outer[0]
    assert columns.vectors.along == {}


def test_transposes_of_light_work_go_by_squares() -> None:
    light = only_case(lambda x, y: x.T + y, "f32[64, 64]", "f32[64, 64]").vectors
    assert light.squares and light.tile is not None and light.lanes == 8
    heavy = only_case(lambda x, y: np.tanh(x.T) + y, "f32[64, 64]", "f32[64, 64]").vectors
    assert not heavy.squares and heavy.tile is not None


def test_scatters_that_may_meet_go_one_by_one() -> None:
    def function(x: Any, i: Any, u: Any) -> Any:
        return x.at[i].add(u)

    graph = wf.trace(function)(wf.spec("f32[10]"), wf.spec("i64[6]"), wf.spec("f32[6]"))
    program, _ = lower_to_loops(graph, 32, donated={0: 0})
    (case,) = program.scheduled.cases.values()
    assert case.kernel.in_order
    assert case.vectors.lanes == 0
