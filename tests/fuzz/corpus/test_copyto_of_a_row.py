"""Found by the fuzzer: ShapeError: (1, 2) does not broadcast to (2,)."""

from __future__ import annotations

from tests.fuzz.case import Case
from tests.fuzz.checks import assert_holds

SOURCE = """\
def f(a):
    v0 = np.concatenate([a.ravel(), a.ravel()])
    v1 = np.expand_dims(v0, 0)
    np.copyto(v0, v1)
    return v1
"""


def test_reference() -> None:
    arguments = ("np.array([[3]], 'u1')",)
    assert_holds(Case(SOURCE, arguments, "reference", {}))
