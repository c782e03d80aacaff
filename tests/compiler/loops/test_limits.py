"""Which steps of loops are for nothing, as far as kernels tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft as wf
from weft.compiler.loops.kernel import Entry
from weft.compiler.loops.limits import limits_of

FLOATS, NUMBER = wf.spec("f64[40, 30]"), wf.spec("i64[]")


def identity(kind: str, entry: Entry) -> object:
    starts = {"sum": 0, "prod": 1, "max": -np.inf, "min": np.inf, "any": False, "all": True}
    return starts[kind]


def counts(function: Callable[..., Any]) -> list[tuple[int, int]]:
    """For each kernel with limits, how many of outer and of inner loops."""
    schedule = wf.jit(function).lower(FLOATS, NUMBER).loops.schedule
    found = [limits_of(case.kernel, identity) for case in schedule.cases.values()]
    made = [(len(one.outer), sum(map(len, one.inner.values()))) for one in found]
    return [pair for pair in made if pair != (0, 0)]


def _below(i: Any) -> Any:
    return wf.numpy.arange(30) < i


CASES: list[tuple[Callable[..., Any], list[tuple[int, int]]]] = [
    (lambda a, i: np.where(_below(i), a, 0.0).sum(axis=1), [(0, 1)]),
    (lambda a, i: a[:, i : 3 * i].sum(axis=1), [(0, 2)]),
    (lambda a, i: a[i : 3 * i, i:].sum(), [(0, 3)]),
    (lambda a, i: a[:, :i] @ a[0, :i], [(0, 1)]),
    (lambda a, i: np.where(_below(i), a, -np.inf).max(axis=1), [(0, 1)]),
    (lambda a, i: np.where(_below(i), a, 0.0).max(axis=1), []),
    (lambda a, i: np.where(_below(i), a, 1.0).sum(axis=1), []),
    (lambda a, i: (np.where(_below(i), a, 0.0) + a).sum(axis=1), []),
    (lambda a, i: np.where(_below(i), a, 0.0), []),
    (
        lambda a, i: wf.fori_loop(0, 9, lambda k, b: np.where(_below(i + k), 2 * b, b), a),
        [(1, 0)],
    ),
    (lambda a, i: wf.fori_loop(0, 9, lambda k, b: np.where(_below(i + k), 2 * b, b + 1), a), []),
]


@pytest.mark.parametrize(("function", "wanted"), CASES)
def test_limits_of_kernels(function: Callable[..., Any], wanted: list[tuple[int, int]]) -> None:
    assert counts(function) == wanted
