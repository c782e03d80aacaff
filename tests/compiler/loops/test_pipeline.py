"""The column itself: its report, and what it writes to files."""

from __future__ import annotations

from pathlib import Path

from tests.compiler.loops.samples import SAMPLES
from weft.compiler.loops.parse import parse_program
from weft.compiler.loops.pipeline import COLUMN, lower_to_loops


def test_report_has_every_step() -> None:
    program, report = lower_to_loops(SAMPLES["softmax"].start().graph, 32)
    assert [name for name, _, _ in report.steps] == [step.name for step in COLUMN]
    assert [summary for _, _, summary in report.steps] == [
        program.summary(step.name) for step in COLUMN
    ]
    assert str(report).count(" ms  ") == len(COLUMN)


def test_dump_writes_the_program_after_every_step(tmp_path: Path) -> None:
    start = SAMPLES["carry_with_spare"].start()
    program, _ = lower_to_loops(start.graph, 32, dump=tmp_path)
    (folder,) = tmp_path.iterdir()
    files = sorted(folder.iterdir())
    assert [file.name for file in files] == [f"{n}-{s.name}.loops" for n, s in enumerate(COLUMN)]
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert parse_program(text).text(locations=True) == text
    assert text == program.text(locations=True)
