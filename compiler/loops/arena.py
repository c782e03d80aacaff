"""Offsets of arrays in a frame: arrays that are alive at the same time do not overlap, others share
memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from operator import itemgetter
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
    ordered = sorted(buffers, key=lambda b: (-int(b.bytes), b.first))
    count = _place_largest(ordered)
    placed = _Placed(len(buffers), ordered[:count])
    peak = max([int(b.offset + aligned(b.bytes)) for b in ordered[:count]], default=0)
    for buffer in ordered[count:]:
        size = int(aligned(buffer.bytes))
        buffer.offset = placed.best_gap(buffer.first, buffer.last, size)
        placed.insert(buffer.first, buffer.last, buffer.offset, size)
        peak = max(peak, buffer.offset + size)
    return peak


def _place_largest(ordered: Sequence[Buffer]) -> int:
    """Places those of the largest size, which come first, in the order in which they begin to live;
    returns how many. Nothing is in their way but others of them, so that memory is slots of this
    size, and a gap is a run of free ones: equal layers have very many such buffers.
    """
    size = int(aligned(ordered[0].bytes)) if ordered else 0
    if not size:
        return 0
    slots, count = _Slots(), 0
    dying: list[tuple[int, int]] = []  # the last node and the slot of each
    for buffer in ordered:
        if buffer.bytes != ordered[0].bytes:
            break
        while dying and dying[0][0] < buffer.first:
            slots.free(heappop(dying)[1])
        slot = slots.take()
        buffer.offset = slot * size
        heappush(dying, (buffer.last, slot))
        count += 1
    return count


class _Slots:
    """Slots of one size: runs of free ones below the last that is taken."""

    def __init__(self) -> None:
        self.top = 0  # the end of the last slot that is taken
        self.lengths: dict[int, int] = {}  # of runs, by their start
        self.starts: dict[int, int] = {}  # of runs, by their end
        self.shortest: list[tuple[int, int]] = []  # lengths and starts, some of them out of date

    def take(self) -> int:
        """The first slot of the shortest run, the lowest of equal ones; else a new one."""
        while self.shortest:
            length, start = heappop(self.shortest)
            if self.lengths.get(start) == length:
                del self.lengths[start]
                self._add(start + 1, start + length)
                return start
        self.top += 1
        return self.top - 1

    def free(self, slot: int) -> None:
        start = self.starts.pop(slot, slot)
        self.lengths.pop(start, None)
        end = slot + 1 + self.lengths.pop(slot + 1, 0)
        if end == self.top:
            self.top = start
        else:
            self._add(start, end)

    def _add(self, start: int, end: int) -> None:
        if start == end:
            del self.starts[end]
            return
        self.lengths[start], self.starts[end] = end - start, start
        heappush(self.shortest, (end - start, start))


class _Placed:
    """Buffers that have been placed: lifetimes, starts and ends, sorted by start."""

    def __init__(self, most: int, first: Sequence[Buffer]) -> None:
        self.count = len(first)
        self.rows = np.empty((4, most), np.int64)
        rows = [(b.first, b.last, b.offset, b.offset + aligned(b.bytes)) for b in first]
        rows.sort(key=itemgetter(2))
        if rows:
            self.rows[:, : self.count] = np.array(rows, np.int64).T
        self.reached = np.zeros(most + 1, np.int64)  # 0, and how far the buffers up to each reach

    def best_gap(self, first: int, last: int, size: int) -> int:
        """The start of the smallest gap between buffers alive at some time from first to last."""
        firsts, lasts, starts, ends = self.rows[:, : self.count]
        (alive,) = ((lasts >= first) & (firsts <= last)).nonzero()
        count = len(alive)
        if not count:
            return 0
        reached = self.reached
        np.maximum.accumulate(ends.take(alive), out=reached[1 : count + 1])
        gaps = starts.take(alive)
        gaps -= reached[:count]
        gaps[gaps < size] = _NO_GAP
        best = gaps.argmin()
        return int(reached[count if gaps[best] == _NO_GAP else best])

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
