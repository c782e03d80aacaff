"""After which nodes a program asks whether to stop, so that an interrupt ends it soon, however many
of them follow each other, and short programs never ask.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from weft.compiler.ir import dims
from weft.compiler.ir.dims import Size
from weft.compiler.ir.graph import Op
from weft.compiler.loops.build_kernels import Kernels
from weft.compiler.loops.counters import most_steps
from weft.compiler.loops.group import FusionGroup, Node, OpaqueNode, PiecewiseNode
from weft.compiler.loops.kernel import Kernel
from weft.compiler.loops.memory import ControlPlan, RegionPlan
from weft.compiler.record import record

if TYPE_CHECKING:
    from weft.compiler.loops.schedule import Schedule

# Additions in vectors, rough: about a millisecond, where asking takes some ten nanoseconds.
MUCH: Final = 1 << 20
MOST_UNKNOWN: Final = 4  # nodes whose work only the run tells, before it has to say how much it is
# Steps of a loop from one question to the next: if its steps are long or ask themselves, and most.
STEPS: Final = 256
MOST_STEPS: Final = 1 << 16
SHORT: Final = 1 << 12  # of a step: there the code around kernels counts


@record
class Polls:
    """After which nodes a program asks, with the work since it asked last; where that is known only
    at run time, it asks if that is much. And which loops ask, every so many steps: others are short
    enough to be done with before.
    """

    nodes: dict[Node, Size]
    loops: dict[Op, int]


def polls_of(plan: RegionPlan, kernels: Kernels, schedule: Schedule) -> Polls:
    """The questions of a program."""
    finder = _Finder(kernels, schedule)
    finder.region(plan)
    if plan.nodes:
        finder.found.nodes.pop(plan.nodes[-1], None)  # the program ends there
    return finder.found


def asks_inside(plan: RegionPlan, schedule: Schedule) -> bool:
    """Whether something in a region may ask."""
    return any(
        node in schedule.polls
        or isinstance(node, OpaqueNode)
        and node.op in plan.controls
        and (
            node.op in schedule.asking
            or any(asks_inside(body, schedule) for body in plan.controls[node.op].bodies)
        )
        for node in plan.nodes
    )


def has_short_steps(control: ControlPlan, kernels: Kernels, schedule: Schedule) -> bool:
    """Whether a loop does little in a step, beside loops that are inside of it: its own code and
    the calls of kernels count then.
    """
    work: Size = 0
    for body in control.bodies:
        for node in body.nodes:
            match node:
                case FusionGroup():
                    work = work + _kernel_work(kernels.of_group[node], schedule)
                case PiecewiseNode():
                    for group in node.groups:
                        work = work + _kernel_work(kernels.of_group[group], schedule)
                case OpaqueNode() if node.op not in body.controls:
                    return False
    most = dims.upper(work)
    return most is not None and most <= SHORT


def _kernel_work(kernel: Kernel, schedule: Schedule) -> Size:
    case = schedule.case_of.get(kernel)
    return kernel.additions(1 if case is None else case.vectors.lanes)


class _Finder:
    def __init__(self, kernels: Kernels, schedule: Schedule) -> None:
        self.kernels = kernels
        self.schedule = schedule
        self.found = Polls({}, {})

    def region(self, plan: RegionPlan) -> Size | None:
        """The work of a region, None if something in it asks."""
        since: Size = 0
        unknown = 0
        asks = False
        for node in plan.nodes:
            for work in self._node(plan, node):
                if work is None:
                    asks = True
                else:
                    since, unknown = since + work, unknown + (not isinstance(work, int))
            is_much = since >= MUCH if isinstance(since, int) else unknown >= MOST_UNKNOWN
            if is_much and node not in self.schedule.by_rows:
                self.found.nodes[node] = since
                since, unknown, asks = 0, 0, True
        return None if asks else since

    def _node(self, plan: RegionPlan, node: Node) -> Iterator[Size | None]:
        match node:
            case FusionGroup():
                yield _kernel_work(self.kernels.of_group[node], self.schedule)
            case PiecewiseNode():
                for group in node.groups:
                    yield _kernel_work(self.kernels.of_group[group], self.schedule)
            case OpaqueNode() if node.op in plan.controls:
                works = [self.region(body) for body in plan.controls[node.op].bodies]
                yield self._control(node.op, works)
            case OpaqueNode():
                yield 0 if node.op.regions else _work_of_op(node.op)

    def _control(self, op: Op, works: list[Size | None]) -> Size | None:
        """The work of control flow whose bodies take so much; None if it asks, or may."""
        known = [work for work in works if isinstance(work, int)]
        is_known = len(known) == len(works)
        if op.definition.memory.has_branches:
            return max(known, default=0) if is_known else None
        step = max(sum(known), 1)
        length = op.attributes.get("length", most_steps(op))
        if is_known and isinstance(length, int) and length * step < MUCH:
            return length * step
        most = min(1 << (MUCH // step).bit_length() >> 1, MOST_STEPS)
        self.found.loops[op] = max(most, STEPS) if is_known else STEPS
        return None


def _work_of_op(op: Op) -> Size:
    if op.definition.work is not None:
        return op.definition.work(op)
    sizes = [value.type.size for value in (*op.operands, *op.results)]
    most = max((size for size in sizes if isinstance(size, int)), default=0)
    unknown = [size for size in sizes if not isinstance(size, int)]
    # Of a matrix it is the cube of its rows; sorting and the like are less.
    return unknown[0] * math.isqrt(MUCH) if unknown else most * math.isqrt(most)
