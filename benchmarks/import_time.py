"""How much `import weft` costs beyond `import numpy`, and what the first use of `jit` adds.

Each is the median over fresh processes of one run, shown with its ratio to NumPy's own import. The
goal is at most 50 ms beyond NumPy on a quiet machine.
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
end = time.perf_counter()
weft.jit(lambda x: x + 1)(1.0)
print(middle - start, end - middle, time.perf_counter() - end)
"""


def measure() -> list[float]:
    """Seconds for NumPy, for what Weft adds, and for the first call of a jitted function."""
    samples = []
    for _ in range(RUNS):
        run = subprocess.run(
            [sys.executable, "-c", PROBE], check=True, capture_output=True, text=True
        )
        samples.append(tuple(float(number) for number in run.stdout.split()))
    return [statistics.median(column) for column in zip(*samples, strict=True)]


if __name__ == "__main__":
    numpy_time, weft_time, first_time = measure()
    for name, duration in (
        ("import numpy", numpy_time),
        ("import weft, beyond numpy", weft_time),
        ("first call of jit, beyond that", first_time),
    ):
        print(f"{name:32} {duration * 1e3:7.1f} ms  {duration / numpy_time:5.2f} of numpy")
