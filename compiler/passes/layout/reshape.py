"""Transposes below reshapes that divide single axes or merge neighbours: the reshape goes first."""

from __future__ import annotations

from collections.abc import Sequence

from weft.compiler.ir.axes import matching_axes
from weft.compiler.ir.graph import Op, Value
from weft.compiler.ops.shape import reshape, transpose


def below_reshape(op: Op, inner: Op) -> Value | None:
    """The reshape before the transpose, if the axes that it merges are neighbours there."""
    permutation, shape = inner.attributes["permutation"], op.attributes["shape"]
    sizes = op.operands[0].type.shape
    if not all(isinstance(size, int) and size > 1 for size in (*sizes, *shape)):
        return None  # an axis of one element could belong to either neighbour
    runs = matching_axes(sizes, shape)
    if not all(_are_neighbours(before, permutation) for before, _ in runs):
        return None
    runs.sort(key=lambda run: permutation[run[0][0]])
    order = [axis for _, after in runs for axis in after]
    reshaped = reshape(inner.operands[0], shape=tuple(shape[axis] for axis in order))
    return transpose(reshaped, permutation=tuple(order.index(axis) for axis in range(len(order))))


def _are_neighbours(axes: Sequence[int], permutation: Sequence[int]) -> bool:
    first = permutation[axes[0]]
    return [permutation[axis] for axis in axes] == list(range(first, first + len(axes)))
