"""Checks of schedules: every kernel runs in one way, and that way goes through all of its loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.compiler.ir import dims
from weft.compiler.ir.dims import Dim, Size
from weft.compiler.loops.fault import Fault
from weft.compiler.loops.group import FusionGroup, OpaqueNode
from weft.compiler.loops.kernel import Kernel
from weft.compiler.loops.kernel_text import kernel_text
from weft.compiler.loops.memory import RegionPlan
from weft.compiler.loops.naming import groups_of
from weft.compiler.loops.reduction_tiling import ReductionPlan
from weft.compiler.loops.schedule import KernelCase, Schedule, TaskChain
from weft.compiler.loops.workspace import kernel_memory, measured_symbols, number_bytes

if TYPE_CHECKING:
    from weft.compiler.loops.program import LoopProgram


_SMALL, _LARGE = 3, 1 << 40  # values of symbols that sizes are compared for


def verify_schedule(program: LoopProgram) -> None:
    """Check how kernels and nodes run."""
    schedule = program.scheduled
    built = {case: kernel for kernel, case in reversed(schedule.case_of.items())}
    for case in schedule.cases.values():
        if case not in built:
            raise Fault(f"nothing is called as {case.name}")
        _verify_case(case, built[case])
    for kernel, case in schedule.case_of.items():
        if schedule.cases.get(case.name) is not case:
            raise Fault(f"is called as {case.name}, which is another kernel", kernel)
        if kernel is not case.kernel and kernel_text(kernel) != kernel_text(case.kernel):
            raise Fault(f"is called as {case.name}, which computes something else", kernel)
    for plan in program.plan.all_regions():
        _verify_runs(program, plan, schedule)
        _verify_chains(plan, schedule)
        _verify_controls(plan, schedule)
    _verify_workspace(program, program.plan, schedule)
    if schedule.number_bytes != number_bytes(program.plan):
        raise Fault(f"has {schedule.number_bytes} bytes for its numbers")


def _verify_workspace(program: LoopProgram, plan: RegionPlan, schedule: Schedule) -> None:
    """Kernels have what they work in, and the program has what each of its nodes needs; steps that
    run at once have what they need in the frames of their threads.
    """
    assert program.kernels is not None
    total = schedule.workspace_bytes
    for node in plan.nodes:
        bytes = schedule.workspace.get(node, 0)
        if not _is_covered(bytes, total):
            raise Fault(f"works in {bytes} bytes, and the program has {total}", node)
        case = None
        if isinstance(node, FusionGroup) and node not in schedule.by_rows:
            case = schedule.case_of.get(program.kernels.of_group[node])
        if case is not None and bytes != kernel_memory(case.kernel, case.vectors).bytes():
            raise Fault(f"works in {bytes} bytes, which is not what its kernel needs", node)
        if isinstance(node, OpaqueNode) and node.op not in schedule.parallel:
            control = plan.controls.get(node.op)
            for body in () if control is None else control.bodies:
                _verify_workspace(program, body, schedule)


def _is_covered(bytes: Size, total: Size) -> bool:
    """Whether a size is no larger than another one, for some values of their symbols. Sizes that
    are measured can have any: one by one they are given a large one.
    """
    every = [
        symbol for size in (bytes, total) if isinstance(size, Dim) for symbol in dims.symbols(size)
    ]
    small = {symbol.name: max(symbol.lower, _SMALL) for symbol in every}
    for large in (None, *measured_symbols(bytes)):
        values = small if large is None else small | {large: _LARGE}
        if dims.evaluate(bytes, values) > dims.evaluate(total, values):
            return False
    return True


def _verify_runs(program: LoopProgram, plan: RegionPlan, schedule: Schedule) -> None:
    """Every kernel is either called or in line, but for those that go on with rows."""
    built = program.kernels
    assert built is not None
    kernels: list[Kernel] = []
    for node in plan.nodes:
        if node not in schedule.by_rows:
            kernels += [built.of_group[group] for group in groups_of(node)]
    kernels += [built.of_copy[copy] for copy in plan.copies.values()]
    for kernel in kernels:
        if (kernel in schedule.inlined) == (kernel in schedule.case_of):
            raise Fault("is not either called or in line", kernel)
    temporaries = set(plan.temporaries)
    for buffer in plan.buffers:
        if buffer in schedule.stack and buffer not in temporaries:
            raise Fault("is on the stack and not temporary", buffer)


def _verify_case(case: KernelCase, built: Kernel) -> None:
    """Check how a kernel runs; `built` is the one that faults are shown at."""
    kernel, vectors = case.kernel, case.vectors
    if vectors.outer is not None and vectors.outer not in kernel.outer:
        raise Fault("has lanes along a loop that is not one of its outer ones", built)
    for stage, loop in vectors.along.items():
        if stage not in kernel.stages or loop not in stage.loops:
            raise Fault("has lanes along a loop of no stage", built)
    if vectors.lanes and vectors.outer is None and not vectors.along:
        raise Fault("has lanes along no loop", built)
    if vectors.lanes == 1 or vectors.block < vectors.lanes:
        raise Fault(f"has {vectors.lanes} lanes in blocks of {vectors.block}", built)
    if vectors.tile is not None and vectors.tile not in kernel.outer:
        raise Fault("is tiled along a loop that is not one of its outer ones", built)
    if vectors.squares and (vectors.tile is None or vectors.tile is vectors.outer):
        raise Fault("goes by squares of one loop", built)
    if vectors.tiling is not None:
        _verify_tiling(kernel, vectors.tiling, built)


def _verify_tiling(kernel: Kernel, tiling: ReductionPlan, built: Kernel) -> None:
    """A unit goes through all that is reduced, and the parts through all of what is divided."""
    if tiling.stage not in kernel.stages:
        raise Fault("has tiles of a stage that it does not have", built)
    if set(tiling.order) != {*tiling.kept, *tiling.stage.loops}:
        raise Fault("does not go through all that it reduces", built)
    if not set(tiling.kept) <= set(kernel.outer) or tiling.tile < 1 or tiling.together < 1:
        raise Fault("has tiles of loops that it does not keep", built)
    split = tiling.split
    if split is None:
        return
    if split not in tiling.stage.loops:
        raise Fault("divides a loop that it does not reduce", built)
    sizes = (split.size, tiling.parts, tiling.each)
    if all(isinstance(size, int) for size in sizes) and tiling.parts * tiling.each < split.size:
        raise Fault("has parts that leave out the end of a loop", built)


def _verify_chains(plan: RegionPlan, schedule: Schedule) -> None:
    own = {node for node in plan.nodes if node in schedule.by_rows}
    for producer in plan.nodes:
        if not isinstance(producer, OpaqueNode) or producer not in schedule.chains:
            continue
        chain = schedule.chains[producer]
        _verify_chain(plan, producer, chain, schedule)
        own -= {task.node for task in chain.tasks}
    for node in own:
        raise Fault("runs by rows and is in no chain", node)


def _verify_chain(
    plan: RegionPlan, producer: OpaqueNode, chain: TaskChain, schedule: Schedule
) -> None:
    wanted = plan.order.consumers.get(producer)
    if wanted is None or (wanted.rows, wanted.parts) != (chain.rows, chain.parts):
        raise Fault("feeds other rows than the order says", producer)
    if [task.node for task in chain.tasks] != wanted.nodes[: len(chain.tasks)]:
        raise Fault("feeds other nodes than the order says", producer)
    for task in chain.tasks:
        if task.node not in schedule.by_rows:
            raise Fault("consumes rows and runs on its own as well", task.node)
        if not isinstance(task.node, FusionGroup):
            continue
        if task.kernel is None or schedule.case_of.get(task.kernel) is not task.case:
            raise Fault("consumes rows by a kernel that is not called", task.node)
        if dims.product(loop.size for loop in task.rows) != chain.rows:
            raise Fault("goes through another number of rows", task.node)


def _verify_controls(plan: RegionPlan, schedule: Schedule) -> None:
    for node in plan.nodes:
        if not isinstance(node, OpaqueNode) or node.op not in plan.controls:
            continue
        control = plan.controls[node.op]
        if node.op in schedule.parallel and control.carried:
            raise Fault("runs its steps at once and carries something", node)
        for number in range(len(node.op.results)):
            if (node.op, number) in schedule.stack_carries and number >= control.carried:
                raise Fault(f"has result {number} on the stack, which it does not carry", node)
