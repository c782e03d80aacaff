"""Runs workloads in processes of their own and gathers what they found.

All contenders take turns in one process for each family of workloads. First calls are measured in
fresh ones, with and without what is kept on disk. A contender that brings its process down, or says
nothing for too long, has failed there; the others go on.
"""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.peers import PEERS
from benchmarks.registry import MODULE_OF, WORKLOADS
from benchmarks.results import First, Outcome, Row
from benchmarks.worker import MARK
from benchmarks.workload import AnyWorkload, ProcessWorkload, Workload

ANY = "tiny-call"  # a workload that every contender manages
Task = tuple[str, str]  # workload, label
Progress = Callable[[str, int], None]  # what is being done, and how many steps were finished


@dataclass(frozen=True)
class Options:
    """How long and how often to measure, and with whom."""

    contenders: tuple[str, ...]
    threads: int
    rounds: int = 5
    length: float = 0.2
    cold: bool = True
    brief: bool = False  # all workloads, where peers that compile slowly take less part
    patience: float = 240.0  # seconds without a word from a process
    progress: Progress = lambda text, steps: None


@dataclass
class Crash(Exception):
    """A process that ended, or was ended, before it was done."""

    trying: list[str]
    message: str


@dataclass
class Worker:
    """One process of `benchmarks.worker`, and the lines that it says."""

    task: dict[str, Any]
    options: Options
    environment: dict[str, str] = field(default_factory=dict)

    def lines(self) -> Iterator[dict[str, Any]]:
        """What it says, line by line; raises Crash if it does not come to its end."""
        with tempfile.TemporaryFile("w+") as errors:
            process = self._launch(errors)
            heard: queue.Queue[str | None] = queue.Queue()
            listener = threading.Thread(target=_listen, args=(process, heard), daemon=True)
            listener.start()
            trying: list[str] = []
            try:
                while (line := heard.get(timeout=self.options.patience)) is not None:
                    message = json.loads(line)
                    trying = message.get("trying", trying)
                    yield message
            except queue.Empty:
                patience = self.options.patience
                raise Crash(trying, f"took longer than {patience:.0f} s") from None
            finally:
                _end(process)
                listener.join()
            if process.returncode:
                raise Crash(trying, _reason(process.returncode, errors))

    def _launch(self, errors: Any) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "benchmarks.worker"]
        command += ["--threads", str(self.options.threads), json.dumps(self.task)]
        started = {"BENCHMARK_STARTED": repr(time.time())}
        return subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={**os.environ, **self.environment, **started},
            start_new_session=True,
        )


def _listen(process: subprocess.Popen[str], heard: queue.Queue[str | None]) -> None:
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            if line.startswith(MARK):
                heard.put(line.removeprefix(MARK))
    process.wait()
    heard.put(None)


def _end(process: subprocess.Popen[str]) -> None:
    """Ends the process and those that it started, if they still run."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
    process.wait()


def _reason(code: int, errors: Any) -> str:
    errors.seek(0)
    lines = [line.strip() for line in errors.read().splitlines() if line.strip()]
    ended = f"ended by signal {-code}" if code < 0 else f"ended with code {code}"
    return f"{ended}: {lines[-1] if lines else 'it said nothing'}"[:300]


# --- all contenders in turns ----------------------------------------------------------------------


def run(tasks: list[Task], options: Options) -> list[Row]:
    """The rows of all tasks, in their order; those that are there if it is interrupted."""
    rows: dict[Task, Row] = {}
    with tempfile.TemporaryDirectory(prefix="benchmarks-") as folder:
        try:
            _measure(tasks, rows, options, Path(folder))
        except KeyboardInterrupt:
            if not rows:
                raise
    return [rows[task] for task in tasks if task in rows]


def _measure(tasks: list[Task], rows: dict[Task, Row], options: Options, folder: Path) -> None:
    """Turns of all, then what takes fresh processes."""
    turns = [task for task in tasks if isinstance(WORKLOADS[task[0]], Workload)]
    for row in _turns(turns, options, folder):
        rows[row.workload, row.label] = row
    for name, label in tasks:
        workload = WORKLOADS[name]
        if isinstance(workload, ProcessWorkload):
            rows[name, label] = _probed(workload, label, options, folder)
        elif options.cold and workload.cold and label == next(iter(workload.sizes)):
            _first_calls(workload, label, rows[name, label], options, folder)


def steps_of(tasks: Iterable[Task], options: Options) -> int:
    """How many steps the progress of a run counts: one per measurement of a contender."""
    count = 0
    for name, label in tasks:
        workload = WORKLOADS[name]
        if isinstance(workload, ProcessWorkload):
            count += len([c for c in options.contenders if c in workload.contenders])
        else:
            cold = options.cold and workload.cold and label == next(iter(workload.sizes))
            count += 1 + cold * len(options.contenders)
    return count


def _turns(tasks: list[Task], options: Options, folder: Path) -> Iterator[Row]:
    """Rows of turns; a process that ends early is started again without whom it ended with."""
    excluded: list[list[str]] = []
    failures: dict[Task, dict[str, Outcome]] = {}
    left = list(tasks)
    while left:
        family = WORKLOADS[left[0][0]].family
        batch = [task for task in left if WORKLOADS[task[0]].family == family]
        try:
            for row in _batch(batch, excluded, options, folder):
                row.outcomes.update(failures.get((row.workload, row.label), {}))
                left.remove((row.workload, row.label))
                options.progress(row.title, 1)
                yield row
        except Crash as crash:
            workload, label, contender = crash.trying or [*left[0], "turns"]
            failed = failures.setdefault((workload, label), {})
            if contender == "turns" or [workload, label, contender] in excluded:
                left.remove((workload, label))
                failed["weft"] = Outcome(failed=crash.message)
                yield _empty_row(WORKLOADS[workload], label, options, failed)
                continue
            excluded.append([workload, label, contender])
            failed[contender] = Outcome(failed=crash.message)


def _batch(
    tasks: list[Task], excluded: list[list[str]], options: Options, folder: Path
) -> Iterator[Row]:
    task = {
        "mode": "turns",
        "tasks": tasks,
        "contenders": options.contenders,
        "excluded": excluded,
        "rounds": options.rounds,
        "length": options.length,
        "plan": options.cold,
        "brief": options.brief,
    }
    for message in Worker(task, options, _caches(folder / "turns")).lines():
        if "trying" in message:
            name, label, contender = message["trying"]
            options.progress(f"{name}, {label}: {contender}", 0)
            continue
        outcomes = {key: Outcome(**found) for key, found in message["outcomes"].items()}
        row = _empty_row(WORKLOADS[message["workload"]], message["label"], options, outcomes)
        row.flops, row.bytes, row.plan = message["flops"], message["bytes"], message["plan"]
        yield row


def _empty_row(
    workload: AnyWorkload, label: str, options: Options, outcomes: dict[str, Outcome]
) -> Row:
    row = Row(
        workload.name, label, workload.family, workload.about, options.threads, dict(outcomes)
    )
    row.tolerance = getattr(workload, "tolerance", None)
    return row


# --- fresh processes ------------------------------------------------------------------------------


def _caches(folder: Path) -> dict[str, str]:
    """The environment in which every contender keeps what it compiles in a folder."""
    names = [variable for peer in PEERS.values() for variable in peer.caches]
    for name in names:
        (folder / name).mkdir(parents=True, exist_ok=True, mode=0o700)
    settings = {
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        "PYTENSOR_FLAGS": f"base_compiledir={folder / 'PYTENSOR_COMPILEDIR'}",
    }
    return {name: str(folder / name) for name in names} | settings


def _first_calls(workload: Workload, label: str, row: Row, options: Options, folder: Path) -> None:
    """First calls in fresh processes of all contenders that managed the turns."""
    for contender in options.contenders:
        outcome = row.outcomes.get(contender)
        options.progress(f"{row.title}: first calls of {contender}", 0)
        managed = outcome is not None and outcome.median is not None
        if managed and PEERS[contender].starts_with(workload, options.brief):
            assert outcome is not None
            try:
                _first_calls_of(contender, workload, label, outcome, options, folder)
            except Crash as crash:
                outcome.note = f"in a fresh process: {crash.message}"
        options.progress(f"{row.title}: first calls of {contender}", 1)


def _first_calls_of(
    contender: str, workload: Workload, label: str, outcome: Outcome, options: Options, folder: Path
) -> None:
    """Support code is on disk as after other programs: for Weft the same one at its small size,
    which needs as much of it; for others, which have little, any program.
    """
    place = folder / f"{workload.name}-{contender}"
    if contender == "weft":
        outcome.empty = _first(contender, workload.name, label, options, place / "empty")
        _first(contender, workload.name, "small", options, place / "used")
    elif PEERS[contender].caches:
        base = folder / f"base-{contender}"
        if not base.exists():
            _first(contender, ANY, "small", options, base)
        shutil.copytree(base, place / "used")
    outcome.fresh = _first(contender, workload.name, label, options, place / "used")
    outcome.second, outcome.peak = outcome.fresh, outcome.fresh.peak
    if PEERS[contender].caches:
        outcome.second = _first(contender, workload.name, label, options, place / "used")
        outcome.peak = outcome.second.peak
    if PEERS[contender].loads_late:
        outcome.peak = _first(contender, workload.name, label, options, place / "used", True).peak


def _first(
    contender: str,
    name: str,
    label: str,
    options: Options,
    caches: Path,
    after_small: bool = False,
) -> First:
    task: dict[str, Any] = {"mode": "first", "workload": name, "label": label}
    task |= {"contender": contender, "after_small": after_small, "module": MODULE_OF[name]}
    *_, message = Worker(task, options, _caches(caches)).lines()
    return First(**message)


def _probed(workload: ProcessWorkload, label: str, options: Options, folder: Path) -> Row:
    """Rounds of fresh processes, the contenders in turns."""
    caches = _caches(folder / "probes")
    row = _empty_row(workload, label, options, {})
    contenders = [name for name in options.contenders if name in workload.contenders]
    samples: dict[str, list[dict[str, float]]] = {name: [] for name in contenders}
    rounds = min(workload.rounds, options.rounds)
    for number in range(rounds):
        for contender in contenders:
            options.progress(f"{row.title}: {contender}", int(number == rounds - 1))
            if contender in row.outcomes:
                continue
            task = {"mode": "probe", "workload": workload.name, "label": label}
            task |= {"contender": contender, "module": MODULE_OF[workload.name]}
            try:
                messages = list(Worker(task, options, caches).lines())
                samples[contender].append(messages[-1]["found"])
            except Crash as crash:
                row.outcomes[contender] = Outcome(failed=crash.message)
    for contender, found in samples.items():
        if contender not in row.outcomes and found:
            row.outcomes[contender] = _probe_outcome(found)
    return row


def _probe_outcome(found: list[dict[str, float]]) -> Outcome:
    times = [each["seconds"] for each in found]
    held = [each["bytes"] for each in found if "bytes" in each]
    return Outcome(
        median=statistics.median(times),
        best=min(times),
        cpu=min((each["cpu"] for each in found if "cpu" in each), default=None),
        start=min((each["start"] for each in found if "start" in each), default=None),
        held=statistics.median(held) if held else None,
    )
