"""A long program in several functions: LLVM's time grows faster than the length of a function, and
functions are compiled on all cores. Calls that are repeated are rows of a table instead.

A section runs some nodes of the program's region. It loads what it needs from the tables that the
entry is given; numbers pass from one section to the next through memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from weft.compiler.ir.build import constant
from weft.compiler.ir.graph import Constant, Parameter, Value
from weft.compiler.loops.arena import Buffer
from weft.compiler.loops.group import Node, OpaqueNode, PiecewiseNode, targets_of
from weft.compiler.loops.workspace import NUMBER_BYTES
from weft.compiler.lower.llvm.emit import workspace
from weft.compiler.lower.llvm.emit.arrays import Element
from weft.compiler.lower.llvm.emit.dimensions import Sizes
from weft.compiler.lower.llvm.emit.function import Function, V
from weft.compiler.lower.llvm.emit.scratch import Scratch
from weft.compiler.lower.llvm.emit.types import I8, I64, PTR, VOID
from weft.compiler.lower.llvm.program import call_table
from weft.compiler.lower.llvm.program.call_table import CallTable, repeated_calls
from weft.compiler.lower.llvm.program.calls import PlannedCall
from weft.compiler.lower.llvm.program.region import RegionCode
from weft.compiler.record import record

if TYPE_CHECKING:
    from weft.compiler.lower.llvm.program.module import ProgramCode

# Nodes of a section: with 50 the code of 400 layers compiles in a third of the time that one
# function takes. Programs with fewer nodes than LEAST_NODES are one function.
SECTION_NODES: Final = 50
LEAST_NODES: Final = 64

TABLES: Final = ("run", "arguments", "numbers", "results", "arena", "scratch", "passed")


def is_long(program: ProgramCode) -> bool:
    """Whether a program is divided. Where sizes are found out on the way it is not: all that
    follows needs these.
    """
    pieces = [node.groups for node in program.plan.nodes if isinstance(node, PiecewiseNode)]
    count = len(program.plan.nodes) + sum(map(len, pieces))
    return count >= LEAST_NODES and not program.plan.late


@record
class _Section:
    """Nodes that run one after the other, as code or as rows of the table."""

    nodes: list[Node]
    calls: list[PlannedCall]  # of nodes that are rows


def emit_sections(program: ProgramCode, f: Function, tables: Sequence[V]) -> None:
    """Write the sections, and into the entry their calls; `tables` is what all are given."""
    repeated = {} if program.is_timed else repeated_calls(program)
    sections = list(_divided(program, repeated))
    slots = _slots(program, sections)
    parameters: dict[Value, int] = {p: number for number, p in enumerate(program.graph.parameters)}
    passed = f.stack(I8, max(len(slots), 1) * NUMBER_BYTES, align=NUMBER_BYTES)
    table = CallTable(program, parameters, lambda value: slots[value] * NUMBER_BYTES)
    spans = [table.add(section.calls) for section in sections]
    rows = _row_calls(table, f, tables, passed) if table.words else None
    for number, (section, span) in enumerate(zip(sections, spans, strict=True)):
        if section.calls and rows is not None:
            rows(*span)
            continue
        name = f"section{number}"
        tables_of_section = [(table, PTR) for table in TABLES]
        g = program.module.function(name, VOID, tables_of_section, internal=True, glue=True)
        code = SectionCode(program, g, slots, parameters)
        code.emit_nodes(section.nodes)
        if number == len(sections) - 1:
            code.emit_results()
        g.ret()
        g.is_glue = not g.has_arithmetic  # see `settle`
        f.call(name, VOID, [*tables, passed])
        if g.held or g.has_exit:
            workspace.leave_if_stopped(f, tables[0])


def _row_calls(
    table: CallTable, f: Function, tables: Sequence[V], passed: V
) -> Callable[[int, int], None]:
    """What writes a call into the entry that runs the rows from one word to another."""
    name = table.emit_rows()
    run, arguments, numbers, results, arena, scratch = tables
    constants = table.program.constant_table(f)
    pointers = {
        call_table.ARENA: _in_memory(f, arena),
        call_table.ARGUMENTS: arguments,
        call_table.RESULTS: results,
        call_table.CONSTANTS: constants,
        call_table.PASSED: _in_memory(f, passed),
    }
    every = f.stack(PTR, len(pointers), align=8)
    for number, pointer in pointers.items():
        f.store(pointer, f.element(every, I64, number))
    words = constant(np.array(table.words, np.int64))
    first = f.load(f.element(constants, I64, table.program.constant(words)), PTR)

    def call(begin: int, end: int) -> None:
        ends = [f.element(first, I64, place) for place in (begin, end)]
        f.call(name, VOID, [run, numbers, every, scratch, *ends])
        workspace.leave_if_stopped(f, run)

    return call


def _in_memory(f: Function, pointer: V) -> V:
    slot = f.stack(PTR, 1, align=8)
    f.store(pointer, slot)
    return slot


def _divided(
    program: ProgramCode, repeated: Mapping[Node, list[PlannedCall]]
) -> Iterator[_Section]:
    """The sections; what consumes the rows of a product is in the product's."""
    nodes: list[Node] = []
    calls: list[PlannedCall] = []
    for node in program.plan.nodes:
        if node not in program.schedule.by_rows:
            here = repeated.get(node, [])
            is_other = bool(nodes) and bool(here) != bool(calls)
            if is_other or not here and len(nodes) >= SECTION_NODES:
                yield _Section(nodes, calls)
                nodes, calls = [], []
            calls += here
        nodes.append(node)
    yield _Section(nodes, calls)
    if calls:
        yield _Section([], [])  # for the results


def _slots(program: ProgramCode, sections: Sequence[_Section]) -> dict[Value, int]:
    """Where each number passes that one section makes and another one reads, or that a row of the
    table makes.
    """
    fusion = program.plan.fusion
    home = {node: number for number, each in enumerate(sections) for node in each.nodes}
    slots: dict[Value, int] = {}
    for number, section in enumerate(sections):
        for node in section.nodes:
            own = node.op.operands if isinstance(node, OpaqueNode) else ()
            for value in (*fusion.reads(node), *own):
                maker = fusion.homes.get(value)
                if not value.type.rank and maker is not None and home[maker] != number:
                    slots.setdefault(value, len(slots))
            for value in targets_of(node) if section.calls else ():
                if not value.type.rank:
                    slots.setdefault(value, len(slots))
    for value in program.plan.region.results:
        if not value.type.rank and not isinstance(value, Constant | Parameter):
            slots.setdefault(value, len(slots))
    return slots


class SectionCode(RegionCode):
    """Writes some nodes of the program's region into a function of their own."""

    def __init__(
        self,
        program: ProgramCode,
        g: Function,
        slots: Mapping[Value, int],
        parameters: Mapping[Value, int],
    ) -> None:
        run, self.arguments, numbers, self.results, arena, scratch, self.passed = g.arguments
        sizes = Sizes(g, program.symbol_values(g, numbers))
        program.give_room(g, arena, numbers)
        super().__init__(program, program.plan, g, run, sizes, arena, Scratch(scratch))
        self.passing = slots
        self.parameters = parameters

    def emit_nodes(self, nodes: Sequence[Node]) -> None:
        """Write the nodes, and what later sections want of their numbers."""
        for node in nodes:
            with self.program.clock(self.f, node):
                self._node(node)
            self.ask(node)
        homes, own = self.plan.fusion.homes, set(nodes)
        for value, element in self.numbers.items():
            if value in self.passing and homes.get(value) in own:
                self.store_number(element, self._slot_of(value))

    def emit_results(self) -> None:
        """Bring the results to where the caller wants them."""
        for number, result in enumerate(self.plan.region.results):
            element = self._result(number, result)
            if element is not None:
                self.store_number(element, self._target(number))

    def number(self, value: Value) -> Element:
        if value not in self.numbers and not isinstance(value, Constant):
            is_argument = isinstance(value, Parameter)
            pointer = (
                self._argument(self.parameters[value]) if is_argument else self._slot_of(value)
            )
            self.numbers[value] = self.load_number(pointer, value.type.dtype)
        return super().number(value)

    def _new_pointer(self, buffer: Buffer) -> V:
        if buffer.kind == "parameter":
            return self._argument(buffer.number)
        return super()._new_pointer(buffer)

    def _argument(self, number: int) -> V:
        return self.f.load(self.f.element(self.arguments, I64, number), PTR)

    def _target(self, number: int) -> V:
        return self.f.load(self.f.element(self.results, I64, number), PTR)

    def _slot_of(self, value: Value) -> V:
        return self.f.element(self.passed, I8, self.passing[value] * NUMBER_BYTES)
