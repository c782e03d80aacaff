"""A pass, how one is run and timed, and what passes did to a graph, step by step.

Steps are also recorded while a function is traced: derivatives are made then, and passes run before
them.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from contextvars import ContextVar
from dataclasses import field

from weft.compiler.ir.ambient import InForce
from weft.compiler.ir.errors import ArgumentError
from weft.compiler.ir.graph import Graph
from weft.compiler.ir.stages import PASS, stage
from weft.compiler.record import record

Run = Callable[[Graph, "Counter[str]"], Graph]


@record
class Pass:
    """A named step of the pipeline; `run(graph, fired)` counts what it did in `fired`. A last one
    runs once, when the others have come to rest. What one that was `given` by the user raises is
    the user's; of others it is a fault of the compiler.
    """

    name: str
    run: Run
    reason: str
    is_last: bool = False
    is_given: bool = False


def named(run: Run, reason: str, *, is_last: bool = False) -> Pass:
    """A pass that is called as its function is."""
    return Pass(run.__name__, run, reason, is_last)


@record
class Step:
    """What one run of one pass did. Round 0 is before derivatives, on a function that has one."""

    name: str
    round: int
    before: int
    after: int
    seconds: float
    changed: bool
    fired: dict[str, int]

    def __str__(self) -> str:
        fired = ", ".join(f"{name} {count}" for name, count in sorted(self.fired.items()))
        counts = f"{self.before:>6} -> {self.after:<6} {self.seconds * 1e3:8.2f} ms"
        return f"{self.round:>2} {self.name:<20} {counts}  {fired}".rstrip()


@record
class Report:
    """What the pipeline did to a graph, step by step."""

    graph: str
    steps: tuple[Step, ...] = field(default=())

    @property
    def fired(self) -> dict[str, int]:
        """How often each rule fired in all."""
        total: Counter[str] = Counter()
        for step in self.steps:
            total.update(step.fired)
        return dict(total)

    @property
    def seconds(self) -> float:
        return sum(step.seconds for step in self.steps)

    def __str__(self) -> str:
        own = [step for step in self.steps if step.round]
        if not own:
            return f"{self.graph}: no passes ran"
        first, last = own[0], own[-1]
        ops = f"{first.before} ops before, {last.after} after"
        lines = [f"{self.graph}: {ops}, {self.seconds * 1e3:.1f} ms"]
        lines += [str(step) for step in self.steps if step.changed]
        return "\n".join(lines)


def run_pass(item: Pass, graph: Graph, number: int, before: int) -> tuple[Graph, Step]:
    """The graph after a pass, and what it did, as a step of this round."""
    fired: Counter[str] = Counter()
    started = time.perf_counter()
    with nullcontext() if item.is_given else stage(PASS, item.name, graph):
        result = item.run(graph, fired)
        if not isinstance(result, Graph):
            raise ArgumentError(f"the pass {item.name} returned {result!r} instead of a graph")
    seconds = time.perf_counter() - started
    changed = result is not graph
    after = count_ops(result) if changed else before
    return result, Step(item.name, number, before, after, seconds, changed, dict(fired))


def count_ops(graph: Graph) -> int:
    """The number of ops of a graph and all its regions."""
    return sum(len(region.ops) for region in graph.regions())


_recorded: ContextVar[list[Step] | None] = ContextVar("weft_recorded_steps", default=None)


def recording() -> InForce[list[Step]]:
    """Collect the steps of passes that run outside of `optimise`, before derivatives are made."""
    return InForce(_recorded, [])


def record_step(step: Step) -> None:
    """Add a step to what is being recorded, if anything is."""
    steps = _recorded.get()
    if steps is not None:
        steps.append(step)
