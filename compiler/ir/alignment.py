"""How memory is divided, on which plans and emitted code agree: aligned, and among threads."""

from __future__ import annotations

from typing import Final

from weft.compiler.ir import dims
from weft.compiler.ir.dims import Size

ALIGNMENT: Final = 64  # bytes, of all parts
FLAG_BYTES: Final = 8  # with which a thread claims a part


def aligned(size: Size) -> Size:
    """A size rounded up to the alignment."""
    if isinstance(size, int):
        return -(-size // ALIGNMENT) * ALIGNMENT
    return dims.floor_divide(size + (ALIGNMENT - 1), ALIGNMENT) * ALIGNMENT


def parts_for_threads(bytes: Size, threads: Size, count: Size | None = None) -> Size:
    """The memory in which so many threads have so many bytes each, and a flag; `count` is how many
    tasks there are, if that is known.
    """
    if isinstance(bytes, int) and not bytes:
        return 0
    parts = threads if count is None else dims.maximum(dims.minimum(threads, count), 1)
    return aligned(parts * FLAG_BYTES) + parts * aligned(bytes)
