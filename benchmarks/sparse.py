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
from benchmarks.common import Run, compare, start

ROWS = 100_000
ENTRIES = 1_000_000
COLUMNS = 16


def pair(function: Callable[..., Any], by_hand: Callable[..., Any], *values: Any) -> dict[str, Run]:
    compiled = wf.jit(function)
    return {"weft": lambda: compiled(*values), "scipy": lambda: by_hand(*values)}


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


def main() -> None:
    options = start(__doc__ or "")
    r = np.random.default_rng(0)
    S = sp.random_array((ROWS, ROWS), density=ENTRIES / ROWS**2, format="csr", rng=r)
    x, X = r.normal(size=ROWS), r.normal(size=(ROWS, COLUMNS))
    compare("csr by vector", pair(product, product, S, x), options)
    compare("csc by vector", pair(product, product, S.tocsc(), x), options)
    compare("coo by vector", pair(product, product, S.tocoo(), x), options)
    compare(f"csr by {COLUMNS} columns", pair(product, product, S, X), options)
    compare("gradient of entries and vector", pair(entries_and_vector, by_hand, S, x), options)


if __name__ == "__main__":
    main()
