"""Compile time per op of graphs of 1,000, 5,000 and 16,000 ops, and the memory that stays.

Bars: a graph of 16,000 ops leaves under 20 KB of resident memory per op, and returns it after
`del`. Each measurement is a process of its own, which has compiled something small before.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.common import jax_run, peer, resident_bytes, return_memory, start

OPS_PER_BLOCK = 10


def blocks(xp: Any, count: int) -> Callable[..., Any]:
    """About `count` ops: products, elementwise chains and reductions, no two blocks alike."""

    def function(x: Any, w: Any) -> Any:
        for i in range(count // OPS_PER_BLOCK):
            h = xp.tanh(x @ w + x * (1.0 + i / count))
            g = xp.exp(-h) * h
            x = (g - xp.mean(g, axis=1, keepdims=True)) * 0.5
        return x

    return function


def distinct(xp: Any, count: int) -> Callable[..., Any]:
    """About `count` ops in blocks whose shapes differ, so that no kernel serves two of them."""

    def function(x: Any, w: Any) -> Any:
        total = 0.0
        for i in range(count // OPS_PER_BLOCK):
            h = xp.tanh(x[: 1 + i % 61, : 1 + i % 59] * (1.0 + i / count) + total)
            total = xp.sum(xp.exp(-h) * h / (1.0 + h * h))
        return total

    return function


SHAPES = {"alike": blocks, "distinct": distinct}


def arrays() -> tuple[Any, ...]:
    r = np.random.default_rng(0)
    return r.normal(size=(64, 64)).astype(np.float32), np.eye(64, dtype=np.float32)


def compiled(contender: str, shape: str, count: int) -> Callable[[], Any]:
    """A function whose first call compiles."""
    if contender == "jax":
        jax = peer("jax")
        return jax_run(jax, SHAPES[shape](jax.numpy, count), arrays())
    import weft as wf

    function, values = wf.jit(SHAPES[shape](np, count)), arrays()

    def call() -> Any:
        return function(*values)

    call.function = function  # type: ignore[attr-defined]
    return call


def ops_of(call: Callable[[], Any], count: int) -> int:
    """How many ops the trace has, where the contender says so."""
    function = getattr(call, "function", None)
    return len(function.trace(*arrays()).ops) if function is not None else count


def measure(contender: str, shape: str, count: int) -> None:
    """Prints seconds to compile, the number of ops, and the bytes that stay and stay after del."""
    for warm in SHAPES:
        compiled(contender, warm, 50)()
    return_memory()
    before = resident_bytes()
    call = compiled(contender, shape, count)
    begin = time.perf_counter()
    call()
    first = time.perf_counter() - begin
    begin = time.perf_counter()
    call()
    second = time.perf_counter() - begin
    return_memory()
    held = resident_bytes() - before
    ops = ops_of(call, count)
    del call
    if contender == "jax":
        peer("jax").clear_caches()
    return_memory()
    print(first - second, ops, held, resident_bytes() - before)


def main() -> None:
    if len(sys.argv) == 5 and sys.argv[1] == "measure":
        measure(sys.argv[2], sys.argv[3], int(sys.argv[4]))
        return
    start(__doc__ or "")
    environment = {**os.environ, "WEFT_CACHE_DIR": ""}
    cases = [("weft", n) for n in (1_000, 5_000, 16_000)] + [("jax", n) for n in (1_000, 5_000)]
    for shape in SHAPES:
        for contender, count in sorted(cases, key=lambda case: case[1]):
            if contender == "jax" and peer("jax") is None:
                continue
            command = [sys.executable, "-m", "benchmarks.compile_time", "measure"]
            found = subprocess.run(
                [*command, contender, shape, str(count)],
                env=environment,
                capture_output=True,
                text=True,
            )
            if found.returncode:
                print(f"{shape:9} {contender:5} {count:6} failed: {found.stderr[-300:]}")
                continue
            taken, ops, held, left = map(float, found.stdout.split()[-4:])
            print(
                f"{shape:9} {contender:5} {count:6} ops: {taken:7.2f} s, "
                f"{taken / ops * 1e6:7.0f} us per op; "
                f"holds {held / ops / 1e3:6.1f} KB per op, after del {left / ops / 1e3:6.1f} KB",
                flush=True,
            )


if __name__ == "__main__":
    main()
