"""Graphs are reduced to small ones on which a predicate still holds, in the time there is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import numpy as np
import pytest

import weft as wf
from tests.patience import PATIENCE
from weft.compiler.ir import reduce as reducing
from weft.compiler.ir.graph import Graph, Value
from weft.compiler.ir.reduce import Fails, ReducedGraph, ReductionLimits
from weft.compiler.ir.walk import walk


def reduce(graph: Graph, fails: Fails, **options: Any) -> ReducedGraph:
    """Without a limit of time, unless one is given: a busy machine may take any."""
    return reducing.reduce(
        graph, fails, **{"limits": ReductionLimits(seconds=10 * PATIENCE), **options}
    )


def has(*names: str) -> Callable[[Graph], bool]:
    """Whether a graph has ops of these names, each checked to be asked of valid graphs only."""

    def holds(graph: Graph) -> bool:
        found = {op.name for op in walk(graph.verify())}
        return found.issuperset(names)

    return holds


def names(graph: Graph) -> list[str]:
    return [op.name for op in graph.ops]


def long(x: Any, y: Any) -> Any:
    for n in range(60):
        x = np.sin(x) * y + n
    x = np.sinh(x) @ np.tanh(y).T
    for n in range(60):
        x = np.cos(x) - np.sum(y) * n
    return x, np.exp(y)


LONG = wf.trace(long, control_flow=False)(wf.spec("f64[96, 64]"), wf.spec("f64[96, 64]"))


def test_one_op_of_hundreds_is_found_in_a_few_attempts() -> None:
    assert len(LONG.ops) > 300
    made = reduce(LONG, has("sinh"))
    assert names(made.graph) == ["sinh"]
    assert made.is_finished
    assert made.attempts < 80
    assert [p.type.shape for p in made.graph.parameters] == [(1, 1)]


def test_ops_that_are_needed_together_stay() -> None:
    made = reduce(LONG, has("sinh", "exp", "reduce_sum"))
    assert sorted(names(made.graph)) == ["exp", "reduce_sum", "sinh"]


def test_a_chain_is_shortened_where_its_ends_are_needed() -> None:
    def chain(graph: Graph) -> bool:
        """Whether a sine is computed of what a hyperbolic sine goes into."""
        below: set[Value] = set()
        for op in graph.verify().ops:
            if op.name == "sinh" or not below.isdisjoint(op.operands):
                below.update(op.results)
                if op.name == "exp":
                    return True
        return False

    def function(x: Any) -> Any:
        x = np.sinh(x)
        for _ in range(40):
            x = np.cos(x) * 2
        return np.exp(x)

    made = reduce(wf.trace(function)(wf.spec("f32[8]")), chain)
    assert names(made.graph) == ["sinh", "exp"]


def test_suspects_are_tried_first() -> None:
    (op,) = [op for op in LONG.ops if op.name == "sinh"]
    asked: list[list[str]] = []

    def fails(graph: Graph) -> bool:
        asked.append(names(graph))
        return has("sinh")(graph)

    made = reduce(LONG, fails, suspects=[op])
    assert asked[0] == ["sinh"]
    assert max(map(len, asked)) == 1
    assert names(made.graph) == ["sinh"]


def loop(x: Any, n: Any) -> Any:
    def step(carry: Any, row: Any) -> Any:
        inner = wf.fori_loop(0, 3, lambda i, v: np.tanh(np.sinh(v)) + i, carry)
        return np.cos(inner) + row, np.sum(inner)

    last, sums = wf.scan(step, np.exp(x[0]), np.sin(x))
    return last * 2, sums + n


LOOP = wf.trace(loop)(wf.spec("f64[10, 24]"), wf.spec("f64[]"))


def test_a_body_of_loops_becomes_the_graph() -> None:
    assert names(reduce(LOOP, has("sinh")).graph) == ["sinh"]


def test_a_loop_that_is_needed_keeps_only_what_is_needed_in_it() -> None:
    made = reduce(LOOP, has("scan", "sinh")).graph
    inside = [op.name for op in walk(made) if op not in made.ops]
    assert len(made.ops) == 1
    assert inside.count("sinh") == 1
    assert "cos" not in inside and "tanh" not in inside
    assert max(p.type.shape[-1] for p in made.parameters if p.type.rank) <= 2


def test_constants_become_parameters_and_symbols_numbers() -> None:
    table = np.arange(600.0).reshape(20, 30)

    def function(x: Any) -> Any:
        return np.sinh(x @ table) + 1

    graph = wf.trace(function)(wf.spec("f64[n, 20]"))
    made = reduce(graph, has("dot_general")).graph
    assert names(made) == ["dot_general"]
    assert not made.constants
    assert not made.symbols


def test_a_constant_that_is_needed_is_cropped_at_most() -> None:
    table = np.arange(600.0).reshape(20, 30)
    graph = wf.trace(lambda x: np.sinh(x @ table) + 1)(wf.spec("f64[7, 20]"))

    def fails(graph: Graph) -> bool:
        return any(c.array.ndim == 2 for c in graph.verify().constants)

    made = reduce(graph, fails).graph
    assert len(made.ops) <= 1
    assert max(c.array.size for c in made.constants) <= 16


@pytest.mark.parametrize("graph", [LONG, LOOP])
def test_what_is_made_reads_back(graph: Graph) -> None:
    for wanted in {op.name for op in walk(graph)}:
        made = reduce(
            graph, has(wanted), limits=ReductionLimits(seconds=10 * PATIENCE, rounds=1)
        ).graph
        text = made.text(locations=True, embed_constants=True)
        assert has(wanted)(wf.parse(text))


# --- limits ---------------------------------------------------------------------------------------


def ticking(step: float) -> Iterator[float]:
    return (step * n for n in count())


@pytest.mark.parametrize("seconds", [0.0, 1.0, 5.0, 30.0])
def test_the_time_box_is_kept(seconds: float) -> None:
    ticks = ticking(0.5)
    asked: list[float] = []
    now = 0.0

    def clock() -> float:
        nonlocal now
        now = next(ticks)
        return now

    def fails(graph: Graph) -> bool:
        asked.append(now)
        return has("sinh", "exp", "reduce_sum")(graph)

    made = reduce(LONG, fails, limits=ReductionLimits(seconds=seconds), clock=clock)
    assert len(asked) == made.attempts
    assert all(time < seconds for time in asked)
    assert has("sinh", "exp", "reduce_sum")(made.graph)  # the best so far
    assert not made.is_finished or seconds == 30.0
    assert (made.graph is LONG) == (not asked)


def test_rounds_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds: list[int] = []

    class Endless(reducing._Search):
        def _cut(self) -> None:
            rounds.append(1)
            self.best = Graph("again", self.best.region)

    monkeypatch.setattr(reducing, "_Search", Endless)
    graph = wf.trace(np.sin)(wf.spec("f64[]"))
    assert reduce(
        graph, lambda graph: False, limits=ReductionLimits(seconds=10 * PATIENCE, rounds=3)
    ).is_finished
    assert len(rounds) == 3


def test_interrupts_and_faults_of_the_predicate_pass() -> None:
    def interrupted(graph: Graph) -> bool:
        raise KeyboardInterrupt

    def faulty(graph: Graph) -> bool:
        raise ZeroDivisionError

    with pytest.raises(KeyboardInterrupt):
        reduce(LONG, interrupted)
    with pytest.raises(ZeroDivisionError):
        reduce(LONG, faulty)
