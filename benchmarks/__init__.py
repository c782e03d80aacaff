"""Weft against its peers. Threads are limited before anything is imported that reads the setting
once, as NumPy's BLAS does.
"""

from __future__ import annotations

import os
import sys

if "--threads" in sys.argv[:-1]:
    count = int(sys.argv[sys.argv.index("--threads") + 1])
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:count])
    for name in ("OMP", "MKL", "OPENBLAS", "NUMBA"):
        os.environ[f"{name}_NUM_THREADS"] = str(count)
