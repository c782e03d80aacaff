"""Which node reads what which other node writes, with an order in which all of them could run.

The order is kept up to date while nodes and edges are added (Pearce and Kelly's algorithm), so that
asking whether one node has to wait for another looks only at the nodes between the two, and not at
all of the program.
"""

from __future__ import annotations

from collections.abc import Iterable

from weft.compiler.loops.group import Node


class DependencyOrder:
    """A growing acyclic graph of nodes, with edges from what writes to what reads."""

    def __init__(self) -> None:
        self._rank: dict[Node, int] = {}
        self._readers: dict[Node, dict[Node, None]] = {}
        self._sources: dict[Node, dict[Node, None]] = {}

    def add(self, node: Node) -> None:
        """A new node, before all others: fusion visits ops from last to first."""
        self._rank[node] = -len(self._rank)
        self._readers[node] = {}
        self._sources[node] = {}

    def connect(self, source: Node, reader: Node) -> None:
        """`reader` reads what `source` writes."""
        if reader in self._readers[source]:
            return
        self._readers[source][reader] = None
        self._sources[reader][source] = None
        if self._rank[source] > self._rank[reader]:
            self._reorder(source, reader)

    def precedes(self, starts: Iterable[Node], target: Node) -> bool:
        """Whether `target` has to wait for one of `starts`."""
        end = self._rank[target]
        seen: set[Node] = set()
        stack = [node for node in starts if self._rank[node] < end]
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            seen.add(node)
            for reader in self._readers[node]:
                if reader is target:
                    return True
                if self._rank[reader] < end:
                    stack.append(reader)
        return False

    def _reorder(self, source: Node, reader: Node) -> None:
        """Renumber what lies between, so that `source` comes before `reader` again."""
        low, high = self._rank[reader], self._rank[source]
        after = self._within(reader, self._readers, low, high)
        before = self._within(source, self._sources, low, high)
        assert source not in after, "nodes would wait for each other"
        ranks = sorted(self._rank[node] for node in (*before, *after))
        ordered = sorted(before, key=self._rank.__getitem__)
        ordered += sorted(after, key=self._rank.__getitem__)
        for node, rank in zip(ordered, ranks, strict=True):
            self._rank[node] = rank

    def _within(
        self, start: Node, edges: dict[Node, dict[Node, None]], low: int, high: int
    ) -> set[Node]:
        """What can be reached without leaving the ranks from `low` to `high`."""
        seen = {start}
        stack = [start]
        while stack:
            for other in edges[stack.pop()]:
                if other not in seen and low <= self._rank[other] <= high:
                    seen.add(other)
                    stack.append(other)
        return seen
