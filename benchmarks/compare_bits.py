"""`python -m benchmarks.compare_bits OLD NEW`: whether two source trees compute the same bits.

Each tree runs its own tests, of which every result of a compiled function is kept, and this tree's
workloads, in processes of their own without a cache. Only public names of Weft are used, so that
modules may move between the trees. Ends with 1 if a result differs or is missing.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parents[1]
TESTS = ("tests/systems", "tests/programs")
Array = np.ndarray[Any, Any]
Results = dict[str, Array]  # by the name of what computed them, and its place


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare_bits", description=__doc__)
    add = parser.add_argument
    add("old", type=Path, help="the root of a source tree, the folder with src in it")
    add("new", type=Path)
    add("--tests", nargs="*", default=TESTS, metavar="PATH", help=f"default: {' '.join(TESTS)}")
    add("--sizes", choices=("none", "small", "first", "all"), default="small", help="of workloads")
    add("--words", nargs="*", default=(), help="in the names of workloads; all if none")
    add("--keep", type=Path, metavar="FOLDER", help="where to leave the results, as .npz")
    add("--record", type=Path, metavar="FILE", help=argparse.SUPPRESS)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    if options.record is not None:
        record(options.new, options.tests, options.sizes, options.words, options.record)
        return 0
    with tempfile.TemporaryDirectory(prefix="bits-") as folder:
        target = options.keep or Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        recorded = []
        for name in ("old", "new"):
            _launch(getattr(options, name), target / f"{name}.npz", options)
            recorded.append(load(target / f"{name}.npz"))
    report = compare(*recorded)
    print(report.text())
    return 0 if report.is_same else 1


def _launch(tree: Path, target: Path, options: argparse.Namespace) -> None:
    """Records the results of one tree in a process that sees no other tree's Weft."""
    tree = tree.resolve()
    command = [sys.executable, str(Path(__file__).resolve()), str(tree), str(tree)]
    command += ["--record", str(target.resolve()), "--sizes", options.sizes]
    command += ["--tests", *options.tests, "--words", *options.words]
    settings = {"WEFT_CACHE_DIR": "", "CI": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    environment = {**os.environ, **settings, "PYTHONPATH": str(tree / "src")}
    subprocess.run(command, env=environment, cwd=tree, check=True)


# --- comparing ------------------------------------------------------------------------------------


@dataclass
class Comparison:
    """What differs between two recordings; `same` counts the arrays that do not."""

    same: int = 0
    changed: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)

    @property
    def is_same(self) -> bool:
        return not self.changed and not self.missing

    def text(self) -> str:
        lines = [f"differs: {line}" for line in self.changed]
        lines += [f"only in the old tree: {name}" for name in self.missing]
        lines += [f"only in the new tree: {name}" for name in self.added]
        count = len(self.changed)
        return "\n".join([*lines, f"{self.same} arrays have the same bits, {count} do not"])


def compare(old: Results, new: Results) -> Comparison:
    """All arrays of the old recording against those of the same name."""
    found = Comparison()
    for name, one in old.items():
        if name not in new:
            found.missing.append(name)
        elif (difference := difference_of(one, new[name])) is not None:
            found.changed.append(f"{name}: {difference}")
        else:
            found.same += 1
    found.added = [name for name in new if name not in old]
    return found


def difference_of(one: Array, other: Array) -> str | None:
    """How two arrays differ in type or bits; None if they do not."""
    if (one.dtype, one.shape) != (other.dtype, other.shape):
        return f"{one.dtype}{list(one.shape)} became {other.dtype}{list(other.shape)}"
    if one.tobytes() == other.tobytes():
        return None
    flat, others = (np.ascontiguousarray(x).reshape(-1) for x in (one, other))
    width = one.dtype.itemsize
    bits = [x.view(np.uint8).reshape(-1, width) for x in (flat, others)]
    places = np.flatnonzero((bits[0] != bits[1]).any(axis=1))
    first = places[0]
    beside = f"first {flat[first]!r} became {others[first]!r} at {first}"
    return f"{len(places)} of {one.size} numbers, {beside}"


def load(path: Path) -> Results:
    with np.load(path) as file:
        return {name: file[name] for name in file.files}


# --- recording, in the process of a tree ----------------------------------------------------------


def record(
    tree: Path, tests: Sequence[str], sizes: str, words: Sequence[str], target: Path
) -> None:
    """Runs the tests of a tree and this tree's workloads with that tree's Weft."""
    sys.path[:] = [str(tree / "src"), *[p for p in sys.path if p != str(HERE / "benchmarks")]]
    import weft

    if not Path(weft.__file__ or "").is_relative_to(tree / "src"):
        raise SystemExit(f"{tree} was to be run, but Weft is {weft.__file__}")
    results: Results = {}
    if tests:
        results |= results_of_tests(tests)
    if sizes != "none":
        for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
            del sys.modules[name]  # the workloads are this tree's, with its programs
        sys.path[:] = [str(HERE), *[path for path in sys.path if path != str(tree)]]
        results |= results_of_workloads(sizes, words)
    np.savez(target, **results)  # type: ignore[arg-type]


class Recorder:
    """A plugin of pytest that keeps what compiled functions return, under the test's own name: the
    files of tests may move.
    """

    def __init__(self) -> None:
        self.results: Results = {}
        self._test = ""
        self._calls: dict[str, int] = {}

    def pytest_runtest_setup(self, item: Any) -> None:
        self._test = item.name

    def keep(self, result: Any) -> None:
        """Under the number of the call in the tests of this name."""
        number = self._calls.get(self._test, 0)
        self._calls[self._test] = number + 1
        self.results.update(named(f"{self._test}/{number}", result))

    def watch(self, compiled: type) -> None:
        """Keeps the results of all instances of the class of compiled functions."""
        call = compiled.__call__

        def watched(function: Any, /, *args: Any, **kwargs: Any) -> Any:
            result = call(function, *args, **kwargs)
            self.keep(result)
            return result

        compiled.__call__ = watched  # type: ignore[method-assign]


def results_of_tests(paths: Sequence[str]) -> Results:
    """What compiled functions return in these tests, which must pass."""
    import pytest

    import weft as wf

    recorder = Recorder()
    recorder.watch(type(wf.jit(lambda x: x)))
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:randomly"]
    code = pytest.main([*options, *paths], plugins=[recorder])
    if code:
        raise SystemExit(f"pytest ended with code {int(code)}")
    return recorder.results


def results_of_workloads(sizes: str, words: Sequence[str]) -> Results:
    """One call of every workload at these sizes."""
    from benchmarks.peers import prepared
    from benchmarks.registry import WORKLOADS
    from benchmarks.workload import Workload

    results: Results = {}
    for workload in WORKLOADS.values():
        if not isinstance(workload, Workload):
            continue
        if words and not any(word in workload.name for word in words):
            continue
        for label, size in sizes_of(workload, sizes):
            name = f"{workload.name}, {label}"
            print(name, flush=True)
            run = prepared("weft", workload, size, workload.arguments(size))
            results |= named(name, run())
    return results


def sizes_of(workload: Any, sizes: str) -> Iterable[tuple[str, Any]]:
    """The sizes that are asked for, by label; the small one is always there."""
    every = list(workload.sizes.items())
    more = {"small": [], "first": every[:1], "all": every}[sizes]
    return [("small", workload.small), *more]


def named(name: str, result: Any) -> Results:
    """The arrays of a result by its name and their places in it."""
    return {f"{name}/{place}": leaf for place, leaf in enumerate(arrays(result))}


def arrays(result: Any) -> Iterator[Array]:
    """All arrays in a result, in order; of what has none of them, nothing."""
    if isinstance(result, Mapping):
        for key in sorted(result, key=str):
            yield from arrays(result[key])
    elif isinstance(result, list | tuple):
        for item in result:
            yield from arrays(item)
    elif hasattr(result, "indptr"):
        yield from (np.array(part) for part in (result.data, result.indices, result.indptr))
    elif isinstance(result, np.ndarray | np.generic | bool | int | float | complex):
        leaf = np.array(result)
        is_numpys_own = leaf.dtype.isbuiltin == 1  # others, such as bf16, are not kept in files
        yield leaf if is_numpys_own else np.frombuffer(leaf.tobytes(), np.uint8)


if __name__ == "__main__":
    sys.exit(main())
