"""Functions with derivative rules of their own, called inside of a trace; `api.custom` has them for
use anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from weft.compiler.ir.errors import ArgumentError, ShapeError
from weft.compiler.ir.graph import Value
from weft.compiler.ir.types import ArrayType
from weft.compiler.ops import arithmetic, control, conversion
from weft.frontends.regions.bodies import TracedBody, trace_body, unify
from weft.frontends.regions.closures import flatten_arguments
from weft.frontends.tracing import core, tree
from weft.frontends.tracing.arguments import parameter_names
from weft.frontends.tracing.caller import caller_location
from weft.frontends.tracing.conversion import prepared
from weft.frontends.tracing.trace import Tracer, current_trace, find_trace, located


class _Custom:
    """What both decorators share: the function, its name, and its arguments as values."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.name = getattr(function, "__name__", "function")
        self._owner = f"an argument of {self.name}"
        self.__doc__ = function.__doc__
        self.__name__ = self.name
        self.__wrapped__ = function

    def _lifted(self, args: Sequence[Any]) -> tuple[list[Value], list[ArrayType]]:
        arguments = flatten_arguments(self.name, parameter_names(self.function), args)
        trace = current_trace()
        values = [
            trace.lift(value, None if isinstance(value, Tracer) else leaf.type.dtype)
            for value, leaf in zip(arguments.values, arguments.leaves, strict=True)
        ]
        return values, [value.type for value in values]

    def _wrap(self, results: Sequence[Value], out_tree: tree.TreeDef) -> Any:
        trace = current_trace()
        return tree.unflatten(out_tree, [trace.wrap(result) for result in results])

    def apply(self, *args: Any) -> Any:
        """The op of the function and its rules, in the trace in force."""
        return located(self._emit, *args)

    def _emit(self, *args: Any) -> Any:
        raise NotImplementedError

    def _own_rule(self) -> tuple[Any, Sequence[Any], Any] | None:
        """What is known inside this function's own rule: its arguments and value; None outside."""
        trace = find_trace()
        while trace is not None and (trace.rule is None or trace.rule[0] is not self):
            trace = trace.parent
        return None if trace is None else trace.rule


class CustomJvp(_Custom):
    """A function with its own forward derivative; see `api.custom.custom_jvp`."""

    rule: Callable[..., Any] | None = None

    def defjvp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set the rule; usable as a decorator."""
        self.rule = rule
        return rule

    def __call__(self, *args: Any) -> Any:
        if self.rule is None:
            raise ArgumentError(
                f"{self.name} is a custom_jvp without a rule: use @{self.name}.defjvp"
            )
        ruling = self._own_rule()
        if ruling is None:
            return self.apply(*args)
        _, leaves, value = ruling
        operands = tree.flatten(tuple(args))[0]
        same = len(operands) == len(leaves) and all(
            a is b for a, b in zip(operands, leaves, strict=True)
        )
        return value if same else prepared(self.function)(*args)

    def _emit(self, *args: Any) -> Any:
        values, types = self._lifted(args)
        primal = trace_body(self.function, args, [(type, False) for type in types], self._owner)
        tangents = [type for type in types if type.dtype.is_inexact]
        _, treedef = tree.flatten(tuple(args))
        n_operands, n_results = len(types), len(primal.results)

        def rule(*leaves: Any) -> Any:
            operands, rest = leaves[:n_operands], leaves[n_operands:]
            remaining = iter(rest[n_results:])
            spread = [next(remaining) if type.dtype.is_inexact else None for type in types]
            value = tree.unflatten(primal.out_tree, rest[:n_results])
            current_trace().rule = (self, operands, value)
            assert self.rule is not None
            given = tree.unflatten(treedef, operands), tree.unflatten(treedef, spread)
            return prepared(self.rule)(*given)

        inputs = (*types, *primal.types, *tangents)
        ruled = self._checked(trace_body(rule, inputs, [(t, False) for t in inputs]), primal)
        wanted = [type for type in primal.types if type.dtype.is_inexact]
        regions, captured = unify([primal.close(), ruled.close(wanted)])
        if captured:
            regions, values = _with_captures(regions, captured, values)
        results = control.custom_jvp.emit(*values, regions=regions)
        return self._wrap(results, primal.out_tree)

    def _checked(self, ruled: TracedBody, primal: TracedBody) -> TracedBody:
        """The tangents of floating-point results from the rule; raises if they do not fit."""
        parts = ruled.out_tree.children() if ruled.out_tree.num_children == 2 else []
        if len(parts) != 2 or parts[0] != primal.out_tree:
            raise ArgumentError(
                f"the jvp rule of {self.name} must return (value, tangent) with the structure of "
                "the value "
                f"{primal.out_tree}; it returns {ruled.out_tree}",
                location=caller_location(),
            )
        count = len(primal.results)
        values, tangents = ruled.results[:count], ruled.results[count:]
        kept = _match(tangents, primal.types, f"the tangent from the jvp rule of {self.name}")
        _match(values, primal.types, f"the value from the jvp rule of {self.name}")
        return TracedBody(ruled.name, ruled.trace, kept, ruled.out_tree)


def _match(tracers: Sequence[Tracer], types: Sequence[ArrayType], what: str) -> list[Tracer]:
    """The tracers that belong to floating-point types, each of which must have its type's shape."""
    floats = [type for type in types if type.dtype.is_inexact]
    pairs = (
        zip(tracers, types, strict=True)
        if len(tracers) == len(types)
        else zip(tracers, floats, strict=False)
    )
    kept = []
    for tracer, type in pairs:
        if not type.dtype.is_inexact:
            continue
        same = tracer.type.shape == type.shape and (tracer.weak or tracer.type.dtype is type.dtype)
        if not same:
            raise ShapeError(
                f"{what} is {tracer.type}, expected {type}", location=caller_location()
            )
        kept.append(tracer)
    return kept


class CustomVjp(_Custom):
    """A function with its own reverse derivative; see `api.custom.custom_vjp`."""

    forward: Callable[..., Any] | None = None
    backward: Callable[..., Any] | None = None

    def defvjp(self, forward: Callable[..., Any], backward: Callable[..., Any]) -> None:
        """Set the two halves of the rule."""
        self.forward, self.backward = forward, backward

    def __call__(self, *args: Any) -> Any:
        if self.forward is None or self.backward is None:
            raise ArgumentError(
                f"{self.name} is a custom_vjp without rules: call {self.name}.defvjp"
            )
        if self._own_rule() is not None:
            return prepared(self.function)(*args)
        return self.apply(*args)

    def _emit(self, *args: Any) -> Any:
        assert self.forward is not None and self.backward is not None
        values, types = self._lifted(args)
        pairs = [(type, False) for type in types]
        primal = trace_body(self.function, args, pairs, self._owner)
        forward = self._checked_forward(trace_body(self._run_forward, args, pairs), primal)
        residual_tree = forward.out_tree.children()[1]
        count = len(primal.results)
        residuals = [result.type for result in forward.results[count:]]
        cotangents = [type for type in primal.types if type.dtype.is_inexact]
        backward = self._backward(args, types, primal, residual_tree, [*residuals, *cotangents])
        wanted = [type for type in types if type.dtype.is_inexact]
        closed = [primal.close(), forward.close([*primal.types, *residuals])]
        regions, captured = unify(closed)
        if captured:
            regions, values = _with_captures(regions, captured, values)
        back, back_captured = backward.close(wanted)
        if back_captured:
            raise ArgumentError(
                f"the backward rule of {self.name} closes over a traced array of the enclosing "
                "function; pass it "
                "through the residuals",
                location=caller_location(),
            )
        results = control.custom_vjp.emit(*values, regions=(*regions, back))
        return self._wrap(results, primal.out_tree)

    def _run_forward(self, *args: Any) -> Any:
        current_trace().rule = (self, args, None)
        assert self.forward is not None
        return prepared(self.forward)(*args)

    def _checked_forward(self, forward: TracedBody, primal: TracedBody) -> TracedBody:
        parts = forward.out_tree.children() if forward.out_tree.num_children == 2 else []
        if len(parts) != 2 or parts[0] != primal.out_tree:
            raise ArgumentError(
                f"the forward rule of {self.name} must return (value, residuals) with a value of "
                "structure "
                f"{primal.out_tree}; it returns {forward.out_tree}",
                location=caller_location(),
            )
        _match(
            forward.results[: len(primal.results)],
            primal.types,
            f"the value from the forward rule of {self.name}",
        )
        return forward

    def _backward(
        self,
        args: Sequence[Any],
        types: Sequence[ArrayType],
        primal: TracedBody,
        residual_tree: tree.TreeDef,
        inputs: Sequence[ArrayType],
    ) -> TracedBody:
        n_residuals = residual_tree.num_leaves

        def rule(*leaves: Any) -> list[Any]:
            cotangents = iter(leaves[n_residuals:])
            spread = [next(cotangents) if t.dtype.is_inexact else None for t in primal.types]
            current_trace().rule = (self, leaves, None)
            assert self.backward is not None
            returned = prepared(self.backward)(
                tree.unflatten(residual_tree, leaves[:n_residuals]),
                tree.unflatten(primal.out_tree, spread),
            )
            return self._argument_cotangents(returned, args, types)

        return trace_body(rule, tuple(inputs), [(type, False) for type in inputs])

    def _argument_cotangents(
        self, returned: Any, args: Sequence[Any], types: Sequence[ArrayType]
    ) -> list[Any]:
        """One cotangent per floating-point leaf, zeros for None."""
        if not isinstance(returned, tuple | list) or len(returned) != len(args):
            raise ArgumentError(
                f"the backward rule of {self.name} must return a tuple with a cotangent for each "
                f"of its {len(args)} "
                "arguments (None for zero)",
                location=caller_location(),
            )
        remaining = iter(types)
        cotangents: list[Any] = []
        for number, (argument, cotangent) in enumerate(zip(args, returned, strict=True)):
            own, treedef = tree.flatten(argument)
            leaf_types = [next(remaining) for _ in own]
            leaves = (
                [None] * len(own)
                if cotangent is None
                else _flat_like(cotangent, treedef, self.name, number)
            )
            for leaf, type in zip(leaves, leaf_types, strict=True):
                if type.dtype.is_inexact:
                    cotangents.append(self._one(leaf, type, number))
        return cotangents

    def _one(self, leaf: Any, type: ArrayType, number: int) -> Any:
        if leaf is None:
            return core.wrap(core.full(type.shape, 0, type.dtype))
        value = core.lift(leaf)
        if value.type.shape != type.shape:
            raise ShapeError(
                f"the backward rule of {self.name} returns {value.type} as the cotangent of "
                f"argument {number}, "
                f"expected {type}",
                location=caller_location(),
            )
        return core.wrap(core.cast(value, type.dtype))


def _flat_like(cotangent: Any, treedef: tree.TreeDef, name: str, number: int) -> list[Any]:
    leaves, own = tree.flatten(cotangent)
    if own != treedef:
        raise ArgumentError(
            f"the backward rule of {name} returns a cotangent of structure {own} for argument "
            f"{number}, "
            f"expected {treedef}",
            location=caller_location(),
        )
    return leaves


def _with_captures(regions: Any, captured: Sequence[Value], values: Sequence[Value]) -> Any:
    raise ArgumentError(
        "a function with a custom derivative closes over a traced array of the enclosing function; "
        "pass it as an "
        "argument, so that the rule can give it a derivative",
        location=caller_location(),
    )


def straight_through(hard: Any, soft: Any) -> Any:
    """The value of `hard` with the derivative of `soft`: for rounding, thresholds and samples.

    >>> import numpy as np, weft as wf
    >>> float(wf.grad(lambda x: wf.straight_through(np.round(x), x))(0.7))
    1.0
    """
    smooth, target = core.lift(soft), core.lift(hard)
    target = core.cast(target, smooth.type.dtype)
    difference = conversion.stop_gradient(arithmetic.sub(target, smooth))
    return core.wrap(arithmetic.add(smooth, difference))
