"""The sizes of this machine's caches, which decide how much of a matrix is worked on at a time."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Final

from weft.compiler.record import record

_PLACE: Final = Path("/sys/devices/system/cpu/cpu0/cache")
_UNITS: Final = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@record
class Caches:
    """Bytes of data that the first, second and last cache hold."""

    first: int = 32 << 10
    second: int = 512 << 10
    last: int = 8 << 20


@functools.cache
def caches() -> Caches:
    """Those of this machine, or usual ones where the system does not tell."""
    return read_caches(_PLACE)


def read_caches(place: Path) -> Caches:
    """The sizes from a directory as Linux has it."""
    found: dict[int, int] = {}
    try:
        for entry in place.glob("index*"):
            if (entry / "type").read_text().strip() != "Instruction":
                found[int((entry / "level").read_text())] = _bytes((entry / "size").read_text())
    except (OSError, ValueError):
        return Caches()
    if not found:
        return Caches()
    first = found.get(1, Caches().first)
    second = max(found.get(2, 0), first)
    return Caches(first, second, max(found.get(3, 0), second))


def _bytes(text: str) -> int:
    number = text.strip()
    unit = _UNITS.get(number[-1:].upper(), 1)
    return int(number.rstrip("KMGkmg")) * unit
