"""Arrays that count, `start + step * i`: ranges of Python, which take no memory where a loop goes
through them.
"""

from __future__ import annotations

from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.graph import Constant, Result, Value
from weft.compiler.ops import arithmetic, shape
from weft.compiler.record import record


@record
class ArrayCounter:
    """What the position in an array is multiplied by, and what is added to that."""

    start: int
    step: int


def counter_of(value: Value) -> ArrayCounter | None:
    """How the elements of an array of rank 1 follow from their positions, if they count and none of
    them wraps around.
    """
    found = _affine(value)
    if found is None:
        return None
    (length,) = value.type.shape
    dtype = value.type.dtype
    if not isinstance(length, int):
        return found if dtype.bits == 64 and dtype.is_signed else None
    ends = found.start, found.start + found.step * max(length - 1, 0)
    return found if all(_holds(dtype, end) for end in ends) else None


def _affine(value: Value) -> ArrayCounter | None:
    if value.type.rank != 1 or not value.type.dtype.is_integer or not isinstance(value, Result):
        return None
    op = value.op
    if op.definition is shape.iota:
        return ArrayCounter(0, 1)
    if op.definition not in (arithmetic.add, arithmetic.sub, arithmetic.mul):
        return None
    left, right = op.operands
    known, other = (left, right) if isinstance(left, Constant) else (right, left)
    found = _affine(other)
    if not isinstance(known, Constant) or known.type.rank or found is None:
        return None
    number = int(known.array)
    if op.definition is arithmetic.mul:
        return ArrayCounter(found.start * number, found.step * number)
    if op.definition is arithmetic.add:
        return ArrayCounter(found.start + number, found.step)
    if known is left:
        return ArrayCounter(number - found.start, -found.step)
    return ArrayCounter(found.start - number, found.step)


def _holds(dtype: DType, number: int) -> bool:
    least = -(1 << (dtype.bits - 1)) if dtype.is_signed else 0
    return least <= number < least + (1 << dtype.bits)
