"""What it would cost to compute values where they are read: weights, repetition, what they are made
of.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from weft.compiler.ir import dims
from weft.compiler.ir.dims import Dim, Size
from weft.compiler.ir.graph import Op, Region, Result, Value
from weft.compiler.ir.index.affine import Place
from weft.compiler.loops import maps
from weft.compiler.loops.costs import LIMITS as COSTS
from weft.compiler.loops.costs import own_cost
from weft.compiler.loops.group import FusionGroup
from weft.compiler.loops.reductions import reduced_sizes
from weft.compiler.record import record


@record
class EstimateLimits:
    """What is written out, and what is too large to be stored.

    Chosen with the first native compiler; measurements are not on record.
    """

    unrolled: int = 16  # steps of a reduction that is written out, at most
    pairwise: int = 16  # times as large as all it is made of: such a value is not stored


LIMITS: Final = EstimateLimits()


def bytes_of(value: Value) -> Size:
    return value.type.size * value.type.dtype.itemsize


def is_at_most(size: Size, limit: int) -> bool:
    """Whether a size is known to be no larger."""
    most = dims.upper(size)
    return most is not None and most <= limit


def weights(region: Region) -> dict[Value, int]:
    """The cost of an element of each value if nothing on the way to it were stored."""
    weights: dict[Value, int] = {}
    for op in region.ops:
        cost = own_cost(op)
        for operand in op.operands:
            cost += weights.get(operand, 0)
        if op.definition.combiner is not None:
            steps = dims.product(reduced_sizes(op))
            cost = cost * steps if isinstance(steps, int) and steps <= LIMITS.unrolled else 0
        elif not maps.has_map(op):
            cost = 0
        for result in op.results:
            weights[result] = min(cost, COSTS.most)
    return weights


def leaves(result: Result, most: int = 16) -> list[Value] | None:
    """The values that an element is computed from if nothing on the way is stored; None: too
    many.
    """
    sources: dict[Value, None] = {}
    seen: set[Value] = set()
    stack: list[Value] = [result]
    while stack:
        value = stack.pop()
        if value in seen:
            continue
        seen.add(value)
        if len(seen) > 400:
            return None
        if isinstance(value, Result) and is_transparent(value.op):
            stack.extend(value.op.operands)
        elif value.type.rank:
            sources[value] = None
            if len(sources) > most:
                return None
    return list(sources)


def is_transparent(op: Op) -> bool:
    if op.definition.combiner is not None:
        steps = dims.product(reduced_sizes(op))
        return isinstance(steps, int) and 0 < steps <= LIMITS.unrolled
    return maps.has_map(op)


def is_far_smaller(size: Size, other: Size) -> bool:
    if isinstance(size, int) and isinstance(other, int):
        return size * LIMITS.pairwise <= other
    room = dims.lower(other - size)
    return room is not None and room >= 0 and size != other and isinstance(other, Dim)


def spread(places: Iterable[Place]) -> int:
    """How many of several places differ only in constants of written-out loops, so that they are
    different elements and no repetition.
    """
    kinds: dict[object, set[object]] = {}
    for place in places:
        shape = tuple(
            None if not index.terms and not index.extras else index for index in place.indices
        )
        kinds.setdefault(shape, set()).add(place.indices)
    return max(len(variants) for variants in kinds.values())


def is_repeated(place: Place, group: FusionGroup) -> bool:
    """Whether a loop outside of those that a place depends on goes over it again and again."""
    used = place.loops
    if not used:
        return False
    order = [*group.loops, *(loop for loops in group.reduce_loops.values() for loop in loops)]
    innermost = max(number for number, loop in enumerate(order) if loop in used) if used else -1
    return any(loop not in used and loop.size != 1 for loop in order[:innermost])
