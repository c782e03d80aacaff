"""The check, made when the program runs, that a mask outweighs all scores and that nothing is
infinite or NaN: then columns which the mask leaves no part in can be left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from weft.compiler.ir.dtypes import f32
from weft.compiler.ir.graph import Op, Result, Value
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ops import helpers
from weft.compiler.ops.arithmetic import abs_, add, div, maximum, minimum, mul, neg, sub
from weft.compiler.ops.contraction import dot_general
from weft.compiler.ops.conversion import cast, rounded, stop_gradient
from weft.compiler.ops.logic import and_, lt, select
from weft.compiler.ops.reduction import reduce_max, reduce_sum
from weft.compiler.ops.shape import broadcast, reshape, transpose
from weft.compiler.ops.special import sqrt, tanh
from weft.compiler.passes.blocking.cluster import ClusterStage
from weft.compiler.passes.blocking.columns import LIMITS, KnownColumns, Mask
from weft.compiler.passes.blocking.views import is_plain

Lookup = Callable[[Value], Value]


def emit_guard(
    stage: ClusterStage, mask: Mask, known: KnownColumns, lookup: Lookup
) -> Value | None:
    """Whether columns may be left out, as a bool that is computed in the builder in force; None if
    nothing can be said about the size of scores.
    """
    bound = _Bounds(stage, known, lookup).of(mask.scores)
    if bound is None:
        return None
    nothing = LIMITS.nothing_f32 if bound.type.dtype is f32 else LIMITS.nothing
    most = helpers.number(nothing + mask.live - mask.low, bound)
    holds = lt(helpers.scale(bound, 1 + mask.is_added), most)
    limit = min(LIMITS.large, abs(mask.low) * LIMITS.share)
    for value in dict.fromkeys([value for value, _ in stage.inputs]):
        if value.type.dtype.is_float and known.get(value) is None:
            size = _largest(lookup(value))
            holds = and_(holds, lt(size, helpers.number(limit, size)))
    return holds


def _largest(value: Value) -> Value:
    """The largest magnitude, NaN if there is one."""
    sizes = abs_(value)
    return reduce_max(sizes, axes=range(value.type.rank)) if value.type.rank else sizes


class _Bounds:
    """Magnitudes that values of a stage stay below, computed from what enters it."""

    def __init__(self, stage: ClusterStage, known: KnownColumns, lookup: Lookup) -> None:
        self.members = {member.op for member in stage.members}
        self.known = known
        self.lookup = lookup

    def of(self, value: Value) -> Value | None:
        array = self.known.get(value)
        if array is not None:
            most = float(np.abs(array).max(initial=0))
            return helpers.number(most, value) if most < LIMITS.large_score else None
        if not isinstance(value, Result) or value.op not in self.members:
            return _largest(self.lookup(value)) if value.type.dtype.is_float else None
        return self._made(value.op)

    def _made(self, op: Op) -> Value | None:
        if op.definition is dot_general:
            return self._product(op)
        if op.definition is div:
            return self._quotient(op)
        if op.definition not in _RULES or not is_plain(op):
            return None
        first = 1 if op.definition is select else 0
        operand_bounds = [self.of(operand) for operand in op.operands[first:]]
        bounds = [bound for bound in operand_bounds if bound is not None]
        return _RULES[op.definition](bounds, op) if len(bounds) == len(operand_bounds) else None

    def _quotient(self, op: Op) -> Value | None:
        bound, divisor = self.of(op.operands[0]), self.known.get(op.operands[1])
        if bound is None or divisor is None or not np.abs(divisor).min(initial=1) > 0:
            return None
        return helpers.scale(bound, 1 / np.abs(divisor).min(initial=1))

    def _product(self, op: Op) -> Value | None:
        """By the inequality of Cauchy and Schwarz."""
        lengths = []
        for side, operand in zip(("lhs", "rhs"), op.operands, strict=True):
            if isinstance(operand, Result) and operand.op in self.members:
                return None
            squares = helpers.square(self.lookup(operand))
            sums = reduce_sum(squares, axes=op.attributes[f"{side}_contract"])
            lengths.append(sqrt(_largest(sums)))
        return mul(*lengths)


Bounds = Sequence[Value]
_RULES: Final[Mapping[OpDef, Callable[[Bounds, Op], Value]]] = {
    mul: lambda bounds, op: mul(*bounds),
    **dict.fromkeys((add, sub), lambda bounds, op: add(*bounds)),
    **dict.fromkeys((maximum, minimum, select), lambda bounds, op: maximum(*bounds)),
    **dict.fromkeys(
        (neg, abs_, broadcast, reshape, transpose, stop_gradient, rounded),
        lambda bounds, op: bounds[0],
    ),
    cast: lambda bounds, op: cast(bounds[0], dtype=op.results[0].type.dtype),
    tanh: lambda bounds, op: helpers.number(1, bounds[0]),
}
