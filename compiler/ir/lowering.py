"""What a primitive says to the loop program and to backends, next to its type and its derivatives.

Rules here look at one op and its types only. They say what the op means in memory; what to make of
that, such as which ops become one kernel, is decided by `compiler/loops`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from weft.compiler.record import record

if TYPE_CHECKING:
    from weft.compiler.ir.dims import Size
    from weft.compiler.ir.graph import Op, Value
    from weft.compiler.ir.index.affine import Place
    from weft.compiler.ir.index.expression import Expression

IndexMap = Callable[["Op", int, "Place"], "Expression"]
"""(op, number of a result, a place in it) -> the element there, from elements of the operands."""

ScalarForm = Callable[..., "Value | Sequence[Value]"]
"""(operands of rank 0, attributes by name) -> results, made with other elementwise ops."""

Cost = Callable[["Op"], int]
"""(op) -> what an element of its result costs, in additions."""

Strided: TypeAlias = "tuple[Size, tuple[Size, ...]]"
"""Where an array begins and its strides, both in elements."""


@record
class View:
    """A result that is read from its operand's array by other strides.

    `strides(op, offset, strides)` gives the result's offset and strides from the operand's; `when`
    tells for which ops it can, None: for all.
    """

    strides: Callable[[Op, Size, Sequence[Size]], Strided]
    when: Callable[[Op], bool] | None = None


@record
class Writes:
    """A result that can be written piece by piece, each piece an operand that lies somewhere in it.

    `pieces(op)` gives the operands in the order in which they are written, and for a place in such
    an operand the place in the result. `base` is the operand that the result begins as (None: the
    pieces are all of it); `combine` the attribute that says how an element is combined with what is
    there (None: it takes its place). With `may_meet`, several elements may go to one place: they
    are written in order.
    """

    pieces: Callable[[Op], Iterable[Piece]]
    base: int | None = None
    combine: str | None = None
    may_meet: bool = False


Piece: TypeAlias = "tuple[Value, Callable[[Place], Place]]"


@record
class Iteration:
    """How an op repeats its last region.

    `carried(op)` gives the first operand that goes from step to step and the number of these: they
    are parameters of the region in the same places, and the first results of region and op.
    `steps(op)` is how often it runs; None if that is known only once it has run.
    """

    carried: Callable[[Op], tuple[int, int]]
    steps: Callable[[Op], Size | None]


@record
class Memory:
    """How an op's results lie in memory, as far as that is part of the op.

    `keeps_order`: the result has the operand's elements in the same row-major order, so that one
    array can be both. `stored(op)`: whether the user wants the operand as an array in memory, or
    computed wherever it is read. `has_branches`: one of the regions runs, on the operands after the
    first. The other fields have records of their own.
    """

    keeps_order: bool = False
    stored: Callable[[Op], bool] | None = None
    writes: Writes | None = None
    iteration: Iteration | None = None
    has_branches: bool = False


@record
class Consumers:
    """The contract by which what reads an op's first result may go along while it is computed.

    The op hands out rows, each when it is done: `rows(op)` gives their number, the elements of
    each, and the terms that an element sums up. `in_order(op)` tells whether its code computes one
    row after the other (None: it always does). `parts(op)` is into how many parts of equal length a
    row may be divided further, for consumers that go through these (None: not at all); `names` is
    how users call it to go by rows and by parts. With `may_restart`, rows may be computed and
    handed out again, so that a consumer must leave what it reads as it is.
    """

    rows: Callable[[Op], tuple[Size, Size, Size]]
    in_order: Callable[[Op], bool] | None = None
    parts: Callable[[Op], int] | None = None
    names: tuple[str, str] = ("row by row", "part by part")
    may_restart: bool = False
