"""The log-density of a hierarchical regression: coefficients of groups are gathered by the rows of
the data, and their gradients are scattered back.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Function, Workload, gradient, normal

HALF_LOG_2PI = 0.9189385332046727


def log_density(xp: Any, size: Any) -> Function:
    """Normal observations around group intercepts and slopes with normal priors; scales are
    parameters by their logarithms.
    """

    def normal_density(x: Any, mean: Any, log_scale: Any) -> Any:
        z = (x - mean) * xp.exp(-log_scale)
        return -0.5 * z * z - log_scale - HALF_LOG_2PI

    def density(p: Any, group: Any, x: Any, y: Any) -> Any:
        prior = normal_density(p["mean"], 0.0, 0.0 * p["mean"])
        prior = xp.sum(prior + normal_density(p["log_scale"], 0.0, 0.0 * p["mean"]))
        prior = prior + xp.sum(normal_density(p["slopes"], p["mean"], p["log_scale"]))
        predicted = xp.sum(p["slopes"][group] * x, axis=1)
        noise = p["log_noise"]
        return prior - 0.5 * noise * noise + xp.sum(normal_density(y, predicted, noise))

    return density


def data(size: Any) -> tuple[Any, ...]:
    rows, groups, columns = size
    r = np.random.default_rng(0)
    parameters = {
        "mean": normal(columns, dtype="f8"),
        "log_scale": normal(columns, dtype="f8", seed=1, scale=0.3),
        "slopes": normal(groups, columns, dtype="f8", seed=2),
        "log_noise": np.float64(-0.2),
    }
    x = normal(rows, columns, dtype="f8", seed=3)
    return parameters, r.integers(0, groups, rows), x, normal(rows, dtype="f8", seed=4)


WORKLOADS = (
    Workload(
        "hierarchical",
        "statistics",
        "gradient of a hierarchical regression's log-density",
        log_density,
        data,
        {
            "100,000 rows, 1,000 groups": (100_000, 1_000, 4),
            "1,000 rows, 50 groups": (1_000, 50, 4),
        },
        (30, 4, 2),
        form=gradient(0),
        tolerance=1e-9,
        growth={n: (n, max(n // 100, 1), 4) for n in (100, 1000, 10_000, 100_000)},
    ),
)
