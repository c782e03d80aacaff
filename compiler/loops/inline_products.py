"""Products that are better computed in kernels than by the routine for products.

An outer product sums up nothing. A matrix of all pairs of points is much larger than the points:
multiplied with a vector as it is made, it needs no memory. Operands that were widened are better
widened by the routine, as it packs them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from weft.compiler.ir import dtypes
from weft.compiler.ir.edit import Replaced
from weft.compiler.ir.graph import Op, Result, Value
from weft.compiler.loops import maps
from weft.compiler.loops.estimates import is_far_smaller, leaves
from weft.compiler.ops.arithmetic import mul
from weft.compiler.ops.contraction import dot_general
from weft.compiler.ops.conversion import cast
from weft.compiler.ops.reduction import reduce_sum
from weft.compiler.ops.shape import broadcast

WIDENED: Final = frozenset(
    [
        (dtypes.f16, dtypes.f32),
        (dtypes.bf16, dtypes.f32),
        (dtypes.i8, dtypes.i32),
        (dtypes.u8, dtypes.i32),
    ]
)


def inline_outer_product(op: Op, replaced: Replaced) -> Sequence[Value] | None:
    """The rule for one op."""
    if op.definition is not dot_general or op.attributes["lhs_batch"]:
        return None
    if op.results[0].type.dtype.is_bool:
        return None
    if op.attributes["dtype"] not in (None, op.operands[0].type.dtype):
        return None
    if not op.attributes["lhs_contract"]:
        return [_outer_product(op, [replaced.value(operand) for operand in op.operands])]
    if sorted(x.type.rank for x in op.operands) != [1, 2]:
        return None
    left, right = op.operands
    matrix, vector = (left, right) if left.type.rank == 2 else (right, left)
    contract = op.attributes["lhs_contract" if matrix is left else "rhs_contract"]
    if not _is_made_of_little(matrix):
        return None
    factor = broadcast(replaced.value(vector), shape=matrix.type.shape, dims=contract)
    return [reduce_sum(mul(replaced.value(matrix), factor), axes=contract)]


def narrow_product(op: Op, replaced: Replaced) -> Sequence[Value] | None:
    """The rule for a product of operands that were widened, both from the same dtype."""
    if op.definition is not dot_general:
        return None
    sources = [_widened(operand) for operand in op.operands]
    if None in sources or len({source.type.dtype for source in sources if source}) != 1:
        return None
    left, right = [replaced.value(source) for source in sources if source is not None]
    attributes = {**op.attributes, "dtype": op.results[0].type.dtype}
    return [dot_general(left, right, **attributes)]


def is_widened(value: Value) -> bool:
    """Whether a product would rather read what a value was widened from."""
    return _widened(value) is not None


def _widened(value: Value) -> Value | None:
    """What a value was widened from, if products have a way of their own for that."""
    if not isinstance(value, Result) or value.op.definition is not cast:
        return None
    (source,) = value.op.operands
    return source if (source.type.dtype, value.type.dtype) in WIDENED else None


def _outer_product(op: Op, operands: Sequence[Value]) -> Value:
    left, right = operands
    shape, rank = op.results[0].type.shape, left.type.rank
    rows = broadcast(left, shape=shape, dims=range(rank))
    return mul(rows, broadcast(right, shape=shape, dims=range(rank, len(shape))))


def _is_made_of_little(matrix: Value) -> bool:
    if not isinstance(matrix, Result) or not maps.has_map(matrix.op):
        return False
    sources = leaves(matrix)
    return sources is not None and all(
        is_far_smaller(leaf.type.size, matrix.type.size) for leaf in sources
    )
