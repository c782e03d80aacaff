"""A sparse Hessian: few products with vectors, by colouring, instead of as many as parameters.

Weft finds the pattern and the colours itself. The peers have no such function and are given the
colours, which for this chain of neighbours are three: one product for each, all at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Function, Workload, normal

COLOURS = 3


def rosenbrock(xp: Any) -> Function:
    """The chained function of Rosenbrock, whose Hessian has three diagonals."""

    def total(x: Any) -> Any:
        return xp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

    return total


def diagonals(products: Any) -> Any:
    """The main and the upper diagonal, from the sums of every third column."""
    count = products.shape[1]
    rows = np.arange(count)
    return products[rows % COLOURS, rows], products[(rows[:-1] + 1) % COLOURS, rows[:-1]]


def seeds(count: int) -> Any:
    return (np.arange(count) % COLOURS == np.arange(COLOURS)[:, None]).astype("f8")


def weft_hessian(xp: Any, count: int) -> Function:
    import weft as wf

    hessian = wf.sparse_hessian(rosenbrock(xp))

    def call(x: Any) -> Any:
        found = hessian(x)
        return found.diagonal(), found.diagonal(1)

    call.is_compiled = True  # type: ignore[attr-defined]
    return call


def jax_hessian(xp: Any, count: int) -> Function:
    import jax

    slope, chosen = jax.grad(rosenbrock(xp)), seeds(count)

    def call(x: Any) -> Any:
        return diagonals(jax.vmap(lambda v: jax.jvp(slope, (x,), (v,))[1])(chosen))

    return call


def torch_hessian(xp: Any, count: int) -> Function:
    import torch

    slope, chosen = torch.func.grad(rosenbrock(xp)), torch.from_numpy(seeds(count))

    def call(x: Any) -> Any:
        return diagonals(torch.func.vmap(lambda v: torch.func.jvp(slope, (x,), (v,))[1])(chosen))

    return call


def exact(xp: Any, count: int) -> Function:
    """Derived by hand, which is what the others are measured against."""

    def call(x: Any) -> Any:
        main = np.zeros_like(x)
        main[:-1] += 1200.0 * x[:-1] ** 2 - 400.0 * x[1:] + 2.0
        main[1:] += 200.0
        return main, -400.0 * x[:-1]

    return call


WORKLOADS = (
    Workload(
        "sparse-hessian",
        "derivatives",
        "three diagonals of the Hessian of a chain, f64; NumPy: derived by hand",
        exact,
        lambda count: (normal(count, dtype="f8"),),
        {"10,000": 10_000, "100": 100},
        7,
        own={"weft": weft_hessian, "jax": jax_hessian, "torch": torch_hessian},
        without={"pytensor": "not written for it"},
        tolerance=1e-12,
    ),
)
