"""Calls of kernels and routines as data: which code, and what it is given.

Nodes with equal keys run the same code on other operands. A call is written where its operands are
values (`RegionCode`), or once for all of its kind, with operands from a table (`call_table`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from weft.compiler.ir import dims
from weft.compiler.ir.dims import Size
from weft.compiler.ir.errors import LoweringError
from weft.compiler.ir.graph import Value
from weft.compiler.ir.infer import describe
from weft.compiler.loops.arena import Buffer
from weft.compiler.loops.group import FusionGroup, Node, OpaqueNode, PiecewiseNode
from weft.compiler.loops.kernel import Kernel
from weft.compiler.loops.memory import RegionPlan
from weft.compiler.loops.schedule import Task
from weft.compiler.lower.llvm import routines
from weft.compiler.lower.llvm.emit.arrays import FusedConsumer, packed
from weft.compiler.lower.llvm.emit.function import V
from weft.compiler.lower.llvm.emit.types import I64, PTR, VOID
from weft.compiler.lower.llvm.kernels.kernel import KernelCode
from weft.compiler.lower.llvm.program.routine_functions import RoutineCall, RoutineFunctions
from weft.compiler.record import record

if TYPE_CHECKING:
    from weft.compiler.lower.llvm.program.module import ProgramCode
    from weft.compiler.lower.llvm.program.region import RegionCode


@record
class ArrayAt:
    """The address of an array: a buffer, and how many bytes it is behind the buffer's start."""

    buffer: Buffer
    offset: Size


@record
class NumberAt:
    """The address of a number."""

    value: Value


@record
class PassedNumber:
    """A number, in one value or, if it is complex, in two."""

    value: Value


@record
class SymbolValue:
    """The value of a symbol."""

    name: str


Operand: TypeAlias = ArrayAt | NumberAt | PassedNumber | SymbolValue


@dataclass(eq=False, slots=True)
class PlannedCall:
    """A call: `write` writes it into the function of a region's code, given the operands' values.
    Calls with equal keys are written alike.
    """

    key: Hashable
    operands: list[Operand]
    write: Callable[[RegionCode, Sequence[V]], None]


@dataclass(eq=False, slots=True)
class _TaskCall:
    """A task that consumes rows: `start` gives the task with its data, and notes what it lends."""

    key: Hashable
    operands: list[Operand]
    start: Callable[[RegionCode, Sequence[V], list[V]], FusedConsumer]


class PlannedCalls:
    """The calls of a region's nodes."""

    def __init__(self, program: ProgramCode, plan: RegionPlan) -> None:
        self.program = program
        self.plan = plan
        self.schedule = program.schedule
        assert program.program.kernels is not None
        self.built = program.program.kernels
        self.functions = RoutineFunctions(program)

    def of_node(self, node: Node) -> list[PlannedCall]:
        """The calls that a node is made of; none if it is more than calls."""
        match node:
            case FusionGroup():
                return self._of_groups([node])
            case PiecewiseNode() if ("base", node) not in self.plan.copies:
                return self._of_groups(node.groups)
            case OpaqueNode() if not node.op.regions and node.op.results:
                return [self.of_routine(node)] if routines.has_routine(node.op.name) else []
        return []

    def _of_groups(self, groups: Sequence[FusionGroup]) -> list[PlannedCall]:
        kernels = [self.built.of_group[group] for group in groups]
        if any(kernel in self.schedule.inlined for kernel in kernels):
            return []
        return [self.of_kernel(kernel) for kernel in kernels]

    # --- kernels ---

    def of_kernel(self, kernel: Kernel) -> PlannedCall:
        """The call of a kernel."""
        code = self.program.kernel(self.schedule.case_of[kernel])

        def write(region: RegionCode, values: Sequence[V]) -> None:
            scratch = [region.scratch.record] if code.has_memory else []
            region.f.call(f"{code.name}.run", VOID, [region.run, *values, *scratch])
            if code.takes_memory:
                region.env.leave_without_memory(region.f)

        return PlannedCall(code.name, self._kernel_operands(kernel, code), write)

    def _kernel_operands(self, kernel: Kernel, code: KernelCode) -> list[Operand]:
        """What a kernel is given, whose code may have been written for an equal one."""
        operands: list[Operand] = []
        for number, (storage, _) in enumerate(kernel.arrays):
            if isinstance(storage, Buffer):
                operands.append(ArrayAt(storage, kernel.offsets[number] if kernel.offsets else 0))
            else:
                assert isinstance(storage, tuple)
                operands.append(NumberAt(storage[1]))
        operands += [PassedNumber(value) for value in kernel.arguments]
        return operands + [SymbolValue(name) for name in code.parameters.symbols]

    # --- routines ---

    def of_routine(self, node: OpaqueNode) -> PlannedCall:
        """The call of an op's routine, with what consumes its rows."""
        op = node.op
        if not routines.has_routine(op.name):
            error = LoweringError("it has neither a routine nor an index map", op)
            raise error.at(op.location, describe(op.definition, op.operands))
        call = self.functions.call_of(self.plan, op)
        chain = self.schedule.chains.get(node)
        tasks = [] if chain is None else [self._task(task, chain.rows) for task in chain.tasks]
        parts = 0 if chain is None else chain.parts
        is_planned = node in self.schedule.workspace
        name = self.functions.function(call, parts=parts, is_planned=is_planned)
        self.program.ways[op] = self.program.notes[name]
        own = self._routine_operands(call)
        count = len(call.values)

        def write(region: RegionCode, values: Sequence[V]) -> None:
            lent: list[V] = []
            given = list(values[: len(own)])
            pointers, symbols = given[:count], given[count:]
            pointers += [region.scratch.record] if is_planned else []
            follower = self._follower(region, tasks, values[len(own) :], lent)
            pointers += [] if follower is None else [follower.task, follower.data]
            region.f.call(name, VOID, [region.run, *pointers, *symbols])
            region.env.leave_without_memory(region.f)
            for memory in reversed(lent):
                region.planned.free(region.f, memory)

        operands = [*own, *[operand for task in tasks for operand in task.operands]]
        return PlannedCall((name, *[task.key for task in tasks]), operands, write)

    def _routine_operands(self, call: RoutineCall) -> list[Operand]:
        operands: list[Operand] = []
        for value in call.values:
            if not value.type.rank:
                operands.append(NumberAt(value))
                continue
            layout = self.plan.operand_layout(value)
            assert isinstance(layout.storage, Buffer)
            bytes = layout.offset * value.type.dtype.itemsize
            operands.append(ArrayAt(layout.storage, bytes))
        return operands + [SymbolValue(name) for name in call.symbols]

    # --- consumers of rows ---

    def _follower(
        self, region: RegionCode, tasks: Sequence[_TaskCall], values: Sequence[V], lent: list[V]
    ) -> FusedConsumer | None:
        """What goes on with the rows of a product, if something does: one task, or several one
        after the other. What they work in is added to what is `lent`.
        """
        if not tasks:
            return None
        given = iter(values)
        started = []
        for task in tasks:
            mine = [next(given) for operand in task.operands for _ in range(width(operand))]
            started.append(task.start(region, mine, lent))
        return self._one_task(region, started)

    def _task(self, task: Task, rows: Size) -> _TaskCall:
        if task.kernel is None:
            assert isinstance(task.node, OpaqueNode)
            return self._routine_task(task.node, rows)
        assert task.case is not None
        code = self.program.kernel(task.case)
        steps = dims.product(loop.size for loop in task.rows)

        def start(region: RegionCode, values: Sequence[V], lent: list[V]) -> FusedConsumer:
            passed = list(values)
            slots = code.slots(region.f, region.planned, region.sizes, None)
            if slots is not None:
                lent.append(slots.flags)
                passed += slots.values
            name = code.emit_consumer(passed, steps)
            return FusedConsumer(V(region.f, f"@{name}", PTR), packed(region.f, passed))

        return _TaskCall((code.name, steps), self._kernel_operands(task.kernel, code), start)

    def _routine_task(self, node: OpaqueNode, rows: Size) -> _TaskCall:
        """A routine as a task, for as many rows as it is told."""
        call = self.functions.call_of(self.plan, node.op)
        name = self.functions.function(call, rows=rows)

        def start(region: RegionCode, values: Sequence[V], lent: list[V]) -> FusedConsumer:
            return FusedConsumer(V(region.f, f"@{name}", PTR), packed(region.f, values))

        return _TaskCall(name, self._routine_operands(call), start)

    def _one_task(self, region: RegionCode, tasks: Sequence[FusedConsumer]) -> FusedConsumer:
        """Tasks that are called one after the other, as one."""
        if len(tasks) == 1:
            return tasks[0]
        chains = self.program.chains
        key = tuple(task.task.ref for task in tasks)
        if key not in chains:
            chains[key] = name = f"chain{len(chains)}"
            parameters = [("run", PTR), ("data", PTR), ("begin", I64), ("end", I64)]
            g = self.program.module.function(name, VOID, parameters, internal=True, glue=True)
            run, data, begin, end = g.arguments
            for number, task in enumerate(tasks):
                own = g.load(g.element(data, I64, number), PTR)
                g.call(task.task.ref.removeprefix("@"), VOID, [run, own, begin, end])
            g.ret()
        data = packed(region.f, [task.data for task in tasks])
        return replace(tasks[0], task=V(region.f, f"@{chains[key]}", PTR), data=data)


def width(operand: Operand) -> int:
    """How many values an operand has."""
    return 2 if isinstance(operand, PassedNumber) and operand.value.type.dtype.is_complex else 1


def numbers_of(operands: Sequence[Operand]) -> Iterator[Value]:
    """The numbers among operands, by address or by value."""
    for operand in operands:
        if isinstance(operand, NumberAt | PassedNumber):
            yield operand.value
