"""The fuzzer finds what is wrong, reduces it, and is quiet about what is right."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import pytest

from tests.fuzz import faults
from tests.fuzz.case import Case
from tests.fuzz.checks import Expected, assert_holds
from tests.fuzz.generate import random_case
from tests.fuzz.outcome import Failure
from tests.fuzz.plan import KINDS, Finding, Tally, cases_of, combine, outcome, program
from tests.fuzz.reduce import reduced
from weft.compiler.ops import TABLE
from weft.frontends.numpy.functions import ufuncs


def programs(count: int, kind: str, seed: int = 5) -> list[Case]:
    cases = [random_case(Random(f"{seed}:{n}"), kind) for n in range(count)]
    return [case for case in cases if case is not None]


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_programs_hold(kind: str) -> None:
    for number, case in enumerate(programs(8, kind)):
        for item in cases_of(kind, case, Random(number)):
            finding = outcome(item)
            assert finding is None, finding


def test_programs_of_python_hold_or_are_refused() -> None:
    tally = Tally()
    for number in range(24):
        kind, case, random = program(7, number, "programs")
        assert case is not None and case.check == "python"
        for item in cases_of(kind, case, random):
            finding = outcome(item, tally)
            assert finding is None, finding
    assert tally.counts["python"] >= 8  # not all are refused


def test_wrong_statement_of_python_is_found_and_reduced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remainders with the sign of the dividend are found among random programs."""
    table = {**ufuncs.UFUNCS, np.remainder: ufuncs.UFUNCS[np.fmod]}
    monkeypatch.setattr(ufuncs, "UFUNCS", table)
    cases = [program(3, number, "programs")[1] for number in range(100)]
    first = next(f for f in (outcome(case) for case in cases if case is not None) if f is not None)
    smallest = reduced(first.case, lambda c: same(outcome(c), first), seconds=15)
    assert "%" in smallest.source and len(smallest.source) < len(first.case.source)


def test_combined_programs_hold_natively() -> None:
    assert outcome(combine(programs(4, "plain"))) is None


def test_same_seed_gives_the_same_programs() -> None:
    assert programs(10, "flow") == programs(10, "flow")


def test_nearly_all_programs_are_valid() -> None:
    assert len(programs(40, "plain")) >= 38


def test_wrong_op_is_found_and_reduced() -> None:
    """A sine that is wrong in the seventh digit is found among random programs."""
    with wrong_sine():
        first = next(f for f in map(outcome, reference_cases(150)) if f is not None)
        smallest = reduced(first.case, lambda c: same(outcome(c), first), seconds=20)
        assert outcome(smallest) is not None
    assert "np.sin" in smallest.source
    assert len(smallest.source.splitlines()) <= 5
    assert_holds(smallest)


def reference_cases(count: int) -> list[Case]:
    return [case.with_check("reference", **case.options) for case in programs(count, "plain")]


def same(one: Finding | None, other: Finding) -> bool:
    return one is not None and one.signature == other.signature


@contextlib.contextmanager
def wrong_sine() -> Iterator[None]:
    definition = TABLE["sin"]
    right = definition.reference

    def wrong(x: Any, **attributes: Any) -> Any:
        return (right(x, **attributes) * (1 + 1e-6)).astype(x.dtype)

    object.__setattr__(definition, "reference", wrong)
    try:
        yield
    finally:
        object.__setattr__(definition, "reference", right)


def test_rounding_is_no_failure_and_more_is() -> None:
    case = Case("def f(a):\n    return np.cumsum(np.sin(a))\n", ("numbers('f8', (50,), 2)",))
    expected = Expected(case)
    wanted = expected.results[0]
    expected.compare([wanted * (1 + 4e-16)], "rounded")
    with pytest.raises(Failure):
        expected.compare([wanted * (1 + 1e-12)], "wrong")


def test_exact_results_have_no_tolerance() -> None:
    expected = Expected(Case("def f(a):\n    return a * 2 + 1\n", ("np.arange(4.0)",)))
    with pytest.raises(Failure):
        expected.compare([expected.results[0] * (1 + 4e-15)], "wrong")


def test_written_test_runs() -> None:
    case = Case("def f(a):\n    return a + 1\n", ("np.arange(3)",), "reference")
    names: dict[str, Any] = {}
    exec(case.test('said "so"'), names)
    names["test_reference"]()


def test_wrong_gradient_is_found() -> None:
    source = "def f(a):\n    return np.sum(wf.stop_gradient(a) * a)\n"
    finding = outcome(Case(source, ("numbers('f8', (3,), 2)",), "gradient"))
    assert finding is not None and "differences give" in finding.message


@pytest.mark.slow
def test_files_that_fail_are_survived() -> None:
    assert faults.run_round("files", "1") is None
