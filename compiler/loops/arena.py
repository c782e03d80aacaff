"""Offsets of arrays in a frame: arrays that are alive at the same time do not overlap, others share
memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from weft.compiler.ir.alignment import aligned
from weft.compiler.ir.dims import Size
from weft.compiler.ir.graph import Value

_NO_GAP: Final = np.iinfo(np.int64).max


@dataclass(eq=False, slots=True)
class Buffer:
    """Memory of one array, or of several whose lifetimes do not overlap.

    `kind` is temporary (in the frame), parameter, result or constant (elsewhere, by `number`), or
    late: allocated at run time, once its size is known.
    """

    kind: str
    number: int
    bytes: Size
    first: int
    last: int
    value: Value
    offset: Size = 0
    held: list[Value] = field(default_factory=list)


def assign_offsets(buffers: Sequence[Buffer]) -> Size:
    """Place buffers so that those alive at once do not overlap; returns the bytes needed."""
    if all(isinstance(buffer.bytes, int) for buffer in buffers):
        return _best_fit(buffers)
    return _slots(buffers)


def _best_fit(buffers: Sequence[Buffer]) -> int:
    """Largest first, each into the smallest gap that holds it, the lowest of equal ones.

    The buffers placed so far are rows of arrays, sorted by where they start, so that looking for
    gaps is a few vector operations even with thousands of buffers alive at once.
    """
    placed = _Placed(len(buffers))
    peak = 0
    for buffer in sorted(buffers, key=lambda b: (-int(b.bytes), b.first)):
        size = int(aligned(buffer.bytes))
        buffer.offset = placed.best_gap(buffer.first, buffer.last, size)
        placed.insert(buffer.first, buffer.last, buffer.offset, size)
        peak = max(peak, buffer.offset + size)
    return peak


class _Placed:
    """Buffers that have been placed: lifetimes, starts and ends, sorted by start."""

    def __init__(self, most: int) -> None:
        self.count = 0
        self.rows = np.empty((4, most), np.int64)

    def best_gap(self, first: int, last: int, size: int) -> int:
        """The start of the smallest gap between buffers alive at some time from first to last."""
        firsts, lasts, starts, ends = self.rows[:, : self.count]
        alive = (lasts >= first) & (firsts <= last)
        starts, ends = starts[alive], ends[alive]
        if not len(starts):
            return 0
        reached = np.maximum.accumulate(np.concatenate(([0], ends)))
        gaps = starts - reached[:-1]
        gaps[gaps < size] = _NO_GAP
        best = int(gaps.argmin())
        return int(reached[-1] if gaps[best] == _NO_GAP else reached[best])

    def insert(self, first: int, last: int, start: int, size: int) -> None:
        at = int(np.searchsorted(self.rows[2, : self.count], start, side="right"))
        self.rows[:, at + 1 : self.count + 1] = self.rows[:, at : self.count]
        self.rows[:, at] = first, last, start, start + size
        self.count += 1


def _slots(buffers: Sequence[Buffer]) -> Size:
    """Sizes known only at run time: buffers of equal size take turns in one slot."""
    slots: list[tuple[Size, int, list[Buffer]]] = []
    for buffer in sorted(buffers, key=lambda b: b.first):
        for number, (size, last, members) in enumerate(slots):
            if size == buffer.bytes and last < buffer.first:
                members.append(buffer)
                slots[number] = (size, buffer.last, members)
                break
        else:
            slots.append((buffer.bytes, buffer.last, [buffer]))
    offset: Size = 0
    for size, _, members in slots:
        for member in members:
            member.offset = offset
        offset = offset + aligned(size)
    return offset


def largest_live_set(buffers: Sequence[Buffer]) -> list[Buffer]:
    """The buffers alive at the time when they take the most bytes: no plan needs less. Empty where
    sizes are known only at run time.
    """
    if not all(isinstance(buffer.bytes, int) for buffer in buffers):
        return []
    starts = sorted(buffers, key=lambda b: b.first)
    ends = sorted(buffers, key=lambda b: b.last)
    live = most = ended = moment = 0
    for buffer in starts:
        while ends[ended].last < buffer.first:
            live -= int(aligned(ends[ended].bytes))
            ended += 1
        live += int(aligned(buffer.bytes))
        if live > most:
            most, moment = live, buffer.first
    return [buffer for buffer in buffers if buffer.first <= moment <= buffer.last]
