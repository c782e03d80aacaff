"""Checks of kernels: they read and write inside of the arrays that the plan has for them, and
compute everything before it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.compiler.ir.index.affine import Index, Loop
from weft.compiler.ir.index.expression import Reduction, Ref
from weft.compiler.loops.arena import Buffer
from weft.compiler.loops.fault import Fault
from weft.compiler.loops.group import FusionGroup
from weft.compiler.loops.kernel import Argument, Kernel, Load, Stage, read_by
from weft.compiler.loops.memory import RegionPlan
from weft.compiler.loops.naming import groups_of, targets_of_copies

if TYPE_CHECKING:
    from weft.compiler.loops.program import LoopProgram


def verify_kernels(program: LoopProgram) -> None:
    """Check the kernels of all regions."""
    built = program.kernels
    assert built is not None
    for plan in program.plan.all_regions():
        known = {*plan.buffers, *targets_of_copies(plan)}
        strided = {layout.storage for layout in plan.strided.values()}
        for kernel in _kernels_of(program, plan):
            _verify_kernel(kernel, known, strided)


def _kernels_of(program: LoopProgram, plan: RegionPlan) -> list[Kernel]:
    built = program.kernels
    assert built is not None
    kernels: list[Kernel] = []
    for node in plan.nodes:
        for group in groups_of(node):
            if group not in built.of_group:
                raise Fault("has no kernel", group)
            kernels.append(built.of_group[group])
    for chain in plan.order.consumers.values():
        for each in chain.nodes:
            if isinstance(each, FusionGroup):
                if each not in built.in_rows:
                    raise Fault("consumes rows and has no kernel that goes by rows", each)
                kernel, rows = built.in_rows[each]
                if kernel.outer[: len(rows)] != rows:
                    raise Fault("does not go through rows first", kernel)
                kernels.append(kernel)
    for copy in plan.copies.values():
        if copy not in built.of_copy:
            raise Fault("has no kernel", copy)
        kernels.append(built.of_copy[copy])
    return kernels


def _verify_kernel(kernel: Kernel, known: set[Buffer], strided: set[object]) -> None:
    for storage, _ in kernel.arrays:
        is_slot = isinstance(storage, tuple) and storage[0] == "slot"
        if not is_slot and storage not in known:
            raise Fault("has an array that is not in the plan of its region", kernel)
    if kernel.like is not None and not _is_like(kernel, kernel.like):
        raise Fault("is not like the kernel whose nest it has", kernel)
    _verify_entries(kernel)
    reduced: list[Ref] = []
    for stage in kernel.stages:
        _verify_stage(kernel, stage)
        reduced += [entry.ref for entry in stage.reductions]
    wanted = [ref for ref, e in kernel.entries.items() if isinstance(e.source, Reduction)]
    if sorted(map(id, reduced)) != sorted(map(id, wanted)):
        raise Fault("does not reduce each of its reductions in one stage", kernel)
    _verify_positions(kernel, strided)


def _is_like(kernel: Kernel, other: Kernel) -> bool:
    """Whether a kernel has all of another one but its arrays and numbers."""
    nests = [(k.outer, k.entries, k.stages, k.weight, k.in_order) for k in (kernel, other)]
    written = [[is_written for _, is_written in k.arrays] for k in (kernel, other)]
    types = [[value.type for value in k.arguments] for k in (kernel, other)]
    return other.like is None and all(one == two for one, two in (nests, written, types))


def _verify_entries(kernel: Kernel) -> None:
    """What an entry reads comes before it, at its level or below."""
    levels: dict[Ref, int] = {}
    for ref, entry in kernel.entries.items():
        source = entry.source
        for read in read_by(source):
            if read not in levels:
                raise Fault(f"computes {ref!r} before what it reads", kernel)
            if levels[read] + isinstance(source, Reduction) > entry.level:
                raise Fault(f"has {ref!r} at a level below what it reads", kernel)
        if isinstance(source, Argument) and source.number >= len(kernel.arguments):
            raise Fault(f"has no number a{source.number}", kernel)
        levels[ref] = entry.level


def _verify_stage(kernel: Kernel, stage: Stage) -> None:
    loops = {*kernel.outer, *stage.loops}
    if len(loops) != len(kernel.outer) + len(stage.loops):
        raise Fault("goes through a loop twice", kernel)
    for entry in stage.reductions:
        source = entry.source
        if not isinstance(source, Reduction) or entry.level != stage.level + 1:
            raise Fault("reduces in a stage of another level", kernel)
        if set(source.over) != set(stage.loops):
            raise Fault("reduces in a stage with other loops", kernel)
    for write in stage.writes:
        if write.source not in kernel.entries:
            raise Fault("writes what it does not compute", kernel)
        if kernel.entries[write.source].level > stage.level:
            raise Fault("writes a value before it is reduced", kernel)
        if not write.position.loops <= loops:
            raise Fault("writes by a loop that is not open", kernel)
        if not kernel.arrays[write.array][1]:
            raise Fault(f"writes to p{write.array}, which is not written", kernel)


def _verify_positions(kernel: Kernel, strided: set[object]) -> None:
    """Positions that nothing guards lie in their arrays, where all sizes are known."""
    loops = {*kernel.outer, *kernel.inner}
    if any(loop.size == 0 for loop in loops):
        return
    for entry in kernel.entries.values():
        source = entry.source
        if isinstance(source, Load) and not source.guards:
            _verify_position(kernel, source.array, source.position, source.dtype.itemsize, strided)
    for stage in kernel.stages:
        for write in stage.writes:
            if not write.guards:
                itemsize = write.dtype.itemsize
                _verify_position(kernel, write.array, write.position, itemsize, strided)


def _verify_position(
    kernel: Kernel, array: int, position: Index, itemsize: int, strided: set[object]
) -> None:
    if array >= len(kernel.arrays):
        raise Fault(f"has no array p{array}", kernel)
    storage = kernel.arrays[array][0]
    reach = _reach(position)
    if reach is None or storage in strided:
        return
    bytes = storage.bytes if isinstance(storage, Buffer) else itemsize
    start = kernel.offsets[array] // itemsize if kernel.offsets else 0
    first, last = reach[0] + start, reach[1] + start
    if isinstance(bytes, int) and not 0 <= first <= last < bytes // itemsize:
        what = f"from {first} to {last} of p{array}, which has {bytes // itemsize}"
        raise Fault(f"reads or writes elements {what}", kernel)


def _reach(position: Index) -> tuple[int, int] | None:
    """The least and the largest position; None where sizes are not known."""
    if position.extras or not isinstance(position.constant, int):
        return None
    low = high = position.constant
    for loop, factor in position.terms:
        size = _steps(loop)
        if size is None or not isinstance(factor, int):
            return None
        low += min(factor * (size - 1), 0)
        high += max(factor * (size - 1), 0)
    return low, high


def _steps(loop: Loop) -> int | None:
    return loop.size if isinstance(loop.size, int) else None
