"""How much memory nodes work in, beside the arrays that they read and write: rows that stages of a
kernel keep, running results of reductions, what a target's routines ask for, and the frames of
threads that run steps of a loop at once.

Nodes of a program run one after the other, so that they share this memory: it lies behind the
arrays of the program and is as large as the largest need. Sizes may depend on how many threads a
run has (`THREADS`), and on what routines find out when a program is called (`measured`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from weft.compiler.ir import dims
from weft.compiler.ir.alignment import aligned, parts_for_threads
from weft.compiler.ir.dims import Dim, Size
from weft.compiler.ir.graph import Op
from weft.compiler.ir.index.affine import Loop
from weft.compiler.ir.index.expression import Ref
from weft.compiler.loops.build_kernels import Kernels
from weft.compiler.loops.group import (
    FusionGroup,
    Node,
    OpaqueNode,
    PiecewiseNode,
    Reduction,
    targets_of,
)
from weft.compiler.loops.kernel import Kernel
from weft.compiler.loops.memory import RegionPlan
from weft.compiler.loops.reduction_tiling import ReductionPlan
from weft.compiler.loops.stage_values import stage_values
from weft.compiler.loops.vectorise import VectorPlan
from weft.compiler.loops.work_items import is_shared
from weft.compiler.record import record

if TYPE_CHECKING:
    from weft.compiler.loops.schedule import KernelCase, Schedule

THREADS: Final = "run.threads"  # the symbol of the number of threads of a run
_THREADS: Final = dims.symbol(THREADS)
_MEASURED: Final = "bytes."  # how symbols begin whose values routines find out
NUMBER_BYTES: Final = 16  # of a number in memory, a complex one too
MOST_NUMBERS: Final = 256  # of a program that has room for them on the stack
PARTIAL_BYTES: Final = 24  # of the running result of a part: three numbers at most

# What a target's routine for an op works in, whose operands have these strides, where so many
# threads may be at work.
RoutineBytes: TypeAlias = "Callable[[Op, Sequence[tuple[Size, ...]], Size], Size]"


def measured(name: str) -> Size:
    """What a routine works in that finds this out by its sizes when a program is called, before
    anything else runs: a symbol, of which a name is to tell whose it is.
    """
    return dims.symbol(f"{_MEASURED}{name}")


def measured_symbols(size: Size) -> list[str]:
    """The names of such symbols in a size."""
    if not isinstance(size, Dim):
        return []
    return sorted(s.name for s in dims.symbols(size) if s.name.startswith(_MEASURED))


def call_key(op: Op, strides: Sequence[tuple[Size, ...]]) -> Hashable:
    """What calls of a routine have in common that run the same code and work in as much."""
    types = tuple([value.type for value in (*op.operands, *op.results)])
    return op.definition, tuple(op.attributes.items()), types, tuple(strides)


def call_sizes(op: Op, strides: Sequence[tuple[Size, ...]]) -> list[Size]:
    """The sizes on which a routine's code depends: strides, shapes, and symbols among an op's
    attributes.
    """
    shapes = [value.type.shape for value in (*op.operands, *op.results)]
    sizes = [size for group in (*strides, *shapes) for size in group]
    return [*sizes, *_attribute_sizes(list(op.attributes.values()))]


def _attribute_sizes(values: Sequence[object]) -> Iterator[Size]:
    for value in values:
        if isinstance(value, Dim):
            yield value
        elif isinstance(value, tuple):
            yield from _attribute_sizes(value)


def no_bytes(op: Op, strides: Sequence[tuple[Size, ...]], threads: Size) -> Size:
    """A target whose routines plan nothing."""
    return 0


def plan_workspace(
    plan: RegionPlan, kernels: Kernels, schedule: Schedule, routine_bytes: RoutineBytes
) -> tuple[dict[Node, Size], Size]:
    """What each node works in, and what the whole program needs for it."""
    planner = _Planner(kernels, schedule, routine_bytes)
    total = planner.region(plan, _THREADS, frozenset())
    return planner.workspace, total


def number_bytes(plan: RegionPlan) -> int:
    """The memory for what nodes make that is no array, where that may be more than the stack has
    room for: once where it is made, and once where it passes from one part of a long program to
    another.
    """
    count = sum(
        not target.type.rank
        for region in plan.all_regions()
        for node in region.nodes
        for target in targets_of(node)
    )
    return 0 if count <= MOST_NUMBERS else int(aligned(2 * count * NUMBER_BYTES))


class _Planner:
    def __init__(self, kernels: Kernels, schedule: Schedule, routine_bytes: RoutineBytes) -> None:
        self.kernels = kernels
        self.schedule = schedule
        self.routine_bytes = routine_bytes
        self.workspace: dict[Node, Size] = {}
        self._kernels: dict[tuple[KernelCase, Size, bool], Size] = {}

    def region(self, plan: RegionPlan, threads: Size, late: frozenset[str]) -> Size:
        """The largest need of a region's nodes. `late` has the symbols whose values are not known
        when the program is called: what depends on these is not planned.
        """
        late |= plan.late
        sizes: list[Size] = []
        for node in plan.nodes:
            if node in self.schedule.by_rows:
                continue
            bytes = self._node(plan, node, threads, late)
            if _is_known(bytes, late) and bytes != 0:
                self.workspace[node] = bytes
                sizes.append(bytes)
        return largest(sizes)

    def _node(self, plan: RegionPlan, node: Node, threads: Size, late: frozenset[str]) -> Size:
        match node:
            case FusionGroup():
                return self._group(node, threads)
            case PiecewiseNode():
                return largest([self._group(group, threads) for group in node.groups])
            case OpaqueNode():
                if node.op in plan.controls:
                    return self._control(plan, node.op, threads, late)
                return self._routine(plan, node, threads, late)

    def _group(self, group: FusionGroup, threads: Size) -> Size:
        case = self.schedule.case_of.get(self.kernels.of_group[group])
        return 0 if case is None else self._kernel(case, threads)

    def _kernel(self, case: KernelCase, threads: Size, *, by_rows: bool = False) -> Size:
        """What a kernel works in, on its own or where it consumes rows, on all threads then."""
        key = case, threads, by_rows
        if key not in self._kernels:
            memory = kernel_memory(case.kernel, case.vectors)
            on_threads = parts_for_threads(memory.of_thread, threads)
            self._kernels[key] = on_threads if by_rows else memory.bytes(threads)
        return self._kernels[key]

    def _control(self, plan: RegionPlan, op: Op, threads: Size, late: frozenset[str]) -> Size:
        bodies = plan.controls[op].bodies
        if op not in self.schedule.parallel:
            return largest([self.region(body, threads, late) for body in bodies])
        (body,) = bodies
        iteration = op.definition.memory.iteration
        assert iteration is not None
        frame = aligned(body.bytes) + self.region(body, 1, late)
        return parts_for_threads(frame, threads, iteration.steps(op))

    def _routine(
        self, plan: RegionPlan, node: OpaqueNode, threads: Size, late: frozenset[str]
    ) -> Size:
        """An op, and the kernels that consume its rows on the same threads."""
        op = node.op
        strides = plan.operand_strides(op)
        total = self.routine_bytes(op, strides, threads)
        if measured_symbols(total) and not all(_is_known(x, late) for x in call_sizes(op, strides)):
            return 0
        chain = self.schedule.chains.get(node)
        for task in () if chain is None else chain.tasks:
            if task.case is not None:
                total = total + self._kernel(task.case, threads, by_rows=True)
        return total


def largest(sizes: Sequence[Size]) -> Size:
    """What nodes need that run one after the other; bounds decide nothing between sizes that are
    measured.
    """
    most: Size = 0
    opaque: dict[Size, None] = {}
    for size in dict.fromkeys(sizes):
        if measured_symbols(size):
            opaque[size] = None
        else:
            most = dims.maximum(most, size)
    for size in opaque:
        most = dims.maximum(most, size, use_bounds=False) if most != 0 else size
    return most


def _is_known(size: Size, late: frozenset[str]) -> bool:
    return not isinstance(size, Dim) or not any(s.name in late for s in dims.symbols(size))


# --- kernels ------------------------------------------------------------------------------------


@record
class KernelMemory:
    """What a kernel works in: `partials`, the running results of a reduction's parts, and what each
    thread has for itself; whether there may be several threads.
    """

    partials: Size
    of_thread: Size
    is_shared: bool

    def bytes(self, threads: Size = _THREADS) -> Size:
        """All of it, in a run on so many threads."""
        return self.partials + parts_for_threads(self.of_thread, threads if self.is_shared else 1)


def kernel_memory(kernel: Kernel, vectors: VectorPlan) -> KernelMemory:
    """What a kernel works in."""
    total: Size = 0
    for _, bytes in kept_rows(kernel, vectors).values():
        total = total + aligned(bytes)
    tiling = vectors.tiling
    if tiling is not None:
        for bytes in running_bytes(tiling, vectors):
            total = total + aligned(bytes)
    split = tiling is not None and tiling.split is not None
    partials = partial_bytes(kernel, tiling) if tiling is not None and split else 0
    return KernelMemory(partials, total, is_shared(kernel, vectors))


def kept_rows(kernel: Kernel, vectors: VectorPlan) -> dict[Ref, tuple[tuple[Loop, ...], Size]]:
    """The entries whose rows several stages read: the loops over a row, and its bytes. Rows that
    vectors go along are one vector longer.
    """
    kept = stage_values(kernel).kept
    rows: dict[Ref, tuple[tuple[Loop, ...], Size]] = {}
    for ref in kernel.entries:
        if ref not in kept:
            continue
        loops = [loop for loop in kernel.inner if loop in kernel.entries[ref].loops]
        loops.sort(key=lambda loop: loop in vectors.along.values())
        lanes, itemsize = max(vectors.lanes, 1), ref.value.type.dtype.itemsize
        steps = dims.product(loop.size for loop in loops)
        if vectors.outer is not None:
            steps = steps * lanes
        rows[ref] = tuple(loops), (steps + lanes) * itemsize
    return rows


def running_results(tiling: ReductionPlan, vectors: VectorPlan) -> int:
    """How many running results a work item of a tiled reduction holds."""
    return math.prod(running_extent(loop, tiling, vectors) for loop in tiling.kept)


def running_extent(loop: Loop, tiling: ReductionPlan, vectors: VectorPlan) -> int:
    """Steps of a kept loop for which there are running results: whole vectors."""
    size = tiling.tile if loop is tiling.kept[0] else loop.size
    assert isinstance(size, int)
    unit = vectors.lanes if vectors.lanes and loop is vectors.outer else 1
    return -(-size // unit) * unit


def running_bytes(tiling: ReductionPlan, vectors: VectorPlan) -> list[int]:
    """The bytes of each array of running results; a single one is in a register."""
    count = running_results(tiling, vectors)
    if count == 1:
        return []
    sizes: list[int] = []
    for entry in tiling.stage.reductions:
        assert isinstance(entry.source, Reduction)
        dtype = entry.source.body.value.type.dtype.working
        parts = 2 if dtype.is_complex else 1
        sizes += [count * (dtype.itemsize // parts)] * parts
        if entry.source.kind in ("argmax", "argmin"):
            sizes += [count * 8, count]
    return sizes


def partial_bytes(kernel: Kernel, tiling: ReductionPlan) -> Size:
    """The running results of all parts."""
    results = dims.product(loop.size for loop in kernel.outer)
    return aligned(tiling.parts * results * (len(tiling.stage.reductions) * PARTIAL_BYTES))
