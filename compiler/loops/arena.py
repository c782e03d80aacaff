"""Where arrays lie in a frame: those that live at the same time side by side, others one over the
other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from weft.compiler.ir import dims
from weft.compiler.ir.dims import Size
from weft.compiler.ir.graph import Value

ALIGNMENT: Final = 64


@dataclass(eq=False, slots=True)
class Buffer:
    """Memory of one array, or of several that follow each other in time.

    `kind` is temporary (in the frame), parameter, result or constant (elsewhere, by `number`), or
    late: made when its size is known.
    """

    kind: str
    number: int
    bytes: Size
    first: int
    last: int
    value: Value
    offset: Size = 0
    held: list[Value] = field(default_factory=list)


def aligned(size: Size) -> Size:
    """A size rounded up to the alignment."""
    if isinstance(size, int):
        return -(-size // ALIGNMENT) * ALIGNMENT
    return dims.floor_divide(size + (ALIGNMENT - 1), ALIGNMENT) * ALIGNMENT


def assign_offsets(buffers: Sequence[Buffer]) -> Size:
    """Place buffers so that those alive at once do not overlap; returns the bytes needed."""
    if all(isinstance(buffer.bytes, int) for buffer in buffers):
        return _best_fit(buffers)
    return _slots(buffers)


def _best_fit(buffers: Sequence[Buffer]) -> int:
    """Largest first, each into the smallest gap that holds it."""
    placed: list[tuple[int, int, Buffer]] = []
    peak = 0
    for buffer in sorted(buffers, key=lambda b: (-int(b.bytes), b.first)):
        size = int(aligned(buffer.bytes))
        best, best_gap, reached = -1, -1, 0
        for start, end, other in placed:
            if other.last < buffer.first or buffer.last < other.first:
                continue
            gap = start - reached
            if gap >= size and (best < 0 or gap < best_gap):
                best, best_gap = reached, gap
            reached = max(reached, end)
        offset = reached if best < 0 else best
        buffer.offset = offset
        _insert(placed, (offset, offset + size, buffer))
        peak = max(peak, offset + size)
    return peak


def _insert(placed: list[tuple[int, int, Buffer]], item: tuple[int, int, Buffer]) -> None:
    from bisect import insort

    insort(placed, item, key=lambda entry: entry[0])


def _slots(buffers: Sequence[Buffer]) -> Size:
    """Sizes that only the run tells: buffers of equal size follow each other in one slot."""
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
    only the run tells sizes.
    """
    if not all(isinstance(buffer.bytes, int) for buffer in buffers):
        return []
    starts = sorted(buffers, key=lambda b: b.first)
    ends = sorted(buffers, key=lambda b: b.last)
    live = most = place = moment = 0
    for buffer in starts:
        while ends[place].last < buffer.first:
            live -= int(aligned(ends[place].bytes))
            place += 1
        live += int(aligned(buffer.bytes))
        if live > most:
            most, moment = live, buffer.first
    return [buffer for buffer in buffers if buffer.first <= moment <= buffer.last]
