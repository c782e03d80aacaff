"""Graphs that are smaller than a graph: what `reduce` tries.

Nothing here promises that a graph is valid or computes the same; it is verified, and compared by
how it fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from weft.compiler.ir import dims
from weft.compiler.ir.build import Builder
from weft.compiler.ir.dims import Dim, Size
from weft.compiler.ir.edit import with_operands, without_dead_ops
from weft.compiler.ir.errors import VerifyError
from weft.compiler.ir.graph import Constant, Graph, Op, Parameter, Region, Value
from weft.compiler.ir.types import ArrayType
from weft.compiler.ir.walk import users

Make = Callable[[], Graph]

# Sizes that are tried in place of others, the least first: 1 is stretched and dropped, so it is
# often no size like others.
_SMALL: Final = (1, 2, 3, 4)
_DIVISORS: Final = (1024, 256, 64, 32, 16, 8, 4, 2)


# --- ops and results ------------------------------------------------------------------------------


def cut(graph: Graph, kept: Sequence[Op]) -> Graph:
    """These ops of the graph, with parameters for what they read of others; their results are what
    others read, or nobody.
    """
    computed = {result for op in kept for result in op.results}
    substitution: dict[Value, Value] = {}
    parameters: dict[Value, Parameter] = {}
    for value in (v for op in kept for v in op.operands):
        if value not in computed and not isinstance(value, Constant) and value not in parameters:
            own = value if isinstance(value, Parameter) else Parameter(value.type)
            parameters[value] = own
            substitution[value] = own
    ops = _replayed(kept, substitution)
    wanted = _wanted(graph.region, kept)
    results = [substitution.get(value, value) for value in wanted]
    ordered = [p for p in graph.parameters if p in parameters]
    ordered += [p for value, p in parameters.items() if not isinstance(value, Parameter)]
    return Graph(graph.name, Region(tuple(ordered), tuple(ops), tuple(results)))


def _replayed(ops: Sequence[Op], substitution: dict[Value, Value]) -> list[Op]:
    """The ops on other values, which are remembered."""
    replayed = []
    for op in ops:
        operands = tuple([substitution.get(v, v) for v in op.operands])
        moved = op if operands == op.operands else with_operands(op, operands, op.regions)
        substitution.update(zip(op.results, moved.results, strict=True))
        replayed.append(moved)
    return replayed


def _wanted(region: Region, kept: Sequence[Op]) -> list[Value]:
    """What some ops make for others, for the region's results, or for nobody."""
    inside, readers = set(kept), users(region)
    asked = set(region.results)
    wanted: list[Value] = []
    for result in (result for op in kept for result in op.results):
        reading = readers.get(result, [])
        if result in asked or not reading or not inside.issuperset(reading):
            wanted.append(result)
    return wanted


def keep_results(graph: Graph, numbers: Sequence[int]) -> Graph:
    """The graph with some of its results only, and what these need."""
    results = tuple([graph.results[number] for number in numbers])
    region = without_dead_ops(Region(graph.parameters, graph.ops, results))
    return Graph(graph.name, _with_used_parameters(region))


def bypass(graph: Graph, kept: Sequence[Op]) -> Graph:
    """The graph with some of its ops and of those in its regions only. An operand, a parameter or
    zero, whichever has the type, stands for what another op made.
    """
    region = _bypassed(graph.region, set(kept))
    return Graph(graph.name, _with_used_parameters(region))


def _bypassed(region: Region, kept: set[Op]) -> Region:
    substitution: dict[Value, Value] = {}
    ops: list[Op] = []
    for op in region.ops:
        operands = tuple([substitution.get(v, v) for v in op.operands])
        if op not in kept:
            for result in op.results:
                substitution[result] = _stand_in(result, operands, region.parameters)
            continue
        regions = tuple([_bypassed(inner, kept) for inner in op.regions])
        moved = with_operands(op, operands, regions)
        substitution.update(zip(op.results, moved.results, strict=True))
        ops.append(moved)
    results = tuple([substitution.get(v, v) for v in region.results])
    return without_dead_ops(Region(region.parameters, tuple(ops), results))


def _stand_in(value: Value, operands: Sequence[Value], parameters: Sequence[Value]) -> Value:
    for other in (*operands, *parameters):
        if other.type == value.type:
            return other
    if value.type.shape:
        raise VerifyError(f"nothing stands in for {value.type}")
    return Constant(np.zeros((), value.type.dtype.numpy))


def _with_used_parameters(region: Region) -> Region:
    used = {v for op in region.ops for v in op.operands} | set(region.results)
    parameters = tuple([p for p in region.parameters if p in used])
    return Region(parameters, region.ops, region.results)


# --- regions and constants ------------------------------------------------------------------------


def inner_graphs(graph: Graph) -> Iterator[Make]:
    """The bodies of loops, branches and calls, each as a graph."""
    for region in list(graph.regions())[1:]:
        yield partial(Graph, graph.name, region)


def free_constants(graph: Graph, kept: Sequence[Constant]) -> Graph:
    """The graph with parameters for all of its own constants but these."""
    remaining = {id(constant) for constant in kept}
    substitution: dict[Value, Value] = {}
    for value in (*(v for op in graph.ops for v in op.operands), *graph.results):
        if isinstance(value, Constant) and id(value) not in remaining:
            substitution.setdefault(value, Parameter(value.type))
    if not substitution:
        raise VerifyError("all constants are in regions")
    added = [value for value in substitution.values() if isinstance(value, Parameter)]
    ops = _replayed(graph.ops, substitution)
    results = tuple([substitution.get(v, v) for v in graph.results])
    return Graph(graph.name, Region((*graph.parameters, *added), tuple(ops), results))


# --- sizes ----------------------------------------------------------------------------------------


def sizes(graph: Graph) -> list[Size]:
    """The sizes that could be smaller: symbols, and numbers, the largest first."""
    numbers = {
        size
        for region in graph.regions()
        for value in (*region.parameters, *(r for op in region.ops for r in op.results))
        for size in value.type.shape
        if isinstance(size, int) and size > 1
    }
    symbols = [dims.symbol(s.name, lower=s.lower, upper=s.upper) for s in graph.symbols]
    return [*symbols, *sorted(numbers, reverse=True)]


def smaller(graph: Graph, size: Size) -> Iterator[Make]:
    """The graph with less in place of a size, wherever it stands."""
    if isinstance(size, Dim):
        yield from (partial(_resized, graph, {}, {str(size): value}) for value in _SMALL[1:])
    else:
        less = [value for value in _SMALL if value < size]
        yield from (partial(_resized, graph, {size: value}, {}) for value in less)


def divided_sizes(graph: Graph) -> Iterator[Make]:
    """The graph with all sizes divided that can be: sizes that are sums or products of others stay
    so.
    """
    numbers = [size for size in sizes(graph) if isinstance(size, int)]
    for divisor in _DIVISORS:
        smaller = {size: size // divisor for size in numbers if size % divisor == 0}
        if smaller:
            yield partial(_resized, graph, smaller, {})


def _resized(graph: Graph, numbers: dict[int, int], symbols: dict[str, Size]) -> Graph:
    return Graph(graph.name, _Resizing(numbers, symbols).region(graph.region))


class _Resizing:
    """Copies regions with other sizes, through the type rules."""

    def __init__(self, numbers: dict[int, int], symbols: dict[str, Size]) -> None:
        self.numbers = numbers
        self.symbols = symbols

    def region(self, region: Region) -> Region:
        builder = Builder()
        substitution: dict[Value, Value] = {
            parameter: builder.parameter(self.changed(parameter.type), parameter.name)
            for parameter in region.parameters
        }

        def new(value: Value) -> Value:
            if isinstance(value, Constant):
                return substitution.setdefault(value, self.constant(value))
            return substitution[value]

        for op in region.ops:
            attributes = {name: self.changed(value) for name, value in op.attributes.items()}
            regions = [self.region(inner) for inner in op.regions]
            operands = [new(operand) for operand in op.operands]
            results = builder.emit(op.definition, operands, attributes, regions, op.location)
            substitution.update(zip(op.results, results, strict=True))
        return builder.region([new(result) for result in region.results])

    def changed(self, value: Any) -> Any:
        """An attribute or a type with other sizes."""
        if type(value) is int:
            return self.numbers.get(value, value)
        if isinstance(value, Dim):
            return dims.substitute(value, self.symbols)
        if isinstance(value, tuple):
            return tuple([self.changed(item) for item in value])
        if isinstance(value, ArrayType):
            return value.with_shape(self.changed(value.shape))
        return value

    def constant(self, constant: Constant) -> Constant:
        """As much of an array as there is room for."""
        shape = [self.changed(size) for size in constant.array.shape]
        if shape == list(constant.array.shape):
            return constant
        return Constant(constant.array[tuple([slice(size) for size in shape])].copy())
