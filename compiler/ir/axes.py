"""Which axes of an array are which after a reshape."""

from __future__ import annotations

from collections.abc import Sequence

from weft.compiler.ir import dims
from weft.compiler.ir.dims import Size


def matching_axes(
    shape: Sequence[Size], target: Sequence[Size]
) -> list[tuple[list[int], list[int]]]:
    """Runs of axes on both sides that hold the same number of elements, as short as possible.

    >>> matching_axes((2, 3, 4), (6, 2, 2))
    [([0, 1], [0]), ([2], [1, 2])]
    """
    runs: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(shape) or j < len(target):
        here: list[int] = []
        there: list[int] = []
        left: Size = 1
        right: Size = 1
        while True:
            if (
                j < len(target)
                and (there == [] or _is_behind(right, left))
                and (there == [] or i >= len(shape) or not _is_behind(left, right))
            ):
                right = right * target[j]
                there.append(j)
                j += 1
            elif i < len(shape):
                left = left * shape[i]
                here.append(i)
                i += 1
            elif j < len(target):
                right = right * target[j]
                there.append(j)
                j += 1
            if left == right and here and there:
                break
            if i >= len(shape) and j >= len(target):
                break
        runs.append((here, there))
    return runs


def _is_behind(left: Size, right: Size) -> bool:
    """Whether a product surely still misses factors of another."""
    if isinstance(left, int) and isinstance(right, int):
        return left < right
    return left != right and (isinstance(left, int) or dims.lower(right - left) not in (None, 0))
