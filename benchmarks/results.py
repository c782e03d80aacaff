"""What a run found, as plain records that go to JSON and back."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class First:
    """One first call: its seconds, those from the start of the process, and the growth of the peak
    memory in the first three calls, which may load libraries and compile.
    """

    first: float
    total: float
    peak: float


@dataclass
class Outcome:
    """One contender at one size of a workload. `empty`, `fresh` and `second` are first calls of
    fresh processes: with nothing on disk, with Weft's support code on disk, with the program there.
    `peak` is what the peak memory grows by in calls, in a process that has loaded all it needs.
    `cpu` is the processor time of a measurement, and `start` the time of what has to come before.
    """

    median: float | None = None
    best: float | None = None
    first: float | None = None
    difference: float | None = None
    reference: str | None = None
    peak: float | None = None
    held: float | None = None
    failed: str | None = None
    note: str | None = None
    empty: First | None = None
    fresh: First | None = None
    second: First | None = None
    cpu: float | None = None
    start: float | None = None


@dataclass
class Row:
    """All contenders at one size of a workload."""

    workload: str
    label: str
    family: str
    about: str
    threads: int
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    tolerance: float | None = None
    flops: float | None = None
    bytes: float | None = None
    plan: dict[str, int] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return f"{self.workload}, {self.label}" if self.label else self.workload

    def best_peer(self) -> str | None:
        """The fastest contender beside Weft, if any."""
        timed = {k: o.median for k, o in self.outcomes.items() if k != "weft" and o.median}
        return min(timed, key=lambda name: timed[name]) if timed else None

    def ratio(self) -> float | None:
        """How many times as fast as the best peer Weft is: below 1 it loses."""
        peer, weft = self.best_peer(), self.outcomes.get("weft")
        if peer is None or weft is None or not weft.median:
            return None
        other = self.outcomes[peer].median
        assert other is not None
        return other / weft.median


@dataclass
class Report:
    """A whole run, and what it ran on."""

    rows: list[Row] = field(default_factory=list)
    machine: dict[str, Any] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1))

    @staticmethod
    def read(path: Path) -> Report:
        data = json.loads(path.read_text())
        return Report([_row(row) for row in data["rows"]], data["machine"], data["missing"])


def _row(data: dict[str, Any]) -> Row:
    outcomes = {name: _outcome(found) for name, found in data.pop("outcomes").items()}
    return Row(outcomes=outcomes, **data)


def _outcome(data: dict[str, Any]) -> Outcome:
    stages = ("empty", "fresh", "second")
    found = {name: First(**data[name]) if data.get(name) else None for name in stages}
    return Outcome(**{**data, **found})


def machine(contenders: list[str], threads: int) -> dict[str, Any]:
    """The processor and the versions of all contenders."""
    from importlib.metadata import PackageNotFoundError, version

    from benchmarks.peers import PEERS

    versions = {}
    for package in sorted({PEERS[name].package for name in contenders}):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "from source"
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "threads": threads,
        "python": platform.python_version(),
        "versions": versions,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
