"""The text of loop programs: golden texts, and that every text reads back as the program it was
printed from, after every step: what is lowered is what is shown.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from itertools import zip_longest
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import weft as wf
from tests.compiler.loops.samples import SAMPLES
from tests.compiler.lower.llvm.program.random_graphs import random_graph
from tests.compiler.lower.llvm.program.random_steps import ALL
from weft.compiler.ir.errors import ParseError
from weft.compiler.loops.parse import parse_program
from weft.compiler.loops.pipeline import COLUMN, Step
from weft.compiler.loops.program import LoopProgram
from weft.compiler.lower.llvm.program.module import emit_program

FOLDER = Path(__file__).parent.parent.parent / "golden" / "loops"


def full_text(program: LoopProgram) -> str:
    return program.text(locations=True, embed_constants=True)


def run(program: LoopProgram, steps: tuple[Step, ...] = COLUMN) -> LoopProgram:
    for step in steps:
        program = step.run(program)
        program.verify()
    return program


def assert_survives_text(program: LoopProgram) -> None:
    """After every step the program reads back as the same text, and goes on to the same end."""
    read: list[LoopProgram] = []
    for step in COLUMN:
        program = step.run(program)
        program.verify()
        text = full_text(program)
        read.append(parse_program(text))
        read[-1].verify()
        assert full_text(read[-1]) == text, step.name
    for number, back in enumerate(read):
        assert full_text(run(back, COLUMN[number + 1 :])) == text, COLUMN[number].name
    code, again = [emit_program(each).module.text() for each in (program, read[-1])]
    assert code == again


@pytest.mark.parametrize("name", SAMPLES)
def test_program_prints_its_golden_text(name: str) -> None:
    path = FOLDER / f"{name}.loops"
    text = run(SAMPLES[name].start()).text()
    if os.environ.get("WEFT_UPDATE_GOLDEN") == "1":
        path.write_bytes(text.encode())
    assert path.exists(), f"{path.name} is missing; make it with WEFT_UPDATE_GOLDEN=1"
    assert text == path.read_bytes().decode(), f"{path.name} differs; see tests/compiler/ir/golden"


def test_every_golden_text_has_a_sample() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.loops")) == sorted(SAMPLES)


@pytest.mark.parametrize("name", SAMPLES)
def test_program_survives_text(name: str) -> None:
    assert_survives_text(SAMPLES[name].start())


@settings(
    deadline=None,
    max_examples=25,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # to shrink such programs takes minutes
)
@given(st.randoms(use_true_random=False), st.integers(1, 25), st.sampled_from([None, 0, 1, 7, 33]))
def test_random_program_survives_text(random: Random, steps: int, n: int | None) -> None:
    assert_survives_text(LoopProgram(random_graph(random, steps, ALL, n), 32))


def test_str_is_the_text_without_locations() -> None:
    program = SAMPLES["gather"].start()
    assert str(program) == program.text()
    assert " at " not in str(program)
    assert ' at "' in program.text(locations=True)


def test_text_without_data_of_constants_needs_the_table() -> None:
    table = np.arange(40, dtype=np.float32)
    program = run(LoopProgram(wf.trace(lambda x: x + table)(wf.spec("f32[40]")), 32))
    text = program.text()
    assert parse_program(text, program.graph.constant_table()).text() == text
    with pytest.raises(ParseError, match="not in the text"):
        parse_program(text)


# --- texts that are no program ------------------------------------------------------------------

WRONG = {
    "unknown node": ("run n0", "run n7", "unknown node 'n7'"),
    "unknown buffer": ("p0 = b0", "p0 = b9", "unknown buffer 'b9'"),
    "unknown loop": ("load p0[j0]", "load p0[j1]", "unknown loop 'j1'"),
    "unknown entry": ("tanh(v4)", "tanh(v9)", "unknown entry 'v9'"),
    "another op": ("tanh(v4)", "sin(v4)", "the value is made by tanh, not by sin"),
    "unknown value": ("holds %x", "holds %z", "unknown value '%z'"),
    "unknown kernel": ("kernel0 = k0", "kernel0 = k5", "unknown kernel 'k5'"),
    "a word too few": ("weight 17", "17", "expected"),
    "more at the end": ("outer j0\n  }\n}\n", "outer j0\n  }\n}\n}\n", "expected the next section"),
}


@pytest.mark.parametrize("name", WRONG)
def test_error_names_line_and_column(name: str) -> None:
    old, new, message = WRONG[name]
    text = (FOLDER / "elementwise_chain.loops").read_text()
    assert old in text
    wrong = text.replace(old, new, 1)
    with pytest.raises(ParseError) as caught:
        parse_program(wrong)
    assert message in str(caught.value)
    first = next(n for n, (a, b) in enumerate(pairs(text, wrong), 1) if a != b)
    assert re.match(rf"line {first}, column \d+: ", str(caught.value))


def pairs(left: str, right: str) -> Iterable[tuple[str, str]]:
    return zip_longest(left.splitlines(), right.splitlines(), fillvalue="")
