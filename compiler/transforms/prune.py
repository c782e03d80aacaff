"""Dropping what nothing needs: dead ops, and results and operands of loops and branches.

Derivatives lean on this: residuals that no cotangent asks for vanish with the loop results that
hold them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from weft.compiler.ir.edit import Editor, with_region
from weft.compiler.ir.graph import Graph, Op, Region, Value
from weft.compiler.ir.rules import Narrowed
from weft.compiler.ir.walk import live_ops


def prune(graph: Graph) -> Graph:
    """The graph without what its results and effects do not need; the same if all is needed."""
    return with_region(graph, prune_region(graph.region))


def prune_region(region: Region, keep: Sequence[bool] | None = None) -> Region:
    """The region with the marked results only (all by default) and what these need."""
    return _Pruner().region(region, [True] * len(region.results) if keep is None else keep)


class _Pruner:
    """One sweep through a region and those in it, each pruned once for the same results: a loop
    asks several times what its body needs, and so does one in it each time.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[Region, tuple[bool, ...]], Region] = {}

    def region(self, region: Region, keep: Sequence[bool]) -> Region:
        key = region, tuple(keep)
        if key not in self._known:
            self._known[key] = self._pruned(region, keep)
        return self._known[key]

    def _pruned(self, region: Region, keep: Sequence[bool]) -> Region:
        results = tuple([r for r, kept in zip(region.results, keep, strict=True) if kept])
        narrower: dict[Op, Narrowed] = {}

        def reads(op: Op, needed: set[Value]) -> Iterable[Value]:
            narrowed = self._narrowed(op, [result in needed for result in op.results])
            if narrowed is None:
                return op.operands
            narrower[op] = narrowed
            return [v for v, kept in zip(op.operands, narrowed.operands, strict=True) if kept]

        live = live_ops(region.ops, results, reads=reads)
        if narrower:
            return _with_narrower(region, live, results, narrower)
        if len(live) == len(region.ops) and len(results) == len(region.results):
            return region
        return Region(region.parameters, tuple(live), results)

    def _narrowed(self, op: Op, used: Sequence[bool]) -> Narrowed | None:
        """The narrower form that an op takes where these of its results are used, if it has one."""
        rules = op.definition.region_rules
        if rules is None or rules.narrow is None:
            return None
        return rules.narrow(op, used, self.region)


def _with_narrower(
    region: Region, live: Sequence[Op], results: Sequence[Value], narrower: Mapping[Op, Narrowed]
) -> Region:
    editor = Editor(region)
    for op in live:
        narrowed = narrower.get(op)
        if narrowed is None:
            editor.keep(op, editor.current(op, op.regions))
        else:
            _narrow(op, narrowed, editor)
    return editor.builder.region([editor.value(result) for result in results])


def _narrow(op: Op, narrowed: Narrowed, editor: Editor) -> None:
    operands = [
        editor.value(v) for v, kept in zip(op.operands, narrowed.operands, strict=True) if kept
    ]
    emitted = editor.builder.emit(
        op.definition, operands, narrowed.attributes, narrowed.regions, op.location
    )
    kept_results = [r for r, kept in zip(op.results, narrowed.results, strict=True) if kept]
    editor.substitution.update(zip(kept_results, emitted, strict=True))
