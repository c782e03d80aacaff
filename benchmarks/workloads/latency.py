"""What a call costs beside its arithmetic: tiny arrays, and trees of many of them."""

from __future__ import annotations

from typing import Any

from benchmarks.workload import Function, Workload, normal


def tiny(xp: Any, size: int) -> Function:
    """Some arithmetic on next to nothing."""
    return lambda x, w: xp.sum(xp.tanh(x @ w))


def many(xp: Any, size: int) -> Function:
    """A dict of arrays, scaled."""
    return lambda p, rate: {name: value * rate for name, value in p.items()}


def tiny_inputs(size: int) -> tuple[Any, ...]:
    return normal(size, size), normal(size, size, seed=1)


def many_inputs(size: int) -> tuple[Any, ...]:
    return {f"w{i:02}": normal(4, seed=i) for i in range(size)}, normal()


WORKLOADS = (
    Workload(
        "tiny-call",
        "calls",
        "tanh(x @ w).sum() of 8x8 f32",
        tiny,
        tiny_inputs,
        {"": 8},
        3,
    ),
    Workload(
        "tree-call",
        "calls",
        "a dict of 20 arrays of 4 numbers, times a number",
        many,
        many_inputs,
        {"": 20},
        3,
        cold=False,
    ),
)
