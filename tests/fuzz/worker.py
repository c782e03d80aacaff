"""A process that runs programs; what it is busy with is in a file, so that a crash has a name.

Lines of JSON go to the parent: findings, and counts after every batch.
"""

from __future__ import annotations

import argparse
import ast
import faulthandler
import json
import os
import resource
import sys
import warnings
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz.case import Case
from tests.fuzz.plan import Finding, Tally, cases_of, native_cases, outcome, program
from tests.fuzz.reduce import reduced

BATCH = 24
REDUCED = 1  # of one signature, but more of wrong values, whose signatures say little
REDUCED_VALUES = 6
MEMORY = 8 << 30


class Worker:
    """Runs batches of programs and tells what it found."""

    def __init__(self, seed: int, current: Path, known: set[str], mode: str = "values") -> None:
        self.seed = seed
        self.mode = mode
        self.current = os.open(current, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        self.seen: Counter[str] = Counter(dict.fromkeys(known, REDUCED))

    def batch(self, start: int) -> None:
        tally = Tally()
        gathered: list[Case] = []
        for index in range(start, start + BATCH):
            kind, case, random = program(self.seed, index, self.mode)
            if case is None:
                tally.counts["nothing generated"] += 1
                continue
            tally.counts["programs"] += 1
            tally.features.update(case.features)
            tally.features[f"kind {kind}"] += 1
            failed = [self.run(item, tally) for item in cases_of(kind, case, random)]
            if kind not in ("smooth", "symbolic", "python") and not any(failed):
                gathered.append(case)
        for together in native_cases(gathered, Random(start)):
            self.run(together, tally)
        self.tell(features=dict(tally.features), counts=dict(tally.counts), next=start + BATCH)

    def run(self, case: Case, tally: Tally) -> bool:
        """Whether a case failed; the first ones of their kind are reduced and reported."""
        self.mark(case)
        finding = outcome(case, tally)
        if finding is None:
            return False
        tally.counts[f"{case.check}: failed"] += 1
        self.seen[finding.signature] += 1
        if self.seen[finding.signature] <= most_reduced(finding.signature):
            self.report(finding)
        return True

    def report(self, finding: Finding) -> None:
        def fails(candidate: Case) -> bool:
            self.mark(candidate)
            again = outcome(candidate)
            return again is not None and again.signature == finding.signature

        smallest = reduced(finding.case, fails, seconds=25)
        again = outcome(smallest) or finding
        again.signature += f" {names_in(smallest.source)}" if " values" in again.signature else ""
        self.tell(finding=asdict(again))

    def mark(self, case: Case) -> None:
        data = json.dumps(asdict(case)).encode()
        os.pwrite(self.current, data + b"\n", 0)
        os.ftruncate(self.current, len(data) + 1)

    def tell(self, **message: Any) -> None:
        print(json.dumps(message), file=TOLD, flush=True)


def most_reduced(signature: str) -> int:
    return REDUCED_VALUES if " values" in signature else REDUCED


def names_in(source: str) -> str:
    """What a reduced program calls, which tells causes of wrong values apart."""
    nodes = ast.walk(ast.parse(source))
    return " ".join(sorted({node.attr for node in nodes if isinstance(node, ast.Attribute)}))


TOLD = sys.stdout


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--stop", type=int, default=1 << 60)
    parser.add_argument("--stride", type=int, default=1)
    parser.add_argument("--current", type=Path, required=True)
    parser.add_argument("--known", type=Path)
    parser.add_argument("--mode", default="values")
    parser.add_argument("--case", type=Path, help="run this case only")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if options.case:
        case = from_json(json.loads(options.case.read_text()))
        found = outcome(case)
        print(found.message if found else "")
        return
    known = set(json.loads(options.known.read_text())) if options.known else set()
    worker = Worker(options.seed, options.current, known, options.mode)
    for start in range(options.start, options.stop, BATCH * options.stride):
        worker.batch(start)


def from_json(data: dict[str, Any]) -> Case:
    """The case that was written as JSON."""
    options = {k: tuple(v) if isinstance(v, list) else v for k, v in data["options"].items()}
    return Case(
        data["source"], tuple(data["arguments"]), data["check"], options, tuple(data["features"])
    )


if __name__ == "__main__":
    main()
