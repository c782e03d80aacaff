"""Reads the text form of a loop program back, as far as the program was made when it was printed.

What is read is data: nothing is decided again. `LoopProgram.verify` says whether it keeps the rules
of the form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from weft.compiler.ir.attributes import TEXT
from weft.compiler.ir.dims import Size
from weft.compiler.ir.graph import Op, Region, Value
from weft.compiler.ir.index.affine import Loop
from weft.compiler.ir.parse import GraphReader
from weft.compiler.loops.arena import Buffer
from weft.compiler.loops.build_kernels import Kernels
from weft.compiler.loops.expression_parse import ExpressionReader
from weft.compiler.loops.fusion import Fusion
from weft.compiler.loops.group import FusionGroup, Node, OpaqueNode, PiecewiseNode, Refusal, Store
from weft.compiler.loops.kernel import Layout
from weft.compiler.loops.kernel_parse import KernelReader
from weft.compiler.loops.memory import ControlPlan, Copy, Purpose, RegionPlan
from weft.compiler.loops.order import Order
from weft.compiler.loops.program import LoopProgram
from weft.compiler.loops.row_fusion import ConsumerChain
from weft.compiler.loops.schedule_parse import ScheduleReader
from weft.compiler.ops import TABLE

T = TypeVar("T")

_NODE = r"n\d+(?:\.\d+)?"


def parse_program(
    text: str, constants: Mapping[str, np.ndarray[Any, Any]] | None = None
) -> LoopProgram:
    """The loop program that a text writes; the reverse of `str(program)`.

    `constants` holds the data of large constants when the text does not:
    `program.graph.constant_table()`.
    """
    graph_reader = GraphReader(text, TABLE, constants or {}, shared=True)
    return _ProgramReader(graph_reader).read()


class _ProgramReader:
    def __init__(self, graph_reader: GraphReader) -> None:
        self.values = graph_reader
        self.reader = graph_reader.reader
        self.ops: dict[str, Op] = {}
        self.regions: dict[str, Region] = {}
        self.nodes: dict[str, Node] = {}
        self.group_loops: dict[FusionGroup, dict[str, Loop]] = {}
        self.buffers: dict[str, Buffer] = {}
        self.copies: dict[str, Copy] = {}
        self.plans: dict[Region, RegionPlan] = {}
        self.names = ExpressionReader(graph_reader, self.ops, {})

    def read(self) -> LoopProgram:
        graph = self.values.read()
        self._name_ops(list(graph.regions()))
        program = LoopProgram(graph, 0)
        self._header(program)
        reader = self.reader
        if self._opens("fuse"):
            program.fusions = self._by_region(lambda region: self._fusion(program, region))
        if self._opens("order"):
            program.orders = self._by_region(lambda _: self._order())
        if self._opens("memory"):
            self._memory(program)
        if self._opens("kernels"):
            kernels = KernelReader(self.names, self.nodes, self.group_loops, self.buffers)
            program.kernels = Kernels()
            kernels.read(program.kernels, self.copies)
        if self._opens("schedule"):
            assert program.kernels is not None
            schedule = ScheduleReader(self.names, self.nodes, self.buffers, kernels.known)
            program.schedule = schedule.read(kernels.loops)
        if not reader.at_end():
            reader.fail("expected the next section, or the end of the text")
        return program

    def _name_ops(self, regions: list[Region]) -> None:
        names = {value: f"%{name}" for name, value in self.values.names.items()}
        unnamed = 0
        for number, region in enumerate(regions):
            self.regions[f"r{number}"] = region
            for op in region.ops:
                self.ops[names[op.results[0]] if op.results else f"!{unnamed}"] = op
                unnamed += not op.results

    # --- pieces ---

    def _opens(self, name: str) -> bool:
        if not self.reader.accept(rf"{name}\b"):
            return False
        self.reader.expect(r"\{", "'{'")
        return True

    def _word(self, word: str) -> None:
        self.reader.expect(rf"{word}\b", repr(word))

    def _by_region(self, read: Callable[[Region], T]) -> dict[Region, T]:
        """What a section has for each region, up to its closing brace."""
        by_region: dict[Region, T] = {}
        while not self.reader.accept(r"\}"):
            region = self.names.lookup(r"r\d+", self.regions, "region")
            self.reader.expect(r"\{", "'{'")
            by_region[region] = read(region)
        return by_region

    def _sizes(self) -> tuple[Size, ...]:
        return tuple(self.reader.read_list("(", ")", self.reader.read_size))

    def _listed(self, read: Callable[[], T]) -> list[T]:
        """Items separated by commas."""
        items = [read()]
        while self.reader.accept(","):
            items.append(read())
        return items

    def _node(self) -> Node:
        return self.names.lookup(_NODE, self.nodes, "node")

    def _buffer(self) -> Buffer:
        return self.names.lookup(r"b\d+", self.buffers, "buffer")

    # --- the header ---

    def _header(self, program: LoopProgram) -> None:
        reader = self.reader
        self._word("loops")
        self.values.read_bounds()
        reader.expect(r"\{", "'{'")
        reader.expect(r"vectors of\b", "'vectors of'")
        program.vector_bytes = self.names.integer()
        self._word("bytes")
        strides: dict[int, tuple[Size, ...]] = {}
        donated: dict[int, int] = {}
        while not reader.accept(r"\}"):
            if reader.accept(r"parameter\b"):
                number = self.names.integer()
                self._word("strides")
                strides[number] = self._sizes()
            else:
                self._word("result")
                number = self.names.integer()
                reader.expect(r"over parameter\b", "'over parameter'")
                donated[number] = self.names.integer()
        program.strides, program.donated = strides, donated

    # --- fuse ---

    def _fusion(self, program: LoopProgram, region: Region) -> Fusion:
        reader = self.reader
        fusion = Fusion(region, frozenset(program.strided))
        fusion.position.update((op, number) for number, op in enumerate(region.ops))
        while not reader.accept(r"\}"):
            if reader.accept(r"alias\b"):
                value = self.names.value()
                reader.expect("=", "'='")
                fusion.aliases[value] = self.names.value()
            elif reader.accept(r"refused\b"):
                producer = self.names.op()
                self._word("into")
                consumers = tuple(reader.read_list("(", ")", self.names.op))
                fusion.refusals.append(Refusal(producer, consumers, TEXT.read(reader)))
            else:
                self._add_node(fusion)
        fusion.nodes.reverse()
        return fusion

    def _add_node(self, fusion: Fusion) -> None:
        start = self.reader.position
        name = self.reader.expect(_NODE, "a node such as n0, 'alias' or 'refused'")
        if name in self.nodes:
            self.reader.fail(f"{name} is defined twice", start)
        self.reader.expect("=", "'='")
        node = self._read_node(name)
        self.nodes[name] = node
        fusion.nodes.append(node)
        match node:
            case OpaqueNode():
                fusion.homes.update((result, node) for result in node.op.results)
            case PiecewiseNode():
                fusion.homes[node.result] = node
            case FusionGroup():
                fusion.homes.update((target, node) for target in node.targets)

    def _read_node(self, name: str) -> Node:
        reader = self.reader
        if reader.accept(r"op\b"):
            return OpaqueNode(self.names.op())
        if not reader.accept(r"pieces\b"):
            return self._group(is_piece=False)
        node = PiecewiseNode(self.names.value(), [], None)
        if reader.accept(r"over\b"):
            node.base = self.names.value()
        reader.expect(r"\{", "'{'")
        while not reader.accept(r"\}"):
            piece = reader.expect(_NODE, f"a piece such as {name}.0")
            reader.expect("=", "'='")
            group = self._group(is_piece=True)
            self.nodes[piece] = group
            node.groups.append(group)
        return node

    def _group(self, *, is_piece: bool) -> FusionGroup:
        reader, names = self.reader, self.names
        self._word("group")
        names.loops = dict(reader.read_list("(", ")", names.declared_loop))
        self._word("for")
        group = FusionGroup(names.loop_list(), is_piece=is_piece)
        if reader.accept(r"outer\b"):
            group.outer = names.loop_list()
        self._word("weight")
        group.weight = names.integer()
        group.in_order = bool(reader.accept(r"in order\b"))
        self.group_loops[group] = names.loops
        reader.expect(r"\{", "'{'")
        while reader.accept(r"reduces\b"):
            loops = names.loop_list()
            group.reduce_loops[tuple(loop.size for loop in loops)] = loops
        while not reader.accept(r"\}"):
            if reader.accept(r"store\b"):
                group.stores.append(self._store())
                continue
            ref = names.ref()
            reader.expect("=", "'='")
            group.entries[ref] = names.group_computed(ref)
        return group

    def _store(self) -> Store:
        source = self.names.ref()
        target = (source.value, source.place)
        if self.reader.accept(r"to\b"):
            target = self.names.at()
        by = self.reader.accept(r"by\b")
        kind = self.reader.expect(r"[a-z]+", "how it is combined") if by else "set"
        return Store(source, *target, kind)

    # --- order ---

    def _order(self) -> Order:
        reader = self.reader
        nodes: list[Node] = []
        consumers: dict[OpaqueNode, ConsumerChain] = {}
        if reader.accept(r"run\b"):
            nodes = self._listed(self._node)
        while not reader.accept(r"\}"):
            start = reader.position
            producer = self._node()
            self._word("feeds")
            chain = self._listed(self._node)
            rows, parts = self.names.rows()
            followers = [n for n in chain if isinstance(n, FusionGroup | OpaqueNode)]
            if not isinstance(producer, OpaqueNode) or len(followers) < len(chain):
                reader.fail("only an op feeds rows to groups and ops", start)
            consumers[producer] = ConsumerChain(rows, parts, followers)
        return Order(nodes, consumers)

    # --- memory ---

    def _memory(self, program: LoopProgram) -> None:
        reader = self.reader
        while not reader.accept(r"\}"):
            region = self.names.lookup(r"r\d+", self.regions, "region")
            plan = RegionPlan(region, program.fusions[region], program.orders[region])
            self.plans[region] = plan
            plan.bytes = reader.read_size()
            self._word("bytes")
            reader.expect(r"\{", "'{'")
            while not reader.accept(r"\}"):
                self._memory_line(plan)
        for plan in self.plans.values():
            for op, control in plan.controls.items():
                control.bodies = tuple(self.plans[region] for region in op.regions)
        program.memory = self.plans[program.graph.region]

    def _memory_line(self, plan: RegionPlan) -> None:
        reader = self.reader
        if reader.accept(r"strided\b"):
            value = self.names.value()
            self._word("in")
            plan.strided[value] = self._layout()
        elif reader.accept(r"late\b"):
            plan.late = set(self._listed(lambda: str(TEXT.read(reader))))
        elif reader.accept(r"in place\b"):
            plan.in_place = set(self._listed(self.names.integer))
        elif reader.accept(r"control\b"):
            self._control(plan)
        elif reader.text.startswith("copy", reader.position):
            self._copy(plan)
        else:
            self._add_buffer(plan)

    def _add_buffer(self, plan: RegionPlan) -> None:
        reader = self.reader
        name = reader.expect(r"b\d+", "a buffer such as b0, or another line of a plan")
        reader.expect("=", "'='")
        kind = reader.expect(r"[a-z]+", "the kind of a buffer")
        number = -1 if reader.accept(":") else self.names.integer()
        if number >= 0:
            reader.expect(":", "':'")
        size = reader.read_size()
        self._word("bytes")
        offset = reader.read_size() if reader.accept(r"at\b") else 0
        reader.expect(r", live\b", "', live'")
        first = self.names.integer()
        self._word("to")
        last = self.names.integer()
        held: list[Value] = []
        while reader.accept(r", holds\b" if not held else r",(?=\s*[%@])"):
            held.append(self.names.value())
        value = self.names.value() if reader.accept(r", for\b") else held[0]
        buffer = Buffer(kind, number, size, first, last, value, offset, held)
        self.buffers[name] = buffer
        if not reader.accept(r", copied to\b"):
            plan.buffers.append(buffer)
        plan.holders.update((value, buffer) for value in held)

    def _layout(self) -> Layout:
        buffer = self._buffer()
        self._word("at")
        offset = self.reader.read_size()
        self._word("strides")
        return Layout(buffer, offset, self._sizes())

    def _control(self, plan: RegionPlan) -> None:
        reader = self.reader
        op = self.names.op()
        self._word("carries")
        carried = self.names.integer()
        spare: dict[int, Size] = {}
        while reader.accept(r", spare\b"):
            number = self.names.integer()
            self._word("at")
            spare[number] = reader.read_size()
        reader.expect(r", frame at\b", "', spare' or ', frame at'")
        frame = reader.read_size()
        reader.expect(",", "','")
        size = reader.read_size()
        self._word("bytes")
        buffer = self._buffer() if reader.accept(r"in\b(?=\s*b\d)") else None
        plan.controls[op] = ControlPlan((), carried, spare, frame, size, buffer)

    def _copy(self, plan: RegionPlan) -> None:
        reader = self.reader
        name = reader.expect(r"copy\d+", "a copy such as copy0")
        reader.expect("=", "'='")
        value = self.names.value()
        self._word("from")
        source = self._layout()
        self._word("to")
        copy = Copy(value, source, self._layout())
        self._word("for")
        plan.copies[self._purpose()] = self.copies[name] = copy

    def _purpose(self) -> Purpose:
        reader = self.reader
        kind = reader.expect(r"(?:base|carry|operand|result)\b", "what the copy is for")
        if kind == "base":
            return kind, self._node()
        if kind == "result":
            return kind, self.names.integer()
        what = self.names.integer() if kind == "carry" else self.names.value()
        self._word("of")
        op = self.names.op()
        return kind, op, what
