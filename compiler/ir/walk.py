"""Reading graphs: every op, who uses a value, what a value needs, and in which order ops can run.

To change a graph, see `edit`.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from weft.compiler.ir.graph import Graph, Op, Region, Result, Value


def walk(graph: Graph) -> Iterator[Op]:
    """Every op of the graph and its nested regions, an op before the ops in its regions."""
    stack: list[Iterator[Op]] = [iter(graph.ops)]
    while stack:
        for op in stack[-1]:
            yield op
            if op.regions:
                stack.extend([iter(region.ops) for region in reversed(op.regions)])
                break
        else:
            stack.pop()


def users(region: Region) -> dict[Value, list[Op]]:
    """For each value of a region, the ops in it that take it, once per op."""
    readers: dict[Value, list[Op]] = {}
    for op in region.ops:
        for operand in dict.fromkeys(op.operands):
            readers.setdefault(operand, []).append(op)
    return readers


def dependencies(values: Iterable[Value]) -> list[Op]:
    """The ops that the values need, each after those it needs itself."""
    ordered: dict[Op, None] = {}
    stack = [value.op for value in values if isinstance(value, Result)]
    while stack:
        op = stack[-1]
        if op in ordered:
            stack.pop()
            continue
        missing = [v.op for v in op.operands if isinstance(v, Result) and v.op not in ordered]
        if missing:
            stack.extend(missing)
        else:
            ordered[stack.pop()] = None
    return list(ordered)


def has_effect(op: Op) -> bool:
    """Whether an op or anything in its regions must run even when its results are not used."""
    if not op.regions:
        return op.definition.has_effect and not op.attributes.get("pure")
    stack = [op]
    while stack:
        item = stack.pop()
        if item.definition.has_effect and not item.attributes.get("pure"):
            return True
        stack.extend(inner for region in item.regions for inner in region.ops)
    return False


def live_ops(
    ops: Sequence[Op],
    values: Iterable[Value],
    *,
    effects: bool = True,
    reads: Callable[[Op, set[Value]], Iterable[Value]] | None = None,
) -> list[Op]:
    """The ops that some of the values need, and, with `effects`, those that must run anyway and
    what they need.

    `reads(op, needed)` says what an op with regions reads where only some of its results are
    needed; all of its operands if it is left out.
    """
    needed = set(values)
    live: list[Op] = []
    for op in reversed(ops):
        if needed.isdisjoint(op.results) and not (effects and has_effect(op)):
            continue
        live.append(op)
        if reads is None or not op.regions:
            needed.update(op.operands)
        else:
            needed.update(reads(op, needed))
    live.reverse()
    return live


Node = TypeVar("Node", bound=Hashable)


def topological_order(
    sources: Mapping[Node, Iterable[Node]], priority: Callable[[Node], Any]
) -> list[Node]:
    """Nodes, each after its sources; of those that can come next, the one with the least priority,
    and of equal ones the one that `sources` names first.
    """
    waiting: dict[Node, int] = {}
    readers: dict[Node, list[Node]] = {}
    for node, needed in sources.items():
        distinct = dict.fromkeys(needed)
        waiting[node] = len(distinct)
        for source in distinct:
            readers.setdefault(source, []).append(node)
    numbers = {node: number for number, node in enumerate(sources)}
    ready = [(priority(node), numbers[node], node) for node in sources if not waiting[node]]
    heapq.heapify(ready)
    ordered: list[Node] = []
    while ready:
        _, _, node = heapq.heappop(ready)
        ordered.append(node)
        for reader in readers.get(node, ()):
            waiting[reader] -= 1
            if not waiting[reader]:
                heapq.heappush(ready, (priority(reader), numbers[reader], reader))
    if len(ordered) < len(waiting):
        raise ValueError("the nodes wait for each other")
    return ordered
