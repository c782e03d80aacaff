"""From a Python function and its arguments to a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from weft.compiler.ir.ambient import sealed
from weft.compiler.ir.graph import Graph
from weft.compiler.record import record
from weft.frontends.tracing import tree
from weft.frontends.tracing.arguments import Call
from weft.frontends.tracing.conversion import prepared
from weft.frontends.tracing.hints import most_informative
from weft.frontends.tracing.outcome import Arguments, Outcome
from weft.frontends.tracing.trace import Trace
from weft.frontends.tracing.writes import Written


@record
class TracedFunction:
    """A graph, how its results are put back together, what is to be said of how it was made, and
    what is written back to the caller, if anything.
    """

    graph: Graph
    out_tree: tree.TreeDef
    notes: tuple[str, ...] = ()
    written: Written | None = None


@sealed
def trace_call(
    function: Callable[..., Any],
    name: str,
    call: Call,
    trace: Trace,
    writable: Mapping[int, bool] | None = None,
) -> TracedFunction:
    """Run a function on tracers of a new trace and return the graph of what it did. It may write to
    the arguments that are `writable`, see `Arguments`.
    """
    with trace.active():
        outcome = run(function, name, call, trace, writable)
    trace.finished = True
    graph = trace.graph(name, outcome.values)
    return TracedFunction(graph, outcome.out_tree, written=outcome.written)


def run(
    function: Callable[..., Any],
    name: str,
    call: Call,
    trace: Trace,
    writable: Mapping[int, bool] | None = None,
) -> Outcome:
    """Call a function with its arrays replaced by tracers, and its static arguments put back."""
    arguments = Arguments(call, trace, writable)
    trace.scalars |= {
        tracer.value: leaf.is_scalar
        for tracer, leaf in zip(arguments.tracers, call.leaves, strict=True)
        if leaf.is_scalar is not None
    }
    args, kwargs = arguments.containers
    positional, named = list(args), dict(kwargs)
    for argument_key, value in call.static:
        if isinstance(argument_key, int):
            positional[argument_key] = value
        else:
            named[argument_key] = value
    return arguments.outcome(_called(function, positional, named), name)


def _called(function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> Any:
    try:
        return prepared(function)(*args, **kwargs)
    except (TypeError, ValueError) as error:
        better = most_informative(error)
        if better is error:
            raise
        raise better from None
