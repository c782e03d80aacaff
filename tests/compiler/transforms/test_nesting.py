"""Loops and branches inside each other: each region is transformed a few times, however deep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft as wf
from weft.compiler.transforms import derive, prune

DEPTH = 12
MOST = 4  # times that a level is transformed: by what is marked at first, and in the end


def branches(depth: int) -> Callable[[Any], Any]:
    """A branch in a branch, of which the other one has no derivative."""
    if depth == 0:
        return np.sin
    inner = branches(depth - 1)
    return lambda x: wf.cond(x[0] > depth, lambda v: inner(v) * 2, lambda v: v * 0 + depth, x)


def scans(depth: int) -> Callable[[Any], Any]:
    """A scan in a scan, each with a carry that begins without a tangent."""
    if depth == 0:
        return np.sin
    inner = scans(depth - 1)

    def run(w: Any) -> Any:
        return wf.scan(lambda c, _: (c * w + inner(w), None), np.zeros(2), None, length=3)[0]

    return run


def counted(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> list[None]:
    """A list that grows with every call."""
    calls: list[None] = []
    function = getattr(owner, name)

    def counting(*args: Any, **options: Any) -> Any:
        calls.append(None)
        return function(*args, **options)

    monkeypatch.setattr(owner, name, counting)
    return calls


@pytest.mark.parametrize("nest", (branches, scans))
@pytest.mark.parametrize("name", ("jvp_region", "split_region", "batch_region"))
def test_each_level_is_transformed_a_few_times(
    monkeypatch: pytest.MonkeyPatch, nest: Callable[[int], Callable[[Any], Any]], name: str
) -> None:
    calls = counted(monkeypatch, derive, name)
    function = nest(DEPTH)
    x = np.ones(2)
    wf.trace(wf.grad(lambda x: function(x).sum()))(x)
    wf.trace(lambda x: wf.jvp(function, (x,), (x,)))(x)
    wf.trace(wf.vmap(function))(np.ones((3, 2)))
    assert DEPTH <= len(calls) <= MOST * DEPTH


@pytest.mark.parametrize("nest", (branches, scans))
def test_each_level_is_pruned_a_few_times(
    monkeypatch: pytest.MonkeyPatch, nest: Callable[[int], Callable[[Any], Any]]
) -> None:
    function = nest(DEPTH)
    graph = wf.trace(wf.grad(lambda x: function(x).sum()))(np.ones(2))
    calls = counted(monkeypatch, prune._Pruner, "_pruned")
    prune.prune(graph)
    assert DEPTH <= len(calls) <= 2 * MOST * DEPTH


@pytest.mark.parametrize("nest", (branches, scans))
def test_derivatives_of_deep_nests_are_those_of_the_function(
    nest: Callable[[int], Callable[[Any], Any]],
) -> None:
    function = nest(4)
    x = np.array([0.3, 0.7])
    slope = wf.jvp(function, (x,), (np.ones(2),))[1]
    expected = (function(x + 1e-6) - function(x - 1e-6)) / 2e-6
    np.testing.assert_allclose(slope, expected, rtol=1e-6)
    gradient = wf.grad(lambda x: function(x).sum())(x)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6)
