"""The short column that a function goes through before it is differentiated.

It is apart from `pipeline`, which loads all passes: a derivative that is computed at once needs
none of them.
"""

from __future__ import annotations

from typing import Final

from weft.compiler.ir.graph import Graph, Region
from weft.compiler.passes.algebra.simplify import stabilise
from weft.compiler.passes.running import Pass, count_ops, named, record_step, run_pass

BEFORE_DERIVATIVES: Final[tuple[Pass, ...]] = (
    named(stabilise, "a stable form has a stable derivative: that of 1 / (1 + exp(-x)) overflows"),
)


def prepare_for_derivatives(region: Region) -> Region:
    """The region after these passes; what they did is recorded, see `running.recording`."""
    graph = Graph("differentiated", region)
    for item in BEFORE_DERIVATIVES:
        graph, step = run_pass(item, graph, 0, count_ops(graph))
        record_step(step)
    return graph.region
