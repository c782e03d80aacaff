"""What is copied from one place to another, and what for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft as wf
from tests.compiler.loops.samples import SAMPLES
from weft.compiler.loops.memory import Copy, RegionPlan
from weft.compiler.loops.pipeline import lower_to_loops


def plans(function: Any, *specs: str, donated: dict[int, int] | None = None) -> list[RegionPlan]:
    graph = wf.trace(function)(*[wf.spec(text) for text in specs])
    program, _ = lower_to_loops(graph, 32, donated=donated, verify=True)
    return list(program.plan.all_regions())


def copies(plan: RegionPlan) -> dict[str, Copy]:
    """The copies of a region by the first word of their purpose."""
    return {str(purpose[0]): copy for purpose, copy in plan.copies.items()}


def update(x: Any, i: Any, u: Any) -> Any:
    return x.at[i].add(u)


def test_updated_argument_is_copied_unless_it_is_donated() -> None:
    specs = ("f32[100]", "i64[6]", "f32[6]")
    (kept,) = plans(update, *specs)
    copy = copies(kept)["base"]
    assert copy.value is kept.region.parameters[0]
    assert copy.target.storage is kept.holders[kept.fusion.resolve(kept.region.results[0])]
    (donated,) = plans(update, *specs, donated={0: 0})
    assert donated.copies == {}
    assert donated.in_place == {0}


def test_argument_that_is_a_result_is_copied() -> None:
    (plan,) = plans(lambda x: (x, x + 1), "f32[8]")
    copy = copies(plan)["result"]
    assert copy.source.storage is plan.holders[plan.region.parameters[0]]
    assert plan.copies.keys() == {("result", 0)}


def test_value_that_is_two_results_is_computed_once_and_copied() -> None:
    def function(x: Any) -> Any:
        y = np.exp(x)
        return y, y

    (plan,) = plans(function, "f32[8]")
    assert plan.copies.keys() == {("result", 1)}


def test_strided_operand_of_a_loop_is_packed_and_its_carry_brought_home() -> None:
    sample = SAMPLES["strided_parameter_with_copy"]
    program, _ = lower_to_loops(sample.start().graph, 32, sample.strides, verify=True)
    found = copies(program.plan)
    assert found.keys() == {"operand", "carry"}
    assert found["operand"].target.strides == (40, 1)
    assert found["operand"].source.strides == sample.strides[0]


@pytest.mark.parametrize("name", ["elementwise_chain", "softmax", "product_with_consumer_rows"])
def test_programs_that_need_no_copy_have_none(name: str) -> None:
    program, _ = lower_to_loops(SAMPLES[name].start().graph, 32)
    assert program.plan.copies == {}
