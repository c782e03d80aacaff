"""A region as code inside of a function: its nodes one after the other, control flow included.

Numbers (arrays of rank 0) are SSA values; arrays are pointers. Bodies of loops and branches are
written in place, so a loop over numbers keeps them in registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from weft.compiler.abi import CONSTANTS
from weft.compiler.ir.dims import Size
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.graph import Constant, Op, Value
from weft.compiler.loops.arena import Buffer
from weft.compiler.loops.group import FusionGroup, Node, OpaqueNode, PiecewiseNode
from weft.compiler.loops.kernel import Kernel
from weft.compiler.loops.memory import Copy, RegionPlan
from weft.compiler.loops.polling import MUCH
from weft.compiler.loops.workspace import measured_symbols
from weft.compiler.lower.llvm import scalar
from weft.compiler.lower.llvm.emit import workspace
from weft.compiler.lower.llvm.emit.arrays import Array, Element, Env
from weft.compiler.lower.llvm.emit.blocks import flagged
from weft.compiler.lower.llvm.emit.dimensions import Sizes
from weft.compiler.lower.llvm.emit.function import Function, V
from weft.compiler.lower.llvm.emit.function import Operand as ValueOperand
from weft.compiler.lower.llvm.emit.scratch import Scratch
from weft.compiler.lower.llvm.emit.types import I64, PTR, VOID, of_dtype
from weft.compiler.lower.llvm.kernels import inline_kernel
from weft.compiler.lower.llvm.kernels.inline_kernel import InPlace
from weft.compiler.lower.llvm.kernels.values import Values
from weft.compiler.lower.llvm.program.calls import (
    ArrayAt,
    NumberAt,
    Operand,
    PassedNumber,
    PlannedCall,
    PlannedCalls,
    SymbolValue,
)

if TYPE_CHECKING:
    from weft.compiler.lower.llvm.program.module import ProgramCode


class RegionCode:
    """Writes one region into a function."""

    def __init__(
        self,
        program: ProgramCode,
        plan: RegionPlan,
        f: Function,
        run: V,
        sizes: Sizes,
        frame: V,
        scratch: Scratch,
    ) -> None:
        """`frame` is the memory of its arrays, `scratch` what its nodes work in, in turn."""
        self.program = program
        self.plan = plan
        self.f = f
        self.run = run
        self.sizes = sizes
        self.frame = frame
        self.scratch = scratch
        self.env = Env(program.module, run, "entry", program.sites)
        self.planned = Env(program.module, run, "entry", program.sites, scratch=scratch)
        self.numbers: dict[Value, Element] = {}
        self.pointers: dict[Buffer, V] = {}
        self.slots: dict[Value, V] = {}
        self.heap: list[V] = []
        self.late_results: V | None = None
        self.schedule = program.schedule
        self.calls = PlannedCalls(program, plan)
        self.is_outermost = True
        self.serial: frozenset[Value] = frozenset()  # see `serial_sums`
        self.built = self.calls.built

    def nested(self, plan: RegionPlan, frame: V) -> RegionCode:
        """The code of a region inside of this one."""
        sizes = Sizes(self.f, self.sizes.symbols)
        code = RegionCode(self.program, plan, self.f, self.run, sizes, frame, self.scratch)
        code.is_outermost = False
        return code

    def elsewhere(
        self, f: Function, run: V, sizes: Sizes, frame: V, scratch: Scratch
    ) -> RegionCode:
        """Code of this region that lies in another function."""
        code = RegionCode(self.program, self.plan, f, run, sizes, frame, scratch)
        code.is_outermost = False
        return code

    # --- the whole region ---

    def emit(
        self, given: Sequence[V | Element], targets: Sequence[V | None]
    ) -> list[Element | None]:
        """Write the region. `given` has a number or a pointer per parameter (a pointer to a number
        is loaded); `targets` says where arrays go. Returns the results that are numbers.
        """
        self.targets = list(targets)
        for parameter, value in zip(self.plan.region.parameters, given, strict=True):
            self._bind(parameter, value)
        for node in self.plan.nodes:
            with self.program.clock(self.f, node):
                self._node(node)
            self.ask(node)
        results = [
            self._result(number, result) for number, result in enumerate(self.plan.region.results)
        ]
        for pointer in self.heap:
            self.env.free(self.f, pointer)
        return results

    def ask(self, node: Node) -> None:
        """Ask the runtime after a node whether to stop, if the schedule says so. Control flow may
        have been told. Loops in which this region is end by themselves.
        """
        polls = self.schedule.polls
        if node in polls:
            self.poll(polls[node])
        is_control = isinstance(node, OpaqueNode) and node.op in self.plan.controls
        is_control &= node is not self.plan.nodes[-1]  # else the program ends here anyway
        if self.is_outermost and (node in polls or is_control):
            workspace.leave_if_stopped(self.f, self.run)

    def poll(self, work: Size) -> None:
        """Ask the runtime whether to stop, after so much work."""
        f, name = self.f, self.program.poll()
        if isinstance(work, int):
            f.call(name, VOID, [self.run])
            return
        with f.when(self.sizes.value(work).gt(MUCH)):
            f.call(name, VOID, [self.run])

    def _bind(self, parameter: Value, value: V | Element) -> None:
        if parameter.type.rank:
            assert isinstance(value, V)
            self.pointers[self.plan.holders[parameter]] = value
        elif isinstance(value, V) and value.type is PTR:
            self.numbers[parameter] = self.load_number(value, parameter.type.dtype)
        else:
            self.numbers[parameter] = value

    def _result(self, number: int, result: Value) -> Element | None:
        if not result.type.rank:
            return self.number(result)
        self.copy("result", number)
        return None

    def _node(self, node: Node) -> None:
        match node:
            case FusionGroup() | OpaqueNode() if node in self.schedule.by_rows:
                return
            case FusionGroup():
                self._group(node)
            case PiecewiseNode():
                self._piecewise(node)
            case OpaqueNode():
                self._opaque(node)

    # --- numbers ---

    def number(self, value: Value) -> Element:
        """The value of an array of rank 0."""
        if isinstance(value, Constant):
            return scalar.constant(self.f, value.array[()], value.type.dtype, 0)
        return self.numbers[value]

    def load_number(self, pointer: V, dtype: DType) -> Element:
        return Array(pointer, dtype, (), ()).load(self.f, 0)

    def store_number(self, element: Element, pointer: V) -> None:
        first = element[0] if isinstance(element, tuple) else element
        if isinstance(element, tuple):
            self.f.store(element[0], pointer)
            self.f.store(element[1], self.f.element(pointer, first.type, 1))
        else:
            self.f.store(element, pointer)

    def slot(self, dtype: DType) -> V:
        """Memory of a number on the stack."""
        count = 2 if dtype.is_complex else 1
        return self.f.stack(of_dtype(dtype), count, align=16)

    # --- arrays ---

    def pointer(self, buffer: Buffer) -> V:
        """The start of a buffer's memory."""
        if buffer not in self.pointers:
            self.pointers[buffer] = self._new_pointer(buffer)
        return self.pointers[buffer]

    def _new_pointer(self, buffer: Buffer) -> V:
        f = self.f
        match buffer.kind:
            case "temporary":
                if buffer in self.schedule.stack:
                    return inline_kernel.on_stack(f)
                return f.offset(self.frame, self.sizes.operand(buffer.offset))
            case "constant":
                assert isinstance(buffer.value, Constant)
                return self._constant_pointer(buffer.value)
            case "result":
                target = self._target(buffer.number)
                return target if target is not None else self._late_result(buffer)
            case "late":
                result = self.env.workspace(f, self.sizes.operand(buffer.bytes))
                self.heap.append(result)
                return result
        raise AssertionError(f"a {buffer.kind} has no memory yet")

    def _target(self, number: int) -> V | None:
        """Where an array goes that is a result; None if it is to be made when its size is known."""
        return self.targets[number]

    def _constant_pointer(self, value: Constant) -> V:
        """The address of a constant, from the table that the runtime links in."""
        self.program.module.external(CONSTANTS)
        number = self.program.constant(value)
        address = self.f.at_entry(
            f"getelementptr inbounds i64, ptr @{CONSTANTS}, i64 {number}", PTR
        )
        return self.f.at_entry(f"load ptr, ptr {address.ref}, align 8", PTR)

    def _late_result(self, buffer: Buffer) -> V:
        """Memory of a result whose size was not known before: the caller frees it."""
        assert self.late_results is not None
        result = self.env.workspace(self.f, self.sizes.operand(buffer.bytes))
        self.f.store(result, self.f.element(self.late_results, I64, buffer.number))
        return result

    def row_major(self, value: Value) -> V:
        """The pointer to the elements of an array that is row-major."""
        layout = self.plan.layout(value)
        assert isinstance(layout.storage, Buffer)
        return self.pointer(layout.storage)

    def packed_operand(self, op: Op, value: Value) -> V:
        """The pointer to an operand in row-major order, copied where it is not."""
        copy = self.copy("operand", op, value)
        if copy is None:
            return self.row_major(value)
        assert isinstance(copy.target.storage, Buffer)
        return self.pointer(copy.target.storage)

    def copy(self, *purpose: object) -> Copy | None:
        """Copy what the plan wants copied for a purpose, if it does."""
        copy = self.plan.copies.get(purpose)
        if copy is not None:
            self._kernel(self.built.of_copy[copy])
        return copy

    # --- groups ---

    def _group(self, group: FusionGroup) -> None:
        kernel = self.built.of_group[group]
        if kernel in self.schedule.inlined:
            self._write_inline(kernel)
            return
        numbers = [target for target in group.targets if not target.type.rank]
        for target in numbers:
            self.slots[target] = self.slot(target.type.dtype)
        self._run(self.calls.of_kernel(kernel))
        for target in numbers:
            self.numbers[target] = self.load_number(self.slots[target], target.type.dtype)

    def _kernel(self, kernel: Kernel) -> None:
        if kernel in self.schedule.inlined:
            self._write_inline(kernel)
        else:
            self._run(self.calls.of_kernel(kernel))

    def _write_inline(self, kernel: Kernel) -> None:
        """Write a kernel where it stands."""
        pointers = [
            V(self.f, "null", PTR)
            if isinstance(storage, tuple)
            else self._array_pointer(kernel, number)
            for number, (storage, _) in enumerate(kernel.arrays)
        ]
        arguments = [self.number(value) for value in kernel.arguments]
        constant = {
            number
            for number, (storage, _) in enumerate(kernel.arrays)
            if isinstance(storage, Buffer) and self.pointer(storage) in self.program.read_only
        }
        values = Values(self.f, self.env, self.sizes, pointers, arguments, constant)
        made = [storage[1] for storage, _ in kernel.arrays if isinstance(storage, tuple)]
        with flagged(self.f, "" if made and self.serial.issuperset(made) else self.f.flags):
            self.numbers.update(InPlace(kernel, values).emit())

    def _array_pointer(self, kernel: Kernel, number: int) -> V:
        """Where the positions of a kernel's array begin, which lie in a buffer."""
        storage = kernel.arrays[number][0]
        assert isinstance(storage, Buffer)
        return self._address(ArrayAt(storage, kernel.offsets[number] if kernel.offsets else 0))

    # --- calls ---

    def _run(self, call: PlannedCall) -> None:
        """Write a call where it stands."""
        values = [value for operand in call.operands for value in self._values(operand)]
        call.write(self, values)

    def _values(self, operand: Operand) -> Sequence[V]:
        match operand:
            case ArrayAt():
                return (self._address(operand),)
            case NumberAt():
                return (self.number_address(operand.value),)
            case PassedNumber():
                element = self.number(operand.value)
                return element if isinstance(element, tuple) else (element,)
            case SymbolValue():
                return (self.sizes.symbols[operand.name],)

    def _address(self, array: ArrayAt) -> V:
        pointer = self.pointer(array.buffer)
        offset = self.sizes.operand(array.offset)
        return self.f.offset(pointer, offset) if isinstance(offset, V) or offset else pointer

    def number_address(self, value: Value) -> V:
        """Where a number is that is passed by its address."""
        if not isinstance(value, Constant) and value in self.slots:
            return self.slots[value]
        slot = self.slot(value.type.dtype)
        self.store_number(self.number(value), slot)
        return slot

    # --- memory that routines measure ---

    def measured_sizes(self, threads: ValueOperand) -> dict[str, V]:
        """The values of the sizes that routines find out, those inside of control flow too, where
        so many threads may be at work.
        """
        sizes: dict[str, V] = {}
        for node in self.plan.nodes:
            symbols = measured_symbols(self.schedule.workspace.get(node, 0))
            if not isinstance(node, OpaqueNode) or all(name in sizes for name in symbols):
                continue
            if node.op not in self.plan.controls:
                (name,) = symbols
                sizes[name] = self._measure(node, threads)
                continue
            for body in self.plan.controls[node.op].bodies:
                at_once = node.op in self.schedule.parallel
                sizes |= self.nested(body, self.frame).measured_sizes(1 if at_once else threads)
        return sizes

    def _measure(self, node: OpaqueNode, threads: ValueOperand) -> V:
        """How many bytes an op's routine works in that finds this out when it runs: it is called
        without arrays, and only measures.
        """
        f, nothing = self.f, self.f.const(0, PTR)
        functions = self.calls.functions
        call = functions.call_of(self.plan, node.op)
        chain = self.schedule.chains.get(node)
        parts = 0 if chain is None else chain.parts
        name = functions.function(call, parts=parts, is_planned=True)
        scratch = Scratch.measuring(f, threads)
        follower = [nothing, nothing] if parts else []
        pointers = [*[nothing] * len(call.values), scratch.record, *follower]
        f.call(name, VOID, [self.run, *pointers, *[self.sizes.symbols[s] for s in call.symbols]])
        return scratch.measured(f)

    def _piecewise(self, node: PiecewiseNode) -> None:
        self.copy("base", node)
        for group in node.groups:
            self._group(group)

    # --- ops that are nodes of their own ---

    def _opaque(self, node: OpaqueNode) -> None:
        from weft.compiler.lower.llvm.program import control

        op = node.op
        if op.name in control.CONTROL:
            control.CONTROL[op.name](self, op)
            return
        if not op.results:
            return
        for result in op.results:
            if not result.type.rank:
                self.slots[result] = self.slot(result.type.dtype)
        self._run(self.calls.of_routine(node))
        for result in op.results:
            if not result.type.rank:
                self.numbers[result] = self.load_number(self.slots[result], result.type.dtype)
