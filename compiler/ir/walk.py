"""Walking and rebuilding graphs: what every pass is made of.

Graphs are immutable, so to change one is to copy it with a substitution. `Rewriter` is that copy;
`rebuild` applies a function to every op and returns the same graph when nothing changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from weft.compiler.ir import dims
from weft.compiler.ir.build import Builder
from weft.compiler.ir.dims import Dim, Size
from weft.compiler.ir.graph import Constant, Graph, Op, Parameter, Region, Result, Value
from weft.compiler.ir.opdef import Trait
from weft.compiler.ir.types import ArrayType


def walk(graph: Graph) -> Iterator[Op]:
    """Every op of the graph and its nested regions, an op before the ops in its regions."""
    stack: list[Iterator[Op]] = [iter(graph.ops)]
    while stack:
        op = next(stack[-1], None)
        if op is None:
            stack.pop()
            continue
        yield op
        stack.extend(iter(region.ops) for region in reversed(op.regions))


def users(region: Region) -> dict[Value, list[Op]]:
    """For each value of a region, the ops in it that take it, once per op."""
    found: dict[Value, list[Op]] = {}
    for op in region.ops:
        for operand in dict.fromkeys(op.operands):
            found.setdefault(operand, []).append(op)
    return found


def dependencies(values: Iterable[Value]) -> list[Op]:
    """The ops that the values need, each after those it needs itself."""
    ordered: dict[Op, None] = {}
    stack = [value.op for value in values if isinstance(value, Result)]
    while stack:
        op = stack[-1]
        if op in ordered:
            stack.pop()
            continue
        missing = [v.op for v in op.operands if isinstance(v, Result) and v.op not in ordered]
        if missing:
            stack.extend(missing)
        else:
            ordered[stack.pop()] = None
    return list(ordered)


class Rewriter:
    """Copies ops into a builder, reading each value through a substitution."""

    def __init__(self, builder: Builder, substitution: Mapping[Value, Value] | None = None) -> None:
        self.builder = builder
        self.substitution: dict[Value, Value] = dict(substitution or {})
        self.sizes: dict[str, Size] = {}

    def value(self, value: Value) -> Value:
        """What stands for an old value."""
        return value if isinstance(value, Constant) else self.substitution.get(value, value)

    def copy(self, op: Op, regions: Sequence[Region] | None = None) -> tuple[Value, ...]:
        """Append a copy of an op, with other regions if given, and remember its results."""
        copied = self.builder.emit(
            op.definition,
            [self.value(operand) for operand in op.operands],
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
    """The graph with `rule` applied to every op, inner regions first; the same object when no rule
    fired.

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
            current = _with_regions(op, regions) if inner_changed else op
            with builder.at(op.location):
                replacement = rule(current, rewriter)
            if replacement is None:
                rewriter.copy(op, regions)
                changed |= inner_changed
            else:
                rewriter.replace(op, replacement)
                changed = True
    return builder.region(rewriter.results(region)) if changed else region


def _with_regions(op: Op, regions: Sequence[Region]) -> Op:
    types = tuple(result.type for result in op.results)
    return Op(op.definition, op.operands, op.attributes, tuple(regions), types, op.location)


def replace_values(graph: Graph, substitution: Mapping[Value, Value]) -> Graph:
    """The graph with values of its outermost region replaced by others that are made before every
    use.
    """
    if not substitution:
        return graph
    builder = Builder()
    rewriter = Rewriter(builder)
    rewriter.parameters(graph.region)
    for old, new in substitution.items():
        if isinstance(old, Parameter):
            rewriter.substitution[old] = rewriter.value(new)
    for op in graph.ops:
        rewriter.copy(op)
        for result in op.results:
            if result in substitution:
                rewriter.substitution[result] = rewriter.value(substitution[result])
    return Graph(graph.name, builder.region(rewriter.results(graph.region)))


def drop_dead_ops(graph: Graph) -> Graph:
    """The graph without ops that neither results nor effects need; the same object when all are
    needed.
    """
    needed: set[Value] = set(graph.results)
    kept: list[Op] = []
    for op in reversed(graph.ops):
        if has_effect(op) or any(result in needed for result in op.results):
            kept.append(op)
            needed.update(op.operands)
    if len(kept) == len(graph.ops):
        return graph
    return Graph(graph.name, Region(graph.parameters, tuple(reversed(kept)), graph.results))


def has_effect(op: Op) -> bool:
    """Whether an op or anything in its regions must run even when its results are not used."""
    stack = [op]
    while stack:
        item = stack.pop()
        if Trait.EFFECT in item.definition.traits and not item.attributes.get("pure"):
            return True
        stack.extend(inner for region in item.regions for inner in region.ops)
    return False
