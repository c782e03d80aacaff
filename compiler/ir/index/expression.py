"""What is computed at a place: small expressions whose leaves are other values at their places.

Deep chains of ops are not nested here: a kernel lists its entries in order, one expression each,
and `Ref` points from one to another. Expressions are compared by value, so that the same thing
needed twice is one entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np

from weft.compiler.ir.dims import Size
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.graph import Op, Value
from weft.compiler.ir.index.affine import Guard, Index, Loop, Place


class Ref:
    """A value at a place: another entry of the kernel."""

    __slots__ = ("value", "place", "_hash")

    def __init__(self, value: Value, place: Place) -> None:
        self.value: Final = value
        self.place: Final = place
        self._hash = hash((value, place))

    @property
    def loops(self) -> frozenset[Loop]:
        return self.place.loops

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ref) and self.value is other.value and self.place == other.place

    def __repr__(self) -> str:
        return f"{self.value!r} at {list(self.place.indices)}"


class _Node:
    """A part of an expression, compared by what it is made of.

    Written out, as dataclasses take long to define, and kernels have very many of these.
    """

    __slots__ = ("_loops",)

    _values: ClassVar[Callable[[Any], Any]]
    _loops: frozenset[Loop]

    def __init_subclass__(cls) -> None:
        cls._values = attrgetter(*cls.__slots__)

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        values = type(self)._values
        return bool(values(self) == values(other))

    def __hash__(self) -> int:
        return hash(type(self)._values(self))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__name__}({shown})"

    @property
    def loops(self) -> frozenset[Loop]:
        """The loops that it depends on."""
        try:
            return self._loops
        except AttributeError:
            self._loops = self._all_loops()
            return self._loops

    def _all_loops(self) -> frozenset[Loop]:
        raise NotImplementedError


class Literal(_Node):
    """A number known now."""

    __slots__ = ("array", "dtype")

    def __init__(self, array: np.ndarray[Any, Any], dtype: DType) -> None:
        self.array: Final = array
        self.dtype: Final = dtype

    def _all_loops(self) -> frozenset[Loop]:
        return frozenset()

    def __hash__(self) -> int:
        return hash((self.array.tobytes(), self.dtype.name))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Literal)
            and self.dtype is other.dtype
            and self.array.tobytes() == other.array.tobytes()
        )


class Position(_Node):
    """An index as a number of a dtype."""

    __slots__ = ("index", "dtype")

    def __init__(self, index: Index, dtype: DType) -> None:
        self.index: Final = index
        self.dtype: Final = dtype

    def _all_loops(self) -> frozenset[Loop]:
        return self.index.loops


class Apply(_Node):
    """One result of an elementwise op."""

    __slots__ = ("op", "number", "operands")

    def __init__(self, op: Op, number: int, operands: tuple[Ref, ...]) -> None:
        self.op: Final = op
        self.number: Final = number
        self.operands: Final = operands

    def _all_loops(self) -> frozenset[Loop]:
        return union(self.operands)


class Choose(_Node):
    """`inside` where all guards hold, else `outside`."""

    __slots__ = ("guards", "inside", "outside")

    def __init__(self, guards: tuple[Guard, ...], inside: Expression, outside: Expression) -> None:
        self.guards: Final = guards
        self.inside: Final = inside
        self.outside: Final = outside

    def _all_loops(self) -> frozenset[Loop]:
        loops = self.inside.loops | self.outside.loops
        for guard in self.guards:
            loops |= guard.index.loops
        return loops


class Resolved(_Node):
    """A gathered position as an i64 from 0: negative ones count from the end; `mode` says what one
    outside of the axis does (raise: fail and read another, clip: the nearest, fill: keep it, to be
    guarded).
    """

    __slots__ = ("position", "size", "mode", "op", "axis", "guards")

    def __init__(
        self, position: Ref, size: Size, mode: str, op: Op, axis: int, guards: tuple[Guard, ...]
    ) -> None:
        self.position: Final = position
        self.size: Final = size
        self.mode: Final = mode
        self.op: Final = op
        self.axis: Final = axis
        self.guards: Final = guards

    def _all_loops(self) -> frozenset[Loop]:
        return self.position.loops


class Start(_Node):
    """The start of a window, moved to where a window of `limit` below the end still fits."""

    __slots__ = ("position", "limit")

    def __init__(self, position: Ref, limit: Size) -> None:
        self.position: Final = position
        self.limit: Final = limit

    def _all_loops(self) -> frozenset[Loop]:
        return self.position.loops


class Quotient(_Node):
    """An index divided by a size, rounded down."""

    __slots__ = ("index", "divisor")

    def __init__(self, index: Index, divisor: Size) -> None:
        self.index: Final = index
        self.divisor: Final = divisor

    def _all_loops(self) -> frozenset[Loop]:
        return self.index.loops


class Combined(_Node):
    """A short reduction written out: its operands combined in a tree."""

    __slots__ = ("kind", "op", "operands")

    def __init__(self, kind: str, op: Op, operands: tuple[Ref, ...]) -> None:
        self.kind: Final = kind
        self.op: Final = op
        self.operands: Final = operands

    def _all_loops(self) -> frozenset[Loop]:
        return union(self.operands)


Expression: TypeAlias = (
    Ref | Literal | Position | Apply | Choose | Resolved | Start | Quotient | Combined
)


class Reduction(_Node):
    """`body` combined over loops; `kind` is sum, prod, max, min, any, all, argmax or argmin."""

    __slots__ = ("kind", "body", "over", "op")

    def __init__(self, kind: str, body: Ref, over: tuple[Loop, ...], op: Op) -> None:
        self.kind: Final = kind
        self.body: Final = body
        self.over: Final = over
        self.op: Final = op

    def _all_loops(self) -> frozenset[Loop]:
        return self.body.loops - frozenset(self.over)


Computed: TypeAlias = Expression | Reduction


def union(expressions: Iterable[Expression]) -> frozenset[Loop]:
    """The loops that any of the expressions depends on."""
    loops: frozenset[Loop] = frozenset()
    for expression in expressions:
        loops |= expression.loops
    return loops
