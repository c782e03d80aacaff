"""Editing graphs: a visit of every op that shares with the old graph whatever does not change.

`walk.rebuild` copies every op through its type rule, which is what transforms need. Passes visit
large graphs many times and change little, so here an op with the same operands is the same object,
and one with new operands of the same types keeps its result types.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from weft.compiler.ir.build import Builder
from weft.compiler.ir.errors import VerifyError
from weft.compiler.ir.graph import Graph, Op, Region, Value
from weft.compiler.ir.walk import has_effect

Visit = Callable[[Op], "Sequence[Value] | None"]
"""(op on the new values) -> values that stand for its results, or None to keep it.

What a visit emits goes into the new region, before the op's place and at its location.
"""

EditRegion = Callable[[Region], Region]


class Editor:
    """The new region while it is made: its builder, and what stands for old values."""

    __slots__ = ("builder", "substitution")

    def __init__(self, region: Region) -> None:
        self.builder = Builder()
        self.builder.parameters = list(region.parameters)
        self.substitution: dict[Value, Value] = {}

    def value(self, value: Value) -> Value:
        """What stands for an old value."""
        return self.substitution.get(value, value)

    def current(self, op: Op, regions: Sequence[Region]) -> Op:
        """The op on the new values, the same object if nothing about it is new."""
        substitution = self.substitution
        if substitution.keys().isdisjoint(op.operands) and all(map(_is, regions, op.regions)):
            return op
        operands = tuple([substitution.get(v, v) for v in op.operands])
        types = tuple([result.type for result in op.results])
        return Op(op.definition, operands, op.attributes, tuple(regions), types, op.location)

    def keep(self, old: Op, current: Op) -> None:
        """Append an op that was not replaced."""
        self.builder.ops.append(current)
        if current is not old:
            self.replace(old, current.results)

    def replace(self, old: Op, values: Sequence[Value]) -> None:
        """Let these values, which must have the same types, stand for an old op's results."""
        for result, value in zip(old.results, values, strict=True):
            if result.type is not value.type and result.type != value.type:
                raise VerifyError(
                    f"a rewrite of {old.name} gave {value.type} in place of {result.type}",
                    location=old.location,
                )
            self.substitution[result] = value


def _is(left: object, right: object) -> bool:
    return left is right


def edit(graph: Graph, visit: Visit) -> Graph:
    """The graph after a visit of every op, inner regions first; the same object if none fired."""

    def descend(region: Region) -> Region:
        return edit_region(region, visit, descend)

    return with_region(graph, descend(graph.region))


def with_region(graph: Graph, region: Region) -> Graph:
    """The graph with another region, the same object if it is its own."""
    return graph if region is graph.region else Graph(graph.name, region)


def edit_region(region: Region, visit: Visit, inner: EditRegion) -> Region:
    """One region after a visit of its ops, whose own regions go through `inner` before; without the
    ops that nothing needs any more.
    """
    editor = Editor(region)
    builder, replaced = editor.builder, editor.substitution.keys()
    is_changed = False
    with builder.active():
        for op in region.ops:
            current = op
            if op.regions or not replaced.isdisjoint(op.operands):  # few are
                current = editor.current(op, [inner(nested) for nested in op.regions])
            builder.location = op.location
            replacement = visit(current)
            if replacement is not None:
                editor.replace(op, replacement)
            else:
                editor.keep(op, current)
            is_changed |= replacement is not None or current is not op
    if not is_changed:
        return region
    return without_dead_ops(editor.builder.region([editor.value(v) for v in region.results]))


def without_dead_ops(region: Region) -> Region:
    """The region without ops that neither its results nor effects need; inner regions as they
    are.
    """
    needed: set[Value] = set(region.results)
    kept: list[Op] = []
    for op in reversed(region.ops):
        if any(result in needed for result in op.results) or has_effect(op):
            kept.append(op)
            needed.update(op.operands)
    if len(kept) == len(region.ops):
        return region
    return Region(region.parameters, tuple(reversed(kept)), region.results)
