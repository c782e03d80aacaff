"""Packages for NumPy, compiled as they are: results, exceptions, changed arguments and gradients
are those of Python, but for what refusals.txt lists, word for word.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.programs.entries import known
from tests.programs.entries.cases import PLAIN, cases
from tests.programs.entries.known import GRADIENT
from tests.programs.entries.outcome import (
    EQUAL,
    Difference,
    check_equal,
    compared,
    gradient_outcome,
    outcome,
)
from tests.programs.entries.table import ENTRIES
from weft.compiler.ir.errors import TraceError

KNOWN = known.read()
PLAIN_CASES = [(name, PLAIN) for name in ENTRIES]
OTHER_CASES = [
    (name, case)
    for name, entry in ENTRIES.items()
    for case in cases(entry)
    if case != PLAIN and (name, PLAIN) not in KNOWN
]
GRADIENTS = [
    name
    for name, entry in ENTRIES.items()
    if entry.numbers is not None and (name, PLAIN) not in KNOWN
]


def expected(name: str, case: str) -> str:
    text = KNOWN.get((name, case), EQUAL)
    if text.startswith("slow") or "failed with AssertionError" in text:  # a fault to be mended
        pytest.skip(text)
    return text


@pytest.mark.slow
@pytest.mark.parametrize(("name", "case"), PLAIN_CASES)
def test_programs(name: str, case: str) -> None:
    wanted = expected(name, case)  # skips those that take too long
    assert outcome(ENTRIES[name], case) == wanted


@pytest.mark.slow
@pytest.mark.parametrize(("name", "case"), OTHER_CASES)
def test_other_arguments(name: str, case: str) -> None:
    wanted = expected(name, case)  # skips those that take too long
    assert outcome(ENTRIES[name], case) == wanted


@pytest.mark.slow
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name: str) -> None:
    wanted = expected(name, GRADIENT)
    assert gradient_outcome(ENTRIES[name]) == wanted


@pytest.mark.parametrize("name", ENTRIES)
def test_programs_run_as_plain_python(name: str) -> None:
    entry = ENTRIES[name]
    assert outcome(entry, PLAIN, function=entry.function) == EQUAL


def test_names_of_the_list_exist() -> None:
    pairs = {(name, case) for name, entry in ENTRIES.items() for case in [*cases(entry), GRADIENT]}
    assert set(KNOWN) <= pairs


def test_nothing_crashes() -> None:
    assert [key for key, text in KNOWN.items() if text.startswith("crash")] == []


def test_differences_are_seen() -> None:
    x = np.arange(3.0)
    for other in (x + 1e-3, x.astype(np.float32), x[:2], [x], None):
        with pytest.raises(Difference):
            check_equal(other, x, 1e-9)
    assert compared((x, ()), (ValueError("no"), ()), 1e-9) == "wrong: no ValueError: no"
    assert compared((TraceError("no; do so"), ()), (x, ()), 1e-9) == "refused: no"
    assert compared((x, (x,)), (x, (x + 1,)), 1e-9).startswith("wrong")
