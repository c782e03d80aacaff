"""Found by the fuzzer: Failure: reference: result 0 at [0] is 2, NumPy's 1, which rounding moves by 0."""

from __future__ import annotations

from tests.fuzz.case import Case
from tests.fuzz.checks import assert_holds

SOURCE = """\
def f(b):
    v1 = b + b
    v3 = wf.switch(v1.sum(), [lambda v: v, lambda v: v, lambda v: v], v1)
    v1[-2] = 1.5
    return v3
"""


def test_reference() -> None:
    arguments = ("np.array([1, 1], 'i4')",)
    assert_holds(Case(SOURCE, arguments, "reference", {}))
