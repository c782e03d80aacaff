"""`weft.scipy.stats` against SciPy's: densities, distribution functions, quantiles, gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

import weft as wf
from weft.scipy import stats

# Of each distribution: the ranges of its shapes, and of its argument.
FLOATS: dict[str, tuple[list[tuple[float, float]], tuple[float, float]]] = {
    "norm": ([], (-4.0, 4.0)),
    "halfnorm": ([], (-1.0, 4.0)),
    "t": ([(0.5, 20.0)], (-5.0, 5.0)),
    "gamma": ([(0.3, 10.0)], (-1.0, 15.0)),
    "invgamma": ([(0.3, 10.0)], (-1.0, 5.0)),
    "chi2": ([(0.5, 10.0)], (-1.0, 15.0)),
    "beta": ([(0.3, 5.0), (0.3, 5.0)], (-0.2, 1.2)),
    "expon": ([], (-1.0, 5.0)),
    "laplace": ([], (-5.0, 5.0)),
    "cauchy": ([], (-9.0, 9.0)),
    "logistic": ([], (-9.0, 9.0)),
    "uniform": ([], (-0.5, 1.5)),
    "gumbel_r": ([], (-2.0, 6.0)),
    "gumbel_l": ([], (-6.0, 2.0)),
    "lognorm": ([(0.3, 2.0)], (-1.0, 5.0)),
    "pareto": ([(0.5, 5.0)], (0.0, 5.0)),
    "rayleigh": ([], (-1.0, 4.0)),
    "weibull_min": ([(0.5, 4.0)], (-1.0, 3.0)),
    "truncnorm": ([(-2.0, 0.5), (1.0, 3.0)], (-3.0, 3.5)),
    "vonmises": ([(0.1, 9.0)], (-3.0, 3.0)),
}
COUNTS: dict[str, list[tuple[float, float]]] = {
    "poisson": [(0.1, 8.0)],
    "bernoulli": [(0.1, 0.9)],
    "binom": [(5, 9), (0.1, 0.9)],
    "geom": [(0.1, 0.9)],
    "nbinom": [(0.5, 9.0), (0.1, 0.9)],
}
VECTORS = {"multivariate_normal", "dirichlet", "multinomial"}


def test_every_distribution_has_a_row() -> None:
    assert {*FLOATS, *COUNTS, *VECTORS} == set(stats.__all__)


def parameters(ranges: list[tuple[float, float]], seed: int, count: int = 6) -> list[Any]:
    generator = np.random.default_rng(seed)
    drawn = [generator.uniform(low, high, count) for low, high in ranges]
    return [np.round(x) if isinstance(r[0], int) else x for x, r in zip(drawn, ranges, strict=True)]


def methods(name: str) -> list[str]:
    """What is traced of a distribution of floats."""
    own = {*getattr(stats, name)._functions}
    derived = {"sf", "logcdf", "logsf"} if "cdf" in own else set()
    return ["logpdf", "pdf", *sorted((own | derived) - {"ppf"})]


@pytest.mark.parametrize("name", FLOATS)
def test_densities_and_probabilities_are_those_of_scipy(name: str) -> None:
    shapes, (low, high) = FLOATS[name]
    ours, theirs = getattr(stats, name), getattr(scipy.stats, name)
    names = methods(name)

    def all_of(x: Any, loc: Any, scale: Any, *given: Any) -> list[Any]:
        return [getattr(ours, n)(x, *given, loc=loc, scale=scale) for n in names]

    compiled = wf.jit(all_of)

    @settings(max_examples=8, deadline=None, derandomize=True, database=None)
    @given(st.integers(0, 10**6))
    def check(seed: int) -> None:
        x, loc, scale = parameters([(low, high), (-0.5, 0.5), (0.5, 2.0)], seed)
        given = parameters(shapes, seed + 1)
        with np.errstate(all="ignore"):
            wanted = [getattr(theirs, n)(x, *given, loc=loc, scale=scale) for n in names]
        for made, expected, kind in zip(
            compiled(x, loc, scale, *given), wanted, names, strict=True
        ):
            np.testing.assert_allclose(made, expected, rtol=2e-10, atol=1e-13, err_msg=kind)

    check()


@pytest.mark.parametrize("name", [n for n in FLOATS if "ppf" in getattr(stats, n)._functions])
def test_quantiles_are_those_of_scipy(name: str) -> None:
    given = parameters(FLOATS[name][0], 3, 7)
    p = np.array([0.0, 1e-12, 0.01, 0.3, 0.5, 0.99, 1.0])
    with np.errstate(all="ignore"):
        expected = getattr(scipy.stats, name).ppf(p, *given, loc=0.5, scale=2.0)
        made = getattr(stats, name).ppf(p, *given, loc=0.5, scale=2.0)
    np.testing.assert_allclose(made[1:-1], expected[1:-1], rtol=1e-11, atol=1e-11)
    np.testing.assert_array_equal(made[[0, -1]], expected[[0, -1]])
    exceeded = wf.jit(lambda p: getattr(stats, name).isf(p, *given))(p[2:4].repeat([3, 4]))
    wanted = getattr(scipy.stats, name).isf(p[2:4].repeat([3, 4]), *given)
    np.testing.assert_allclose(exceeded, wanted, rtol=1e-11)


@pytest.mark.parametrize("name", FLOATS)
def test_nan_and_infinities_are_those_of_scipy(name: str) -> None:
    """NaN stays NaN, though it is inside of no support."""
    given = [shape[0] for shape in parameters(FLOATS[name][0], 4)]
    x = np.array([np.nan, -np.inf, np.inf])
    for kind in methods(name):
        with np.errstate(all="ignore"):
            wanted = getattr(getattr(scipy.stats, name), kind)(x, *given)
        made = wf.jit(getattr(getattr(stats, name), kind))(x, *given)
        np.testing.assert_array_equal(made, wanted, err_msg=kind)


@pytest.mark.parametrize("name", FLOATS)
def test_gradients_of_log_densities(name: str) -> None:
    shapes, (low, high) = FLOATS[name]
    middle = (low + high) / 2
    x = parameters([(middle, middle + (high - middle) * 0.2)], 5)
    given = parameters([(-0.1, 0.1), (0.8, 1.2), *shapes], 6)
    function = getattr(stats, name).logpdf
    wf.check_grads(
        lambda x, loc, scale, *s: function(x, *s, loc=loc, scale=scale), (*x, *given), order=1
    )


@pytest.mark.parametrize("name", ["norm", "t", "gamma", "beta", "logistic"])
def test_gradients_of_probabilities(name: str) -> None:
    shapes, (low, high) = FLOATS[name]
    x = parameters([(max(low, 0.1), high * 0.7)], 7)
    given = parameters(shapes, 8)
    wf.check_grads(getattr(stats, name).cdf, (*x, *given), order=1)


@pytest.mark.parametrize("name", COUNTS)
def test_counts_are_those_of_scipy(name: str) -> None:
    given = parameters(COUNTS[name], 1, 12)
    k = np.arange(-2.0, 10.0)
    ours, theirs = getattr(stats, name), getattr(scipy.stats, name)
    for kind in ("logpmf", "pmf", "cdf", "sf"):
        with np.errstate(all="ignore"):
            expected = getattr(theirs, kind)(k, *given)
        made = wf.jit(getattr(ours, kind))(k, *given)
        np.testing.assert_allclose(made, expected, rtol=1e-10, atol=1e-14, err_msg=kind)
    assert ours.logpmf(0.5, *[g[0] for g in given]) == -np.inf
    assert np.isnan(ours.logpmf(np.nan, *[g[0] for g in given]))
    chances = [g[3:6] for g in given]
    wf.check_grads(lambda *p: ours.logpmf(np.array([1.0, 1.0, 1.0]), *p), tuple(chances), order=1)


def test_gradients_at_the_edges_of_the_support_are_finite() -> None:
    assert wf.grad(lambda x: stats.gamma.logpdf(x, 1.0))(0.0) == -1.0
    assert wf.grad(lambda x: stats.beta.logpdf(x, 1.0, 1.0))(0.0) == 0.0
    assert wf.grad(lambda p: stats.binom.logpmf(0.0, 3.0, p))(0.0) == -3.0
    assert wf.grad(lambda mu: stats.poisson.logpmf(0.0, mu))(2.0) == -1.0
    outside = wf.grad(lambda x: stats.lognorm.logpdf(x, 1.0))(-1.0)
    assert outside == 0.0


# --- vectors --------------------------------------------------------------------------------------

COV = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.3], [0.0, 0.3, 1.5]])
MEAN = np.array([0.5, -1.0, 2.0])


def test_multivariate_normal() -> None:
    x = np.random.default_rng(0).standard_normal((4, 2, 3))
    expected = scipy.stats.multivariate_normal(MEAN, COV).logpdf(x)
    function = stats.multivariate_normal.logpdf
    np.testing.assert_allclose(wf.jit(function)(x, MEAN, COV), expected, rtol=1e-12)
    one = scipy.stats.multivariate_normal(MEAN, COV).pdf(x[0, 0])
    np.testing.assert_allclose(stats.multivariate_normal.pdf(x[0, 0], MEAN, COV), one, rtol=1e-12)
    scaled = scipy.stats.multivariate_normal(np.zeros(3), 2.0).logpdf(x)
    np.testing.assert_allclose(function(x, np.zeros(3), 2.0), scaled, rtol=1e-12)

    def of_symmetric(x: Any, mean: Any, cov: Any) -> Any:
        return function(x, mean, (cov + cov.T) / 2)

    wf.check_grads(of_symmetric, (x, MEAN, COV), order=1)


def test_dirichlet_and_multinomial() -> None:
    alpha, x = np.array([0.5, 2.0, 3.0]), np.array([0.2, 0.3, 0.5])
    expected = scipy.stats.dirichlet(alpha).logpdf(x)
    np.testing.assert_allclose(stats.dirichlet.logpdf(x, alpha), expected, rtol=1e-12)
    np.testing.assert_allclose(stats.dirichlet.pdf(x[:2], alpha), np.exp(expected), rtol=1e-12)
    wf.check_grads(lambda a: stats.dirichlet.logpdf(x, a), (alpha,), order=2)
    counts = np.array([[1.0, 2.0, 3.0], [0.0, 6.0, 0.0], [1.0, 1.0, 1.0]])
    p = np.array([0.2, 0.3, 0.5])
    with np.errstate(all="ignore"):
        expected = scipy.stats.multinomial(6, p).logpmf(counts)
    np.testing.assert_allclose(stats.multinomial.logpmf(counts, 6, p), expected, rtol=1e-12)


def test_what_is_not_traced_says_so() -> None:
    with pytest.raises(AttributeError, match=r"scipy.stats.levy has no traced version"):
        stats.levy  # noqa: B018
    with pytest.raises(AttributeError, match=r"weft.scipy.stats.t has no traced ppf"):
        stats.t.ppf(0.5, 3.0)
    assert np.isnan(stats.norm.logpdf(0.0, 0.0, -1.0))
