"""The graph in the forms that kernels and routines are good at: the first step of the loop program.

Rules here are below the graph's passes because they choose between a kernel and a routine, which no
pass knows of; each is tried on every op, the first that applies wins.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from weft.compiler.ir.edit import (
    Editor,
    Replaced,
    Rewriter,
    clone,
    rebuild,
    with_operands,
    with_region,
)
from weft.compiler.ir.empty import empty_results
from weft.compiler.ir.graph import Graph, Op, Region, Value
from weft.compiler.loops.fuse_bias_gradient import Rule, fuse_bias_gradients
from weft.compiler.loops.inline_products import inline_outer_product, narrow_product
from weft.compiler.loops.prepack_weights import prepack_weights
from weft.compiler.loops.split_scatters import split_scatter
from weft.compiler.ops.contraction import dot_general
from weft.compiler.ops.control import scan
from weft.compiler.ops.indexing import scatter
from weft.compiler.ops.reduction import reduce_sum
from weft.compiler.ops.regions import inline_here

# The ops that a rule may replace; all others are passed by.
ROOTS: Final = (dot_general, reduce_sum, scatter, scan)


def specialise(graph: Graph) -> Graph:
    """The graph without calls, with ops in the forms that are fused and lowered."""
    graph = without_calls(graph)
    fuse_bias = fuse_bias_gradients(graph)

    def rule(op: Op, replaced: Replaced) -> Sequence[Value] | None:
        return (
            fuse_bias(op, replaced)
            or inline_outer_product(op, replaced)
            or narrow_product(op, replaced)
            or split_scatter(op, replaced)
            or prepack_weights(op, replaced)
        )

    return with_own_regions(with_region(graph, _specialised(graph.region, rule)))


def _specialised(region: Region, rule: Rule) -> Region:
    """A region whose ops a rule has replaced. It sees the ops as they were: what it decides does
    not depend on what it has replaced before.
    """
    editor = Editor(region)
    is_changed = False
    with editor.builder.active():
        for op in region.ops:
            regions = tuple([_specialised(inner, rule) for inner in op.regions])
            seen = op if regions == op.regions else with_operands(op, op.operands, regions)
            editor.builder.location = op.location
            replacement: Sequence[Value] | None = empty_results(op)
            if replacement is None and op.definition in ROOTS:
                replacement = rule(seen, editor)
            if replacement is not None:
                editor.replace(op, replacement)
                is_changed = True
                continue
            current = editor.current(op, regions)
            is_changed = is_changed or current is not op
            editor.keep(op, current)
    return editor.region(region.results) if is_changed else region


def with_own_regions(graph: Graph) -> Graph:
    """The graph with a copy of every region that several ops share, as what is planned for a region
    is planned for one op.
    """
    regions = list(graph.regions())
    return graph if len(set(regions)) == len(regions) else clone(graph)


def without_calls(graph: Graph) -> Graph:
    """The graph with called regions in the place of their calls, recomputed ones too."""

    def rule(op: Op, rewriter: Rewriter) -> Sequence[Value] | None:
        if not op.definition.is_call:
            return None
        return inline_here(op.regions[0], [rewriter.value(v) for v in op.operands])

    while any(op.definition.is_call for r in graph.regions() for op in r.ops):
        graph = rebuild(graph, rule)
    return graph
