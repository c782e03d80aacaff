"""Found by the fuzzer: native: result 0 at [0] is 2.0, NumPy's 3.0."""

from __future__ import annotations

from tests.fuzz.case import Case
from tests.fuzz.checks import assert_holds

SOURCE = """\
def f(c):
    y = np.abs(c)
    w = y
    if y.sum() > 0:
        w = w
    y[0] = 3
    return w
"""


def test_value() -> None:
    arguments = ("np.array([2.0])",)
    assert_holds(Case(SOURCE, arguments, "value", {"control_flow": True}))
