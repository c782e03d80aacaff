"""Elements of an op's results as expressions of elements of its operands, by the op's index map.

Reductions have no map unless they reduce over no axes: they have loops of their own.
"""

from __future__ import annotations

from typing import Final

from weft.compiler.ir.graph import Op, Result, Value
from weft.compiler.ir.index.affine import Place
from weft.compiler.ir.index.expression import Apply, Expression, Quotient, Ref

ANYWHERE: Final = Place(())


def has_map(op: Op) -> bool:
    """Whether elements of the op's results are expressions of elements of its operands."""
    return op.definition.has_map or _reduces_nothing(op)


def _reduces_nothing(op: Op) -> bool:
    """Whether a reduction over no axes stands here: it is its operand."""
    return op.definition.is_reduction and op.attributes.get("axes") == ()


def expression(op: Op, number: int, place: Place) -> Expression:
    """The element of a result at a place."""
    index_map = op.definition.index_map
    if index_map is not None:
        return index_map(op, number, place)
    if _reduces_nothing(op):
        return Ref(op.operands[0], place)
    # Rank 0 stretches.
    refs = [Ref(operand, place if operand.type.rank else ANYWHERE) for operand in op.operands]
    return Apply(op, number, tuple(refs))


def divides(op: Op, place: Place) -> bool:
    """Whether it takes a division to find the element of an operand that a view has at a place."""
    read = expression(op, 0, place)
    assert isinstance(read, Ref)
    extras = [extra for index in read.place.indices for _, extra in index.extras]
    return any(isinstance(extra, Quotient) for extra in extras)


def is_view(op: Op) -> bool:
    """Whether an op's result can be read from its operand's array by other strides."""
    view = op.definition.view
    return view is not None and (view.when is None or view.when(op))


def view_base(value: Value) -> Value:
    """The value whose array a view by strides reads: the end of a chain of views. Numbers are read
    as such.
    """
    while value.type.rank and isinstance(value, Result) and is_view(value.op):
        operand = value.op.operands[0]
        if not operand.type.rank:
            break
        value = operand
    return value
