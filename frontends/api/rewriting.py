"""`rewrite`: a user's own rule, written as the pair of what is there and what to put in its place.

The function is traced twice. On types that stand for any, its first result gives the shape of the
pattern, in which attributes and numbers are not looked at. Where that fits, the function is traced
again on the types found; now axes, dtypes and numbers must agree too, and the second result is the
replacement. So one rule serves all dtypes, and all shapes in which it is written with the same ops.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, overload

from weft.compiler.ir.ambient import sealed
from weft.compiler.ir.dtypes import f64
from weft.compiler.ir.edit import without_dead_ops
from weft.compiler.ir.errors import ArgumentError, WeftError
from weft.compiler.ir.graph import Constant, Graph, Op, Region, Result, Value
from weft.compiler.ir.types import ArrayType
from weft.compiler.ops.regions import inline_here
from weft.compiler.passes.algebra.canonicalize import canonicalize
from weft.compiler.passes.algebra.inline import inline_calls
from weft.compiler.rewrite.pattern import (
    Application,
    Bindings,
    Literal,
    Pattern,
    Placeholder,
    match,
    placeholders,
    uniform_value,
)
from weft.compiler.rewrite.rule import Exactness, Rule
from weft.frontends.eager.anywhere import start_trace
from weft.frontends.tracing.arguments import function_name
from weft.frontends.tracing.spec import spec

Function: TypeAlias = Callable[..., Any]
Types: TypeAlias = tuple[ArrayType, ...]


@overload
def rewrite(
    function: Function,
    *,
    specs: Mapping[str, str] | None = None,
    when: Callable[..., bool] | None = None,
) -> Rule: ...


@overload
def rewrite(
    *, specs: Mapping[str, str] | None = None, when: Callable[..., bool] | None = None
) -> Callable[[Function], Rule]: ...


def rewrite(
    function: Function | None = None,
    *,
    specs: Mapping[str, str] | None = None,
    when: Callable[..., bool] | None = None,
) -> Rule | Callable[[Function], Rule]:
    """A rewrite rule from a function that returns a pair: the old expression and the new one.

    Arguments stand for any values. `specs` gives types on which the function can be traced at
    first, where a number will not do: `specs={"x": "f64[2, 3]"}`; only their ranks matter. `when`
    gets the types found, by name, and says whether to go on. Rules run where `jit` is given them:
    `jit(f, passes=[rule])`.

    >>> import numpy as np, weft as wf
    >>> from weft.frontends.api.rewriting import rewrite
    >>> @rewrite
    ... def cosine(x):
    ...     return np.sin(x + np.pi / 2), np.cos(x)
    >>> shifted = wf.jit(lambda x: 2 * np.sin(x + np.pi / 2), passes=[cosine])
    >>> float(shifted(0.0))
    2.0
    >>> "cosine 1" in shifted.passes()
    True
    """
    if function is None:
        return lambda decorated: rewrite(decorated, specs=specs, when=when)
    sides = _Sides(function, specs or {})
    root = _pattern(sides.graph(sides.first_types), 0, is_exact=False)
    if not isinstance(root, Application):
        raise ArgumentError(f"{sides.name} gives {root!r} as the old expression, which is no op")
    missing = set(sides.names) - {placeholder.name for placeholder in placeholders(root)}
    if missing:
        raise ArgumentError(
            f"the old expression of {sides.name} does not use {', '.join(sorted(missing))}"
        )

    def apply(op: Op) -> Value | None:
        loose = match(root, op)
        return None if loose is None else sides.replacement(op, loose, when)

    return Rule(sides.name, (root.definition,), apply, Exactness.STABLE, None, root)


class _Sides:
    """A user's function, traced for the types that its arguments are found to have."""

    def __init__(self, function: Function, specs: Mapping[str, str]) -> None:
        self.function = function
        self.name = function_name(function)
        self.names = list(inspect.signature(function).parameters)
        unknown = specs.keys() - set(self.names)
        if unknown:
            raise ArgumentError(f"{self.name} has no argument {', '.join(sorted(unknown))}")
        self.first_types: Types = tuple(
            [spec(specs[name]) if name in specs else ArrayType(f64) for name in self.names]
        )
        self._traced: dict[Types, Graph | None] = {}

    @sealed
    def graph(self, types: Types) -> Graph:
        """The function on these types: a graph with the old and the new expression as results, in
        the form that the passes give it.
        """
        trace = start_trace()
        with trace.active():
            pair = self.function(*map(trace.argument, types, self.names))
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise ArgumentError(
                    f"{self.name} must return a pair: the old and the new expression"
                )
            results = [trace.lift(side) for side in pair]
        trace.finished = True
        return canonicalize(inline_calls(trace.graph(self.name, results)))

    def replacement(
        self, op: Op, loose: Bindings, when: Callable[..., bool] | None
    ) -> Value | None:
        """The new expression of what an op was found to be made of, if it fits exactly."""
        types = tuple([loose[name].type for name in self.names if name in loose])
        if len(types) != len(self.names):
            return None
        if when is not None and not when(**dict(zip(self.names, types, strict=True))):
            return None
        graph = self._graph_or_none(types)
        if graph is None or graph.results[1].type != op.results[0].type:
            return None
        exact = _pattern(graph, 0, is_exact=True)
        bindings = match(exact, op) if isinstance(exact, Application) else None
        if bindings is None:
            return None
        region = without_dead_ops(Region(graph.parameters, graph.ops, (graph.results[1],)))
        return inline_here(region, [bindings[name] for name in self.names])[0]

    def _graph_or_none(self, types: Types) -> Graph | None:
        """The function on these types; None where it refuses them, so that nothing matches."""
        if types not in self._traced:
            try:
                self._traced[types] = self.graph(types)
            except WeftError:
                self._traced[types] = None
        return self._traced[types]


def _pattern(graph: Graph, result: int, *, is_exact: bool) -> Pattern:
    """A result of a graph as a pattern; if not exact, it leaves attributes and numbers open."""
    nodes: dict[Value, Pattern] = {p: Placeholder(p.name) for p in graph.parameters}
    for op in graph.ops:
        operands = tuple([_operand(v, nodes, is_exact) for v in op.operands])
        if len(op.results) == 1 and not op.regions:
            attributes = op.attributes if is_exact else {}
            nodes[op.results[0]] = Application(op.definition, operands, attributes)
    return _operand(graph.results[result], nodes, is_exact)


def _operand(value: Value, nodes: Mapping[Value, Pattern], is_exact: bool) -> Pattern:
    if isinstance(value, Constant):
        number = uniform_value(value)
        if is_exact and number is not None:
            return Literal(number)
        return Placeholder(f"constant {id(value)}", _accepts(value, is_exact))
    if value not in nodes:
        what = value.op.name if isinstance(value, Result) else "a value"
        raise ArgumentError(f"{what} has regions or several results and cannot be in a rule")
    return nodes[value]


def _accepts(constant: Constant, is_exact: bool) -> Callable[[Value], bool]:
    def accepts(value: Value) -> bool:
        if not isinstance(value, Constant):
            return not is_exact and uniform_value(value) is not None
        return not is_exact or (value.type == constant.type and value.digest == constant.digest)

    return accepts
