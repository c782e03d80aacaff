"""What is called and what is written in line, what is equal, and what is on the stack."""

from __future__ import annotations

from typing import Any

import numpy as np

import weft as wf
from weft.compiler.loops.pipeline import lower_to_loops
from weft.compiler.loops.program import LoopProgram
from weft.compiler.loops.schedule import InlineLimits, Schedule, schedule


def lowered(function: Any, *specs: str) -> LoopProgram:
    graph = wf.trace(function)(*[wf.spec(text) for text in specs])
    return lower_to_loops(graph, 32, verify=True)[0]


def scheduled(program: LoopProgram, **limits: int) -> Schedule:
    assert program.kernels is not None
    return schedule(program.plan, program.kernels, 256, InlineLimits(**limits))


def small_steps(start: Any, x: Any) -> Any:
    return wf.scan(lambda c, row: (c * row + 1.0, c.max()), start, x)


def test_equal_kernels_are_one_case() -> None:
    program = lowered(lambda x, y: (np.sin(x), np.sin(y)), "f32[50]", "f32[50]")
    assert len(program.scheduled.cases) == 1
    assert len(program.scheduled.case_of) == 2


def test_kernels_that_differ_in_a_number_are_one_case() -> None:
    program = lowered(lambda x, y: (x * 3.25, y * 7.75), "f32[50]", "f32[50]")
    assert len(program.scheduled.cases) == 1


def test_kernels_of_other_sizes_are_others() -> None:
    program = lowered(lambda x, y: (np.sin(x), np.sin(y)), "f32[50]", "f32[51]")
    assert len(program.scheduled.cases) == 2


def test_short_kernels_are_in_line_inside_of_loops_only() -> None:
    inside = lowered(small_steps, "f32[3]", "f32[50, 3]").scheduled
    assert inside.cases == {}
    outside = lowered(lambda c, x: c * x + 1.0, "f32[3]", "f32[3]").scheduled
    assert len(outside.cases) == 1


def test_numbers_are_in_line_everywhere() -> None:
    assert lowered(lambda x, y: np.sin(x) * y, "f32[]", "f32[]").scheduled.cases == {}


def test_limits_decide_what_is_in_line() -> None:
    program = lowered(small_steps, "f32[3]", "f32[50, 3]")
    assert len(scheduled(program, steps=2).cases) > 0
    assert len(scheduled(program, cost_of_program=0).cases) > 0
    assert scheduled(program).cases == {}


def test_small_carries_are_on_the_stack() -> None:
    program = lowered(small_steps, "f32[3]", "f32[50, 3]")
    (scan,) = program.graph.ops
    assert program.scheduled.stack_carries == {(scan, 0)}
    assert scheduled(program, stack_arrays=0).stack_carries == set()
    assert scheduled(program, stack_bytes=8).stack_carries == set()


def test_consumers_run_with_the_rows_of_their_product() -> None:
    program = lowered(lambda x, w: np.tanh(x @ w), "f32[64, 64]", "f32[64, 64]")
    ((producer, chain),) = program.scheduled.chains.items()
    assert producer.op.name == "dot_general"
    assert (chain.rows, chain.parts) == (64, 1)
    assert list(program.scheduled.by_rows.values()) == ["row by row"]
    assert program.scheduled.by_rows.keys() == {task.node for task in chain.tasks}
