"""The parent of the workers: it restarts those that die or hang, gathers counts, and writes what
was found as tests.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fuzz.case import Case
from tests.fuzz.reduce import reduced
from tests.fuzz.worker import BATCH, from_json

ROOT = Path(__file__).parents[2]
PATIENCE = 120.0  # seconds without a word from a worker that are called a hang
PROGRAMS_OF_A_PROCESS = 20_000


@dataclass
class Report:
    """Sums over all workers."""

    seed: int
    seconds: float = 0.0
    features: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    written: list[Path] = field(default_factory=list)

    def __str__(self) -> str:
        programs = self.counts["programs"]
        rate = programs / max(self.seconds, 1e-9)
        lines = [f"{programs} programs in {self.seconds:.0f} s ({rate:.1f}/s), seed {self.seed}"]
        for title, table in (("checks", self.counts), ("features", self.features)):
            lines += [
                "",
                title,
                *(f"  {name:28} {count:9}" for name, count in sorted(table.items())),
            ]
        lines += ["", f"{len(self.written)} new cases", *(f"  {path}" for path in self.written)]
        return "\n".join(lines)


class Process:
    """One worker and what it said last."""

    def __init__(self, pool: Pool, number: int, start: int) -> None:
        self.number = number
        self.current = pool.folder / f"current-{number}"
        self.next = start
        self.first = start
        known = pool.folder / "known.json"
        known.write_text(json.dumps(sorted(pool.signatures)))
        command = [sys.executable, "-m", "tests.fuzz.worker", "--seed", str(pool.seed)]
        command += ["--start", str(start), "--stride", str(pool.workers), "--mode", pool.mode]
        command += ["--current", str(self.current), "--known", str(known)]
        errors = (pool.folder / f"errors-{number}").open("w")
        self.popen = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=ROOT, env=environment()
        )
        self.heard = time.monotonic()
        self.ended = False
        threading.Thread(target=self._listen, args=(pool.messages,), daemon=True).start()

    @property
    def quiet(self) -> float:
        """For how many seconds nothing was heard of it: no message, and no new program marked."""
        marked = time.time() - self.current.stat().st_mtime if self.current.exists() else math.inf
        return min(time.monotonic() - self.heard, marked)

    def _listen(self, messages: queue.Queue[Any]) -> None:
        assert self.popen.stdout is not None
        for line in self.popen.stdout:
            messages.put((self, json.loads(line)))
        messages.put((self, None))


def environment() -> dict[str, str]:
    """Of processes that run programs: no cache, so that everything is compiled."""
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    return {**os.environ, "PYTHONPATH": paths, "WEFT_CACHE_DIR": "", "WEFT_STRICT": "1"}


class Pool:
    """Runs workers for some time."""

    def __init__(self, seed: int, workers: int, corpus: Path, mode: str = "values") -> None:
        self.seed = seed
        self.mode = mode
        self.workers = workers
        self.corpus = corpus
        self.messages: queue.Queue[Any] = queue.Queue()
        self.signatures: set[str] = set()
        self.report = Report(seed)

    def run(self, seconds: float, most: int | None = None) -> Report:
        begin = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            self.folder = Path(folder)
            running = [Process(self, n, n * BATCH) for n in range(self.workers)]
            with contextlib.suppress(KeyboardInterrupt):  # the report is worth having all the same
                while time.monotonic() - begin < seconds and not self._enough(most):
                    self._hear()
                    running = [self._looked_after(process) for process in running]
            for process in running:
                process.popen.kill()
                process.popen.wait()
        self.report.seconds = time.monotonic() - begin
        return self.report

    def _enough(self, most: int | None) -> bool:
        return most is not None and self.report.counts["programs"] >= most

    def _hear(self) -> None:
        try:
            process, message = self.messages.get(timeout=1.0)
        except queue.Empty:
            return
        process.heard = time.monotonic()
        if message is None:
            process.ended = True
        elif "finding" in message:
            finding = message["finding"]
            self._write(from_json(finding["case"]), finding["signature"], finding["message"])
        else:
            self.report.features.update(message["features"])
            self.report.counts.update(message["counts"])
            process.next = message["next"] - BATCH + BATCH * self.workers

    def _looked_after(self, process: Process) -> Process:
        """The worker, or a new one in its stead."""
        hangs = process.quiet > PATIENCE
        if process.ended:
            self._lost(process, how_it_ended(process.popen.wait()))
        elif hangs:
            process.popen.kill()
            process.popen.wait()
            self._lost(process, "hangs")
        elif process.next - process.first > PROGRAMS_OF_A_PROCESS * self.workers:
            process.popen.kill()
            process.popen.wait()
        else:
            return process
        lost = process.ended or hangs
        return Process(self, process.number, process.next + (BATCH * self.workers if lost else 0))

    def _lost(self, process: Process, how: str) -> None:
        self.report.counts[f"process {how}"] += 1
        text = process.current.read_text()
        if not text.strip():
            raise RuntimeError((self.folder / f"errors-{process.number}").read_text()[-2000:])
        case = from_json(json.loads(text))
        name = f"{case.check}: {how}"
        if name in self.signatures:
            return
        smallest = reduced(case, lambda c: run_alone(c, self.folder) == how, seconds=150)
        self._write(smallest, name, f"the process {how}")

    def _write(self, case: Case, signature: str, message: str) -> None:
        if signature in self.signatures:
            return
        self.signatures.add(signature)
        self.corpus.mkdir(parents=True, exist_ok=True)
        path = self.corpus / f"test_{case.check}_{case.key()}.py"
        path.write_text(case.test(message))
        self.report.written.append(path)
        print(f"--- {signature}\n{message[:600]}\n{case.source}{case.arguments}\n", flush=True)


def how_it_ended(status: int) -> str:
    return f"died of {signal.Signals(-status).name}" if status < 0 else f"ended with {status}"


def run_alone(case: Case, folder: Path, seconds: float = 30.0) -> str:
    """How a process that runs only this case ends."""
    from dataclasses import asdict

    path = folder / "alone.json"
    path.write_text(json.dumps(asdict(case)))
    command = [
        sys.executable,
        "-m",
        "tests.fuzz.worker",
        "--case",
        str(path),
        "--current",
        str(path),
    ]
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment(), capture_output=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return "hangs"
    return how_it_ended(done.returncode)
