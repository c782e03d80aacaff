"""After which nodes a program asks whether to stop, so that an interrupt ends it soon, however many
of them follow each other, and short programs never ask.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from weft.compiler.ir.dims import Size
from weft.compiler.ir.graph import Op
from weft.compiler.loops.build_kernels import Kernels
from weft.compiler.loops.group import FusionGroup, Node, OpaqueNode, PiecewiseNode
from weft.compiler.loops.memory import RegionPlan

if TYPE_CHECKING:
    from weft.compiler.loops.schedule import Schedule

# Additions in vectors, rough: about a millisecond, where asking takes some ten nanoseconds. Loops
# ask every 256 steps, so a step without a question of its own may not be longer.
MUCH: Final = 1 << 20
MOST_UNKNOWN: Final = 4  # nodes whose work only the run tells, before it has to say how much it is


def polls_of(plan: RegionPlan, kernels: Kernels, schedule: Schedule) -> dict[Node, Size]:
    """The nodes after which a program asks, with the work since it asked last. Where that is known
    only at run time, it asks if that is much.
    """
    polls = _in_region(plan, kernels, schedule)
    if plan.nodes:
        polls.pop(plan.nodes[-1], None)  # the program ends there
    return polls


def _in_region(plan: RegionPlan, kernels: Kernels, schedule: Schedule) -> dict[Node, Size]:
    polls: dict[Node, Size] = {}
    since: Size = 0
    unknown = 0
    for node in plan.nodes:
        if isinstance(node, OpaqueNode) and node.op in plan.controls:
            for body in plan.controls[node.op].bodies:
                polls |= _in_region(body, kernels, schedule)
        for work in _work(node, kernels, schedule):
            since, unknown = since + work, unknown + (not isinstance(work, int))
        is_much = since >= MUCH if isinstance(since, int) else unknown >= MOST_UNKNOWN
        if is_much and node not in schedule.by_rows:
            polls[node] = since
            since, unknown = 0, 0
    return polls


def _work(node: Node, kernels: Kernels, schedule: Schedule) -> Iterator[Size]:
    match node:
        case FusionGroup():
            kernel = kernels.of_group[node]
            case = schedule.case_of.get(kernel)
            if case is not None:
                yield kernel.additions(case.vectors.lanes)
        case PiecewiseNode():
            for group in node.groups:
                yield from _work(group, kernels, schedule)
        case OpaqueNode():
            yield _work_of_op(node.op)


def _work_of_op(op: Op) -> Size:
    """Of control flow it is nothing: its bodies ask by themselves."""
    if op.regions:
        return 0
    if op.definition.work is not None:
        return op.definition.work(op)
    sizes = [value.type.size for value in (*op.operands, *op.results)]
    most = max((size for size in sizes if isinstance(size, int)), default=0)
    unknown = [size for size in sizes if not isinstance(size, int)]
    # Of a matrix it is the cube of its rows; sorting and the like are less.
    return unknown[0] * math.isqrt(MUCH) if unknown else most * math.isqrt(most)
