"""Elementwise chains: bound by memory, by transcendental functions, and one function at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Function, Workload, normal

NAMES = ("exp", "log", "sin", "tanh", "erf")


def chain(xp: Any, size: Any) -> Function:
    """exp, log, sin and erf."""

    def apply(x: Any) -> Any:
        return xp.erf(xp.sin(x * 3.0) + xp.log(x * x + 1.0)) * xp.exp(-x)

    return apply


def numba_chain(xp: Any, size: Any) -> Function:
    import math

    import numba

    @numba.njit(parallel=True)
    def apply(x: Any) -> Any:
        out = np.empty_like(x)
        for i in numba.prange(x.size):
            v = x[i]
            out[i] = math.erf(math.sin(v * 3.0) + math.log(v * v + 1.0)) * math.exp(-v)
        return out

    return apply


def axpy(xp: Any, size: Any) -> Function:
    """Moves three arrays and computes next to nothing."""
    return lambda x, y: x * 2.0 + y


def alone(xp: Any, size: Any) -> Function:
    """One transcendental function."""
    function = getattr(xp, size[1])
    return lambda x: function(x)


def values(size: Any) -> tuple[Any, ...]:
    dtype, count = size[0], size[-1]
    return (np.random.default_rng(0).uniform(0.1, 5, count).astype(dtype),)


def pairs(size: Any) -> tuple[Any, ...]:
    dtype, count = size
    return normal(count, dtype=dtype), normal(count, dtype=dtype, seed=1)


WORKLOADS = (
    Workload(
        "chain",
        "elementwise",
        "erf(sin(3x) + log(x^2 + 1)) * exp(-x)",
        chain,
        values,
        {"f32 2^20": ("f4", 1 << 20), "f64 2^20": ("f8", 1 << 20)},
        ("f8", 1000),
        own={"numba": numba_chain},
        growth={n: ("f4", n) for n in (10**3, 10**4, 10**5, 10**6, 10**7)},
    ),
    Workload(
        "axpy",
        "elementwise",
        "x * 2 + y, bound by memory",
        axpy,
        pairs,
        {"f64 2^24": ("f8", 1 << 24), "f32 2^16": ("f4", 1 << 16)},
        ("f8", 1000),
        bytes=lambda size: 3 * size[1] * np.dtype(size[0]).itemsize,
        flops=lambda size: 2 * size[1],
        cold=False,
    ),
    Workload(
        "math",
        "elementwise",
        "one transcendental function",
        alone,
        values,
        {f"{name} {t}": (t, name, 1 << 20) for name in NAMES for t in ("f4", "f8")},
        ("f8", "exp", 1000),
        bytes=lambda size: 2 * size[2] * np.dtype(size[0]).itemsize,
        cold=False,
    ),
)
