"""The text form of a loop program, as far as it is made; `parse` reads it back. docs/loops.md
describes the format.

The text of the graph comes first, then a section for every step of the column. Everything that a
later step or a target reads is in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from weft.compiler.ir import dims
from weft.compiler.ir.attributes import TEXT
from weft.compiler.ir.dims import Size
from weft.compiler.ir.graph import Op, Region, Value
from weft.compiler.ir.index.affine import Loop
from weft.compiler.ir.text import format_bounds, format_named
from weft.compiler.loops.arena import Buffer
from weft.compiler.loops.expression_text import ExpressionText
from weft.compiler.loops.fusion import Fusion
from weft.compiler.loops.group import FusionGroup, Node, OpaqueNode, PiecewiseNode, Store
from weft.compiler.loops.kernel import Entry, Kernel, Layout, Stage, Write
from weft.compiler.loops.memory import ControlPlan, Copy, Purpose, RegionPlan
from weft.compiler.loops.naming import (
    Names,
    loops_of_group,
    named_constants,
    names_of,
    plans,
    targets_of_copies,
)
from weft.compiler.loops.order import Order
from weft.compiler.loops.row_fusion import ConsumerChain
from weft.compiler.loops.schedule import KernelCase, Schedule, TaskChain
from weft.compiler.loops.vectorise import VectorPlan

if TYPE_CHECKING:
    from weft.compiler.loops.program import LoopProgram


def program_text(
    program: LoopProgram, *, locations: bool = False, embed_constants: bool = False
) -> str:
    """The program as text, as far as it is made."""
    graph, values = format_named(
        program.graph,
        named_constants(program.graph),
        locations=locations,
        embed_constants=embed_constants,
    )
    writer = _Writer(program, names_of(program, values))
    return graph + "\n".join(_indented(writer.lines())) + "\n"


def _indented(lines: Iterable[str]) -> Iterator[str]:
    """Lines with two blanks for every open brace."""
    depth = 0
    for line in lines:
        depth -= line.startswith("}")
        yield "  " * depth + line
        depth += line.endswith("{")


class _Writer:
    def __init__(self, program: LoopProgram, names: Names) -> None:
        self.program = program
        self.names = names
        self.places = ExpressionText(names)

    def lines(self) -> Iterator[str]:
        program = self.program
        yield from self._header()
        if program.fusions:
            yield from self._section("fuse", self._fusions())
        if program.orders:
            yield from self._section("order", self._orders())
        if program.memory is not None:
            yield from self._section("memory", self._memory())
        if program.kernels is not None:
            yield from self._section("kernels", self._kernels())
        if program.schedule is not None:
            yield from self._section("schedule", self._schedule(program.schedule))

    def _section(self, name: str, lines: Iterable[str]) -> Iterator[str]:
        yield f"{name} {{"
        yield from lines
        yield "}"

    def _header(self) -> Iterator[str]:
        program = self.program
        sizes = [size for strides in program.strides.values() for size in strides]
        symbols = [symbol for size in sizes for symbol in dims.symbols(size)]
        yield f"loops{format_bounds(dict.fromkeys(symbols))} {{"
        yield f"vectors of {program.vector_bytes} bytes"
        for number, strides in program.strides.items():
            yield f"parameter {number} strides {_tuple(strides)}"
        for result, parameter in program.donated.items():
            yield f"result {result} over parameter {parameter}"
        yield "}"

    # --- fuse ---

    def _fusions(self) -> Iterator[str]:
        for region, fusion in self.program.fusions.items():
            yield f"{self._region(region)} {{"
            yield from self._fusion(fusion)
            yield "}"

    def _region(self, region: Region) -> str:
        return self.names.regions[region]

    def _fusion(self, fusion: Fusion) -> Iterator[str]:
        for node in reversed(fusion.nodes):
            yield from self._node(node)
        for value, same in fusion.aliases.items():
            yield f"alias {self._value(value)} = {self._value(same)}"
        for refusal in fusion.refusals:
            consumers = ", ".join([self._op(op) for op in refusal.consumers])
            reason = TEXT.format(refusal.reason)
            yield f"refused {self._op(refusal.producer)} into ({consumers}) {reason}"

    def _node(self, node: Node) -> Iterator[str]:
        name = self.names.nodes[node]
        match node:
            case OpaqueNode():
                yield f"{name} = op {self._op(node.op)}"
            case PiecewiseNode():
                base = "" if node.base is None else f" over {self._value(node.base)}"
                yield f"{name} = pieces {self._value(node.result)}{base} {{"
                for group in node.groups:
                    yield from self._group(group)
                yield "}"
            case FusionGroup():
                yield from self._group(node)

    def _group(self, group: FusionGroup) -> Iterator[str]:
        declared = ", ".join([self._declared(loop) for loop in loops_of_group(group)])
        yield (
            f"{self.names.nodes[group]} = group({declared}) for {self._loops(group.loops)}"
            f"{'' if group.outer is None else f' outer {self._loops(group.outer)}'}"
            f" weight {group.weight}{' in order' if group.in_order else ''} {{"
        )
        for loops in group.reduce_loops.values():
            yield f"reduces {self._loops(loops)}"
        for ref, computed in group.entries.items():
            yield f"{self.places.ref(ref)} = {self.places.computed(computed, ref)}"
        for store in group.stores:
            yield self._store(store)
        yield "}"

    def _store(self, store: Store) -> str:
        kind = "" if store.kind == "set" else f" by {store.kind}"
        target = self.places.at(self._value(store.target), store.place)
        source = self.places.ref(store.source)
        return f"store {source}{'' if target == source else f' to {target}'}{kind}"

    # --- order ---

    def _orders(self) -> Iterator[str]:
        for region, order in self.program.orders.items():
            yield f"{self._region(region)} {{"
            yield from self._order(order)
            yield "}"

    def _order(self, order: Order) -> Iterator[str]:
        if order.nodes:
            yield f"run {self._nodes(order.nodes)}"
        for producer, chain in order.consumers.items():
            name = self.names.nodes[producer]
            yield f"{name} feeds {self._nodes(chain.nodes)} {_rows(chain)}"

    # --- memory ---

    def _memory(self) -> Iterator[str]:
        for plan in plans(self.program):
            yield f"{self._region(plan.region)} {plan.bytes} bytes {{"
            yield from self._plan(plan)
            yield "}"

    def _plan(self, plan: RegionPlan) -> Iterator[str]:
        for buffer in plan.buffers:
            yield self._buffer(buffer)
        for buffer in targets_of_copies(plan):
            yield f"{self._buffer(buffer)}, copied to"
        for value, layout in plan.strided.items():
            yield f"strided {self._value(value)} in {self._layout(layout)}"
        if plan.late:
            yield f"late {', '.join([TEXT.format(name) for name in sorted(plan.late)])}"
        if plan.in_place:
            yield f"in place {', '.join(map(str, sorted(plan.in_place)))}"
        for op, control in plan.controls.items():
            yield self._control(op, control)
        for purpose, copy in plan.copies.items():
            yield self._copy(purpose, copy)

    def _buffer(self, buffer: Buffer) -> str:
        kind = f"{buffer.kind} {buffer.number}" if buffer.number >= 0 else buffer.kind
        text = f"{self.names.buffers[buffer]} = {kind}: {buffer.bytes} bytes"
        if buffer.kind == "temporary" or buffer.offset != 0:
            text += f" at {buffer.offset}"
        text += f", live {buffer.first} to {buffer.last}"
        if buffer.held:
            text += f", holds {self._values(buffer.held)}"
        if not buffer.held or buffer.value is not buffer.held[0]:
            text += f", for {self._value(buffer.value)}"
        return text

    def _layout(self, layout: Layout) -> str:
        assert isinstance(layout.storage, Buffer)
        name = self.names.buffers[layout.storage]
        return f"{name} at {layout.offset} strides {_tuple(layout.strides)}"

    def _control(self, op: Op, control: ControlPlan) -> str:
        text = f"control {self._op(op)} carries {control.carried}"
        for number, offset in control.spare.items():
            text += f", spare {number} at {offset}"
        text += f", frame at {control.frame}, {control.bytes} bytes"
        if control.buffer is not None:
            text += f" in {self.names.buffers[control.buffer]}"
        return text

    def _copy(self, purpose: Purpose, copy: Copy) -> str:
        name = self.names.copies[copy]
        source, target = self._layout(copy.source), self._layout(copy.target)
        what = f"{name} = {self._value(copy.value)} from {source} to {target}"
        return f"{what} for {self._purpose(purpose)}"

    def _purpose(self, purpose: Purpose) -> str:
        match purpose:
            case ("base", FusionGroup() | OpaqueNode() | PiecewiseNode() as node):
                return f"base {self.names.nodes[node]}"
            case ("carry", Op() as op, number):
                return f"carry {number} of {self._op(op)}"
            case ("operand", Op() as op, Value() as value):
                return f"operand {self._value(value)} of {self._op(op)}"
            case _:
                return f"result {purpose[1]}"

    # --- kernels ---

    def _kernels(self) -> Iterator[str]:
        assert self.program.kernels is not None
        built, nodes, copies = self.program.kernels, self.names.nodes, self.names.copies
        for group, kernel in built.of_group.items():
            yield from self._kernel(kernel, nodes[group])
        for group, (kernel, rows) in built.in_rows.items():
            subject = f"{nodes[group]} by rows {self._loops(rows)}"
            if built.of_group.get(group) is kernel:
                yield f"{self.names.kernels[kernel]} of {subject}"
            else:
                yield from self._kernel(kernel, subject)
        for copy, kernel in built.of_copy.items():
            yield from self._kernel(kernel, copies[copy])

    def _kernel(self, kernel: Kernel, subject: str) -> Iterator[str]:
        offsets = kernel.offsets or (0,) * len(kernel.arrays)
        arrays = [
            f"p{number} = {self._storage(storage)}{f' + {offset}' if offset else ''}"
            f"{' out' if written else ''}"
            for number, ((storage, written), offset) in enumerate(
                zip(kernel.arrays, offsets, strict=True)
            )
        ]
        passed = [f"a{n} = {self._value(value)}" for n, value in enumerate(kernel.arguments)]
        head = f"{self.names.kernels[kernel]} of {subject} ({', '.join([*arrays, *passed])})"
        if kernel.like is not None:
            yield f"{head} like {self.names.kernels[kernel.like]}"
            return
        order = " in order" if kernel.in_order else ""
        yield f"{head} weight {kernel.weight}{order} {{"
        inside = ExpressionText(self.names, kernel)
        own = self.names.own_loops[kernel]
        if own:
            yield f"loops {', '.join([self._declared(loop) for loop in own])}"
        yield f"for {self._loops(kernel.outer)}"
        for entry in kernel.entries.values():
            yield self._entry(entry, kernel, inside)
        for stage in kernel.stages:
            yield from self._stage(stage, inside)
        yield "}"

    def _storage(self, storage: object) -> str:
        if isinstance(storage, Buffer):
            return self.names.buffers[storage]
        assert isinstance(storage, tuple) and isinstance(storage[1], Value)
        return f"slot {self._value(storage[1])}"

    def _entry(self, entry: Entry, kernel: Kernel, inside: ExpressionText) -> str:
        expected = inside.expected(entry)
        text = f"{inside.ref(entry.ref)}: {self.places.ref(entry.ref)}"
        if entry.loops != expected.loops:
            text += f" over {self._loops(sorted(entry.loops, key=lambda loop: loop.number))}"
        if entry.level != expected.level:
            text += f" level {entry.level}"
        return f"{text} = {inside.computed(entry.source, entry.ref)}"

    def _stage(self, stage: Stage, inside: ExpressionText) -> Iterator[str]:
        yield f"stage {stage.level} for {self._loops(stage.loops)} {{"
        for entry in stage.reductions:
            yield f"reduce {inside.ref(entry.ref)}"
        for write in stage.writes:
            yield self._write(write, inside)
        yield "}"

    def _write(self, write: Write, inside: ExpressionText) -> str:
        sign = "=" if write.kind == "set" else f"{write.kind} ="
        target = inside.element(write.array, write.position, write.guards)
        return f"{target}: {write.dtype} {sign} {inside.ref(write.source)}"

    # --- schedule ---

    def _schedule(self, schedule: Schedule) -> Iterator[str]:
        names = self.names
        for case in schedule.cases.values():
            yield from self._case(case)
        for kernel, name in names.kernels.items():
            called = schedule.case_of.get(kernel)
            if called is not None and called.kernel is not kernel:
                yield f"{name} as {called.name}"
        inlined = [name for kernel, name in names.kernels.items() if kernel in schedule.inlined]
        if inlined:
            yield f"inline {', '.join(inlined)}"
        stack = [name for buffer, name in names.buffers.items() if buffer in schedule.stack]
        if stack:
            yield f"stack {', '.join(stack)}"
        for op, name in names.ops.items():
            for number in range(len(op.results)):
                if (op, number) in schedule.stack_carries:
                    yield f"carry {number} of {name} on stack"
        for producer, chain in schedule.chains.items():
            yield from self._chain(producer, chain)
        for node, how in schedule.by_rows.items():
            yield f"{names.nodes[node]} runs {TEXT.format(how)}"
        for op, grain in schedule.parallel.items():
            yield f"parallel {self._op(op)} by {grain}"
        for node, bytes in schedule.workspace.items():
            yield f"{names.nodes[node]} works in {bytes}"
        for node, work in schedule.polls.items():
            yield f"{names.nodes[node]} polls after {work}"
        for op, steps in schedule.asking.items():
            yield f"loop {self._op(op)} polls every {steps}"
        if schedule.workspace_bytes != 0:
            yield f"workspace {schedule.workspace_bytes}"
        if schedule.number_bytes:
            yield f"numbers {schedule.number_bytes}"

    def _case(self, case: KernelCase) -> Iterator[str]:
        vectors = case.vectors
        yield (
            f"{case.name} = {self.names.kernels[case.kernel]} lanes {vectors.lanes}"
            f" block {vectors.block} {{"
        )
        yield from self._vectors(vectors, case.kernel.stages)
        yield "}"

    def _vectors(self, vectors: VectorPlan, stages: Sequence[Stage]) -> Iterator[str]:
        if vectors.outer is not None:
            yield f"outer {self.names.loops[vectors.outer]}"
        for stage, loop in vectors.along.items():
            assert stage is not None
            yield f"stage {stages.index(stage)} along {self.names.loops[loop]}"
        if vectors.tile is not None:
            squares = " by squares" if vectors.squares else ""
            yield f"tile {self.names.loops[vectors.tile]}{squares}"
        tiling = vectors.tiling
        if tiling is not None:
            text = (
                f"tiling of stage {stages.index(tiling.stage)} order {self._loops(tiling.order)}"
                f" kept {self._loops(tiling.kept)} tile {tiling.tile} together {tiling.together}"
            )
            if tiling.split is not None:
                text += f" split {self.names.loops[tiling.split]}"
            yield f"{text} parts {tiling.parts} each {tiling.each}"

    def _chain(self, producer: OpaqueNode, chain: TaskChain) -> Iterator[str]:
        yield f"{self.names.nodes[producer]} feeds {_rows(chain)} {{"
        for task in chain.tasks:
            text = self.names.nodes[task.node]
            if task.kernel is not None:
                rows = self._loops(task.rows)
                text += f" by {self.names.kernels[task.kernel]} rows {rows}"
            yield text
        yield "}"

    # --- names ---

    def _value(self, value: Value) -> str:
        return self.names.values[value]

    def _values(self, values: Sequence[Value]) -> str:
        return ", ".join([self._value(value) for value in values])

    def _op(self, op: Op) -> str:
        return self.names.ops[op]

    def _nodes(self, nodes: Sequence[Node]) -> str:
        return ", ".join([self.names.nodes[node] for node in nodes])

    def _loops(self, loops: Iterable[Loop]) -> str:
        return f"({', '.join([self.names.loops[loop] for loop in loops])})"

    def _declared(self, loop: Loop) -> str:
        return f"{self.names.loops[loop]} < {loop.size}"


def _rows(chain: ConsumerChain | TaskChain) -> str:
    return f"in {chain.rows} rows, {chain.parts} of each row"


def _tuple(sizes: Sequence[Size]) -> str:
    return f"({', '.join(map(str, sizes))})"
