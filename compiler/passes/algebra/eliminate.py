"""Computing things once, and only what is needed: common and dead ops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from weft.compiler.ir.edit import edit_region, with_region
from weft.compiler.ir.graph import Constant, Graph, Op, Region, Value
from weft.compiler.ir.identity import RegionHashes
from weft.compiler.ir.walk import has_effect
from weft.compiler.ops import control
from weft.compiler.transforms.prune import prune


def eliminate_dead_ops(graph: Graph, fired: Counter[str] | None = None) -> Graph:
    """The graph without what neither results nor effects need, down to the operands of loops."""
    pruned = prune(graph)
    if fired is not None and pruned is not graph:
        fired["dead"] += 1
    return pruned


def eliminate_common_ops(graph: Graph, fired: Counter[str] | None = None) -> Graph:
    """The graph with one op for all equal ones of a region.

    Ops are equal when kind, operands (in either order where that does not matter), attributes and
    regions are; those with effects are equal to nothing.
    """
    counts = fired if fired is not None else Counter()
    regions = _Regions()

    def share(region: Region) -> Region:
        known: dict[Hashable, Op] = {}

        def earlier(op: Op) -> Sequence[Value] | None:
            """The results of an equal op that came before, if one did."""
            if op.definition.has_effect and has_effect(op):
                return None
            if op.regions and regions.stay(op):
                return None
            first = known.setdefault(_key(op, regions), op)
            if first is op:
                return None
            counts[op.name] += 1
            return first.results

        return edit_region(region, earlier, share)

    return with_region(graph, share(graph.region))


class _Regions:
    """What sharing asks about the regions of ops, each looked at once."""

    def __init__(self) -> None:
        self._hashes = RegionHashes()
        self._stay: dict[Region, bool] = {}

    def hashes(self, op: Op) -> tuple[str, ...]:
        return tuple([self._hashes.hash(region) for region in op.regions])

    def stay(self, op: Op) -> bool:
        """Whether a region has effects or calls Python: the hash of a region knows such a function
        by name only.
        """
        return any([self._stays(region) for region in op.regions])

    def _stays(self, region: Region) -> bool:
        if region not in self._stay:
            self._stay[region] = any(
                op.definition is control.host_call
                or (op.definition.has_effect and has_effect(op))
                or self.stay(op)
                for op in region.ops
            )
        return self._stay[region]


def _key(op: Op, regions: _Regions) -> Hashable:
    operands: list[Hashable] = [
        (value.type, value.digest) if isinstance(value, Constant) else value
        for value in op.operands
    ]
    if op.definition.is_commutative and hash(operands[0]) > hash(operands[1]):
        operands[:2] = operands[1], operands[0]
    attributes = (*op.attributes.values(),)
    return op.definition, (*operands,), attributes, regions.hashes(op) if op.regions else ()
