"""Where the time of a call goes: the program with a clock around each kernel and routine."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from weft.compiler.abi import CLOCKS
from weft.compiler.ir.graph import Graph
from weft.compiler.loops.costs import product_steps
from weft.compiler.loops.group import Node, OpaqueNode
from weft.compiler.loops.memory import RegionPlan
from weft.compiler.lower.choice import Products
from weft.compiler.record import record
from weft.frontends.inspect.report import node_lines

if TYPE_CHECKING:
    from weft.compiler.lower.llvm.program.module import ProgramCode


@record
class Timed:
    """One kernel, routine or loop: its share of a call in seconds, without what is timed inside of
    it, and its arithmetic where that is known (multiplications and additions of products). Of steps
    that run on several threads at once, the times of all threads are added up.
    """

    name: str
    seconds: float
    flops: int | None

    def __str__(self) -> str:
        rate = f"{self.flops / self.seconds / 1e9:8.1f} GFLOP/s" if self.flops else ""
        return f"{self.seconds * 1e6:10.1f} us {rate:>17}  {self.name}"


@record
class Profile:
    """The parts of a program by time, the longest first, and the time of a whole call."""

    seconds: float
    parts: tuple[Timed, ...]

    def __str__(self) -> str:
        return self.table()

    def table(self, most: int = 30) -> str:
        """The longest parts as text."""
        inside = sum(part.seconds for part in self.parts)
        lines = [
            f"{self.seconds * 1e6:10.1f} us a call, {inside * 1e6:.1f} us in {len(self.parts)}"
        ]
        lines[0] += " parts"
        lines += [str(part) for part in self.parts[:most]]
        rest = self.parts[most:]
        if rest:
            lines.append(
                f"{sum(part.seconds for part in rest) * 1e6:10.1f} us {'':>17}  {len(rest)} others"
            )
        return "\n".join(lines)


def profile(
    graph: Graph,
    donated: Mapping[int, int],
    arguments: Callable[[], Sequence[Any]],
    calls: int,
    products: Products | None = None,
) -> Profile:
    """Compile the graph with clocks, and call it: `arguments` gives those of a call."""
    from weft.compiler.lower import cpu
    from weft.frontends.driver.machine_code import caller, compile_texts, support
    from weft.runtime.program import NativeProgram

    loops, _ = cpu.loops(graph, donated=donated, products=products)
    artifact, code = cpu.lower(loops, compile_texts, is_timed=True, products=products)
    cycles = (ctypes.c_int64 * max(len(code.clocks), 1))()
    address = ctypes.addressof(cycles)
    program = NativeProgram(artifact, caller(), support, {CLOCKS: address})
    program(arguments())
    ctypes.memset(address, 0, ctypes.sizeof(cycles))
    spent = 0.0
    for _ in range(calls):
        given = arguments()
        begin = time.perf_counter()
        program(given)
        spent += time.perf_counter() - begin
    per_cycle = _seconds_per_cycle() / calls
    taken = {node: cycles[number] * per_cycle for node, number in code.clocks.items()}
    parts = list(_parts(code.plan, code, taken, 1))
    parts.sort(key=lambda part: -part.seconds)
    return Profile(spent / calls, tuple(parts))


def _parts(
    plan: RegionPlan, code: ProgramCode, taken: Mapping[Node, float], times: int | None
) -> Iterator[Timed]:
    """The parts of a region that runs this many times a call (None: that is not known)."""
    for node in plan.nodes:
        if node not in taken or node in code.schedule.by_rows:
            continue
        own = taken[node]
        if isinstance(node, OpaqueNode) and node.op in plan.controls:
            steps = node.op.attributes.get("length")
            inner = times * steps if times is not None and isinstance(steps, int) else None
            for body in plan.controls[node.op].bodies:
                own -= sum(taken.get(inside, 0.0) for inside in body.nodes)
                yield from _parts(body, code, taken, inner)
        lines = node_lines(node, code.ways)
        if lines:
            chain = plan.order.consumers.get(node) if isinstance(node, OpaqueNode) else None
            with_it = [
                f"; {code.schedule.by_rows[each]} with it: {node_lines(each, code.ways)[0]}"
                for each in (chain.nodes if chain is not None else ())
                if each in code.schedule.by_rows
            ]
            yield Timed("".join([lines[0], *with_it]), max(own, 0.0), _flops(node, times))


def _flops(node: Node, times: int | None) -> int | None:
    if not isinstance(node, OpaqueNode) or times is None:
        return None
    count = product_steps(node.op)
    return None if count is None else 2 * count * times


def _seconds_per_cycle() -> float:
    """How long a step of the clock that programs read takes, measured."""
    from weft.compiler.lower.llvm.emit.function import Module
    from weft.compiler.lower.llvm.emit.types import I64
    from weft.frontends.driver.machine_code import compile_text
    from weft.runtime.native import Library

    module = Module()
    f = module.function("cycles", I64, [])
    f.ret(f.call("llvm.readcyclecounter", I64, []))
    library = Library(compile_text(module.text()), ("cycles",))
    read = ctypes.CFUNCTYPE(ctypes.c_int64)(library.address("cycles"))
    begin, first = time.perf_counter(), read()
    time.sleep(0.02)
    return (time.perf_counter() - begin) / max(int(read()) - int(first), 1)
