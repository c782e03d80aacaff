"""`weft.scipy.interpolate` and SciPy's own interpolators at traced places, against SciPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.interpolate as theirs

import weft as wf
from weft.scipy import interpolate as ours

GENERATOR = np.random.default_rng(0)
X = np.sort(GENERATOR.uniform(0, 5, 9))
Y = GENERATOR.normal(size=(3, 9))
PLACES = GENERATOR.uniform(-1, 6, (4, 2))
CUBIC = ("CubicSpline", "PchipInterpolator", "Akima1DInterpolator")
KINDS = ("linear", "nearest", "nearest-up", "previous", "next", "zero", "cubic")


def agree(evaluate: Callable[..., Any], *arrays: Any) -> None:
    """Compare what a function of a module and arrays gives, for ours compiled."""
    expected = evaluate(theirs, *arrays)
    made = wf.jit(lambda *given: evaluate(ours, *given))(*arrays)
    assert made.shape == expected.shape and made.dtype == expected.dtype
    np.testing.assert_allclose(made, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", CUBIC)
@pytest.mark.parametrize("count", [2, 3, 4, 9])
def test_cubic_pieces(name: str, count: int) -> None:
    agree(lambda m, x, y, t: getattr(m, name)(x, y)(t), X[:count], Y[0, :count], PLACES)
    agree(lambda m, x, y, t: getattr(m, name)(x, y, axis=1)(t), X[:count], Y[:, :count], PLACES)


@pytest.mark.parametrize("name", CUBIC)
def test_derivatives_of_pieces(name: str) -> None:
    agree(lambda m, x, y, t: getattr(m, name)(x, y)(t, 1), X, Y[0], PLACES)
    agree(lambda m, x, y, t: getattr(m, name)(x, y).derivative(2)(t), X, Y[0], PLACES)
    places = np.linspace(X[0] + 0.01, X[-1] - 0.01, 5)
    made = getattr(ours, name)
    wf.check_grads(lambda y, t: made(X, y)(t), (np.cumsum(np.abs(Y[0])), places), order=1)


@pytest.mark.parametrize(
    "ends", ["natural", "clamped", ((1, 0.3), (2, -0.4)), ("natural", "not-a-knot")]
)
def test_ends_of_splines(ends: Any) -> None:
    for count in (2, 3, 9):
        agree(
            lambda m, x, y, t: m.CubicSpline(x, y, bc_type=ends)(t), X[:count], Y[0, :count], PLACES
        )


def test_ends_that_are_not_traced() -> None:
    with pytest.raises(wf.TraceError, match="bc_type 'periodic'"):
        ours.CubicSpline(X, Y[0], bc_type="periodic")


def test_beyond_the_ends() -> None:
    agree(lambda m, x, y, t: m.CubicSpline(x, y, extrapolate=False)(t), X, Y[0], PLACES)
    agree(lambda m, x, y, t: m.CubicSpline(x, y)(t, extrapolate="periodic"), X, Y[0], PLACES)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fill", ["extrapolate", 0.0, (1.0, 2.0)])
def test_interp1d(kind: str, fill: Any) -> None:
    def evaluate(m: Any, x: Any, y: Any, t: Any) -> Any:
        return m.interp1d(x, y, kind, fill_value=fill, bounds_error=False)(t)

    places = np.concatenate([PLACES.ravel(), X, (X[1:] + X[:-1]) / 2])
    agree(evaluate, X, Y[0], places)
    agree(evaluate, X, Y, PLACES)


def test_places_out_of_bounds_raise() -> None:
    def evaluate(x: Any, t: Any) -> Any:
        return theirs.interp1d(x, Y[0])(t)

    compiled = wf.jit(evaluate)
    np.testing.assert_allclose(compiled(X, X[2]), Y[0, 2])
    for place, side in ((X[0] - 1.0, "below"), (X[-1] + 1.0, "above")):
        with pytest.raises(ValueError, match=f"is {side} the interpolation range"):
            compiled(X, place)


@pytest.mark.parametrize("method", ["linear", "nearest"])
@pytest.mark.parametrize("fill", [None, np.nan, 3.0])
def test_regular_grids(method: str, fill: Any) -> None:
    lines = np.linspace(0, 1, 5), np.sort(GENERATOR.uniform(0, 1, 4)), np.linspace(0, 2, 3)
    values = GENERATOR.normal(size=(5, 4, 3))
    places = GENERATOR.uniform(-0.2, 1.2, (7, 3))

    def evaluate(m: Any, values: Any, places: Any) -> Any:
        return m.RegularGridInterpolator(
            lines, values, method=method, bounds_error=False, fill_value=fill
        )(places)

    agree(evaluate, values, places)
    agree(evaluate, values, places[0])


# --- SciPy's own ----------------------------------------------------------------------------------

FIXED: dict[str, Callable[[], Any]] = {
    "spline": lambda: theirs.CubicSpline(X, Y[0]),
    "derivative": lambda: theirs.PchipInterpolator(X, Y[0]).derivative(),
    "b-spline": lambda: theirs.make_interp_spline(X, Y[0], k=3),
    "interp1d": lambda: theirs.interp1d(X, Y[0], fill_value="extrapolate"),
    "grid": lambda: theirs.RegularGridInterpolator((X,), Y[0], bounds_error=False),
}


@pytest.mark.parametrize("name", FIXED)
def test_interpolators_of_scipys_are_evaluated(name: str) -> None:
    interpolator = FIXED[name]()
    places = PLACES[..., None] if name == "grid" else PLACES
    made = wf.jit(lambda t: interpolator(t))(places)
    np.testing.assert_allclose(made, interpolator(places), rtol=1e-9, atol=1e-9)
    if name == "spline":
        slope = wf.grad(lambda t: interpolator(t))(1.7)
        np.testing.assert_allclose(slope, interpolator(1.7, 1), rtol=1e-9)


def test_scipys_classes_take_traced_samples() -> None:
    def evaluate(y: Any, t: Any) -> Any:
        return theirs.CubicSpline(X, y)(t) + theirs.interp1d(X, y, fill_value="extrapolate")(t)

    np.testing.assert_allclose(wf.jit(evaluate)(Y[0], PLACES), evaluate(Y[0], PLACES), rtol=1e-9)
