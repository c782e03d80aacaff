"""The scripts that compare two source trees: what counts as a difference, what is recorded, and
that either tree runs its own code.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import scipy.sparse

from benchmarks import compare_bits, compare_trees
from benchmarks.compare_bits import Recorder, arrays, compare, difference_of, sizes_of
from benchmarks.compare_trees import Pair
from benchmarks.registry import WORKLOADS
from benchmarks.workload import Workload

ROOT = Path(__file__).parents[2]


# --- bits -----------------------------------------------------------------------------------------


def test_bits_decide_not_numbers() -> None:
    zeros, nan = np.zeros(3), np.full(2, np.nan)
    assert difference_of(zeros, zeros.copy()) is None
    assert difference_of(nan, nan.copy()) is None
    assert difference_of(zeros, -zeros) == (
        "3 of 3 numbers, first np.float64(0.0) became np.float64(-0.0) at 0"
    )
    assert difference_of(zeros, zeros.astype("f4")) == "float64[3] became float32[3]"
    one, other = np.array(1.0), np.array(np.nextafter(1.0, 2.0))
    assert str(difference_of(one, other)).startswith("1 of 1 numbers")


def test_changed_missing_and_added_results_are_listed() -> None:
    one = np.ones(2)
    old, new = {"a": one, "b": one, "c": one}, {"a": one, "b": 2 * one, "d": one}
    found = compare(old, new)
    assert (found.same, found.missing, found.added) == (1, ["c"], ["d"])
    assert [line.split(":")[0] for line in found.changed] == ["b"]
    assert not found.is_same and "1 arrays have the same bits, 1 do not" in found.text()
    assert compare({"a": one}, {"a": one, "d": one}).is_same


def test_all_arrays_of_a_result_are_recorded() -> None:
    half = np.ones((), ml_dtypes.bfloat16)
    matrix = scipy.sparse.csr_array(np.eye(2))
    found = list(arrays({"b": (np.ones(2), 3.0), "a": [half, matrix], "c": None}))
    assert [each.dtype.name for each in found[:1]] == ["uint8"]
    assert found[0].tobytes() == half.tobytes()
    assert [each.tolist() for each in found[1:]] == [[1, 1], [0, 1], [0, 1, 2], [1, 1], 3.0]


def test_calls_are_recorded_under_the_name_of_the_test() -> None:
    class Compiled:
        def __call__(self, x: Any, *, by: float = 1.0) -> Any:
            return x * by

    class Item:
        name = "test_one[two]"

    recorder = Recorder()
    recorder.watch(Compiled)
    recorder.pytest_runtest_setup(Item())
    function = Compiled()
    assert [function(2.0), function(2.0, by=3.0)] == [2.0, 6.0]
    assert {name: float(found) for name, found in recorder.results.items()} == {
        "test_one[two]/0/0": 2.0,
        "test_one[two]/1/0": 6.0,
    }


def test_sizes_of_workloads() -> None:
    workload = WORKLOADS["chain"]
    labels = [[label for label, _ in sizes_of(workload, each)] for each in ("small", "first")]
    assert labels == [["small"], ["small", next(iter(workload.sizes))]]
    assert [label for label, _ in sizes_of(workload, "all")] == ["small", *workload.sizes]


@pytest.mark.slow
def test_a_tree_computes_the_same_bits_as_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trees = [str(ROOT), str(ROOT)]
    options = ["--tests", "tests/systems/test_tensors.py", "--words", "chain", "--keep"]
    assert compare_bits.main([*trees, *options, str(tmp_path)]) == 0
    assert " arrays have the same bits, 0 do not" in capsys.readouterr().out
    recorded = compare_bits.load(tmp_path / "new.npz")
    assert "chain, small/0" in recorded
    assert any(name.startswith("test_g") for name in recorded)


# --- times ----------------------------------------------------------------------------------------


def test_summary_has_means_and_the_worst_rows() -> None:
    pairs = [Pair("a", 2.0, 1.0, 1.0, 4.0), Pair("b", 1.0, 2.0, 3.0, 4.0)]
    text = compare_trees.summary(pairs)
    assert "calls: geometric mean 1.000" in text
    assert "first calls: geometric mean 0.433, together 4.0 s -> 8.0 s" in text
    assert text.index("0.50 b") < text.index("2.00 a") < text.index("0.25 a")
    assert compare_trees.summary([]) == "no row was compared"


def test_bars_are_for_each_row_and_for_the_mean() -> None:
    def pairs(*ratios: float) -> list[Pair]:
        return [Pair("", ratio, 1.0, 1.0, 1.0) for ratio in ratios]

    assert compare_trees.is_kept_up(pairs(0.96, 1.02))
    assert not compare_trees.is_kept_up(pairs(0.94, 1.5))
    assert not compare_trees.is_kept_up(pairs(0.96, 0.97))


def test_rows_are_those_that_take_turns() -> None:
    every = [row for rows in compare_trees.rows_of([], False).values() for row in rows]
    turns = [each for each in WORKLOADS.values() if isinstance(each, Workload)]
    assert len(every) == sum(len(each.sizes) for each in turns)
    assert compare_trees.rows_of(["chain"], True) == {
        WORKLOADS["chain"].family: [("chain", next(iter(WORKLOADS["chain"].sizes)))]
    }


class Told(compare_trees.Tree):
    """A tree that answers at once, and writes down what it is asked."""

    def __init__(self, name: str, log: list[str], *seconds: float) -> None:
        self._name, self._log, self._seconds = name, log, list(seconds)

    def ask(self, **message: Any) -> float:
        self._log.append(f"{self._name} {'first' if 'workload' in message else 'turn'}")
        return self._seconds.pop(0)


def test_trees_take_turns_and_neither_is_always_first() -> None:
    log: list[str] = []
    trees = [Told("old", log, 9.0, 1.0, 2.0, 3.0), Told("new", log, 8.0, 6.0, 5.0, 4.0)]
    pair = compare_trees.row(trees, "chain", "f32", 3, 0.1)
    assert pair == Pair("chain, f32", 2.0, 5.0, 9.0, 8.0)
    assert log[:2] == ["old first", "new first"]
    assert [each.split()[0] for each in log[2:]] == ["new", "old", "old", "new", "new", "old"]


@pytest.mark.slow
def test_a_tree_against_itself(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(compare_trees, "limit_threads", lambda count: None)
    options = ["--rounds", "1", "--seconds", "0.001"]
    compare_trees.main([str(ROOT), str(ROOT), "tiny-call", *options])
    shown = capsys.readouterr().out
    assert shown.startswith("tiny-call") and "1 rows; ratios above 1" in shown


@pytest.mark.slow
def test_the_process_of_a_tree_refuses_to_run_another_one(tmp_path: Path) -> None:
    with (
        compare_trees.processes([tmp_path]) as (tree,),
        pytest.raises(RuntimeError, match="code 1"),
    ):
        tree.ask(workload="tiny-call", label="")
