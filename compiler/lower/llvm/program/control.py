"""Control flow as code: loops and branches around the code of their regions, calls to the host."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from weft.compiler.abi import Run
from weft.compiler.ir import dims
from weft.compiler.ir.alignment import aligned
from weft.compiler.ir.graph import Op, Value
from weft.compiler.loops.counters import counted_up, counters_of
from weft.compiler.loops.estimates import bytes_of
from weft.compiler.loops.memory import ControlPlan
from weft.compiler.loops.recurrences import serial_sums
from weft.compiler.loops.workspace import largest
from weft.compiler.lower.llvm.emit import workspace
from weft.compiler.lower.llvm.emit.arrays import Element, plus, times
from weft.compiler.lower.llvm.emit.dimensions import Sizes
from weft.compiler.lower.llvm.emit.function import Function, Operand, V, Variable
from weft.compiler.lower.llvm.emit.scratch import Scratch, Slots
from weft.compiler.lower.llvm.emit.types import I64, PTR, VOID, Type, of_dtype
from weft.compiler.lower.llvm.kernels import inline_kernel
from weft.compiler.lower.llvm.program import stepping
from weft.compiler.lower.llvm.scalar import conversion
from weft.compiler.ops.counters import ArrayCounter

if TYPE_CHECKING:
    from weft.compiler.lower.llvm.program.region import RegionCode


class _Number:
    """A number that a loop carries: a variable, or two for a complex one."""

    def __init__(self, f: Function, value: Value, start: Element) -> None:
        parts = start if isinstance(start, tuple) else (start,)
        self.variables = [f.variable(part, of_dtype(value.type.dtype)) for part in parts]

    def get(self) -> Element:
        parts = [variable.get() for variable in self.variables]
        return (parts[0], parts[1]) if len(parts) == 2 else parts[0]

    def set(self, element: Element) -> None:
        parts = element if isinstance(element, tuple) else (element,)
        for variable, part in zip(self.variables, parts, strict=True):
            variable.set(part)


class _Array:
    """An array that a loop carries: where it is now, and where the next one goes."""

    def __init__(self, f: Function, home: V, spare: V | None) -> None:
        self.f = f
        self.home = home
        self.now = f.variable(home)
        self.then: Variable | None = None if spare is None else f.variable(spare)

    def get(self) -> V:
        return self.now.get()

    def target(self) -> V:
        return self.now.get() if self.then is None else self.then.get()

    def advance(self) -> None:
        if self.then is not None:
            old, new = self.now.get(), self.then.get()
            self.now.set(new)
            self.then.set(old)

    def settle(self, bytes: Operand) -> None:
        """Bring the last one home."""
        f = self.f
        now = self.now.get()
        with f.when(now.ne(self.home)):
            copy_bytes(f, self.home, now, bytes)


class _Small(_Array):
    """A small array that a loop carries, on the stack: the next one always goes to the same place,
    so that LLVM may hold both in registers.
    """

    def __init__(self, f: Function, home: V, bytes: Operand, *, is_changed: bool) -> None:
        super().__init__(f, home, None)
        self.bytes = bytes
        self.held = inline_kernel.on_stack(f)
        self.next = self.held if is_changed else inline_kernel.on_stack(f)
        copy_bytes(f, self.held, home, bytes)

    def get(self) -> V:
        return self.held

    def target(self) -> V:
        return self.next

    def advance(self) -> None:
        if self.next is not self.held:
            copy_bytes(self.f, self.held, self.next, self.bytes)

    def settle(self, bytes: Operand) -> None:
        copy_bytes(self.f, self.home, self.held, bytes)


def copy_bytes(f: Function, target: V, source: V, bytes: Operand) -> None:
    size = f.const(bytes, I64)
    f.line(
        f"call void @llvm.memcpy.p0.p0.i64(ptr {target.ref}, ptr {source.ref}, i64 {size.ref}, "
        "i1 false)"
    )
    f.module.declare_text(
        "llvm.memcpy.p0.p0.i64", "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1 immarg)"
    )


Carry = _Number | _Array


def _frame(code: RegionCode, plan: ControlPlan) -> V:
    """The memory of a control-flow op."""
    return code.frame if plan.buffer is None else code.pointer(plan.buffer)


def _carries(
    code: RegionCode, plan: ControlPlan, op: Op, operands: Sequence[Value], memory: V
) -> list[Carry]:
    """The carry of a loop at its start: in the results' memory, or in variables."""
    result: list[Carry] = []
    for number, operand in enumerate(operands):
        if not operand.type.rank:
            result.append(_Number(code.f, operand, code.number(operand)))
            continue
        home = code.row_major(op.results[number])
        code.copy("carry", op, number)
        spare = plan.spare.get(number)
        if (op, number) in code.schedule.stack_carries:
            bytes = code.sizes.operand(bytes_of(operand))
            result.append(_Small(code.f, home, bytes, is_changed=spare is None))
            continue
        other = None if spare is None else code.f.offset(memory, code.sizes.operand(spare))
        result.append(_Array(code.f, home, other))
    return result


def _finish(code: RegionCode, op: Op, carries: Sequence[Carry]) -> None:
    for result, carry in zip(op.results, carries, strict=False):
        if isinstance(carry, _Number):
            code.numbers[result] = carry.get()
        else:
            carry.settle(code.sizes.operand(bytes_of(result)))


def _advance(carries: Sequence[Carry], results: Sequence[Element | None]) -> None:
    for carry, result in zip(carries, results, strict=False):
        if isinstance(carry, _Number):
            assert result is not None
            carry.set(result)
        else:
            carry.advance()


def _given(code: RegionCode, op: Op, values: Sequence[Value]) -> list[V | Element]:
    """Operands that do not change: numbers, or pointers to rows."""
    return [
        code.packed_operand(op, value) if value.type.rank else code.number(value)
        for value in values
    ]


# --- scan ---------------------------------------------------------------------------------------


def _scan(code: RegionCode, op: Op) -> None:
    plan = code.plan.controls[op]
    n_consts, n_carry = op.attributes["n_consts"], op.attributes["n_carry"]
    carry = op.operands[n_consts : n_consts + n_carry]
    memory = _frame(code, plan)
    carries = _carries(code, plan, op, carry, memory)
    arrays = _ScanArrays(
        _given(code, op, op.operands[:n_consts]),
        _sequences(code, op, n_consts + n_carry),
        [code.row_major(stack) for stack in op.results[n_carry:]],
    )
    length = code.sizes.value(op.attributes["length"])
    grain = code.schedule.parallel.get(op)
    if grain is not None:
        _scan_at_once(code, op, plan, arrays, length, grain)
        return
    frame = code.f.offset(memory, code.sizes.operand(plan.frame))
    start = code.f.const(0, I64)
    _scan_steps(code, op, plan, arrays, carries, frame, (start, length))
    _finish(code, op, carries)


class _ScanArrays(NamedTuple):
    """What the steps of a scan read and write: constants (numbers, or pointers to rows), and the
    starts of sequences, if these are in memory, and of stacks.
    """

    fixed: list[V | Element]
    rows: list[V | ArrayCounter]
    stacks: list[V]


def _sequences(code: RegionCode, op: Op, first: int) -> list[V | ArrayCounter]:
    counters = counters_of(op)
    return [
        counters[number] if number in counters else code.packed_operand(op, op.operands[number])
        for number in range(first, len(op.operands))
    ]


def _scan_steps(
    code: RegionCode,
    op: Op,
    plan: ControlPlan,
    arrays: _ScanArrays,
    carries: Sequence[Carry],
    frame: V,
    steps: tuple[V, V],
) -> None:
    """Steps of a scan one after the other."""
    n_carry = op.attributes["n_carry"]
    (body_plan,) = plan.bodies
    region = body_plan.region
    first_item = len(region.parameters) - len(arrays.rows)
    with stepping.counted(code, op, *steps) as step:
        i = step
        if op.attributes["reverse"]:
            i = code.sizes.value(op.attributes["length"]) - 1 - step
        body = code.nested(body_plan, frame)
        body.serial = serial_sums(op)
        items = [
            _item(code, row, parameter, i)
            for row, parameter in zip(arrays.rows, region.parameters[first_item:], strict=True)
        ]
        outs = [
            _row(code, stack, result, i)
            for stack, result in zip(arrays.stacks, region.results[n_carry:], strict=True)
        ]
        targets = [c.target() if isinstance(c, _Array) else None for c in carries]
        given: list[V | Element] = [*arrays.fixed, *[c.get() for c in carries], *items]
        made = body.emit(given, [*targets, *outs])
        for out, element in zip(outs, made[n_carry:], strict=True):
            if element is not None:
                code.store_number(element, out)
        _advance(carries, made)


def _scan_at_once(
    code: RegionCode,
    op: Op,
    plan: ControlPlan,
    arrays: _ScanArrays,
    length: V,
    grain: int,
) -> None:
    """Steps of a scan that carries nothing, on several threads at once. Each thread has a frame of
    its own, and what the nodes of its steps work in behind it.
    """
    f, module = code.f, code.program.module
    (body_plan,) = plan.bodies
    frame_bytes = aligned(body_plan.bytes)
    workspace_bytes = largest([code.schedule.workspace.get(node, 0) for node in body_plan.nodes])
    found = code.nested(body_plan, code.frame).measured_sizes(1)
    planned = Sizes(f, code.sizes.symbols | found)
    slots = code.planned.slots(f, length, planned.operand(frame_bytes + workspace_bytes))
    symbols = dict(code.sizes.symbols)
    numbers = [e if isinstance(e, tuple) else (e,) for e in arrays.fixed]
    fixed = [part for number in numbers for part in number]
    frames = [] if slots is None else slots.values
    rows = [row for row in arrays.rows if isinstance(row, V)]
    captured = [*fixed, *rows, *arrays.stacks, *frames, *symbols.values()]
    name = f"map{len(module.functions)}"
    parameters = [(f"c{number}", value.type) for number, value in enumerate(captured)]
    ends = [("begin", I64), ("end", I64)]
    g = module.function(name, VOID, [("run", PTR), *parameters, *ends], internal=True)
    run, *given, begin, end = g.arguments
    passed = iter(given)
    inner = _ScanArrays(
        [_again(passed, number) for number in numbers],
        [next(passed) if isinstance(row, V) else row for row in arrays.rows],
        [next(passed) for _ in arrays.stacks],
    )
    own = None if slots is None else Slots.of([next(passed) for _ in frames])
    sizes = Sizes(g, dict(zip(symbols, passed, strict=True)))
    memory, scratch = g.const(0, PTR), Scratch.none(g)
    if own is not None:
        number = own.claim(g, run)
        memory, end_of_slot = own.bounds(g, number)
        begin_of_scratch = g.offset(memory, sizes.operand(frame_bytes))
        scratch = Scratch.of(g, begin_of_scratch, end_of_slot, 1)
    steps = code.elsewhere(g, run, sizes, memory, scratch)
    _scan_steps(steps, op, plan, inner, [], memory, (begin, end))
    if own is not None:
        own.give_back(g, number)
    g.ret()
    code.env.share(f, name, length, captured, grain)
    if slots is not None:
        code.planned.free(f, slots.flags)


def _again(passed: Iterator[V], number: tuple[V, ...]) -> Element:
    """A number or pointer in another function, of as many parts as before."""
    parts = [next(passed) for _ in number]
    return (parts[0], parts[1]) if len(parts) == 2 else parts[0]


def _item(code: RegionCode, row: V | ArrayCounter, parameter: Value, i: V) -> V | Element:
    """What a step is given of a sequence: a number, or where it is."""
    if isinstance(row, V):
        return _row(code, row, parameter, i)
    count = code.f.const(plus(code.f, times(code.f, i, row.step), row.start), I64)
    return conversion.cast(code.f, count, dtype=parameter.type.dtype)


def _row(code: RegionCode, start: V, step: Value, i: V) -> V:
    """The memory of one step of a sequence."""
    return code.f.offset(start, i * code.f.const(code.sizes.operand(bytes_of(step)), I64))


# --- while --------------------------------------------------------------------------------------


class _Record:
    """Values that a loop of unknown length keeps of every step: memory that grows."""

    def __init__(self, code: RegionCode, step: Value) -> None:
        self.code = code
        self.bytes = code.sizes.value(bytes_of(step))
        size = self.bytes + 64
        pointer = code.f.call("malloc", PTR, [size])
        workspace.require(code.f, code.run, pointer, size)
        self.pointer = code.f.variable(pointer)

    def grow(self, capacity: V) -> None:
        f, held = self.code.f, self.pointer.get()
        size = capacity * self.bytes + 64
        grown = f.call("realloc", PTR, [held, size])
        with f.when(grown.eq(0)):
            f.call("free", VOID, [held])
        workspace.require(f, self.code.run, grown, size)
        self.pointer.set(grown)

    def at(self, step: V) -> V:
        return self.code.f.offset(self.pointer.get(), step * self.bytes)


def _while(code: RegionCode, op: Op) -> None:
    f, plan = code.f, code.plan.controls[op]
    n_consts = op.attributes["n_consts"]
    consts, carry = op.operands[:n_consts], op.operands[n_consts:]
    condition_plan, body_plan = plan.bodies
    memory = _frame(code, plan)
    carries = _carries(code, plan, op, carry, memory)
    fixed = _given(code, op, consts)
    frame = f.offset(memory, code.sizes.operand(plan.frame))
    records = [_Record(code, step) for step in body_plan.region.results[len(carry) :]]
    done = f.variable(f.const(0, I64))
    capacity = f.variable(f.const(1, I64))

    def given() -> list[V | Element]:
        return [*fixed, *[carried.get() for carried in carries]]

    def condition() -> V:
        (goes_on,) = code.nested(condition_plan, frame).emit(given(), [None])
        assert isinstance(goes_on, V)
        return goes_on

    with stepping.repeated(code, op, condition, _known_length(code, op)) as step:
        if records:
            _make_room(f, records, capacity, step)
        outs = [record.at(step) for record in records]
        targets = [c.target() if isinstance(c, _Array) else None for c in carries]
        body = code.nested(body_plan, frame)
        body.serial = serial_sums(op)
        made = body.emit(given(), [*targets, *outs])
        for out, element in zip(outs, made[len(carry) :], strict=True):
            if element is not None:
                code.store_number(element, out)
        _advance(carries, made)
        done.set(step + 1)
    _finish(code, op, carries)
    for symbol in dims.symbols(op.attributes["trips"]):
        code.sizes.symbols[symbol.name] = done.get()
    _keep_records(code, op, records, len(carry))


def _known_length(code: RegionCode, op: Op) -> V | None:
    """How many steps a loop has whose counter goes up to a number that it is given."""
    counted = counted_up(op)
    if counted is None:
        return None
    f = code.f
    first, end = [code.number(op.operands[place]) for place in counted]
    assert isinstance(first, V) and isinstance(end, V)
    return f.select(first.lt(end), end - first, f.const(0, I64))


def _make_room(f: Function, records: Sequence[_Record], capacity: Variable, step: V) -> None:
    """Let the memory of records grow where it is full."""
    with f.when(step.ge(capacity.get())):
        capacity.set(capacity.get() * 2)
        for record in records:
            record.grow(capacity.get())


def _keep_records(code: RegionCode, op: Op, records: Sequence[_Record], first: int) -> None:
    for record, result in zip(records, op.results[first:], strict=True):
        buffer = code.plan.holders[result]
        pointer = record.pointer.get()
        if buffer.kind == "result" and code.late_results is not None:
            code.f.store(pointer, code.f.element(code.late_results, I64, buffer.number))
        else:
            code.heap.append(pointer)
        code.pointers[buffer] = pointer


# --- switch -------------------------------------------------------------------------------------


def _switch(code: RegionCode, op: Op) -> None:
    f, plan = code.f, code.plan.controls[op]
    index, *operands = op.operands
    chosen = code.number(index)
    assert isinstance(chosen, V)
    position = _clamped(f, chosen, len(op.regions))
    given = _given(code, op, operands)
    memory = _frame(code, plan)
    targets = [code.row_major(result) if result.type.rank else None for result in op.results]
    outs: list[_Number | None] = [
        None if result.type.rank else _Number(f, result, _zero(f, result)) for result in op.results
    ]
    done = f.label("chosen")
    labels = [f.label("case") for _ in op.regions]
    cases = " ".join(f"i64 {n}, label %{label}" for n, label in enumerate(labels))
    f.line(f"switch i64 {position.ref}, label %{labels[-1]} [ {cases} ]")
    for label, body_plan in zip(labels, plan.bodies, strict=True):
        f.begin(label)
        made = code.nested(body_plan, memory).emit(given, targets)
        for out, element in zip(outs, made, strict=True):
            if out is not None and element is not None:
                out.set(element)
        f.jump(done)
    f.begin(done)
    for result, out in zip(op.results, outs, strict=True):
        if out is not None:
            code.numbers[result] = out.get()


def _zero(f: Function, value: Value) -> Element:
    zero = f.const(0, of_dtype(value.type.dtype))
    return (zero, zero) if value.type.dtype.is_complex else zero


def _clamped(f: Function, index: V, count: int) -> V:
    if index.type.is_bool:
        return index.to(I64)
    if not index.type.is_signed:
        return f.minimum(index, f.const(min(count - 1, 2**index.type.bits - 1), index.type)).to(I64)
    return f.maximum(f.minimum(index.to(I64), count - 1), 0)


# --- the host -----------------------------------------------------------------------------------


def _host_call(code: RegionCode, op: Op) -> None:
    """Call host(run, site, table): the table holds address and sizes of each operand, then of each
    result.
    """
    _call(code, code.program.host(op), _host_table(code, op, op.operands))
    for result in op.results:
        if not result.type.rank:
            code.numbers[result] = code.load_number(code.slots[result], result.type.dtype)


def _fail(code: RegionCode, op: Op) -> None:
    """Let the host raise, if it holds: the first one to do so ends the run."""
    holds = code.number(op.operands[0])
    assert isinstance(holds, V)
    told = op.operands[1:]
    for value in told:
        if not value.type.rank:
            code.number(value)  # a section loads it here, where it can be used afterwards
    early = _host_table(code, op, told) if any(value.type.rank for value in told) else None
    with code.f.when(holds, seldom=True):
        table = _table_of_numbers(code, told) if early is None else early
        _call(code, code.program.host(op), table)


def _table_of_numbers(code: RegionCode, given: Sequence[Value]) -> V:
    """A table for the host of rank-0 operands, in room that all checks of a function share."""
    f = code.f
    table = _shared_room(code, "table", I64, max(len(given), 1))
    for place, value in enumerate(given):
        dtype = value.type.dtype
        slot = _shared_room(code, f"number {place}", of_dtype(dtype), 2 if dtype.is_complex else 1)
        code.store_number(code.number(value), slot)
        f.store(slot, f.element(table, I64, place))
    return table


def _shared_room(code: RegionCode, name: str, type: Type, count: int) -> V:
    """Room on the stack for a moment; under the same name it is used again."""
    shared, key = code.f.frame.shared, (name, type, count)
    if key not in shared:
        shared[key] = code.f.on_stack(type, count, align=16)
    return shared[key]


def _call(code: RegionCode, site: int, table: V) -> None:
    f = code.f
    function = f.load(f.element(code.run, I64, int(Run.HOST)), PTR)
    f.call_pointer(function, VOID, [code.run, f.const(site, I64), table])


def _host_table(code: RegionCode, op: Op, given: Sequence[Value]) -> V:
    f = code.f
    operands = [
        code.packed_operand(op, v) if v.type.rank else code.number_address(v) for v in given
    ]
    results = []
    for result in op.results:
        if not result.type.rank:
            code.slots[result] = code.slot(result.type.dtype)
            results.append(code.slots[result])
        else:
            results.append(code.row_major(result))
    words = sum(1 + value.type.rank for value in (*given, *op.results))
    table = f.stack(I64, max(words, 1), align=8)
    place = 0
    pointers = [*operands, *results]
    for value, pointer in zip((*given, *op.results), pointers, strict=True):
        f.store(pointer, f.element(table, I64, place))
        place += 1
        for size in value.type.shape:
            f.store(code.sizes.value(size), f.element(table, I64, place))
            place += 1
    return table


CONTROL: Final[dict[str, Callable[[RegionCode, Op], None]]] = {
    "scan": _scan,
    "while": _while,
    "switch": _switch,
    "host_call": _host_call,
    "fail": _fail,
}
