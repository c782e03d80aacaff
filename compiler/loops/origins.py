"""From which array the results of loops and branches come: what a loop carries them from, and which
parameter of a branch they are changed versions of.
"""

from __future__ import annotations

from weft.compiler.ir.graph import Op, Parameter, Result, Value
from weft.compiler.loops.updates import base_of


class Origins:
    """The arrays that updates begin with, each looked up once: branches ask for those of the
    branches inside of them.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[Op, int], list[int]] = {}

    def of_branches(self, op: Op, number: int) -> list[int]:
        """The parameters of branches of which a result is a changed version, or the very same."""
        key = op, number
        if key not in self._known:
            parameters: dict[int, None] = {}
            for region in op.regions:
                origin = self._of_value(region.results[number])
                if isinstance(origin, Parameter) and origin in region.parameters:
                    parameters[region.parameters.index(origin)] = None
            self._known[key] = list(parameters)
        return self._known[key]

    def _of_value(self, value: Value) -> Value:
        """The array that updates begin with."""
        while isinstance(value, Result):
            op = value.op
            memory = op.definition.memory
            base = base_of(op)
            if base is not None:
                value = base
            elif memory.has_branches and (places := self.of_branches(op, op.results.index(value))):
                value = op.operands[1 + places[0]]
            elif (index := carried_operand(op, value)) is not None:
                value = op.operands[index]
            else:
                break
        return value


def carried_operand(op: Op, result: Value) -> int | None:
    """The operand from which a loop carries a result, if it does."""
    _, count, first = carry_of(op)
    number = op.results.index(result) if count else 0
    return first + number if number < count else None


def carry_of(op: Op) -> tuple[dict[int, int], int, int]:
    """What a loop carries: result to parameter of its body, how many, and the first operand."""
    iteration = op.definition.memory.iteration
    if iteration is None:
        return {}, 0, 0
    first, count = iteration.carried(op)
    return {number: first + number for number in range(count)}, count, first
