"""The growing order of nodes answers as a search over all of the graph would."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from weft.compiler.loops.dependencies import DependencyOrder
from weft.compiler.loops.group import FusionGroup, Node

# How many nodes there are, and pairs of numbers of which the earlier node is made to read.
EDGES = st.lists(st.tuples(st.integers(0, 14), st.integers(0, 14)), max_size=60)


def reaches(edges: set[tuple[Node, Node]], start: Node, target: Node) -> bool:
    """Whether `target` reads what `start` writes, directly or by way of others."""
    seen: set[Node] = set()
    stack = [start]
    while stack:
        node = stack.pop()
        for source, reader in edges:
            if source is node and reader not in seen:
                seen.add(reader)
                stack.append(reader)
    return target in seen


@given(st.integers(1, 15), st.permutations(range(15)), EDGES)
def test_order_agrees_with_a_search(
    count: int, shuffled: list[int], wanted: list[tuple[int, int]]
) -> None:
    order = DependencyOrder()
    nodes: list[Node] = []
    edges: set[tuple[Node, Node]] = set()
    waiting = [(a % count, b % count) for a, b in wanted]
    for number in range(count):
        nodes.append(FusionGroup(()))
        order.add(nodes[-1])
        # Edges come as their ends do; they go from one place of a shuffled order to a later one,
        # so that there is no cycle while the order in which nodes were added does not help.
        for a, b in [pair for pair in waiting if max(pair) == number]:
            if shuffled[a] < shuffled[b]:
                order.connect(nodes[a], nodes[b])
                edges.add((nodes[a], nodes[b]))
    for start in nodes:
        for target in nodes:
            assert order.precedes([start], target) == reaches(edges, start, target)


def test_any_of_several_starts_counts() -> None:
    order = DependencyOrder()
    first, second, third = [FusionGroup(()) for _ in range(3)]
    for node in (third, second, first):
        order.add(node)
    order.connect(second, third)
    assert order.precedes([first, second], third)
    assert not order.precedes([first], third)
    assert not order.precedes([], third)
