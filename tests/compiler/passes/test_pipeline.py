"""The pipeline itself: order, statistics, dumps, checks between passes, and users' own passes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft as wf
from tests.compiler.ir.making import graph, number, ops
from weft.compiler.ir.edit import drop_dead_ops
from weft.compiler.ir.errors import ArgumentError, VerifyError
from weft.compiler.ir.graph import Graph, Parameter, Region, Value
from weft.compiler.passes.before_derivatives import BEFORE_DERIVATIVES, prepare_for_derivatives
from weft.compiler.passes.pipeline import DEFAULT, optimise
from weft.compiler.passes.running import Report, recording
from weft.compiler.rewrite.rule import rule


def sample() -> Graph:
    def write(x: Value) -> Value:
        ops.cos(x)
        return ops.log(ops.add(number(1), ops.exp(ops.neg(ops.neg(x)))))

    return graph({"x": "f32[2]"}, write)


def test_every_pass_says_why_it_stands_where_it_does() -> None:
    assert all(item.reason for item in DEFAULT)
    assert [item.name for item in DEFAULT].count("eliminate_dead_ops") == 2


def test_report_has_counts_rules_and_times() -> None:
    after, report = optimise(sample())
    assert [op.name for op in after.ops] == ["softplus"]
    assert report.fired["log(1 + exp(x))"] == 1
    assert report.fired["-(-x)"] == 1
    assert report.steps[0].before == 6
    assert report.steps[-1].after == 1
    assert report.seconds >= 0
    changed = [step.name for step in report.steps if step.changed]
    assert changed == ["eliminate_dead_ops", "canonicalize", "simplify", "stabilise"]
    text = str(report)
    assert text.startswith("g: 6 ops before, 1 after")
    assert "stabilise" in text and "log(1 + exp(x)) 1" in text


def test_optimised_graph_is_the_same_object_after_one_round() -> None:
    after, _ = optimise(sample())
    again, report = optimise(after)
    assert again is after
    assert [step.name for step in report.steps] == list(dict.fromkeys(p.name for p in DEFAULT))
    assert not any(step.changed for step in report.steps)


def test_no_passes() -> None:
    made = sample()
    after, report = optimise(made, passes=[])
    assert after is made
    assert str(report) == "g: no passes ran"


def test_dump_writes_numbered_text_that_parses(tmp_path: Path) -> None:
    made = sample()
    optimise(made, dump=tmp_path)
    (folder,) = tmp_path.iterdir()
    files = sorted(path.name for path in folder.iterdir())
    assert files == [
        "00-traced.weft",
        "01-eliminate_dead_ops.weft",
        "02-canonicalize.weft",
        "03-simplify.weft",
        "04-stabilise.weft",
    ]
    first = wf.parse((folder / files[0]).read_text())
    assert first.content_hash() == made.content_hash()
    optimise(made, passes=[drop_dead_ops], dump=tmp_path)
    assert sorted(path.name for path in folder.iterdir()) == [
        "00-traced.weft",
        "01-drop_dead_ops.weft",
    ]


def test_dump_directory_comes_from_the_environment(tmp_path: Path) -> None:
    code = (
        "import weft as wf; from weft.compiler.passes.pipeline import optimise; import numpy as np;"
        "optimise(wf.trace(lambda x: -(-x))(np.ones(2)))"
    )
    environment = {
        **os.environ,
        "WEFT_DUMP": str(tmp_path),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    assert len(list(tmp_path.glob("lambda-*/*.weft"))) == 2


def test_check_after_a_pass_names_it() -> None:
    def break_it(made: Graph) -> Graph:
        stranger = Parameter(made.parameters[0].type)
        return Graph(made.name, Region(made.parameters, (), (stranger,)))

    with pytest.raises(VerifyError, match="after the pass break_it: result 0 of a region"):
        optimise(sample(), passes=[break_it], verify=True)


def test_pass_that_returns_no_graph_is_refused() -> None:
    def forgetful(made: Graph) -> Any:
        return None

    with pytest.raises(ArgumentError, match="forgetful returned None instead of a graph"):
        optimise(sample(), passes=[forgetful])


def test_what_is_no_pass_is_refused() -> None:
    with pytest.raises(ArgumentError, match="'cse' is no pass"):
        optimise(sample(), passes=["cse"])  # type: ignore[list-item]


def test_functions_and_rules_are_passes() -> None:
    to_tanh = rule("to tanh", lambda x: ops.log(x), lambda x: ops.tanh(x), proof=None)
    after, report = optimise(sample(), passes=[drop_dead_ops, to_tanh])
    assert [step.name for step in report.steps[:2]] == ["drop_dead_ops", "to tanh"]
    assert after.ops[-1].name == "tanh"
    assert report.fired == {"to tanh": 1}
    assert isinstance(report, Report)


def test_a_pass_is_called_as_its_function_is() -> None:
    assert all(item.name == item.run.__name__ for item in (*BEFORE_DERIVATIVES, *DEFAULT))


def test_what_runs_before_derivatives_is_shown_as_round_0() -> None:
    def total(x: Any) -> Any:
        return (1 / (1 + np.exp(-x))).sum()

    gradient = wf.jit(wf.grad(total))
    gradient(np.ones(3))
    assert " 0 stabilise" in gradient.passes()
    assert "1 / (1 + exp(-x)) 1" in gradient.passes()
    plain = wf.jit(total)
    plain(np.ones(3))
    assert " 0 stabilise" not in plain.passes()


def test_steps_are_recorded_only_while_asked_for() -> None:
    region = sample().region
    with recording() as steps:
        prepare_for_derivatives(region)
    prepare_for_derivatives(region)
    assert [(step.name, step.round) for step in steps] == [("stabilise", 0)]
