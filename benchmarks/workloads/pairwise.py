"""Gradients of sums over all pairs of points, of which no array of pairs needs to exist."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Function, Workload, gradient


def energy(xp: Any, size: Any) -> Function:
    """The potential of bodies with softened gravity."""

    def total(x: Any, mass: Any) -> Any:
        d = x[:, None, :] - x[None, :, :]
        r2 = xp.sum(d * d, axis=-1) + 1e-2
        return -0.5 * xp.sum(mass[:, None] * mass[None, :] / xp.sqrt(r2))

    return total


def squared_exponential(xp: Any, x: Any, y: Any, length: Any) -> Any:
    d = x[:, None, :] - y[None, :, :]
    return xp.exp(-0.5 * xp.sum(d * d, axis=-1) / (length * length))


def weighted(xp: Any, size: Any) -> Function:
    """The sum of a kernel between two sets of points, with weights."""

    def total(x: Any, y: Any, weights: Any, length: Any) -> Any:
        return xp.sum(weights[None, :] * squared_exponential(xp, x, y, length))

    return total


def product(xp: Any, size: Any) -> Function:
    """The squared norm of a kernel matrix times a vector."""

    def total(x: Any, y: Any, weights: Any, length: Any) -> Any:
        return xp.sum((squared_exponential(xp, x, y, length) @ weights) ** 2)

    return total


def bodies(count: int) -> tuple[Any, ...]:
    r = np.random.default_rng(0)
    return r.normal(size=(count, 3)), r.uniform(0.5, 1.5, count)


def two_sets(count: int) -> tuple[Any, ...]:
    r = np.random.default_rng(0)
    x, y = r.normal(size=(2, count, 3))
    return x, y, r.normal(size=count), np.float64(1.3)


SIZES = {"4000 f64": 4000, "500 f64": 500}
WORKLOADS = (
    Workload(
        "n-body",
        "pairs",
        "gradient of the potential energy of n bodies",
        energy,
        bodies,
        SIZES,
        9,
        form=gradient(0),
        tolerance=1e-9,
        flops=lambda n: 40.0 * n * n,
        bytes=lambda n: 8.0 * 7 * n,
        growth={n: n for n in (64, 250, 1000, 4000)},
    ),
    Workload(
        "rbf",
        "pairs",
        "gradients of a sum of squared exponentials",
        weighted,
        two_sets,
        SIZES,
        9,
        form=gradient(0, 1, 2, 3),
        tolerance=1e-9,
        flops=lambda n: 50.0 * n * n,
        cold=False,
    ),
    Workload(
        "rbf-matvec",
        "pairs",
        "gradients of the norm of a kernel matrix times a vector",
        product,
        two_sets,
        SIZES,
        9,
        form=gradient(0, 1, 2, 3),
        tolerance=1e-9,
        flops=lambda n: 50.0 * n * n,
        cold=False,
    ),
)
