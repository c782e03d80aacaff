"""Timing in turns, and memory: the contenders take turns, so that what else runs on the machine
slows all of them alike, and ratios within one run are what counts.
"""

from __future__ import annotations

import gc
import os
import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.peers import Run
from benchmarks.trees import leaves

WARM_SHARE = 0.25  # of a turn, before its calls are timed
SHORTEST = 20e-6  # what is timed at once: shorter calls are timed several at a time
MOST = 10  # a slow contender has no further turns after so many times the length of one


@dataclass(frozen=True)
class Times:
    """Seconds of one call: the best of all, and the median of the best of each turn."""

    best: float
    median: float


def seconds(function: Run, times: int = 1) -> float:
    """The time of one call, from several in a row."""
    begin = time.perf_counter()
    for _ in range(times):
        function()
    return (time.perf_counter() - begin) / times


def turn(function: Run, length: float) -> float:
    """The best of the calls that fit into the length; the first part of them only warms up."""
    warm_until = time.perf_counter() + length * WARM_SHARE
    taken = seconds(function)
    while time.perf_counter() < warm_until:
        taken = min(taken, seconds(function))
    times = max(1, int(SHORTEST / max(taken, 1e-9)))
    end = time.perf_counter() + length
    best = taken if taken > length else float("inf")
    while best == float("inf") or time.perf_counter() < end:
        best = min(best, seconds(function, times))
    return best


def measure(contenders: Mapping[str, Run], rounds: int, length: float) -> dict[str, Times]:
    """The contenders' times, in turns; all of them have been called before."""
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    spent = dict.fromkeys(contenders, 0.0)
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, function in contenders.items():
                if samples[name] and spent[name] > MOST * length:
                    continue
                begin = time.perf_counter()
                samples[name].append(turn(function, length))
                spent[name] += time.perf_counter() - begin
    finally:
        gc.enable()
    return {name: Times(min(taken), statistics.median(taken)) for name, taken in samples.items()}


def as_numpy(result: Any) -> list[np.ndarray[Any, Any]]:
    """All numbers of a result, in the order of its leaves; of sparse matrices the entries that are
    not zero, and where they are.
    """
    found = []
    for leaf in leaves(result):
        leaf = leaf.detach().numpy() if hasattr(leaf, "detach") else leaf
        found += _entries(leaf) if hasattr(leaf, "tocsr") else [leaf]
    return [np.asarray(leaf, np.float64) for leaf in found]


def _entries(matrix: Any) -> list[Any]:
    """Some store positions of which others know that they are zero."""
    own = matrix.tocsr(copy=True)
    own.sum_duplicates()
    own.eliminate_zeros()
    return [own.data, own.indices, own.indptr]


def difference(got: list[Any], wanted: list[Any]) -> float:
    """The largest error of a result, relative to the largest entry of its array."""
    if [leaf.shape for leaf in got] != [leaf.shape for leaf in wanted]:
        return float("inf")
    errors = [0.0]
    for ours, theirs in zip(got, wanted, strict=True):
        scale = max(float(np.max(np.abs(theirs), initial=0.0)), 1e-30)
        error = float(np.max(np.abs(ours - theirs), initial=0.0)) / scale
        errors.append(error if error == error else float("inf"))
    return max(errors)


# --- memory ---------------------------------------------------------------------------------------


def resident_bytes() -> int:
    """The physical memory of this process now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def high_water_bytes() -> int:
    """The most physical memory that this process ever had."""
    with open("/proc/self/status") as file:
        lines = dict(line.split(":", 1) for line in file)
    return int(lines["VmHWM"].split()[0]) * 1024


def forget_high_water() -> None:
    """Lets the high-water mark start anew, where the system allows it."""
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        pass


def return_memory() -> None:
    """Collects what is unreachable and hands free memory back to the system."""
    import ctypes

    for _ in range(3):
        gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
