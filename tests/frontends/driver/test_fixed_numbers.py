"""Python's whole numbers become static by themselves where a trace needs their values."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import warnings
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import optree
import pytest

import weft as wf

SOURCE = Path(__file__).parent.parent.parent.parent / "src"
Pair = namedtuple("Pair", "a n")
ROW = np.arange(6.0)


@dataclass
class Options:
    a: Any
    n: int
    name: str = "plus"


def grown(x: Any, n: Any) -> Any:
    for _ in range(n):
        x = np.concatenate([x, x])
    return x


def chosen(x: Any, flag: Any) -> Any:
    return np.concatenate([x, x]) if flag else x


def of_options(o: Any) -> Any:
    return np.zeros(o.n) + (o.a if o.name == "plus" else -o.a)


# What is called, with what, and what has to be known.
CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = {
    "zeros": (lambda x, n: np.zeros(n) + x, (1.0, 3), {"n": 3}),
    "a number that is computed": (lambda x, n: np.zeros(2 * n + 1) + x, (1.0, 3), {"n": 3}),
    "reshape": (lambda x, n: x.reshape(n, -1), (ROW, 2), {"n": 2}),
    "arange": (lambda x, n: x * np.arange(n), (2.0, 4), {"n": 4}),
    "axis": (lambda x, n: np.sum(x, axis=n), (np.ones((2, 3)), 1), {"n": 1}),
    "text": (lambda x, n: x * len("ab" * n), (2.0, 4), {"n": 4}),
    "list": (lambda x, n: np.array([x] * n), (2.0, 4), {"n": 4}),
    "key": (lambda x, n: {1: x, 2: -x}[n], (1.0, 2), {}),
    "repeat": (lambda x, n: np.repeat(x, n), (ROW, 2), {"n": 2}),
    "split": (lambda x, n: np.split(x, n), (ROW, 2), {"n": 2}),
    "loop that grows": (grown, (ROW, 2), {"n": 2}),
    "flag": (chosen, (ROW, True), {"flag": True}),
    "one of two": (lambda x, n, m: np.zeros(n) + m * x, (2.0, 3, 5), {"n": 3}),
    "the other": (lambda x, n, m: np.zeros(m) + n * x, (2.0, 3, 5), {"m": 5}),
    "both": (lambda x, n, m: np.zeros((n, m)) + x, (2.0, 3, 5), {"n": 3, "m": 5}),
    "in a dict": (
        lambda x, d: np.zeros(d["n"]) + x * d["m"],
        (2.0, {"k": "z", "m": 4, "n": 3}),
        {"d.k": "z", "d.n": 3},
    ),
    "shape": (lambda x, s: np.zeros(s) + x, (2.0, (2, 3)), {"s.0": 2, "s.1": 3}),
    "named tuple": (lambda c: np.zeros(c.n) + c.a, (Pair(2.0, 3),), {"c.n": 3}),
    "dataclass": (of_options, (Options(2.0, 3),), {"o.name": "plus", "o.n": 3}),
    "texts": (lambda x, mode: x if mode == "up" else -x, (2.0, "down"), {"mode": "down"}),
    "nothing": (lambda x, n: np.roll(x, n) * n, (ROW, 2), {}),
}


@pytest.mark.parametrize("name", CASES)
def test_numbers_whose_values_are_needed_are_known(name: str) -> None:
    function, given, known = CASES[name]
    f = wf.jit(function)
    wanted = optree.tree_leaves(function(*given))
    for _ in range(3):
        made = optree.tree_leaves(f(*given))
        for one, other in zip(made, wanted, strict=True):
            np.testing.assert_array_equal(one, other)
    said = [line for line in f.explain().splitlines() if "is known to this version" in line]
    assert said == [
        f"  {part} = {value!r} is known to this version: other values are compiled for anew"
        for part, value in known.items()
    ]
    assert len(f._stubs) == 1  # later calls go straight to native code


def test_other_values_are_other_programs() -> None:
    f = wf.jit(lambda x, n, m: np.zeros(n) + x * m)
    for n, m in ((1, 2), (2, 2), (1, 3), (2, 7), (True, 1)):
        made = f(1.0, n, m)
        assert made.shape == (n,) and (made == m).all()
    lines = f.why_retraced().splitlines()
    assert lines[:2] == ["lambda: first call", "lambda: n is 2, was 1"] and len(lines) == 3


def test_one_program_serves_numbers_that_need_not_be_known() -> None:
    f = wf.jit(lambda x, n: x * n + n)
    assert [float(f(1.0, n)) for n in range(30)] == [2.0 * n for n in range(30)]
    assert len(f.why_retraced().splitlines()) == 1


def test_all_ways_of_tracing_know_them() -> None:
    def padded(x: Any, n: Any) -> Any:
        return np.sum(np.zeros(n) + x)

    assert wf.grad(padded)(2.0, 3) == 3.0
    assert wf.jit(wf.grad(padded))(2.0, 3) == 3.0
    assert wf.value_and_grad(padded)(2.0, 3)[0] == 6.0
    assert wf.vmap(padded, in_axes=(0, None))(ROW, 2).tolist() == (2.0 * ROW).tolist()
    inner = wf.jit(padded)
    assert wf.jit(lambda x: inner(x, 4) + wf.grad(padded)(x, 3))(1.0) == 7.0
    assert wf.trace(padded)(wf.spec("f64[]"), 3).parameters[0].name == "x"


def test_errors_that_are_none_of_theirs_are_those_of_the_first_trace() -> None:
    def sign(x: Any, n: Any) -> Any:
        return "up" if x > n else "down"

    with pytest.raises(wf.TraceError, match="'up'"):
        wf.jit(sign)(1.0, 2)
    with pytest.raises(wf.TraceError, match="needs the value of i64"):
        wf.jit(lambda x, n: x * range(n)[0], control_flow=False)(1.0, 3)
    with pytest.raises(wf.TraceError, match="a shape depends on the traced value"):
        wf.jit(lambda x, n: np.zeros(n) + x)(1.0, np.array(3))
    f = wf.jit(lambda x, n: np.zeros(n) + np.ones(x), specs=(wf.spec("i64[]"), wf.spec("i64[]")))
    with pytest.raises(wf.TraceError, match="a shape depends on the traced value"):
        f(1, 3)


def test_many_values_are_warned_of_once() -> None:
    f = wf.jit(lambda x, n: np.zeros(n) + x, backend="reference")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for n in range(16):
            f(1.0, n)
        assert not caught
        for n in range(16, 20):
            f(1.0, n)
    (warning,) = caught
    assert issubclass(warning.category, wf.RetraceWarning) and warning.filename == __file__
    assert "compiled for 17 values of n" in str(warning.message)


PROGRAM = """
import sys
import numpy as np
import weft as wf

def padded(x, n, mode):
    return np.zeros(n) + x if mode == "up" else x

f = wf.jit(padded)
print(f(2.0, int(sys.argv[1]), "up").tolist())
print("): found" in f.explain_cache(), "weft.frontends.tracing.trace" in sys.modules)
"""


def run(folder: Path, n: int) -> list[str]:
    path = folder / "program.py"
    path.write_text(textwrap.dedent(PROGRAM))
    environment = {
        **os.environ,
        "WEFT_CACHE_DIR": str(folder / "cache"),
        "PYTHONPATH": str(SOURCE),
    }
    command = [sys.executable, str(path), str(n)]
    made = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return made.stdout.splitlines()


@pytest.mark.slow
def test_a_second_process_knows_without_a_trace(tmp_path: Path) -> None:
    assert run(tmp_path, 3) == ["[2.0, 2.0, 2.0]", "False True"]
    assert run(tmp_path, 3) == ["[2.0, 2.0, 2.0]", "True False"]
    assert run(tmp_path, 2) == ["[2.0, 2.0]", "False True"]
    assert run(tmp_path, 2) == ["[2.0, 2.0]", "True False"]


def test_arguments_that_are_written_to_keep_their_numbers_and_texts() -> None:
    def set_first(d: Any) -> Any:
        d["x"][0] = 5.0
        return np.zeros(d["n"])

    def add(d: Any) -> Any:
        d["y"], d["name"] = 2.0 * d["x"], "full"
        return np.zeros(d["n"])

    for function in (set_first, add):
        f = wf.jit(function)
        for n in (3, 3, 4):
            ours = {"n": n, "x": np.ones(2), "name": "z"}
            plain = {"n": n, "x": np.ones(2), "name": "z"}
            assert f(ours).tolist() == function(plain).tolist()
            assert str(ours) == str(plain)
