"""Fewer loops: neighbouring loops of a kernel as one, where all positions in memory allow it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from weft.compiler.ir.index.affine import Index, Loop
from weft.compiler.ir.index.expression import Choose, Position, Quotient
from weft.compiler.loops.group import Reduction
from weft.compiler.loops.kernel import Entry, Kernel, Load, Source, Stage, Write


def collapse(kernel: Kernel, rows: tuple[Loop, ...] = ()) -> tuple[Kernel, tuple[Loop, ...]]:
    """The kernel with neighbouring loops made one where all positions allow it. Those of `rows`,
    the first of the outer ones, are joined only with each other; they are returned as they then
    are.
    """
    pinned = _pinned(kernel)
    positions = list(kernel.indices())
    merged: dict[Loop, tuple[Loop, Loop]] = {}

    def joined(loops: Sequence[Loop], also: Sequence[Sequence[Loop]]) -> None:
        for first, second in zip(loops, loops[1:], strict=False):
            together = all(
                (first in group) == (second in group)
                and (
                    first not in group or list(group).index(second) == list(group).index(first) + 1
                )
                for group in also
            )
            free = first not in pinned and second not in pinned
            free = free and (first in rows) == (second in rows)
            if free and together and all(_are_joined(p, first, second) for p in positions):
                merged[first] = (first, second)
                return

    groups = [kernel.outer, *[stage.loops for stage in kernel.stages]]
    for loops in groups:
        joined(loops, groups)
        if merged:
            break
    if not merged:
        return kernel, rows
    ((first, second),) = merged.values()
    whole = Loop(first.size * second.size)
    kept = tuple(whole if loop is first else loop for loop in rows if loop is not second)
    return collapse(_substituted(kernel, first, second, whole), kept)


def _are_joined(position: Index, first: Loop, second: Loop) -> bool:
    return position.factor(first) == position.factor(second) * second.size


def _pinned(kernel: Kernel) -> set[Loop]:
    """The loops whose counters are used for more than positions in memory."""
    pinned: set[Loop] = set()
    for entry in kernel.entries.values():
        source = entry.source
        if isinstance(source, Load):
            for guard in source.guards:
                pinned |= guard.index.loops
            for _, extra in source.position.extras:
                pinned |= extra.loops
        elif isinstance(source, Position | Quotient):
            pinned |= source.index.loops
        elif isinstance(source, Choose):
            for guard in source.guards:
                pinned |= guard.index.loops
        elif isinstance(source, Reduction) and source.kind.startswith("arg"):
            pinned |= set(source.over)
    for stage in kernel.stages:
        for write in stage.writes:
            for guard in write.guards:
                pinned |= guard.index.loops
            for _, extra in write.position.extras:
                pinned |= extra.loops
    return pinned


def _substituted(kernel: Kernel, first: Loop, second: Loop, whole: Loop) -> Kernel:
    """The kernel with two loops replaced by one."""

    def index(old: Index) -> Index:
        if old.factor(second) == 0 and old.factor(first) == 0:
            return old
        rest = tuple(term for term in old.terms if term[0] is not first and term[0] is not second)
        return Index(rest, old.constant, old.extras) + Index(((whole, old.factor(second)),))

    def loops(old: Iterable[Loop]) -> tuple[Loop, ...]:
        return tuple(whole if loop is first else loop for loop in old if loop is not second)

    def varying(old: frozenset[Loop]) -> frozenset[Loop]:
        if first not in old and second not in old:
            return old
        return (old - {first, second}) | {whole}

    def source(old: Source) -> Source:
        if isinstance(old, Load):
            return Load(old.array, index(old.position), old.guards, old.dtype)
        if isinstance(old, Reduction):
            return Reduction(old.kind, old.body, loops(old.over), old.op)
        return old

    entries = {
        ref: Entry(ref, source(entry.source), varying(entry.loops), entry.level)
        for ref, entry in kernel.entries.items()
    }
    stages = []
    for stage in kernel.stages:
        writes = [
            Write(w.source, w.array, index(w.position), w.guards, w.dtype, w.kind)
            for w in stage.writes
        ]
        reductions = [entries[entry.ref] for entry in stage.reductions]
        stages.append(Stage(stage.level, loops(stage.loops), writes, reductions))
    return Kernel(
        loops(kernel.outer),
        entries,
        stages,
        kernel.arrays,
        kernel.arguments,
        kernel.weight,
        kernel.in_order,
    )
