"""Weft against its peers; `python -m benchmarks --help` says how. Threads are limited before
anything is imported that reads the setting once, as NumPy's BLAS does.
"""

from __future__ import annotations

import os
import sys

if "--threads" in sys.argv[:-1]:
    count = int(sys.argv[sys.argv.index("--threads") + 1])
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:count])
    for name in ("OMP", "MKL", "OPENBLAS", "NUMBA"):
        os.environ[f"{name}_NUM_THREADS"] = str(count)
    if count == 1:
        os.environ["XLA_FLAGS"] = (
            "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
        )
os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # idle threads must not disturb the next turn
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
