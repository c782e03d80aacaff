"""Loops that count: which sequences need not be in memory, and which lengths are known."""

from __future__ import annotations

from collections.abc import Iterator

from weft.compiler.ir import dtypes
from weft.compiler.ir.graph import Constant, Op, Parameter, Result, Value
from weft.compiler.ops import arithmetic, control, logic
from weft.compiler.ops.counters import ArrayCounter, counter_of


def array_operands(op: Op) -> Iterator[Value]:
    """The operands that an op which is a node of its own reads, without sequences that count."""
    counters = counters_of(op)
    for number, operand in enumerate(op.operands):
        if number not in counters:
            yield operand


def counters_of(op: Op) -> dict[int, ArrayCounter]:
    """The operands whose elements a loop computes from its steps."""
    iteration = op.definition.memory.iteration
    if iteration is None or iteration.steps(op) is None:
        return {}
    first = sum(iteration.carried(op))
    found = {
        first + number: counter_of(sequence) for number, sequence in enumerate(op.operands[first:])
    }
    return {number: counter for number, counter in found.items() if counter is not None}


def counted_up(op: Op) -> tuple[int, int] | None:
    """The operands of a loop on a condition that are its counter, which goes up by one in each
    step, and the number below which it goes on.
    """
    if op.definition is not control.while_:
        return None
    condition, body = op.regions
    (goes_on,) = condition.results
    if not isinstance(goes_on, Result) or goes_on.op.definition is not logic.lt:
        return None
    n_consts = op.attributes["n_consts"]
    counter, end = [
        condition.parameters.index(v) if v in condition.parameters else -1
        for v in goes_on.op.operands
    ]
    if not 0 <= end < n_consts <= counter or condition.parameters[counter].type.dtype != dtypes.i64:
        return None
    following = body.results[counter - n_consts]
    return (counter, end) if _adds_one(following, body.parameters[counter]) else None


def _adds_one(value: Value, parameter: Parameter) -> bool:
    if not isinstance(value, Result) or value.op.definition is not arithmetic.add:
        return False
    left, right = value.op.operands
    return left is parameter and _is_number(right, 1) or right is parameter and _is_number(left, 1)


def most_steps(op: Op) -> int | None:
    """How many steps a loop on a condition makes at most, where its numbers run out of bits: bits
    that are cleared one by one, halves and tenths of positive numbers.
    """
    if op.definition is not control.while_:
        return None
    condition, body = op.regions
    (goes_on,) = condition.results
    if not isinstance(goes_on, Result) or goes_on.op.definition not in (logic.ne, logic.gt):
        return None
    tested, nothing = goes_on.op.operands
    if tested not in condition.parameters or not _is_number(nothing, 0):
        return None
    place = condition.parameters.index(tested)
    n_consts = op.attributes["n_consts"]
    dtype = tested.type.dtype
    if place < n_consts or not dtype.is_integer:
        return None
    following, before = body.results[place - n_consts], body.parameters[place]
    is_positive = goes_on.op.definition is logic.gt or not dtype.is_signed
    return dtype.bits if _has_fewer_bits(following, before, is_positive) else None


def _has_fewer_bits(value: Value, before: Parameter, is_positive: bool) -> bool:
    """Whether a number has fewer bits that are set, or that count, than the one that it is made of,
    which is not 0.
    """
    if not isinstance(value, Result):
        return False
    op = value.op
    if op.definition is logic.and_ and before in op.operands:
        return any(_is_one_less(operand, before) for operand in op.operands)
    if not is_positive or op.operands[0] is not before:
        return False
    least = {arithmetic.floor_divide: 2, logic.shift_right: 1}.get(op.definition)
    most = value.type.dtype.bits - 1
    return least is not None and any(_is_number(op.operands[1], n) for n in range(least, most))


def _is_one_less(value: Value, before: Parameter) -> bool:
    if not isinstance(value, Result) or value.op.operands[0] is not before:
        return False
    if value.op.definition is arithmetic.sub:
        return _is_number(value.op.operands[1], 1)
    return value.op.definition is arithmetic.add and _is_number(value.op.operands[1], -1)


def _is_number(value: Value, number: int) -> bool:
    return isinstance(value, Constant) and not value.type.rank and int(value.array) == number
