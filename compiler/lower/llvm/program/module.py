"""A graph as one LLVM module: an entry that runs node after node, and the functions it calls.

    i64 entry(ptr run, ptr arguments, ptr numbers, ptr results, ptr arena)
    i64 arena_bytes(ptr run, ptr numbers)
    void measure(ptr run, ptr numbers, ptr table)

`arguments` points to the data of parameters, `numbers` to the values of symbols and strides,
`results` to where results go. The result of an array whose size is known only at run time is
made on the heap and its address written there; the symbols it depends on are written to `numbers`.
The arena has the arrays of the plan, and behind them what nodes work in, whose size may depend on
how many threads the run has: `arena_bytes` notes the size of both in the run record. `measure`, in
programs with routines that find out for themselves what they work in, writes down what each says.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from weft.compiler.abi import ARENA_BYTES, CLOCKS, CONSTANTS, ENTRY, MEASURE, Run
from weft.compiler.artifact import Site
from weft.compiler.ir import dims
from weft.compiler.ir.dims import Dim, Size
from weft.compiler.ir.graph import Constant, Graph, Op, Value
from weft.compiler.loops.group import Node
from weft.compiler.loops.memory import RegionPlan
from weft.compiler.loops.program import LoopProgram
from weft.compiler.loops.schedule import KernelCase, Schedule
from weft.compiler.loops.workspace import THREADS, measured_symbols
from weft.compiler.lower.choice import Products
from weft.compiler.lower.llvm import linkage
from weft.compiler.lower.llvm.emit import atomics
from weft.compiler.lower.llvm.emit.dimensions import Sizes
from weft.compiler.lower.llvm.emit.function import Function, Module, V
from weft.compiler.lower.llvm.emit.partition import SELDOM
from weft.compiler.lower.llvm.emit.scratch import Scratch
from weft.compiler.lower.llvm.emit.types import I64, PTR, VOID
from weft.compiler.lower.llvm.kernels.kernel import KernelCode
from weft.compiler.lower.llvm.program.region import RegionCode
from weft.compiler.lower.llvm.program.sections import emit_sections, is_long
from weft.compiler.lower.llvm.target import Target
from weft.compiler.record import record

Array = np.ndarray[Any, Any]


_MORE_THAN_ANY_MEMORY: Final = 2**62
"""What a program asks for where sizes of a call exceed what 64 bits can index, so that it ends as
one that finds no memory; half of the range leaves room for rounding."""


@record
class HostSite:
    """A call to the host: the function, and the types of what it takes and gives."""

    op: Op


@dataclass(eq=False, slots=True)
class ProgramCode:
    """A module under construction, and what is known about the program besides its code."""

    program: LoopProgram
    is_timed: bool = False
    products: Products = field(default_factory=Products)
    module: Module = field(default_factory=Module)
    sites: list[Site] = field(default_factory=list)
    hosts: list[HostSite] = field(default_factory=list)
    constants: dict[Constant, int] = field(default_factory=dict)
    kernels: dict[str, KernelCode] = field(default_factory=dict)  # by name
    routines: dict[Hashable, str] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)  # by the names of routines
    ways: dict[Op, str] = field(default_factory=dict)
    clocks: dict[Node, int] = field(default_factory=dict)
    chains: dict[tuple[str, ...], str] = field(default_factory=dict)
    read_only: list[V] = field(default_factory=list)  # arguments that nothing writes to
    numbers_end: int = 0  # of what was given out of the memory for numbers

    @property
    def graph(self) -> Graph:
        """The graph that was lowered, in the forms that loops have."""
        return self.program.graph

    @property
    def plan(self) -> RegionPlan:
        return self.program.plan

    @property
    def schedule(self) -> Schedule:
        return self.program.scheduled

    # --- numbers ---

    @property
    def symbols(self) -> list[str]:
        """The names of the numbers that the entry is given, then of those it gives back."""
        names = [symbol.name for symbol in self.graph.symbols]
        for strides in self.program.strides.values():
            for stride in strides:
                if not isinstance(stride, int):
                    names += [symbol.name for symbol in dims.symbols(stride)]
        return names

    @property
    def has_parallel_code(self) -> bool:
        """Whether something in it may use several threads, code that is linked in included."""
        return linkage.has_parallel_code(self.module)

    @property
    def defined(self) -> list[str]:
        """The names of the sizes that the entry finds out and writes back."""
        found: dict[str, None] = {}
        for result in self.graph.results:
            for size in result.type.shape:
                if not isinstance(size, int):
                    for symbol in dims.symbols(size):
                        if symbol.name in self.plan.late:
                            found[symbol.name] = None
        return list(found)

    @property
    def measured(self) -> list[str]:
        """The names of the sizes that routines find out when the program is called."""
        return measured_symbols(self.schedule.workspace_bytes)

    # --- functions ---

    def emit(self) -> None:
        """Write the whole module."""
        self._emit_arena_bytes()
        names = ("run", "arguments", "numbers", "results", "arena")
        f = self.module.function(ENTRY, I64, [(name, PTR) for name in names], glue=True)
        _, _, numbers, _, arena = f.arguments
        self.give_room(f, arena, numbers)
        scratch = self._scratch(f)
        if is_long(self):
            emit_sections(self, f, [*f.arguments, scratch.record])
        else:
            self._emit_region(f, scratch)
        f.ret(f.load(f.element(f.arguments[0], I64, int(Run.ERROR)), I64))
        f.is_glue = not f.has_arithmetic  # see `settle`

    def _scratch(self, f: Function) -> Scratch:
        """What the arena has behind the arrays of the plan."""
        if self.schedule.workspace_bytes == 0:
            return Scratch.none(f)
        run, _, numbers, _, arena = f.arguments
        sizes = Sizes(f, self.symbol_values(f, numbers))
        start = f.offset(arena, sizes.operand(self.plan.bytes + self.schedule.number_bytes))
        end = f.offset(arena, _word(f, run, Run.ARENA_BYTES))
        return Scratch.of(f, start, end, _word(f, run, Run.THREADS))

    def give_room(self, f: Function, arena: V, numbers: V) -> None:
        """Let a function that is not called by several threads at once have numbers in the arena
        where its stack is full.
        """
        room = self.schedule.number_bytes
        if not room:
            return
        sizes = Sizes(f, self.symbol_values(f, numbers))
        start = f.offset(arena, sizes.operand(self.plan.bytes))

        def spill(bytes: int, alignment: int) -> V | None:
            begin = -(-self.numbers_end // alignment) * alignment
            if begin + bytes > room:
                return None
            self.numbers_end = begin + bytes
            return f.offset(start, begin)

        f.frame.other = spill

    def _emit_region(self, f: Function, scratch: Scratch) -> None:
        """Write all nodes into the entry."""
        run, arguments, numbers, results, arena = f.arguments
        sizes = Sizes(f, self.symbol_values(f, numbers))
        code = RegionCode(self, self.plan, f, run, sizes, arena, scratch)
        code.late_results = results
        given = [
            f.load(f.element(arguments, I64, n), PTR) for n in range(len(self.graph.parameters))
        ]
        written = {self.program.donated.get(number) for number in self.plan.in_place}
        self.read_only += [v for number, v in enumerate(given) if number not in written]
        targets = [
            None if self.is_late(result) else f.load(f.element(results, I64, n), PTR)
            for n, result in enumerate(self.graph.results)
        ]
        made = code.emit(given, targets)
        for number, element in enumerate(made):
            if element is not None:
                code.store_number(element, f.load(f.element(results, I64, number), PTR))
        for index, name in enumerate(self.defined):
            at = f.element(numbers, I64, len(self.symbols) + index)
            f.store(code.sizes.symbols[name], at)

    def is_late(self, result: Value) -> bool:
        """Whether the size of a result is known only at run time."""
        return any(
            symbol.name in self.plan.late
            for size in result.type.shape
            if not isinstance(size, int)
            for symbol in dims.symbols(size)
        )

    def symbol_values(self, f: Function, numbers: V) -> dict[str, V]:
        return {
            name: f.load(f.element(numbers, I64, index), I64)
            for index, name in enumerate(self.symbols)
        }

    def _emit_arena_bytes(self) -> None:
        f = self.module.function(ARENA_BYTES, I64, [("run", PTR), ("numbers", PTR)])
        run, numbers = f.arguments
        symbols = self.symbol_values(f, numbers)
        symbols[THREADS] = _word(f, run, Run.THREADS)
        if self.measured:
            self._emit_measure()
            table = f.stack(I64, len(self.measured), align=8)
            f.call(MEASURE, VOID, [run, numbers, table])
            for index, name in enumerate(self.measured):
                symbols[name] = f.load(f.element(table, I64, index), I64)
        sizes = Sizes(f, symbols)
        needed = self.plan.bytes + self.schedule.number_bytes + self.schedule.workspace_bytes
        bytes = sizes.value(needed)
        for size in self._symbolic_bytes(needed, symbols):
            is_too_large = sizes.magnitude(size).gt(float(_MORE_THAN_ANY_MEMORY))
            bytes = f.select(is_too_large, _MORE_THAN_ANY_MEMORY, bytes)
        f.store(bytes, f.element(run, I64, int(Run.ARENA_BYTES)))
        f.ret(bytes)

    def _symbolic_bytes(self, more: Size, known: Container[str]) -> list[Size]:
        """The distinct sizes of values, in memory or not, that the numbers of a call decide."""
        if not self.graph.symbols:
            return []
        found: dict[Size, None] = {more: None}
        for region in self.graph.regions():
            for value in (*region.parameters, *[r for op in region.ops for r in op.results]):
                if not value.type.is_static:
                    found[value.type.size * value.type.dtype.itemsize] = None
        return [
            size
            for size in found
            if isinstance(size, Dim) and all(s.name in known for s in dims.symbols(size))
        ]

    def _emit_measure(self) -> None:
        parameters = [(name, PTR) for name in ("run", "numbers", "table")]
        f = self.module.function(MEASURE, VOID, parameters, glue=True)
        run, numbers, table = f.arguments
        sizes = Sizes(f, self.symbol_values(f, numbers))
        code = RegionCode(self, self.plan, f, run, sizes, f.const(0, PTR), Scratch.none(f))
        found = code.measured_sizes(_word(f, run, Run.THREADS))
        for index, name in enumerate(self.measured):
            f.store(found[name], f.element(table, I64, index))
        f.ret()

    # --- what regions share ---

    def constant_table(self, f: Function) -> V:
        """The table of constants' addresses that the runtime links in."""
        self.module.external(CONSTANTS)
        return V(f, f"@{CONSTANTS}", PTR)

    def constant(self, value: Constant) -> int:
        """The number of a constant in the table that the runtime links in."""
        return self.constants.setdefault(value, len(self.constants))

    def kernel(self, case: KernelCase) -> KernelCode:
        """The code of a kernel, which is emitted when it is first asked for."""
        if case.name not in self.kernels:
            code = KernelCode(self.module, case, self.sites)
            code.emit()
            self.kernels[case.name] = code
        return self.kernels[case.name]

    def host(self, op: Op) -> int:
        """The number of a call to the host."""
        self.hosts.append(HostSite(op))
        return len(self.hosts) - 1

    @contextmanager
    def clock(self, f: Function, node: Node) -> Iterator[None]:
        """Add the time that a node takes to its clock, in a program that is timed."""
        if not self.is_timed:
            yield
            return
        number = self.clocks.setdefault(node, len(self.clocks))
        self.module.external(CLOCKS)
        begin = f.call("llvm.readcyclecounter", I64, [])
        yield
        taken = f.call("llvm.readcyclecounter", I64, []) - begin
        slot = f.element(V(f, f"@{CLOCKS}", PTR), I64, number)
        atomics.update(f, "add", slot, taken, I64)

    def poll(self) -> str:
        """The function that long loops call: now and then it asks the runtime."""
        name = "weft.poll"
        if name not in self.module.functions:
            f = self.module.function(name, VOID, [("run", PTR)], attributes=SELDOM, internal=True)
            (run,) = f.arguments
            slot = f.element(run, I64, int(Run.CLOCK))
            now = f.call("llvm.readcyclecounter", I64, [])
            with f.when((now - f.load(slot, I64)).gt(1 << 27)):
                f.store(now, slot)
                function = f.load(f.element(run, I64, int(Run.POLL)), PTR)
                with f.when(function.ne(0)):
                    f.call_pointer(function, VOID, [run])
            f.ret()
        return name


def _word(f: Function, run: V, word: Run) -> V:
    return f.load(f.element(run, I64, int(word)), I64)


def emit_program(
    program: LoopProgram,
    target: Target | None = None,
    *,
    is_timed: bool = False,
    products: Products | None = None,
) -> ProgramCode:
    """The LLVM module of a loop program for a machine, this one unless told, and what goes with it.
    A timed program counts the time of each node; `products` says how matrices are multiplied.
    """
    code = ProgramCode(program, is_timed, products or Products(), Module(target))
    code.emit()
    return code
