"""What `pad` means: its type, its NumPy reference and its rules.

The op itself is declared with the other views in `shape`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from weft.compiler.ir.build import constant
from weft.compiler.ir.dims import Size, lower, maximum
from weft.compiler.ir.dtypes import bool_
from weft.compiler.ir.errors import ShapeError
from weft.compiler.ir.graph import Op, Value
from weft.compiler.ir.rules import Maybe
from weft.compiler.ir.types import ArrayType, Shape
from weft.compiler.ops import helpers
from weft.compiler.ops.common import require_per_axis, same_dtype
from weft.compiler.ops.primitives import ops

Array: TypeAlias = NDArray[Any]


def pad_type(
    x: ArrayType, value: ArrayType, *, low: Shape, high: Shape, interior: tuple[int, ...]
) -> ArrayType:
    same_dtype((x, value))
    if value.rank:
        raise ShapeError(f"the padding value has type {value}, expected rank 0")
    require_per_axis(x.rank, low=low, high=high, interior=interior)
    widths = zip(x.shape, low, high, interior, strict=True)
    return x.with_shape([_padded_size(axis, *width) for axis, width in enumerate(widths)])


def _padded_size(axis: int, size: Size, low: Size, high: Size, interior: int) -> Size:
    if interior < 0:
        raise ShapeError(f"interior padding {interior} of axis {axis} is negative")
    padded = low + size + high
    if interior:
        padded = padded + interior * maximum(size - 1, 0)
    if padded != size and padded < 0:
        raise ShapeError(f"cropping axis {axis} of size {size} leaves the negative size {padded}")
    return padded


def pad_reference(
    x: Array,
    value: Array,
    *,
    low: tuple[int, ...],
    high: tuple[int, ...],
    interior: tuple[int, ...],
) -> Array:
    widths = zip(x.shape, low, high, interior, strict=True)
    shape = [before + size + gap * max(size - 1, 0) + after for size, before, after, gap in widths]
    targets = [
        before + np.arange(size) * (gap + 1)
        for size, before, gap in zip(x.shape, low, interior, strict=True)
    ]
    kept = [(0 <= target) & (target < size) for target, size in zip(targets, shape, strict=True)]
    inside = [target[keep] for target, keep in zip(targets, kept, strict=True)]
    result = np.full(shape, value, x.dtype)
    result[np.ix_(*inside)] = x[np.ix_(*kept)]
    return result


def pad_transpose(op: Op, cotangents: Sequence[Maybe], linear: Sequence[bool]) -> list[Maybe]:
    cotangent, (x, _) = helpers.only(cotangents), op.operands
    kept = _unpad(cotangent, x.type.shape, **op.attributes) if linear[0] else None
    added = None
    if linear[1]:
        # By a mask: a difference of two sums would cancel, and make NaN of infinities.
        mask = _padding_mask(x.type.shape, op.attributes)
        masked = ops.select(mask, cotangent, helpers.number(0, cotangent))
        added = ops.reduce_sum(masked, axes=tuple(range(cotangent.type.rank)))
    return [kept, added]


def _unpad(
    padded: Value, sizes: Shape, *, low: Shape, high: Shape, interior: tuple[int, ...]
) -> Value:
    """The elements that pad took from its operand, with 0 for those that it cropped."""
    steps = [gap + 1 for gap in interior]
    axes = list(zip(sizes, steps, low, high, strict=True))
    if all(_is_readable(*axis) for axis in axes):
        limits = [before + spread_size(size, step) for size, step, before, _ in axes]
        return ops.slice_(padded, starts=low, limits=limits, strides=steps)
    # Crops become zeros; the gap after the last element makes the stride divide symbolic sizes.
    whole = ops.pad(
        padded,
        helpers.number(0, padded),
        low=[-before for before in low],
        high=[size * step - spread_size(size, step) - after for size, step, _, after in axes],
        interior=[0] * len(steps),
    )
    if max(steps) == 1:
        return whole
    return ops.slice_(whole, starts=[0] * len(steps), limits=whole.type.shape, strides=steps)


def _is_readable(size: Size, step: int, low: Size, high: Size) -> bool:
    """Whether a slice surely finds all elements: none cropped, and as many as there were."""
    ends = (lower(low), lower(high))
    count = (spread_size(size, step) + step - 1) // step
    return all(end is not None and end >= 0 for end in ends) and count == size


def _padding_mask(sizes: Shape, widths: dict[str, Any]) -> Value:
    """Where the result of pad holds its padding value."""
    return ops.pad(helpers.stretch(constant(False, bool_), sizes), constant(True, bool_), **widths)


def pad_batch(op: Op, operands: Sequence[Value], batched: Sequence[bool], size: Size) -> Value:
    x, value = operands
    widths = {name: (0, *entries) for name, entries in op.attributes.items()}
    if not batched[0]:
        x = helpers.add_leading_axis(x, size)
    if not batched[1]:
        return ops.pad(x, value, **widths)
    padded = ops.pad(x, helpers.number(0, x), **widths)
    values = ops.broadcast(value, shape=padded.type.shape, dims=(0,))
    return ops.select(_padding_mask(x.type.shape, widths), values, padded)


def spread_size(count: Size, step: int) -> Size:
    """The size of an axis once its elements lie `step` apart."""
    return count if step == 1 else count + (step - 1) * maximum(count - 1, 0)
