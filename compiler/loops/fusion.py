"""The result of `fuse`: the nodes of a region, which of them makes which array, and why some ops
were not fused.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

from weft.compiler.ir.graph import Op, Region, Value
from weft.compiler.ir.index.affine import Loop
from weft.compiler.ir.index.expression import Ref
from weft.compiler.ir.index.references import references
from weft.compiler.loops.counters import array_operands
from weft.compiler.loops.group import (
    FusionGroup,
    Node,
    OpaqueNode,
    PiecewiseNode,
    Refusal,
    needs_row_major,
)
from weft.compiler.loops.maps import view_base


@dataclass(eq=False, slots=True)
class Fusion:
    """The nodes of a region, from last to first, and what was decided on the way.

    `homes` gives the node that writes an array; `aliases` the values that are the same array as
    another; `strided` the parameters that are not row-major; `position` numbers the ops. What
    `row_fusion.rows_of` found is kept in `row_loops`.
    """

    region: Region
    strided: frozenset[Value]
    nodes: list[Node] = field(default_factory=list)
    homes: dict[Value, Node] = field(default_factory=dict)
    aliases: dict[Value, Value] = field(default_factory=dict)
    refusals: list[Refusal] = field(default_factory=list)
    position: dict[Op, int] = field(default_factory=dict)
    row_loops: dict[Hashable, tuple[Loop, ...] | None] = field(default_factory=dict)
    _reads: dict[Node, list[Value]] = field(default_factory=dict)

    def resolve(self, value: Value) -> Value:
        """The value whose array holds another's elements."""
        while value in self.aliases:
            value = self.aliases[value]
        return value

    def leaves(self, group: FusionGroup) -> Iterator[Ref]:
        """The values at places that a group reads from outside."""
        for store in group.stores:
            if store.source not in group.entries:
                yield store.source
        for computed in group.entries.values():
            for ref in references(computed):
                if ref not in group.entries:
                    yield ref

    def reads(self, node: Node) -> list[Value]:
        """The values that a node takes from outside of itself; asked for often, found once."""
        known = self._reads.get(node)
        if known is None:
            known = self._reads[node] = list(_reads(node))
        return known

    def sources(self, node: Node) -> Iterator[Node]:
        """The nodes that make what a node reads."""
        for value in self.reads(node):
            home = self.homes.get(self.resolve(value))
            if home is not None:
                yield home


def _reads(node: Node) -> Iterator[Value]:
    match node:
        case OpaqueNode():
            for operand in array_operands(node.op):
                yield operand if needs_row_major(node) else view_base(operand)
        case FusionGroup():
            yield from group_reads(node)
        case PiecewiseNode():
            for group in node.groups:
                yield from group_reads(group)
            if node.base is not None:
                yield node.base


def group_reads(group: FusionGroup) -> Iterator[Value]:
    """The values that a group does not compute itself."""
    reads: dict[Value, None] = {}
    for store in group.stores:
        sources = [store.source]
        for index in store.place.indices:
            for _, extra in index.extras:
                sources.extend(references(extra))
        for ref in sources:
            if ref not in group.entries:
                reads[ref.value] = None
    for computed in group.entries.values():
        for ref in references(computed):
            if ref not in group.entries:
                reads[ref.value] = None
    yield from reads
