"""The order in which nodes run: each after those that it reads from."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from heapq import heappop, heappush
from itertools import pairwise

from weft.compiler.ir.graph import Op, Result, Value
from weft.compiler.ir.walk import has_effect, topological_order
from weft.compiler.loops.fusion import Fusion
from weft.compiler.loops.group import FusionGroup, Node, OpaqueNode, PiecewiseNode
from weft.compiler.loops.row_fusion import ConsumerChain, fuse_rows
from weft.compiler.ops.failing import may_fail
from weft.compiler.record import record


@record
class Order:
    """The nodes of a region in the order in which they run, and which of them are fused row by row
    with the product or convolution that they come right after.
    """

    nodes: list[Node]
    consumers: dict[OpaqueNode, ConsumerChain]


def order(fusion: Fusion) -> Order:
    """The nodes so that each runs after those it reads from: near the order of the program, or in
    another one that needs less memory at its peak; and consumers right behind their producers.
    Where the program may raise, what follows in it comes later: it may fail as well, or never end.
    """
    waits = _Waits(fusion)
    candidates = [waits.by_program()]
    if not any(may_fail(op) for op in fusion.region.ops):
        candidates += [waits.late(), waits.by_memory()]
    peaks = [waits.peak(candidate) for candidate in candidates]
    return Order(*fuse_rows(fusion, candidates[peaks.index(min(peaks))]))


class _Waits:
    """Which node depends on which and reads what, and how many bytes each writes."""

    def __init__(self, fusion: Fusion) -> None:
        self.nodes = fusion.nodes
        self.first = {node: _last_position(node, fusion.position) for node in self.nodes}
        self.readers: dict[Node, dict[Node, None]] = {node: {} for node in self.nodes}
        self.sources: dict[Node, dict[Node, None]] = {node: {} for node in self.nodes}
        resolve, home_of = fusion.resolve, fusion.homes.get
        self.read: dict[Node, dict[Value, None]] = {
            node: dict.fromkeys([resolve(value) for value in fusion.reads(node)])
            for node in self.nodes
        }
        self.value_readers: dict[Value, list[Node]] = {}
        for node, values in self.read.items():
            for value in values:
                self.value_readers.setdefault(value, []).append(node)
                source = home_of(value)
                if source is not None and source is not node:
                    self._after(source, node)
        self._keep_effects_in_order()
        results = {resolve(result) for result in fusion.region.results}
        self.sizes: dict[Value, int] = {}  # of what is not a result
        self.makers: dict[Value, Node] = {}
        self.written = dict.fromkeys(self.nodes, 0)  # bytes, by node
        for value, node in fusion.homes.items():
            if value not in results and node in self.written:
                self.makers[value] = node
                self.sizes[value] = size = _bytes(value)
                self.written[node] += size
        self._read_before_updates(fusion)

    def _after(self, source: Node, node: Node) -> None:
        self.readers[source][node] = None
        self.sources[node][source] = None

    def _keep_effects_in_order(self) -> None:
        effects = [n for n in self.nodes if isinstance(n, OpaqueNode) and has_effect(n.op)]
        effects.sort(key=self.first.__getitem__)
        for before, after in pairwise(effects):
            self._after(before, after)

    def _read_before_updates(self, fusion: Fusion) -> None:
        """The last update of an array comes after those that read what it begins with, but for
        those that need it themselves: it can be in place then.
        """
        bases: dict[Node, Value] = {
            node: fusion.resolve(node.base)
            for node in self.nodes
            if isinstance(node, PiecewiseNode) and node.base is not None
        }
        if not bases:
            return

        def urgency(node: Node, left: Mapping[Value, int]) -> int:
            """Updates come when nothing else can, first those that nobody else has to wait for."""
            return 0 if node not in bases else 1 if left[bases[node]] == 1 else 2

        ordered = self._by_urgency(urgency, set(bases.values()))
        rank = {node: number for number, node in enumerate(ordered)}
        last = {bases[node]: node for node in ordered if node in bases}
        for base, update in last.items():
            for reader in self.value_readers[base]:
                if rank[reader] < rank[update]:
                    self._after(reader, update)

    def by_program(self) -> list[Node]:
        """Of the nodes that are ready, the first in program order."""
        return topological_order(self.sources, self.first.__getitem__)

    def late(self) -> list[Node]:
        """Every node as late as its readers allow, so that nothing is computed long before it
        is read.
        """
        return topological_order(self.readers, lambda node: -self.first[node])[::-1]

    def by_memory(self) -> list[Node]:
        """Of the nodes that are ready, the one that frees the most and writes the least."""
        sizes, read, written = self.sizes, self.read, self.written

        def growth(node: Node, left: Mapping[Value, int]) -> int:
            return written[node] - sum([sizes.get(v, 0) for v in read[node] if left[v] == 1])

        return self._by_urgency(growth, sizes)

    def _by_urgency(
        self, urgency: Callable[[Node, Mapping[Value, int]], int], watched: Container[Value]
    ) -> list[Node]:
        """Of the nodes that are ready, the one with the least `urgency`, which may depend on how
        many have `left` to read a value that is watched.

        That of a node changes when it becomes the last reader of a value, so it is queued again
        with its new key then, and older entries are passed over.
        """
        left = {value: len(nodes) for value, nodes in self.value_readers.items()}
        waiting = {node: len(self.sources[node]) for node in self.nodes}
        numbers: dict[Node, int] = {}
        queue: list[tuple[int, int, int, Node]] = []

        def enqueue(node: Node) -> None:
            number = numbers.setdefault(node, len(numbers))
            heappush(queue, (urgency(node, left), self.first[node], number, node))

        for node in self.nodes:
            if not waiting[node]:
                enqueue(node)
        done: dict[Node, None] = {}
        while queue:
            node = heappop(queue)[-1]
            if node in done:
                continue
            done[node] = None
            for value in self.read[node]:
                left[value] -= 1
                if left[value] == 1 and value in watched:
                    last = next(r for r in self.value_readers[value] if r not in done)
                    if last in numbers:
                        enqueue(last)
            for reader in self.readers[node]:
                waiting[reader] -= 1
                if not waiting[reader]:
                    enqueue(reader)
        return list(done)

    def peak(self, nodes: Sequence[Node]) -> int:
        """The most bytes alive at once."""
        last: dict[Value, Node] = {}
        for node in nodes:
            last.update(dict.fromkeys(self.read[node], node))
        freed = dict.fromkeys(nodes, 0)
        for value, size in self.sizes.items():
            freed[last.get(value) or self.makers[value]] += size
        live = most = 0
        for node in nodes:
            live += self.written[node]
            most = max(most, live)
            live -= freed[node]
        return most


def _bytes(value: Value) -> int:
    """The bytes of an array; a size known only at run time counts as a thousand."""
    total = value.type.dtype.itemsize
    for size in value.type.shape:
        total *= size if isinstance(size, int) else 1000
    return total if value.type.rank else 0


def _last_position(node: Node, position: dict[Op, int]) -> int:
    match node:
        case OpaqueNode():
            return position[node.op]
        case PiecewiseNode():
            assert isinstance(node.result, Result)
            return position[node.result.op]
        case FusionGroup():
            return max(position[s.target.op] for s in node.stores if isinstance(s.target, Result))
