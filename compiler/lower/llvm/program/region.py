"""A region as code inside of a function: its nodes one after the other, control flow included.

Numbers (arrays of rank 0) are SSA values; arrays are pointers. Bodies of loops and branches are
written in place, so a loop over numbers keeps them in registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from weft.compiler.abi import CONSTANTS
from weft.compiler.ir import dims
from weft.compiler.ir.dims import Size
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.errors import LoweringError
from weft.compiler.ir.graph import Constant, Op, Value
from weft.compiler.ir.index.affine import row_major
from weft.compiler.ir.infer import describe
from weft.compiler.loops.arena import Buffer
from weft.compiler.loops.group import FusionGroup, Node, OpaqueNode, PiecewiseNode
from weft.compiler.loops.kernel import Kernel
from weft.compiler.loops.memory import Copy, RegionPlan
from weft.compiler.loops.schedule import Task
from weft.compiler.loops.workspace import call_sizes, measured_symbols
from weft.compiler.lower.llvm import routines, scalar
from weft.compiler.lower.llvm.emit.arrays import Array, Element, Env, Follower, Part, packed
from weft.compiler.lower.llvm.emit.dimensions import Sizes, names
from weft.compiler.lower.llvm.emit.function import Function, Operand, V
from weft.compiler.lower.llvm.emit.scratch import Scratch
from weft.compiler.lower.llvm.emit.types import I64, PTR, VOID, of_dtype
from weft.compiler.lower.llvm.kernels import inline_kernel
from weft.compiler.lower.llvm.kernels.inline_kernel import InPlace
from weft.compiler.lower.llvm.kernels.kernel import KernelCode
from weft.compiler.lower.llvm.kernels.values import Values
from weft.compiler.record import record

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
        assert program.program.kernels is not None
        self.built = program.program.kernels

    def nested(self, plan: RegionPlan, frame: V) -> RegionCode:
        """The code of a region inside of this one."""
        sizes = Sizes(self.f, self.sizes.symbols)
        return RegionCode(self.program, plan, self.f, self.run, sizes, frame, self.scratch)

    def elsewhere(
        self, f: Function, run: V, sizes: Sizes, frame: V, scratch: Scratch
    ) -> RegionCode:
        """Code of this region that lies in another function."""
        return RegionCode(self.program, self.plan, f, run, sizes, frame, scratch)

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
        results = [
            self._result(number, result) for number, result in enumerate(self.plan.region.results)
        ]
        for pointer in self.heap:
            self.env.free(self.f, pointer)
        return results

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
                made = self.env.workspace(f, self.sizes.operand(buffer.bytes))
                self.heap.append(made)
                return made
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
        made = self.env.workspace(self.f, self.sizes.operand(buffer.bytes))
        self.f.store(made, self.f.element(self.late_results, I64, buffer.number))
        return made

    def array(self, value: Value) -> Array:
        """An operand or result of a routine."""
        f = self.f
        if not value.type.rank and not isinstance(value, Constant) and value in self.slots:
            return Array(self.slots[value], value.type.dtype, (), ())
        if not value.type.rank:
            slot = self.slot(value.type.dtype)
            self.store_number(self.number(value), slot)
            return Array(slot, value.type.dtype, (), ())
        layout = self.plan.operand_layout(value)
        assert isinstance(layout.storage, Buffer)
        shape = tuple(self.sizes.operand(size) for size in value.type.shape)
        strides = tuple(self.sizes.operand(stride) for stride in layout.strides)
        base = Array(self.pointer(layout.storage), value.type.dtype, shape, strides)
        return base if layout.offset == 0 else base.moved(f, self.sizes.operand(layout.offset))

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
        self._call_kernel(kernel)
        for target in numbers:
            self.numbers[target] = self.load_number(self.slots[target], target.type.dtype)

    def _kernel(self, kernel: Kernel) -> None:
        if kernel in self.schedule.inlined:
            self._write_inline(kernel)
        else:
            self._call_kernel(kernel)

    def _write_inline(self, kernel: Kernel) -> None:
        """Write a kernel where it stands."""
        pointers = [
            V(self.f, "null", PTR)
            if isinstance(storage, tuple)
            else self._array_pointer(kernel, number)
            for number, (storage, _) in enumerate(kernel.arrays)
        ]
        arguments = [self.number(value) for value in kernel.arguments]
        values = Values(self.f, self.env, self.sizes, pointers, arguments)
        self.numbers.update(InPlace(kernel, values).emit())

    def _storage_pointer(self, storage: object) -> V:
        if isinstance(storage, Buffer):
            return self.pointer(storage)
        assert isinstance(storage, tuple)
        return self.slots[storage[1]]

    def _array_pointer(self, kernel: Kernel, number: int) -> V:
        """Where the positions of a kernel's array begin."""
        pointer = self._storage_pointer(kernel.arrays[number][0])
        offset = kernel.offsets[number] if kernel.offsets else 0
        return self.f.offset(pointer, offset) if offset else pointer

    def _call_kernel(self, kernel: Kernel) -> None:
        """Call a kernel."""
        code = self.program.kernel(self.schedule.case_of[kernel])
        scratch = [self.scratch.record] if code.has_memory else []
        self.f.call(f"{code.name}.run", VOID, [self.run, *self._passed(kernel, code), *scratch])
        if code.takes_memory:
            self.env.leave_without_memory(self.f)

    def _passed(self, kernel: Kernel, code: KernelCode) -> list[V]:
        """What a kernel is given, whose code may have been written for an equal one."""
        passed = [self._array_pointer(kernel, number) for number in range(len(kernel.arrays))]
        for value in kernel.arguments:
            element = self.number(value)
            passed += element if isinstance(element, tuple) else (element,)
        return passed + [self.sizes.symbols[name] for name in code.parameters.symbols]

    # --- consumers of rows ---

    def _consumer(self, node: OpaqueNode, lent: list[V]) -> Follower | None:
        """What goes on with the rows of a product, if something does: one task, or several one
        after the other. What they work in is added to what is `lent`.
        """
        chain = self.schedule.chains.get(node)
        if chain is None:
            return None
        tasks = [self._task(task, chain.rows, lent) for task in chain.tasks]
        return replace(self._one_task(tasks), parts=chain.parts)

    def _task(self, task: Task, rows: Size, lent: list[V]) -> Follower:
        if task.kernel is None:
            assert isinstance(task.node, OpaqueNode)
            return self._routine_task(task.node, rows)
        assert task.case is not None
        code = self.program.kernel(task.case)
        passed = self._passed(task.kernel, code)
        slots = code.slots(self.f, self.planned, self.sizes, None)
        if slots is not None:
            lent.append(slots.flags)
            passed += slots.values
        name = code.emit_consumer(passed, dims.product(loop.size for loop in task.rows))
        return Follower(V(self.f, f"@{name}", PTR), packed(self.f, passed))

    def _routine_task(self, node: OpaqueNode, rows: Size) -> Follower:
        """A routine as a task, for as many rows as it is told."""
        op = node.op
        call = self._routine_call(op)
        pointers = [self.array(value).pointer for value in (*op.operands, *op.results)]
        passed = [*pointers, *[self.sizes.symbols[symbol] for symbol in call.symbols]]
        name = self._defined(f"{call.key} rows of {rows}", call, rows=rows)
        return Follower(V(self.f, f"@{name}", PTR), packed(self.f, passed))

    def _one_task(self, tasks: Sequence[Follower]) -> Follower:
        """Tasks that are called one after the other, as one."""
        if len(tasks) == 1:
            return tasks[0]
        name = f"chain{len(self.program.chains)}"
        key = tuple(task.task.ref for task in tasks)
        if key in self.program.chains:
            name = self.program.chains[key]
        else:
            self.program.chains[key] = name
            parameters = [("run", PTR), ("data", PTR), ("begin", I64), ("end", I64)]
            g = self.program.module.function(name, VOID, parameters, internal=True, glue=True)
            run, data, begin, end = g.arguments
            for number, task in enumerate(tasks):
                own = g.load(g.element(data, I64, number), PTR)
                g.call(task.task.ref.removeprefix("@"), VOID, [run, own, begin, end])
            g.ret()
        data = packed(self.f, [task.data for task in tasks])
        return Follower(V(self.f, f"@{name}", PTR), data)

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
        if not routines.has_routine(op.name):
            error = LoweringError("it has neither a routine nor an index map", op)
            raise error.at(op.location, describe(op.definition, op.operands))
        if not op.results:
            return
        operands = [self.array(operand) for operand in op.operands]
        for result in op.results:
            if not result.type.rank:
                self.slots[result] = self.slot(result.type.dtype)
        results = [self.array(result) for result in op.results]
        lent: list[V] = []
        self._call_routine(node, operands, results, self._consumer(node, lent))
        for memory in reversed(lent):
            self.planned.free(self.f, memory)
        for result in op.results:
            if not result.type.rank:
                self.numbers[result] = self.load_number(self.slots[result], result.type.dtype)

    def _call_routine(
        self,
        node: OpaqueNode,
        operands: list[Array],
        results: list[Array],
        follower: Follower | None,
    ) -> None:
        """Call a routine that is a function of its own; equal ones are written once."""
        op = node.op
        call = self._routine_call(op)
        parts = 0 if follower is None else follower.parts
        is_planned = node in self.schedule.workspace
        name = self._called(call, parts, is_planned=is_planned)
        pointers = [array.pointer for array in (*operands, *results)]
        pointers += [self.scratch.record] if is_planned else []
        if follower is not None:
            pointers += [follower.task, follower.data]
        passed = [self.run, *pointers, *[self.sizes.symbols[symbol] for symbol in call.symbols]]
        self.program.ways[op] = self.program.notes[name]
        self.f.call(name, VOID, passed)
        self.env.leave_without_memory(self.f)

    def measured_sizes(self, threads: Operand) -> dict[str, V]:
        """The values of the sizes that routines find out, those inside of control flow too, where
        so many threads may be at work.
        """
        found: dict[str, V] = {}
        for node in self.plan.nodes:
            symbols = measured_symbols(self.schedule.workspace.get(node, 0))
            if not isinstance(node, OpaqueNode) or all(name in found for name in symbols):
                continue
            if node.op not in self.plan.controls:
                (name,) = symbols
                found[name] = self._measure(node, threads)
                continue
            for body in self.plan.controls[node.op].bodies:
                at_once = node.op in self.schedule.parallel
                found |= self.nested(body, self.frame).measured_sizes(1 if at_once else threads)
        return found

    def _measure(self, node: OpaqueNode, threads: Operand) -> V:
        """How many bytes an op's routine works in that finds this out when it runs: it is called
        without arrays, and only measures.
        """
        f, call, nothing = self.f, self._routine_call(node.op), self.f.const(0, PTR)
        chain = self.schedule.chains.get(node)
        parts = 0 if chain is None else chain.parts
        name = self._called(call, parts, is_planned=True)
        scratch = Scratch.measuring(f, threads)
        follower = [nothing, nothing] if parts else []
        pointers = [*[nothing] * len(call.values), scratch.record, *follower]
        f.call(name, VOID, [self.run, *pointers, *[self.sizes.symbols[s] for s in call.symbols]])
        return scratch.measured(f)

    def _called(self, call: _RoutineCall, parts: int, *, is_planned: bool) -> str:
        """The function of a routine, whose rows have parts if it is followed."""
        key = f"{call.key} followed in {parts}" if parts else call.key
        key = f"{key} planned" if is_planned else key
        return self._defined(key, call, parts=parts, is_planned=is_planned)

    def _routine_call(self, op: Op) -> _RoutineCall:
        layouts = [self.plan.operand_layout(v) if v.type.rank else None for v in op.operands]
        strides = [() if layout is None else layout.strides for layout in layouts]
        symbols = names(call_sizes(op, strides))
        return _RoutineCall(op, strides, symbols, _routine_key(op, strides))

    def _defined(
        self,
        key: str,
        call: _RoutineCall,
        *,
        parts: int = 0,
        is_planned: bool = False,
        rows: Size | None = None,
    ) -> str:
        """The function of a routine, which is written where it is first asked for: (run, pointers,
        symbols), or (run, data, begin, end) for some of so many rows.
        """
        if key not in self.program.routines:
            name = f"{call.op.name}{len(self.program.routines)}"
            self.program.routines[key] = name
            if rows is None:
                self._define_routine(name, call, parts, is_planned=is_planned)
            else:
                self._define_rows(name, call, rows)
        return self.program.routines[key]

    def _define_routine(
        self, name: str, call: _RoutineCall, parts: int, *, is_planned: bool
    ) -> None:
        """One that is followed, if each of its rows has parts; a planned one is given memory."""
        pointers = [f"p{n}" for n in range(len(call.values))]
        pointers += ["scratch"] if is_planned else []
        pointers += ["task", "data"] if parts else []
        parameters = [("run", PTR), *[(pointer, PTR) for pointer in pointers]]
        parameters += [(f"s.{symbol}", I64) for symbol in call.symbols]
        f = self.program.module.function(name, VOID, parameters, internal=True, glue=True)
        run, *rest = f.arguments
        sizes = Sizes(f, dict(zip(call.symbols, rest[len(pointers) :], strict=True)))
        given, more = rest[: len(call.values)], rest[len(call.values) : len(pointers)]
        scratch = Scratch(more.pop(0)) if is_planned else None
        follower = Follower(more[0], more[1], parts=parts) if parts else None
        self._write_routine(f, run, name, call, given, sizes, follower=follower, scratch=scratch)
        # What LLVM contracts in it must not depend on how long the module is, see `settle`.
        f.is_glue = not f.has_arithmetic

    def _define_rows(self, name: str, call: _RoutineCall, rows: Size) -> None:
        parameters = [("run", PTR), ("data", PTR), ("begin", I64), ("end", I64)]
        f = self.program.module.function(name, VOID, parameters, internal=True)
        run, data, begin, end = f.arguments
        count = len(call.values)
        words = [
            f.load(f.element(data, I64, number), PTR if number < count else I64)
            for number in range(count + len(call.symbols))
        ]
        sizes = Sizes(f, dict(zip(call.symbols, words[count:], strict=True)))
        part = Part(begin, end, sizes.operand(rows))
        self._write_routine(f, run, name, call, words[:count], sizes, part=part)

    def _write_routine(
        self,
        f: Function,
        run: V,
        name: str,
        call: _RoutineCall,
        pointers: Sequence[V],
        sizes: Sizes,
        *,
        follower: Follower | None = None,
        part: Part | None = None,
        scratch: Scratch | None = None,
    ) -> None:
        program, op = self.program, call.op
        env = Env(
            program.module,
            run,
            name,
            program.sites,
            sizes.operand,
            follower,
            program.products,
            part,
            scratch,
        )
        arrays = []
        for number, value in enumerate(call.values):
            shape = tuple(sizes.operand(size) for size in value.type.shape)
            is_operand = number < len(call.strides)
            steps = call.strides[number] if is_operand else row_major(value.type.shape)
            held = tuple(sizes.operand(step) for step in steps)
            arrays.append(Array(pointers[number], value.type.dtype, shape, held))
        count = len(op.operands)
        routines.routine(op.name)(f, env, op, arrays[:count], arrays[count:])
        program.notes[name] = ", ".join(dict.fromkeys(env.notes))
        f.ret()


@record
class _RoutineCall:
    """A routine's op, how its operands lie, and the symbols that it is told; equal keys are equal
    code.
    """

    op: Op
    strides: Sequence[tuple[Size, ...]]
    symbols: list[str]
    key: str

    @property
    def values(self) -> tuple[Value, ...]:
        return (*self.op.operands, *self.op.results)


def _routine_key(op: Op, strides: Sequence[tuple[Size, ...]]) -> str:
    kinds = op.definition.attributes
    attributes = [f"{name}={kinds[name].format(value)}" for name, value in op.attributes.items()]
    types = [str(value.type) for value in (*op.operands, *op.results)]
    return f"{op.name} {attributes} {types} {strides}"
