"""Functions as regions: tracing a Python function on its own, and applying a region to arrays.

Both work inside a trace, where the function may capture traced arrays and the region is inlined,
and outside, where arrays are computed at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from weft.compiler.ir.edit import inline
from weft.compiler.ir.evaluate import evaluate
from weft.compiler.ir.graph import Graph, Region
from weft.compiler.ir.types import ArrayType
from weft.compiler.record import record
from weft.frontends.tracing import tree
from weft.frontends.tracing.arguments import ArgumentLeaf, describe_leaf, function_name
from weft.frontends.tracing.conversion import prepared
from weft.frontends.tracing.lifting import lift_results
from weft.frontends.tracing.trace import Trace, Tracer, find_trace


@record
class Closure:
    """A traced function: a region whose first parameters are given `captured`."""

    name: str
    region: Region
    captured: list[Any]
    out_tree: tree.TreeDef

    @property
    def n_captured(self) -> int:
        return len(self.captured)


@record
class FlatArguments:
    """Positional arguments, flattened: leaves, their types, which argument each is in, and which
    derivatives leave alone.
    """

    values: list[Any]
    leaves: list[ArgumentLeaf]
    treedef: tree.TreeDef
    argument_of: list[int]
    constant: tuple[bool, ...]


def flatten_arguments(
    function: str, names: Sequence[str], arguments: Sequence[Any]
) -> FlatArguments:
    """Take positional arguments apart; raises ArgumentError for a leaf that is no array."""
    values: list[Any] = []
    leaves: list[ArgumentLeaf] = []
    argument_of: list[int] = []
    for number, argument in enumerate(arguments):
        own, paths, _ = tree.flatten_with_names(argument)
        first = names[number] if number < len(names) else f"args.{number}"
        for value, path in zip(own, paths, strict=True):
            name = f"{first}.{path}" if path else first
            leaves.append(describe_leaf(name, value, function))
            values.append(value)
            argument_of.append(number)
    _, treedef = tree.flatten(tuple(arguments))
    return FlatArguments(values, leaves, treedef, argument_of, tree.constant_leaves(treedef))


def close(
    trace: Trace,
    function: Callable[..., Any],
    treedef: tree.TreeDef,
    types: Sequence[ArrayType],
    weak: Sequence[bool] | None = None,
    names: Sequence[str] | None = None,
    known: Mapping[int, Any] | None = None,
) -> Closure:
    """Trace a function of positional arguments whose leaves have these types, in a new trace. Of
    leaves that are `known` the function gets the values.
    """
    outer = trace.parent
    weakness = weak or [False] * len(types)
    labels = names or [""] * len(types)
    with trace.active():
        tracers = [
            trace.argument(type, label, weak=is_weak, owner=f"the argument {label}".rstrip())
            for type, label, is_weak in zip(types, labels, weakness, strict=True)
        ]
        given = [(known or {}).get(number, tracer) for number, tracer in enumerate(tracers)]
        returned = prepared(function)(*tree.unflatten(treedef, given))
        name = function_name(function)
        values, out_tree = lift_results(returned, trace, name)
    region, captured = trace.closed_region(values)
    wrapped = [outer.wrap(value) for value in captured] if outer is not None else []
    return Closure(name, region, wrapped, out_tree)


def apply_region(region: Region, operands: Sequence[Any]) -> list[Any]:
    """The results of a region: inlined into the trace in force, or computed now."""
    trace = find_trace()
    if trace is None:
        arrays = [
            np.asarray(operand, parameter.type.dtype.numpy)
            for operand, parameter in zip(operands, region.parameters, strict=True)
        ]
        results = evaluate(Graph("eager", region), arrays)
        return [result if result.flags.writeable else result.copy() for result in results]
    values = [
        trace.lift(operand, None if isinstance(operand, Tracer) else parameter.type.dtype)
        for operand, parameter in zip(operands, region.parameters, strict=True)
    ]
    return [trace.wrap(value) for value in inline(region, values, trace)]
