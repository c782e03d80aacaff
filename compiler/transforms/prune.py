"""Dropping what nothing needs: dead ops, and results and operands of loops and branches.

Derivatives lean on this: residuals that no cotangent asks for vanish with the loop results that
hold them.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.compiler.ir.build import Builder
from weft.compiler.ir.graph import Graph, Op, Region, Value
from weft.compiler.ir.rules import Narrowed
from weft.compiler.ir.walk import Rewriter, has_effect


def prune(graph: Graph) -> Graph:
    """The graph without what its results and effects do not need; the same if all is needed."""
    region = prune_region(graph.region)
    return graph if region is graph.region else Graph(graph.name, region)


def prune_region(region: Region, keep: Sequence[bool] | None = None) -> Region:
    """The region with the marked results only (all by default) and what these need."""
    keep = [True] * len(region.results) if keep is None else keep
    results = tuple([r for r, kept in zip(region.results, keep, strict=True) if kept])
    plan = _plan(region, results)
    if len(plan) == len(region.ops) and not any(plan.values()) and len(results) == len(keep):
        return region
    builder = Builder()
    builder.parameters = list(region.parameters)
    rewriter = Rewriter(builder)
    for op in region.ops:
        if op in plan:
            _copy(op, plan[op], rewriter)
    return builder.region([rewriter.value(result) for result in results])


def _plan(region: Region, results: Sequence[Value]) -> dict[Op, Narrowed | None]:
    """The ops to keep, each with the narrower form it takes, or None for as it is."""
    needed: set[Value] = set(results)
    plan: dict[Op, Narrowed | None] = {}
    for op in reversed(region.ops):
        used = [result in needed for result in op.results]
        if not any(used) and not has_effect(op):
            continue
        rules = op.definition.region_rules
        narrowed = None
        if rules is not None and rules.narrow is not None:
            narrowed = rules.narrow(op, used, prune_region)
        plan[op] = narrowed
        kept = narrowed.operands if narrowed is not None else [True] * len(op.operands)
        needed.update(v for v, keep in zip(op.operands, kept, strict=True) if keep)
    return plan


def _copy(op: Op, narrowed: Narrowed | None, rewriter: Rewriter) -> None:
    if narrowed is None:
        if any(rewriter.value(operand) is not operand for operand in op.operands):
            rewriter.copy(op)
        else:
            rewriter.builder.ops.append(op)
        return
    operands = [
        rewriter.value(v) for v, kept in zip(op.operands, narrowed.operands, strict=True) if kept
    ]
    made = rewriter.builder.emit(
        op.definition, operands, narrowed.attributes, narrowed.regions, op.location
    )
    kept_results = [r for r, kept in zip(op.results, narrowed.results, strict=True) if kept]
    rewriter.substitution.update(zip(kept_results, made, strict=True))
