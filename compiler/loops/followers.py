"""Kernels that follow a matrix product row by row, while its rows are still in the cache.

A kernel that reads a product's result, row by row of its outer loops, need not wait for the whole
of it: as soon as some rows are done, the same thread can go on with these. Which kernel follows
which product is decided on the order of the nodes; how, when code is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from weft.compiler.ir import dims, dtypes
from weft.compiler.ir.dims import Size
from weft.compiler.ir.graph import Op, Value
from weft.compiler.loops.group import Group, Node, Single
from weft.compiler.loops.index import Index, Loop, row_major, total

if TYPE_CHECKING:
    from weft.compiler.loops.partition import Partition

MOST_NODES: Final = 3000  # of a region in which followers are looked for
LEAST_STEPS: Final = 1 << 14  # multiplications of a product that is worth following
LEAST_COLUMNS: Final = 8
LEAST_TERMS: Final = 8


def product_shape(op: Op) -> tuple[Size, Size, Size]:
    """Rows (of all matrices of a batch), columns and terms of a product."""
    lhs = op.operands[0].type.shape
    terms = dims.product(lhs[axis] for axis in op.attributes["lhs_contract"])
    rank = op.operands[0].type.rank - len(op.attributes["lhs_contract"])
    shape = op.results[0].type.shape
    return dims.product(shape[:rank]), dims.product(shape[rank:]), terms


def rows_of(partition: Partition, op: Op, group: Group) -> tuple[Loop, ...] | None:
    """The outer loops of a group that go through the rows of a product's result, in order, if all
    that it reads of the result lies in the row that it is at.
    """
    rows, columns, _ = product_shape(op)
    outer = group.outer if group.outer is not None else group.loops
    chosen = _prefix(outer, rows)
    if chosen is None or group.in_order or group.is_piece:
        return None
    result = op.results[0]
    found = False
    for ref in partition.leaves(group):
        if partition.resolve(ref.value) is not result:
            continue
        place = total(ref.place.indices, row_major(ref.value.type.shape))
        if ref.place.guards or not _lies_in_row(place, chosen, columns):
            return None
        found = True
    return chosen if found else None


def _prefix(loops: tuple[Loop, ...], rows: Size) -> tuple[Loop, ...] | None:
    """The first loops that have as many steps together as there are rows."""
    steps: Size = 1
    for number, loop in enumerate(loops, 1):
        steps = steps * loop.size
        if steps == rows and not (number < len(loops) and loops[number].size == 1):
            return loops[:number]
    return None


def _lies_in_row(place: Index, loops: tuple[Loop, ...], columns: Size) -> bool:
    step = columns
    for loop in reversed(loops):
        if loop.size != 1 and place.factor(loop) != step:
            return False
        step = step * loop.size
    rest = tuple(term for term in place.terms if term[0] not in loops)
    return Index(rest, place.constant, place.extras).lies_within(columns)


def pair(partition: Partition, nodes: list[Node]) -> tuple[list[Node], dict[Node, Group]]:
    """The nodes in an order in which followers come right after their products, and who follows
    whom.
    """
    from weft.compiler.loops.order import reads

    followers: dict[Node, Group] = {}
    if len(nodes) > MOST_NODES:
        return nodes, followers
    readers: dict[Value, list[Node]] = {}
    for node in nodes:
        for value in reads(partition, node):
            readers.setdefault(partition.resolve(value), []).append(node)
    order = list(nodes)
    taken: set[Node] = set()
    for node in nodes:
        if not isinstance(node, Single) or not _is_followed(node.op):
            continue
        users = readers.get(node.op.results[0], [])
        groups = [user for user in users if isinstance(user, Group) and user not in taken]
        # The one with the most work gains the most from all threads and from the cache.
        for group in sorted(groups, key=lambda group: -group.weight):
            if rows_of(partition, node.op, group) is None:
                continue
            if _move_together(partition, order, node, group, users):
                followers[node] = group
                taken.add(group)
                break
    return order, followers


def _is_followed(op: Op) -> bool:
    if op.name != "dot_general" or op.results[0].type.dtype not in (dtypes.f32, dtypes.f64):
        return False
    rows, columns, terms = product_shape(op)
    least = ((columns, LEAST_COLUMNS), (terms, LEAST_TERMS), (rows * columns * terms, LEAST_STEPS))
    return not any(isinstance(size, int) and size < limit for size, limit in least)


def _move_together(
    partition: Partition, order: list[Node], product: Node, group: Node, users: list[Node]
) -> bool:
    """Put a group right behind a product, or the product right before the group, if all that they
    wait for and all that wait for them allow it.
    """
    from weft.compiler.loops.order import sources

    first, last = order.index(product), order.index(group)
    if last < first:
        return False
    between = set(order[first + 1 : last])
    if not between.intersection(sources(partition, group)):
        order.insert(first + 1, order.pop(last))
        return True
    if not between.intersection(users):
        order.insert(last - 1, order.pop(first))
        return True
    return False
