"""What is known of traced integers without their values: sums of others, and between which bounds.

The variable of a loop over a range lies within it, also where its ends are traced; so `x[1:i]` and
`y[:i - 1]` can be seen to have one length, and `x[:i]` to end inside of x. What cannot be shown is
not known, and never guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from weft.compiler.ir import dims
from weft.compiler.ir.dims import Dim, Size
from weft.compiler.ir.graph import Constant, Result, Value
from weft.compiler.record import record
from weft.frontends.tracing.intervals import ALL, LONGEST, Interval, interval
from weft.frontends.tracing.trace import Trace, Tracer, current_trace, find_trace

Number: TypeAlias = "int | np.integer[Any] | Dim | Tracer"

_DEPTH: Final = 12  # ops that a sum is looked for in
_MOST_STEPS: Final = 64  # bounds that a proof puts in place of numbers
_FEW_STEPS: Final = 8  # the same for what a bound depends on


@record
class Linear:
    """A size plus multiples of traced integers."""

    terms: Mapping[Value, int]
    constant: Size

    def plus(self, other: Linear | int, sign: int = 1) -> Linear:
        """The sum, or with sign -1 the difference."""
        if isinstance(other, int):
            return Linear(self.terms, self.constant + sign * other)
        keys = dict.fromkeys([*self.terms, *other.terms])
        made = {key: self.terms.get(key, 0) + sign * other.terms.get(key, 0) for key in keys}
        kept = {key: factor for key, factor in made.items() if factor}
        return Linear(kept, self.constant + sign * other.constant)

    def times(self, factor: int) -> Linear:
        """A multiple."""
        made = {key: count * factor for key, count in self.terms.items() if factor}
        return Linear(made, self.constant * factor)

    def with_term(self, key: Value, bound: Linear) -> Linear:
        """The sum with another in place of one of its numbers."""
        rest = {other: count for other, count in self.terms.items() if other is not key}
        return Linear(rest, self.constant).plus(bound.times(self.terms[key]))


def note_bounds(number: Tracer, low: Number, high: Number) -> None:
    """Note that a traced integer is at least `low` and at most `high`, wherever it is used."""
    trace = current_trace()
    trace.bounds[number.value] = len(trace.bounds), (linear(low), linear(high))


def remembered(key: Sequence[Any], make: Callable[[], Any]) -> Any:
    """What was made for the same key in this trace or one around it; numbers in keys count as the
    sums that they are.
    """
    parts = tuple([part if isinstance(part, str) else _sum_key(linear(part)) for part in key])
    for trace in _traces():
        if parts in trace.made:
            return trace.made[parts]
    made = current_trace().made[parts] = make()
    return made


def _sum_key(sum_: Linear) -> Any:
    return frozenset(sum_.terms.items()), sum_.constant


def linear(number: Number) -> Linear:
    """A number as a sum."""
    if isinstance(number, Tracer):
        return _linear(number.value, _DEPTH)
    return Linear({}, number if isinstance(number, Dim) else int(number))


def known(number: Number) -> Size | None:
    """The size that a number is for certain, or None."""
    sum_ = linear(number)
    return None if sum_.terms else sum_.constant


def is_same(left: Number, right: Number) -> bool:
    """Whether two numbers are equal for certain."""
    difference = linear(left).plus(linear(right), -1)
    return not difference.terms and difference.constant == 0


def is_at_least(left: Number, right: Number) -> bool:
    """Whether `left >= right` for certain."""
    return _is_natural(linear(left).plus(linear(right), -1), [_MOST_STEPS])


def greatest(number: Number) -> Size | None:
    """A size that a number does not exceed for certain, or None."""
    sum_ = linear(number)
    for _ in range(_MOST_STEPS):
        if not sum_.terms:
            return sum_.constant
        key = max(sum_.terms, key=_rank)
        bound = next(_bounds(key, is_upper=sum_.terms[key] > 0), None)
        if bound is None or bound.constant == LONGEST:
            return None
        sum_ = sum_.with_term(key, bound)
    return None


def _is_natural(sum_: Linear, steps: list[int]) -> bool:
    """Whether a sum is at least 0 for certain: numbers give way to their bounds, the innermost
    first, whose bounds may speak of the outer ones.
    """
    if not sum_.terms:
        least = dims.lower(sum_.constant)
        return least is not None and least >= 0
    for key in sorted(sum_.terms, key=_rank, reverse=True):
        for bound in _bounds(key, is_upper=sum_.terms[key] < 0):
            steps[0] -= 1
            if steps[0] < 0:
                return False
            if _is_natural(sum_.with_term(key, bound), steps):
                return True
    return False


def _rank(value: Value) -> tuple[int, int]:
    """How far inside a number was made; results of ops come before all that has bounds noted."""
    if isinstance(value, Result):
        return 1 << 30, 0
    for depth, trace in enumerate(_traces()):
        if value in trace.bounds:
            return -depth, trace.bounds[value][0]
    return -(1 << 30), 0


def _bounds(value: Value, is_upper: bool) -> Iterator[Linear]:
    for trace in _traces():
        if value in trace.bounds:
            yield trace.bounds[value][1][is_upper]
    ends = _interval(value)
    if ends[is_upper] != ALL[is_upper]:
        yield Linear({}, ends[is_upper])
    if not isinstance(value, Result):
        return
    op = value.op
    bounding, extreme = ("minimum", "maximum") if is_upper else ("maximum", "minimum")
    operands = [_linear(operand, _DEPTH) for operand in op.operands]
    if op.name == bounding:
        yield from operands
    elif op.name == "clamp":
        yield operands[2 if is_upper else 0]
    elif op.name == extreme:
        yield from _outermost(operands[0], operands[1], is_upper)
    elif op.name == "select" and not op.operands[0].type.shape:
        yield from _outermost(operands[1], operands[2], is_upper)


def _interval(value: Value) -> Interval:
    """Between which ints it lies, in whichever of the traces it was made."""
    found = [interval(value, trace) for trace in _traces()]
    return max(low for low, _ in found), min(high for _, high in found)


def _outermost(left: Linear, right: Linear, is_upper: bool) -> Iterator[Linear]:
    """The larger of two sums, or the smaller, if it is known which that is."""
    if _is_natural(left.plus(right, -1), [_FEW_STEPS]):
        yield left if is_upper else right
    elif _is_natural(right.plus(left, -1), [_FEW_STEPS]):
        yield right if is_upper else left


def _traces() -> Iterator[Trace]:
    trace = find_trace()
    while trace is not None:
        yield trace
        trace = trace.parent


def _outer(value: Value) -> Value:
    """What a parameter of a body stands for, if that comes from outside of it."""
    for trace in _traces():
        for outside, inside in trace.captures.items():
            if inside is value:
                value = outside
                break
    return value


def _linear(value: Value, depth: int) -> Linear:
    value = _outer(value)
    if isinstance(value, Constant) and value.array.size == 1:
        return Linear({}, int(np.asarray(value.array).reshape(-1)[0]))
    if isinstance(value, Result) and depth and value.type.dtype.is_integer and not value.type.shape:
        op = value.op
        if op.name == "dim_value":
            return Linear({}, op.attributes["dim"])
        if op.name in ("add", "sub"):
            left, right = [_linear(operand, depth - 1) for operand in op.operands]
            return left.plus(right, -1 if op.name == "sub" else 1)
        if op.name == "neg":
            return _linear(op.operands[0], depth - 1).times(-1)
        if op.name == "cast" and op.operands[0].type.dtype.is_integer:
            return _linear(op.operands[0], depth - 1)
        if op.name == "mul":
            factors = [_linear(operand, depth - 1) for operand in op.operands]
            for factor, other in (factors, factors[::-1]):
                if not factor.terms and isinstance(factor.constant, int):
                    return other.times(factor.constant)
    return Linear({value: 1}, 0)
