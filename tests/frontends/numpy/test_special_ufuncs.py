"""SciPy's special functions on traced arrays equal SciPy's, with derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special

import weft as wf
from weft.frontends.numpy.functions.special_ufuncs import SPECIAL

POINTS = np.array([0.05, 0.3, 0.7, 0.95])
EDGES = np.array([0.0, 1.0, -1.0, 2.5, np.inf, np.nan])
# SciPy has values of its own for negative integers here.
POSITIVE = ("beta", "betaln")
LOOPS = ("gammainc", "gammaincc", "betainc", "beta", "betaln")


@pytest.mark.parametrize("name", SPECIAL)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_special_function_equals_scipy(name: str, dtype: Any) -> None:
    function = getattr(scipy.special, name)
    points = np.concatenate([POINTS, EDGES]) if dtype is not np.int64 else np.array([0, 1])
    if name in POSITIVE:
        points = points[~(points < 0)]
    arguments = [points.astype(dtype)] * function.nin
    with np.errstate(all="ignore"):
        expected = function(*arguments)
    actual = wf.jit(function)(*arguments)
    assert actual.dtype == expected.dtype
    tolerance = 3e-6 if expected.dtype == np.float32 else 1e-13
    tolerance *= 10 if name in LOOPS else 1
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", SPECIAL)
def test_derivatives_of_special_function(name: str) -> None:
    function = getattr(scipy.special, name)
    wf.check_grads(lambda *x: function(*x), (POINTS,) * function.nin, order=2)


def test_gradient_of_x_log_y_where_x_is_zero() -> None:
    assert wf.grad(lambda x: scipy.special.xlogy(x, 3.0))(0.0) == pytest.approx(np.log(3.0))
    assert wf.jit(scipy.special.xlogy)(0.0, np.inf) == 0.0
    assert wf.grad(scipy.special.xlogy, argnums=(0, 1))(0.0, 0.0) == (0.0, 0.0)
