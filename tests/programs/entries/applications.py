"""Finance, economics, pictures, sound, text, queues."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.programs.entries.entry import Entry, Keywords, Random
from tests.programs.packages import (
    aiyagari,
    aligner,
    bonds,
    canny,
    carving,
    labelling,
    ngrams,
    options,
    queueing,
    synth,
)


def _picture(r: Random, size: int) -> Any:
    n = {1: 12, 10: 48}.get(size, 128)
    y, x = np.mgrid[:n, :n]
    return ((x - n / 2) ** 2 + (y - n / 3) ** 2 < (n / 4) ** 2) + 0.05 * r.random((n, n))


def _islands(r: Random, size: int) -> Any:
    n = {1: 7, 10: 32}.get(size, 100)
    return r.integers(0, 2, size=(n, n))


def _regions(r: Random, size: int) -> tuple[Any, ...]:
    labels, n = labelling.label(_islands(r, size))
    return labels, r.random(labels.shape), n


def _queue(r: Random, size: int) -> tuple[Any, ...]:
    return r.exponential(1.0, 20 * size), r.exponential(0.8, 20 * size)


def _tasks(r: Random, size: int) -> tuple[Any, ...]:
    n = 6 * size
    return r.random(n), np.tril(r.integers(0, 2, (n, n)), -1)


def _bonds(r: Random, size: int) -> tuple[Any, ...]:
    n = 3 * size
    return 90 + 20 * r.random(n), list(0.02 + 0.03 * r.random(n)), list(range(2, n + 2))


def _tokens(r: Random, n: int) -> Any:
    return np.minimum(r.integers(0, 6, n), r.integers(0, 6, n))


APPLICATIONS = (
    Entry(
        aiyagari.equilibrium,
        lambda r, n: (0.36, 0.08, 0.95, 0.01, 0.04, 2),
        rtol=1e-6,
        others={"raises": lambda r: (0.36, 0.08, 1.2)},
    ),
    Entry(aiyagari.tauchen, lambda r, n: (4 * n + 1, 0.9, 0.2)),
    Entry(
        aiyagari.stationary,
        lambda r, n: (np.array([[0.9, 0.1], [0.4, 0.6]]),),
        rtol=1e-7,
        others={"raises": lambda r: (np.array([[0.0, 2.0], [1.0, 0.0]]),)},
    ),
    Entry(
        options.binomial,
        lambda r, n: (100.0, 105.0, 0.05, 0.2, 1.0, 12 * n),
        numbers=0,
        value=lambda result: result[0],
        others={
            "call": lambda r: (100, 105, 0.05, 0.2, 1, 12, "call"),
            "raises": lambda r: (100.0, -5.0, 0.05, 0.2, 1.0),
            "arbitrage": lambda r: (100.0, 105.0, 0.9, 0.01, 1.0, 3),
        },
    ),
    Entry(
        options.implied_volatility,
        lambda r, n: (8.0, 100.0, 105.0, 0.05, 1.0),
        numbers=0,
        rtol=1e-7,
        others={"raises": lambda r: (1.0, 120.0, 105.0, 0.05, 1.0)},
    ),
    Entry(
        options.longstaff_schwartz,
        lambda r, n: (r.normal(size=(6, 40 * n)), 36.0, 40.0, 0.06, 0.2, 1.0),
        numbers=1,
        value=lambda result: result[0],
        rtol=1e-7,
    ),
    Entry(
        bonds.yield_to_maturity,
        lambda r, n: (95.0, 0.04),
        numbers=0,
        value=lambda result: result[0],
        rtol=1e-7,
        others={
            "raises": lambda r: (-1.0, 0.04),
            "frequency": lambda r: (95.0, 0.04, Keywords(frequency=3)),
            "far": lambda r: (500.0, 0.04),
        },
    ),
    Entry(
        bonds.portfolio,
        _bonds,
        numbers=0,
        value=lambda result: result["yields"].sum(),
        rtol=1e-7,
    ),
    Entry(
        bonds.bootstrap,
        lambda r, n: (0.02 + 0.01 * r.random(5 * n),),
        numbers=0,
        value=lambda result: result[0].sum() + result[2],
        others={"raises": lambda r: (np.array([0.1, 12.0, 0.1]),)},
    ),
    Entry(
        bonds.nelson_siegel,
        lambda r, n: (np.arange(0.0, 8 * n), 0.04, -0.02, 0.01, 2.0),
        numbers=1,
        value=np.sum,
        others={"scalar": lambda r: (0, 0.04, -0.02, 0.01, 2.0)},
    ),
    Entry(
        canny.canny,
        lambda r, n: (_picture(r, n),),
        others={
            "colour": lambda r: (r.random((8, 9, 3)),),
            "raises": lambda r: (_picture(r, 1), Keywords(kernel_size=4)),
            "thresholds": lambda r: (_picture(r, 1), Keywords(high=0.1, low=0.3)),
        },
    ),
    Entry(
        labelling.label,
        lambda r, n: (_islands(r, n),),
        others={
            "eight": lambda r: (_islands(r, 1), 2),
            "raises": lambda r: (_islands(r, 1), 3),
            "cube": lambda r: (np.zeros((2, 2, 2)),),
        },
    ),
    Entry(labelling.regionprops, _regions),
    Entry(
        carving.carve,
        lambda r, n: (_picture(r, n),),
        others={
            "colour": lambda r: (r.random((6, 7, 3)), 3),
            "raises": lambda r: (_picture(r, 1), 50),
        },
    ),
    Entry(
        aligner.align_local,
        lambda r, n: (r.integers(0, 4, 10 * n), r.integers(0, 4, 8 * n)),
        others={
            "scores": lambda r: (
                np.array([0, 1, 2]),
                np.array([0, 1, 1]),
                Keywords(match=1, mismatch=-2),
            )
        },
    ),
    Entry(
        aligner.align_global,
        lambda r, n: (r.integers(0, 4, 10 * n), r.integers(0, 4, 8 * n)),
        others={"raises": lambda r: (np.zeros(3, int), np.zeros(2, int), Keywords(gap_open=1.0))},
    ),
    Entry(
        synth.play,
        lambda r, n: (np.array([60, 64, 67]), np.array([0.9, 0.7, 0.8]), 400 * n),
        numbers=1,
        value=lambda result: (result[0] ** 2).sum(),
        rtol=1e-7,
        others={"raises": lambda r: ([60], [0.9], 400, 5000.0)},
    ),
    Entry(
        queueing.simulate,
        _queue,
        others={"raises": lambda r: (*_queue(r, 1), 0)},
    ),
    Entry(queueing.lindley, _queue, numbers=1, value=lambda result: result[0].sum()),
    Entry(
        queueing.makespan,
        lambda r, n: (r.random(9 * n),),
        others={"raises": lambda r: (np.array([1.0, -1.0]),)},
    ),
    Entry(
        queueing.topological_times,
        _tasks,
        numbers=0,
        value=lambda result: result[1],
        others={"raises": lambda r: (np.ones(2), np.array([[0, 1], [1, 0]]))},
    ),
    Entry(
        ngrams.perplexity,
        lambda r, n: (_tokens(r, 60 * n), _tokens(r, 20 * n), 6),
        others={"raises": lambda r: (np.array([1, 9]), np.array([1, 2]), 6)},
    ),
    Entry(ngrams.sample_text, lambda r, n: (_tokens(r, 60 * n), r.random(10 * n), 6)),
    Entry(ngrams.byte_pairs, lambda r, n: (_tokens(r, 60 * n), 4, 6)),
    Entry(
        ngrams.edit_distance,
        lambda r, n: (_tokens(r, 9 * n), _tokens(r, 8 * n)),
        others={"costs": lambda r: ([1, 2, 3], [1, 3], (1, 2, 3))},
    ),
)
