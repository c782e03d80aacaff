"""Distributions: each against SciPy's, and gradients against those of moments and quantiles.

Keys are fixed, so that a test either always passes or always fails.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.stats

import weft as wf
from weft import random

Array = np.ndarray[Any, Any]

COUNT = 4_000
# The chance that a right sampler fails for a key drawn at random; these keys are fixed.
LEAST = 1e-4

CONTINUOUS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "exponential": (lambda k: random.exponential(k, COUNT, scale=2.0), scipy.stats.expon(scale=2)),
    "laplace": (
        lambda k: random.laplace(k, COUNT, loc=1.0, scale=2.0),
        scipy.stats.laplace(1, 2),
    ),
    "logistic": (lambda k: random.logistic(k, COUNT, loc=-1.0), scipy.stats.logistic(-1)),
    "cauchy": (lambda k: random.cauchy(k, COUNT, scale=3.0), scipy.stats.cauchy(0, 3)),
    "gumbel": (lambda k: random.gumbel(k, COUNT, loc=1.0, scale=2.0), scipy.stats.gumbel_r(1, 2)),
    "rayleigh": (lambda k: random.rayleigh(k, COUNT, scale=2.0), scipy.stats.rayleigh(scale=2)),
    "weibull": (lambda k: random.weibull(k, 1.5, COUNT), scipy.stats.weibull_min(1.5)),
    "pareto": (lambda k: random.pareto(k, 2.5, COUNT), scipy.stats.pareto(2.5)),
    "lognormal": (lambda k: random.lognormal(k, COUNT, std=0.5), scipy.stats.lognorm(0.5)),
    "t": (lambda k: random.t(k, 4.0, COUNT), scipy.stats.t(4)),
    "chisquare": (lambda k: random.chisquare(k, 3.0, COUNT), scipy.stats.chi2(3)),
    "beta": (lambda k: random.beta(k, 0.5, 2.0, COUNT), scipy.stats.beta(0.5, 2)),
    **{
        f"gamma {a}": (partial(random.gamma, a=a, shape=COUNT), scipy.stats.gamma(a))
        for a in (0.1, 0.7, 1.0, 3.0, 50.0, 1e4)
    },
    **{
        f"truncated normal {low} {high}": (
            partial(random.truncated_normal, lower=low, upper=high, shape=COUNT),
            scipy.stats.truncnorm(low, high),
        )
        for low, high in ((-1.0, 2.0), (1.0, 3.0), (-np.inf, -2.0), (8.0, np.inf))
    },
}

WHOLE: dict[str, tuple[Callable[[Any], Any], Any]] = {
    **{
        f"poisson {mean}": (
            partial(random.poisson, lam=mean, shape=COUNT),
            scipy.stats.poisson(mean),
        )
        for mean in (0.3, 4.0, 12.0, 400.0)
    },
    **{
        f"binomial {n} {p}": (
            partial(random.binomial, n=n, p=p, shape=COUNT),
            scipy.stats.binom(n, p),
        )
        for n, p in ((5, 0.3), (100, 0.05), (100, 0.3), (1000, 0.9))
    },
    "geometric": (lambda k: random.geometric(k, 0.3, COUNT), scipy.stats.geom(0.3)),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_floats_have_the_distribution_of_scipy(name: str) -> None:
    draw, distribution = CONTINUOUS[name]
    sample = wf.jit(draw)(random.key(3))
    assert sample.shape == (COUNT,) and sample.dtype == np.float64
    assert scipy.stats.kstest(sample, distribution.cdf).pvalue > LEAST


@pytest.mark.parametrize("name", WHOLE)
def test_counts_have_the_distribution_of_scipy(name: str) -> None:
    draw, distribution = WHOLE[name]
    sample = wf.jit(draw)(random.key(4))
    assert sample.dtype == np.int64
    edges = np.unique(distribution.ppf(np.linspace(0.02, 0.98, 12)))
    places = np.searchsorted(edges, sample, side="left")
    observed = np.bincount(places, minlength=len(edges) + 1)
    expected = np.diff([0.0, *distribution.cdf(edges), 1.0]) * COUNT
    assert scipy.stats.chisquare(observed, expected).pvalue > LEAST


@pytest.mark.slow
@pytest.mark.parametrize("name", [*CONTINUOUS, *WHOLE])
def test_the_same_numbers_eager_and_batched(name: str) -> None:
    draw = {**CONTINUOUS, **WHOLE}[name][0]
    keys = random.split(random.key(5), 2)
    batched = wf.jit(wf.vmap(draw))(keys)
    for key, row in zip(keys, batched, strict=True):
        np.testing.assert_allclose(draw(key), row, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("name", ["gamma", "beta", "exponential", "cauchy", "laplace", "t"])
def test_narrow_floats_are_finite_and_of_their_dtype(name: str, dtype: str) -> None:
    given = {"gamma": (2.0,), "beta": (2.0, 3.0), "t": (3.0,)}.get(name, ())
    sample = getattr(random, name)(random.key(6), *given, (2000,), dtype)
    assert sample.dtype == wf.random.normal(random.key(0), (), dtype).dtype
    assert np.isfinite(sample.astype(np.float64)).all()


# --- gradients ------------------------------------------------------------------------------------

KEY = random.key(9)


@pytest.mark.slow
@pytest.mark.parametrize("a", [0.05, 0.5, 1.0, 2.0, 20.0, 500.0])
def test_the_gradient_of_a_mean_of_gamma_is_that_of_its_shape(a: float) -> None:
    slope = wf.jit(wf.grad(lambda a: np.mean(random.gamma(KEY, a, COUNT))))(a)
    # The derivative of a sample has about the deviation of the sample over its mean.
    assert slope == pytest.approx(1.0, abs=5 * max(1.0, a**-0.5) / np.sqrt(COUNT))


@pytest.mark.parametrize("a", [0.3, 2.0, 30.0])
def test_a_sample_of_gamma_moves_as_its_quantile_does(a: float) -> None:
    samples, slopes = wf.jvp(lambda a: random.gamma(KEY, a, (50,)), (a,), (1.0,))
    probability = scipy.stats.gamma(a).cdf(samples)
    step = 1e-4 * a
    quantiles = [scipy.stats.gamma(a + s).ppf(probability) for s in (-step, step)]
    numerical = (quantiles[1] - quantiles[0]) / (2 * step)
    np.testing.assert_allclose(slopes, numerical, rtol=1e-4)


@pytest.mark.slow
def test_gradients_of_means_of_other_distributions() -> None:
    def slope(draw: Callable[..., Any], at: float) -> float:
        return float(wf.jit(wf.grad(lambda x: np.mean(draw(x))))(at))

    assert slope(lambda a: random.beta(KEY, a, 3.0, COUNT), 2.0) == pytest.approx(3 / 25, abs=0.01)
    assert slope(lambda s: random.exponential(KEY, COUNT, scale=s), 2.0) == pytest.approx(
        1, abs=0.05
    )
    assert slope(lambda m: random.laplace(KEY, COUNT, loc=m), 2.0) == pytest.approx(1)
    assert slope(lambda d: random.chisquare(KEY, d, COUNT), 4.0) == pytest.approx(1, abs=0.05)
    assert slope(lambda m: random.gumbel(KEY, COUNT, loc=m), 2.0) == pytest.approx(1)
    first = slope(lambda a: random.dirichlet(KEY, wf.numpy.stack([a, 1.0, 1.0]), COUNT)[:, 0], 2.0)
    assert first == pytest.approx(2 / 16, abs=0.01)
    # The mean of a normal number above a limit moves with it by h (h - limit), h its mean.
    mean = float(scipy.stats.truncnorm(0.5, np.inf).mean())
    moved = slope(lambda low: random.truncated_normal(KEY, low, np.inf, COUNT), 0.5)
    assert moved == pytest.approx(mean * (mean - 0.5), abs=0.02)


def test_gradients_flow_to_the_covariance() -> None:
    def total(scale: Any) -> Any:
        cov = np.array([[2.0, 0.5], [0.5, 1.0]]) * scale
        return np.mean(random.multivariate_normal(KEY, np.zeros(2), cov, COUNT)[:, 0] ** 2)

    assert wf.jit(wf.grad(total))(3.0) == pytest.approx(2.0, abs=0.1)


# --- vectors, matrices, choices -------------------------------------------------------------------


def test_multivariate_normal_has_its_moments() -> None:
    mean, cov = np.array([1.0, -2.0, 0.5]), np.diag([1.0, 4.0, 0.25]) + 0.1
    sample = wf.jit(lambda k: random.multivariate_normal(k, mean, cov, COUNT))(KEY)
    assert sample.shape == (COUNT, 3)
    np.testing.assert_allclose(sample.mean(0), mean, atol=5 * 2 / np.sqrt(COUNT))
    np.testing.assert_allclose(np.cov(sample.T), cov, atol=0.25)


def test_dirichlet_has_its_marginals() -> None:
    alpha = np.array([0.5, 1.0, 3.0])
    sample = wf.jit(lambda k: random.dirichlet(k, alpha, COUNT))(KEY)
    np.testing.assert_allclose(sample.sum(-1), 1.0, rtol=1e-12)
    for place, a in enumerate(alpha):
        marginal = scipy.stats.beta(a, alpha.sum() - a)
        assert scipy.stats.kstest(sample[:, place], marginal.cdf).pvalue > LEAST


def test_dirichlet_of_small_weights_does_not_underflow() -> None:
    sample = random.dirichlet(KEY, np.full(4, 1e-3), (100,))
    assert np.isfinite(sample).all()
    np.testing.assert_allclose(sample.sum(-1), 1.0, rtol=1e-12)


def test_orthogonal_matrices_are_so_and_even() -> None:
    q = wf.jit(lambda k: random.orthogonal(k, 4, (500,)))(KEY)
    same = q @ q.swapaxes(-1, -2)
    np.testing.assert_allclose(same, np.broadcast_to(np.eye(4), same.shape), atol=1e-13)
    # The trace of an even one has mean 0 and variance 1.
    traces = np.trace(q, axis1=-2, axis2=-1)
    assert abs(traces.mean()) < 5 / np.sqrt(500) and abs(traces.var() - 1) < 0.35


def test_choices() -> None:
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    drawn = wf.jit(lambda k: random.choice(k, 4, COUNT, p=weights))(KEY)
    assert scipy.stats.chisquare(np.bincount(drawn), weights * COUNT).pvalue > LEAST
    even = random.choice(KEY, np.array([10.0, 20.0]), (COUNT,))
    assert scipy.stats.binomtest(int((even == 10).sum()), COUNT).pvalue > LEAST
    assert sorted(random.choice(KEY, 10, (10,), replace=False).tolist()) == list(range(10))
    some = random.choice(KEY, 10, (4,), replace=False, p=np.arange(10) / 45)
    assert len(set(some.tolist())) == 4 and 0 not in some
    assert random.choice(KEY, np.zeros((5, 4)), (2, 3), axis=1).shape == (5, 2, 3)


def test_draws_without_replacement_follow_their_weights() -> None:
    weights = np.array([0.6, 0.3, 0.1])
    keys = random.split(KEY, 4000)
    first = wf.jit(wf.vmap(lambda k: random.choice(k, 3, (2,), replace=False, p=weights)))(keys)
    observed = np.bincount(first[:, 0], minlength=3)
    assert scipy.stats.chisquare(observed, weights * 4000).pvalue > LEAST


def test_edges_of_counts() -> None:
    assert not random.binomial(KEY, 20, 0.0, (50,)).any()
    assert (random.binomial(KEY, 20, 1.0, (50,)) == 20).all()
    assert not random.poisson(KEY, 0.0, (50,)).any()
    assert set(random.rademacher(KEY, (50,)).tolist()) == {-1.0, 1.0}


def test_misuse_is_refused() -> None:
    with pytest.raises(wf.TraceError, match="too many"):
        random.choice(KEY, 3, (4,), replace=False)
    with pytest.raises(wf.TraceError, match="floating-point dtype"):
        random.gamma(KEY, 2.0, (4,), "i64")
    with pytest.raises(wf.ShapeError, match="do not"):
        random.gamma(KEY, np.ones(3), (2,))
