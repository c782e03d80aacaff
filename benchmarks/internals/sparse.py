"""Products with sparse matrices of a million entries, and their gradients, against SciPy.

Bars, as ratios to SciPy's time in the same run: 1.0 for a matrix times a vector, 1.5 for 16
columns. SciPy runs on one thread. A gradient is compared with what one would write by hand for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

import weft as wf
from benchmarks.internals.turns import compare, is_wanted, options
from benchmarks.measure import as_numpy
from benchmarks.peers import Run

ROWS = 100_000
ENTRIES = 1_000_000
COLUMNS = 16


def product(S: Any, x: Any) -> Any:
    return S @ x


def loss(S: Any, x: Any) -> Any:
    return np.sum((S @ x) ** 2)


def entries_and_vector(S: Any, x: Any) -> Any:
    """The gradient of `loss`: of the stored entries, and of the vector."""
    of_entries, of_vector = wf.grad(loss, (0, 1))(S, x)
    return of_entries.data, of_vector


def by_hand(S: Any, x: Any) -> Any:
    twice = 2 * (S @ x)
    rows = np.repeat(np.arange(S.shape[0], dtype=S.indices.dtype), np.diff(S.indptr))
    return twice[rows] * x[S.indices], S.T @ twice


def pair(function: Callable[..., Any], plain: Callable[..., Any], *values: Any) -> dict[str, Run]:
    """Both ways to compute the same, which is checked."""
    compiled = wf.jit(function)
    for found, right in zip(as_numpy(compiled(*values)), as_numpy(plain(*values)), strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-9, atol=1e-9)
    return {"weft": lambda: compiled(*values), "scipy": lambda: plain(*values)}


def main() -> None:
    given = options(__doc__ or "")
    r = np.random.default_rng(0)
    S = sp.random_array((ROWS, ROWS), density=ENTRIES / ROWS**2, format="csr", rng=r)
    x, X = r.normal(size=ROWS), r.normal(size=(ROWS, COLUMNS))
    parts = {
        "csr by vector": (product, product, S, x),
        "csc by vector": (product, product, S.tocsc(), x),
        "coo by vector": (product, product, S.tocoo(), x),
        f"csr by {COLUMNS} columns": (product, product, S, X),
        "gradient of entries and vector": (entries_and_vector, by_hand, S, x),
    }
    for title, part in parts.items():
        if is_wanted(title, given):
            compare(title, pair(*part), given)


if __name__ == "__main__":
    main()
