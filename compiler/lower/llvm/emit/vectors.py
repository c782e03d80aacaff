"""Vectors as a whole: squares of them turned in registers."""

from __future__ import annotations

from weft.compiler.lower.llvm.emit.function import Function, V


def transpose(f: Function, rows: list[V]) -> list[V]:
    """A square of vectors with rows and columns exchanged, in log2 steps of pairwise exchanges."""
    lanes = len(rows)
    width = 1
    while width < lanes:
        made = list(rows)
        for one in range(lanes):
            if one & width:
                continue
            other = one | width
            low = [lane if not lane & width else lane - width + lanes for lane in range(lanes)]
            high = [lane + width if not lane & width else lane + lanes for lane in range(lanes)]
            made[one] = f.shuffle(rows[one], rows[other], low)
            made[other] = f.shuffle(rows[one], rows[other], high)
        rows = made
        width *= 2
    return rows
