"""The graph in the forms that kernels and routines are good at: the first step of the loop program.

Rules here are below the graph's passes because they choose between a kernel and a routine, which no
pass knows of; each is tried on every op, the first that applies wins.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.compiler.ir.edit import Rewriter, clone, rebuild
from weft.compiler.ir.graph import Graph, Op, Value
from weft.compiler.ir.opdef import Trait
from weft.compiler.loops.fuse_bias_gradient import fuse_bias_gradients
from weft.compiler.loops.inline_products import inline_outer_product, narrow_product
from weft.compiler.loops.prepack_weights import prepack_weights
from weft.compiler.loops.split_scatters import split_scatter
from weft.compiler.ops.regions import inline_here


def specialise(graph: Graph) -> Graph:
    """The graph without calls, with ops in the forms that are fused and lowered."""
    graph = without_calls(graph)
    fuse_bias = fuse_bias_gradients(graph)

    def rule(op: Op, rewriter: Rewriter) -> Sequence[Value] | None:
        return (
            fuse_bias(op, rewriter)
            or inline_outer_product(op, rewriter)
            or narrow_product(op, rewriter)
            or split_scatter(op, rewriter)
            or prepack_weights(op, rewriter)
        )

    return with_own_regions(rebuild(graph, rule))


def with_own_regions(graph: Graph) -> Graph:
    """The graph with a copy of every region that several ops share, as what is planned for a region
    is planned for one op.
    """
    regions = list(graph.regions())
    return graph if len(set(regions)) == len(regions) else clone(graph)


def without_calls(graph: Graph) -> Graph:
    """The graph with called regions in the place of their calls, recomputed ones too."""

    def rule(op: Op, rewriter: Rewriter) -> Sequence[Value] | None:
        if Trait.CALL not in op.definition.traits:
            return None
        return inline_here(op.regions[0], [rewriter.value(v) for v in op.operands])

    while any(Trait.CALL in op.definition.traits for r in graph.regions() for op in r.ops):
        graph = rebuild(graph, rule)
    return graph
