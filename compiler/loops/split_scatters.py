"""Sums of very many updates into few places, in parts that threads share.

A scatter adds its updates one after the other. Where there are many of them and few places, a fixed
number of parts are summed up each into places of its own and then added: the same bits whatever the
number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from weft.compiler.ir.build import constant
from weft.compiler.ir.edit import Replaced
from weft.compiler.ir.graph import Op, Value
from weft.compiler.ops.arithmetic import add
from weft.compiler.ops.indexing import scatter
from weft.compiler.ops.reduction import reduce_sum
from weft.compiler.ops.shape import broadcast, reshape
from weft.compiler.record import record


@record
class ScatterLimits:
    """Which scatters are divided into parts.

    Chosen when they were first divided; measurements are not on record. The numbers of parts are
    those that divide the updates evenly, so that they depend on sizes only.
    """

    updates: int = 1 << 17  # at least
    places: int = 1 << 14  # at most
    parts: tuple[int, ...] = (8, 7, 6, 5, 4)  # the first that divides the updates


LIMITS: Final = ScatterLimits()


def split_scatter(op: Op, replaced: Replaced) -> Sequence[Value] | None:
    """The rule for one op."""
    if (
        op.definition is not scatter
        or op.attributes["kind"] != "add"
        or op.attributes["batch_dims"]
    ):
        return None
    operand, updates, *indices = op.operands
    count, places = updates.type.size, operand.type.size
    if updates.type.rank != 1 or not isinstance(count, int) or not isinstance(places, int):
        return None
    parts = next((n for n in LIMITS.parts if count % n == 0), None)
    if parts is None or count < LIMITS.updates or places > LIMITS.places:
        return None
    dtype = operand.type.dtype
    zero = constant(np.zeros((), dtype.numpy), dtype)
    rows = [reshape(replaced.value(v), shape=(parts, count // parts)) for v in (updates, *indices)]
    summed = scatter(
        broadcast(zero, shape=(parts, *operand.type.shape), dims=()),
        *rows,
        kind="add",
        axes=[axis + 1 for axis in op.attributes["axes"]],
        batch_dims=1,
        mode=op.attributes["mode"],
    )
    return [add(replaced.value(operand), reduce_sum(summed, axes=(0,)))]
