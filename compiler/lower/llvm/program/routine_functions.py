"""Routines as functions of a program: equal ones are written once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from weft.compiler.ir.dims import Size
from weft.compiler.ir.graph import Op, Value
from weft.compiler.ir.index.affine import row_major
from weft.compiler.loops.memory import RegionPlan
from weft.compiler.loops.workspace import call_key, call_sizes
from weft.compiler.lower.llvm import routines
from weft.compiler.lower.llvm.emit.arrays import Array, Env, FusedConsumer, Part
from weft.compiler.lower.llvm.emit.dimensions import Sizes, names
from weft.compiler.lower.llvm.emit.function import Function, V
from weft.compiler.lower.llvm.emit.scratch import Scratch
from weft.compiler.lower.llvm.emit.types import I64, PTR, VOID
from weft.compiler.record import record

if TYPE_CHECKING:
    from weft.compiler.lower.llvm.program.module import ProgramCode


@record
class RoutineCall:
    """A routine's op, how its operands lie, and the symbols that it is told; equal keys are equal
    code.
    """

    op: Op
    strides: Sequence[tuple[Size, ...]]
    symbols: list[str]
    key: Hashable

    @property
    def values(self) -> tuple[Value, ...]:
        return (*self.op.operands, *self.op.results)


class RoutineFunctions:
    """Writes the functions of routines into a program's module."""

    def __init__(self, program: ProgramCode) -> None:
        self.program = program
        self._symbols: dict[Hashable, list[str]] = {}

    def call_of(self, plan: RegionPlan, op: Op) -> RoutineCall:
        """The call of an op's routine."""
        strides = plan.operand_strides(op)
        key = call_key(op, strides)
        if key not in self._symbols:
            self._symbols[key] = names(call_sizes(op, strides))
        return RoutineCall(op, strides, self._symbols[key], key)

    def function(
        self,
        call: RoutineCall,
        *,
        parts: int = 0,
        is_planned: bool = False,
        rows: Size | None = None,
    ) -> str:
        """The function of a routine, which is written where it is first asked for: (run, pointers,
        symbols), or (run, data, begin, end) for some of so many rows.
        """
        key = (call.key, parts, is_planned, rows)
        if key not in self.program.routines:
            name = f"{call.op.name}{len(self.program.routines)}"
            self.program.routines[key] = name
            if rows is None:
                self._define_routine(name, call, parts, is_planned=is_planned)
            else:
                self._define_rows(name, call, rows)
        return self.program.routines[key]

    def _define_routine(
        self, name: str, call: RoutineCall, parts: int, *, is_planned: bool
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
        follower = FusedConsumer(more[0], more[1], parts=parts) if parts else None
        self._write_routine(f, run, name, call, given, sizes, follower=follower, scratch=scratch)
        # What LLVM contracts in it must not depend on how long the module is, see `settle`.
        f.is_glue = not f.has_arithmetic

    def _define_rows(self, name: str, call: RoutineCall, rows: Size) -> None:
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
        call: RoutineCall,
        pointers: Sequence[V],
        sizes: Sizes,
        *,
        follower: FusedConsumer | None = None,
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
