"""What a primitive says to the loop program and to backends, next to its type and its derivatives.

Rules here look at one op and its types only. They say what the op means in memory; what to make of
that, such as which ops become one kernel, is decided by `compiler/loops`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from weft.compiler.record import record

if TYPE_CHECKING:
    from weft.compiler.ir.dims import Size
    from weft.compiler.ir.graph import Op
    from weft.compiler.ir.index.affine import Place
    from weft.compiler.ir.index.expression import Expression

IndexMap = Callable[["Op", int, "Place"], "Expression"]
"""(op, number of a result, a place in it) -> the element there, from elements of the operands."""

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
