"""Nodes that consume a product or a convolution row by row, while its rows are still in the cache.

What reads a result row by row need not wait for the whole of it: as soon as some rows are done, the
same thread can go on with them. The rows of a convolution are its planes, one for each image and
output channel, or the lines of planes that are too large to be computed at once. Consumers are
kernels and poolings of planes; a consumer may have consumers itself, so there are chains. Which
node consumes which is decided on the order of the nodes, how in the schedule.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from weft.compiler.ir import dims, dtypes
from weft.compiler.ir.dims import Size
from weft.compiler.ir.graph import Op, Value
from weft.compiler.ir.index.affine import Index, Loop, row_major, total
from weft.compiler.ir.lowering import Consumers
from weft.compiler.ir.types import Shape
from weft.compiler.loops.fusion import Fusion
from weft.compiler.loops.group import FusionGroup, Node, OpaqueNode
from weft.compiler.record import record

Following: TypeAlias = "FusionGroup | OpaqueNode"


@record
class RowFusionLimits:
    """Which products are worth consuming row by row, and how long chains of consumers get.

    All were chosen when consumers were first fused, and have no measurement of their own on record;
    docs/compiling.md has what consumers gain.
    """

    chain: int = 6  # nodes of a chain, at most
    multiplications: int = 1 << 14  # of a product, at least
    columns: int = 8  # of a product, at least
    terms: int = 8  # of each sum of a product, at least


LIMITS: Final = RowFusionLimits()


@record
class ConsumerChain:
    """The nodes that consume a product, one after the other, over `rows` rows in all: `parts` of
    them for each row of the product.
    """

    rows: Size
    parts: int
    nodes: list[Following]


def rows_name(op: Op, parts: int) -> str:
    """What users call the rows of an op that is consumed."""
    by_rows, by_parts = contract_of(op).names
    return by_rows if parts == 1 else by_parts


def contract_of(op: Op) -> Consumers:
    """How an op that is consumed hands out its rows."""
    assert op.definition.consumers is not None
    return op.definition.consumers


# --- which nodes go through rows ----------------------------------------------------------------


def rows_of(
    fusion: Fusion, rows: Size, made: Sequence[Value], group: FusionGroup
) -> tuple[Loop, ...] | None:
    """The outer loops of a group that go through `rows` rows, in order, if all that it reads of
    what is computed row by row lies in the current row. Asked for when nodes are paired, and again
    when kernels are built.
    """
    key = group, rows, *made
    if key not in fusion.row_loops:
        fusion.row_loops[key] = _rows_of(fusion, rows, made, group)
    return fusion.row_loops[key]


def _rows_of(
    fusion: Fusion, rows: Size, made: Sequence[Value], group: FusionGroup
) -> tuple[Loop, ...] | None:
    outer = group.outer if group.outer is not None else group.loops
    chosen = _prefix(outer, rows)
    if chosen is None or group.in_order or group.is_piece:
        return None
    reads_row = False
    for ref in fusion.leaves(group):
        value = fusion.resolve(ref.value)
        if value not in made:
            continue
        columns = _columns(value.type.shape, rows)
        index = total(ref.place.indices, row_major(ref.value.type.shape))
        if not value.type.rank or ref.place.guards or columns is None:
            return None
        if not _lies_in_row(index, chosen, columns):
            return None
        reads_row = True
    return chosen if reads_row else None


def _prefix(loops: tuple[Loop, ...], rows: Size) -> tuple[Loop, ...] | None:
    """The first loops that have as many steps together as there are rows."""
    steps: Size = 1
    for number, loop in enumerate(loops, 1):
        steps = steps * loop.size
        if steps == rows and not (number < len(loops) and loops[number].size == 1):
            return loops[:number]
    return None


def _columns(shape: Shape, rows: Size) -> Size | None:
    """The elements of a row, if the leading axes of a shape make up `rows` rows."""
    axes = _row_axes(shape, rows)
    return None if axes is None else dims.product(shape[axes:])


def _row_axes(shape: Shape, rows: Size) -> int | None:
    for axes in range(len(shape) + 1):
        if dims.product(shape[:axes]) == rows:
            return axes
    return None


def _lies_in_row(place: Index, loops: tuple[Loop, ...], columns: Size) -> bool:
    step = columns
    for loop in reversed(loops):
        if loop.size != 1 and place.factor(loop) != step:
            return False
        step = step * loop.size
    rest = tuple(term for term in place.terms if term[0] not in loops)
    return Index(rest, place.constant, place.extras).lies_within(columns)


def pools_rows(fusion: Fusion, rows: Size, made: Sequence[Value], op: Op) -> bool:
    """Whether the windows of an op lie in rows of an array that is computed row by row."""
    if op.definition.is_row_local is None or fusion.resolve(op.operands[0]) not in made:
        return False
    axes = _row_axes(op.operands[0].type.shape, rows)
    if axes is None or _row_axes(op.results[0].type.shape, rows) != axes:
        return False
    if axes == op.operands[0].type.rank:
        return False
    return op.definition.is_row_local(op, axes)


# --- consumers ----------------------------------------------------------------------------------


def fuse_rows(
    fusion: Fusion, nodes: list[Node]
) -> tuple[list[Node], dict[OpaqueNode, ConsumerChain]]:
    """The nodes in an order in which consumers come right after their products, and the chain of
    consumers of each.
    """
    readers: dict[Value, list[Node]] = {}
    for node in nodes:
        for value in fusion.reads(node):
            readers.setdefault(fusion.resolve(value), []).append(node)
    pairing = _Pairing(fusion, list(nodes), readers)
    consumers: dict[OpaqueNode, ConsumerChain] = {}
    for node in nodes:
        if isinstance(node, OpaqueNode) and _is_followed(node.op):
            chain = pairing.chain(node)
            if chain.nodes:
                consumers[node] = chain
    return pairing.order, consumers


def _is_followed(op: Op) -> bool:
    contract = op.definition.consumers
    if contract is None or op.results[0].type.dtype not in (dtypes.f32, dtypes.f64):
        return False
    if contract.in_order is not None and not contract.in_order(op):
        return False
    rows, columns, terms = contract.rows(op)
    least = (
        (columns, LIMITS.columns),
        (terms, LIMITS.terms),
        (rows * columns * terms, LIMITS.multiplications),
    )
    return not any(isinstance(size, int) and size < limit for size, limit in least)


class _Pairing:
    """An order of nodes that is changed so that consumers come right after what they consume."""

    def __init__(self, fusion: Fusion, order: list[Node], readers: dict[Value, list[Node]]) -> None:
        self.fusion = fusion
        self.order = order
        self.position = {node: number for number, node in enumerate(order)}
        self.readers = readers
        self.taken: set[Node] = set()

    def chain(self, product: OpaqueNode) -> ConsumerChain:
        """The nodes that consume a product, moved right behind it."""
        parts = self._parts(product.op)
        rows = contract_of(product.op).rows(product.op)[0] * parts
        row_values: list[Value] = list(product.op.results[:1])
        chain: list[Following] = [product]
        # Further results are complete only when all rows are.
        late = [user for v in product.op.results[1:] for user in self.readers.get(v, [])]
        while len(chain) <= LIMITS.chain:
            consumer = self._next(chain, rows, row_values, late)
            if consumer is None:
                break
            chain.append(consumer)
            self.taken.add(consumer)
            row_values += (
                consumer.targets if isinstance(consumer, FusionGroup) else consumer.op.results
            )
        return ConsumerChain(rows, parts, chain[1:])

    def _parts(self, op: Op) -> int:
        """Into how many lines each plane is divided, if its consumers go by planes; else 1."""
        contract = contract_of(op)
        lines = 1 if contract.parts is None else contract.parts(op)
        if lines == 1:
            return 1
        results, planes = list(op.results), contract.rows(op)[0]
        users = [
            user for user in self.readers.get(op.results[0], []) if isinstance(user, FusionGroup)
        ]
        whole = [user for user in users if self._goes_by_rows(user, planes, results)]
        fits = all(self._goes_by_rows(user, planes * lines, results) for user in whole)
        return lines if whole and fits else 1

    def _next(
        self, chain: list[Following], rows: Size, made: list[Value], late: list[Node]
    ) -> Following | None:
        readers = [user for v in made for user in self.readers.get(v, [])]
        users = list(dict.fromkeys([*readers, *late]))
        possible = [
            user
            for user in users
            if isinstance(user, FusionGroup | OpaqueNode)
            and user not in self.taken
            and user not in late
            if self._goes_by_rows(user, rows, made)
        ]
        # The node with the most work gains the most from the cache and from all threads.
        for user in sorted(possible, key=_weight, reverse=True):
            if self._move_together(chain, user, users):
                return user
        return None

    def _goes_by_rows(self, node: Following, rows: Size, made: Sequence[Value]) -> bool:
        if isinstance(node, OpaqueNode):
            return pools_rows(self.fusion, rows, made, node.op)
        return rows_of(self.fusion, rows, made, node) is not None

    def _move_together(self, chain: list[Following], node: Node, users: list[Node]) -> bool:
        """Put a node right behind a chain, or the chain right before the node, if all that they
        wait for and all that wait for them allow it.
        """
        order, position = self.order, self.position
        first, end, last = position[chain[0]], position[chain[-1]] + 1, position[node]
        if last < end:
            return False
        if not any(end <= position[source] < last for source in self.fusion.sources(node)):
            self._replace(end, [node, *order[end:last]])
            return True
        if not any(end <= position[user] < last for user in users):
            self._replace(first, [*order[end:last], *order[first:end]])
            return True
        return False

    def _replace(self, first: int, nodes: Sequence[Node]) -> None:
        """Other nodes from a position on."""
        self.order[first : first + len(nodes)] = nodes
        for number, node in enumerate(nodes, first):
            self.position[node] = number


def _weight(node: Following) -> int:
    return node.weight if isinstance(node, FusionGroup) else 0
