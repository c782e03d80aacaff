"""Reductions as loops: their axes, the places they read, and when they join a row or are written
out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from weft.compiler.ir import dims
from weft.compiler.ir.dims import Size
from weft.compiler.ir.graph import Op
from weft.compiler.ir.index.affine import Index, Loop, Place, constant, counter
from weft.compiler.ir.index.expression import Combined, Ref
from weft.compiler.loops.group import FusionGroup
from weft.compiler.record import record

POSITIONS: Final = ("argmax", "argmin")  # combiners that find a place


@record
class RowLimits:
    """Which reductions share a kernel with what reads them, row by row or column by column.

    The lengths of rows were chosen without a measurement on record. What long columns gain from
    kernels of their own is measured by `columns` in benchmarks/workloads/rows.py.
    """

    column: int = 512  # elements of a column that is gone through several times, at most
    least: int = 32  # elements of a row that is a loop of its own
    most: int = 1 << 16  # elements of a row that is gone through several times, at most


LIMITS: Final = RowLimits()


def combiner_of(op: Op) -> str:
    """How a reduction combines elements."""
    assert op.definition.combiner is not None
    return op.definition.combiner


def _axes(op: Op) -> tuple[int, ...]:
    """The reduced axes."""
    return op.attributes["axes"] if "axes" in op.attributes else (op.attributes["axis"],)


def reduced_sizes(op: Op) -> tuple[Size, ...]:
    shape = op.operands[0].type.shape
    axes = _axes(op)
    return tuple(size for axis, size in enumerate(shape) if axis in axes)


def whole_place(op: Op, place: Place, loops: Sequence[Loop]) -> Place:
    """The place of a reduction's operand: the result's indices, and loops on the reduced axes."""
    return place.at(interleaved(op, place, [counter(loop) for loop in loops]))


def interleaved(op: Op, place: Place, reduced: Sequence[Index]) -> list[Index]:
    axes = _axes(op)
    kept, inner = iter(place.indices), iter(reduced)
    rank = op.operands[0].type.rank
    return [next(inner) if axis in axes else next(kept) for axis in range(rank)]


def unrolled(op: Op, place: Place) -> Combined:
    """A short reduction written out."""
    sizes = [size for size in reduced_sizes(op) if isinstance(size, int)]
    steps: list[list[Index]] = [[]]
    for size in sizes:
        steps = [[*step, constant(i)] for step in steps for i in range(size)]
    operands = [Ref(op.operands[0], place.at(interleaved(op, place, step))) for step in steps]
    return Combined(combiner_of(op), op, tuple(operands))


def short_axes(shape: Sequence[Size]) -> list[int]:
    """The last axis if it is short and not alone."""
    last = len(shape) - 1
    if last >= 1 and isinstance(shape[last], int) and 2 <= shape[last] <= 4:
        return [last]
    return []


def choices(shape: Sequence[Size], loops: Sequence[Loop | None]) -> list[list[Index]]:
    """One list of indices per step of the axes without a loop."""
    result: list[list[Index]] = [[]]
    for size, loop in zip(shape, loops, strict=True):
        if loop is not None:
            result = [[*indices, counter(loop)] for indices in result]
        else:
            assert isinstance(size, int)
            result = [[*indices, constant(i)] for indices in result for i in range(size)]
    return result


def fits_row(sizes: Sequence[Size], outer: Sequence[Size]) -> bool:
    """Whether a row stays in the cache, and there are rows enough to share between threads."""
    row, rows = dims.product(sizes), dims.product(outer)
    if isinstance(row, int) and row > LIMITS.most:
        return False
    if isinstance(rows, int) and isinstance(row, int):
        return rows >= 8 or row <= 4096
    return not isinstance(rows, int) or rows >= 8


def has_long_columns(op: Op) -> bool:
    """Whether a reduction goes down columns that lie side by side, and are so long that some of
    them do not stay in the cache: all of them are gone through in the order of memory then.
    """
    shape, axes = op.operands[0].type.shape, _axes(op)
    beside = dims.product(shape[max(axes) + 1 :]) if axes else 1
    length = dims.product(shape[axis] for axis in axes)
    known = isinstance(beside, int) and isinstance(length, int)
    return known and beside >= LIMITS.least and length > LIMITS.column


def goes_down_columns(group: FusionGroup, loops: Sequence[Loop | None]) -> bool:
    """Whether a group goes through an array with these loops as its axes against its order: inside
    of a step over the last axis, over another one.
    """
    if group.outer is None or not loops:
        return False
    return loops[-1] in group.outer and any(x is not None and x not in group.outer for x in loops)


def rows_within(group: FusionGroup, place: Place) -> tuple[Loop, ...] | None:
    """The first loops of a group without rows so far, if a place goes through them and leaves the
    others, which are a row of some length.
    """
    used = place.loops
    outer = tuple(loop for loop in group.loops if loop in used or loop.size == 1)
    inner = [loop.size for loop in group.loops[len(outer) :]]
    if group.outer is not None or group.in_order or group.loops[: len(outer)] != outer:
        return None
    if not used or is_short(inner) or not fits_row(inner, [loop.size for loop in outer]):
        return None
    return outer


def is_short(sizes: Sequence[Size]) -> bool:
    """Whether a row has too few elements to be a loop of its own."""
    length = dims.upper(dims.product(sizes))
    return length is not None and length < LIMITS.least
