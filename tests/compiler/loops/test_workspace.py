"""What nodes work in: rows, running results, frames of threads, what routines ask for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import weft as wf
from tests.compiler.ir.making import graph, number, ops, region
from weft.compiler.ir import dims
from weft.compiler.ir.alignment import ALIGNMENT, parts_for_threads
from weft.compiler.ir.dims import Size
from weft.compiler.ir.errors import WeftError
from weft.compiler.ir.graph import Op, Value
from weft.compiler.loops.parse import parse_program
from weft.compiler.loops.pipeline import lower_to_loops
from weft.compiler.loops.program import LoopProgram
from weft.compiler.loops.workspace import (
    MOST_NUMBERS,
    NUMBER_BYTES,
    THREADS,
    measured,
    measured_symbols,
)
from weft.compiler.ops.ordering import sort

ROUTINE = 1000  # bytes that routines of the tests work in, for each thread


def routine_bytes(op: Op, strides: Sequence[tuple[Size, ...]], threads: Size) -> Size:
    return ROUTINE * threads


def lowered(function: Any, *specs: str) -> LoopProgram:
    graph = wf.trace(function)(*[wf.spec(text) for text in specs])
    return lower_to_loops(graph, 32, routine_bytes=routine_bytes, verify=True)[0]


def workspace(function: Any, *specs: str, threads: int = 2, **sizes: int) -> int:
    bytes = lowered(function, *specs).scheduled.workspace_bytes
    return dims.evaluate(bytes, {THREADS: threads, **sizes})


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def test_elementwise_programs_work_in_nothing() -> None:
    program = lowered(lambda x: np.exp(x) + 1, "f64[1000, 1000]")
    assert program.scheduled.workspace == {}
    assert program.scheduled.workspace_bytes == 0


def test_each_thread_has_the_row_that_stages_keep() -> None:
    program = lowered(softmax, "f64[300, 700]")
    (case,) = program.scheduled.cases.values()
    row = 8 * (700 + case.vectors.lanes)  # one vector longer than the row
    for threads in (1, 2, 50):
        made = dims.evaluate(program.scheduled.workspace_bytes, {THREADS: threads})
        assert made == parts_for_threads(row, threads)


def test_kernel_on_one_thread_has_one_row() -> None:
    assert workspace(softmax, "f64[2, 7]", threads=9) == 2 * ALIGNMENT + ALIGNMENT


def test_rows_of_symbolic_size() -> None:
    small, large = [workspace(softmax, "f64[300, n]", n=n) for n in (10, 10_000)]
    assert 2 * 8 * 9990 - 2 * ALIGNMENT <= large - small <= 2 * 8 * 9990 + 2 * ALIGNMENT


def test_nodes_take_turns() -> None:
    """The program has as much as the node that needs most."""
    program = lowered(lambda x: softmax(np.sort(softmax(x), axis=1)), "f64[300, 700]")
    schedule = program.scheduled
    assert len(schedule.workspace) == 3
    at = {THREADS: 3}
    needs = [dims.evaluate(bytes, at) for bytes in schedule.workspace.values()]
    assert dims.evaluate(schedule.workspace_bytes, at) == max(needs)


def test_parts_of_a_reduction() -> None:
    assert workspace(lambda x: x.sum(), "f64[4000000]", threads=1) >= 64 * 8


def test_steps_at_once_have_frames_of_their_own() -> None:
    def steps(x: Any) -> Any:
        return wf.map(lambda m: np.sort(m * 2, axis=1) + 1, x)

    program = lowered(steps, "f64[64, 100, 100]")
    assert program.scheduled.parallel
    assert program.plan.bytes == 0
    frame = 2 * 100 * 100 * 8 + ROUTINE
    for threads in (1, 3, 1000):
        made = dims.evaluate(program.scheduled.workspace_bytes, {THREADS: threads})
        assert made >= min(threads, 64) * (frame // 2)
        assert made <= parts_for_threads(frame + 2 * ALIGNMENT, threads, 64)


def test_loops_in_order_share_what_their_nodes_work_in() -> None:
    def steps(x: Any) -> Any:
        return wf.fori_loop(0, 10, lambda i, y: np.sort(y, axis=0), x)

    assert workspace(steps, "f64[30, 30]", threads=5) == 5 * ROUTINE


def test_sizes_that_are_found_out_on_the_way_are_not_planned() -> None:
    def selected(x: Any) -> Any:
        return np.sort(x[x > 0]).sum()

    program = lowered(selected, "f64[1000]")
    names = {
        symbol.name
        for bytes in program.scheduled.workspace.values()
        if not isinstance(bytes, int)
        for symbol in dims.symbols(bytes)
    }
    assert names <= {THREADS}


# --- numbers ------------------------------------------------------------------------------------


def sums(x: Any) -> Any:
    return [row.sum() for row in x]


def test_few_numbers_are_on_the_stack() -> None:
    assert lowered(sums, f"f64[{MOST_NUMBERS}, 9]").scheduled.number_bytes == 0


def test_many_numbers_are_in_memory_that_is_planned() -> None:
    count = MOST_NUMBERS + 1
    program = lowered(sums, f"f64[{count}, 9]")
    assert program.scheduled.number_bytes >= 2 * count * NUMBER_BYTES
    assert parse_program(program.text()).text() == program.text()


def test_numbers_of_other_bytes_are_a_fault() -> None:
    program = lowered(sums, f"f64[{MOST_NUMBERS + 1}, 9]")
    program.scheduled.number_bytes -= ALIGNMENT
    with pytest.raises(WeftError, match="bytes for its numbers"):
        program.verify("schedule")


# --- what routines find out at run time ---------------------------------------------------------


def measured_bytes(op: Op, strides: Sequence[tuple[Size, ...]], threads: Size) -> Size:
    """Sorting finds out what it works in: a symbol for each axis, and for one thread another."""
    axis = op.attributes.get("axis", 0)
    return measured(f"{op.name}.{axis}" if threads != 1 else f"{op.name}.{axis}.single")


def measuring(function: Any, *specs: str) -> LoopProgram:
    graph = wf.trace(function)(*[wf.spec(text) for text in specs])
    return lower_to_loops(graph, 32, routine_bytes=measured_bytes, verify=True)[0]


def sort_both(x: Any) -> Any:
    return np.sort(np.sort(np.sort(x, axis=0), axis=1) + 1, axis=0)


def test_program_has_as_much_as_any_routine_finds_out() -> None:
    program = measuring(lambda x: softmax(sort_both(x)), "f64[300, 700]")
    total = program.scheduled.workspace_bytes
    assert measured_symbols(total) == ["bytes.sort.0", "bytes.sort.1"]
    for first, second in ((1, 10**9), (10**9, 1)):
        at = {THREADS: 3, "bytes.sort.0": first, "bytes.sort.1": second}
        assert dims.evaluate(total, at) == 10**9
    assert dims.evaluate(total, {THREADS: 3, "bytes.sort.0": 1, "bytes.sort.1": 1}) > 1


def test_program_with_measured_sizes_is_read_back() -> None:
    program = measuring(sort_both, "f64[300, 700]")
    assert parse_program(program.text()).text() == program.text()


def test_steps_at_once_measure_for_one_thread() -> None:
    program = measuring(lambda x: wf.map(lambda m: np.sort(m, axis=1) + 1, x), "f64[64, 100, 100]")
    assert program.scheduled.parallel
    assert measured_symbols(program.scheduled.workspace_bytes) == ["bytes.sort.1.single"]


def test_routines_of_sizes_that_are_found_out_on_the_way_are_not_measured() -> None:
    def sorted_record(x: Value) -> Value:
        steps = [
            region(["f32[]"], lambda x: ops.lt(x, number(3.0))),
            region(["f32[]"], lambda x: (ops.add(x, number(1.0)), x)),
        ]
        trips = dims.symbol("t", lower=0)
        _, record = ops.while_.emit(x, trips=trips, regions=steps)
        return sort.emit(record, axis=0)[0]

    late = graph({"x": "f32[]"}, sorted_record)
    program, _ = lower_to_loops(late, 32, routine_bytes=measured_bytes, verify=True)
    assert not measured_symbols(program.scheduled.workspace_bytes)


def test_program_that_has_less_than_a_routine_finds_out_is_a_fault() -> None:
    program = measuring(sort_both, "f64[300, 700]")
    program.scheduled.workspace_bytes = measured("sort.0")
    with pytest.raises(WeftError, match="works in bytes.sort.1 bytes"):
        program.verify("schedule")
