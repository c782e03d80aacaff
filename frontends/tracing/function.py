"""From a Python function and its arguments to a graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from weft.compiler.ir.ambient import sealed
from weft.compiler.ir.errors import ArgumentError
from weft.compiler.ir.graph import Graph, Value
from weft.compiler.record import record
from weft.frontends.tracing import tree
from weft.frontends.tracing.arguments import Call, short
from weft.frontends.tracing.conversion import prepared
from weft.frontends.tracing.hints import most_informative
from weft.frontends.tracing.trace import Trace


@record
class TracedFunction:
    """A graph, how its results are put back together, and what is to be said of how it was made."""

    graph: Graph
    out_tree: tree.TreeDef
    notes: tuple[str, ...] = ()


@sealed
def trace_call(function: Callable[..., Any], name: str, call: Call, trace: Trace) -> TracedFunction:
    """Run a function on tracers of a new trace and return the graph of what it did."""
    with trace.active():
        tracers = [
            trace.argument(leaf.type, leaf.name, weak=leaf.weak, owner=f"the argument {leaf.name}")
            for leaf in call.leaves
        ]
        trace.scalars |= {
            tracer.value: leaf.is_scalar
            for tracer, leaf in zip(tracers, call.leaves, strict=True)
            if leaf.is_scalar is not None
        }
        result = run(function, call, tracers)
        values, out_tree = lift_results(result, trace, name)
    trace.finished = True
    return TracedFunction(trace.graph(name, values), out_tree)


def run(function: Callable[..., Any], call: Call, values: Sequence[Any]) -> Any:
    """Call a function with its arrays replaced by `values` and its static arguments put back."""
    args, kwargs = tree.unflatten(call.treedef, values)
    positional = list(args)
    for argument_key, value in call.static:
        if isinstance(argument_key, int):
            positional[argument_key] = value
        else:
            kwargs[argument_key] = value
    try:
        return prepared(function)(*positional, **kwargs)
    except (TypeError, ValueError) as error:
        better = most_informative(error)
        if better is error:
            raise
        raise better from None


def lift_results(result: Any, trace: Trace, name: str) -> tuple[list[Value], tree.TreeDef]:
    """The values of what a traced function returned, and its structure."""
    leaves, paths, treedef = tree.flatten_with_names(result)
    return [
        _lift_result(leaf, path, trace, name) for leaf, path in zip(leaves, paths, strict=True)
    ], treedef


def _lift_result(leaf: Any, path: str, trace: Trace, name: str) -> Value:
    try:
        return trace.lift(leaf)
    except ArgumentError:
        where = f"the result {path}" if path else "the result"
        raise ArgumentError(
            f"{where} of {name} is a {type(leaf).__name__} ({short(leaf)}), not an array or a "
            "number"
        ) from None
