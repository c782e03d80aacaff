"""Statistics and learning: filters, mixtures, clusters, trees, chains, networks."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.programs.entries.entry import Entry, Keywords, Random
from tests.programs.packages import (
    autoregress,
    boosting,
    dbscan,
    gaussproc,
    hmm,
    kalman,
    kmeans,
    layers,
    mcmc,
    mixture,
    particles,
    picogpt,
    structural,
    trees,
)


def _positions(r: Random, size: int) -> tuple[Any, ...]:
    zs = np.cumsum(r.normal(size=(12 * size, 2)), axis=0)
    zs[4::7] = np.nan
    return (zs,)


def _ranges(r: Random, size: int) -> tuple[Any, ...]:
    landmarks = np.array([[-1.0, 2.0], [5.0, 10.0], [12.0, 14.0], [18.0, 21.0]])
    t = np.arange(1, 4 + 2 * size)
    path = np.stack([t, 1.4 * t], axis=1)
    seen = np.linalg.norm(path[:, None] - landmarks, axis=2)
    return seen + 0.1 * r.normal(size=seen.shape), landmarks


def _blobs(r: Random, n: int, d: int = 2) -> Any:
    return r.normal(size=(n, d)) + 5.0 * r.integers(0, 3, size=(n, 1))


def _symbols(r: Random, size: int) -> tuple[Any, ...]:
    k, symbols = 3, 4
    transition, emission = r.random((k, k)) + 0.1, r.random((k, symbols)) + 0.1
    transition /= transition.sum(axis=1, keepdims=True)
    emission /= emission.sum(axis=1, keepdims=True)
    return r.integers(0, symbols, 12 * size), np.full(k, 1 / k), transition, emission


def _forest(r: Random, size: int) -> list[tuple[Any, ...]]:
    """Trees of depth 3, with 7 nodes inside and 8 leaves."""
    made = []
    for _ in range(3 * min(size, 30)):
        inside, nodes = 7, np.arange(15)
        feature = np.where(nodes < inside, r.integers(0, 4, 15), -1)
        left = np.where(nodes < inside, 2 * nodes + 1, 0)
        right = np.where(nodes < inside, 2 * nodes + 2, 0)
        default = r.integers(0, 2, 15).astype(bool)
        made.append((feature, r.normal(size=15), left, right, r.normal(size=15), default))
    return made


def _rows(r: Random, size: int) -> tuple[Any, ...]:
    X = r.normal(size=(6 * size, 4))
    X[r.random(X.shape) < 0.1] = np.nan
    return X, _forest(r, size)


def _responsibilities(r: Random, n: int, k: int) -> Any:
    made = r.random((n, k)) + 0.05
    return made / made.sum(axis=1, keepdims=True)


def _regression(r: Random, size: int) -> tuple[Any, ...]:
    X = r.uniform(-2, 2, size=(12 * size, 1))
    y = np.sin(2 * X[:, 0]) + 0.1 * r.normal(size=len(X))
    return X, y, np.linspace(-2, 2, 5 * size)[:, None]


def _chain(r: Random, size: int) -> tuple[Any, ...]:
    return np.zeros(2), np.ones(2), np.array([[2.0, 0.3], [0.3, 1.0]]), 60 * size


def _walkers(r: Random, size: int) -> tuple[Any, ...]:
    n, steps = 8, 5 * size
    picks = np.stack([[r.integers(0, n // 2, n // 2) for _ in range(2)] for _ in range(steps)])
    uniforms = r.random((steps, 2, 2, n // 2))
    return r.normal(size=(n, 2)), uniforms, picks, np.zeros(2), np.eye(2)


def _series(r: Random, n: int) -> Any:
    y = np.zeros(n)
    for t in range(2, n):
        y[t] = 0.6 * y[t - 1] - 0.3 * y[t - 2] + r.normal()
    return y


def _text(r: Random, size: int) -> Any:
    return r.integers(0, 20, 8), picogpt.random_params(r, width=8 * min(size, 16))


def _classes(r: Random, size: int) -> tuple[Any, ...]:
    y = r.integers(0, 3, 16 * size)
    return r.normal(size=(len(y), 4)) + y[:, None], y


ESTIMATION = (
    Entry(
        kalman.track,
        _positions,
        numbers=0,
        value=lambda result: result["log_likelihood"],
        others={
            "raises": lambda r: (r.normal(size=(5, 3)),),
            "filter only": lambda r: (r.normal(size=(5, 2)), 0.1, 0.3, 0.05, 1.02, False),
            "alpha": lambda r: (r.normal(size=(5, 2)), 0.1, 0.3, 0.05, 0.5),
        },
    ),
    Entry(particles.locate, _ranges, rtol=1e-7),
    Entry(particles.systematic_resample, lambda r, n: (r.dirichlet(np.ones(20 * n)), 0.37)),
    Entry(
        particles.residual_resample, lambda r, n: (r.dirichlet(np.ones(20 * n)), r.random(20 * n))
    ),
    Entry(
        particles.multinomial_resample,
        lambda r, n: (r.dirichlet(np.ones(20 * n)), r.random(20 * n)),
    ),
    Entry(
        hmm.score,
        _symbols,
        numbers=2,
        others={"raises": lambda r: (np.zeros(3, int), np.ones(3), np.eye(3), np.eye(3))},
    ),
    Entry(hmm.decode, _symbols),
    Entry(
        hmm.fit_gaussian,
        lambda r, n: (
            np.repeat(r.choice([0.0, 4.0], 6), 4 * n) + r.normal(size=24 * n),
            [0.5, 3.0],
        ),
        numbers=0,
        value=lambda result: result[0].sum(),
        rtol=1e-7,
    ),
    Entry(boosting.predict_raw, _rows, others={"raises": lambda r: (np.zeros(4), _forest(r, 1))}),
    Entry(
        boosting.predict_proba,
        _rows,
        others={"features": lambda r: (np.zeros((2, 4)), _forest(r, 1), Keywords(n_features=5))},
    ),
    Entry(
        trees.fit_predict,
        lambda r, n: (r.normal(size=(20 * n, 3)), r.normal(size=20 * n), r.normal(size=(5 * n, 3))),
        others={"raises": lambda r: (np.zeros((3, 2)), np.zeros(4), np.zeros((1, 2)))},
    ),
    Entry(
        kmeans.cluster,
        lambda r, n: (_blobs(r, 30 * n), 3),
        others={"raises": lambda r: (np.zeros((2, 2)), 3), "flat": lambda r: (np.zeros(9), 3)},
    ),
    Entry(
        mixture.fit_predict,
        lambda r, n: (_blobs(r, 30 * n), _responsibilities(r, 30 * n, 3)),
        rtol=1e-6,
        others={"raises": lambda r: (_blobs(r, 9), np.ones((9, 3)))},
    ),
    Entry(
        mixture.log_likelihood,
        lambda r, n: (
            _blobs(r, 30 * n),
            r.normal(size=(3, 2)),
            1 + r.random((3, 2)),
            np.ones(3) / 3,
        ),
        numbers=1,
        others={"raises": lambda r: (_blobs(r, 9), np.ones((3, 2)), np.zeros((3, 2)), np.ones(3))},
    ),
    Entry(
        dbscan.dbscan,
        lambda r, n: (_blobs(r, 30 * n), 1.0, 4),
        others={"raises": lambda r: (_blobs(r, 9), -1.0)},
    ),
    Entry(
        gaussproc.fit_predict,
        _regression,
        numbers=1,
        value=lambda result: result[0].sum() + result[2],
        rtol=1e-6,
        others={
            "raises": lambda r: (np.zeros(4), np.zeros(4), np.zeros((1, 1))),
            "constant": lambda r: (np.arange(4.0)[:, None], np.ones(4), np.zeros((1, 1))),
            "length": lambda r: (np.arange(4.0)[:, None], np.ones(4), np.zeros((1, 1)), -1.0),
        },
    ),
    Entry(
        gaussproc.log_marginal_likelihood,
        lambda r, n: (np.array([0.1, -0.3, -2.0]), *_regression(r, n)[:2]),
        numbers=0,
    ),
    Entry(gaussproc.next_sample, _regression, rtol=1e-6),
    Entry(
        mcmc.sample_gaussian,
        _chain,
        others={"raises": lambda r: (np.full(2, np.nan), np.ones(2), np.eye(2))},
    ),
    Entry(
        mcmc.stretch,
        _walkers,
        others={"raises": lambda r: (np.zeros((3, 2)), *_walkers(r, 1)[1:])},
    ),
    Entry(
        mcmc.gelman_rubin,
        lambda r, n: (r.normal(size=(3, 20 * n, 2)),),
        numbers=0,
        value=np.sum,
        others={"raises": lambda r: (r.normal(size=(1, 20, 2)),)},
    ),
    Entry(mcmc.autocorrelation_time, lambda r, n: (_series(r, 50 * n),), rtol=1e-6),
    Entry(
        autoregress.aryule,
        lambda r, n: (_series(r, 50 * n), 4),
        numbers=0,
        value=lambda result: result[1],
        others={"raises": lambda r: (_series(r, 9), 2, "none")},
    ),
    Entry(
        autoregress.arburg,
        lambda r, n: (_series(r, 30 * n), 3),
        numbers=0,
        value=lambda result: result[1],
        others={"raises": lambda r: (_series(r, 9), 0), "constant": lambda r: (np.ones(9), 3)},
    ),
    Entry(autoregress.fit_forecast, lambda r, n: (_series(r, 40 * n),), rtol=1e-7),
    Entry(
        autoregress.garch_filter,
        lambda r, n: (np.array([0.1, 0.1, 0.8]), r.normal(size=40 * n)),
        numbers=0,
        others={"infeasible": lambda r: ([-0.1, 0.1, 0.8], r.normal(size=9))},
    ),
    Entry(
        structural.decompose,
        lambda r, n: (np.where(r.random(15 * n) < 0.2, np.nan, np.cumsum(r.normal(size=15 * n))),),
        others={"raises": lambda r: (np.ones((2, 2)),), "negative": lambda r: (np.ones(3), -1.0)},
        rtol=1e-6,
    ),
    Entry(
        structural.log_likelihood,
        lambda r, n: (np.array([0.0, -1.0, -2.0]), np.cumsum(r.normal(size=20 * n))),
        numbers=0,
    ),
    Entry(
        picogpt.loss,
        lambda r, n: _text(r, n)[::-1],
        numbers=0,
        rtol=1e-8,
    ),
    Entry(picogpt.generate, _text),
    # The slope of a bias before a batch norm is zero up to rounding, which Adam makes steps of.
    Entry(
        layers.train,
        _classes,
        rtol=1e-7,
        atol=1e-7,
        others={"sgd": lambda r: (*_classes(r, 1), 4, "sgd")},
    ),
    Entry(layers.classify, _classes, rtol=1e-7),
    Entry(
        layers.convolutional_loss,
        lambda r, n: (
            r.normal(size=(2, 3, 3)),
            r.normal(size=(18, 3)),
            r.normal(size=(2 * n, 8, 8)),
            r.integers(0, 3, 2 * n),
        ),
        numbers=0,
    ),
)
