"""Which sums of a loop's body wait for the step before: `total + a * b`, where `total` is carried.

As one operation, multiply and add, the sum would take the time of both in every step. As two it
takes that of an addition alone, since the product is there by then: half, on many machines.
"""

from __future__ import annotations

from weft.compiler.ir.graph import Op, Region, Result, Value
from weft.compiler.loops.origins import carry_of
from weft.compiler.ops import arithmetic


def serial_sums(op: Op) -> frozenset[Value]:
    """The sums and differences of numbers in the body of a loop that are not to be computed
    together with the product in them.
    """
    body, (_, count, first) = op.regions[-1], carry_of(op)
    needs = _needs(body, first, count)
    steps = [needs.get(result, 0) for result in body.results[:count]]
    waiting = _repeating(steps)
    depths = _depths(body, needs, waiting)
    return frozenset(
        [
            each.result
            for each in body.ops
            if each.definition in (arithmetic.add, arithmetic.sub)
            and _is_number(each.result)
            and _is_serial(each, depths)
        ]
    )


def _is_number(value: Value) -> bool:
    return not value.type.rank and value.type.dtype.is_float


def _is_serial(op: Op, depths: dict[Value, int]) -> bool:
    """Whether the other operand of a sum is what is waited for, and not its product."""
    left, right = op.operands
    if _is_product(left) == _is_product(right):
        return False
    product, other = (left, right) if _is_product(left) else (right, left)
    return other in depths and depths[other] >= depths.get(product, -1)


def _is_product(value: Value) -> bool:
    return isinstance(value, Result) and value.op.definition is arithmetic.mul


def _needs(body: Region, first: int, count: int) -> dict[Value, int]:
    """Which carried values each value is computed from, as bits. Integers, as counters are, do not
    wait for long.
    """
    needs: dict[Value, int] = {
        parameter: 1 << number
        for number, parameter in enumerate(body.parameters[first : first + count])
        if parameter.type.dtype.is_float
    }
    for op in body.ops:
        bits = 0
        for operand in op.operands:
            bits |= needs.get(operand, 0)
        if bits:
            needs.update(dict.fromkeys(op.results, bits))
    return needs


def _repeating(steps: list[int]) -> int:
    """The carried values that are computed from themselves, in one step or in several."""
    reached = list(steps)
    for middle in range(len(steps)):
        for number, bits in enumerate(reached):
            if bits >> middle & 1:
                reached[number] |= reached[middle]
    return sum(1 << number for number, bits in enumerate(reached) if bits >> number & 1)


def _depths(body: Region, needs: dict[Value, int], waiting: int) -> dict[Value, int]:
    """How many operations on numbers lie between the start of a step and each value that has to
    wait for the step before.
    """
    depths: dict[Value, int] = {
        value: 0 for value in body.parameters if needs.get(value, 0) & waiting
    }
    for op in body.ops:
        before = [depths[operand] for operand in op.operands if operand in depths]
        if before:
            own = any(map(_is_number, op.results)) and not op.regions
            depths.update(dict.fromkeys(op.results, max(before) + own))
    return depths
