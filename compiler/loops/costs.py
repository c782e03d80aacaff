"""What ops cost, from what they say of themselves; rough, for choices only."""

from __future__ import annotations

from typing import Final

from weft.compiler.ir.graph import Op
from weft.compiler.record import record


@record
class CostLimits:
    """Costs in additions, of vectors as of numbers.

    `shared` and `grain` are what waking a worker and handing out a work item are worth
    (docs/decisions/threads.md); the others were chosen without a measurement on record.
    """

    most: int = 1 << 20  # of one element; beyond, costs are as good as equal
    shared: int = 1 << 17  # of a kernel, below which one thread is faster
    grain: int = 1 << 15  # of the work items that a thread takes at a time
    complex: int = 4  # times as much as a real number


LIMITS: Final = CostLimits()


def own_cost(op: Op) -> int:
    """The cost of one element of an op's result, its operands given, in additions."""
    cost = op.definition.cost
    if not isinstance(cost, int):
        return cost(op)
    if op.results and op.results[0].type.dtype.is_complex:
        return cost * LIMITS.complex
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
