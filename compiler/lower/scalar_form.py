"""Elementwise ops that say how they are computed with others: their scalar form as a region.

A backend that has no code of its own for an op emits the ops of this region one by one, on the
same elements. So a new elementwise op runs on every backend without a line there.
"""

from __future__ import annotations

from weft.compiler.ir.build import Builder
from weft.compiler.ir.graph import Op, Region, Value
from weft.compiler.ir.types import ArrayType


def scalar_region(op: Op) -> Region | None:
    """An op on one element, from others; None if it does not say how.

    f16 and bf16 are f32 in it, so that only the result of all is rounded, as for other ops.
    """
    form = op.definition.scalar
    if form is None:
        return None
    builder = Builder()
    operands = [builder.parameter(ArrayType(v.type.dtype.working, ())) for v in op.operands]
    with builder.active(), builder.at(op.location):
        results = form(*operands, **op.attributes)
    return builder.region((results,) if isinstance(results, Value) else results)
