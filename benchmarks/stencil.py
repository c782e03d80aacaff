"""Twenty sweeps of a 5-point stencil in NumPy slices, unrolled in the trace, against NumPy and JAX.

Bar: at least 2 x NumPy, goal 5 x. A compiler that fuses a producer into every consumer recomputes
the first sweep 5^19 times here; one that fuses nothing writes every temporary array.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.common import compare, contenders, start

SIZE, SWEEPS = 1024, 20


def padded(xp: Any) -> Callable[..., Any]:
    """Sweeps that write the inside of the array into a new one with the old edges around."""

    def sweeps(u: Any) -> Any:
        for _ in range(SWEEPS):
            inner = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
            if xp is np:
                new = u.copy()
                new[1:-1, 1:-1] = inner
            else:
                new = u.at[1:-1, 1:-1].set(inner)
            u = new
        return u

    return sweeps


def shrinking(xp: Any) -> Callable[..., Any]:
    """Sweeps that leave the edges out, so that the array shrinks by two each time."""

    def sweeps(u: Any) -> Any:
        for _ in range(SWEEPS):
            around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
            u = u[1:-1, 1:-1] + 0.1 * (around - 4.0 * u[1:-1, 1:-1])
        return u

    return sweeps


def main() -> None:
    options = start(__doc__ or "")
    u = np.random.default_rng(0).normal(size=(SIZE, SIZE))
    title = f"{SWEEPS} sweeps on {SIZE} x {SIZE} f64"
    compare(f"padded: {title}", contenders(padded, (u,)), options, 1e-12)
    compare(f"shrinking: {title}", contenders(shrinking, (u,)), options, 1e-12)


if __name__ == "__main__":
    main()
