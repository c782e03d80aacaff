"""What each stage of a kernel computes, and what it keeps for the stages after it.

A stage computes what it reads, except for rows that an earlier stage computed already: these are
kept in scratch memory, so that a value that feeds a maximum and the exponential shifted by it is
computed once. Loads and plain renamings are cheaper to repeat than to keep.
"""

from __future__ import annotations

from collections.abc import Iterable

from weft.compiler.ir.index.expression import Apply, Choose, Combined, Ref
from weft.compiler.ir.index.references import references
from weft.compiler.loops.group import Reduction
from weft.compiler.loops.kernel import Argument, Entry, Kernel, Load, Stage
from weft.compiler.record import record


@record
class StageValues:
    """`needed` lists the entries that a stage reads, each after those it is computed from; `kept`
    has those that more than one stage reads: the first computes and stores them, later ones load.
    """

    needed: dict[Stage, list[Ref]]
    kept: set[Ref]


def stage_values(kernel: Kernel) -> StageValues:
    """What the stages of a kernel compute and keep."""
    entries = kernel.entries
    position = {ref: number for number, ref in enumerate(entries)}
    inner = set(kernel.inner)
    done: set[Ref] = set()
    needed: dict[Stage, list[Ref]] = {}
    kept: set[Ref] = set()
    for stage in kernel.stages:
        reached: set[Ref] = set()
        stack = list(_roots(stage))
        while stack:
            ref = stack.pop()
            if ref in reached:
                continue
            reached.add(ref)
            entry = entries[ref]
            if isinstance(entry.source, Reduction):
                continue
            if ref in done and entry.loops & inner and _is_work(entry):
                kept.add(ref)
                continue
            stack.extend(reads(entry))
        done |= reached
        needed[stage] = sorted(reached, key=position.__getitem__)
    return StageValues(needed, kept)


def reads(entry: Entry) -> list[Ref]:
    """The entries that an entry is computed from; none for a reduction, which its stage makes."""
    source = entry.source
    if isinstance(source, Load):
        entries = [read for _, extra in source.position.extras for read in references(extra)]
        for guard in source.guards:
            for _, extra in guard.index.extras:
                entries.extend(references(extra))
        return entries
    if isinstance(source, Reduction | Argument):
        return []
    return list(references(source))


def _roots(stage: Stage) -> Iterable[Ref]:
    """What a stage reduces and writes, and what the positions of its writes are made of."""
    for entry in stage.reductions:
        assert isinstance(entry.source, Reduction)
        yield entry.source.body
    for write in stage.writes:
        yield write.source
        for _, extra in write.position.extras:
            yield from references(extra)
        for guard in write.guards:
            for _, extra in guard.index.extras:
                yield from references(extra)


def _is_work(entry: Entry) -> bool:
    """Whether an entry is worth keeping rather than computing again."""
    return isinstance(entry.source, Apply | Combined | Choose)
