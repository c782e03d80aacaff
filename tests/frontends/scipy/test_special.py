"""`weft.scipy.special` against SciPy's: values, edges, dtypes, derivatives."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st

import weft as wf
from weft.scipy import special

Array = np.ndarray[Any, Any]

# Of each function: operands between which values are compared, and the relative tolerance.
RANGES: dict[str, tuple[list[tuple[float, float]], float]] = {
    "gamma": ([(-5.3, 30.0)], 1e-12),
    "gammaln": ([(0.1, 300.0)], 1e-13),
    "gammasgn": ([(-5.3, 3.0)], 0),
    "psi": ([(0.1, 50.0)], 1e-12),
    "gammainc": ([(0.05, 60.0), (0.05, 80.0)], 1e-11),
    "gammaincc": ([(0.05, 60.0), (0.05, 80.0)], 1e-11),
    "beta": ([(0.2, 20.0), (0.2, 20.0)], 1e-12),
    "betaln": ([(0.2, 20.0), (0.2, 20.0)], 1e-12),
    "betainc": ([(0.2, 30.0), (0.2, 30.0), (0.01, 0.99)], 1e-11),
    "zeta": ([(1.1, 20.0), (0.2, 10.0)], 1e-13),
    "erf": ([(-5.0, 5.0)], 1e-14),
    "erfc": ([(-5.0, 20.0)], 1e-13),
    "erfcx": ([(-5.0, 50.0)], 1e-13),
    "erfinv": ([(-0.99, 0.99)], 1e-13),
    "erfcinv": ([(1e-300, 1.99)], 1e-12),
    "ndtr": ([(-8.0, 8.0)], 1e-13),
    "log_ndtr": ([(-200.0, 8.0)], 1e-13),
    "ndtri": ([(1e-300, 0.999)], 1e-12),
    "expit": ([(-50.0, 50.0)], 1e-14),
    "logit": ([(0.001, 0.999)], 1e-13),
    "log_expit": ([(-50.0, 50.0)], 1e-14),
    "xlogy": ([(0.0, 5.0), (0.01, 5.0)], 1e-13),
    "xlog1py": ([(0.0, 5.0), (-0.9, 5.0)], 1e-13),
    "entr": ([(0.01, 5.0)], 1e-13),
    "rel_entr": ([(0.01, 5.0), (0.01, 5.0)], 1e-12),
    "kl_div": ([(0.01, 5.0), (0.01, 5.0)], 1e-11),
    "i0": ([(-20.0, 20.0)], 1e-13),
    "i1": ([(-20.0, 20.0)], 1e-13),
    "i0e": ([(-50.0, 50.0)], 1e-13),
    "i1e": ([(-50.0, 50.0)], 1e-13),
    "exp2": ([(-10.0, 10.0)], 1e-14),
    "expm1": ([(-10.0, 10.0)], 1e-14),
    "log1p": ([(-0.9, 10.0)], 1e-14),
    "cbrt": ([(-10.0, 10.0)], 1e-14),
    "digamma": ([(0.1, 50.0)], 1e-12),
    "loggamma": ([(0.1, 300.0)], 1e-13),
    "factorial": ([(0.0, 20.0)], 1e-12),
    "binom": ([(0.5, 30.0), (0.1, 10.0)], 1e-11),
    "poch": ([(0.5, 10.0), (0.1, 10.0)], 1e-12),
    "sinc": ([(-5.0, 5.0)], 1e-13),
    "j0": ([(-2.0, 2.0)], 1e-14),
    "j1": ([(-3.0, 3.0)], 1e-14),
    "y0": ([(1.2, 3.5)], 1e-13),
    "y1": ([(0.1, 1.9)], 1e-14),
    "k0": ([(0.01, 20.0)], 1e-14),
    "k1": ([(0.01, 20.0)], 1e-14),
    "k0e": ([(0.01, 50.0)], 1e-14),
    "k1e": ([(0.01, 50.0)], 1e-14),
    "ellipk": ([(-20.0, 0.99)], 1e-14),
    "ellipkm1": ([(0.01, 3.0)], 1e-14),
    "ellipe": ([(-20.0, 0.99)], 1e-14),
    "ellipkinc": ([(-6.0, 6.0), (-5.0, 0.95)], 1e-13),
    "ellipeinc": ([(-6.0, 6.0), (-5.0, 0.95)], 1e-13),
    "exp1": ([(0.01, 60.0)], 3e-13),
    "rgamma": ([(-5.3, 20.0)], 1e-13),
}
OTHERS = {"logsumexp", "softmax", "log_softmax", "multigammaln", "polygamma"}


def test_every_function_has_a_row() -> None:
    assert {*RANGES, *OTHERS} == set(special.__all__)


def drawn(name: str, seed: int, count: int = 12) -> list[Array]:
    generator = np.random.default_rng(seed)
    return [generator.uniform(low, high, count) for low, high in RANGES[name][0]]


@pytest.mark.parametrize("name", RANGES)
def test_values_are_those_of_scipy(name: str) -> None:
    compiled = wf.jit(getattr(special, name))

    @settings(max_examples=10, deadline=None, derandomize=True, database=None)
    @given(st.integers(0, 10**6))
    def check(seed: int) -> None:
        operands = drawn(name, seed)
        expected = getattr(scipy.special, name)(*operands)
        made = compiled(*operands)
        assert made.dtype == expected.dtype
        np.testing.assert_allclose(made, expected, rtol=max(RANGES[name][1], 1e-15), atol=1e-300)

    check()


@pytest.mark.parametrize("name", RANGES)
def test_narrow_operands_and_numbers(name: str) -> None:
    operands = [x.astype(np.float32) for x in drawn(name, 1)]
    if name in ("erfcinv", "ndtri"):
        operands = [np.maximum(x, np.float32(1e-30)) for x in operands]
    made = wf.jit(getattr(special, name))(*operands)
    wide = getattr(scipy.special, name)(*[x.astype(np.float64) for x in operands])
    assert made.dtype == np.float32
    np.testing.assert_allclose(made, wide, rtol=2e-4, atol=1e-6)


@pytest.mark.parametrize("name", [name for name in RANGES if name != "gammasgn"])
def test_derivatives_are_those_of_differences(name: str) -> None:
    operands = drawn(name, 2, 5)
    if name in ("ndtri", "erfcinv"):
        operands = [np.linspace(0.05, 0.9, 5)]
    wf.check_grads(getattr(special, name), tuple(operands), order=1)


EDGES = np.array([0.0, -0.0, 1.0, 2.5, -1.0, np.inf, -np.inf, np.nan])


@pytest.mark.parametrize("name", ["gamma", "erfcx", "log_ndtr", "ndtri", "erfcinv", "entr", "i0"])
def test_edges_are_those_of_scipy(name: str) -> None:
    with np.errstate(all="ignore"):
        expected = getattr(scipy.special, name)(EDGES)
    np.testing.assert_allclose(wf.jit(getattr(special, name))(EDGES), expected, rtol=1e-13)


@pytest.mark.parametrize("name", ["rel_entr", "kl_div", "xlogy", "gammainc", "gammaincc"])
def test_edges_of_pairs_are_those_of_scipy(name: str) -> None:
    if name.startswith("gamma"):
        # SciPy itself has several answers for infinite shapes.
        x, y = np.meshgrid(np.array([0.0, 1.0, 2.5, -1.0, np.nan]), EDGES[:6])
    else:
        x, y = np.meshgrid(EDGES[2:5], EDGES)
    with np.errstate(all="ignore"):
        expected = getattr(scipy.special, name)(x, y)
    np.testing.assert_allclose(wf.jit(getattr(special, name))(x, y), expected, rtol=1e-12)


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_polygamma_of_known_and_traced_order(n: int) -> None:
    x = np.linspace(0.3, 20, 9)
    expected = scipy.special.polygamma(n, x)
    np.testing.assert_allclose(special.polygamma(n, x), expected, rtol=1e-12)
    made = wf.jit(special.polygamma)(np.float64(n), x)
    np.testing.assert_allclose(made, expected, rtol=1e-11)


def test_multigammaln() -> None:
    expected = scipy.special.multigammaln(5.5, 3)
    assert special.multigammaln(5.5, 3) == pytest.approx(expected, rel=1e-13)


X = np.random.default_rng(5).standard_normal((3, 4)) * 30


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)])
@pytest.mark.parametrize("name", ["logsumexp", "softmax", "log_softmax"])
def test_along_axes(name: str, axis: Any) -> None:
    function = getattr(special, name)
    expected = getattr(scipy.special, name)(X, axis=axis)
    made = wf.jit(lambda x: function(x, axis=axis))(X)
    np.testing.assert_allclose(made, expected, rtol=1e-13, atol=1e-300)
    wf.check_grads(lambda x: function(x, axis=axis), (X / 30,), order=2)


def test_logsumexp_with_weights_signs_and_nothing() -> None:
    b = np.where(X > 0, -1.5, 0.5)
    made = special.logsumexp(X, axis=1, b=b, return_sign=True)
    expected = scipy.special.logsumexp(X, axis=1, b=b, return_sign=True)
    for one, other in zip(made, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    assert special.logsumexp(np.full(3, -np.inf)) == -np.inf
    assert special.logsumexp(np.array([np.inf, 1.0])) == np.inf
    weights = np.array([0.0, 1.0])
    assert special.logsumexp(np.array([1e4, 1.0]), b=weights) == pytest.approx(1.0)
    kept = special.logsumexp(X, axis=0, keepdims=True)
    assert kept.shape == (1, 4)


def test_gradients_at_edges_are_finite() -> None:
    assert wf.grad(lambda x: special.xlogy(x, 3.0))(0.0) == pytest.approx(np.log(3.0))
    assert wf.grad(special.xlogy, (0, 1))(0.0, 0.0) == (0.0, 0.0)
    assert wf.grad(lambda x: special.log_ndtr(x))(-300.0) == pytest.approx(300.0, rel=1e-4)
    assert wf.grad(lambda x: special.log_ndtr(x))(40.0) == 0.0
    assert np.isfinite(wf.grad(lambda y: special.rel_entr(0.0, y))(0.0))
    rows = wf.grad(lambda x: np.sum(special.logsumexp(x, axis=1)))(np.full((2, 3), -1e300))
    np.testing.assert_allclose(rows, 1 / 3)


def test_a_name_that_is_not_there_says_so() -> None:
    with pytest.raises(
        AttributeError, match=r"scipy.special.jv has no traced version.*wf.callback"
    ):
        special.jv  # noqa: B018


def test_edges_of_the_gamma_family() -> None:
    z = np.array([-2.5, -1.0, -0.0, 0.0, 0.5, np.inf, np.nan])
    np.testing.assert_allclose(wf.jit(special.loggamma)(z), scipy.special.loggamma(z), rtol=1e-14)
    z, m = np.array([0.0, 1.0, 2.0]), np.array([0.0, 0.0, 3.0])
    np.testing.assert_allclose(wf.jit(special.poch)(z, m), scipy.special.poch(z, m), rtol=1e-14)


# --- against more digits --------------------------------------------------------------------------

ORACLES: dict[str, tuple[Any, float, float, float, float]] = {
    "j0": (lambda x: mpmath.besselj(0, x), -60.0, 60.0, 0, 1e-15),
    "j1": (lambda x: mpmath.besselj(1, x), -60.0, 60.0, 0, 1e-15),
    "y0": (lambda x: mpmath.bessely(0, x), 0.01, 60.0, 1e-14, 1e-15),
    "y1": (lambda x: mpmath.bessely(1, x), 0.01, 60.0, 1e-14, 1e-15),
    "k0": (lambda x: mpmath.besselk(0, x), 0.01, 60.0, 2e-15, 0),
    "k1": (lambda x: mpmath.besselk(1, x), 0.01, 60.0, 2e-15, 0),
    "ellipk": (mpmath.ellipk, -50.0, 0.999, 2e-15, 0),
    "ellipe": (mpmath.ellipe, -50.0, 0.999, 2e-15, 0),
    "exp1": (mpmath.e1, 0.01, 60.0, 3e-13, 0),
    "rgamma": (mpmath.rgamma, -5.3, 20.0, 1e-13, 0),
}
"""Of each function: the oracle, where it is compared, and the errors that were found, rounded up:
relative to the value, and absolute where the function has zeros.
"""


@pytest.mark.parametrize("name", ORACLES)
def test_errors_are_those_that_are_documented(name: str) -> None:
    oracle, low, high, relative, absolute = ORACLES[name]
    places = np.random.default_rng(3).uniform(low, high, 200)
    expected = np.array([float(oracle(mpmath.mpf(float(x)))) for x in places])
    made = wf.jit(getattr(special, name))(places)
    np.testing.assert_allclose(made, expected, rtol=relative, atol=absolute)


@pytest.mark.parametrize("name", ["j0", "j1", "k0", "y0", "ellipkm1", "exp1", "rgamma"])
def test_second_derivatives(name: str) -> None:
    wf.check_grads(getattr(special, name), (np.linspace(0.4, 9.0, 5),), order=2)
