"""How much work products and convolutions are."""

from __future__ import annotations

from weft.compiler.ir import dims
from weft.compiler.ir.graph import Op


def product_steps(op: Op) -> int | None:
    """The multiplications of a matrix product or a convolution, if they are known."""
    match op.name:
        case "dot_general" | "dot_general_sums":
            lhs = op.operands[0].type.shape
            terms = dims.product(lhs[axis] for axis in op.attributes["lhs_contract"])
        case "convolution":
            terms = dims.product(op.operands[1].type.shape[1:])
        case _:
            return None
    total = dims.product(op.results[0].type.shape) * terms
    return total if isinstance(total, int) else None
