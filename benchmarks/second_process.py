"""What the programs on disk save: the time from `import weft` to the first result.

Two programs, a gradient of a small network and a function of 5,000 ops, in a first process that
compiles them into an empty cache and in later ones that find them there. Everything is shown with
its ratio to the time of `import numpy` in the same processes. The goal for the second is less than
300 ms on a quiet machine, `import numpy` included.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

RUNS = 7
NETWORK = """
def loss(params, x, y):
    hidden = np.tanh(x @ params["w1"] + params["b1"])
    return np.mean((hidden @ params["w2"] - y) ** 2)

def run(wf):
    params = {"w1": np.ones((8, 16)), "b1": np.zeros(16), "w2": np.ones((16, 1))}
    return wf.jit(wf.value_and_grad(loss)), (params, np.ones((4, 8)), np.ones((4, 1)))
"""
LONG = """
def long(x, w):
    for step in range(1000):
        x = np.tanh(x * w) + step / 1000
        if step % 4 == 0:
            x = np.cumsum(x)
        x = x - np.max(x)
    return x

def run(wf):
    return wf.jit(long), (np.linspace(0, 1, 50), np.linspace(1, 2, 50))
"""
PROBE = """
import sys, time
start = time.perf_counter()
import numpy as np
numpy_time = time.perf_counter() - start
exec(compile(open(sys.argv[1]).read(), sys.argv[1], "exec"))
begin = time.perf_counter()
import weft as wf
function, arguments = run(wf)
function(*arguments)
print(numpy_time, time.perf_counter() - begin, time.process_time())
print(function.explain_cache(), file=sys.stderr)
"""


def process(program: Path, cache: Path) -> tuple[float, float, float]:
    """Seconds in a new process: for `import numpy`, from `import weft` to the first result, and of
    the processor for all of it.
    """
    environment = {**os.environ, "WEFT_CACHE_DIR": str(cache)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # users' imports find bytecode
    run = subprocess.run(
        [sys.executable, "-c", PROBE, str(program)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    numpy_time, first_result, processor = map(float, run.stdout.split())
    return numpy_time, first_result, processor


def report(name: str, source: str) -> None:
    """Print the times of one program."""
    with tempfile.TemporaryDirectory() as folder:
        program, cache = Path(folder) / "program.py", Path(folder) / "cache"
        program.write_text(source)
        first = process(program, cache)
        later = [process(program, cache) for _ in range(RUNS)]
    second = tuple(statistics.median(column) for column in zip(*later, strict=True))
    for label, (numpy_time, duration, processor) in (("first", first), ("second", second)):
        print(
            f"{name:15} {label:6} process {duration * 1e3:8.1f} ms {duration / second[0]:7.2f} of "
            f"numpy {(numpy_time + duration) * 1e3:8.1f} ms with it {processor * 1e3:8.1f} ms of "
            "the processor"
        )


if __name__ == "__main__":
    report("small gradient", NETWORK)
    report("5,000 ops", LONG)
