"""Reducing a graph that a stage fails on to a small one on which it fails in the same way.

`reduce` is told by a predicate whether a graph still fails. It keeps what is smaller and fails,
tries next what `reductions` offers, and ends when nothing smaller fails or its time is up; then it
returns the smallest graph so far. Subsets are searched by halves, quarters, ... (delta debugging),
so that a fault of one op is found among hundreds in a dozen attempts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final, TypeVar

from weft.compiler.ir import reductions
from weft.compiler.ir.graph import Graph, Op
from weft.compiler.record import record

T = TypeVar("T")

Fails = Callable[[Graph], bool]
Clock = Callable[[], float]


@record
class ReductionLimits:
    """How long reducing may take: `seconds`, which a user waits once for, at the first call of a
    function that does not compile (a fault in 200 ops takes a tenth of that in a pass, and most of
    it where LLVM has to run each time); and how many times all kinds of reduction are gone through,
    the last of which usually find nothing.
    """

    seconds: float = 5.0
    rounds: int = 8


DEFAULT: Final = ReductionLimits()


@record
class ReducedGraph:
    """The smallest graph that was found, how many were tried, and whether the time was enough."""

    graph: Graph
    attempts: int
    seconds: float
    is_finished: bool


class _TimeIsUp(Exception):
    """Ends a search; the best graph so far is its result."""


def reduce(
    graph: Graph,
    fails: Fails,
    *,
    suspects: Sequence[Op] = (),
    limits: ReductionLimits = DEFAULT,
    clock: Clock = time.monotonic,
) -> ReducedGraph:
    """The smallest graph found on which `fails` holds, which must hold for this one. Its ops that
    are `suspects` are tried first, each alone.

    Every graph that `fails` is asked about is valid. The clock is looked at before each attempt, so
    the last one may take longer than the time that is left.
    """
    search = _Search(graph, fails, clock() + limits.seconds, clock)
    started = clock()
    is_finished = True
    try:
        search.first(partial(reductions.cut, graph, [op]) for op in suspects)
        search.run(limits.rounds)
    except _TimeIsUp:
        is_finished = False
    return ReducedGraph(search.best, search.attempts, clock() - started, is_finished)


class _Search:
    """The best graph so far, and the ways to a better one."""

    def __init__(self, graph: Graph, fails: Fails, deadline: float, clock: Clock) -> None:
        self.best = graph
        self.attempts = 0
        self._fails = fails
        self._deadline = deadline
        self._clock = clock

    def run(self, rounds: int) -> None:
        for _ in range(rounds):
            before = self.best
            self._cut()
            self._take_regions_out()
            self._free_constants()
            self._bypass()
            self._drop_results()
            self._shrink()
            if self.best is before:
                return

    def adopt(self, make: Callable[[], Graph]) -> bool:
        """Whether a graph is valid and fails; if so, it is the best from now on."""
        if self._clock() >= self._deadline:
            raise _TimeIsUp
        try:
            graph = make().verify()
        except Exception:  # no graph can be made so: the next attempt is another
            return False
        self.attempts += 1
        if not self._fails(graph):
            return False
        self.best = graph
        return True

    def fewer(self, items: Sequence[T], make: Callable[[list[T]], Graph], least: int = 0) -> None:
        """Keep as few of the items as fail: chunks are left out, then smaller ones."""
        kept = list(items)
        size = len(kept)
        while size and len(kept) > least:
            size = min(size, len(kept))
            for start in range(0, len(kept), size):
                rest = kept[:start] + kept[start + size :]
                if len(rest) >= least and self.adopt(lambda rest=rest: make(rest)):  # type: ignore[misc]
                    kept = rest
                    break
                part = kept[start : start + size]
                if least <= len(part) < len(rest) and self.adopt(lambda part=part: make(part)):  # type: ignore[misc]
                    kept = part
                    break
            else:
                size //= 2

    def first(self, makes: Iterable[Callable[[], Graph]]) -> bool:
        """Whether one of some graphs was adopted, the first that could be."""
        return any(self.adopt(make) for make in makes)

    # --- the ways ---

    def _cut(self) -> None:
        """Take ops away, with parameters for what they made."""
        graph = self.best
        self.fewer(graph.ops, lambda kept: reductions.cut(graph, kept))

    def _take_regions_out(self) -> None:
        """Let a loop's body be the graph, as long as that fails."""
        while self.first(reductions.inner_graphs(self.best)):
            self._cut()

    def _free_constants(self) -> None:
        """Let arrays be parameters that are not needed as they are."""
        graph = self.best
        self.fewer(graph.constants, lambda kept: reductions.free_constants(graph, kept))

    def _bypass(self) -> None:
        """Take ops away, with operands in place of results, in loops and branches too."""
        graph = self.best
        ops = [op for region in graph.regions() for op in region.ops]
        self.fewer(ops, lambda kept: reductions.bypass(graph, kept))

    def _drop_results(self) -> None:
        graph = self.best
        numbers = range(len(graph.results))
        self.fewer(numbers, lambda kept: reductions.keep_results(graph, kept))

    def _shrink(self) -> None:
        """Make arrays smaller, all at once and then size by size."""
        self.first(reductions.divided_sizes(self.best))
        for size in reductions.sizes(self.best):
            self.first(reductions.smaller(self.best, size))
