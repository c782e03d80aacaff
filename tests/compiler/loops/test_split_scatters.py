"""Sums of many updates into few places are done in parts, with the same bits on any threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft as wf
import weft.numpy as wnp
from weft.compiler.loops.specialise import specialise
from weft.compiler.loops.split_scatters import LIMITS


def totals(index: Any, values: Any) -> Any:
    return wnp.zeros(50).at[index].add(values)


def data(count: int) -> tuple[Any, Any]:
    random = np.random.default_rng(count)
    return random.integers(0, 50, count), random.integers(-9, 9, count).astype(np.float64)


def test_many_updates_are_summed_in_parts() -> None:
    index, values = data(LIMITS.updates)
    graph = wf.trace(totals)(index, values)
    assert [op.name for op in specialise(graph).ops if op.name == "reduce_sum"]
    expected = np.bincount(index, values, 50)
    for count in (1, 2, 3):
        with wf.threads(count):
            np.testing.assert_array_equal(wf.jit(totals)(index, values), expected)


@pytest.mark.parametrize("count", [LIMITS.updates - 8, LIMITS.updates + 1])
def test_few_updates_or_uneven_ones_stay_as_they_are(count: int) -> None:
    index, values = data(count)
    graph = wf.trace(totals)(index, values)
    assert specialise(graph) is graph
    np.testing.assert_array_equal(wf.jit(totals)(index, values), np.bincount(index, values, 50))


def test_many_places_stay_as_they_are() -> None:
    def wide(index: Any, values: Any) -> Any:
        return wnp.zeros(LIMITS.places + 1).at[index].add(values)

    graph = wf.trace(wide)(*data(LIMITS.updates))
    assert specialise(graph) is graph
