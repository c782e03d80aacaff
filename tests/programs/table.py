"""The programs under `source`: their functions, and arguments small and large. All of them are
written for NumPy alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.programs.source import (
    alignment,
    bayes,
    bodies,
    clustering,
    colours,
    convolution,
    elements,
    factorisations,
    fitting,
    heat,
    hulls,
    images,
    islands,
    iterations,
    kalman,
    life,
    mandelbrot,
    markov,
    ode,
    options,
    paths,
    sampling,
    seams,
    spins,
    sweeps,
    volatility,
)

Random = np.random.Generator
Inputs = Callable[[Random, bool], tuple[Any, ...]]


@dataclass(frozen=True)
class Program:
    """A function, what it is called with (large: as in benchmarks), and which of its arguments are
    Python values.
    """

    function: Callable[..., Any]
    inputs: Inputs
    static: tuple[int, ...] = ()
    rtol: float = 1e-9

    @property
    def name(self) -> str:
        return self.function.__name__

    def arguments(self, large: bool = False) -> tuple[Any, ...]:
        return self.inputs(np.random.default_rng(7), large)


def _kmeans(r: Random, large: bool) -> tuple[Any, ...]:
    n, k = (20_000, 8) if large else (200, 4)
    points = r.normal(size=(n, 2)) + r.integers(0, 3, size=(n, 1)) * 4.0
    return points, points[:k].copy(), 30


def _life(r: Random, large: bool) -> tuple[Any, ...]:
    size, steps = (256, 100) if large else (16, 20)
    return r.integers(0, 2, size=(size, size)), steps


def _plane(large: bool) -> tuple[Any, Any]:
    width, height = (240, 160) if large else (24, 16)
    return np.linspace(-2.0, 0.5, width), np.linspace(-1.1, 1.1, height)


def _mandelbrot(r: Random, large: bool) -> tuple[Any, ...]:
    xs, ys = _plane(large)
    return xs[None, :] + 1j * ys[:, None], 60


def _pixels(r: Random, large: bool) -> tuple[Any, ...]:
    return (*_plane(large), 60)


def _heat(r: Random, large: bool) -> tuple[Any, ...]:
    size, steps = (256, 200) if large else (20, 30)
    return r.random((size, size)), 0.2, steps


def _rod(r: Random, large: bool) -> tuple[Any, ...]:
    return r.random(200 if large else 30), 0.25, 1e-5 if large else 1e-3


def _positive(r: Random, n: int) -> Any:
    made = r.normal(size=(n, n))
    return made @ made.T + n * np.eye(n)


def _cholesky(r: Random, large: bool) -> tuple[Any, ...]:
    return (_positive(r, 96 if large else 12),)


def _lu(r: Random, large: bool) -> tuple[Any, ...]:
    return (r.normal(size=(48, 48) if large else (7, 7)),)


def _gram_schmidt(r: Random, large: bool) -> tuple[Any, ...]:
    return (r.normal(size=(400, 80) if large else (20, 6)),)


def _convolution(r: Random, large: bool) -> tuple[Any, ...]:
    return r.normal(size=60_000 if large else 100), r.normal(size=500 if large else 7)


def _overlap(r: Random, large: bool) -> tuple[Any, ...]:
    block = 3_000 if large else 16
    return r.normal(size=20 * block), r.normal(size=500 if large else 7), block


def _floyd(r: Random, large: bool) -> tuple[Any, ...]:
    n = 160 if large else 12
    distances = np.where(r.random((n, n)) < 0.3, r.random((n, n)), np.inf)
    np.fill_diagonal(distances, 0.0)
    return (distances,)


def _conjugate(r: Random, large: bool) -> tuple[Any, ...]:
    n = 300 if large else 20
    return _positive(r, n), r.normal(size=n), 1e-8


def _power(r: Random, large: bool) -> tuple[Any, ...]:
    return _positive(r, 200 if large else 10), 1e-12


def _kalman(r: Random, large: bool) -> tuple[Any, ...]:
    steps = 2_000 if large else 40
    transition = np.array([[1.0, 0.1, 0.0], [0.0, 1.0, 0.1], [0.0, 0.0, 0.9]])
    observation = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    z = np.cumsum(r.normal(size=(steps, 2)), axis=0)
    z[::7] = np.nan
    return z, transition, observation, 0.05 * np.eye(3), 0.3 * np.eye(2)


def _bodies(r: Random, large: bool) -> tuple[Any, ...]:
    n, steps = (100, 100) if large else (6, 20)
    return r.normal(size=(n, 3)), 0.1 * r.normal(size=(n, 3)), r.random(n), 0.01, steps


def _black_scholes(r: Random, large: bool) -> tuple[Any, ...]:
    n = 200_000 if large else 50
    return 50 + 50 * r.random(n), 50 + 50 * r.random(n), 0.1 + r.random(n), 0.02, 0.3


def _barrier(r: Random, large: bool) -> tuple[Any, ...]:
    shape = (250, 4_000) if large else (30, 50)
    return r.normal(size=shape), 100.0, 95.0, 140.0, 0.02, 0.25, 1.0


def _smith(r: Random, large: bool) -> tuple[Any, ...]:
    n, m = (200, 180) if large else (14, 11)
    return r.integers(0, 4, n), r.integers(0, 4, m), 3.0, -1.0, -2.0


def _edit(r: Random, large: bool) -> tuple[Any, ...]:
    n, m = (300, 280) if large else (20, 18)
    return r.integers(0, 4, n), r.integers(0, 4, m)


def _fitting(r: Random, large: bool) -> tuple[Any, ...]:
    t = np.linspace(0.0, 4.0, 5_000 if large else 60)
    y = 2.0 * np.exp(-0.7 * t) + 1.0 * np.exp(-3.0 * t) + 0.01 * r.normal(size=t.size)
    return t, y, np.array([1.0, 0.5, 0.5, 2.0]), 1e-6


def _ode(r: Random, large: bool) -> tuple[Any, ...]:
    return np.array([2.0, 0.0]), 60.0 if large else 6.0, 3.0, 1e-7


def _sampling(r: Random, large: bool) -> tuple[Any, ...]:
    n, dim = (1_000, 10) if large else (25, 4)
    precision = _positive(r, dim) / dim
    return np.zeros(dim), precision, r.normal(size=(n, dim)), r.random(n), 0.2, 12


def _filter(r: Random, large: bool) -> tuple[Any, ...]:
    size = (512, 512) if large else (12, 15)
    return r.random(size), r.random((5, 5))


def _image(r: Random, large: bool) -> tuple[Any, ...]:
    return (r.random((512, 512) if large else (12, 15)),)


def _small_image(r: Random, large: bool) -> tuple[Any, ...]:
    return (r.random((96, 128) if large else (12, 15)),)


def _viterbi(r: Random, large: bool) -> tuple[Any, ...]:
    steps, states, symbols = (1_000, 8, 20) if large else (30, 3, 4)
    transition, emission = r.random((states, states)), r.random((states, symbols))
    transition /= transition.sum(axis=1, keepdims=True)
    emission /= emission.sum(axis=1, keepdims=True)
    return np.full(states, 1 / states), transition, emission, r.integers(0, symbols, steps)


def _classes(r: Random, large: bool) -> tuple[Any, ...]:
    n = 20_000 if large else 60
    labels = r.integers(0, 3, n)
    return r.normal(size=(n, 4)) + labels[:, None], labels, 3


def _spins(r: Random, large: bool) -> tuple[Any, ...]:
    size, steps = (64, 20_000) if large else (8, 200)
    sites = r.integers(0, size, (steps, 2))
    return r.choice([-1, 1], (size, size)), r.random(steps), sites, 0.44


def _points(r: Random, large: bool) -> tuple[Any, ...]:
    return (r.random((400 if large else 20, 2)),)


def _colours(r: Random, large: bool) -> tuple[Any, ...]:
    return (r.random((256, 256, 3) if large else (9, 7, 3)),)


def _returns(r: Random, large: bool) -> tuple[Any, ...]:
    return 0.01 * r.normal(size=5_000 if large else 60), 1e-6, 0.1, 0.85


def _land(r: Random, large: bool) -> tuple[Any, ...]:
    return (r.integers(0, 2, (64, 64) if large else (9, 8)),)


def _rows(r: Random, large: bool) -> tuple[Any, ...]:
    return r.normal(size=(2_000, 300) if large else (40, 7)), 0.9


def _columns(r: Random, large: bool) -> tuple[Any, ...]:
    return r.normal(size=(300, 2_000) if large else (7, 40)), 0.9


def _bands(r: Random, large: bool) -> tuple[Any, ...]:
    shape = (500, 200) if large else (20, 5)
    below, middle, above, right = r.random((4, *shape))
    return below, middle + 3.0, above, right


def _square(r: Random, large: bool) -> tuple[Any, ...]:
    return r.random((200, 200) if large else (24, 24)), 0.5, 10


def _relaxed(r: Random, large: bool) -> tuple[Any, ...]:
    return r.random((200, 200) if large else (24, 24)), 20


def _knapsack(r: Random, large: bool) -> tuple[Any, ...]:
    count, room = (200, 1_000) if large else (9, 40)
    return r.integers(1, 50 if large else 9, count), r.random(count), room


def _unsorted(r: Random, large: bool) -> tuple[Any, ...]:
    return (r.random((500, 20) if large else (40, 3)),)


def _signal(r: Random, large: bool) -> tuple[Any, ...]:
    return r.normal(size=200_000 if large else 60), 0.2, 0.3, 0.2, -0.5, 0.2


def _signals(r: Random, large: bool) -> tuple[Any, ...]:
    return r.normal(size=(500, 500) if large else (6, 40)), 0.9


def _one_band(r: Random, large: bool) -> tuple[Any, ...]:
    below, middle, above, right = r.random((4, 20_000 if large else 50))
    return below, middle + 3.0, above, right


def _words(r: Random, large: bool) -> tuple[Any, ...]:
    n, m = (600, 500) if large else (30, 25)
    return r.integers(0, 4, n), r.integers(0, 4, m)


def _bytes(r: Random, large: bool) -> tuple[Any, ...]:
    return (r.integers(0, 256, 200_000 if large else 50).astype(np.uint8),)


def _bytes_and_table(r: Random, large: bool) -> tuple[Any, ...]:
    return (*_bytes(r, large), r.integers(0, 2**32, 256).astype(np.uint32))


def _numbers(r: Random, large: bool) -> tuple[Any, ...]:
    return (r.integers(0, 2**62, 200_000 if large else 50),)


def _samples(r: Random, large: bool) -> tuple[Any, ...]:
    return r.normal(size=200_000 if large else 80), -3.0, 3.0, 50 if large else 7


def _odd_square(r: Random, large: bool) -> tuple[Any, ...]:
    return r.random((201, 201) if large else (15, 15)), 20 if large else 3


def _sparse(r: Random, large: bool) -> tuple[Any, ...]:
    n = 20_000 if large else 30
    starts = np.concatenate([[0], np.cumsum(r.integers(0, 20, n))])
    count = int(starts[-1])
    return starts, r.integers(0, n, count), r.normal(size=count), r.normal(size=n)


def _triangle(r: Random, n: int) -> Any:
    return np.tril(r.normal(size=(n, n))) + n * np.eye(n)


def _triangle_and_matrix(r: Random, large: bool) -> tuple[Any, ...]:
    n = 150 if large else 20
    return _triangle(r, n), r.normal(size=(n, n))


def _triangle_and_vector(r: Random, large: bool) -> tuple[Any, ...]:
    n = 400 if large else 30
    return _triangle(r, n), r.normal(size=n)


def _definite(r: Random, large: bool) -> tuple[Any, ...]:
    return (_positive(r, 150 if large else 20),)


# In place, and so that Numba compiles them as they are, too.
SWEEPS: tuple[Program, ...] = (
    Program(sweeps.filter_rows, _rows),
    Program(sweeps.filter_columns, _columns),
    Program(sweeps.thomas, _bands),
    Program(sweeps.alternating_directions, _square, static=(2,)),
    Program(sweeps.relaxed_rows, _relaxed, static=(1,)),
    Program(sweeps.shortest_paths, _floyd),
    Program(sweeps.knapsack, _knapsack, static=(2,)),
    Program(sweeps.bubbled, _unsorted),
    Program(elements.biquad, _signal),
    Program(elements.filter_elements, _signals),
    Program(elements.tridiagonal, _one_band),
    Program(elements.edit_distance_elements, _words),
    Program(elements.common_subsequence, _words),
    Program(elements.hashed, _bytes),
    Program(elements.random_bits, lambda r, large: (2**61 - 1, 100_000 if large else 50), (1,)),
    Program(elements.checksum, _bytes_and_table),
    Program(elements.bit_counts, _numbers),
    Program(elements.histogram, _samples, static=(3,)),
    Program(elements.relaxed_elements, _relaxed, static=(1,)),
    Program(elements.red_black, _odd_square, static=(1,)),
    Program(elements.sparse_product, _sparse),
    Program(elements.triangular_product, _triangle_and_matrix),
    Program(elements.solved_forward, _triangle_and_vector),
    Program(elements.cholesky_elements, _definite),
    Program(elements.eliminated_rows, _definite),
    Program(elements.primes, lambda r, large: (200_000 if large else 100,), static=(0,)),
)

PROGRAMS: tuple[Program, ...] = (
    Program(clustering.kmeans, _kmeans, static=(2,)),
    Program(life.life, _life, static=(1,)),
    Program(mandelbrot.mandelbrot, _mandelbrot, static=(1,)),
    Program(mandelbrot.mandelbrot_by_pixels, _pixels),
    Program(heat.heat, _heat, static=(2,)),
    Program(heat.heat_until_steady, _rod),
    Program(factorisations.cholesky, _cholesky),
    Program(factorisations.lu, _lu),
    Program(factorisations.gram_schmidt, _gram_schmidt),
    Program(convolution.fft_convolve, _convolution),
    Program(convolution.overlap_add, _overlap, static=(2,)),
    Program(paths.floyd_warshall, _floyd),
    Program(iterations.conjugate_gradient, _conjugate, rtol=1e-6),
    Program(iterations.power_iteration, _power, rtol=1e-5),
    Program(kalman.kalman, _kalman),
    Program(bodies.n_body, _bodies, static=(4,)),
    Program(options.black_scholes, _black_scholes),
    Program(options.barrier_option, _barrier),
    Program(alignment.smith_waterman, _smith),
    Program(alignment.edit_distance, _edit),
    Program(fitting.levenberg_marquardt, _fitting, rtol=1e-6),
    Program(ode.rk45, _ode, rtol=1e-6),
    Program(sampling.hmc, _sampling),
    Program(images.filter_image, _filter),
    Program(images.edges, _image),
    Program(images.median_filter, _image),
    Program(images.dither, _small_image),
    Program(markov.viterbi, _viterbi),
    Program(seams.seam, _small_image),
    Program(bayes.naive_bayes, _classes, static=(2,)),
    Program(spins.ising, _spins),
    Program(hulls.gift_wrapping, _points),
    Program(colours.rgb_to_hsv, _colours),
    Program(volatility.garch, _returns),
    Program(islands.islands, _land),
    *SWEEPS,
)
