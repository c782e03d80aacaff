"""Between which ints a traced integer lies, as far as the ops that make it tell. Operators on
Python ints ask, so that indices and counters need no check that they fit into 64 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from weft.compiler.ir.graph import Constant, Parameter, Result, Value
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ops.arithmetic import (
    abs_,
    add,
    floor_divide,
    maximum,
    minimum,
    mul,
    neg,
    remainder,
    sub,
)
from weft.compiler.ops.conversion import cast
from weft.compiler.ops.logic import and_, select, shift_right
from weft.compiler.ops.shape import dim_value
from weft.frontends.tracing.trace import Trace, current_trace

Interval: TypeAlias = tuple[int, int]
LONGEST: Final = 1 << 40
"""No loop has as many steps, and no array as many elements."""
ALL: Final[Interval] = (-(1 << 63), (1 << 63) - 1)
_DEEPEST: Final = 16


def interval(value: Value, trace: Trace | None = None) -> Interval:
    """The least and the greatest that a rank-0 integer of a trace, or the one in force, can be."""
    low, high = _interval(value, trace or current_trace(), _DEEPEST)
    return max(low, ALL[0]), min(high, ALL[1])


def note_interval(value: Value, low: int, high: int) -> None:
    """Remember what is known of a value that no op tells, such as the number of a step."""
    current_trace().intervals[value] = low, high


def fits(ends: Interval) -> bool:
    """Whether all of an interval are numbers of 64 bits."""
    return ALL[0] <= ends[0] and ends[1] <= ALL[1]


def sums(one: Interval, other: Interval) -> Interval:
    return one[0] + other[0], one[1] + other[1]


def differences(one: Interval, other: Interval) -> Interval:
    return one[0] - other[1], one[1] - other[0]


def products(one: Interval, other: Interval) -> Interval:
    corners = [a * b for a in one for b in other]
    return min(corners), max(corners)


def _interval(value: Value, trace: Trace, depth: int) -> Interval:
    if isinstance(value, Constant):
        return (int(value.array),) * 2 if value.array.size == 1 else ALL
    known = trace.intervals.get(value)
    if known is not None or not depth:
        return known or ALL
    if isinstance(value, Parameter):
        return _of_parameter(value, trace, depth)
    assert isinstance(value, Result)
    op = value.op
    if op.definition is cast:
        (source,) = op.operands
        is_integer = source.type.dtype.is_integer
        return (
            (0, 1)
            if source.type.dtype.is_bool
            else ALL
            if not is_integer
            else _interval(source, trace, depth - 1)
        )
    if op.definition is dim_value:
        return 0, LONGEST
    if op.definition is select:
        return _either(*[_interval(part, trace, depth - 1) for part in op.operands[1:]])
    rule = _RULES.get(op.definition)
    if rule is None:
        return ALL
    ends = rule(*[_interval(operand, trace, depth - 1) for operand in op.operands])
    return ends if fits(ends) else ALL


def _of_parameter(value: Parameter, trace: Trace, depth: int) -> Interval:
    """Of one that stands for a value of the trace around, what is known there."""
    if trace.parent is not None:
        for outer, own in trace.captures.items():
            if own is value:
                return _interval(outer, trace.parent, depth - 1)
    return ALL


def _either(one: Interval, other: Interval) -> Interval:
    return min(one[0], other[0]), max(one[1], other[1])


def _negative(one: Interval) -> Interval:
    return -one[1], -one[0]


def _magnitude(one: Interval) -> Interval:
    least = 0 if one[0] <= 0 <= one[1] else min(map(abs, one))
    return least, max(map(abs, one))


def _quotients(one: Interval, other: Interval) -> Interval:
    reach = max(map(abs, one))
    return (0, reach) if one[0] >= 0 and other[0] >= 0 else (-reach - 1, reach)


def _remainders(one: Interval, other: Interval) -> Interval:
    return min(other[0] + 1, 0), max(other[1] - 1, 0)


def _common_bits(one: Interval, other: Interval) -> Interval:
    high = [ends[1] for ends in (one, other) if ends[0] >= 0]
    return (0, min(high)) if high else ALL


def _shifted(one: Interval, other: Interval) -> Interval:
    return min(one[0], 0), max(one[1], 0)


_RULES: Final[Mapping[OpDef, Callable[..., Interval]]] = {
    add: sums,
    sub: differences,
    mul: products,
    neg: _negative,
    abs_: _magnitude,
    floor_divide: _quotients,
    remainder: _remainders,
    and_: _common_bits,
    shift_right: _shifted,
    maximum: lambda one, other: (max(one[0], other[0]), max(one[1], other[1])),
    minimum: lambda one, other: (min(one[0], other[0]), min(one[1], other[1])),
}
