"""Large graphs: the time to compile them without anything on disk, and the memory that stays.

Each measurement is a process of its own, which has compiled something small before. Of 16,000 ops
only Weft's are measured: JAX compiles them for minutes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from benchmarks.workload import Function, ProcessWorkload, normal

OPS_PER_BLOCK = 10


def alike(xp: Any, count: int) -> Function:
    """About `count` ops: products, elementwise chains and reductions, in blocks that differ in
    their constants.
    """

    def function(x: Any, w: Any) -> Any:
        for i in range(count // OPS_PER_BLOCK):
            h = xp.tanh(x @ w + x * (1.0 + i / count))
            g = xp.exp(-h) * h
            x = (g - xp.mean(g, axis=1, keepdims=True)) * 0.5
        return x

    return function


def distinct(xp: Any, count: int) -> Function:
    """About `count` ops in blocks whose shapes differ, so that no kernel serves two of them."""

    def function(x: Any, w: Any) -> Any:
        total = 0.0
        for i in range(count // OPS_PER_BLOCK):
            h = xp.tanh(x[: 1 + i % 61, : 1 + i % 59] * (1.0 + i / count) + total)
            total = xp.sum(xp.exp(-h) * h / (1.0 + h * h))
        return total

    return function


def compiled(contender: str, make: Any, count: int) -> Callable[[], Any]:
    """A function whose first call compiles."""
    import numpy as np

    x, w = normal(64, 64), np.eye(64, dtype=np.float32)
    if contender == "jax":
        import jax

        from benchmarks.namespaces import jax as their_names

        ready = jax.jit(make(their_names, count))
        return lambda: jax.block_until_ready(ready(x, w))
    import weft as wf
    from benchmarks.namespaces import weft as our_names

    program = wf.jit(make(our_names, count))
    return lambda: program(x, w)


def probe(contender: str, size: tuple[Any, int]) -> dict[str, float]:
    """Seconds to compile, the bytes that stay, and those that stay when the program is gone."""
    os.environ["WEFT_CACHE_DIR"] = ""
    from benchmarks.measure import resident_bytes, return_memory

    make, count = size
    for warm in (alike, distinct):
        compiled(contender, warm, 50)()
    return_memory()
    before = resident_bytes()
    call = compiled(contender, make, count)
    times = []
    for _ in range(2):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return_memory()
    held = resident_bytes() - before
    del call
    if contender == "jax":
        import jax

        jax.clear_caches()
    return_memory()
    return {"seconds": times[0] - times[1], "bytes": held, "left": resident_bytes() - before}


def workload(name: str, make: Any, count: int, *contenders: str) -> ProcessWorkload:
    return ProcessWorkload(
        name,
        "processes",
        "compile time and memory that stays of a graph",
        probe,
        contenders,
        {f"{count:,} ops": (make, count)},
        (make, 50),
        rounds=1,
        quick=False,
    )


WORKLOADS = (
    workload("graph", alike, 5_000, "weft", "jax"),
    workload("graph-distinct", distinct, 5_000, "weft", "jax"),
    workload("graph-large", alike, 16_000, "weft"),
    workload("graph-distinct-large", distinct, 16_000, "weft"),
)
