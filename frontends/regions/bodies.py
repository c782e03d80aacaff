"""Python functions traced into regions: the bodies of ops that take functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from weft.compiler.ir.graph import Parameter, Region, Value
from weft.compiler.ir.types import ArrayType
from weft.compiler.record import record
from weft.frontends.tracing import core, tree
from weft.frontends.tracing.arguments import function_name
from weft.frontends.tracing.conversion import prepared
from weft.frontends.tracing.trace import ArrayLike, Trace, Tracer, current_trace


@record
class TracedBody:
    """A traced function that is not closed yet: its results can still be cast."""

    name: str
    trace: Trace
    results: list[Tracer]
    out_tree: tree.TreeDef

    @property
    def types(self) -> list[ArrayType]:
        return [result.type for result in self.results]

    def close(self, types: Sequence[ArrayType] | None = None) -> tuple[Region, list[Value]]:
        """The region and what it captured, its results cast to `types`."""
        with self.trace.active():
            values = [self.trace.read(result) for result in self.results]
            if types is not None:
                values = [core.cast(v, t.dtype) for v, t in zip(values, types, strict=True)]
        return self.trace.closed_region(values)


def trace_body(
    function: Callable[..., Any],
    arguments: Any,
    types: Sequence[tuple[ArrayType, bool]],
    owner: str = "",
    n_free: int = 0,
) -> TracedBody:
    """Trace a function on arguments whose leaves get the given types.

    With an `owner`, the leaves after the first `n_free` are not to be written to in place: the
    caller would not see it, as he would in Python.
    """
    trace = current_trace().nested()
    _, treedef = tree.flatten(arguments)
    with trace.active():
        tracers = [
            trace.argument(type, weak=weak, owner=owner if number >= n_free else "")
            for number, (type, weak) in enumerate(types)
        ]
        returned = prepared(function)(*tree.unflatten(treedef, tracers))
        leaves, out_tree = tree.flatten(returned)
        results = [leaf if isinstance(leaf, Tracer) else lift_leaf(leaf, trace) for leaf in leaves]
    return TracedBody(function_name(function), trace, results, out_tree)


def lift_leaf(leaf: ArrayLike, trace: Trace) -> Tracer:
    """A leaf as a tracer; a Python number promotes as one."""
    weak = isinstance(leaf, int | float | complex) and not isinstance(leaf, np.generic)
    return trace.wrap(trace.lift(leaf), weak=weak)


def lift_all(arguments: Any) -> tuple[list[Tracer], tree.TreeDef]:
    """The leaves of arguments as tracers, and their structure."""
    trace = current_trace()
    leaves, treedef = tree.flatten(arguments)
    return [
        leaf if isinstance(leaf, Tracer) else lift_leaf(leaf, trace) for leaf in leaves
    ], treedef


def unify(regions: Sequence[tuple[Region, list[Value]]]) -> tuple[list[Region], list[Value]]:
    """Regions with the same captures in the same order."""
    captured = list(dict.fromkeys(value for _, values in regions for value in values))
    unified = []
    for region, own in regions:
        mine = dict(zip(own, region.parameters, strict=False))
        first = [mine.get(value) or Parameter(value.type) for value in captured]
        rest = region.parameters[len(own) :]
        unified.append(Region((*first, *rest), region.ops, region.results))
    return unified, captured


def values_of(tracers: Sequence[Tracer]) -> list[Value]:
    """The values of tracers in the trace in force."""
    trace = current_trace()
    return [trace.read(tracer) for tracer in tracers]


def wrapped(values: Sequence[Value], treedef: tree.TreeDef) -> Any:
    """A structure of tracers that stand for these values."""
    trace = current_trace()
    return tree.unflatten(treedef, [trace.wrap(value) for value in values])
