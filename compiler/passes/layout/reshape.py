"""Transposes below reshapes that divide single axes or merge neighbours: the reshape goes first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from weft.compiler.ir.graph import Op, Value
from weft.compiler.ir.types import Shape
from weft.compiler.ops.shape import reshape, transpose


class _Run(NamedTuple):
    """Axes before a reshape and those after it that have the same elements."""

    before: list[int]
    after: list[int]


def below_reshape(op: Op, inner: Op) -> Value | None:
    """The reshape before the transpose, if the axes that it merges are neighbours there."""
    permutation, shape = inner.attributes["permutation"], op.attributes["shape"]
    runs = _runs(op.operands[0].type.shape, shape)
    if runs is None or not all(_are_neighbours(run.before, permutation) for run in runs):
        return None
    there = sorted(runs, key=lambda run: permutation[run.before[0]])
    order = [axis for run in there for axis in run.after]
    made = reshape(inner.operands[0], shape=tuple(shape[axis] for axis in order))
    return transpose(made, permutation=tuple(order.index(axis) for axis in range(len(order))))


def _are_neighbours(axes: Sequence[int], permutation: Sequence[int]) -> bool:
    first = permutation[axes[0]]
    return [permutation[axis] for axis in axes] == list(range(first, first + len(axes)))


def _runs(before: Shape, after: Shape) -> list[_Run] | None:
    """The axes in runs of equal sizes, as short as possible; None for sizes that the run tells, or
    that are 1, which could belong to either neighbour.
    """
    if not all(isinstance(size, int) and size > 1 for size in (*before, *after)):
        return None
    runs: list[_Run] = []
    i = j = 0
    while i < len(before) and j < len(after):
        run, left, right = _Run([i], [j]), before[i], after[j]
        i, j = i + 1, j + 1
        while left != right:
            if left < right:
                run.before.append(i)
                left, i = left * before[i], i + 1
            else:
                run.after.append(j)
                right, j = right * after[j], j + 1
        runs.append(run)
    return runs
