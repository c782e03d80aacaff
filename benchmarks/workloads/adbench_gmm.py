"""ADBench: the log-likelihood of a mixture of Gaussians with a Wishart prior, and its gradient.

The inverse square roots of the covariances are lower triangles: logarithms of the diagonal, then
what is below it, column by column.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarks.workload import Function, Workload, gradient, normal

GAMMA, EXTRA = 1.0, 0  # of the Wishart prior


def places(d: int) -> Any:
    """Where the entries of a triangle are in its list, and the place after all for the others."""
    index = np.full((d, d), d * (d - 1) // 2)
    columns, rows = np.triu_indices(d, 1)
    index[rows, columns] = np.arange(d * (d - 1) // 2)
    return index


def prior_constant(d: int) -> float:
    freedom = d + EXTRA + 1
    gammas = sum(math.lgamma(0.5 * (freedom - j)) for j in range(d))
    log_gamma = 0.25 * d * (d - 1) * math.log(math.pi) + gammas
    return freedom * d * (math.log(GAMMA) - 0.5 * math.log(2.0)) - log_gamma


def log_likelihood(xp: Any, size: Any) -> Function:
    n, d, k = size
    index, constant = places(d), -n * d * 0.5 * math.log(2 * math.pi) - k * prior_constant(d)
    eye = np.eye(d)

    def logsumexp(x: Any) -> Any:
        largest = xp.max(x, axis=-1, keepdims=True)
        return (largest + xp.log(xp.sum(xp.exp(x - largest), axis=-1, keepdims=True)))[..., 0]

    def total(alphas: Any, means: Any, triangles: Any, x: Any) -> Any:
        logs, below = triangles[:, :d], triangles[:, d:]
        scales = xp.exp(logs)
        padded = xp.concatenate((below, 0.0 * below[:, :1]), axis=1)
        roots = padded[:, index] + scales[:, :, None] * xp.asarray(eye)
        centred = (x[None, :, :] - means[:, None, :]) @ roots.swapaxes(1, 2)
        squares = xp.sum(centred * centred, axis=2)
        inner = (alphas + xp.sum(logs, axis=1))[:, None] - 0.5 * squares
        fit = xp.sum(logsumexp(inner.swapaxes(0, 1))) - n * logsumexp(alphas)
        spread = 0.5 * GAMMA**2 * (xp.sum(scales * scales) + xp.sum(below * below))
        return constant + fit + spread - EXTRA * xp.sum(logs)

    return total


def mixture(size: Any) -> tuple[Any, ...]:
    n, d, k = size
    return (
        normal(k, dtype="f8"),
        normal(k, d, dtype="f8", seed=1),
        normal(k, d * (d + 1) // 2, dtype="f8", seed=2, scale=0.3),
        normal(n, d, dtype="f8", seed=3),
    )


WORKLOADS = (
    Workload(
        "adbench-gmm",
        "adbench",
        "gradient of the likelihood of a mixture of Gaussians, f64",
        log_likelihood,
        mixture,
        {"n=1000 d=10 k=25": (1000, 10, 25), "n=10,000 d=32 k=50": (10_000, 32, 50)},
        (7, 3, 2),
        form=gradient(0, 1, 2),
        tolerance=1e-9,
    ),
)
