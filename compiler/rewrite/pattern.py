"""Patterns of ops, written with the ops themselves.

Inside `PatternBuilder().active()` an op that is called makes a node of a pattern instead of an op
of a graph: `log(add(exp(x), literal(1)))`. A placeholder that appears twice must meet the same
value, commutative ops match in both orders, and literals match constants by value, stretched or
not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, TypeAlias, TypeVar

from weft.compiler.ir.ambient import InForce, active
from weft.compiler.ir.errors import VerifyError
from weft.compiler.ir.graph import Constant, Number, Op, Region, Result, Value
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ops import shape

Bindings: TypeAlias = dict[str, Value]
Predicate: TypeAlias = Callable[[Any], bool]
T = TypeVar("T")


class Pattern(Value):
    """A node of a pattern. It is a `Value` so that ops take it, but it has no type."""

    __slots__ = ()


class Placeholder(Pattern):
    """Any value, or any that `accepts` accepts; the same one wherever the name stands."""

    __slots__ = ("name", "accepts")

    def __init__(self, name: str, accepts: Callable[[Value], bool] | None = None) -> None:
        self.name = name
        self.accepts = accepts

    def __repr__(self) -> str:
        return self.name


class Literal(Pattern):
    """A constant all of whose elements have this value; the sign of a zero counts for floats."""

    __slots__ = ("value",)

    def __init__(self, value: Number) -> None:
        self.value = value

    def __repr__(self) -> str:
        return repr(self.value)


class Application(Pattern):
    """An op on patterns. An attribute may be a function that says whether it accepts a value; one
    that is left out may be anything.
    """

    __slots__ = ("definition", "operands", "attributes", "is_commutative")

    def __init__(
        self, definition: OpDef, operands: tuple[Pattern, ...], attributes: Mapping[str, Any]
    ) -> None:
        self.definition = definition
        self.operands = operands
        self.attributes = dict(attributes)
        self.is_commutative = definition.is_commutative

    def __repr__(self) -> str:
        return f"{self.definition.name}({', '.join(map(repr, self.operands))})"


class PatternBuilder:
    """Makes patterns of the ops that are called while it is in force."""

    def emit(
        self,
        definition: OpDef,
        operands: Sequence[Value],
        attributes: Mapping[str, object] | None = None,
        regions: Sequence[Region] = (),
    ) -> tuple[Value, ...]:
        """The pattern of an op with one result."""
        if regions or definition.regions:
            raise VerifyError(f"a pattern cannot hold {definition.name}, which has regions")
        unknown = (attributes or {}).keys() - definition.attributes.keys()
        if unknown:
            raise VerifyError(f"{definition.name} has no attribute {', '.join(sorted(unknown))}")
        nodes = tuple([_as_pattern(operand) for operand in operands])
        return (Application(definition, nodes, attributes or {}),)

    def active(self) -> InForce[PatternBuilder]:
        """Put this builder in force."""
        return InForce(active, self)


def literal(value: Number) -> Value:
    """A constant in a pattern."""
    return Literal(value)


def _as_pattern(operand: Value) -> Pattern:
    if isinstance(operand, Pattern):
        return operand
    number = uniform_value(operand)
    if number is None:
        raise VerifyError(f"{operand!r} is neither a pattern nor a number")
    return Literal(number)


# --- matching -------------------------------------------------------------------------------------

# What is still to be matched: a linked list, so that a branch of the search can keep its own.
Pending: TypeAlias = "tuple[Pattern, Value, Pending] | None"


def match(pattern: Application, op: Op) -> Bindings | None:
    """What the placeholders stand for if the op's one result matches, else None."""
    if op.definition is not pattern.definition or len(op.results) != 1:
        return None
    return _solve((pattern, op.results[0], None), {})


def _solve(pending: Pending, bindings: Bindings) -> Bindings | None:
    while pending is not None:
        pattern, value, pending = pending
        if isinstance(pattern, Placeholder):
            bound = bindings.get(pattern.name)
            if bound is None:
                if pattern.accepts is not None and not pattern.accepts(value):
                    return None
                bindings = {**bindings, pattern.name: value}
            elif not is_same(bound, value):
                return None
        elif isinstance(pattern, Literal):
            if not is_literal(value, pattern.value):
                return None
        else:
            assert isinstance(pattern, Application)
            operands = _operands_if_applied(pattern, value)
            if operands is None:
                return None
            orders = [
                o
                for o in _orders(pattern, operands)
                if all(map(_may_fit, pattern.operands, map(maker_of, o)))
            ]
            for operands in orders[:-1]:
                solution = _solve(_push(pattern.operands, operands, pending), bindings)
                if solution is not None:
                    return solution
            if not orders:
                return None
            pending = _push(pattern.operands, orders[-1], pending)
    return bindings


def _orders(pattern: Application, operands: tuple[T, ...]) -> list[tuple[T, ...]]:
    if not pattern.is_commutative:
        return [operands]
    return [operands, (operands[1], operands[0], *operands[2:])]


def may_match(pattern: Application, makers: tuple[Maker, ...]) -> bool:
    """Whether an op may match whose operands are made so."""
    if len(makers) != len(pattern.operands):
        return False
    return any(all(map(_may_fit, pattern.operands, o)) for o in _orders(pattern, makers))


def _may_fit(pattern: Pattern, maker: Maker) -> bool:
    """A look at one level, which most candidates fail, before the search."""
    if isinstance(pattern, Application):
        return is_made_by(maker, pattern.definition)
    if isinstance(pattern, Literal):
        return maker is Known.CONSTANT or maker is Known.STRETCHED
    return True


class Known(Enum):
    """What a value that may be a literal is made by."""

    NUMBER = "no op: it is a constant of rank 0, but none that a pattern names"
    CONSTANT = "no op: it is another constant"
    STRETCHED = "a broadcast of a constant"


Maker: TypeAlias = OpDef | Known | None
"""The op that makes a value; None: it is a parameter."""


def maker_of(value: Value) -> Maker:
    """What makes a value, as far as patterns ask."""
    if isinstance(value, Result):
        op = value.op
        if op.definition is shape.broadcast and isinstance(op.operands[0], Constant):
            return Known.STRETCHED
        return op.definition
    return Known.CONSTANT if isinstance(value, Constant) else None


def is_made_by(maker: Maker, definition: OpDef) -> bool:
    """Whether an op of this kind makes the value."""
    return maker is definition or (maker is Known.STRETCHED and definition is shape.broadcast)


def _push(patterns: Sequence[Pattern], values: Sequence[Value], rest: Pending) -> Pending:
    for pattern, value in zip(reversed(patterns), reversed(values), strict=True):
        rest = (pattern, value, rest)
    return rest


def _operands_if_applied(pattern: Application, value: Value) -> tuple[Value, ...] | None:
    if not isinstance(value, Result) or value.op.definition is not pattern.definition:
        return None
    op = value.op
    if len(op.operands) != len(pattern.operands):
        return None
    for name, wanted in pattern.attributes.items():
        actual = op.attributes[name]
        if not (wanted(actual) if callable(wanted) else wanted == actual):
            return None
    return op.operands


def is_same(left: Value, right: Value) -> bool:
    """Whether two values are one, or equal constants."""
    if left is right:
        return True
    return (
        isinstance(left, Constant)
        and isinstance(right, Constant)
        and left.type == right.type
        and left.digest == right.digest
    )


def is_literal(value: Value, number: Number) -> bool:
    """Whether all elements of a constant are this number."""
    uniform = uniform_value(value)
    if uniform is None:
        return False
    if not value.type.dtype.is_inexact:
        return bool(uniform == number)
    if uniform != number:
        return bool(uniform != uniform and number != number)
    if uniform != 0 or value.type.dtype.is_complex:
        return True
    assert isinstance(uniform, float) and not isinstance(number, complex)
    return math.copysign(1, uniform) == math.copysign(1, number)


def uniform_value(value: Value) -> Number | None:
    """The number that all elements of a constant, or of a stretched one, are; None if there is no
    such.
    """
    if isinstance(value, Result) and value.op.definition is shape.broadcast:
        value = value.op.operands[0]
    return value.uniform if isinstance(value, Constant) else None


def placeholders(pattern: Pattern) -> list[Placeholder]:
    """The placeholders of a pattern, each once, in order."""
    by_name: dict[str, Placeholder] = {}
    for node in _leaves(pattern):
        if isinstance(node, Placeholder):
            by_name.setdefault(node.name, node)
    return list(by_name.values())


def literals(pattern: Pattern) -> set[Number]:
    """The numbers that a pattern names."""
    return {node.value for node in _leaves(pattern) if isinstance(node, Literal)}


def _leaves(pattern: Pattern) -> Iterator[Pattern]:
    stack = [pattern]
    while stack:
        node = stack.pop()
        if isinstance(node, Application):
            stack.extend(reversed(node.operands))
        else:
            yield node
