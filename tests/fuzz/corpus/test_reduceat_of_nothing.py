"""Found by the fuzzer: ValueError: zip() argument 2 is longer than argument 1."""

from __future__ import annotations

from tests.fuzz.case import Case
from tests.fuzz.checks import assert_holds

SOURCE = """\
def f(a):
    return np.add.reduceat(a, np.array([], int))
"""


def test_reference() -> None:
    arguments = ("np.zeros(0)",)
    assert_holds(Case(SOURCE, arguments, "reference", {}))
