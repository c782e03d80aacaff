"""Values along axes, beside what `pieces` has: elements, zeros put around, axes moved."""

from __future__ import annotations

from collections.abc import Sequence

from weft.compiler.ir.build import constant
from weft.compiler.ir.dims import Size
from weft.compiler.ir.graph import Value
from weft.compiler.ops.shape import broadcast, pad
from weft.frontends.numpy.functions.axis_ops import slice_axis, without_axis
from weft.frontends.tracing.core import transpose


def element(value: Value, axis: int, index: Size) -> Value:
    """The element at an index along an axis, which is dropped."""
    return without_axis(slice_axis(value, axis, index, index + 1), axis)


def padded(value: Value, axis: int, low: Size, high: Size) -> Value:
    """The value with zeros put before and after along an axis; negative numbers crop."""
    if low == 0 and high == 0:
        return value
    rank = value.type.rank
    return pad(
        value,
        constant(0, value.type.dtype),
        low=[low if a == axis else 0 for a in range(rank)],
        high=[high if a == axis else 0 for a in range(rank)],
        interior=[0] * rank,
    )


def move(value: Value, source: int, destination: int) -> Value:
    """The value with one axis moved to another place."""
    order = [axis for axis in range(value.type.rank) if axis != source]
    order.insert(destination, source)
    return transpose(value, order)


def swap_last(value: Value) -> Value:
    """The matrices in the last two axes, transposed."""
    rank = value.type.rank
    return transpose(value, [*range(rank - 2), rank - 1, rank - 2])


def stretch(value: Value, axes: Sequence[int], target: Sequence[Size]) -> Value:
    """The value with its axes put at the increasing `axes` of a shape, and stretched to it."""
    if value.type.shape == tuple(target):
        return value
    return broadcast(value, shape=tuple(target), dims=tuple(axes))
