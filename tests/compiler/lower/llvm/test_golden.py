"""LLVM text of small programs for one fixed target."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

import weft as wf
from tests.compiler.lower.llvm.golden_programs import PROGRAMS, Program
from weft.compiler.ir import dims
from weft.compiler.loops.pipeline import lower_to_loops
from weft.compiler.lower.llvm.program.module import emit_program
from weft.compiler.passes.pipeline import optimise

VECTOR_BYTES = 32
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
    loops, _ = lower_to_loops(optimise(graph)[0], VECTOR_BYTES, strides, verify=True)
    return emit_program(loops).module.text()


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
def test_golden_programs_are_valid_llvm(name: str) -> None:
    import llvmlite.binding as llvm

    with llvm.parse_assembly(emitted(PROGRAMS[name]), llvm.create_context()) as module:
        module.verify()


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
