"""`scipy.stats` on traced arrays: densities, distribution functions and quantiles.

Distributions are called as SciPy's: `norm.logpdf(x, loc, scale)`, `gamma.cdf(x, a)`,
`binom.logpmf(k, n, p)`. Gradients flow to the argument and to all parameters, and are finite where
the density is, also at the edges of its support.

>>> import numpy as np, weft as wf
>>> x = np.array([0.5, 1.0, 2.0])
>>> slope = wf.grad(lambda m: np.sum(wf.scipy.stats.norm.logpdf(x, m)))(1.0)
>>> round(float(slope), 12)
0.5
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from weft.compiler.ir.errors import ShapeError
from weft.frontends.eager.anywhere import eager
from weft.frontends.numpy.functions import gammas, normals
from weft.frontends.numpy.functions.linalg import cholesky
from weft.frontends.numpy.functions.special_ufuncs import SPECIAL
from weft.frontends.scipy.families import Continuous, Discrete, inside
from weft.frontends.scipy.floats import floats
from weft.frontends.scipy.linalg import solve_triangular
from weft.frontends.tracing.core import lift, wrap

__all__ = [
    "bernoulli",
    "beta",
    "binom",
    "cauchy",
    "chi2",
    "dirichlet",
    "expon",
    "gamma",
    "geom",
    "gumbel_l",
    "gumbel_r",
    "halfnorm",
    "invgamma",
    "laplace",
    "logistic",
    "lognorm",
    "multinomial",
    "multivariate_normal",
    "nbinom",
    "norm",
    "pareto",
    "poisson",
    "rayleigh",
    "t",
    "truncnorm",
    "uniform",
    "vonmises",
    "weibull_min",
]

_LOG_TWO_PI: Final = math.log(2 * math.pi)


def _xlogy(x: Any, y: Any) -> Any:
    """x log(y), 0 where x is 0, with finite derivatives there."""
    return wrap(SPECIAL["xlogy"](*[lift(v) for v in np.broadcast_arrays(x, y)]))


def _xlog1py(x: Any, y: Any) -> Any:
    return wrap(SPECIAL["xlog1py"](*[lift(v) for v in np.broadcast_arrays(x, y)]))


def _softplus(x: Any) -> Any:
    return np.logaddexp(x, 0)


def _sigmoid(x: Any) -> Any:
    return wrap(SPECIAL["expit"](lift(x)))


# --- floats -------------------------------------------------------------------------------------

norm = Continuous(
    "norm",
    lambda x: -0.5 * (x * x + _LOG_TWO_PI),
    cdf=lambda x: 0.5 * normals.erfc(x * -math.sqrt(0.5)),
    sf=lambda x: 0.5 * normals.erfc(x * math.sqrt(0.5)),
    logcdf=normals.log_ndtr,
    logsf=lambda x: normals.log_ndtr(-x),
    ppf=normals.ndtri,
)


def _halfnorm_density(x: Any) -> Any:
    made = -0.5 * (x * x + _LOG_TWO_PI) + math.log(2)
    return np.where(x < 0, -np.inf, made)


halfnorm = Continuous(
    "halfnorm",
    _halfnorm_density,
    cdf=lambda x: 1 - normals.erfc(np.maximum(x, 0) * math.sqrt(0.5)),
    sf=lambda x: normals.erfc(np.maximum(x, 0) * math.sqrt(0.5)),
    ppf=lambda p: -normals.ndtri(0.5 - 0.5 * p),
)


def _t_density(x: Any, df: Any) -> Any:
    half = 0.5 * df
    front = gammas.lgamma(half + 0.5) - gammas.lgamma(half) - 0.5 * np.log(math.pi * df)
    return front - (half + 0.5) * np.log1p(x * x / df)


def _t_cdf(x: Any, df: Any) -> Any:
    tail = 0.5 * gammas.betainc(0.5 * df, np.full_like(df, 0.5), df / (df + x * x))
    return np.where(x > 0, 1 - tail, tail)


t = Continuous("t", _t_density, cdf=_t_cdf)


def _gamma_density(x: Any, a: Any) -> Any:
    mask = x >= 0
    safe = inside(mask, x, 1.0)
    return np.where(mask, _xlogy(a - 1, safe) - safe - gammas.lgamma(a), -np.inf)


def _gamma_cdf(x: Any, a: Any) -> Any:
    return np.where(x > 0, gammas.gammainc(a, inside(x > 0, x, 1.0)), 0)


def _gamma_sf(x: Any, a: Any) -> Any:
    return np.where(x > 0, gammas.gammaincc(a, inside(x > 0, x, 1.0)), 1)


gamma = Continuous("gamma", _gamma_density, cdf=_gamma_cdf, sf=_gamma_sf)
chi2 = Continuous(
    "chi2",
    lambda x, df: _gamma_density(0.5 * x, 0.5 * df) - math.log(2),
    cdf=lambda x, df: _gamma_cdf(0.5 * x, 0.5 * df),
    sf=lambda x, df: _gamma_sf(0.5 * x, 0.5 * df),
)


def _invgamma_density(x: Any, a: Any) -> Any:
    mask = x > 0
    safe = inside(mask, x, 1.0)
    return np.where(mask, -(a + 1) * np.log(safe) - 1 / safe - gammas.lgamma(a), -np.inf)


invgamma = Continuous(
    "invgamma",
    _invgamma_density,
    cdf=lambda x, a: _gamma_sf(1 / inside(x > 0, x, 1.0), a) * (x > 0),
    sf=lambda x, a: np.where(x > 0, _gamma_cdf(1 / inside(x > 0, x, 1.0), a), 1),
)


def _beta_density(x: Any, a: Any, b: Any) -> Any:
    mask = (x >= 0) & (x <= 1)
    safe = inside(mask, x, 0.5)
    made = _xlogy(a - 1, safe) + _xlog1py(b - 1, -safe) - gammas.betaln(a, b)
    return np.where(mask, made, -np.inf)


def _beta_cdf(x: Any, a: Any, b: Any) -> Any:
    return gammas.betainc(a, b, np.clip(x, 0, 1))


beta = Continuous("beta", _beta_density, cdf=_beta_cdf)
expon = Continuous(
    "expon",
    lambda x: np.where(x >= 0, -x, -np.inf),
    cdf=lambda x: -np.expm1(-np.maximum(x, 0)),
    sf=lambda x: np.exp(-np.maximum(x, 0)),
    logsf=lambda x: -np.maximum(x, 0),
    ppf=lambda p: -np.log1p(-p),
)
laplace = Continuous(
    "laplace",
    lambda x: -np.abs(x) - math.log(2),
    cdf=lambda x: np.where(x < 0, 0.5 * np.exp(-np.abs(x)), 1 - 0.5 * np.exp(-np.abs(x))),
    ppf=lambda p: np.where(
        p < 0.5, np.log(2 * np.minimum(p, 0.5)), -np.log(2 - 2 * np.maximum(p, 0.5))
    ),
)


def _cauchy_quantile(p: Any) -> Any:
    """By the nearer end, where the tangent has all its digits."""
    distance = np.minimum(p, 1 - p)
    return np.where(p < 0.5, -1.0, 1.0) / np.tan(math.pi * distance)


cauchy = Continuous(
    "cauchy",
    lambda x: -np.log1p(x * x) - math.log(math.pi),
    cdf=lambda x: np.arctan2(np.ones_like(x), -x) / math.pi,
    sf=lambda x: np.arctan2(np.ones_like(x), x) / math.pi,
    ppf=_cauchy_quantile,
)
logistic = Continuous(
    "logistic",
    lambda x: -np.abs(x) - 2 * _softplus(-np.abs(x)),
    cdf=_sigmoid,
    sf=lambda x: _sigmoid(-x),
    logcdf=lambda x: -_softplus(-x),
    logsf=lambda x: -_softplus(x),
    ppf=lambda p: np.log(p) - np.log1p(-p),
)
uniform = Continuous(
    "uniform",
    lambda x: np.where((x >= 0) & (x <= 1), 0.0 * x, -np.inf),
    cdf=lambda x: np.clip(x, 0, 1),
    ppf=lambda p: p,
)
gumbel_r = Continuous(
    "gumbel_r",
    lambda x: -x - np.exp(-x),
    cdf=lambda x: np.exp(-np.exp(-x)),
    sf=lambda x: -np.expm1(-np.exp(-x)),
    logcdf=lambda x: -np.exp(-x),
    ppf=lambda p: -np.log(-np.log(p)),
)
gumbel_l = Continuous(
    "gumbel_l",
    lambda x: x - np.exp(x),
    cdf=lambda x: -np.expm1(-np.exp(x)),
    sf=lambda x: np.exp(-np.exp(x)),
    logsf=lambda x: -np.exp(x),
    ppf=lambda p: np.log(-np.log1p(-p)),
)


def _lognorm_density(x: Any, s: Any) -> Any:
    mask = x > 0
    logarithm = np.log(inside(mask, x, 1.0))
    made = -0.5 * ((logarithm / s) ** 2 + _LOG_TWO_PI) - np.log(s) - logarithm
    return np.where(mask, made, -np.inf)


def _lognorm_cdf(x: Any, s: Any) -> Any:
    made = 0.5 * normals.erfc(np.log(inside(x > 0, x, 1.0)) / s * -math.sqrt(0.5))
    return np.where(x > 0, made, 0)


lognorm = Continuous(
    "lognorm", _lognorm_density, cdf=_lognorm_cdf, ppf=lambda p, s: np.exp(s * normals.ndtri(p))
)


def _pareto_density(x: Any, b: Any) -> Any:
    mask = x >= 1
    return np.where(mask, np.log(b) - (b + 1) * np.log(inside(mask, x, 1.0)), -np.inf)


pareto = Continuous(
    "pareto",
    _pareto_density,
    cdf=lambda x, b: -np.expm1(-b * np.log(np.maximum(x, 1))),
    sf=lambda x, b: np.exp(-b * np.log(np.maximum(x, 1))),
    ppf=lambda p, b: np.exp(-np.log1p(-p) / b),
)


def _rayleigh_density(x: Any) -> Any:
    safe = inside(x > 0, x, 1.0)
    is_finite = (x > 0) & (x < np.inf)
    return np.where(is_finite, np.log(safe) - 0.5 * safe * safe, -np.inf)


rayleigh = Continuous(
    "rayleigh",
    _rayleigh_density,
    cdf=lambda x: -np.expm1(-0.5 * np.maximum(x, 0) ** 2),
    sf=lambda x: np.exp(-0.5 * np.maximum(x, 0) ** 2),
    logsf=lambda x: -0.5 * np.maximum(x, 0) ** 2,
    ppf=lambda p: np.sqrt(-2 * np.log1p(-p)),
)


def _weibull_density(x: Any, c: Any) -> Any:
    mask = x >= 0
    safe = inside(x > 0, x, 1.0)
    made = np.log(c) + _xlogy(c - 1, inside(mask, x, 1.0)) - np.where(x > 0, safe**c, 0)
    return np.where(mask, made, -np.inf)


weibull_min = Continuous(
    "weibull_min",
    _weibull_density,
    cdf=lambda x, c: np.where(x > 0, -np.expm1(-(inside(x > 0, x, 1.0) ** c)), 0),
    sf=lambda x, c: np.where(x > 0, np.exp(-(inside(x > 0, x, 1.0) ** c)), 1),
    logsf=lambda x, c: np.where(x > 0, -(inside(x > 0, x, 1.0) ** c), 0),
    ppf=lambda p, c: (-np.log1p(-p)) ** (1 / c),
)


def _truncnorm_density(x: Any, a: Any, b: Any) -> Any:
    mask = (x >= a) & (x <= b)
    return np.where(mask, -0.5 * (x * x + _LOG_TWO_PI) - _log_mass(a, b), -np.inf)


def _log_mass(a: Any, b: Any) -> Any:
    """The logarithm of the probability of a normal number between a and b, by its nearer tail."""
    is_right = a > 0
    low, high = np.where(is_right, -b, a), np.where(is_right, -a, b)
    upper, lower = normals.log_ndtr(high), normals.log_ndtr(low)
    gap = np.where(lower == -np.inf, 0, np.exp(np.minimum(lower - upper, 0)))
    return upper + np.log1p(-gap)


def _truncnorm_cdf(x: Any, a: Any, b: Any) -> Any:
    return np.exp(_log_mass(a, np.clip(x, a, b)) - _log_mass(a, b))


truncnorm = Continuous("truncnorm", _truncnorm_density, cdf=_truncnorm_cdf)


def _vonmises_density(x: Any, kappa: Any) -> Any:
    scaled: Any = wrap(SPECIAL["i0e"](lift(kappa)))
    return kappa * (np.cos(x) - 1) - _LOG_TWO_PI - np.log(scaled)


vonmises = Continuous("vonmises", _vonmises_density)


# --- counts -------------------------------------------------------------------------------------


def _poisson_mass(k: Any, mu: Any) -> Any:
    safe = inside(k >= 0, k, 0.0)
    return np.where(k >= 0, _xlogy(safe, mu) - mu - gammas.lgamma(safe + 1), -np.inf)


def _poisson_cdf(k: Any, mu: Any) -> Any:
    return np.where(k >= 0, gammas.gammaincc(inside(k >= 0, k, 0.0) + 1, mu), 0)


poisson = Discrete("poisson", _poisson_mass, _poisson_cdf)


def _log_choose(n: Any, k: Any) -> Any:
    return gammas.lgamma(n + 1) - gammas.lgamma(k + 1) - gammas.lgamma(n - k + 1)


def _binom_mass(k: Any, n: Any, p: Any) -> Any:
    mask = (k >= 0) & (k <= n)
    safe = inside(mask, k, 0.0)
    return np.where(mask, _log_choose(n, safe) + _xlogy(safe, p) + _xlog1py(n - safe, -p), -np.inf)


def _binom_cdf(k: Any, n: Any, p: Any) -> Any:
    mask = (k >= 0) & (k < n)
    safe = inside(mask, k, 0.0)
    trials = inside(mask, n, 1.0)
    made = gammas.betainc(trials - safe, safe + 1, 1 - p)
    return np.where(mask, made, np.where(k < 0, 0.0, 1.0))


binom = Discrete("binom", _binom_mass, _binom_cdf)


def _bernoulli_mass(k: Any, p: Any) -> Any:
    mask = (k == 0) | (k == 1)
    safe = inside(mask, k, 0.0)
    return np.where(mask, _xlogy(safe, p) + _xlog1py(1 - safe, -p), -np.inf)


bernoulli = Discrete(
    "bernoulli",
    _bernoulli_mass,
    lambda k, p: np.where(k < 0, 0.0, np.where(k < 1, 1 - p, 1.0)),
)


def _geom_mass(k: Any, p: Any) -> Any:
    safe = inside(k >= 1, k, 1.0)
    return np.where(k >= 1, _xlog1py(safe - 1, -p) + np.log(p), -np.inf)


geom = Discrete("geom", _geom_mass, lambda k, p: -np.expm1(np.maximum(k, 0) * np.log1p(-p)))


def _nbinom_mass(k: Any, n: Any, p: Any) -> Any:
    mask = k >= 0
    safe = inside(mask, k, 0.0)
    front = gammas.lgamma(safe + n) - gammas.lgamma(safe + 1) - gammas.lgamma(n)
    return np.where(mask, front + _xlogy(n, p) + _xlog1py(safe, -p), -np.inf)


nbinom = Discrete(
    "nbinom",
    _nbinom_mass,
    lambda k, n, p: np.where(k >= 0, gammas.betainc(n, inside(k >= 0, k, 0.0) + 1, p), 0),
)


# --- vectors ------------------------------------------------------------------------------------


class _MultivariateNormal:
    """The normal distribution of vectors."""

    def logpdf(self, x: Any, mean: Any = None, cov: Any = 1.0) -> Any:
        """The logarithm of the density of vectors along the last axis."""
        return eager(self._logpdf)(x, mean, cov)

    def pdf(self, x: Any, mean: Any = None, cov: Any = 1.0) -> Any:
        """The density."""
        return eager(lambda: np.exp(self._logpdf(x, mean, cov)))()

    def _logpdf(self, x: Any, mean: Any, cov: Any) -> Any:
        x, centre, spread_ = floats(x, 0.0 if mean is None else mean, cov)
        size = max(spread_.shape[-1:] + centre.shape[-1:], default=1)
        if spread_.ndim < 2:
            spread_ = np.eye(size, dtype=x.dtype) * spread_
        if x.ndim == 0 or (size == 1 and x.shape[-1] != 1):
            x = x[..., None]
        if x.shape[-1] != spread_.shape[-1]:
            raise ShapeError(f"multivariate_normal: vectors {x.shape}, covariance {spread_.shape}")
        factor: Any = cholesky(spread_)
        rest = (x - centre) + np.zeros(size, x.dtype)
        columns = np.moveaxis(rest, -1, 0).reshape(size, -1)
        scaled = solve_triangular(factor, columns, lower=True)
        squares = np.sum(scaled * scaled, axis=0).reshape(rest.shape[:-1])
        logarithm = np.sum(np.log(np.diagonal(factor)))
        return -0.5 * (squares + size * _LOG_TWO_PI) - logarithm


multivariate_normal: Final = _MultivariateNormal()


class _Dirichlet:
    """The distribution of shares."""

    def logpdf(self, x: Any, alpha: Any) -> Any:
        """The logarithm of the density; the components are along the first axis, as in SciPy."""
        return eager(self._logpdf)(x, alpha)

    def pdf(self, x: Any, alpha: Any) -> Any:
        """The density."""
        return eager(lambda: np.exp(self._logpdf(x, alpha)))()

    def _logpdf(self, x: Any, alpha: Any) -> Any:
        x, alpha = floats(x, alpha)
        if x.shape[0] + 1 == alpha.shape[0]:
            x = np.concatenate([x, 1 - np.sum(x, axis=0, keepdims=True)])
        weights = alpha.reshape(alpha.shape[0], *[1] * (x.ndim - 1))
        front = gammas.lgamma(np.sum(alpha)) - np.sum(gammas.lgamma(alpha))
        return front + np.sum(_xlogy(weights - 1, x), axis=0)


dirichlet: Final = _Dirichlet()


class _Multinomial:
    """The distribution of counts of several outcomes."""

    def logpmf(self, x: Any, n: Any, p: Any) -> Any:
        """The logarithm of the probability of counts along the last axis."""
        return eager(self._logpmf)(x, n, p)

    def pmf(self, x: Any, n: Any, p: Any) -> Any:
        """The probability."""
        return eager(lambda: np.exp(self._logpmf(x, n, p)))()

    def _logpmf(self, x: Any, n: Any, p: Any) -> Any:
        x, n, p = floats(x, n, p)
        made = gammas.lgamma(n + 1) + np.sum(_xlogy(x, p) - gammas.lgamma(x + 1), axis=-1)
        return np.where(np.sum(x, axis=-1) == n, made, -np.inf)


multinomial: Final = _Multinomial()


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"scipy.stats.{name} has no traced version; write its density with weft.scipy.special, or "
        "call SciPy's with wf.callback"
    )
