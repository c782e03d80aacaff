"""Code is converted from the text that it was compiled from, or not at all."""

from __future__ import annotations

import importlib.util
import linecache
import os
import sys
from pathlib import Path
from typing import Any

import pytest

import weft as wf
from weft.compiler.ir.errors import TraceError

TEXT = """
def halved(x):
    while x > 1.0:
        x = x / 2.0
    return x

def doubled(x):
    if x > 0.0:
        x = 2.0 * x
    return x

both = [lambda x: 1.0 if x > 0.0 else 2.0, lambda x: 3.0 if x > 0.0 else 4.0]
"""


def loaded(folder: Path, text: str = TEXT) -> Any:
    """A module of this text."""
    path = folder / "edited_module.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("edited_module", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def edit(module: Any, old: str, new: str) -> None:
    path = Path(module.__file__)
    path.write_text(path.read_text().replace(old, new))
    linecache.checkcache(str(path))


def test_text_as_it_was_loaded_is_converted(tmp_path: Path) -> None:
    module = loaded(tmp_path)
    assert wf.jit(module.halved, control_flow=True)(5.0) == 0.625
    assert [float(wf.jit(f, control_flow=True)(1.0)) for f in module.both] == [1.0, 3.0]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x / 2.0", "x / 3.0"),  # a constant
        ("x > 1.0", "x < 1.0"),  # an operator
        ("x = x / 2.0", "x = y / 2.0"),  # a name
        ("def halved(x):", "def halved(x):  # \ndef other(x):"),  # another line
    ],
)
def test_text_that_was_edited_since_is_refused(tmp_path: Path, old: str, new: str) -> None:
    module = loaded(tmp_path)
    edit(module, old, new)
    with pytest.raises(TraceError, match="is not the one that is running"):
        wf.jit(module.halved, control_flow=True)(5.0)


def test_functions_that_were_not_edited_are_converted(tmp_path: Path) -> None:
    module = loaded(tmp_path)
    edit(module, "x / 2.0", "x / 3.0")
    assert wf.jit(module.doubled, control_flow=True)(5.0) == 10.0


def test_lambda_on_a_line_with_another_one(tmp_path: Path) -> None:
    module = loaded(tmp_path)
    edit(module, "3.0 if", "9.0 if")
    assert wf.jit(module.both[0], control_flow=True)(1.0) == 1.0
    with pytest.raises(TraceError, match="is not the one that is running"):
        wf.jit(module.both[1], control_flow=True)(1.0)


def test_functions_called_keep_to_their_text(tmp_path: Path) -> None:
    module = loaded(tmp_path)
    edit(module, "2.0 * x", "5.0 * x")

    def f(x: Any) -> Any:
        return module.doubled(x) if x > 0.0 else x

    reason = "the control flow of doubled was not converted, as the text of .* is not the one that"
    with pytest.raises(wf.TraceError, match=reason):  # its `if` needs a value
        wf.jit(f, control_flow=True)(1.0)


def test_modules_that_a_tool_rewrote_are_refused(tmp_path: Path) -> None:
    """However old the file is: it may have been put in the place of another."""
    path = tmp_path / "rewritten_module.py"
    path.write_text(TEXT)
    os.utime(path, (0, 0))
    names: dict[str, Any] = {}
    exec(compile(TEXT.replace("x / 2.0", "1.0 * x / 2.0"), str(path), "exec"), names)
    with pytest.raises(TraceError, match="is not the one that is running"):
        wf.jit(names["halved"], control_flow=True)(5.0)


def test_modules_that_pytest_rewrote_are_those_of_their_text() -> None:
    def checked(x: Any) -> Any:
        assert isinstance(x.shape, tuple)
        return x * 2.0 if x > 0 else x

    assert wf.jit(checked, control_flow=True)(5.0) == 10.0


def test_a_module_that_is_loaded_again_is_converted_from_its_new_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "module_loaded_again.py"
    path.write_text(TEXT)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    module = importlib.import_module("module_loaded_again")
    assert wf.jit(module.halved, control_flow=True)(5.0) == 0.625
    path.write_text(TEXT.replace("2.0", "4.25"))
    module = importlib.reload(module)
    expected = module.halved(5.0)
    assert wf.jit(module.halved, control_flow=True)(5.0) == expected != 0.625
