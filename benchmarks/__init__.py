"""Weft against its peers; `python -m benchmarks --help` says how. Threads are limited before
anything is imported that reads the setting once, as NumPy's BLAS does.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence


def asked_threads(arguments: Sequence[str]) -> int | None:
    """The number after `--threads`; what is no such number is left to the parser to refuse."""
    for place, word in enumerate(arguments):
        name, _, value = word.partition("=")
        if name == "--threads":
            value = value or "".join(arguments[place + 1 : place + 2])
            return int(value) if value.isdecimal() and int(value) else None
    return None


def limit_threads(count: int) -> None:
    """On as many cores, with as many threads of every library, for this process and its own."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:count])
    for name in ("OMP", "MKL", "OPENBLAS", "NUMBA"):
        os.environ[f"{name}_NUM_THREADS"] = str(count)
    if count == 1:
        os.environ["XLA_FLAGS"] = (
            "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
        )


if (count := asked_threads(sys.argv[1:])) is not None:
    limit_threads(count)
os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # idle threads must not disturb the next turn
os.environ.setdefault("WEFT_STRICT", "1")  # no program of another tier may be measured
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
