"""Calls that a long program repeats, as a table: code is written once for each kind of call, and
what each call is given is data.

A row has the number of its kind and, for each operand, where its address is: in which table of
pointers, at which place there, and how many bytes further on. The tables are those that the entry
is given; numbers pass from node to node through memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from weft.compiler.ir.dims import Size
from weft.compiler.ir.graph import Constant, Parameter, Value
from weft.compiler.loops.arena import Buffer
from weft.compiler.loops.group import Node
from weft.compiler.lower.llvm.emit import workspace
from weft.compiler.lower.llvm.emit.dimensions import Sizes
from weft.compiler.lower.llvm.emit.function import Function, V
from weft.compiler.lower.llvm.emit.scratch import Scratch
from weft.compiler.lower.llvm.emit.types import I64, PTR, VOID
from weft.compiler.lower.llvm.program.calls import (
    ArrayAt,
    NumberAt,
    Operand,
    PlannedCall,
    PlannedCalls,
    SymbolValue,
)
from weft.compiler.lower.llvm.program.region import RegionCode

if TYPE_CHECKING:
    from weft.compiler.lower.llvm.program.module import ProgramCode

LEAST_EQUAL: Final = 3  # calls of a kind that are worth a table
ARENA, ARGUMENTS, RESULTS, CONSTANTS, PASSED = range(5)  # tables of pointers
TABLE_BITS: Final = 3

_TABLES_OF: Final = {"parameter": ARGUMENTS, "result": RESULTS}
_GIVEN: Final = ("run", "numbers", "tables", "scratch")


def repeated_calls(program: ProgramCode) -> dict[Node, list[PlannedCall]]:
    """The nodes of a program whose calls go into its table: of kinds that occur several times, on
    memory whose place is known.
    """
    calls = PlannedCalls(program, program.plan)
    found: dict[Node, list[PlannedCall]] = {}
    for node in program.plan.nodes:
        made = [] if node in program.schedule.by_rows else calls.of_node(node)
        if made and all(_is_placed(operand) for call in made for operand in call.operands):
            found[node] = made
    kinds = Counter(call.key for made in found.values() for call in made)
    polls = program.schedule.polls
    return {
        node: [*made, _poll_after(polls[node])] if node in polls else made
        for node, made in found.items()
        if all(kinds[call.key] >= LEAST_EQUAL for call in made)
    }


def _poll_after(work: Size) -> PlannedCall:
    """A row that asks whether to stop, after so much work."""
    key = ("poll", "" if isinstance(work, int) else str(work))
    return PlannedCall(key, [], lambda code, _: code.poll(work))


def _is_placed(operand: Operand) -> bool:
    if not isinstance(operand, ArrayAt):
        return True
    offsets = (operand.buffer.offset, operand.offset)
    return operand.buffer.kind != "late" and all(isinstance(offset, int) for offset in offsets)


@dataclass(eq=False, slots=True)
class CallTable:
    """The rows of a program's table, and the functions of its kinds."""

    program: ProgramCode
    parameters: Mapping[Value, int]
    passed: Callable[[Value], int]  # where a number passes, in bytes
    kinds: dict[Hashable, int] = field(default_factory=dict)
    lengths: list[int] = field(default_factory=list)  # words of a kind's rows
    words: list[int] = field(default_factory=list)

    def add(self, calls: Sequence[PlannedCall]) -> tuple[int, int]:
        """Add rows; where they begin, in words, and end."""
        begin = len(self.words)
        for call in calls:
            if call.key not in self.kinds:
                self.kinds[call.key] = len(self.kinds)
                self.lengths.append(1 + 2 * sum(map(_is_address, call.operands)))
                self._emit_kind(call, self.kinds[call.key])
            self.words.append(self.kinds[call.key])
            for operand in call.operands:
                if _is_address(operand):
                    self.words += self._address(operand)
        return begin, len(self.words)

    def _address(self, operand: Operand) -> tuple[int, int]:
        """The two words of an operand: table and place in it, and bytes."""
        if isinstance(operand, ArrayAt):
            table, place, offset = self._of_buffer(operand.buffer)
            assert isinstance(operand.offset, int)
            return table | place << TABLE_BITS, offset + operand.offset
        assert not isinstance(operand, SymbolValue)
        value = operand.value
        if isinstance(value, Parameter):
            return ARGUMENTS | self.parameters[value] << TABLE_BITS, 0
        if isinstance(value, Constant):
            return CONSTANTS | self.program.constant(value) << TABLE_BITS, 0
        return PASSED, self.passed(value)

    def _of_buffer(self, buffer: Buffer) -> tuple[int, int, int]:
        if buffer.kind == "temporary":
            assert isinstance(buffer.offset, int)
            return ARENA, 0, buffer.offset
        if buffer.kind == "constant":
            assert isinstance(buffer.value, Constant)
            return CONSTANTS, self.program.constant(buffer.value), 0
        return _TABLES_OF[buffer.kind], buffer.number, 0

    # --- code ---

    def _emit_kind(self, call: PlannedCall, number: int) -> None:
        """The function of a kind, kind<number>(run, numbers, tables, scratch, row)."""
        parameters = [(name, PTR) for name in (*_GIVEN, "row")]
        g = self.program.module.function(
            f"kind{number}", VOID, parameters, internal=True, glue=True
        )
        run, numbers, tables, scratch, row = g.arguments
        sizes = Sizes(g, self.program.symbol_values(g, numbers))
        plan = self.program.plan
        code = RegionCode(self.program, plan, g, run, sizes, g.const(0, PTR), Scratch(scratch))
        values: list[V] = []
        place = 1
        for operand in call.operands:
            if isinstance(operand, SymbolValue):
                values.append(sizes.symbols[operand.name])
                continue
            pointer = _pointer(g, tables, row, place)
            place += 2
            if isinstance(operand, ArrayAt | NumberAt):
                values.append(pointer)
            else:
                element = code.load_number(pointer, operand.value.type.dtype)
                values += element if isinstance(element, tuple) else (element,)
        call.write(code, values)
        g.ret()

    def emit_rows(self) -> str:
        """The function that runs some rows, rows(run, numbers, tables, scratch, row, end)."""
        parameters = [(name, PTR) for name in (*_GIVEN, "row", "end")]
        g = self.program.module.function("rows", VOID, parameters, internal=True, glue=True)
        *given, first, end = g.arguments
        row = g.variable(first)
        with g.loop_while() as loop:
            here = row.get()
            loop.stop_if(here.eq(end))
            following = g.label("following")
            labels = [g.label("kind") for _ in self.kinds]
            cases = " ".join(f"i64 {n}, label %{label}" for n, label in enumerate(labels))
            kind = g.load(here, I64)
            g.line(f"switch i64 {kind.ref}, label %{labels[-1]} [ {cases} ]")
            for number, label in enumerate(labels):
                g.begin(label)
                g.call(f"kind{number}", VOID, [*given, here])
                row.set(g.element(here, I64, self.lengths[number]))
                g.jump(following)
            g.begin(following)
            workspace.leave_if_stopped(g, given[0])
        g.ret()
        return "rows"


def _is_address(operand: Operand) -> bool:
    return not isinstance(operand, SymbolValue)


def _pointer(g: Function, tables: V, row: V, place: int) -> V:
    """The address that two words of a row tell of."""
    which, offset = [g.load(g.element(row, I64, place + i), I64) for i in range(2)]
    table = g.load(g.element(tables, I64, which & ((1 << TABLE_BITS) - 1)), PTR)
    return g.offset(g.load(g.element(table, I64, which >> TABLE_BITS), PTR), offset)
