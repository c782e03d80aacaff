"""Graphs as SymPy expressions and as numbers of many digits, for the proofs of rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mpmath

from weft.compiler.ir.graph import Constant, Graph, Op, Value


def _functions(m: Any, number: Callable[[Any], Any]) -> dict[str, Callable[..., Any]]:
    """What each elementwise op means; `m` is sympy or mpmath."""
    return {
        "add": lambda x, y: x + y,
        "sub": lambda x, y: x - y,
        "mul": lambda x, y: x * y,
        "div": lambda x, y: x / y,
        "neg": lambda x: -x,
        "pow": lambda x, y: x**y,
        "exp": m.exp,
        "log": m.log,
        "tanh": m.tanh,
        "sqrt": m.sqrt,
        "rsqrt": lambda x: 1 / m.sqrt(x),
        "log1p": lambda x: m.log(1 + x),
        "expm1": lambda x: m.exp(x) - 1,
        "sigmoid": lambda x: 1 / (1 + m.exp(-x)),
        "softplus": lambda x: m.log(1 + m.exp(x)),
        # On the domain of a proof everything is finite.
        "is_finite": lambda x: True,
        "eq": lambda x, y: False,
        "select": lambda pred, x, y: x if pred else y,
    }


def _run(made: Graph, inputs: dict[Value, list[Any]], m: Any, number: Any) -> list[Any]:
    """Each value as the list of its elements; ops on rows know one row."""
    functions = _functions(m, number)
    values = dict(inputs)

    def read(value: Value) -> list[Any]:
        return [number(value.array)] if isinstance(value, Constant) else values[value]

    for op in made.ops:
        values[op.results[0]] = _apply(op, [read(v) for v in op.operands], functions, m)
    return read(made.results[0])


def _apply(op: Op, operands: Sequence[list[Any]], functions: Any, m: Any) -> list[Any]:
    if op.name == "reduce_sum":
        return [sum(operands[0])]
    if op.name == "reduce_max":
        # Any number that is subtracted and added again will do for an identity.
        return [operands[0][0]]
    if op.name == "broadcast":
        return operands[0] * 3
    width = max(len(operand) for operand in operands)
    columns = [operand * width if len(operand) == 1 else operand for operand in operands]
    return [functions[op.name](*column) for column in zip(*columns, strict=True)]


def to_sympy(made: Graph, symbols: dict[str, list[Any]]) -> list[Any]:
    """The elements of the result as expressions of the parameters' symbols."""
    import sympy

    inputs: dict[Value, list[Any]] = {p: symbols[p.name] for p in made.parameters}
    return _run(made, inputs, sympy, lambda array: _rational(float(array)))


def _rational(value: float) -> Any:
    import sympy

    return (
        sympy.oo * (1 if value > 0 else -1) if abs(value) == float("inf") else sympy.Rational(value)
    )


def exact_value(made: Graph, x: Any) -> Any:
    """The result for a number, with mpmath's digits."""
    (parameter,) = made.parameters
    return _run(made, {parameter: [x]}, mpmath, lambda array: mpmath.mpf(float(array)))[0]
