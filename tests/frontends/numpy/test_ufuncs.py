"""Every ufunc by each of its names, over all dtypes, shapes that broadcast, and Python numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import weft.numpy
from tests.frontends.numpy.arrays import (
    ALL,
    Draw,
    a_dtype,
    broadcastable,
    integer,
    operand,
    options,
    plain,
    shape,
)
from tests.frontends.numpy.checking import check_against_numpy
from weft.frontends.numpy.functions.namespace import UFUNC_NAMES

SCALARS = (2, 0, -1, 300, 2**40, True, 1.5, -0.25, 1e9, 2j)
# Of a complex number the error is relative to its size, and some functions lose several digits.
TOLERANCE = {"power": 512, "pow": 512, "float_power": 512}


def operands(draw: Draw, count: int) -> tuple[Any, ...]:
    """Operands whose shapes broadcast together."""
    common = shape(draw)
    return tuple(
        operand(draw, ALL, broadcastable(draw, common), scalars=SCALARS) for _ in range(count)
    )


def differs(ufunc: np.ufunc, given: tuple[Any, ...]) -> bool:
    """Whether docs/numpy.md says that the result is another one."""
    arrays = [np.asarray(plain(operand)) for operand in given]
    if any(array.dtype.kind not in "biu" for array in arrays):
        return False
    if ufunc is np.power:
        return bool((arrays[1] < 0).any())
    return ufunc is np.reciprocal and bool((arrays[0] == 0).any())


def check(name: str, draw: Draw) -> None:
    ufunc = UFUNC_NAMES[name]
    given = operands(draw, ufunc.nin)
    assume(not differs(ufunc, given))
    wanted = options(draw, dtype=a_dtype(ALL)) if integer(draw, 0, 9) == 9 else {}
    ours = getattr(weft.numpy, name)
    tolerance = TOLERANCE.get(name, 8)
    check_against_numpy(ufunc, given, wanted, ours=ours, tolerance=tolerance, exact_zeros=True)


@pytest.mark.parametrize("name", sorted(UFUNC_NAMES))
@settings(max_examples=25, deadline=None, derandomize=True, database=None)
@given(st.data())
def test_ufunc_equals_numpy(name: str, data: st.DataObject) -> None:
    check(name, data.draw)


@pytest.mark.parametrize(("dtype", "number"), [(np.uint8, -1), (np.uint8, 300), (np.int8, 128)])
def test_where_wraps_integers_as_numpy_does(dtype: Any, number: int) -> None:
    x, mask = np.array([6, 7], dtype), np.array([True, False])
    forms: list[Any] = [
        lambda m, x: np.where(m, x, number),
        lambda m, x: np.where(m, number, x),
    ]
    for form in forms:
        np.testing.assert_array_equal(weft.jit(form)(mask, x), form(mask, x))
