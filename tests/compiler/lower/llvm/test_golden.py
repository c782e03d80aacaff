"""Golden LLVM text of small programs for one fixed target, so that a change of what is emitted is
read as a difference: tests/golden/llvm/<name>.ll.

`WEFT_UPDATE_GOLDEN=1 python -m pytest tests/compiler/lower/llvm/test_golden.py` writes them anew.
Only the program's own functions have their bodies there: mathematical functions and routines, which
are many and long, are named but folded.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import weft as wf
from tests.compiler.lower.llvm.golden_programs import PROGRAMS, Program
from weft.compiler.ir import dims
from weft.compiler.loops.pipeline import lower_to_loops
from weft.compiler.lower.llvm.program.module import emit_program
from weft.compiler.lower.llvm.target import Caches, Target, host
from weft.compiler.passes.pipeline import optimise

FOLDER = Path(__file__).parents[3] / "golden" / "llvm"
TARGET = Target("x86_64-unknown-linux-gnu", "haswell", "+avx2,+fma,+f16c", 32, Caches(), cores=4)
SHOWN = re.compile(r"@(entry|arena_bytes|kernel[\w.]*|loop[\w.]*)\(")


def emitted(program: Program) -> str:
    """The text of a program for the fixed target."""
    graph = wf.trace(program.function)(*map(wf.spec, program.specs))
    strides = {
        number: tuple(
            dims.symbol(f"stride.{number}.{axis}", lower=-(1 << 60)) if stride is None else stride
            for axis, stride in enumerate(kinds)
        )
        for number, kinds in program.strides.items()
    }
    loops, _ = lower_to_loops(optimise(graph)[0], TARGET.vector_bytes, strides, verify=True)
    return emit_program(loops, TARGET).module.text()


def folded(text: str) -> Iterator[str]:
    """The lines of a module, without the bodies of functions that are not the program's own."""
    is_hidden = False
    for line in text.splitlines():
        if line.startswith("define"):
            is_hidden = not SHOWN.search(line)
            yield re.sub(r"\s*\{$", " ; folded", line) if is_hidden else line
        elif not is_hidden:
            yield line
        is_hidden &= line != "}"


@pytest.mark.parametrize("name", PROGRAMS)
def test_emitted_text_is_the_golden_one(name: str) -> None:
    text = "\n".join(folded(emitted(PROGRAMS[name]))) + "\n"
    path = FOLDER / f"{name}.ll"
    if os.environ.get("WEFT_UPDATE_GOLDEN") == "1":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert path.exists(), f"{path.name} is missing; make it with WEFT_UPDATE_GOLDEN=1"
    assert text == path.read_text(), f"{path.name} differs; see {Path(__file__).name}"


@pytest.mark.parametrize("name", PROGRAMS)
def test_golden_programs_are_valid_llvm(name: str) -> None:
    import llvmlite.binding as llvm

    with llvm.parse_assembly(emitted(PROGRAMS[name]), llvm.create_context()) as module:
        module.verify()


def test_emission_does_not_ask_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = {name: emitted(program) for name, program in PROGRAMS.items()}

    def refuse() -> Target:
        raise AssertionError("the text of a program depends on its target alone")

    for module in list(sys.modules.values()):
        if getattr(module, "host", None) is host:
            monkeypatch.setattr(module, "host", refuse)
    assert {name: emitted(program) for name, program in PROGRAMS.items()} == expected


def test_every_golden_text_has_a_program() -> None:
    assert {path.stem for path in FOLDER.glob("*.ll")} == set(PROGRAMS)


def test_only_the_programs_own_functions_are_shown() -> None:
    text = """declare float @llvm.fabs.f32(float)
define i64 @entry(ptr %run)  {
entry:
  ret i64 0
}
define internal float @weft.tanh.f32(float %x0) alwaysinline {
entry:
  ret float %x0
}
define internal void @kernel0.run(ptr %run)  {
entry:
  ret void
}"""
    lines = list(folded(text))
    assert lines[0].startswith("declare")
    assert lines[5] == "define internal float @weft.tanh.f32(float %x0) alwaysinline ; folded"
    assert lines[6].startswith("define internal void @kernel0.run") and len(lines) == 10
