"""Special values of every elementwise primitive in every float dtype: zeros, infinities, NaN, ends
of the range and whole numbers, native code against the references of NumPy and SciPy.
"""

from __future__ import annotations

from typing import Any, Final

import ml_dtypes
import numpy as np
import pytest

from tests.compiler.lower.llvm.scalar.runner import Case, run
from tests.compiler.lower.llvm.scalar.values import FLOATS, NDArray, crossed, edges
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.errors import DTypeError
from weft.compiler.lower.llvm import scalar
from weft.compiler.ops import TABLE

LANES: Final = 8
# Conversions have tests of their own, and so have ops that are no functions of numbers.
OTHERS: Final = frozenset({"cast", "bitcast", "probe", "fence", "select", "threefry2x32"})
NAMES: Final = [name for name in scalar.RULES if name not in OTHERS]
QUICK: Final = ("pow", "atan2", "remainder", "log1p", "digamma")
# Of zeros of both signs NumPy's own loops give either one, depending on the machine and the place.
EITHER_ZERO: Final = ("maximum", "minimum", "clamp")
# SciPy loses digits of these near roots and between poles.
LOOSE: Final = ("lgamma", "digamma", "polygamma", "i1e")


def values_of(d: DType) -> NDArray:
    """The edges of a dtype, poles and other places where functions change."""
    whole = [4.0, 5.0, 8.0, 20.0, 28.0, 64.0, 88.0, 104.0, 128.0, 1e3, 1e4, 2.0**15]
    extra = np.array([*whole, 0.25, 0.75, 1.25, 2.0, 1e-3])
    found = np.concatenate([edges(d).astype(np.float64), extra, -extra])
    return found.astype(d.numpy)


def cases_of(name: str) -> list[Case]:
    op, made = TABLE[name], []
    attributes: dict[str, Any] = {"order": 2} if name == "polygamma" else {}
    for d in FLOATS:
        values = values_of(d)
        columns = (values,) if len(op.operands) == 1 else crossed(*[values] * len(op.operands))
        if len(op.operands) == 3:
            columns = tuple([column[:: 1 + len(column) // 3000] for column in columns])
        made.append(Case(op, columns, attributes))
    return [case for case in made if takes_floats(case)]


def takes_floats(case: Case) -> bool:
    try:
        return not case.result.is_complex
    except DTypeError:
        return False


def is_alike(case: Case, made: NDArray, wanted: NDArray) -> NDArray:
    """NaN beside NaN, infinities, zeros and signs the same, and others within two units or what the
    reference is off itself.
    """
    if not case.result.is_float:
        return np.asarray(made == wanted)
    a, b = made.astype(np.float64), wanted.astype(np.float64)
    limits = ml_dtypes.finfo(case.result.numpy)  # type: ignore[no-untyped-call]
    unit = np.maximum(np.abs(b) * float(limits.eps), float(limits.smallest_subnormal))
    allowed = 2 * unit
    if case.op.name in LOOSE:
        allowed = 32 * np.maximum(unit, float(limits.eps))
    with np.errstate(invalid="ignore"):
        is_near = np.abs(a - b) <= allowed
    is_same = ((a == b) | (is_near & (b != 0))) & (np.signbit(a) == np.signbit(b))
    if case.op.name in EITHER_ZERO:
        is_same |= (a == 0) & (b == 0)
    return np.asarray(is_same | (np.isnan(a) & np.isnan(b)))


def check(name: str) -> None:
    cases = cases_of(name)
    for case, found in zip(cases, run(cases, LANES), strict=True):
        wanted = case.expected()
        for made in found:
            wrong = np.flatnonzero(~is_alike(case, made, wanted))
            given = [[array[at] for array in case.arrays] for at in wrong[:3]]
            assert not wrong.size, (str(case), given, made[wrong[:3]], wanted[wrong[:3]])


@pytest.mark.parametrize("name", QUICK)
def test_special_values_in_all_floats(name: str) -> None:
    check(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if name not in QUICK])
def test_special_values_of_every_primitive(name: str) -> None:
    check(name)
