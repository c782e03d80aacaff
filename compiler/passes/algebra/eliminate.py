"""Computing things once, and only what is needed: common and dead ops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from weft.compiler.ir.graph import Constant, Graph, Op, Region, Value
from weft.compiler.ir.identity import region_hash
from weft.compiler.ir.opdef import Trait
from weft.compiler.ir.walk import has_effect
from weft.compiler.ops import control
from weft.compiler.rewrite.edit import edit_region, with_region
from weft.compiler.transforms.prune import prune


def eliminate_dead(graph: Graph, fired: Counter[str] | None = None) -> Graph:
    """The graph without what neither results nor effects need, down to the operands of loops."""
    pruned = prune(graph)
    if fired is not None and pruned is not graph:
        fired["dead"] += 1
    return pruned


def eliminate_common(graph: Graph, fired: Counter[str] | None = None) -> Graph:
    """The graph with one op for all equal ones of a region.

    Ops are equal when kind, operands (in either order where that does not matter), attributes and
    regions are; those with effects are equal to nothing.
    """
    counts = fired if fired is not None else Counter()

    def share(region: Region) -> Region:
        known: dict[Hashable, Op] = {}
        return edit_region(region, lambda op: _earlier(op, known, counts), share)

    return with_region(graph, share(graph.region))


def _earlier(op: Op, known: dict[Hashable, Op], counts: Counter[str]) -> Sequence[Value] | None:
    """The results of an equal op that came before, if one did."""
    if has_effect(op) or _calls_host_inside(op):
        return None
    first = known.setdefault(_key(op), op)
    if first is op:
        return None
    counts[op.name] += 1
    return first.results


def _key(op: Op) -> Hashable:
    operands = [_operand_key(operand) for operand in op.operands]
    if Trait.COMMUTATIVE in op.definition.traits:
        operands[:2] = sorted(operands[:2], key=hash)
    regions = tuple([region_hash(region) for region in op.regions])
    return op.definition, tuple(operands), tuple(op.attributes.values()), regions


def _operand_key(value: Value) -> Hashable:
    return (value.type, value.digest) if isinstance(value, Constant) else value


def _calls_host_inside(op: Op) -> bool:
    """Whether a region calls Python: the hash of a region knows such a function by name only."""
    stack = list(op.regions)
    while stack:
        region = stack.pop()
        if any(inner.definition is control.host_call for inner in region.ops):
            return True
        stack.extend(nested for inner in region.ops for nested in inner.regions)
    return False
