"""The order in which nodes run: what each reads, and a schedule in which it is there by then."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from weft.compiler.ir.graph import Op, Result, Value
from weft.compiler.ir.walk import has_effect
from weft.compiler.loops.group import Assembly, Group, Node, Single
from weft.compiler.loops.references import references

if TYPE_CHECKING:
    from weft.compiler.loops.partition import Partition


def node_needs_rows(node: Node) -> bool:
    """Whether a node takes its operands in row-major order only: control flow, the host."""
    return isinstance(node, Single) and (bool(node.op.regions) or node.op.name == "host_call")


def view_base(value: Value) -> Value:
    """The value whose array a view by strides reads: the end of a chain of views."""
    while isinstance(value, Result) and value.op.name in (
        "transpose",
        "broadcast",
        "reverse",
        "slice",
    ):
        operand = value.op.operands[0]
        if not operand.type.rank:
            break
        value = operand
    return value


def order(partition: Partition) -> list[Node]:
    """The nodes so that each runs after those it reads from; near the order of the program."""
    position = partition.position
    nodes = partition.nodes
    first = {node: _last_position(node, position) for node in nodes}
    waiting = dict.fromkeys(nodes, 0)
    readers: dict[Node, dict[Node, None]] = {node: {} for node in nodes}
    for node in nodes:
        for source in _sources(partition, node):
            if source is not node and node not in readers[source]:
                readers[source][node] = None
                waiting[node] += 1
    _keep_effects_in_order(nodes, first, readers, waiting)
    ready = [(first[node], number, node) for number, node in enumerate(nodes) if not waiting[node]]
    heapify(ready)
    done: list[Node] = []
    numbers = {node: number for number, node in enumerate(nodes)}
    while ready:
        _, _, node = heappop(ready)
        done.append(node)
        for reader in readers[node]:
            waiting[reader] -= 1
            if not waiting[reader]:
                heappush(ready, (first[reader], numbers[reader], reader))
    assert len(done) == len(nodes), "kernels wait for each other"
    return done


def _last_position(node: Node, position: dict[Op, int]) -> int:
    match node:
        case Single():
            return position[node.op]
        case Assembly():
            assert isinstance(node.result, Result)
            return position[node.result.op]
        case Group():
            return max(position[s.target.op] for s in node.stores if isinstance(s.target, Result))


def _keep_effects_in_order(
    nodes: Sequence[Node],
    first: dict[Node, int],
    readers: dict[Node, dict[Node, None]],
    waiting: dict[Node, int],
) -> None:
    effects = [node for node in nodes if isinstance(node, Single) and has_effect(node.op)]
    effects.sort(key=first.__getitem__)
    for before, after in zip(effects, effects[1:], strict=False):
        if after not in readers[before]:
            readers[before][after] = None
            waiting[after] += 1


def _sources(partition: Partition, node: Node) -> Iterator[Node]:
    """The nodes that make what a node reads."""
    for value in reads(partition, node):
        home = partition.homes.get(partition.resolve(value))
        if home is not None:
            yield home


def reads(partition: Partition, node: Node) -> Iterator[Value]:
    """The values that a node takes from outside of itself."""
    match node:
        case Single():
            for operand in node.op.operands:
                yield operand if node_needs_rows(node) else view_base(operand)
        case Group():
            yield from group_reads(node)
        case Assembly():
            for group in node.groups:
                yield from group_reads(group)
            if node.base is not None:
                yield node.base


def group_reads(group: Group) -> Iterator[Value]:
    """The values that a group does not compute itself."""
    found: dict[Value, None] = {}
    for store in group.stores:
        sources = [store.source]
        for index in store.place.indices:
            for _, extra in index.extras:
                sources.extend(references(extra))
        for ref in sources:
            if ref not in group.entries:
                found[ref.value] = None
    for computed in group.entries.values():
        for ref in references(computed):
            if ref not in group.entries:
                found[ref.value] = None
    yield from found
