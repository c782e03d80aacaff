"""The passes over the graph, in order, and the machinery that runs, times and shows them.

Read `DEFAULT` first: it is the column; `BEFORE_DERIVATIVES` is the short one that a function goes
through before it is differentiated. A pass is a pure function from graph to graph that returns the
same object when it has nothing to do. The column is run again until no pass changes anything; a
pass that has seen the graph as it is now is not run again.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from weft.compiler.ir.dump import dump_directory
from weft.compiler.ir.errors import ArgumentError, VerifyError
from weft.compiler.ir.graph import Graph
from weft.compiler.passes.algebra.canonicalize import canonicalize
from weft.compiler.passes.algebra.eliminate import eliminate_common_ops, eliminate_dead_ops
from weft.compiler.passes.algebra.fold import fold_constants
from weft.compiler.passes.algebra.gather_one_hot import gather_one_hot
from weft.compiler.passes.algebra.inline import inline_calls
from weft.compiler.passes.algebra.merge_products import merge_products
from weft.compiler.passes.algebra.simplify import add_in_place, simplify, stabilise
from weft.compiler.passes.before_derivatives import BEFORE_DERIVATIVES as BEFORE_DERIVATIVES
from weft.compiler.passes.blocking.rows import block_rows
from weft.compiler.passes.layout.channels import lay_out_channels
from weft.compiler.passes.layout.join_padded import join_padded
from weft.compiler.passes.layout.push_slices_up import push_slices_up
from weft.compiler.passes.layout.sink_views import sink_views
from weft.compiler.passes.running import Pass, Report, Run, Step, count_ops, named, run_pass
from weft.compiler.passes.scans.batch_products import batch_scan_products
from weft.compiler.passes.scans.defer_sums import defer_scan_sums
from weft.compiler.passes.scans.hoist import hoist_invariants
from weft.compiler.passes.scans.prove_indices import prove_indices
from weft.compiler.passes.scans.recompute import recompute_scanned
from weft.compiler.passes.scans.sink_results import sink_from_scan
from weft.compiler.passes.scans.unroll import unroll_scans
from weft.compiler.rewrite.driver import apply_rules
from weft.compiler.rewrite.rule import Rule

MOST_ROUNDS: Final = 20


DEFAULT: Final[tuple[Pass, ...]] = (
    named(inline_calls, "first: nothing sees into a called region or an untaken branch"),
    named(eliminate_dead_ops, "early: what tracing and derivatives left over costs the rest"),
    named(canonicalize, "one form of each thing, so that later rules need only one"),
    named(fold_constants, "makes the literals that algebraic rules look for"),
    named(simplify, "exact rules; fewer ops for everything after"),
    named(stabilise, "before sharing: patterns such as softmax are still whole"),
    named(gather_one_hot, "before sinking: the mask still stands at its product"),
    named(sink_views, "transposes reach products and vanish; chains become neighbours"),
    named(lay_out_channels, "after sinking: transposes stand where chains end"),
    named(push_slices_up, "after sinking: what is sliced stands directly before its slices"),
    named(join_padded, "the reverse, in gradients; before sharing, like all rewriting"),
    named(eliminate_common_ops, "after all rewriting of single ops: equal things look equal"),
    named(unroll_scans, "before hoisting: short loops are gone, their steps still shared"),
    named(prove_indices, "before hoisting: what cannot fail may leave a loop"),
    named(hoist_invariants, "after sharing: an invariant leaves the loop once"),
    named(merge_products, "after hoisting: weights of a loop are its constants by then"),
    named(defer_scan_sums, "after merging: fewer products, plainer sums"),
    named(batch_scan_products, "after sums: a product that is only summed is not kept"),
    named(sink_from_scan, "after batching, which takes what needs no carry before the loop"),
    named(recompute_scanned, "after products left loops: it goes by what is scanned"),
    named(eliminate_dead_ops, "last: loops lose the operands that the others took away"),
    named(add_in_place, "after loops have their form: they look for sums", is_last=True),
    named(block_rows, "after the rest: others would take its loops apart", is_last=True),
)


PassLike: TypeAlias = "Pass | Rule | Callable[[Graph], Graph]"


def as_pass(given: PassLike) -> Pass:
    """A pass from a pass, a rule, or a function from graph to graph."""
    if isinstance(given, Pass):
        return given
    if isinstance(given, Rule):
        rules = (given,)
        return Pass(
            given.name,
            lambda graph, fired: apply_rules(graph, rules, fired),
            "a rule",
            is_given=True,
        )
    if not callable(given):
        raise ArgumentError(f"{given!r} is no pass; give a function from graph to graph, or a rule")
    name = getattr(given, "__name__", type(given).__name__)
    return Pass(name, _counting(given), "given by the user", is_given=True)


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
    before: Sequence[Step] = (),
) -> tuple[Graph, Report]:
    """The graph after the passes, and a report of what each did, after the steps `before` it.

    `verify` checks the graph after every pass. `dump` (or the environment variable WEFT_DUMP) is a
    directory to which the graph is written as text, at first and after every pass that changed it.
    """
    column = [as_pass(item) for item in passes]
    writer = _Dump(graph, dump if dump is not None else dump_directory())
    steps: list[Step] = []
    seen: dict[Run, Graph] = {}

    def run(item: Pass, before: Graph, number: int) -> Graph:
        after, step = run_pass(
            item, before, number, steps[-1].after if steps else count_ops(before)
        )
        steps.append(step)
        if step.changed:
            writer.write(item.name, after)
            if verify:
                _verify(after, item.name)
        return after

    for number in range(1, MOST_ROUNDS + 1):
        start = graph
        for item in column:
            if not item.is_last and seen.get(item.run) is not graph:
                seen[item.run] = graph = run(item, graph, number)
        if graph is start:
            break
    for item in column:
        if item.is_last:
            graph = run(item, graph, number)
    return graph, Report(graph.name, (*before, *steps))


def _verify(graph: Graph, name: str) -> None:
    try:
        graph.verify()
    except VerifyError as error:
        raise VerifyError(f"after the pass {name}: {error.message}", location=error.location).at(
            None, error.about
        ) from error


# --- dumps --------------------------------------------------------------------------------------


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
