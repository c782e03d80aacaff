"""Kernels whose positions begin at 0: what all positions in an array have in common is added to the
address that the kernel is given, so that kernels which differ in nothing else are one.

The pieces of a concatenation and the steps of an unrolled loop over slices are such kernels.
"""

from __future__ import annotations

from collections.abc import Iterator

from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.index.affine import Index
from weft.compiler.loops.kernel import Entry, Kernel, Load, Stage, Write


def rebase(kernel: Kernel) -> Kernel:
    """The kernel with positions from 0 on, and offsets from the start of each array's storage."""
    shifts = _shifts(kernel)
    if not shifts:
        return kernel

    def moved(array: int, position: Index) -> Index:
        shift, _ = shifts.get(array, (0, 0))
        return position + -shift if shift else position

    entries = dict(kernel.entries)
    for ref, entry in entries.items():
        load = entry.source
        if isinstance(load, Load) and load.array in shifts:
            source = Load(load.array, moved(load.array, load.position), load.guards, load.dtype)
            entries[ref] = Entry(ref, source, entry.loops, entry.level)
    stages = []
    for stage in kernel.stages:
        writes = [
            Write(w.source, w.array, moved(w.array, w.position), w.guards, w.dtype, w.kind)
            for w in stage.writes
        ]
        reductions = [entries[entry.ref] for entry in stage.reductions]
        stages.append(Stage(stage.level, stage.loops, writes, reductions))
    moves = [shifts.get(array, (0, 0)) for array in range(len(kernel.arrays))]
    return Kernel(
        kernel.outer,
        entries,
        stages,
        kernel.arrays,
        kernel.arguments,
        kernel.weight,
        kernel.in_order,
        tuple(shift * itemsize for shift, itemsize in moves),
    )


def _shifts(kernel: Kernel) -> dict[int, tuple[int, int]]:
    """By array what all its positions begin with, in elements, and the bytes of one."""
    least: dict[int, tuple[int, int]] = {}
    fixed: set[int] = set()
    for array, position, dtype in _positions(kernel):
        start, itemsize = position.constant, dtype.itemsize
        known = least.setdefault(array, (start if isinstance(start, int) else 0, itemsize))
        if not isinstance(start, int) or start <= 0 or itemsize != known[1] or _goes_back(position):
            fixed.add(array)
        else:
            least[array] = (min(start, known[0]), itemsize)
    return {array: shift for array, shift in least.items() if array not in fixed}


def _goes_back(position: Index) -> bool:
    return any(not isinstance(size, int) or size < 0 for _, size in position.terms)


def _positions(kernel: Kernel) -> Iterator[tuple[int, Index, DType]]:
    for entry in kernel.entries.values():
        if isinstance(entry.source, Load):
            yield entry.source.array, entry.source.position, entry.source.dtype
    for stage in kernel.stages:
        for write in stage.writes:
            yield write.array, write.position, write.dtype
