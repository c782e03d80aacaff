"""What the stages of a kernel compute, and what they keep for each other."""

from __future__ import annotations

from typing import Any

import numpy as np

import weft as wf
from weft.compiler.ir.graph import Result
from weft.compiler.ir.index.expression import Ref
from weft.compiler.loops.kernel import Kernel
from weft.compiler.loops.pipeline import lower_to_loops
from weft.compiler.loops.stage_values import StageValues, stage_values


def only_kernel(function: Any, *specs: str) -> tuple[Kernel, StageValues]:
    program, _ = lower_to_loops(wf.trace(function)(*map(wf.spec, specs)), 32, verify=True)
    (case,) = program.scheduled.cases.values()
    return case.kernel, stage_values(case.kernel)


def ops_of(refs: Any) -> list[str]:
    return [ref.value.op.name for ref in refs if isinstance(ref.value, Result)]


def softmax(x: Any) -> Any:
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def test_the_exponential_of_a_softmax_is_computed_once() -> None:
    kernel, values = only_kernel(softmax, "f64[30, 40]")
    _, total, last = kernel.stages
    assert ops_of(values.kept) == ["exp"]
    assert "sub" in ops_of(values.needed[total]) and "sub" not in ops_of(values.needed[last])
    assert "exp" in ops_of(values.needed[last])


def test_loads_are_repeated_rather_than_kept() -> None:
    kernel, values = only_kernel(lambda x: x / x.sum(axis=1, keepdims=True), "f64[30, 40]")
    assert len([stage for stage in kernel.stages if stage.loops]) == 2
    assert values.kept == set()


def test_an_entry_is_needed_after_those_it_is_computed_from() -> None:
    kernel, values = only_kernel(softmax, "f64[30, 40]")
    order: dict[Ref, int] = {ref: number for number, ref in enumerate(kernel.entries)}
    for stage in kernel.stages:
        numbers = [order[ref] for ref in values.needed[stage]]
        assert numbers and numbers == sorted(numbers)


def test_one_stage_keeps_nothing() -> None:
    kernel, values = only_kernel(lambda x: np.exp(x) + np.exp(x) * 2, "f64[30, 40]")
    assert len(kernel.stages) == 1 and values.kept == set()
