"""How much `import weft` costs beyond `import numpy`: both in fresh processes, in one run.

Prints the medians and their ratio. The goal is at most 50 ms beyond NumPy on a quiet machine, and in any case less
than NumPy's own import.
"""

from __future__ import annotations

import statistics
import subprocess
import sys

RUNS = 9
PROBE = """
import time
start = time.perf_counter()
import numpy
middle = time.perf_counter()
import weft
print(middle - start, time.perf_counter() - middle)
"""


def measure() -> tuple[float, float]:
    """Seconds for NumPy and for what Weft adds, the medians of several fresh processes."""
    samples = []
    for _ in range(RUNS):
        run = subprocess.run(
            [sys.executable, "-c", PROBE], check=True, capture_output=True, text=True
        )
        samples.append(tuple(float(number) for number in run.stdout.split()))
    return statistics.median(s[0] for s in samples), statistics.median(s[1] for s in samples)


if __name__ == "__main__":
    numpy_time, weft_time = measure()
    print(f"import numpy        {numpy_time * 1e3:7.1f} ms")
    print(f"import weft, beyond {weft_time * 1e3:7.1f} ms, {weft_time / numpy_time:.2f} of NumPy's")
