"""How long it takes to trace, print and parse a graph of 5,000 ops, against plain NumPy calls.

The ratio to NumPy is the cost of tracing an op over that of the call which the user wrote. Goals on
a quiet machine: trace under 0.5 s, print plus parse under 1 s.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import weft as wf
from weft.compiler.transforms import derive

OPS = 5_000


def chain(x: Any, w: Any) -> Any:
    """A chain of some 5,000 ops in plain NumPy: matmul, add, tanh, reductions, views."""
    for _ in range(OPS // 10):
        h = np.tanh(x @ w + x)
        g = np.exp(-h) * h
        x = (g - np.mean(g, axis=1, keepdims=True)) / 2.0
    return x


def seconds(function: Callable[[], Any]) -> tuple[float, Any]:
    """The best of three runs, and the last result."""
    best, result = float("inf"), None
    for _ in range(3):
        start = time.perf_counter()
        result = function()
        best = min(best, time.perf_counter() - start)
    return best, result


if __name__ == "__main__":
    x, w = np.ones((4, 4), np.float32), np.eye(4, dtype=np.float32)
    numpy_time, _ = seconds(lambda: chain(x, w))
    trace_time, graph = seconds(lambda: wf.trace(chain)(x, w))
    print_time, text = seconds(lambda: str(graph))
    parse_time, _ = seconds(lambda: wf.parse(text))
    verify_time, _ = seconds(graph.verify)
    marks = [True, True]
    reverse_time, reverse = seconds(lambda: derive.vjp(graph.region, marks, [True]))
    count = len(graph.ops)
    print(f"{count} ops, {len(reverse.ops)} with the reverse part")
    for name, duration in (
        ("numpy", numpy_time),
        ("trace", trace_time),
        ("print", print_time),
        ("parse", parse_time),
        ("verify", verify_time),
        ("vjp", reverse_time),
    ):
        each = duration / count * 1e6
        ratio = duration / numpy_time
        print(f"{name:7} {duration:6.3f} s  {each:6.1f} us per op  {ratio:5.1f} x numpy")
