"""One product in place of several that share an operand: queries, keys and values, LSTM gates.

The other operands are joined along their free axis, and each result is a slice. This pays when they
are constants (joined now), constants of a loop (joined once, before it), or arguments that meet
enough rows for the copy not to count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np

from weft.compiler.ir.edit import Editor, with_region, without_dead_ops
from weft.compiler.ir.graph import Constant, Graph, Op, Region, Value
from weft.compiler.ops.contraction import dot_general
from weft.compiler.ops.shape import concatenate, part
from weft.compiler.passes.scans.hoist import LOOPS
from weft.compiler.record import record


@record
class _Context:
    """What may be joined in a region, and how many rows the shared operand must have for it."""

    joinable: frozenset[Value]
    least_rows: int


def merge_products(
    graph: Graph, fired: Counter[str] | None = None, *, least_rows: int = 16
) -> Graph:
    """The graph with parallel products merged."""
    counts = fired if fired is not None else Counter()
    context = _Context(frozenset(graph.parameters), least_rows)
    return with_region(graph, _merge_region(graph.region, context, counts))


def _merge_region(region: Region, context: _Context, counts: Counter[str]) -> Region:
    groups = _groups(region, context)
    if not groups and not any(op.regions for op in region.ops):
        return region
    group_of = {op: group for group in groups for op in group.members}
    editor = Editor(region)
    products: dict[Op, Value] = {}
    changed = bool(groups)
    with editor.builder.active():
        for op in region.ops:
            inner = [_merge_region(r, _inner(op, r, context), counts) for r in op.regions]
            current = editor.current(op, inner)
            changed |= current is not op
            editor.builder.location = op.location
            group = group_of.get(op)
            if group is None:
                editor.keep(op, current)
                continue
            if op not in products:
                counts[f"{len(group.members)} products"] += 1
                products.update(_emit(group, editor))
            editor.replace(op, (products[op],))
    if not changed:
        return region
    return without_dead_ops(editor.builder.region([editor.value(v) for v in region.results]))


def _inner(op: Op, region: Region, context: _Context) -> _Context:
    if op.definition in LOOPS:
        return _Context(frozenset(region.parameters[: op.attributes["n_consts"]]), 0)
    return _Context(frozenset(region.parameters), context.least_rows)


@record
class _Group:
    """Products that share the operand on one side."""

    members: tuple[Op, ...]
    side: int

    @property
    def others(self) -> list[Value]:
        return [op.operands[1 - self.side] for op in self.members]


def _groups(region: Region, context: _Context) -> list[_Group]:
    candidates: dict[tuple[int, Hashable], list[Op]] = {}
    for op in region.ops:
        if op.definition is dot_general and not op.attributes["lhs_batch"]:
            for side in (0, 1):
                if _is_joinable(op, 1 - side, context):
                    key = side, (op.operands[side], *op.attributes.values())
                    candidates.setdefault(key, []).append(op)
    groups: list[_Group] = []
    taken: set[Op] = set()
    for (side, _), members in sorted(candidates.items(), key=lambda item: -len(item[1])):
        free = tuple([op for op in members if op not in taken])
        group = _Group(free, side)
        if len(free) > 1 and _pays(group, context):
            groups.append(group)
            taken.update(free)
    return groups


def _is_joinable(op: Op, side: int, context: _Context) -> bool:
    value = op.operands[side]
    if not value.type.is_static or not (isinstance(value, Constant) or value in context.joinable):
        return False
    return value.type.rank == len(op.attributes["lhs_contract"]) + 1


def _pays(group: _Group, context: _Context) -> bool:
    others = group.others
    if len({id(other) for other in others}) < len(others):
        return False  # equal products, which sharing will find
    if all(isinstance(other, Constant) for other in others):
        return True
    result = group.members[0].results[0].type
    own = _free_size(group, group.members[0])
    rows = result.size
    return isinstance(rows, int) and rows >= context.least_rows * own


def _free_axis(group: _Group, op: Op) -> int:
    """The one axis of the other operand that is not contracted."""
    contract = op.attributes["rhs_contract" if group.side == 0 else "lhs_contract"]
    return next(axis for axis in range(len(contract) + 1) if axis not in contract)


def _free_size(group: _Group, op: Op) -> int:
    size = op.operands[1 - group.side].type.shape[_free_axis(group, op)]
    assert isinstance(size, int)
    return size


def _emit(group: _Group, editor: Editor) -> dict[Op, Value]:
    first = group.members[0]
    joined = _join(group.others, _free_axis(group, first))
    shared = editor.value(first.operands[group.side])
    operands = (shared, joined) if group.side == 0 else (joined, shared)
    product = dot_general(*operands, **first.attributes)
    axis = product.type.rank - 1 if group.side == 0 else 0
    result: dict[Op, Value] = {}
    end = 0
    for op in group.members:
        start, end = end, end + _free_size(group, op)
        result[op] = part(product, axis, start, end)
    return result


def _join(values: Sequence[Value], axis: int) -> Value:
    constants = [value for value in values if isinstance(value, Constant)]
    if len(constants) == len(values):
        return Constant(np.concatenate([value.array for value in constants], axis))
    return concatenate(*values, axis=axis)
