"""Functions of notebooks, of `python -c` and of Python's prompt are converted too, by the text that
was typed; large files are read where functions stand in them.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import linecache
import os
import subprocess
import sys
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import Any

import pytest

import weft as wf
from weft.frontends.flow.block import function_in
from weft.frontends.flow.source import FUTURE_FLAGS, function_node
from weft.frontends.flow.texts import lines_of

SOURCE = Path(__file__).parent.parent.parent.parent / "src"
HALVED = "def halved(x):\n    while x > 1.0:\n        x = x / 2.0\n    return x\n"


def test_text_of_cells_is_found() -> None:
    """As IPython does: a file name of no file, whose lines `linecache` knows."""
    name = "<ipython-input-7-a1b2c3>"
    text = "def halved(x):\n    while x > 1.0:\n        x = x / 2.0\n    return x\n"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(text, name, "exec"), names)
    assert wf.jit(names["halved"])(5.0) == 0.625
    del linecache.cache[name]


def run(*command: str, given: str = "") -> str:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    made = subprocess.run(
        [sys.executable, *command],
        env=environment,
        input=given,
        capture_output=True,
        text=True,
        check=True,
    )
    return made.stdout.strip()


@pytest.mark.slow
def test_text_of_a_command_is_found() -> None:
    text = f"import weft as wf\n{HALVED}print(float(wf.jit(halved)(5.0)))"
    assert run("-c", text) == "0.625"
    assert run("-X", "utf8", "-c", text, "-c") == "0.625"


@pytest.mark.slow
def test_text_that_is_nowhere_is_named() -> None:
    text = f"import weft as wf\n{HALVED}\ntry: wf.jit(halved)(5.0)\nexcept TypeError as e: print(e)"
    assert "the text of <stdin> is not available" in run("-", given=text)


def test_text_that_was_typed_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each statement begins at line 1 there; of functions of one name, the one that runs counts."""
    lines = [
        *HALVED.replace("2.0", "4.0").splitlines(),
        "",
        "1 + 1",
        *HALVED.splitlines(),
        "",
        "f()",
    ]
    history = SimpleNamespace(
        get_current_history_length=lambda: len(lines),
        get_history_item=lambda number: lines[number - 1],
    )
    monkeypatch.setitem(sys.modules, "readline", history)
    for text, wanted in ((HALVED, 0.625), (HALVED.replace("2.0", "4.0"), 0.3125)):
        names: dict[str, Any] = {"__name__": "__main__"}
        exec(compile(text, "<stdin>", "single"), names)
        assert wf.jit(names["halved"])(5.0) == wanted
    exec(compile(HALVED.replace("2.0", "8.0"), "<stdin>", "single"), names)
    with pytest.raises(wf.TraceError, match="the text of <stdin> is not available"):
        wf.jit(names["halved"])(5.0)


@pytest.mark.parametrize(
    "name", ["argparse", "dataclasses", "scipy.optimize._optimize", "scipy.signal._filter_design"]
)
def test_functions_read_on_their_own_are_those_of_the_file(name: str) -> None:
    module = importlib.import_module(name)
    text = Path(inspect.getfile(module)).read_text()
    nodes = {
        (node.name, min([node.lineno, *[part.lineno for part in node.decorator_list]])): node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef)
    }
    found = 0
    for function in functions_of(module):
        code = function.__code__
        lines = lines_of(code, function.__globals__)
        made = function_in(lines, code, function.__globals__, code.co_flags & FUTURE_FLAGS)
        assert made is not None
        wanted = nodes[code.co_name, code.co_firstlineno]
        assert ast.dump(made[0], include_attributes=True) == ast.dump(
            wanted, include_attributes=True
        )
        scopes = code.co_qualname.split(".")
        assert made[1] == (scopes[-2] if len(scopes) > 1 else "")
        found += 1
    assert found > 20


def functions_of(module: Any) -> list[FunctionType]:
    """The functions and methods that a module defines."""
    held = [vars(module)] + [vars(kind) for kind in vars(module).values() if inspect.isclass(kind)]
    found = {
        function
        for names in held
        for value in names.values()
        if isinstance(function := inspect.unwrap(value) if callable(value) else value, FunctionType)
    }
    return [
        function
        for function in found
        if function.__code__.co_filename == module.__file__
        and not inspect.isgeneratorfunction(function)
        and function.__name__ != "<lambda>"
    ]


class Outer:
    def method(self) -> Any:
        def inner() -> Any:
            return self, __class__  # type: ignore[name-defined]

        return inner


def test_the_class_around_inner_functions_is_found() -> None:
    inner = Outer().method()
    node, owner = function_node(inner.__code__, inner.__globals__)
    assert isinstance(node, ast.FunctionDef) and node.name == "inner" and owner == "Outer"


def stepped(x: Any) -> Any:
    y = x + 1.0
    if y > 0.0:
        y = y * 2.0
    for _ in range(2):
        y = y - 1.0
    where.append(sys._getframe().f_lineno)
    return y


where: list[int] = []


def test_debuggers_see_the_users_lines() -> None:
    lines: set[int] = set()

    def tracing(frame: Any, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != __file__:
            return None
        if event == "line":
            lines.add(frame.f_lineno)
        return tracing

    before = sys.gettrace()
    sys.settrace(tracing)
    try:
        wf.trace(stepped)(1.0)
    finally:
        sys.settrace(before)
    first = stepped.__code__.co_firstlineno
    assert {first + number for number in (1, 2, 3, 4, 5, 6, 7)} <= lines
    assert where[-1] == first + 6


def test_tracebacks_have_the_users_lines_and_names() -> None:
    def checked(x: Any) -> Any:
        y = x + 1.0
        if y is not None:
            return y[{}]
        return y

    with pytest.raises(wf.WeftError) as caught:
        wf.jit(checked)(1.0)
    entries = [entry for entry in caught.traceback if entry.frame.code.path == Path(__file__)]
    first = checked.__code__.co_firstlineno
    wanted = {"checked", "test_tracebacks_have_the_users_lines_and_names"}
    assert {entry.name for entry in entries} == wanted
    assert entries[-1].lineno + 1 == first + 3
