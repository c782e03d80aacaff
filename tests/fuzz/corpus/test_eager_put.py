"""Found by the fuzzer: eager: result 0 at [0] is 1.0, NumPy's 5.0."""

from __future__ import annotations

from tests.fuzz.case import Case
from tests.fuzz.checks import assert_holds

SOURCE = """\
def f(a):
    x = a * 1
    np.put(x, np.array([0]), 5)
    return x
"""


def test_eager() -> None:
    arguments = ("np.array([1.0, 2.0])",)
    assert_holds(Case(SOURCE, arguments, "eager", {}))
