"""The time of an import in a fresh process, alone and with a first small result."""

from __future__ import annotations

import importlib
import time
from typing import Any

from benchmarks.workload import ProcessWorkload


def first_result(contender: str, module: Any) -> None:
    """The sum of three numbers, compiled where the package compiles."""
    import numpy as np

    x = np.ones(3)
    if contender == "torch":
        float(module.from_numpy(x).sum())
    elif contender == "pytensor":
        symbol = importlib.import_module("pytensor.tensor").dvector()
        module.function([symbol], symbol.sum())(x)
    else:
        compiled = {"weft": "jit", "jax": "jit", "numba": "njit"}[contender]
        float(getattr(module, compiled)(total)(x))


def total(x: Any) -> Any:
    return x.sum()


def probe(contender: str, has_result: bool) -> dict[str, float]:
    """NumPy is there already, since everyone needs it."""
    from benchmarks.measure import resident_bytes

    before = resident_bytes()
    begin = time.perf_counter()
    module = importlib.import_module(contender)
    if has_result:
        first_result(contender, module)
    taken = time.perf_counter() - begin
    return {"seconds": taken, "bytes": resident_bytes() - before}


WORKLOADS = (
    ProcessWorkload(
        "import",
        "processes",
        "import of the package beyond NumPy, and the memory that it takes",
        probe,
        ("weft", "jax", "torch", "numba", "pytensor"),
        {"and a first sum": True, "alone": False},
        True,
        rounds=5,
    ),
)
