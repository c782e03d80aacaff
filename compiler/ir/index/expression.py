"""What is computed at a place: small expressions whose leaves are other values at their places.

Deep chains of ops are not nested here: a kernel lists its entries in order, one expression each,
and `Ref` points from one to another. Expressions are compared by value, so that the same thing
needed twice is one entry.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TypeAlias

import numpy as np

from weft.compiler.ir.dims import Size
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.graph import Op, Value
from weft.compiler.ir.index.affine import Guard, Index, Loop, Place
from weft.compiler.record import record


class Ref:
    """A value at a place: another entry of the kernel."""

    __slots__ = ("value", "place", "_loops", "_hash")

    def __init__(self, value: Value, place: Place) -> None:
        self.value: Final = value
        self.place: Final = place
        self._loops: frozenset[Loop] | None = None
        self._hash: int | None = None

    @property
    def loops(self) -> frozenset[Loop]:
        if self._loops is None:
            self._loops = self.place.loops
        return self._loops

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((id(self.value), self.place))
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ref) and self.value is other.value and self.place == other.place

    def __repr__(self) -> str:
        return f"{self.value!r} at {list(self.place.indices)}"


class _Composed:
    """An expression of others, which is asked for its loops again and again."""

    __slots__ = ("_loops",)

    _loops: frozenset[Loop]

    @property
    def loops(self) -> frozenset[Loop]:
        try:
            return self._loops
        except AttributeError:
            self._loops = self._all_loops()
            return self._loops

    def _all_loops(self) -> frozenset[Loop]:
        raise NotImplementedError


@record
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


@record
class Position:
    """An index as a number of a dtype."""

    index: Index
    dtype: DType

    @property
    def loops(self) -> frozenset[Loop]:
        return self.index.loops


@record
class Apply(_Composed):
    """One result of an elementwise op."""

    op: Op
    number: int
    operands: tuple[Ref, ...]

    def _all_loops(self) -> frozenset[Loop]:
        return union(self.operands)


@record
class Choose(_Composed):
    """`inside` where all guards hold, else `outside`."""

    guards: tuple[Guard, ...]
    inside: Expression
    outside: Expression

    def _all_loops(self) -> frozenset[Loop]:
        found = self.inside.loops | self.outside.loops
        for guard in self.guards:
            found |= guard.index.loops
        return found


@record
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


@record
class Start:
    """The start of a window, moved to where a window of `limit` below the end still fits."""

    position: Ref
    limit: Size

    @property
    def loops(self) -> frozenset[Loop]:
        return self.position.loops


@record
class Quotient:
    """An index divided by a size, rounded down."""

    index: Index
    divisor: Size

    @property
    def loops(self) -> frozenset[Loop]:
        return self.index.loops


@record
class Combined(_Composed):
    """A short reduction written out: its operands combined in a tree."""

    kind: str
    op: Op
    operands: tuple[Ref, ...]

    def _all_loops(self) -> frozenset[Loop]:
        return union(self.operands)


Expression: TypeAlias = (
    Ref | Literal | Position | Apply | Choose | Resolved | Start | Quotient | Combined
)


@record
class Reduction:
    """`body` combined over loops; `kind` is sum, prod, max, min, any, all, argmax or argmin."""

    kind: str
    body: Ref
    over: tuple[Loop, ...]
    op: Op


Computed: TypeAlias = Expression | Reduction


def union(expressions: Iterable[Expression]) -> frozenset[Loop]:
    """The loops that any of the expressions depends on."""
    found: frozenset[Loop] = frozenset()
    for expression in expressions:
        found |= expression.loops
    return found
