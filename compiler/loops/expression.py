"""What is computed at a place: small expressions whose leaves are other values at their places.

Deep chains of ops are not nested here: a kernel lists its entries in order, one expression each,
and `Ref` points from one to another. Expressions are compared by value, so that the same thing
needed twice is one entry.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from weft.compiler.ir.dims import Size
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.graph import Op, Value
from weft.compiler.loops.index import Guard, Index, Loop, Place


@dataclass(frozen=True)
class Ref:
    """A value at a place: another entry of the kernel."""

    value: Value
    place: Place

    @cached_property
    def loops(self) -> frozenset[Loop]:
        return self.place.loops

    @cached_property
    def _hash(self) -> int:
        return hash((id(self.value), self.place))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ref) and self.value is other.value and self.place == other.place

    def __repr__(self) -> str:
        return f"{self.value!r} at {list(self.place.indices)}"


@dataclass(frozen=True)
class Literal:
    """A number known now."""

    array: np.ndarray[Any, Any]
    dtype: DType

    @property
    def loops(self) -> frozenset[Loop]:
        return frozenset()

    def __hash__(self) -> int:
        return hash((self.array.tobytes(), self.dtype.name))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Literal)
            and self.dtype is other.dtype
            and self.array.tobytes() == other.array.tobytes()
        )


@dataclass(frozen=True)
class Position:
    """An index as a number of a dtype."""

    index: Index
    dtype: DType

    @property
    def loops(self) -> frozenset[Loop]:
        return self.index.loops


@dataclass(frozen=True)
class Apply:
    """One result of an elementwise op."""

    op: Op
    number: int
    operands: tuple[Ref, ...]

    @cached_property
    def loops(self) -> frozenset[Loop]:
        return union(self.operands)


@dataclass(frozen=True)
class Choose:
    """`inside` where all guards hold, else `outside`."""

    guards: tuple[Guard, ...]
    inside: Expression
    outside: Expression

    @cached_property
    def loops(self) -> frozenset[Loop]:
        found = self.inside.loops | self.outside.loops
        for guard in self.guards:
            found |= guard.index.loops
        return found


@dataclass(frozen=True)
class Resolved:
    """A gathered position as an i64 from 0: negative ones count from the end; `mode` says what one
    outside of the axis does (raise: fail and read another, clip: the nearest, fill: keep it, to be
    guarded).
    """

    position: Ref
    size: Size
    mode: str
    op: Op
    axis: int
    guards: tuple[Guard, ...]

    @property
    def loops(self) -> frozenset[Loop]:
        return self.position.loops


@dataclass(frozen=True)
class Start:
    """The start of a window, moved to where a window of `limit` below the end still fits."""

    position: Ref
    limit: Size

    @property
    def loops(self) -> frozenset[Loop]:
        return self.position.loops


@dataclass(frozen=True)
class Quotient:
    """An index divided by a size, rounded down."""

    index: Index
    divisor: Size

    @property
    def loops(self) -> frozenset[Loop]:
        return self.index.loops


@dataclass(frozen=True)
class Combined:
    """A short reduction written out: its operands combined in a tree."""

    kind: str
    op: Op
    operands: tuple[Ref, ...]

    @cached_property
    def loops(self) -> frozenset[Loop]:
        return union(self.operands)


Expression: TypeAlias = (
    Ref | Literal | Position | Apply | Choose | Resolved | Start | Quotient | Combined
)


def union(expressions: Iterable[Expression]) -> frozenset[Loop]:
    """The loops that any of the expressions depends on."""
    found: frozenset[Loop] = frozenset()
    for expression in expressions:
        found |= expression.loops
    return found
