"""The heat equation in two dimensions: twenty sweeps of a 5-point stencil in slices.

A compiler that fuses a producer into every consumer recomputes the first sweep 5^19 times here; one
that fuses nothing writes every temporary array.
"""

from __future__ import annotations

from typing import Any

from benchmarks.workload import Function, Workload, normal

SWEEPS = 20


def padded(xp: Any, size: int) -> Function:
    """Sweeps that write the inside of the array into a new one with the old edges around."""

    def sweeps(u: Any) -> Any:
        for _ in range(SWEEPS):
            inner = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
            u = xp.scatter_inside(u, inner)
        return u

    return sweeps


def shrinking(xp: Any, size: int) -> Function:
    """Sweeps that leave the edges out, so that the array shrinks by two each time."""

    def sweeps(u: Any) -> Any:
        for _ in range(SWEEPS):
            around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
            u = u[1:-1, 1:-1] + 0.1 * (around - 4.0 * u[1:-1, 1:-1])
        return u

    return sweeps


def numba_padded(xp: Any, size: int) -> Function:
    import numba

    @numba.njit(parallel=True)
    def sweep(u: Any, new: Any) -> None:
        for i in numba.prange(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                new[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])

    def sweeps(u: Any) -> Any:
        new, old = u.copy(), u.copy()
        for _ in range(SWEEPS):
            sweep(old, new)
            old, new = new, old
        return old

    return sweeps


def grid(size: int) -> tuple[Any, ...]:
    return (normal(size, size, dtype="f8"),)


WORKLOADS = (
    Workload(
        "heat",
        "stencil",
        "20 sweeps of the 2-D heat equation, fixed edges",
        padded,
        grid,
        {"1024x1024 f64": 1024, "128x128 f64": 128},
        45,
        own={"numba": numba_padded},
        tolerance=1e-12,
        flops=lambda n: SWEEPS * 4.0 * n * n,
        bytes=lambda n: 16.0 * n * n,
        growth={n: n for n in (64, 128, 256, 512, 1024, 2048)},
    ),
    Workload(
        "heat-shrinking",
        "stencil",
        "the same without edges, the array shrinks",
        shrinking,
        grid,
        {"1024x1024 f64": 1024},
        45,
        tolerance=1e-12,
        flops=lambda n: SWEEPS * 7.0 * n * n,
        cold=False,
    ),
)
