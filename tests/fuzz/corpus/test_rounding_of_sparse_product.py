"""Found by the fuzzer: Failure: donated: result 0 at [1, 1] is 0.44172078519533664, NumPy's 0.441720785."""

from __future__ import annotations

from tests.fuzz.case import Case
from tests.fuzz.checks import assert_holds

SOURCE = """\
def f2(a, b, c, d, e):
    v1 = e.T @ d.T
    return v1

def f(p2_0, p2_1, p2_2, p2_3, p2_4):
    return f2(p2_0, p2_1, p2_2, p2_3, p2_4)
"""


def test_donate() -> None:
    arguments = (
        "np.array([[[1.0]]], 'f4')",
        "np.array([[2]], 'u1')",
        "np.array([2.0], 'f8')",
        "sparse('csc', 5, 8, 264044)",
        "np.array([[-2.4028438487537587, -1.5763461434503245], [4.6161696874296965, -1.4565153689113668], [0.7706581745340209, 2.5541653893827285], [-0.8232231667250396, 2.0102459822877075], [3.122598903714592, -2.623653337268152], [2.719218924449882, -0.7997361392475117], [3.209505882577729, 0.8496801890104437], [-1.5792170733099957, -3.8471610298973964]], 'f8')",
    )
    assert_holds(Case(SOURCE, arguments, "donate", {"control_flow": True}))
