"""A sparse Hessian: few products with vectors, by colouring, instead of as many as parameters.

Weft finds the pattern and the colours itself. The peers have no such function and are given both:
this chain of neighbours has three colours, so three products at once. All end in SciPy's matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.peers import compiles_itself
from benchmarks.workload import Function, Workload, normal

COLOURS = 3


def rosenbrock(xp: Any) -> Function:
    """The chained function of Rosenbrock, whose Hessian has three diagonals."""

    def total(x: Any) -> Any:
        return xp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

    return total


def pattern(count: int) -> tuple[Any, Any, Any]:
    """The row and the column of each entry, row by row, and where rows begin."""
    rows = np.repeat(np.arange(count), 3)[1:-1]
    columns = (np.arange(count)[:, None] + np.arange(-1, 2)).ravel()[1:-1]
    starts = np.concatenate(([0], np.cumsum(np.bincount(rows))))
    return rows, columns, starts


def matrix_of(data: Any, count: int) -> Any:
    from scipy.sparse import csr_array

    _, columns, starts = pattern(count)
    return csr_array((np.asarray(data), columns, starts), shape=(count, count))


def seeds(count: int) -> Any:
    return (np.arange(count) % COLOURS == np.arange(COLOURS)[:, None]).astype("f8")


def weft_hessian(xp: Any, count: int) -> Function:
    import weft as wf

    hessian = wf.sparse_hessian(rosenbrock(xp))
    return compiles_itself(lambda x: hessian(x))


def with_matrix(entries: Function, count: int) -> Function:
    """Calls compiled code for the entries, and puts them into a matrix that is made beforehand."""
    empty = matrix_of(np.zeros(3 * count - 2), count)

    def call(x: Any) -> Any:
        return type(empty)((np.asarray(entries(x)), empty.indices, empty.indptr), empty.shape)

    return compiles_itself(call)


def jax_hessian(xp: Any, count: int) -> Function:
    import jax

    slope, chosen = jax.grad(rosenbrock(xp)), seeds(count)
    rows, columns, _ = pattern(count)

    def entries(x: Any) -> Any:
        products = jax.vmap(lambda v: jax.jvp(slope, (x,), (v,))[1])(chosen)
        return products[columns % COLOURS, rows]

    return with_matrix(jax.jit(entries), count)


def torch_hessian(xp: Any, count: int) -> Function:
    import torch

    slope, chosen = torch.func.grad(rosenbrock(xp)), torch.from_numpy(seeds(count))
    rows, columns, _ = (torch.from_numpy(each) for each in pattern(count))

    def entries(x: Any) -> Any:
        products = torch.func.vmap(lambda v: torch.func.jvp(slope, (x,), (v,))[1])(chosen)
        return products[columns % COLOURS, rows]

    return with_matrix(entries, count)


def by_hand(xp: Any, count: int) -> Function:
    """The formulas of the entries, which is what the others are compared with."""

    def call(x: Any) -> Any:
        main = np.zeros_like(x)
        main[:-1] += 1200.0 * x[:-1] ** 2 - 400.0 * x[1:] + 2.0
        main[1:] += 200.0
        side = -400.0 * x[:-1]
        entries = np.stack((np.append(0.0, side), main, np.append(side, 0.0)), 1)
        return matrix_of(entries.ravel()[1:-1], count)

    return call


WORKLOADS = (
    Workload(
        "sparse-hessian",
        "derivatives",
        "the Hessian of a chain as a sparse matrix, f64",
        by_hand,
        lambda count: (normal(count, dtype="f8"),),
        {"10,000": 10_000, "100": 100},
        7,
        own={"weft": weft_hessian, "jax": jax_hessian, "torch": torch_hessian},
        without={
            "numpy": "its derivatives would be derived by hand",
            "torch.compile": "it ends in SciPy's matrix",
            "pytensor": "not written for it",
        },
        tolerance=1e-12,
    ),
)
