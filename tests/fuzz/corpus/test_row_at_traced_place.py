"""Found by the fuzzer: Failure: reference: result 0 at [] is 0.7853981852531433, NumPy's 1.570796370506."""

from __future__ import annotations

from tests.fuzz.case import Case
from tests.fuzz.checks import assert_holds

SOURCE = """\
def f(a, b):
    v0 = np.arctan(a)
    v3 = v0[b % 1, ...]
    np.add(v0, v0, out=v0)
    return v3
"""


def test_reference() -> None:
    arguments = (
        "np.array([1.0], 'f4')",
        "np.array(7, 'u1')",
    )
    assert_holds(Case(SOURCE, arguments, "reference", {}))
