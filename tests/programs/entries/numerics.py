"""Numerical methods: linear systems, minimisers, interpolation, transforms."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.programs.entries.entry import Entry, Random
from tests.programs.packages import (
    csr,
    curvefit,
    fourier,
    krylov,
    lombscargle,
    minimise,
    splines,
    wavelets,
)


def _system(r: Random, n: int) -> tuple[Any, ...]:
    made = r.normal(size=(n, n))
    return made @ made.T + n * np.eye(n), r.normal(size=n)


def _general(r: Random, n: int) -> tuple[Any, ...]:
    return r.normal(size=(n, n)) + n * np.eye(n), r.normal(size=n)


def _sparse(r: Random, size: int) -> tuple[Any, ...]:
    """Data, indices and row pointers of a dominant matrix, and a right side."""
    n = 8 * size
    dense = np.where(r.random((n, n)) < 3 / n, r.normal(size=(n, n)), 0.0)
    dense += dense.T
    np.fill_diagonal(dense, np.abs(dense).sum(axis=1) + 1)
    rows, cols = np.nonzero(dense)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
    return dense[rows, cols], cols, indptr, r.normal(size=n)


def _decay(r: Random, size: int) -> tuple[Any, ...]:
    t = np.linspace(0, 4, 20 * size)
    return t, 2 * np.exp(-0.8 * t) + 0.3 + 0.01 * r.normal(size=t.size)


def _peak(r: Random, size: int) -> tuple[Any, ...]:
    x = np.linspace(-3, 3, 25 * size)
    y = 3 / (1 + ((x - 0.4) / 0.7) ** 2) + 0.01 * r.normal(size=x.size)
    return x, y, np.full(x.size, 0.1), 0.2


def _knots(r: Random, size: int) -> tuple[Any, ...]:
    x = np.cumsum(0.2 + r.random(8 * size))
    return x, np.sin(x), np.linspace(x[0] - 0.1, x[-1] + 0.1, 11 * size)


def _stars(r: Random, size: int) -> tuple[Any, ...]:
    t = np.sort(10 * r.random(30 * size))
    y = np.sin(2 * np.pi * 1.3 * t) + 0.1 * r.normal(size=t.size)
    return t, y, 0.1 + 0.1 * np.arange(25 * size)


def _links(r: Random, size: int) -> tuple[Any, ...]:
    n = 10 * size
    return r.integers(0, n, 4 * n), r.integers(0, n, 4 * n), n


def _noisy(r: Random, n: int) -> Any:
    return np.sin(np.linspace(0, 9, n)) + 0.2 * r.normal(size=n)


NUMERICS = (
    Entry(
        krylov.cg,
        lambda r, n: _system(r, 12 * n),
        numbers=1,
        value=lambda result: result[0].sum(),
        rtol=1e-6,
        others={
            "raises": lambda r: (-_system(r, 5)[0], np.ones(5)),
            "zero": lambda r: (_system(r, 5)[0], np.zeros(5)),
            "unfit": lambda r: (np.eye(3), np.ones(4)),
            "start": lambda r: (*_system(r, 5), np.ones(5)),
        },
    ),
    Entry(
        krylov.bicgstab,
        lambda r, n: _general(r, 12 * n),
        numbers=1,
        value=lambda result: result[0].sum(),
        rtol=1e-6,
    ),
    Entry(
        krylov.gmres,
        lambda r, n: _general(r, 14 * n),
        numbers=1,
        value=lambda result: result[0].sum(),
        rtol=1e-6,
        others={"raises": lambda r: (np.ones((2, 3)), np.ones(2))},
    ),
    Entry(
        csr.gauss_seidel,
        _sparse,
        numbers=3,
        value=lambda result: result[0].sum(),
        rtol=1e-6,
        others={
            "raises": lambda r: (np.ones(2), np.array([1, 0]), np.array([0, 1, 2]), np.ones(2)),
            "unfit": lambda r: (np.ones(2), np.array([1, 0]), np.array([0, 1]), np.ones(2)),
        },
    ),
    Entry(csr.relax, lambda r, n: (r.normal(size=8 * n), *_sparse(r, n))),
    Entry(csr.pcg, _sparse, numbers=3, value=lambda result: result[0].sum(), rtol=1e-6),
    Entry(csr.pagerank, _links, rtol=1e-6),
    Entry(
        minimise.minimise_rosenbrock,
        lambda r, n: (np.array([-1.0, 1.5, 0.3][: 2 + (n > 1)]),),
        rtol=1e-4,
        others={
            "simplex": lambda r: (np.array([-1.0, 1.5]), "Nelder-Mead"),
            "raises": lambda r: (np.zeros(2), "newton"),
            "ints": lambda r: (np.array([-1, 2]),),
        },
    ),
    Entry(
        curvefit.fit_decay,
        _decay,
        numbers=1,
        value=lambda result: result[0]["rate"][0],
        rtol=1e-5,
        others={"raises": lambda r: (np.zeros(4), np.zeros(5)), "few": lambda r: ([1.0], [2.0])},
    ),
    Entry(curvefit.fit_peak, _peak, numbers=1, value=lambda result: result[0].sum(), rtol=1e-5),
    Entry(
        splines.resample,
        _knots,
        numbers=1,
        value=lambda result: result[0].sum() + result[1].sum(),
        others={
            "pchip": lambda r: (*_knots(r, 1), "pchip"),
            "raises": lambda r: (np.array([0.0, 2, 1, 3]), np.zeros(4), np.zeros(2)),
            "lengths": lambda r: (np.arange(4.0), np.zeros(5), np.zeros(2)),
            "infinite": lambda r: (np.array([0.0, 1, 2, np.inf]), np.zeros(4), np.zeros(2)),
        },
    ),
    Entry(splines.integrate_samples, lambda r, n: (*_knots(r, n)[:2], 1.0, 3.0), numbers=1),
    Entry(
        fourier.fft,
        lambda r, n: (r.normal(size=16 * n),),
        others={
            "bluestein": lambda r: (r.normal(size=12),),
            "complex": lambda r: (r.normal(size=8) + 1j,),
            "raises": lambda r: (np.zeros(0),),
        },
    ),
    Entry(
        fourier.fft_recursive,
        lambda r, n: (r.normal(size={1: 16, 10: 256}.get(n, 2048)),),
        others={"raises": lambda r: (np.ones(6),)},
    ),
    Entry(
        fourier.fft_in_place,
        lambda r, n: (r.normal(size={1: 16, 10: 256}.get(n, 2048)) + 0j,),
        others={"raises": lambda r: (np.ones(6) + 0j,)},
    ),
    Entry(fourier.dct2, lambda r, n: (r.normal(size=16 * n),), numbers=0, value=np.sum),
    Entry(
        fourier.power_spectrum,
        lambda r, n: (r.normal(size=64 * n), 2.0),
        numbers=0,
        value=lambda result: result[1][2],
        others={"raises": lambda r: (np.ones(6),), "window": lambda r: (np.ones(40), 1.0, 8)},
    ),
    Entry(
        wavelets.wavedec,
        lambda r, n: (_noisy(r, 32 * n), "db2"),
        numbers=0,
        value=lambda result: sum((c**2).sum() for c in result),
        others={
            "raises": lambda r: (np.ones(8), "haar", 9),
            "name": lambda r: (np.ones(8), "sym4"),
            "odd": lambda r: (_noisy(r, 21),),
        },
    ),
    Entry(
        wavelets.denoise,
        lambda r, n: (_noisy(r, 32 * n),),
        numbers=0,
        value=lambda result: (result[0] ** 2).sum(),
        others={"hard": lambda r: (_noisy(r, 32), "haar", 3, "hard")},
    ),
    Entry(
        lombscargle.periodogram,
        _stars,
        numbers=1,
        value=lambda result: result[3],
        others={
            "errors": lambda r: (*_stars(r, 1), np.full(30, 0.2)),
            "chi2": lambda r: (*_stars(r, 1), None, "chi2"),
            "trig": lambda r: (*_stars(r, 1), None, "trig", "model"),
            "raises": lambda r: (*_stars(r, 1), None, "fast"),
            "normalization": lambda r: (*_stars(r, 1), None, "slow", "none"),
        },
        rtol=1e-7,
    ),
    Entry(lombscargle.best_period, _stars, rtol=1e-7),
)
