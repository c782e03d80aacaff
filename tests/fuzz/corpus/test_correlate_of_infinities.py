"""Found by the fuzzer: reference: result 0 at [0] is nan, NumPy's 0.0."""

from __future__ import annotations

from tests.fuzz.case import Case
from tests.fuzz.checks import assert_holds

SOURCE = """\
def f(a):
    return np.correlate(a, a, 'full')
"""


def test_reference() -> None:
    arguments = ("np.array([0.0, np.inf, 1.0])",)
    assert_holds(Case(SOURCE, arguments, "reference", {}))
