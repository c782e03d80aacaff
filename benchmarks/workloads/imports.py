"""The time of an import in a fresh process."""

from __future__ import annotations

import importlib
import time

from benchmarks.workload import ProcessWorkload


def probe(contender: str, size: int) -> dict[str, float]:
    """NumPy's part is in all of them but its own, since everyone needs it."""
    from benchmarks.measure import resident_bytes

    before = resident_bytes()
    begin = time.perf_counter()
    importlib.import_module(contender)
    taken = time.perf_counter() - begin
    return {"seconds": taken, "bytes": resident_bytes() - before}


WORKLOADS = (
    ProcessWorkload(
        "import",
        "processes",
        "import of the package, beyond NumPy; memory that it takes",
        probe,
        ("weft", "jax", "torch", "numba", "pytensor", "onnxruntime"),
        {"": 0},
        0,
        rounds=7,
    ),
)
