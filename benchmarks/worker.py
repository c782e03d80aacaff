"""What runs in processes of their own, started by `benchmarks.runner`: turns of all contenders at
some workloads, the first call of one contender in a fresh process, or one probe.

The task comes as JSON on the command line; each line of the answer is JSON after a mark, so that
what libraries print does not matter. Before each step a line says what is tried, so that the
runner knows whom to blame if the process ends there.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from typing import Any

MARK = "@benchmark "
REFERENCE = ("numpy", "jax", "torch", "torch.compile", "numba", "pytensor", "onnxruntime", "weft")


def say(**message: Any) -> None:
    """One line to the runner."""
    print(MARK + json.dumps(message), flush=True)


def workload_of(task: dict[str, Any]) -> Any:
    """The workload of a task, without loading the others."""
    module = importlib.import_module(task["module"])
    return next(each for each in module.WORKLOADS if each.name == task["workload"])


def size_of(workload: Any, label: str) -> Any:
    """The size with this label: one of the workload's, of its growth by n, or the small one."""
    if label in workload.sizes:
        return workload.sizes[label]
    return workload.small if label == "small" else workload.growth[int(label.removeprefix("n="))]


# --- turns ----------------------------------------------------------------------------------------


def take_turns(task: dict[str, Any]) -> None:
    """All contenders at each of the tasks."""
    from benchmarks.registry import WORKLOADS

    for name, label in task["tasks"]:
        workload = WORKLOADS[name]
        runs, notes = _start(workload, label, task)
        _finish(workload, label, runs, notes, task)


def _start(workload: Any, label: str, task: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The first calls: what came out of them, and what is to be said of each contender."""
    from benchmarks.peers import PEERS, prepared
    from benchmarks.workload import Unsupported

    size = size_of(workload, label)
    inputs = workload.arguments(size)
    runs: dict[str, Any] = {}
    notes: dict[str, Any] = {}
    for contender in task["contenders"]:
        against = PEERS[contender].reason_against(workload, label, task["brief"])
        if [workload.name, label, contender] in task["excluded"]:
            continue
        if against is not None:
            notes[contender] = {"note": against}
            continue
        say(trying=[workload.name, label, contender])
        try:
            begin = time.perf_counter()
            run = prepared(contender, workload, size, inputs)
            result = run()
            notes[contender] = {"first": time.perf_counter() - begin}
            runs[contender] = (run, _kept(result))
        except Unsupported as reason:
            notes[contender] = {"note": str(reason)}
        except Exception as error:
            notes[contender] = {"failed": _message(error)}
    return runs, notes


def _kept(result: Any) -> Any:
    from benchmarks.measure import as_numpy

    return as_numpy(result)


def _message(error: Exception) -> str:
    text = str(error).strip()
    return f"{type(error).__name__}: {text.splitlines()[0] if text else ''}"[:300]


def _finish(workload: Any, label: str, runs: Any, notes: Any, task: dict[str, Any]) -> None:
    from benchmarks.measure import difference, measure

    reference = next((name for name in REFERENCE if name in runs), None)
    for contender, (_, result) in runs.items():
        notes[contender]["difference"] = difference(result, runs[reference][1])
        notes[contender]["reference"] = reference
    say(trying=[workload.name, label, "turns"])
    times = measure({name: run for name, (run, _) in runs.items()}, task["rounds"], task["length"])
    for contender, taken in times.items():
        notes[contender].update(best=taken.best, median=taken.median)
    size = size_of(workload, label)
    say(
        workload=workload.name,
        label=label,
        outcomes=notes,
        flops=workload.flops(size) if workload.flops else None,
        bytes=workload.bytes(size) if workload.bytes else None,
        plan=_plan(workload, size, runs) if task["plan"] else {},
    )


def _plan(workload: Any, size: Any, runs: Any) -> dict[str, int]:
    """Weft's plan of memory: the frame of intermediate arrays, and the least that one needs."""
    compiled = getattr(runs.get("weft", (None,))[0], "compiled", None)
    if compiled is None or not hasattr(compiled, "memory"):
        return {}
    memory = compiled.memory(*workload.arguments(size))
    return {"arena": int(memory.peak), "lower_bound": int(memory.lower_bound)}


# --- the first call of a process ------------------------------------------------------------------


def first_result(task: dict[str, Any]) -> None:
    """The time from the start of this process to the first result, and what memory it takes;
    after the small size, if so asked, so that memory is that of the program alone.
    """
    started = float(os.environ["BENCHMARK_STARTED"])
    from benchmarks.measure import forget_high_water, high_water_bytes, resident_bytes
    from benchmarks.peers import prepared

    workload = workload_of(task)
    size = size_of(workload, task["label"])
    begin = time.perf_counter()
    inputs = workload.arguments(size)
    making = time.perf_counter() - begin
    if task["after_small"]:
        prepared(task["contender"], workload, workload.small, workload.arguments(workload.small))()
    run = prepared(task["contender"], workload, size, inputs)
    forget_high_water()
    before = resident_bytes()
    begin = time.perf_counter()
    run()
    first = time.perf_counter() - begin
    total = time.time() - started - making
    for _ in range(2):
        run()
    say(first=first, total=total, peak=high_water_bytes() - before)


def probe(task: dict[str, Any]) -> None:
    """One measurement of a workload that is about whole processes."""
    workload = workload_of(task)
    say(found=workload.probe(task["contender"], size_of(workload, task["label"])))


MODES = {"turns": take_turns, "first": first_result, "probe": probe}

if __name__ == "__main__":
    given = json.loads(sys.argv[-1])
    MODES[given["mode"]](given)
