"""Random numbers of further distributions, made of uniform and normal ones.

Gradients flow to parameters wherever the distribution is continuous: through the formula where a
sample is one of its parameters and of noise without them, and implicitly for gamma, so also for
beta, dirichlet, chi-square and t. Where numbers are rejected, each element is tried again in rounds
of its own until all are accepted: the same key gives the same numbers on every backend.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from weft.compiler.ir import dtypes
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.dtypes import dtype as as_dtype
from weft.compiler.ir.errors import ShapeError
from weft.compiler.ir.types import Shape
from weft.frontends.numpy.functions.gammas import lgamma, log_sample_slope
from weft.frontends.numpy.functions.linalg import cholesky, qr
from weft.frontends.numpy.functions.normals import erfc, ndtri
from weft.frontends.numpy.functions.selection import take
from weft.frontends.random.drawing import draws, unknown
from weft.frontends.random.sampling import (
    categorical,
    fold_in,
    normal,
    permutation,
    randint,
    split,
    uniform,
)
from weft.frontends.regions.control import while_loop
from weft.frontends.regions.custom import CustomJvp
from weft.frontends.tracing import core
from weft.frontends.tracing.trace import ArrayLike

__all__ = [
    "beta",
    "binomial",
    "cauchy",
    "chisquare",
    "choice",
    "dirichlet",
    "exponential",
    "gamma",
    "geometric",
    "laplace",
    "loggamma",
    "logistic",
    "lognormal",
    "multivariate_normal",
    "orthogonal",
    "pareto",
    "poisson",
    "rademacher",
    "rayleigh",
    "t",
    "truncated_normal",
    "weibull",
]


def _parameters(dtype: Any, shape: Any, *given: ArrayLike) -> tuple[DType, Shape, list[Any]]:
    """The floating-point dtype, the shape of the result, and parameters stretched to it."""
    element = as_dtype(dtype)
    if not element.is_float:
        raise core.trace_error(f"random floats have a floating-point dtype, got {element}")
    values = [unknown(core.lift(parameter, element)) for parameter in given]
    common = core.broadcast_shapes(*[value.type.shape for value in values])
    target = common if shape is None else core.as_shape(shape)
    if core.broadcast_shapes(common, target) != target:
        raise ShapeError(f"parameters of shape {common} do not fit into the shape {target}")
    return element, target, [core.wrap(core.broadcast_value(v, target)) for v in values]


def _open_uniform(key: ArrayLike, target: Shape, dtype: DType) -> Any:
    """Uniform floats in (0, 1): neither end, so that logarithms stay finite."""
    half_step = np.finfo(dtype.numpy if dtype is not dtypes.bf16 else np.float32).eps / 4
    return uniform(key, target, dtype.name, low=half_step, high=1.0 - half_step)


def _scaled(standard: Any, loc: ArrayLike, scale: ArrayLike, dtype: DType, target: Shape) -> Any:
    """loc + scale times a standard number; operands that change nothing are left out."""
    _, _, (shift, factor) = _parameters(dtype.name, target, loc, scale)
    if isinstance(scale, float) and scale == 1.0:
        return standard if isinstance(loc, float) and loc == 0.0 else standard + shift
    made = standard * factor
    return made if isinstance(loc, float) and loc == 0.0 else made + shift


# --- by a formula -------------------------------------------------------------------------------


@draws
def exponential(key: ArrayLike, shape: Any = (), dtype: Any = "f64", scale: ArrayLike = 1.0) -> Any:
    """Exponential floats of mean `scale`."""
    element, target = as_dtype(dtype), core.as_shape(shape)
    drawn = -np.log1p(-uniform(key, target, element.name))
    return _scaled(drawn, 0.0, scale, element, target)


@draws
def laplace(
    key: ArrayLike,
    shape: Any = (),
    dtype: Any = "f64",
    loc: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
) -> Any:
    """Floats of the Laplace distribution."""
    element, target = as_dtype(dtype), core.as_shape(shape)
    u = _open_uniform(key, target, element)
    drawn = np.where(u < 0.5, np.log(2 * np.minimum(u, 0.5)), -np.log(2 - 2 * np.maximum(u, 0.5)))
    return _scaled(drawn, loc, scale, element, target)


@draws
def logistic(
    key: ArrayLike,
    shape: Any = (),
    dtype: Any = "f64",
    loc: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
) -> Any:
    """Floats of the logistic distribution."""
    element, target = as_dtype(dtype), core.as_shape(shape)
    drawn = _open_uniform(key, target, element)
    return _scaled(np.log(drawn) - np.log1p(-drawn), loc, scale, element, target)


@draws
def cauchy(
    key: ArrayLike,
    shape: Any = (),
    dtype: Any = "f64",
    loc: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
) -> Any:
    """Floats of the Cauchy distribution."""
    element, target = as_dtype(dtype), core.as_shape(shape)
    drawn = np.tan((_open_uniform(key, target, element) - 0.5) * math.pi)
    return _scaled(drawn, loc, scale, element, target)


@draws
def rayleigh(key: ArrayLike, shape: Any = (), dtype: Any = "f64", scale: ArrayLike = 1.0) -> Any:
    """The length of a vector of two normal floats of deviation `scale`."""
    element, target = as_dtype(dtype), core.as_shape(shape)
    drawn = np.sqrt(-2 * np.log(_open_uniform(key, target, element)))
    return _scaled(drawn, 0.0, scale, element, target)


@draws
def weibull(
    key: ArrayLike, a: ArrayLike, shape: Any = None, dtype: Any = "f64", scale: ArrayLike = 1.0
) -> Any:
    """Floats of the Weibull distribution of shape `a`."""
    element, target, (power, factor) = _parameters(dtype, shape, a, scale)
    drawn = -np.log(_open_uniform(key, target, element))
    return drawn ** (1 / power) * factor


@draws
def pareto(key: ArrayLike, b: ArrayLike, shape: Any = None, dtype: Any = "f64") -> Any:
    """Floats from 1 up with density b / x^(b + 1)."""
    element, target, (power,) = _parameters(dtype, shape, b)
    return np.exp(-np.log(_open_uniform(key, target, element)) / power)


@draws
def lognormal(
    key: ArrayLike,
    shape: Any = (),
    dtype: Any = "f64",
    mean: ArrayLike = 0.0,
    std: ArrayLike = 1.0,
) -> Any:
    """The exponentials of normal floats."""
    return np.exp(normal(key, shape, dtype, mean, std))


@draws
def truncated_normal(
    key: ArrayLike, lower: ArrayLike, upper: ArrayLike, shape: Any = None, dtype: Any = "f64"
) -> Any:
    """Standard normal floats between two limits, by the quantile; gradients flow to the limits.

    Where both limits are positive, the other tail is drawn, which has more digits.
    """
    element, target, (low, high) = _parameters(dtype, shape, lower, upper)
    is_turned = low > 0
    first = np.where(is_turned, -high, low)
    second = np.where(is_turned, -low, high)
    begin, end = [_normal_cdf(limit) for limit in (first, second)]
    drawn = _open_uniform(key, target, element)
    made = ndtri(begin + drawn * (end - begin))
    inside = np.minimum(np.maximum(made, first), second)
    return np.where(is_turned, -inside, inside)


def _normal_cdf(x: Any) -> Any:
    return 0.5 * erfc(x * -math.sqrt(0.5))


@draws
def multivariate_normal(
    key: ArrayLike, mean: ArrayLike, cov: ArrayLike, shape: Any = None, dtype: Any = "f64"
) -> Any:
    """Normal vectors of a mean and a covariance matrix, by its Cholesky factor; gradients flow to
    both. `shape` is that of the result without its last axis.
    """
    element = as_dtype(dtype)
    centre: Any = core.wrap(core.lift(mean, element))
    factor: Any = cholesky(core.wrap(unknown(core.lift(cov, element))))
    stack = core.broadcast_shapes(centre.shape[:-1], factor.shape[:-2])
    target = stack if shape is None else core.as_shape(shape)
    noise: Any = normal(key, (*target, centre.shape[-1]), element.name)
    return centre + (factor @ noise[..., None])[..., 0]


@draws
def orthogonal(key: ArrayLike, n: int, shape: Any = (), dtype: Any = "f64") -> Any:
    """Orthogonal matrices of n rows, each as likely as another.

    They are the first factors of normal matrices, with the signs that make the diagonal of the
    second ones positive.
    """
    noise = normal(key, (*core.as_shape(shape), n, n), as_dtype(dtype).name)
    q, r = qr(noise)
    signs = np.sign(np.diagonal(r, axis1=-2, axis2=-1))
    return q * signs[..., None, :]


@draws
def rademacher(key: ArrayLike, shape: Any = (), dtype: Any = "f64") -> Any:
    """-1 and 1, each with probability 1/2."""
    drawn: Any = randint(key, shape, 0, 2, "i8")
    return (2 * drawn - 1).astype(as_dtype(dtype).numpy)


@draws
def geometric(key: ArrayLike, p: ArrayLike, shape: Any = None, dtype: Any = "i64") -> Any:
    """The number of trials of probability `p` up to the first success."""
    element, target, (chance,) = _parameters("f64", shape, p)
    drawn = np.log(_open_uniform(key, target, element)) / np.log1p(-chance)
    return np.ceil(drawn).astype(as_dtype(dtype).numpy)


@draws
def choice(
    key: ArrayLike,
    a: ArrayLike,
    shape: Any = (),
    replace: bool = True,
    p: ArrayLike | None = None,
    axis: int = 0,
) -> Any:
    """Elements of an array along an axis, or of range(a), with probabilities `p`, or evenly."""
    is_number = isinstance(a, int | np.integer)
    options = operator.index(a) if is_number else core.lift(a).type.shape[axis]  # type: ignore[arg-type]
    target = core.as_shape(shape)
    count = core.product(target)
    if not replace and isinstance(options, int) and count > options:
        raise core.trace_error(f"choice: {count} of {options} without replacement are too many")
    if replace and p is None:
        places: Any = randint(key, target, 0, options)
    elif p is None:
        places = permutation(key, options)[:count].reshape(target)
    elif replace:
        chances: Any = core.wrap(unknown(core.lift(p)))
        places = categorical(key, np.log(chances), shape=target)
    else:
        # The largest sums of logarithm and Gumbel noise are a draw without replacement.
        weights: Any = core.wrap(unknown(core.lift(p, dtypes.f64)))
        noise = -np.log(-np.log(_open_uniform(key, (options,), dtypes.f64)))
        places = np.argsort(-(np.log(weights) + noise))[:count].reshape(target)
    return places if is_number else take(a, places, axis)


# --- gamma and what is made of it ---------------------------------------------------------------


def _rounds(attempt: Callable[[Any], tuple[Any, Any]], start: Any, is_done: Any) -> Any:
    """The first accepted number of each element: `attempt(round)` gives numbers and which of them
    are accepted.
    """

    def body(carry: Any) -> Any:
        count, made, done = carry
        number, accepted = attempt(count)
        return count + 1, np.where(done, made, number).astype(made.dtype), done | accepted

    def condition(carry: Any) -> Any:
        return ~np.all(carry[2]) & (carry[0] < 1000)

    return while_loop(condition, body, (0, start, is_done))[1]


@functools.cache
def _log_gamma() -> Callable[..., Any]:
    result = CustomJvp(_draw_log_gamma)

    @result.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        key, a = primals
        drawn = result(key, a)
        return drawn, tangents[1] * log_sample_slope(a, drawn)

    return result


def _draw_log_gamma(key: Any, a: Any) -> Any:
    """Logarithms of gamma numbers of shape a, by the method of Marsaglia and Tsang (2000).

    A shape below 1 is raised by 1, and the number multiplied by a power of a uniform one.
    """
    target, dtype = a.shape, core.lift(a).type.dtype
    boost_key, loop_key = split(key)
    is_small = a < 1
    d = np.where(is_small, a + 1, a) - 1 / 3
    c = 1 / np.sqrt(9 * d)

    def attempt(count: Any) -> tuple[Any, Any]:
        normal_key, uniform_key = split(fold_in(loop_key, count))
        x: Any = normal(normal_key, target, dtype.name)
        u = _open_uniform(uniform_key, target, dtype)
        root = 1 + c * x
        log_v = 3 * np.log(np.where(root > 0, root, 1.0))
        accepted = np.log(u) < 0.5 * x * x + d * (1 - np.exp(log_v) + log_v)
        return log_v, accepted & (root > 0)

    log_v = _rounds(attempt, np.zeros_like(a), np.isnan(a))
    log_u = np.log(_open_uniform(boost_key, target, dtype))
    boost = np.where(is_small, log_u / np.where(is_small, a, 1.0), 0.0)
    return (np.log(d) + log_v + boost).astype(a.dtype)


def _wide(element: DType) -> str:
    """The dtype in which numbers are tried: not half precision."""
    return "f32" if element.bits == 16 else element.name


@draws
def loggamma(key: ArrayLike, a: ArrayLike, shape: Any = None, dtype: Any = "f64") -> Any:
    """The logarithms of gamma floats of shape `a`, which do not underflow where `a` is small."""
    element = as_dtype(dtype)
    _, _, (power,) = _parameters(_wide(element), shape, a)
    return _log_gamma()(key, power).astype(element.numpy)


@draws
def gamma(
    key: ArrayLike, a: ArrayLike, shape: Any = None, dtype: Any = "f64", scale: ArrayLike = 1.0
) -> Any:
    """Gamma floats of shape `a` and a scale; gradients flow to both, to `a` implicitly.

    >>> import numpy as np, weft as wf
    >>> key = wf.random.key(0)
    >>> mean = lambda a: np.mean(wf.random.gamma(key, a, (10000,)))
    >>> bool(abs(mean(3.0) - 3) < 0.1 and abs(wf.grad(mean)(3.0) - 1) < 0.05)
    True
    """
    element = as_dtype(dtype)
    _, target, (power, _) = _parameters(_wide(element), shape, a, scale)
    drawn = np.exp(_log_gamma()(key, power)).astype(element.numpy)
    return _scaled(drawn, 0.0, scale, element, target)


@draws
def chisquare(key: ArrayLike, df: ArrayLike, shape: Any = None, dtype: Any = "f64") -> Any:
    """Sums of `df` squares of normal floats; `df` need not be whole."""
    _, target, (freedom,) = _parameters(dtype, shape, df)
    return 2 * gamma(key, freedom * 0.5, target, dtype)


@draws
def t(key: ArrayLike, df: ArrayLike, shape: Any = None, dtype: Any = "f64") -> Any:
    """Floats of Student's distribution with `df` degrees of freedom."""
    first, second = split(key)
    _, target, (freedom,) = _parameters(dtype, shape, df)
    noise: Any = normal(first, target, dtype)
    spread: Any = gamma(second, freedom * 0.5, target, dtype)
    return noise * np.sqrt(freedom / (2 * spread))


@draws
def beta(key: ArrayLike, a: ArrayLike, b: ArrayLike, shape: Any = None, dtype: Any = "f64") -> Any:
    """Floats of the beta distribution, as the share of one of two gamma floats."""
    element = as_dtype(dtype)
    first, second = split(key)
    _, _, (one, other) = _parameters(_wide(element), shape, a, b)
    left, right = _log_gamma()(first, one), _log_gamma()(second, other)
    share = 1 / (1 + np.exp(right - left))
    return share.astype(element.numpy)


@draws
def dirichlet(key: ArrayLike, alpha: ArrayLike, shape: Any = None, dtype: Any = "f64") -> Any:
    """Vectors of the Dirichlet distribution along the last axis, as shares of gamma floats.

    `shape` is that of the result without its last axis.
    """
    element = as_dtype(dtype)
    weights = core.lift(alpha, element)
    if not weights.type.rank:
        raise ShapeError("dirichlet: alpha has at least one axis")
    target = None
    if shape is not None:
        target = (*core.as_shape(shape), weights.type.shape[-1])
    _, _, (power,) = _parameters(_wide(element), target, core.wrap(weights))
    drawn = _log_gamma()(key, power)
    shifted = np.exp(drawn - np.max(drawn, axis=-1, keepdims=True))
    return (shifted / np.sum(shifted, -1, keepdims=True)).astype(element.numpy)


# --- counts -------------------------------------------------------------------------------------


@draws
def poisson(key: ArrayLike, lam: ArrayLike, shape: Any = None, dtype: Any = "i64") -> Any:
    """Counts of events of mean `lam`; no gradient flows, as they are whole numbers."""
    _, target, (mean,) = _parameters("f64", shape, lam)
    first, second = split(key)
    is_large = mean >= 10
    few = _poisson_of_few(first, np.where(is_large, 1.0, mean), target)
    many = _poisson_of_many(second, np.where(is_large, mean, 16.0), target)
    return np.where(is_large, many, few).astype(as_dtype(dtype).numpy)


def _poisson_of_few(key: Any, mean: Any, target: Shape) -> Any:
    """How many uniform numbers can be multiplied until they fall below e^-mean (Knuth)."""

    def body(carry: Any) -> Any:
        count, made, logarithm = carry
        logarithm = logarithm + np.log(_open_uniform(fold_in(key, count), target, dtypes.f64))
        return count + 1, made + (logarithm > -mean), logarithm

    def condition(carry: Any) -> Any:
        return np.any(carry[2] > -mean) & (carry[0] < 1000)

    start = (0, np.zeros_like(mean), np.zeros_like(mean))
    return while_loop(condition, body, start)[1]


def _poisson_of_many(key: Any, mean: Any, target: Shape) -> Any:
    """Transformed rejection: the method PTRS of Hormann (1993)."""
    root = np.sqrt(mean)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    ratio = 0.9277 - 3.6224 / (b - 2)

    def attempt(count: Any) -> tuple[Any, Any]:
        first, second = split(fold_in(key, count))
        u = _open_uniform(first, target, dtypes.f64) - 0.5
        v = _open_uniform(second, target, dtypes.f64)
        distance = 0.5 - np.abs(u)
        k = np.floor((2 * a / distance + b) * u + mean + 0.43)
        is_quick = (distance >= 0.07) & (v <= ratio)
        is_out = (k < 0) | ((distance < 0.013) & (v > distance))
        safe = np.maximum(k, 0.0)
        left = np.log(v * inverse_alpha / (a / (distance * distance) + b))
        right = safe * np.log(mean) - mean - lgamma(safe + 1)
        return k, is_quick | (~is_out & (left <= right))

    return _rounds(attempt, np.zeros_like(mean), np.isnan(mean))


@draws
def binomial(
    key: ArrayLike, n: ArrayLike, p: ArrayLike, shape: Any = None, dtype: Any = "i64"
) -> Any:
    """How many of `n` trials of probability `p` succeed; no gradient flows."""
    _, target, (trials, chance) = _parameters("f64", shape, n, p)
    first, second = split(key)
    is_turned = chance > 0.5
    q = np.where(is_turned, 1 - chance, chance)
    is_large = trials * q >= 10
    few = _binomial_of_few(first, np.where(is_large, 1.0, trials), np.where(is_large, 0.5, q))
    many = _binomial_of_many(second, np.where(is_large, trials, 40.0), np.where(is_large, q, 0.5))
    made = np.where(is_large, many, few)
    made = np.where(is_turned, trials - made, made)
    return made.astype(as_dtype(dtype).numpy)


def _binomial_of_few(key: Any, trials: Any, q: Any) -> Any:
    """Successes found by the number of failures before each, which is geometric."""
    target = trials.shape
    slope = np.log1p(-np.where(q > 0, q, 0.5))

    def body(carry: Any) -> Any:
        count, made, used = carry
        drawn = np.log(_open_uniform(fold_in(key, count), target, dtypes.f64))
        used = used + np.ceil(drawn / slope)
        return count + 1, made + (used <= trials), used

    def condition(carry: Any) -> Any:
        return np.any(carry[2] <= trials) & (carry[0] < 1000)

    start = (0, np.zeros_like(trials), np.where(q > 0, 0.0, trials + 1))
    return while_loop(condition, body, start)[1]


def _binomial_of_many(key: Any, trials: Any, q: Any) -> Any:
    """Transformed rejection: the method BTRS of Hormann (1993)."""
    target = trials.shape
    spread = np.sqrt(trials * q * (1 - q))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * q
    c = trials * q + 0.5
    ratio = 0.92 - 4.2 / b
    alpha = (2.83 + 5.1 / b) * spread
    mode = np.floor((trials + 1) * q)
    odds = np.log(q / (1 - q))
    top = lgamma(mode + 1) + lgamma(trials - mode + 1)

    def attempt(count: Any) -> tuple[Any, Any]:
        first, second = split(fold_in(key, count))
        u = _open_uniform(first, target, dtypes.f64) - 0.5
        v = _open_uniform(second, target, dtypes.f64)
        distance = 0.5 - np.abs(u)
        k = np.floor((2 * a / distance + b) * u + c)
        is_quick = (distance >= 0.07) & (v <= ratio)
        is_in = (k >= 0) & (k <= trials)
        safe = np.minimum(np.maximum(k, 0.0), trials)
        left = np.log(v * alpha / (a / (distance * distance) + b))
        right = top - lgamma(safe + 1) - lgamma(trials - safe + 1) + (safe - mode) * odds
        return k, is_in & (is_quick | (left <= right))

    return _rounds(attempt, np.zeros_like(trials), np.isnan(trials * q))
