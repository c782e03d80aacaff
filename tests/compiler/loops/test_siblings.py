"""Which reductions share work: found through the index as by comparing each with all others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft as wf
from weft.compiler.ir.graph import Result
from weft.compiler.ir.index.affine import ZERO, Loop, counter, over
from weft.compiler.ir.index.expression import Ref
from weft.compiler.loops.fuse import fuse
from weft.compiler.loops.group import FusionGroup
from weft.compiler.loops.siblings import (
    MOST_CANDIDATES,
    MOST_SEARCHED,
    ReductionIndex,
    made_of,
)


def groups(function: Any, *specs: str) -> list[FusionGroup]:
    graph = wf.trace(function)(*[wf.spec(text) for text in specs])
    return [node for node in fuse(graph.region).nodes if isinstance(node, FusionGroup)]


def test_reductions_of_one_costly_value_are_one_kernel() -> None:
    def function(x: Any) -> Any:
        e = np.exp(x)
        return e.sum(0), (e * x).sum(0), (e + 1).max(0)

    assert len(groups(function, "f32[100, 64]")) == 1


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(lambda x: (np.exp(x).sum(0), np.sin(x).sum(0)), id="nothing costly in common"),
        pytest.param(lambda x: (np.exp(x).sum(0), np.exp(x[:50]).sum(0)), id="other lengths"),
    ],
)
def test_other_reductions_stay_apart(function: Any) -> None:
    assert len(groups(function, "f32[100, 64]")) == 2


def test_index_finds_groups_by_what_they_came_to_want() -> None:
    graph = wf.trace(lambda x: np.exp(np.sin(x)))(wf.spec("f32[8]"))
    sine, exponential = [op.results[0] for op in graph.ops]
    loop = Loop(8)
    place = over((loop,))
    index = ReductionIndex(lambda value: isinstance(value, Result))
    group = FusionGroup((loop,), reduce_loops={(8,): (loop,)})
    kind = ((), (8,))
    index.add(kind, group)
    assert index.candidates(kind, Ref(exponential, place), (loop,)) == []
    group.wanted[Ref(sine, place)] = None
    index.changed(group)
    assert index.candidates(kind, Ref(exponential, place), (loop,)) == [group]
    assert index.candidates(((), (9,)), Ref(exponential, place), (loop,)) == []
    assert index.shares(Ref(exponential, place), group)


def test_index_compares_places_in_loops_of_the_same_numbers() -> None:
    graph = wf.trace(lambda x: np.sin(x))(wf.spec("f32[8, 9]"))
    (sine,) = graph.ops[0].results
    outer, inner, first, second = Loop(8), Loop(9), Loop(8), Loop(9)
    index = ReductionIndex(lambda value: isinstance(value, Result))
    group = FusionGroup((outer,), outer=(outer,), reduce_loops={(9,): (inner,)})
    kind = ((8,), (9,))
    index.add(kind, group)
    group.wanted[Ref(sine, over((outer, inner)))] = None
    index.changed(group)
    same, other = over((first, second)), over((first, second)).at([ZERO, counter(second)])
    assert index.candidates(kind, Ref(sine, same), (first, second)) == [group]
    assert index.candidates(kind, Ref(sine, other), (first, second)) == []


def test_reductions_of_parts_of_one_array_are_not_compared_with_each_other() -> None:
    def chain(x: Any) -> Any:
        rows = np.concatenate([x] * 16)
        made = rows[0]
        for row in rows[1:]:
            made = row - made.mean()
        return made

    compared = 0
    before = ReductionIndex.shares

    def shares(self: ReductionIndex, body: Ref, group: FusionGroup) -> bool:
        nonlocal compared
        compared += 1
        return before(self, body, group)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ReductionIndex, "shares", shares)
        groups(chain, "f64[6, 50]")
    assert compared == 0


def test_a_reduction_is_compared_with_the_latest_groups_only() -> None:
    graph = wf.trace(lambda x: np.sin(x))(wf.spec("f32[8]"))
    (sine,) = graph.ops[0].results
    index = ReductionIndex(lambda value: isinstance(value, Result))
    kind = ((), (8,))
    added = []
    for _ in range(2 * MOST_CANDIDATES):
        loop = Loop(8)
        group = FusionGroup((), reduce_loops={(8,): (loop,)})
        index.add(kind, group)
        group.wanted[Ref(sine, over((loop,)))] = None
        added.append(group)
    mine = Loop(8)
    found = index.candidates(kind, Ref(sine, over((mine,))), (mine,))
    assert found == added[-MOST_CANDIDATES:]


def test_search_ends_after_a_fixed_number_of_values() -> None:
    def deep(x: Any) -> Any:
        for _ in range(200):
            x = np.sin(x)
        return x

    graph = wf.trace(deep, control_flow=False)(wf.spec("f32[8]"))
    found = made_of([Ref(graph.results[0], over((Loop(8),)))])
    assert len(found) == MOST_SEARCHED
