"""First calls in a second process, against a cold one: where the program is found by its graph, so
that only tracing is left, and where it is found by its function.

Value and gradient of n residual layers, in processes that have compiled something small before.
Bar: with a graph that is found, at most a third of a cold first call.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = 3
PROGRAM = """
import sys, time
import numpy as np, weft as wf
from benchmarks.workloads.growth import layer_inputs

def loss(parameters, x):
    {extra}
    for layer in parameters:
        h = np.tanh(x @ layer["a"] + layer["b"])
        x = x + (h - np.mean(h, axis=1, keepdims=True)) @ layer["c"]
    return np.sum(x * x)

small = wf.jit(wf.value_and_grad(lambda p, x: np.sum(np.tanh(x @ getattr(p, "T")))))
small(np.ones((64, 64)), np.ones((32, 64)))
f, arguments = wf.jit(wf.value_and_grad(loss)), layer_inputs({layers})
start = time.perf_counter()
f(*arguments)
print(time.perf_counter() - start, *f.explain_cache().split("): ")[-1].split(",")[:1])
"""


def seconds(folder: Path, source: str) -> tuple[float, str]:
    """Of the first call in a new process, and how the program was found."""
    path = folder / "program.py"
    path.write_text(source)
    environment = {**os.environ, "WEFT_CACHE_DIR": str(folder / "cache")}
    environment["PYTHONPYCACHEPREFIX"] = str(
        Path(tempfile.gettempdir()) / "second-process-bytecode"
    )
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    run = subprocess.run(
        [sys.executable, str(path)], env=environment, capture_output=True, text=True, check=True
    )
    taken, _, note = run.stdout.strip().partition(" ")
    return float(taken), note


def main() -> None:
    for layers in (1, 20, 100):
        for extra in ("getattr(x, 'shape')", "pass"):
            source = PROGRAM.format(extra=extra, layers=layers)
            cold, again, note = [], [], ""
            for _ in range(ROUNDS):
                with tempfile.TemporaryDirectory() as name:
                    cold.append(seconds(Path(name), source)[0])
                    taken, note = seconds(Path(name), source)
                    again.append(taken)
            ratio = statistics.median(again) / statistics.median(cold)
            print(
                f"{layers:4} layers, {note}: {statistics.median(again):.3f} s, {ratio:.2f} of cold"
            )


if __name__ == "__main__":
    main()
