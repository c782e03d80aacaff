"""Compile time of a network's training step in a process that has compiled before, against JAX.

The first calls of fresh functions, less a later call, in turns; nothing is found on disk. Bar: the
Adam step of the GPT below a third of JAX's. `python -m benchmarks gpt --cold` has first calls of
fresh processes, in which Weft loads its compiler too.
"""

from __future__ import annotations

import os
import statistics
import sys

os.environ["WEFT_CACHE_DIR"] = ""

from benchmarks.measure import seconds
from benchmarks.peers import installed, prepared
from benchmarks.registry import WORKLOADS
from benchmarks.workload import Workload

ROUNDS = 4


def compile_seconds(contender: str, workload: Workload) -> float:
    """What the first call of a fresh function takes beyond the second."""
    size = next(iter(workload.sizes.values()))
    call = prepared(contender, workload, size, workload.arguments(size))
    return seconds(call) - seconds(call)


def main() -> None:
    contenders = ["weft", *installed(("jax",))[0]]
    for name in sys.argv[1:] or ["gpt"]:
        workload = WORKLOADS[name]
        assert isinstance(workload, Workload)
        taken: dict[str, list[float]] = {contender: [] for contender in contenders}
        for _ in range(ROUNDS):
            for contender in contenders:
                taken[contender].append(compile_seconds(contender, workload))
        for contender, samples in taken.items():
            warm = statistics.median(samples[1:])
            ratio = statistics.median(taken["weft"][1:]) / warm
            beside = f"Weft {ratio:.2f} of it; first {samples[0]:.3f} s"
            print(f"{name} {contender:5} {warm:6.3f} s, {beside}")


if __name__ == "__main__":
    main()
