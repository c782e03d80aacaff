"""Found by the fuzzer: CompilerError: the lowering of reshape failed with KeyError: <result 0 of reshap."""

from __future__ import annotations

from tests.fuzz.case import Case
from tests.fuzz.checks import assert_holds

SOURCE = """\
def f4(a):
    v0 = np.logaddexp.reduce(a, axis=0)
    v4 = np.searchsorted(a, v0)
    return v4

def f(p4_0):
    return f4(p4_0)
"""


def test_passes() -> None:
    arguments = ("np.array([4.0], 'f4')",)
    assert_holds(Case(SOURCE, arguments, "passes", {"without": "push_slices_up", "backend": "cpu"}))
