"""`weft.scipy.integrate` against SciPy's, and SciPy's functions in traced code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.integrate as theirs

import weft as wf
from weft.scipy import integrate as ours

GENERATOR = np.random.default_rng(0)
SAMPLED = ("trapezoid", "cumulative_trapezoid", "simpson", "cumulative_simpson")


def test_every_function_is_compared() -> None:
    assert {*SAMPLED, "romb", "fixed_quad"} == set(ours.__all__)


@pytest.mark.parametrize("name", SAMPLED)
@pytest.mark.parametrize("count", [2, 3, 4, 5, 8, 9])
def test_integrals_of_samples(name: str, count: int) -> None:
    y, x = GENERATOR.normal(size=(2, count)), np.sort(GENERATOR.uniform(0, 3, count))
    function, expected = getattr(ours, name), getattr(theirs, name)
    for options in ({"x": x}, {"dx": 0.3}):
        made = wf.jit(lambda y, o=options: function(y, **o))(y)
        np.testing.assert_allclose(made, expected(y, **options), rtol=1e-11, atol=1e-12)
    made = function(y.T, x=x, axis=0)
    np.testing.assert_allclose(made, expected(y.T, x=x, axis=0), rtol=1e-11, atol=1e-12)
    wf.check_grads(lambda y, x: function(y, x=x), (y, x), order=1)


def test_initial_values() -> None:
    y = GENERATOR.normal(size=(2, 7))
    for name in SAMPLED[1::2]:
        made = getattr(ours, name)(y, dx=0.2, initial=0.0)
        np.testing.assert_allclose(made, getattr(theirs, name)(y, dx=0.2, initial=0.0), rtol=1e-12)


@pytest.mark.parametrize("count", [2, 3, 5, 9, 17])
def test_romberg(count: int) -> None:
    y = np.sin(np.arange(float(count)))
    np.testing.assert_allclose(wf.jit(ours.romb)(y, 0.1), theirs.romb(y, 0.1), rtol=1e-13)


def test_a_count_that_romberg_cannot_halve() -> None:
    with pytest.raises(ValueError, match="power of 2"):
        ours.romb(np.ones(4))


def test_scipys_functions_in_traced_code() -> None:
    def area(a: Any, x: Any) -> Any:
        y = np.exp(-a * x)
        whole = theirs.fixed_quad(lambda t: np.exp(-a * t), 0.0, 1.0, n=8)[0]
        return theirs.simpson(y, x=x) + theirs.trapezoid(y, x) + whole

    x = np.linspace(0, 1, 33)
    np.testing.assert_allclose(wf.jit(area)(1.3, x), area(1.3, x), rtol=1e-12)
    wf.check_grads(lambda a: area(a, x), (1.3,), order=1)
