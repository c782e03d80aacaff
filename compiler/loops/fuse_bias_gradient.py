"""Sums of an operand's columns that a matrix product makes beside its own: bias gradients.

The gradient of a weight is a product with a cotangent, the gradient of its bias the sum of the same
cotangent over the same axes: one more row of the product, of ones. Where both are wanted, they
become one op, so that the cotangent is not read again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from weft.compiler.ir import dtypes
from weft.compiler.ir.edit import Replaced
from weft.compiler.ir.graph import Graph, Op, Region, Result, Value
from weft.compiler.loops.inline_products import is_widened
from weft.compiler.ops.contraction import dot_general, dot_general_sums, matrix_shape
from weft.compiler.ops.reduction import reduce_sum
from weft.compiler.record import record


@record
class BiasGradientLimits:
    """Which products make the sums of their right operand's columns as one more row.

    docs/decisions/prologues.md has the measurements: of 512 rows one more costs 0.2 %, and kernels
    that do it themselves read the operand again. Below these sizes products have no tiles, or one
    more row is a large part of them.
    """

    rows: int = 16  # of a product, at least
    terms: int = 16  # at least
    multiplications: int = 1 << 18  # more than these


LIMITS: Final = BiasGradientLimits()

Rule: TypeAlias = Callable[[Op, Replaced], Sequence[Value] | None]


def fuse_bias_gradients(graph: Graph) -> Rule:
    """The rule that lets products make the sums of their right operands, for the ops of a graph."""
    partners: dict[Op, Op] = {}
    for region in graph.regions():
        partners |= _partners(region)
    emitted: dict[Op, Value] = {}

    def rule(op: Op, replaced: Replaced) -> Sequence[Value] | None:
        if op in emitted:
            return [emitted.pop(op)]
        if op not in partners:
            return None
        partner = partners[op]
        product = op if op.definition is dot_general else partner
        axes = {name: product.attributes[name] for name in ("lhs_contract", "rhs_contract")}
        both = dot_general_sums.emit(*[replaced.value(x) for x in product.operands], **axes)
        own, emitted[partner] = both if product is op else reversed(both)
        return [own]

    return rule


def _partners(region: Region) -> dict[Op, Op]:
    """Of each pair of a product and a sum the one that comes first, with the other."""
    position = {op: number for number, op in enumerate(region.ops)}
    sums = {
        (op.operands[0], frozenset(op.attributes["axes"])): op
        for op in region.ops
        if op.definition is reduce_sum
    }
    partners: dict[Op, Op] = {}
    for op in region.ops if sums else ():
        if not _is_fit(op):
            continue
        key = op.operands[1], frozenset(op.attributes["rhs_contract"])
        total = sums.get(key)
        if total is None:
            continue
        if position[op] < position[total]:
            partners[op] = sums.pop(key)
        elif all(_is_there(operand, position, position[total]) for operand in op.operands):
            partners[total] = op
            del sums[key]
    return partners


def _is_fit(op: Op) -> bool:
    """Whether a product is one of those with tiles, large enough for one more row."""
    if op.definition is not dot_general or op.attributes["lhs_batch"] or op.attributes["dtype"]:
        return False
    if op.results[0].type.dtype not in (dtypes.f32, dtypes.f64):
        return False
    rows, columns, terms = matrix_shape(op)
    if not (isinstance(rows, int) and isinstance(columns, int) and isinstance(terms, int)):
        return False
    is_large = (
        rows >= LIMITS.rows
        and terms >= LIMITS.terms
        and rows * columns * terms > LIMITS.multiplications
    )
    return is_large and columns > 1 and not all(map(is_widened, op.operands))


def _is_there(value: Value, place: dict[Op, int], before: int) -> bool:
    """Whether a value is made before a place of the region."""
    return not isinstance(value, Result) or place.get(value.op, -1) < before
