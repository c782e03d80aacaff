"""What a function has on the stack: little, as threads may have little stack."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from weft.compiler.lower.llvm.emit.types import I8, Type
from weft.compiler.lower.llvm.emit.value import V

MOST_STACK: Final = 40 << 10  # bytes of a function's frame
SPILL_FROM: Final = 16 << 10  # of these, where a function has other room

OtherRoom: TypeAlias = Callable[[int, int], "V | None"]  # of bytes and an alignment; none is left


class Frame:
    """The lines at the start of a function that make room on its stack. `other` is where numbers
    are once much of that is used up.
    """

    def __init__(self, function: str) -> None:
        self.function: Final = function
        self.lines: Final[list[str]] = []
        self.other: OtherRoom | None = None
        self.shared: Final[dict[tuple[str, Type, int], V]] = {}  # needed for a moment, by name
        self._bytes = 0

    def take(self, ref: str, type: Type, count: int = 1, align: int = 0) -> None:
        """Room on the stack, whose address is `ref`."""
        self._bytes += _bytes(type, count)
        assert self._bytes <= MOST_STACK, f"{self.function} works in too much stack"
        held = I8.with_lanes(type.lanes).text if type.is_bool else type.text
        aligned = f", align {align}" if align else ""
        # One array, as SROA passes over a number of elements.
        room = held if count == 1 else f"[{count} x {held}]"
        self.lines.append(f"  {ref} = alloca {room}{aligned}")

    def elsewhere(self, type: Type, count: int, align: int) -> V | None:
        """Room that is not on the stack, if it is time for that and there is any."""
        bytes = _bytes(type, count)
        if self.other is None or self._bytes + bytes <= SPILL_FROM:
            return None
        return self.other(bytes, max(align, _bytes(type, 1)))


def _bytes(type: Type, count: int) -> int:
    return count * max(type.lanes, 1) * type.itemsize
