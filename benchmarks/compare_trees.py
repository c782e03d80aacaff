"""`python -m benchmarks.compare_trees OLD NEW`: the speed of two source trees in one run.

For each row a process of either tree makes its first call, and then the two take turns, so that
what else runs on the machine slows both alike. The workloads are this tree's, by public names only.
A ratio above 1 means that the new tree is faster. Ends with 1 if a row is below the bars.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks import limit_threads
from benchmarks.registry import WORKLOADS
from benchmarks.worker import MARK, say, size_of
from benchmarks.workload import Workload

HERE = Path(__file__).resolve().parents[1]
LEAST_RATIO = 0.95  # of any row
LEAST_MEAN = 0.98  # geometric, of all rows
SHOWN = 10  # rows at the end of either list


@dataclass(frozen=True)
class Pair:
    """Seconds of the same call by the old tree and by the new one: in turns, and the first ones."""

    title: str
    old: float
    new: float
    old_first: float
    new_first: float

    @property
    def ratio(self) -> float:
        return self.old / self.new

    @property
    def first_ratio(self) -> float:
        return self.old_first / self.new_first


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare_trees", description=__doc__)
    add = parser.add_argument
    add("old", type=Path, help="the root of a source tree, the folder with src in it")
    add("new", type=Path)
    add("names", nargs="*", help="workloads or families, or words in their names; all if none")
    add("--rounds", type=int, default=7, help="turns of either tree")
    add("--seconds", type=float, default=0.1, help="of one turn")
    add("--threads", type=int, default=len(os.sched_getaffinity(0)))
    add("--quick", action="store_true", help="the first size of each workload")
    add("--json", type=Path, metavar="FILE", help="write all rows")
    add("--serve", action="store_true", help=argparse.SUPPRESS)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    if options.serve:
        serve(options.new)
        return 0
    limit_threads(options.threads)
    pairs = []
    for pair in compared(options):
        pairs.append(pair)
        print(line(pair), flush=True)
    if options.json:
        options.json.write_text(json.dumps([asdict(pair) for pair in pairs], indent=1))
    print(summary(pairs))
    return int(bool(pairs) and not is_kept_up(pairs))


# --- reporting ------------------------------------------------------------------------------------


def line(pair: Pair) -> str:
    times = f"{pair.old * 1e6:12.1f} us -> {pair.new * 1e6:12.1f} us  {pair.ratio:5.2f}"
    first = f"{pair.old_first:6.3f} s -> {pair.new_first:6.3f} s  {pair.first_ratio:5.2f}"
    return f"{pair.title:40} {times}   first call {first}"


def geometric_mean(numbers: Sequence[float]) -> float:
    return math.exp(statistics.fmean(math.log(number) for number in numbers))


def summary(pairs: Sequence[Pair]) -> str:
    """The means, and the rows that are slowest in comparison."""
    if not pairs:
        return "no row was compared"
    firsts = sum(pair.old_first for pair in pairs), sum(pair.new_first for pair in pairs)
    lines = [
        f"{len(pairs)} rows; ratios above 1 mean that the new tree is faster",
        f"calls: geometric mean {geometric_mean([pair.ratio for pair in pairs]):.3f}",
        f"first calls: geometric mean {geometric_mean([pair.first_ratio for pair in pairs]):.3f}, "
        f"together {firsts[0]:.1f} s -> {firsts[1]:.1f} s",
        "slowest in comparison:",
    ]
    by_call = sorted(pairs, key=lambda pair: pair.ratio)
    lines += [f"  {pair.ratio:.2f} {pair.title}" for pair in by_call[:SHOWN]]
    lines.append("slowest first calls in comparison:")
    by_first = sorted(pairs, key=lambda pair: pair.first_ratio)
    lines += [f"  {pair.first_ratio:.2f} {pair.title}" for pair in by_first[:SHOWN]]
    return "\n".join(lines)


def is_kept_up(pairs: Sequence[Pair]) -> bool:
    """Whether the new tree is as fast as the bars demand."""
    ratios = [pair.ratio for pair in pairs]
    return min(ratios) >= LEAST_RATIO and geometric_mean(ratios) >= LEAST_MEAN


# --- the process of a tree ------------------------------------------------------------------------


class Tree:
    """A process that has one tree's Weft, and does what it is told line by line."""

    def __init__(self, root: Path) -> None:
        root = root.resolve()
        paths = [str(root / "src"), str(HERE)]
        settings = {"WEFT_CACHE_DIR": "", "PYTHONPATH": os.pathsep.join(paths)}
        command = [sys.executable, "-P", "-m", "benchmarks.compare_trees", "--serve"]
        self._process = subprocess.Popen(
            [*command, str(root), str(root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **settings},
        )

    def ask(self, **message: Any) -> float:
        """Sends a command and waits for the seconds that it took."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()
        for answer in self._process.stdout:
            if answer.startswith(MARK):
                return float(json.loads(answer.removeprefix(MARK))["seconds"])
        raise RuntimeError(f"the process of a tree ended with code {self._process.wait()}")

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@contextmanager
def processes(roots: Sequence[Path]) -> Iterator[list[Tree]]:
    trees = [Tree(root) for root in roots]
    try:
        yield trees
    finally:
        for tree in trees:
            tree.close()


def serve(root: Path) -> None:
    """Prepares calls and times turns of them, as the lines of the standard input ask."""
    import weft
    from benchmarks.measure import seconds, turn
    from benchmarks.peers import prepared

    if not Path(weft.__file__ or "").is_relative_to(root / "src"):
        raise SystemExit(f"{root} was to be run, but Weft is {weft.__file__}")
    run: Any = None
    for text in sys.stdin:
        message = json.loads(text)
        if "workload" in message:
            workload = WORKLOADS[message["workload"]]
            size = size_of(workload, message["label"])
            assert isinstance(workload, Workload)
            run = prepared("weft", workload, size, workload.arguments(size))
            say(seconds=seconds(run))
        else:
            say(seconds=turn(run, message["length"]))


# --- both in turns --------------------------------------------------------------------------------


def compared(options: argparse.Namespace) -> Iterator[Pair]:
    """All rows that are asked for; each family of workloads has processes of its own."""
    roots = [options.old, options.new]
    for family, rows in rows_of(options.names, options.quick).items():
        with processes(roots) as trees:
            print(f"--- {family}", file=sys.stderr, flush=True)
            for workload, label in rows:
                yield row(trees, workload, label, options.rounds, options.seconds)


def rows_of(names: Sequence[str], quick: bool) -> dict[str, list[tuple[str, str]]]:
    """Names and sizes of the workloads that are timed in turns, by family."""
    found: dict[str, list[tuple[str, str]]] = {}
    for workload in WORKLOADS.values():
        if not isinstance(workload, Workload):
            continue
        if not names or workload.family in names or any(word in workload.name for word in names):
            labels = list(workload.sizes)[: 1 if quick else None]
            rows = found.setdefault(workload.family, [])
            rows += [(workload.name, label) for label in labels]
    return found


def row(trees: Sequence[Tree], workload: str, label: str, rounds: int, length: float) -> Pair:
    """The first calls of both, and the medians of their turns."""
    firsts = [tree.ask(workload=workload, label=label) for tree in trees]
    turns: list[list[float]] = [[] for _ in trees]
    for number in range(rounds):
        order = list(zip(trees, turns, strict=True))
        for tree, taken in order if number % 2 else order[::-1]:  # neither is always the first
            taken.append(tree.ask(length=length))
    old, new = (statistics.median(taken) for taken in turns)
    title = f"{workload}, {label}" if label else workload
    return Pair(title, old, new, *firsts)


if __name__ == "__main__":
    sys.exit(main())
