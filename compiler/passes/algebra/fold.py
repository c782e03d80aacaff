"""Computing now what is known now: ops on constants become constants, within bounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np

from weft.compiler.ir.edit import edit
from weft.compiler.ir.errors import WeftError
from weft.compiler.ir.evaluate import run_region
from weft.compiler.ir.graph import Constant, Graph, Op, Region, Value
from weft.compiler.ops import conversion, random, shape

# A stretched number says more, and costs less, than the array it stands for; random bits are many
# and cheap to make where they are used. What is rounded goes the way of numbers that are not known.
NOT_FOLDED: Final = (
    shape.broadcast,
    shape.iota,
    shape.dim_value,
    random.threefry2x32,
    conversion.rounded,
)


def fold_constants(
    graph: Graph, fired: Counter[str] | None = None, *, most_elements: int = 4096
) -> Graph:
    """The graph with ops on constants computed, where neither operands nor results have more than
    `most_elements`.
    """
    counts = fired if fired is not None else Counter()

    def visit(op: Op) -> Sequence[Value] | None:
        if not _is_foldable(op, most_elements):
            return None
        computed = _compute(op)
        if computed is not None:
            counts[op.name] += 1
        return computed

    return edit(graph, visit)


def _is_foldable(op: Op, most_elements: int) -> bool:
    for operand in op.operands:
        if not isinstance(operand, Constant):  # nearly always the first one
            return False
    if op.regions or not op.operands or op.definition in NOT_FOLDED:
        return False
    if op.definition.has_effect or op.definition.is_marker:
        return False
    return all(_is_small(value, most_elements) for value in (*op.operands, *op.results))


def _is_small(value: Value, most_elements: int) -> bool:
    size = value.type.size
    return isinstance(size, int) and size <= most_elements


def _compute(op: Op) -> Sequence[Value] | None:
    """The op's results, or None where it raises, as it shall when the program runs."""
    with np.errstate(all="ignore"):
        try:
            arrays = run_region(Region((), (op,), op.results), (), {})
        except (WeftError, np.linalg.LinAlgError):
            return None
    return [Constant(array, op.location) for array in arrays]
