"""How the kernels of a program run: in lanes, on several threads, in line or called, or row by row
with a product; and which small arrays are on the stack.

Equal kernels are one: what is emitted is a list of distinct kernels, each with its vector loop, its
tiles and its reduction tree.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from weft.compiler.ir.alignment import ALIGNMENT
from weft.compiler.ir.dims import Size
from weft.compiler.ir.graph import Op, Value
from weft.compiler.ir.index.affine import Loop
from weft.compiler.loops.arena import Buffer
from weft.compiler.loops.build_kernels import Kernels
from weft.compiler.loops.estimates import bytes_of
from weft.compiler.loops.group import FusionGroup, Node, OpaqueNode, PiecewiseNode
from weft.compiler.loops.kernel import Kernel, computing_cost
from weft.compiler.loops.kernel_text import kernel_text
from weft.compiler.loops.memory import ControlPlan, Copy, RegionPlan
from weft.compiler.loops.parallel import steps_at_once
from weft.compiler.loops.polling import polls_of
from weft.compiler.loops.row_fusion import ConsumerChain, rows_name
from weft.compiler.loops.vectorise import VectorPlan, vectorise
from weft.compiler.loops.workspace import (
    RoutineBytes,
    no_bytes,
    number_bytes,
    plan_workspace,
)
from weft.compiler.record import record


@record
class InlineLimits:
    """How much code is written in line, where a kernel is short, rather than called.

    The numbers were found on small arrays inside of loops (docs/compiling.md): up to these, LLVM
    holds such arrays in registers; beyond, compile time grows and nothing is gained.
    """

    steps: int = 8
    cost_of_one_op: int = 28  # additions in all steps: beyond, vectors do divisions at once
    cost_of_kernel: int = 256  # additions in all steps
    cost_of_program: int = 4096
    stack_bytes: int = ALIGNMENT  # of an array on the stack
    stack_arrays: int = 256  # of one program


@dataclass(eq=False, slots=True)
class KernelCase:
    """One of the distinct kernels of a program, and how its vector loop and its tiles go."""

    name: str
    kernel: Kernel
    vectors: VectorPlan


@dataclass(eq=False, slots=True)
class Task:
    """A node that consumes rows as a product computes them: a kernel, and the loops over its rows,
    or an op whose routine takes some rows at a time.
    """

    node: FusionGroup | OpaqueNode
    kernel: Kernel | None
    case: KernelCase | None
    rows: tuple[Loop, ...] = ()


@record
class TaskChain:
    """What consumes a product: tasks one after the other, on `rows` rows, `parts` of them for each
    row of the product.
    """

    rows: Size
    parts: int
    tasks: tuple[Task, ...]


@dataclass(eq=False, slots=True)
class Schedule:
    """How a program runs. `cases` has the distinct kernels by their names; `case_of` the one that a
    kernel is called as; kernels that are in `inlined` are written where they stand. `stack` has the
    buffers and `stack_carries` the carries of loops that are on the stack; `chains` what runs row
    by row with a product, and `by_rows` how each such node is described; `parallel` how many steps
    of a loop a thread takes at a time. `workspace` has the bytes that nodes work in beside their
    arrays, `workspace_bytes` those of the whole program, and `number_bytes` what numbers take that
    the stack has no room for. `polls` has the nodes after which it asks
    whether to stop, `asking` the loops that do so every some steps, see `polling`.
    """

    cases: dict[str, KernelCase] = field(default_factory=dict)
    case_of: dict[Kernel, KernelCase] = field(default_factory=dict)
    inlined: set[Kernel] = field(default_factory=set)
    stack: set[Buffer] = field(default_factory=set)
    stack_carries: set[tuple[Op, int]] = field(default_factory=set)
    chains: dict[OpaqueNode, TaskChain] = field(default_factory=dict)
    by_rows: dict[Node, str] = field(default_factory=dict)
    parallel: dict[Op, int] = field(default_factory=dict)
    workspace: dict[Node, Size] = field(default_factory=dict)
    workspace_bytes: Size = 0
    number_bytes: int = 0
    polls: dict[Node, Size] = field(default_factory=dict)
    asking: dict[Op, int] = field(default_factory=dict)


def schedule(
    plan: RegionPlan,
    kernels: Kernels,
    vector_bits: int,
    limits: InlineLimits | None = None,
    routine_bytes: RoutineBytes = no_bytes,
) -> Schedule:
    """The schedule of a planned program whose kernels are built, for vectors of this width.
    `routine_bytes` says what a target's routines work in.
    """
    scheduler = _Scheduler(kernels, vector_bits, limits or InlineLimits())
    scheduler.region(plan, is_repeated=False)
    result = scheduler.schedule
    result.workspace, result.workspace_bytes = plan_workspace(plan, kernels, result, routine_bytes)
    result.number_bytes = number_bytes(plan)
    polls = polls_of(plan, kernels, result)
    result.polls, result.asking = polls.nodes, polls.loops
    return result


class _Scheduler:
    def __init__(self, kernels: Kernels, vector_bits: int, limits: InlineLimits) -> None:
        self.kernels = kernels
        self.vector_bits = vector_bits
        self.limits = limits
        self.schedule = Schedule()
        self.by_text: dict[str, KernelCase] = {}
        self.inlined_cost = 0
        self.stack_arrays = 0

    def region(self, plan: RegionPlan, *, is_repeated: bool) -> None:
        """Schedule the nodes of a region; one that is, or is in, a loop's body is repeated."""
        if is_repeated:
            for buffer in plan.temporaries:
                if self._takes_stack(buffer.bytes):
                    self.schedule.stack.add(buffer)
        for node in plan.nodes:
            if node in self.schedule.by_rows:
                continue
            if isinstance(node, OpaqueNode):
                self._opaque(plan, node, is_repeated=is_repeated)
            elif isinstance(node, PiecewiseNode):
                self._copy(plan.copies.get(("base", node)))
                for group in node.groups:
                    self._group(group, is_repeated=is_repeated)
            else:
                self._group(node, is_repeated=is_repeated)
        for number in range(len(plan.region.results)):
            self._copy(plan.copies.get(("result", number)))

    # --- kernels ---

    def _group(self, group: FusionGroup, *, is_repeated: bool) -> None:
        kernel = self.kernels.of_group[group]
        if not has_loops(group) or is_repeated and self._fits(kernel):
            self.schedule.inlined.add(kernel)
        else:
            self._call(kernel)

    def _copy(self, copy: Copy | None) -> None:
        if copy is None:
            return
        kernel = self.kernels.of_copy[copy]
        if self._fits(kernel):
            self.schedule.inlined.add(kernel)
        else:
            self._call(kernel)

    def _call(self, kernel: Kernel) -> KernelCase:
        case_of = self.schedule.case_of
        case = case_of.get(kernel.like) if kernel.like is not None else None
        if case is None:
            text = kernel_text(kernel)
            case = self.by_text.get(text)
        if case is None:
            vectors = vectorise(kernel, self.vector_bits)
            case = KernelCase(f"kernel{len(self.by_text)}", kernel, vectors)
            self.by_text[text] = self.schedule.cases[case.name] = case
        case_of[kernel] = case
        return case

    def _fits(self, kernel: Kernel) -> bool:
        """Whether a kernel may be written in line rather than called: it has few steps, and those
        before it have left room in the program.
        """
        cost = inline_cost(kernel, self.limits)
        if cost is None or self.inlined_cost + cost > self.limits.cost_of_program:
            return False
        self.inlined_cost += cost
        return True

    def _takes_stack(self, bytes: Size) -> bool:
        """Whether an array goes to the stack: it is small, and there are not too many."""
        limits = self.limits
        is_small = isinstance(bytes, int) and bytes <= limits.stack_bytes
        if not is_small or self.stack_arrays == limits.stack_arrays:
            return False
        self.stack_arrays += 1
        return True

    # --- ops that are nodes of their own ---

    def _opaque(self, plan: RegionPlan, node: OpaqueNode, *, is_repeated: bool) -> None:
        op = node.op
        for operand in dict.fromkeys(op.operands):
            self._copy(plan.copies.get(("operand", op, operand)))
        control = plan.controls.get(op)
        if control is not None:
            self._control(plan, op, control, is_repeated=is_repeated)
        chain = plan.order.consumers.get(node)
        if chain is not None:
            self._chain(node, chain)

    def _control(
        self, plan: RegionPlan, op: Op, control: ControlPlan, *, is_repeated: bool
    ) -> None:
        for number, result in enumerate(op.results):
            self._copy(plan.copies.get(("carry", op, number)))
            is_carried = number < control.carried
            if is_carried and result.type.rank and not _is_handed(control.bodies[-1], op, number):
                if self._takes_stack(bytes_of(result)):
                    self.schedule.stack_carries.add((op, number))
        grain = steps_at_once(op)
        if grain is not None:
            self.schedule.parallel[op] = grain
        for body in control.bodies:
            self.region(body, is_repeated=is_repeated or not op.definition.memory.has_branches)

    def _chain(self, producer: OpaqueNode, chain: ConsumerChain) -> None:
        """The nodes that can take rows in the order in which these are computed; the first whose
        kernel goes in another order ends the chain.
        """
        tasks: list[Task] = []
        for node in chain.nodes:
            if isinstance(node, FusionGroup):
                kernel, rows = self.kernels.in_rows[node]
                case = self._call(kernel)
                if not goes_by_rows(kernel, case.vectors, rows):
                    break
                tasks.append(Task(node, kernel, case, rows))
            else:
                tasks.append(Task(node, None, None))
            self.schedule.by_rows[node] = rows_name(producer.op, chain.parts)
        if tasks:
            self.schedule.chains[producer] = TaskChain(chain.rows, chain.parts, tuple(tasks))


def has_loops(group: FusionGroup) -> bool:
    """Whether a group is more than one step of numbers."""
    loops = [*group.loops, *(loop for loops in group.reduce_loops.values() for loop in loops)]
    return any(loop.size != 1 for loop in loops) or bool(group.reduce_loops)


def goes_by_rows(kernel: Kernel, vectors: VectorPlan, rows: Sequence[Loop]) -> bool:
    """Whether the work items of each step of some of the outer loops are consecutive."""
    tiling = vectors.tiling
    if tiling is not None and (tiling.split or set(tiling.kept) & set(rows)):
        return False
    return vectors.tile is None and not kernel.in_order and vectors.outer not in rows


def inline_cost(kernel: Kernel, limits: InlineLimits) -> int | None:
    """Additions of a kernel that is short enough to be written in line; None for others."""
    sizes = [loop.size for loop in (*kernel.outer, *kernel.inner)]
    if kernel.in_order or not all(isinstance(size, int) for size in sizes):
        return None
    steps = math.prod(int(size) for size in sizes if isinstance(size, int))
    if not 0 < steps <= limits.steps or steps * kernel.weight > limits.cost_of_kernel:
        return None
    longest = max((computing_cost(entry) for entry in kernel.entries.values()), default=0)
    return steps * kernel.weight if steps * longest <= limits.cost_of_one_op else None


def _is_handed(body: RegionPlan, op: Op, number: int) -> bool:
    """Whether a routine reads or writes what a loop carries, which must be in memory then."""
    parameter = body.region.parameters[op.attributes["n_consts"] + number]
    held = {body.fusion.resolve(v) for v in (parameter, body.region.results[number])}
    values: list[Value] = [
        value
        for node in body.nodes
        if isinstance(node, OpaqueNode)
        for value in (*node.op.operands, *node.op.results)
    ]
    return any(body.fusion.resolve(value) in held for value in values)
