"""Found by the fuzzer: Failure: reference: result 0 is float16[1], NumPy's float64[1]."""

from __future__ import annotations

from tests.fuzz.case import Case
from tests.fuzz.checks import assert_holds

SOURCE = """\
def f(a, d):
    v0 = np.transpose(d, ())
    v3 = np.multiply(a, v0)
    return v3
"""


def test_reference() -> None:
    arguments = (
        "np.array([0.0], 'f2')",
        "1.25",
    )
    assert_holds(Case(SOURCE, arguments, "reference", {}))
