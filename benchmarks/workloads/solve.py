"""The gradient through many small linear systems, as in mechanics and graphics."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Function, Workload, gradient, normal


def loss(xp: Any, count: int) -> Function:
    """The sum of the squares of the solutions."""

    def total(a: Any, b: Any) -> Any:
        return xp.sum(xp.solve(a, b) ** 2)

    return total


def systems(count: int) -> tuple[Any, ...]:
    a = 0.3 * normal(count, 3, 3, dtype="f8") + 2.0 * np.eye(3)
    return a, normal(count, 3, dtype="f8", seed=1)


WORKLOADS = (
    Workload(
        "solve-3x3-gradient",
        "linear algebra",
        "gradients through a batch of 3x3 systems",
        loss,
        systems,
        {"100,000 f64": 100_000, "1,000 f64": 1_000},
        5,
        form=gradient(0, 1),
        tolerance=1e-9,
        bytes=lambda n: 24 * 8.0 * n,
        growth={n: n for n in (100, 1000, 10_000, 100_000)},
    ),
)
