"""Which elements of an axis are chosen, where their number is only known when the program runs: by
a mask, or from one traced place to another.

The axis keeps its static size, which bounds the number; nothing is moved.
"""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np

from weft.compiler.ir import dtypes
from weft.compiler.ir.dims import Size
from weft.compiler.ir.graph import Constant, Result, Value
from weft.compiler.ir.types import Shape
from weft.compiler.ops.shape import iota as iota_op
from weft.frontends.tracing import core
from weft.frontends.tracing.bounds import Number, is_at_least, is_same, known
from weft.frontends.tracing.trace import Tracer

_SAME_DEPTH: Final = 1000
_POSITIONS: Final = {"differentiable": False}
_STATIC: Final = {"static": True}


@dataclass(eq=False)
class Mask:
    """The elements at which a bool array, of the axis's size, is true."""

    flags: Any = field(metadata=_POSITIONS)

    def mask(self, size: Size) -> Any:
        """Whether each element of the axis is chosen."""
        return self.flags

    def conditions(self, shape: Shape, axis: int) -> list[Any]:
        """The masks, which broadcast to a shape, that together say whether elements are chosen
        along an axis.
        """
        return [self.flags.reshape(*[-1 if a == axis else 1 for a in range(len(shape))])]

    def count(self) -> Any:
        """How many elements are chosen: a traced number."""
        return np.count_nonzero(self.flags)

    def place(self, number: Any) -> Any:
        """Where the element of that number, which is there, is."""
        return np.searchsorted(np.cumsum(self.flags), number + 1)

    def ranks(self, size: Size) -> Any:
        """For each chosen element of the axis, how many are chosen before it."""
        return np.cumsum(self.flags) - 1


@dataclass(eq=False)
class Span:
    """The elements at `start`, `start + step`, ... before `stop`, which is at least `start` and at
    most the size of the axis.
    """

    start: Any = field(metadata=_POSITIONS)
    stop: Any = field(metadata=_POSITIONS)
    step: int = field(default=1, metadata=_STATIC)

    @classmethod
    def of(cls, start: Number, stop: Number, step: int = 1) -> Span:
        """The span between two numbers."""
        return cls(_traced(start), _traced(stop), step)

    def mask(self, size: Size) -> Any:
        """Whether each element of the axis is chosen."""
        return functools.reduce(operator.and_, self.conditions((size,), 0))

    def conditions(self, shape: Shape, axis: int) -> list[Any]:
        """The masks of a shape that together say whether elements are chosen along an axis. Each is
        of all elements: so a loop over them ends where they do (`compiler.loops.limits`).
        """
        size = shape[axis]
        places: Any = core.wrap(iota_op(dtype=dtypes.i64, shape=shape, axis=axis))
        conditions = [] if is_same(self.start, 0) else [places >= self.start]
        if not is_at_least(self.stop, size):
            conditions.append(places < self.stop)
        if self.step > 1:
            conditions.append((places - self.start) % self.step == 0)
        return conditions or [core.wrap(core.full(shape, True, dtypes.bool_))]

    def count(self) -> Any:
        """How many elements are chosen: a traced number."""
        if self.step == 1:
            return difference(self.stop, self.start)
        return (self.stop - self.start + (self.step - 1)) // self.step

    def place(self, number: Any) -> Any:
        """Where the element of that number, which is there, is."""
        scaled = number * self.step if self.step > 1 else number
        return self.start + scaled if np.ndim(number) else total(self.start, scaled)

    def ranks(self, size: Size) -> Any:
        """For each chosen element of the axis, how many are chosen before it."""
        return (iota(size) - self.start) // self.step


Choice: TypeAlias = "Mask | Span"


def iota(size: Size) -> Any:
    """The places of an axis."""
    return core.wrap(iota_op(dtype=dtypes.i64, shape=(size,), axis=0))


# --- numbers --------------------------------------------------------------------------------------


def _traced(number: Number) -> Tracer:
    value = core.lift(number if isinstance(number, Tracer) else _plain(number))
    return core.wrap(core.cast(value, dtypes.i64))


def _plain(number: Any) -> Any:
    return int(number) if isinstance(number, np.integer) else number


def simplest(number: Number) -> Any:
    """The number itself, or the size that it is for certain."""
    size = known(number)
    if size is not None:
        return size
    assert isinstance(number, Tracer)
    return _traced(number)


def total(left: Number, right: Number) -> Any:
    """The sum of two numbers."""
    if is_same(right, 0):
        return simplest(left)
    return simplest(right) if is_same(left, 0) else simplest(left) + simplest(right)


def difference(left: Number, right: Number) -> Any:
    """The difference of two numbers."""
    if is_same(right, 0):
        return simplest(left)
    return 0 if is_same(left, right) else simplest(left) - simplest(right)


def largest(left: Number, right: Number) -> Any:
    """The larger of two numbers."""
    if is_at_least(left, right):
        return simplest(left)
    if is_at_least(right, left):
        return simplest(right)
    return np.maximum(_traced(left), _traced(right))  # type: ignore[call-overload]


def smallest(left: Number, right: Number) -> Any:
    """The smaller of two numbers."""
    if is_at_least(left, right):
        return simplest(right)
    if is_at_least(right, left):
        return simplest(left)
    return np.minimum(_traced(left), _traced(right))  # type: ignore[call-overload]


# --- agreement ------------------------------------------------------------------------------------


def is_same_choice(left: Choice, right: Choice) -> bool:
    """Whether two choices plainly are of the same elements."""
    if isinstance(left, Span) and isinstance(right, Span):
        are_same = is_same(left.start, right.start) and is_same(left.stop, right.stop)
        return left.step == right.step and are_same
    if isinstance(left, Mask) and isinstance(right, Mask):
        return _is_same(core.lift(left.flags), core.lift(right.flags))
    return False


def is_same_count(left: Choice, right: Choice) -> bool:
    """Whether two choices are of equally many elements for certain."""
    if isinstance(left, Span) and isinstance(right, Span) and left.step == right.step:
        sizes = [difference(span.stop, span.start) for span in (left, right)]
        if is_same(sizes[0], sizes[1]):
            return True
    return is_same_choice(left, right) or is_same(left.count(), right.count())


def _is_same(left: Value, right: Value) -> bool:
    """Whether two values are made in the same way of the same."""
    pairs, steps = [(left, right)], 0
    while pairs:
        one, other = pairs.pop()
        steps += 1
        if one is other:
            continue
        if isinstance(one, Constant) and isinstance(other, Constant):
            if one.type == other.type and np.array_equal(one.array, other.array):
                continue
            return False
        if not (isinstance(one, Result) and isinstance(other, Result)) or steps > _SAME_DEPTH:
            return False
        if not _are_alike(one, other):
            return False
        pairs += zip(one.op.operands, other.op.operands, strict=True)
    return True


def _are_alike(one: Result, other: Result) -> bool:
    return (
        one.op.definition is other.op.definition
        and one.index == other.index
        and not one.op.regions
        and one.op.attributes == other.op.attributes
        and len(one.op.operands) == len(other.op.operands)
    )
