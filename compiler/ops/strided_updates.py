"""Writes to elements that are apart, `x[1::2] = v`: a choice by a mask between the array and values
that are spread like the mask, which is what such a write is in the graph.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.compiler.ir.dims import Size
from weft.compiler.ir.graph import Constant, Op, Result, Value
from weft.compiler.ir.index.affine import Place
from weft.compiler.ops import logic, shape
from weft.compiler.record import record


@record
class StridedUpdate:
    """Values that replace some of the elements of a base: from `first` on, each `stride`-th, which
    goes backwards where it is negative.
    """

    base: Value
    value: Value
    mask: Value
    first: tuple[Size, ...]
    strides: tuple[int, ...]

    def target(self, place: Place) -> Place:
        """Where an element of the values goes."""
        parts = zip(place.indices, self.strides, self.first, strict=True)
        return place.at([index * stride + first for index, stride, first in parts])


def strided_update(op: Op) -> StridedUpdate | None:
    """What an op writes, if it is such a choice."""
    if op.definition is not logic.select or not op.result.type.rank:
        return None
    mask, spread, base = op.operands
    if not isinstance(spread, Result) or spread.op.definition is not shape.pad:
        return None
    where = spread.op.attributes
    ends = (*where["low"], *where["high"])
    if any(not isinstance(end, int) or end < 0 for end in ends) or not _is_spread(mask, spread.op):
        return None
    value, first = spread.op.operands[0], list(where["low"])
    strides = [gap + 1 for gap in where["interior"]]
    if isinstance(value, Result) and value.op.definition is shape.reverse:
        for axis in value.op.attributes["axes"]:
            first[axis] = first[axis] + (value.type.shape[axis] - 1) * strides[axis]
            strides[axis] = -strides[axis]
        (value,) = value.op.operands
    return StridedUpdate(base, value, mask, tuple(first), tuple(strides))


def _is_spread(mask: Value, pad: Op) -> bool:
    """Whether a mask holds just where the operand of a padding lies in the result."""
    if isinstance(mask, Constant):
        return mask.type.is_static and np.array_equal(mask.array, _spread(pad))
    if not isinstance(mask, Result) or mask.op.definition is not shape.pad:
        return False
    inside, outside = mask.op.operands
    is_alike = inside.type.shape == pad.operands[0].type.shape
    return (
        is_alike
        and mask.op.attributes == pad.attributes
        and _is(inside, True)
        and _is(outside, False)
    )


def _is(value: Value, truth: bool) -> bool:
    """Whether a value is known to be one truth value everywhere."""
    while isinstance(value, Result) and value.op.definition is shape.broadcast:
        (value,) = value.op.operands
    return isinstance(value, Constant) and bool((value.array == truth).all())


def _spread(pad: Op) -> np.ndarray[Any, Any]:
    """The mask that belongs to a padding of known sizes."""
    made = np.zeros(pad.result.type.shape, np.bool_)
    where = pad.attributes
    axes = zip(where["low"], where["high"], where["interior"], made.shape, strict=True)
    made[tuple([slice(low, size - high, gap + 1) for low, high, gap, size in axes])] = True
    return made
