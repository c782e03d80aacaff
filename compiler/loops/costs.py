"""What ops cost, from what they say of themselves; rough, for choices only."""

from __future__ import annotations

from typing import Final

from weft.compiler.ir.graph import Op

MOST: Final = 1 << 20
PARALLEL: Final = 1 << 17  # additions, of vectors as of numbers, below which one thread is faster
COMPLEX: Final = 4  # times as much as a real number


def own_cost(op: Op) -> int:
    """The cost of one element of an op's result, its operands given, in additions."""
    cost = op.definition.cost
    if not isinstance(cost, int):
        return cost(op)
    if op.results and op.results[0].type.dtype.is_complex:
        return cost * COMPLEX
    return cost


def is_free(op: Op) -> bool:
    """Whether the op only renames places."""
    return op.definition.cost == 0


def product_steps(op: Op) -> int | None:
    """The multiplications of a matrix product or a convolution, if they are known."""
    if op.definition.work is None:
        return None
    steps = op.definition.work(op)
    return steps if isinstance(steps, int) else None
