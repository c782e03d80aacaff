"""Changing graphs: the editor that every pass and transform is made of. To read one, see `walk`.

Graphs are immutable, so to change one is to make another that shares with the old one whatever
does not change. `edit` visits every op of a graph, `edit_region` those of one region, and `Editor`
is the new region while it is made, for passes that plan ahead. An op with the same operands stays
the same object, and one with new operands of the same types keeps its result types. `Rewriter`
copies ops into another place instead (`inline`, `clone`), through their type rules.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, Protocol

from weft.compiler.ir import dims
from weft.compiler.ir.build import Builder
from weft.compiler.ir.dims import Dim, Size
from weft.compiler.ir.errors import VerifyError
from weft.compiler.ir.graph import Graph, Op, Parameter, Region, Value
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ir.types import ArrayType
from weft.compiler.ir.walk import live_ops

Visit = Callable[[Op], "Sequence[Value] | None"]
"""(op on the new values) -> values that stand for its results, or None to keep it.

What a visit emits goes into the new region, before the op's place and at its location.
"""

EditRegion = Callable[[Region], Region]


class Replaced(Protocol):
    """What knows the values that stand for old ones: an editor, or a rewriter."""

    def value(self, value: Value, /) -> Value:
        """What stands for an old value."""


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
        if substitution.keys().isdisjoint(op.operands):
            if not regions or all(map(_is, regions, op.regions)):
                return op
        operands = tuple([substitution.get(v, v) for v in op.operands])
        return with_operands(op, operands, tuple(regions))

    def keep(self, old: Op, current: Op) -> None:
        """Append an op that was not replaced."""
        self.builder.ops.append(current)
        if current is old:
            return
        if len(old.results) == 1:  # nearly all ops
            self.substitution[old.results[0]] = current.results[0]
        else:
            self.substitution.update(zip(old.results, current.results, strict=True))

    def replace(self, old: Op, values: Sequence[Value]) -> None:
        """Let these values, which must have the same types, stand for an old op's results."""
        for result, value in zip(old.results, values, strict=True):
            if result.type is not value.type and result.type != value.type:
                raise VerifyError(
                    f"a rewrite of {old.name} gave {value.type} in place of {result.type}",
                    location=old.location,
                )
            self.substitution[result] = value

    def region(self, results: Sequence[Value]) -> Region:
        """The new region, with what stands for these old results, without dead ops."""
        return without_dead_ops(self.builder.region([self.value(result) for result in results]))


def _is(left: object, right: object) -> bool:
    return left is right


def _have_one_type(left: Value, right: Value) -> bool:
    return left.type is right.type or left.type == right.type


def with_operands(op: Op, operands: tuple[Value, ...], regions: tuple[Region, ...]) -> Op:
    """The op on other operands of the same types, and with other regions of the same types."""
    results = op.results
    types = (results[0].type,) if len(results) == 1 else tuple([r.type for r in results])
    return Op(op.definition, operands, op.attributes, regions, types, op.location)


def edit(graph: Graph, visit: Visit, roots: Container[OpDef] | None = None) -> Graph:
    """The graph after a visit of every op, inner regions first; the same object if none fired.

    `roots` are the kinds of op to visit, where a visit has nothing to say of others.
    """

    def descend(region: Region) -> Region:
        return edit_region(region, visit, descend, roots)

    return with_region(graph, descend(graph.region))


def with_region(graph: Graph, region: Region) -> Graph:
    """The graph with another region, the same object if it is its own."""
    return graph if region is graph.region else Graph(graph.name, region)


def edit_region(
    region: Region, visit: Visit, inner: EditRegion, roots: Container[OpDef] | None = None
) -> Region:
    """One region after a visit of its ops, whose own regions go through `inner` before; without the
    ops that nothing needs any more.
    """
    editor = Editor(region)
    builder, replaced, value = editor.builder, editor.substitution.keys(), editor.substitution.get
    unchanged = 0
    with builder.active():
        for position, op in enumerate(region.ops):
            current = op
            if op.regions:
                current = editor.current(op, [inner(nested) for nested in op.regions])
            elif replaced and not replaced.isdisjoint(op.operands):
                current = with_operands(op, tuple([value(v, v) for v in op.operands]), ())
            replacement = None
            if roots is None or op.definition in roots:
                builder.location = op.location
                replacement = visit(current)
            if unchanged == position and replacement is None and current is op:
                unchanged += 1  # most visits change nothing: nothing is copied for these
                continue
            if unchanged == position:
                builder.ops[:0] = region.ops[:position]
            if replacement is not None:
                editor.replace(op, replacement)
            else:
                editor.keep(op, current)
    if unchanged == len(region.ops):
        return region
    return editor.region(region.results)


def without_dead_ops(region: Region) -> Region:
    """The region without ops that neither its results nor effects need; inner regions as they
    are.
    """
    live = live_ops(region.ops, region.results)
    if len(live) == len(region.ops):
        return region
    return Region(region.parameters, tuple(live), region.results)


def drop_dead_ops(graph: Graph) -> Graph:
    """The same for a graph, which is the same object when all its ops are needed."""
    return with_region(graph, without_dead_ops(graph.region))


# --- copies ---------------------------------------------------------------------------------------


class Rewriter:
    """Copies ops into a builder through their type rules, reading each value through a
    substitution: what transforms need, where the copies may have other types.
    """

    __slots__ = ("builder", "substitution", "sizes")

    def __init__(self, builder: Builder, substitution: Mapping[Value, Value] | None = None) -> None:
        self.builder = builder
        self.substitution: dict[Value, Value] = dict(substitution or {})
        self.sizes: dict[str, Size] = {}

    def value(self, value: Value) -> Value:
        """What stands for an old value."""
        return self.substitution.get(value, value)

    def copy(self, op: Op, regions: Sequence[Region] | None = None) -> tuple[Value, ...]:
        """Append a copy of an op, with other regions if given, and remember its results."""
        operands = tuple([self.substitution.get(v, v) for v in op.operands])
        is_same = not regions and not self.sizes and op.location is not None
        if is_same and all(map(_have_one_type, operands, op.operands)):
            # The type rule would say the same again.
            moved = with_operands(op, operands, op.regions)
            self.builder.ops.append(moved)
            copied: tuple[Value, ...] = moved.results
        else:
            copied = self.builder.emit(
                op.definition,
                operands,
                self._attributes(op),
                op.regions if regions is None else regions,
                op.location,
            )
        self.replace(op, copied)
        return copied

    def rename_defined_size(self, op: Op) -> None:
        """Give the size that an op defines a new name in the copies, so that copies can meet."""
        if op.definition.defines is None:
            return
        for symbol in dims.symbols(op.attributes[op.definition.defines]):
            self.sizes[symbol.name] = dims.fresh_symbol(symbol.name.rstrip("0123456789"))

    def _attributes(self, op: Op) -> dict[str, Any]:
        if not self.sizes:
            return op.attributes
        return {name: _substitute(value, self.sizes) for name, value in op.attributes.items()}

    def replace(self, op: Op, values: Sequence[Value]) -> None:
        """Let these values stand for the op's results."""
        self.substitution.update(zip(op.results, values, strict=True))

    def parameters(self, region: Region) -> list[Parameter]:
        """Add a parameter for each of a region's and remember them."""
        added = [self.builder.parameter(p.type, p.name) for p in region.parameters]
        self.substitution.update(zip(region.parameters, added, strict=True))
        return added

    def results(self, region: Region) -> list[Value]:
        """What stands for a region's results."""
        return [self.value(result) for result in region.results]


def inline(region: Region, arguments: Sequence[Value], builder: Builder) -> list[Value]:
    """Append a region's ops to a builder with its parameters bound to the arguments; returns its
    results.
    """
    rewriter = Rewriter(builder, dict(zip(region.parameters, arguments, strict=True)))
    for op in region.ops:
        rewriter.rename_defined_size(op)
        regions = [_resize(inner, rewriter.sizes) for inner in op.regions]
        rewriter.copy(op, regions)
    return rewriter.results(region)


def _substitute(value: Any, sizes: Mapping[str, Size]) -> Any:
    """An attribute with sizes replaced by name."""
    if isinstance(value, Dim):
        return dims.substitute(value, sizes)
    if isinstance(value, tuple):
        return tuple([_substitute(item, sizes) for item in value])
    if isinstance(value, ArrayType):
        return value.with_shape(_substitute(value.shape, sizes))
    return value


def _resize(region: Region, sizes: Mapping[str, Size]) -> Region:
    """A region with sizes replaced by name, in its parameters and all that follows from them."""
    if not sizes:
        return region
    builder = Builder()
    rewriter = Rewriter(builder)
    rewriter.sizes = dict(sizes)
    for parameter in region.parameters:
        type = _substitute(parameter.type, sizes)
        rewriter.substitution[parameter] = builder.parameter(type, parameter.name)
    for op in region.ops:
        rewriter.copy(op, [_resize(inner, sizes) for inner in op.regions])
    return builder.region(rewriter.results(region))


def clone(graph: Graph) -> Graph:
    """A copy that shares no value or op with the original, nested regions included."""
    return Graph(graph.name, clone_region(graph.region))


def clone_region(region: Region) -> Region:
    """A copy of a region and all regions in it."""
    builder = Builder()
    rewriter = Rewriter(builder)
    rewriter.parameters(region)
    for op in region.ops:
        rewriter.copy(op, [clone_region(inner) for inner in op.regions])
    return builder.region(rewriter.results(region))


Rule = Callable[[Op, Rewriter], "Sequence[Value] | None"]


def rebuild(graph: Graph, rule: Rule) -> Graph:
    """A copy of the graph with `rule` applied to every op, inner regions first; the same object
    when no rule fired. For rules that know ops of the old graph; `edit` copies less.

    A rule gets an op, with its regions as the rule left them, and the rewriter that holds the new
    values of its operands. It returns the values that stand for the op's results, emitting what it
    needs into `rewriter.builder` (which is in force), or None to keep the op.
    """
    region = rebuild_region(graph.region, rule)
    return graph if region is graph.region else Graph(graph.name, region)


def rebuild_region(region: Region, rule: Rule) -> Region:
    """The same for one region."""
    builder = Builder()
    rewriter = Rewriter(builder)
    rewriter.parameters(region)
    changed = False
    with builder.active():
        for op in region.ops:
            regions = [rebuild_region(inner, rule) for inner in op.regions]
            inner_changed = any(
                new is not old for new, old in zip(regions, op.regions, strict=True)
            )
            current = with_operands(op, op.operands, tuple(regions)) if inner_changed else op
            with builder.at(op.location):
                replacement = rule(current, rewriter)
            if replacement is None:
                rewriter.copy(op, regions)
                changed |= inner_changed
            else:
                rewriter.replace(op, replacement)
                changed = True
    return builder.region(rewriter.results(region)) if changed else region
