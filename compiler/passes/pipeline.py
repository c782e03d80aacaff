"""The passes over the graph, in order, and the machinery that runs, times and shows them.

Read `DEFAULT` first: it is the column. A pass is a pure function from graph to graph that returns
the same object when it has nothing to do. The column is run again until no pass changes anything; a
pass that has seen the graph as it is now is not run again.
"""

from __future__ import annotations

import functools
import inspect
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import field
from pathlib import Path
from typing import Final, TypeAlias

from weft.compiler.ir.errors import ArgumentError, VerifyError
from weft.compiler.ir.graph import Graph
from weft.compiler.passes.algebra.canonicalize import canonicalize
from weft.compiler.passes.algebra.eliminate import eliminate_common, eliminate_dead
from weft.compiler.passes.algebra.fold import fold_constants
from weft.compiler.passes.algebra.gather_one_hot import gather_one_hot
from weft.compiler.passes.algebra.inline import inline_calls
from weft.compiler.passes.algebra.merge_products import merge_products
from weft.compiler.passes.algebra.simplify import simplify, stabilise
from weft.compiler.passes.blocking.rows import block_rows
from weft.compiler.passes.layout.channels import lay_out_channels
from weft.compiler.passes.layout.join_padded import join_padded
from weft.compiler.passes.layout.push_slices_up import cut_early
from weft.compiler.passes.layout.sink_views import sink_views
from weft.compiler.passes.scans.batch_products import stack_products
from weft.compiler.passes.scans.defer_sums import sum_after_loops
from weft.compiler.passes.scans.hoist import hoist_invariants
from weft.compiler.passes.scans.recompute import recompute_scanned
from weft.compiler.passes.scans.sink_results import compute_late
from weft.compiler.passes.scans.unroll import unroll_scans
from weft.compiler.record import record
from weft.compiler.rewrite.driver import apply_rules
from weft.compiler.rewrite.rule import Rule

Run = Callable[[Graph, "Counter[str]"], Graph]
MOST_ROUNDS: Final = 20


@record
class Pass:
    """A named step of the pipeline; `run(graph, fired)` counts what it did in `fired`. A last one
    runs once, when the others have come to rest.
    """

    name: str
    run: Run
    reason: str
    is_last: bool = False


DEFAULT: Final[tuple[Pass, ...]] = (
    Pass("inline", inline_calls, "first: nothing sees into a called region or an untaken branch"),
    Pass("prune", eliminate_dead, "early: what tracing and derivatives left over costs the rest"),
    Pass("canonicalize", canonicalize, "one form of each thing, so that later rules need only one"),
    Pass("fold", fold_constants, "makes the literals that algebraic rules look for"),
    Pass("simplify", simplify, "exact rules; fewer ops for everything after"),
    Pass("stabilise", stabilise, "before sharing: patterns such as softmax are still whole"),
    Pass("gather_one_hot", gather_one_hot, "before sinking: the mask still stands at its product"),
    Pass("sink", sink_views, "transposes reach products and vanish; chains become neighbours"),
    Pass("lay_out", lay_out_channels, "after sinking: transposes stand where chains end"),
    Pass("cut", cut_early, "after sinking: what is cut stands directly before its slices"),
    Pass("join", join_padded, "the reverse, in gradients; before sharing, like all rewriting"),
    Pass("share", eliminate_common, "after all rewriting of single ops: equal things look equal"),
    Pass("unroll", unroll_scans, "before hoisting: short loops are gone, their steps still shared"),
    Pass("hoist", hoist_invariants, "after sharing: an invariant leaves the loop once"),
    Pass("merge", merge_products, "after hoisting: weights of a loop are its constants by then"),
    Pass(
        "sum_after",
        sum_after_loops,
        "after merging: fewer products, plainer sums",
    ),
    Pass("stack", stack_products, "after summing: a product that is only summed is not kept"),
    Pass("late", compute_late, "after stacking, which takes what needs no carry before the loop"),
    Pass("recompute", recompute_scanned, "after products left loops: it goes by what is scanned"),
    Pass("prune", eliminate_dead, "last: loops lose the operands that the others took away"),
    Pass("block", block_rows, "after the rest: others would take its loops apart", is_last=True),
)


@record
class Step:
    """What one run of one pass did."""

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
        return f"{self.round:>2} {self.name:<16} {counts}  {fired}".rstrip()


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
        if not self.steps:
            return f"{self.graph}: no passes ran"
        first, last = self.steps[0], self.steps[-1]
        ops = f"{first.before} ops before, {last.after} after"
        lines = [f"{self.graph}: {ops}, {self.seconds * 1e3:.1f} ms"]
        lines += [str(step) for step in self.steps if step.changed]
        return "\n".join(lines)


PassLike: TypeAlias = "Pass | Rule | Callable[[Graph], Graph]"


def as_pass(given: PassLike) -> Pass:
    """A pass from a pass, a rule, or a function from graph to graph."""
    if isinstance(given, Pass):
        return given
    if isinstance(given, Rule):
        rules = (given,)
        return Pass(given.name, lambda graph, fired: apply_rules(graph, rules, fired), "a rule")
    if not callable(given):
        raise ArgumentError(f"{given!r} is no pass; give a function from graph to graph, or a rule")
    name = getattr(given, "__name__", type(given).__name__)
    return Pass(name, _counting(given), "given by the user")


def _counting(function: Callable[..., Graph]) -> Run:
    """The function in the form of `Pass.run`, whether it counts or not."""
    if "fired" in inspect.signature(function).parameters:
        return lambda graph, fired: function(graph, fired=fired)
    return lambda graph, _: function(graph)


def optimise(
    graph: Graph,
    *,
    passes: Sequence[PassLike] = DEFAULT,
    verify: bool = False,
    dump: str | os.PathLike[str] | None = None,
) -> tuple[Graph, Report]:
    """The graph after the passes, and a report of what each did.

    `verify` checks the graph after every pass. `dump` (or the environment variable WEFT_DUMP) is a
    directory to which the graph is written as text, at first and after every pass that changed it.
    """
    column = [as_pass(item) for item in passes]
    writer = _Dump(graph, dump if dump is not None else _dump_from_environment())
    steps: list[Step] = []
    seen: dict[int, Graph] = {}

    def run(item: Pass, before: Graph, number: int) -> Graph:
        after, step = _run(item, before, number)
        steps.append(step)
        if step.changed:
            writer.write(item.name, after)
            if verify:
                _verify(after, item.name)
        return after

    for number in range(1, MOST_ROUNDS + 1):
        start = graph
        for position, item in enumerate(column):
            if not item.is_last and seen.get(position) is not graph:
                seen[position] = graph = run(item, graph, number)
        if graph is start:
            break
    for item in column:
        if item.is_last:
            graph = run(item, graph, number)
    return graph, Report(graph.name, tuple(steps))


def _run(item: Pass, graph: Graph, number: int) -> tuple[Graph, Step]:
    fired: Counter[str] = Counter()
    started = time.perf_counter()
    made = item.run(graph, fired)
    seconds = time.perf_counter() - started
    if not isinstance(made, Graph):
        raise ArgumentError(f"the pass {item.name} returned {made!r} instead of a graph")
    before, after = count_ops(graph), count_ops(made)
    changed = made is not graph
    return made, Step(item.name, number, before, after, seconds, changed, dict(fired))


def _verify(graph: Graph, name: str) -> None:
    try:
        graph.verify()
    except VerifyError as error:
        raise VerifyError(f"after the pass {name}: {error.message}", location=error.location).at(
            None, error.about
        ) from error


def count_ops(graph: Graph) -> int:
    """The number of ops of a graph and all its regions."""
    return sum(len(region.ops) for region in graph.regions())


# --- dumps --------------------------------------------------------------------------------------


@functools.cache
def _dump_from_environment() -> str | None:
    """WEFT_DUMP, read once."""
    return os.environ.get("WEFT_DUMP") or None


class _Dump:
    """Numbered text files of one graph, in a directory of its own."""

    def __init__(self, graph: Graph, directory: str | os.PathLike[str] | None) -> None:
        self.directory: Path | None = None
        self.number = 0
        if directory is not None:
            self.directory = Path(directory) / f"{graph.name}-{graph.content_hash()[:8]}"
            self.directory.mkdir(parents=True, exist_ok=True)
            for old in self.directory.glob("[0-9][0-9]-*.weft"):
                old.unlink()
            self.write("traced", graph)

    def write(self, name: str, graph: Graph) -> None:
        if self.directory is not None:
            path = self.directory / f"{self.number:02d}-{name}.weft"
            path.write_text(graph.text(locations=True), encoding="utf-8")
            self.number += 1
