"""Whether matrix products are computed by generated code or by BLAS: what was asked for, and what
was measured on this machine.

This is plain data: a process that finds its programs on disk reads it without loading emitters.
"""

from __future__ import annotations

import hashlib
import math
from typing import Final

from weft.compiler.record import record

CHOICES: Final = ("auto", "generated", "blas")
LEAST_GAIN: Final = 1.1  # from which on BLAS is worth that rows are not followed as they are made


@record
class Point:
    """How many times as fast as generated code BLAS was on a product [m, k] by [k, n].

    `layout` has a letter for each operand: "n" if its rows lie in one piece, "t" if its columns do.
    """

    threads: int
    dtype: str
    layout: str
    m: int
    n: int
    k: int
    gain: float

    def distance(self, m: int, n: int, k: int) -> float:
        """From products of another shape: of the sizes' logarithms, squared."""
        pairs = ((self.m, m), (self.n, n), (self.k, k))
        return round(sum(math.log2(mine / other) ** 2 for mine, other in pairs), 9)


@record
class Products:
    """How products are to be computed: `wanted` is one of `CHOICES`, and "auto" goes by points that
    were measured on `threads` threads, and on one for products of which several run at once.
    """

    wanted: str = "auto"
    threads: int = 1
    points: tuple[Point, ...] = ()

    @property
    def key(self) -> str:
        """What tells programs apart that were made by different choices."""
        if not self.points:
            return self.wanted
        made = hashlib.blake2b(repr((self.threads, self.points)).encode(), digest_size=16)
        return f"{self.wanted} {made.hexdigest()}"

    def gain(
        self, dtype: str, layout: str, m: int, n: int, k: int, *, several: bool = False
    ) -> float:
        """How many times as fast BLAS was at the nearest points, at the worst of them; 0 if nothing
        was measured.
        """
        threads = 1 if several else self.threads
        wanted = (threads, dtype, layout)
        found = [p for p in self.points if (p.threads, p.dtype, p.layout) == wanted]
        nearest = min((point.distance(m, n, k) for point in found), default=0.0)
        return min((p.gain for p in found if p.distance(m, n, k) == nearest), default=0.0)
