"""Along which loop the lanes of a kernel go, and how many there are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft as wf
from weft.compiler.loops.pipeline import lower_to_loops
from weft.compiler.loops.schedule import KernelCase
from weft.compiler.loops.vectorise import inline_lanes


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


def steps_in_lanes(body: Any, size: int, dtype: str = "f64") -> list[int]:
    """The lanes of each kernel with loops that is written into the body of a loop."""

    def function(x: Any, y: Any) -> Any:
        return wf.fori_loop(0, 10, lambda _, x: body(x, y), x)

    graph = wf.trace(function)(*[wf.spec(f"{dtype}[{size}]")] * 2)
    program, _ = lower_to_loops(graph, 32, verify=True)
    along = {kernel: inline_lanes(kernel) for kernel in program.scheduled.inlined if kernel.outer}
    return [0 if loop is None else int(loop.size) for loop in along.values()]


@pytest.mark.parametrize("size", [4, 8])
def test_short_kernels_in_line_are_one_vector(size: int) -> None:
    lanes = steps_in_lanes(lambda x, y: x * 0.5 + y, size)
    assert lanes and set(lanes) == {size}


@pytest.mark.parametrize(
    ("body", "size", "dtype"),
    [
        (lambda x, y: x * 0.5 + y, 3, "f64"),  # no vector has as many lanes
        (lambda x, y: x * 0.5 + y, 4, "c128"),
        (lambda x, y: np.concatenate([x[1:], y[:1]]), 4, "f64"),
        (lambda x, y: x[::-1] + y, 4, "f64"),
        (lambda x, y: x / y, 4, "f64"),  # is dear
        (lambda x, y: x + np.sum(x * y), 4, "f64"),
    ],
)
def test_other_kernels_in_line_have_steps(body: Any, size: int, dtype: str) -> None:
    assert 0 in steps_in_lanes(body, size, dtype)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8, 9])
@pytest.mark.parametrize("dtype", ["f32", "f64", "i32", "i64", "u8", "bool", "c64"])
def test_values_in_line_are_those_of_numpy(size: int, dtype: str) -> None:
    kind = np.dtype("?" if dtype == "bool" else f"{dtype[0]}{int(dtype[1:]) // 8}")
    x = (np.arange(size) % 5 - 2).astype(kind)
    y = (np.arange(size)[::-1] % 3).astype(kind)

    def step(x: Any) -> Any:
        x = np.where(x > y, x + y, y) if kind.kind not in "c" else x * y + x
        return (x[::-1] + y).astype(kind)

    want = x
    for _ in range(5):
        want = step(want)
    np.testing.assert_array_equal(
        wf.jit(lambda x: wf.fori_loop(0, 5, lambda _, x: step(x), x))(x), want
    )
