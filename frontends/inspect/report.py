"""What users see of a compiled program: its kernels, what fused and what did not, its memory."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from weft.compiler.ir import dims
from weft.compiler.ir.alignment import aligned
from weft.compiler.ir.dims import Size
from weft.compiler.ir.graph import Graph, Op, Result, Value
from weft.compiler.ir.location import Location
from weft.compiler.loops.arena import Buffer, largest_live_set
from weft.compiler.loops.group import FusionGroup, Node, OpaqueNode, PiecewiseNode
from weft.compiler.loops.kernel_text import kernel_text
from weft.compiler.loops.memory import RegionPlan
from weft.compiler.loops.parallel import steps_at_once
from weft.compiler.loops.workspace import THREADS, measured_symbols
from weft.compiler.ops.contraction import dot_general, dot_general_sums
from weft.compiler.passes.layout.channels import layout_changes
from weft.compiler.record import record
from weft.runtime.threads import get_num_threads

if TYPE_CHECKING:
    from weft.compiler.loops.program import LoopProgram
    from weft.compiler.lower.llvm.program.module import ProgramCode


LARGE_CONSTANT_BYTES: Final = 1 << 20
# What routines of a program work in that find this out at run time, on so many threads.
Measure: TypeAlias = Callable[[int], Mapping[str, int]]

_SHOWN_WORKING: Final = 5  # nodes whose working memory is shown


class _Text:
    """A program as LLVM text, and as assembly when somebody asks."""

    def __init__(self, llvm: str) -> None:
        self.llvm = llvm

    @functools.cached_property
    def assembly(self) -> str:
        from weft.compiler.lower.llvm import machine as driver

        return driver.assembly(self.llvm)


@record
class KernelListing:
    """One fused loop nest: its readable form, its LLVM text, how many lanes it uses, and its
    assembly.
    """

    name: str
    text: str
    llvm: str
    lanes: int
    _program: _Text

    @property
    def assembly(self) -> str:
        """The functions of the kernel, as they are in the program's assembly."""
        name = re.escape(self.name)
        functions = rf"^_?{name}(?:\.\w+)*:.*?^\.?Lfunc_end\d+:$"
        return "\n".join(re.findall(functions, self._program.assembly, re.M | re.S))

    def __str__(self) -> str:
        return f"{self.name} ({self.lanes or 1} lanes)\n{self.text}"


@record
class Lowered:
    """A compiled version of a function, for reading: the loop program, its kernels, the whole of it
    as LLVM text and as assembly.
    """

    loops: LoopProgram
    kernels: tuple[KernelListing, ...]
    _program: _Text

    @property
    def graph(self) -> Graph:
        """The graph that is compiled: after all passes, in the forms that kernels and routines
        have.
        """
        return self.loops.graph

    @property
    def llvm(self) -> str:
        return self._program.llvm

    @property
    def assembly(self) -> str:
        return self._program.assembly

    def __str__(self) -> str:
        return "\n\n".join([str(self.graph), *map(str, self.kernels)])


def lowered(code: ProgramCode) -> Lowered:
    """The views of a program."""
    kernels = []
    program = _Text(code.module.text())
    for emitted in code.kernels.values():
        functions = [
            function.text()
            for name, function in code.module.functions.items()
            if name == emitted.name or name.startswith(f"{emitted.name}.")
        ]
        text = kernel_text(emitted.kernel)
        lanes = emitted.schedule.lanes
        kernels.append(KernelListing(emitted.name, text, "\n".join(functions), lanes, program))
    return Lowered(code.program, tuple(kernels), program)


# --- memory -------------------------------------------------------------------------------------


@record
class Alive:
    """An intermediate array that is in memory when the most is: its type, size and origin."""

    type: str
    bytes: Size
    op: str
    location: Location | None

    def __str__(self) -> str:
        place = f" {self.location}" if self.location is not None else ""
        return f"{_amount(self.bytes):>12}  {self.type} of {self.op}{place}"


@record
class Working:
    """What an op or a kernel works in while it runs: packed operands, rows of its threads, ..."""

    bytes: Size
    node: str

    def __str__(self) -> str:
        return f"{_amount(self.bytes):>12}  {self.node}"


@record
class Memory:
    """Bytes of a program: `peak` of intermediate values, the `lower_bound` that no plan could be
    below (0 where sizes are known only at run time), what is `alive` then, arguments and results,
    and `numbers` that the stack has no room for. Nodes that run work in `workspace` more, one after
    the other, on so many `threads`; `working` tells what each needs, the most first. `unplanned`
    has what takes memory of a size that is known only while the program runs.
    """

    peak: Size
    lower_bound: int
    alive: tuple[Alive, ...]
    arguments: Size
    results: Size
    numbers: int
    workspace: Size
    threads: int
    working: tuple[Working, ...]
    unplanned: tuple[str, ...]

    @property
    def total(self) -> Size:
        """What a call takes beside arguments and results, in one piece."""
        return self.peak + self.numbers + self.workspace

    def __str__(self) -> str:
        lines = [
            f"intermediate values: {_amount(self.peak)} at the peak, "
            f"{_amount(self.lower_bound)} alive at once",
            f"arguments {_amount(self.arguments)}, results {_amount(self.results)}",
            *[f"  {item}" for item in self.alive],
        ]
        if self.numbers:
            lines.append(f"single numbers: {_amount(self.numbers)}")
        if self.workspace != 0:
            lines.append(f"to work in, with {self.threads} threads: {_amount(self.workspace)}")
            lines += [f"  {item}" for item in self.working[:_SHOWN_WORKING]]
        lines += [f"known only at run time: memory of {item}" for item in self.unplanned]
        return "\n".join(lines)


def memory_of(
    graph: Graph, code: ProgramCode, measure: Measure, most_threads: int | None = None
) -> Memory:
    """The memory that a program's plan takes in a run on as many threads as it may use now."""
    allowed = most_threads or get_num_threads()
    threads = allowed if code.has_parallel_code else 1
    alive = largest_live_set(code.plan.temporaries)
    bound = sum(int(aligned(buffer.bytes)) for buffer in alive)
    shown = sorted(alive, key=lambda buffer: -int(buffer.bytes))

    values: dict[str, Size] = {THREADS: threads, **measure(threads)}

    def known(bytes: Size) -> Size:
        return dims.substitute(bytes, values)

    working = [
        Working(known(bytes), node_lines(node, code.ways)[0])
        for node, bytes in code.schedule.workspace.items()
    ]
    working.sort(key=lambda item: item.bytes if isinstance(item.bytes, int) else 0, reverse=True)
    return Memory(
        code.plan.bytes,
        bound,
        tuple(_alive(buffer) for buffer in shown),
        _bytes(graph.parameters),
        _bytes(graph.results),
        code.schedule.number_bytes,
        known(code.schedule.workspace_bytes),
        threads,
        tuple(working),
        tuple(_unplanned(code.plan)),
    )


def _unplanned(plan: RegionPlan) -> Iterator[str]:
    """What takes memory that no plan knows."""
    for region in plan.all_regions():
        for buffer in region.buffers:
            if buffer.kind == "late":
                yield str(_alive(buffer)).strip()


def _alive(buffer: Buffer) -> Alive:
    value = buffer.value
    op = value.op if isinstance(value, Result) else None
    location = op.location if op is not None else None
    return Alive(str(value.type), buffer.bytes, op.name if op else "?", location)


def _bytes(values: Sequence[Value]) -> Size:
    total: Size = 0
    for value in values:
        total = total + value.type.size * value.type.dtype.itemsize
    return total


def _amount(size: Size) -> str:
    if measured_symbols(size):
        return "as many bytes as routines find out in a call"
    if not isinstance(size, int):
        return f"{size} bytes"
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= scale:
            return f"{size / scale:.2f} {unit}"
    return f"{size} bytes"


# --- explain ------------------------------------------------------------------------------------


def explanation(code: ProgramCode, measure: Measure) -> list[str]:
    """What became a kernel, what runs on its own, and what was not fused, and why."""
    lines: list[str] = []
    _explain_region(code.plan, code, lines, "  ")
    lines += [
        f"  layout: {op.operands[0].type} becomes {op.results[0].type}, by {_named(op)}"
        for op in layout_changes(code.graph)
    ]
    memory = memory_of(code.graph, code, measure)
    lines.append(
        f"  memory: {_amount(memory.peak)} of intermediate values, at least "
        f"{_amount(memory.lower_bound)}, and {_amount(memory.workspace)} to work in"
    )
    return lines


def _explain_region(plan: RegionPlan, code: ProgramCode, lines: list[str], indent: str) -> None:
    for node in plan.nodes:
        followed = code.schedule.by_rows.get(node)
        with_it = "" if followed is None else f"  {followed} with it: "
        lines += [f"{indent}{with_it}{line}" for line in node_lines(node, code.ways)]
        if isinstance(node, OpaqueNode) and node.op in plan.controls:
            for body in plan.controls[node.op].bodies:
                _explain_region(body, code, lines, indent + "  ")
    stored = {value for value in plan.holders if isinstance(value, Result)}
    seen: set[tuple[Op, str]] = set()
    for refusal in plan.fusion.refusals:
        key = (refusal.producer, refusal.reason)
        if key in seen or refusal.producer.results[0] not in stored:
            continue
        seen.add(key)
        lines.append(f"{indent}not fused, {refusal.reason}: {_named(refusal.producer)}")
        lines += [f"{indent}  into {_named(consumer)}" for consumer in refusal.consumers]


def node_lines(node: Node, ways: Mapping[Op, str]) -> list[str]:
    """What runs as one, in a line or a few; `ways` says how ops are computed."""
    match node:
        case OpaqueNode():
            return [_routine_line(node.op, ways.get(node.op, ""))]
        case PiecewiseNode():
            assert isinstance(node.result, Result)
            pieces = [line for group in node.groups for line in _group_lines(group)]
            return [f"pieces of {_named(node.result.op)}", *[f"  {line}" for line in pieces]]
        case FusionGroup():
            return _group_lines(node)


def _routine_line(op: Op, way: str) -> str:
    if op.name == "scan":
        how = ", several at once" if steps_at_once(op) is not None else ""
        return f"{_named(op)} ({op.attributes['length']} steps{how})"
    if op.definition.work is None:
        return _named(op)
    shapes = " by ".join(str(operand.type) for operand in op.operands)
    name = op.name
    if "lhs_contract" in op.attributes:
        shapes += (
            f" over {list(op.attributes['lhs_contract'])}, {list(op.attributes['rhs_contract'])}"
        )
        name = dot_general.name
    if op.definition is dot_general_sums:
        shapes += ", and sums of the second"
    how = f": {way}" if way else ""
    place = "" if op.location is None else f", {op.location}" if how else f" {op.location}"
    return f"{name} of {shapes}{how}{place}"


def _group_lines(group: FusionGroup) -> list[str]:
    ops = {ref.value.op: None for ref in group.entries if isinstance(ref.value, Result)}
    loops = " x ".join(str(loop.size) for loop in group.loops) or "once"
    counts = Counter(op.name for op in ops)
    names = ", ".join(f"{n} {name}" if n > 1 else name for name, n in counts.items())
    if not group.loops and not group.reduce_loops:
        return [f"number: {names}"] if names else []
    places = dict.fromkeys(_place(op.location) for op in ops if op.location is not None)
    where = (
        f" ({', '.join(list(places)[:4])}{', ...' if len(places) > 4 else ''})" if places else ""
    )
    return [f"kernel over {loops}: {names or 'copy'}{where}"]


def _place(location: Location) -> str:
    return f"{location.file.rsplit('/', 1)[-1]}:{location.line}"


def _named(op: Op) -> str:
    return f"{op.name} {op.location}" if op.location is not None else op.name


# --- not a number -------------------------------------------------------------------------------


def why_nan(graph: Graph, arguments: Sequence[Any]) -> str:
    """Which op first made a NaN: the graph as it was traced, op by op."""
    import numpy as np

    from weft.compiler.ir.evaluate import evaluate

    for parameter, argument in zip(graph.parameters, arguments, strict=True):
        if _has(argument, np.isnan):
            return f"the argument {parameter.name} holds NaN already"
    infinite: list[str] = []

    class Found(Exception):
        pass

    def observe(op: Op, results: Sequence[Any]) -> None:
        if op.regions:
            return
        if not infinite and any(_has(result, np.isinf) for result in results):
            infinite.append(f"{_named(op)} made an infinity before that")
        for result in results:
            if _has(result, np.isnan):
                places = np.argwhere(np.isnan(result))
                first = tuple(int(i) for i in places[0])
                share = f"{len(places)} of {result.size} elements"
                raise Found(f"{_named(op)} made the first NaN: {share}, the first at {first}")

    try:
        evaluate(graph, list(arguments), observe=observe)
    except Found as found:
        return "\n".join([str(found), *infinite])
    return "no op made a NaN"


def _has(array: Any, test: Any) -> bool:
    return getattr(array.dtype, "kind", "") in "fc" and bool(test(array).any())


def summary(graph: Graph, backend: str) -> list[str]:
    """What a compiled version takes, which ops it has, and what deserves attention."""
    parameters = ", ".join(f"{p.name}: {p.type}" for p in graph.parameters)
    results = ", ".join(str(result.type) for result in graph.results)
    counts = Counter(op.name for region in graph.regions() for op in region.ops)
    kinds = ", ".join(f"{count} {name}" for name, count in counts.most_common())
    lines = [
        f"{graph.name}({parameters}) -> {results}",
        f"  backend: {backend}",
        f"  ops: {counts.total()} ({kinds})" if kinds else "  ops: none",
    ]
    for constant in graph.constants:
        if constant.array.nbytes < LARGE_CONSTANT_BYTES:
            continue
        place = f", used {constant.location}" if constant.location is not None else ""
        lines.append(
            f"  note: the function closes over an array {constant.type} of "
            f"{constant.array.nbytes / 2**20:.1f} MiB, "
            f"which was copied into the program as a constant{place}; pass it as an argument to "
            "share memory and "
            "to let it change"
        )
    return lines
