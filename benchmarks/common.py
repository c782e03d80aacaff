"""Weft against its peers in one run: the contenders take turns, so that what else runs on the
machine slows all of them alike, and the ratios of their best times are what counts.

A workload is written once, over a namespace `xp` which is NumPy (for NumPy and for Weft, which
traces NumPy code) or `jax.numpy`. Peers that are not installed are left out with a note.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Run = Callable[[], Any]
WARM_SHARE = 0.25  # of a turn, before its calls are timed
_missing: set[str] = set()


def arguments(description: str) -> argparse.Namespace:
    """What every script takes: threads, rounds, and which of its parts to run."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("only", nargs="*", help="run the parts whose title has one of these words")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.3, help="of one turn of a contender")
    return parser.parse_args()


def start(description: str) -> argparse.Namespace:
    """Reads the arguments and gives all contenders the same threads: to be called before any of
    them is imported, since most read their settings once.
    """
    options = arguments(description)
    cores = sorted(os.sched_getaffinity(0))[: options.threads]
    os.sched_setaffinity(0, cores)
    for name in ("OMP", "MKL", "OPENBLAS", "NUMBA"):
        os.environ[f"{name}_NUM_THREADS"] = str(options.threads)
    os.environ["OMP_WAIT_POLICY"] = "passive"  # a peer's idle threads must not disturb the next
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    if options.threads == 1:
        os.environ["XLA_FLAGS"] = (
            "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
        )
    import weft as wf

    wf.set_num_threads(options.threads)
    print(f"# {description.splitlines()[0]} ({options.threads} threads)")
    return options


def peer(name: str) -> Any:
    """A peer's module, or None with a note where it is not installed."""
    try:
        module = importlib.import_module(name)
    except ImportError:
        if name not in _missing:
            print(f"  ({name} is not installed: left out)")
            _missing.add(name)
        return None
    if name == "jax":
        module.config.update("jax_enable_x64", True)
    if name == "torch":
        module.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    return module


@dataclass(frozen=True)
class Times:
    """Seconds of one call: the best, and the median of the best of each turn."""

    best: float
    median: float
    first: float


def seconds(function: Run) -> float:
    """The time of one call."""
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin


def turn(function: Run, length: float) -> float:
    """The best of the calls that fit into the length; the first part of them only warms up."""
    warm_until = time.perf_counter() + length * WARM_SHARE
    taken = seconds(function)
    while time.perf_counter() < warm_until:
        taken = seconds(function)
    end = time.perf_counter() + length
    best = taken if taken > length else float("inf")
    while best == float("inf") or time.perf_counter() < end:
        best = min(best, seconds(function))
    return best


def measure(contenders: dict[str, Run], options: argparse.Namespace) -> dict[str, Times]:
    """The contenders' times, in turns; the first call, which compiles, is timed on its own."""
    first = {name: seconds(function) for name, function in contenders.items()}
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    gc.collect()
    gc.disable()
    for _ in range(options.rounds):
        for name, function in contenders.items():
            samples[name].append(turn(function, options.seconds))
    gc.enable()
    return {
        name: Times(min(taken), statistics.median(taken), first[name])
        for name, taken in samples.items()
    }


def agree(contenders: dict[str, Run], tolerance: float) -> None:
    """Fails if the results of the contenders differ by more than the tolerance, relative to the
    largest entry.
    """
    names = list(contenders)
    results = [_leaves(contenders[name]()) for name in names]
    for name, leaves in zip(names[1:], results[1:], strict=True):
        if len(leaves) != len(results[0]):
            raise AssertionError(f"{name} has {len(leaves)} results, not {len(results[0])}")
        for got, wanted in zip(leaves, results[0], strict=True):
            scale = max(float(np.max(np.abs(wanted), initial=0.0)), 1e-30)
            error = float(np.max(np.abs(got - wanted), initial=0.0)) / scale
            if not error <= tolerance:
                raise AssertionError(f"{name} differs from {names[0]} by {error:.2e}")


def _leaves(result: Any) -> list[np.ndarray[Any, Any]]:
    if isinstance(result, dict):
        return [leaf for key in sorted(result) for leaf in _leaves(result[key])]
    if isinstance(result, list | tuple):
        return [leaf for item in result for leaf in _leaves(item)]
    if hasattr(result, "detach"):
        result = result.detach().numpy()
    return [np.asarray(result, np.float64)]


def wanted(title: str, options: argparse.Namespace) -> bool:
    """Whether the user asked for this part, or for all."""
    return not options.only or any(word in title for word in options.only)


def compare(
    title: str, contenders: dict[str, Run], options: argparse.Namespace, tolerance: float = 1e-5
) -> dict[str, Times] | None:
    """Checks, measures and prints one workload; None if the user left it out."""
    if not wanted(title, options):
        return None
    agree(contenders, tolerance)
    times = measure(contenders, options)
    show(title, times)
    return times


def show(title: str, times: dict[str, Times]) -> None:
    """One line per contender: best and median, and its time as a multiple of Weft's."""
    print(title)
    weft = times["weft"]
    for name, taken in times.items():
        ratio = f"{taken.best / weft.best:6.2f} {taken.median / weft.median:6.2f} x weft"
        best, median = _time(taken.best), _time(taken.median)
        print(f"  {name:16} best {best}  median {median}  {ratio}", flush=True)


def _time(duration: float) -> str:
    return f"{duration * 1e3:9.3f} ms" if duration > 1e-4 else f"{duration * 1e6:9.3f} us"


def contenders(
    make: Callable[[Any], Callable[..., Any]], inputs: tuple[Any, ...], numpy: bool = True
) -> dict[str, Run]:
    """Weft, JAX and NumPy for a function that is made from a namespace, all on the same inputs,
    which JAX has as arrays of its own beforehand.
    """
    import weft as wf

    compiled = wf.jit(make(np))
    runs: dict[str, Run] = {"weft": lambda: compiled(*inputs)}
    jax = peer("jax")
    if jax is not None:
        runs["jax"] = jax_run(jax, make(jax.numpy), inputs)
    if numpy:
        plain = make(np)
        runs["numpy"] = lambda: plain(*inputs)
    return runs


def jax_run(jax: Any, function: Callable[..., Any], inputs: tuple[Any, ...]) -> Run:
    """A call of JAX's jit which waits for the results."""
    compiled = jax.jit(function)
    placed = jax.tree.map(jax.numpy.asarray, inputs)
    return lambda: jax.block_until_ready(compiled(*placed))


def resident_bytes() -> int:
    """The physical memory of this process now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def return_memory() -> None:
    """Collects what is unreachable and hands free memory back to the system."""
    import ctypes

    for _ in range(3):
        gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
