"""Physics: solvers of differential equations, particles, lattices, the sky and the earth."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.programs.entries.entry import Entry, Random
from tests.programs.packages import (
    adi,
    automata,
    control,
    fem,
    geodesy,
    gravity,
    ising,
    lattice,
    moldyn,
    multigrid,
    odeint,
    orbits,
    rotations,
    shallow,
    solar,
)

R0 = np.array([7000.0, -1200.0, 300.0])
V0 = np.array([1.0, 7.2, 1.5])


def _atoms(r: Random, size: int) -> tuple[Any, ...]:
    side = 2 if size == 1 else 3 if size < 100 else 6
    grid = np.stack(np.meshgrid(*[np.arange(side) * 1.2] * 3), -1).reshape(-1, 3)
    return grid + 0.05 * r.normal(size=grid.shape), r.normal(size=grid.shape), side * 1.2 + 2.0


def _bodies(r: Random, size: int) -> tuple[Any, ...]:
    n = 2 + min(size, 10)
    return list(r.random(n) + 0.1), r.normal(size=(n, 3)), 0.1 * r.normal(size=(n, 3)), 0.02 * size


def _flow(r: Random, size: int) -> tuple[Any, ...]:
    ny, nx = 8 * size, 16 * size
    y, x = np.mgrid[:ny, :nx]
    obstacle = (x - nx / 4) ** 2 + (y - ny / 2) ** 2 < (ny / 4) ** 2
    return obstacle, r.normal(size=(ny, nx, 9)), 5


def _grid(r: Random, size: int) -> tuple[Any, ...]:
    n = {1: 4, 10: 6}.get(size, 8)
    return (r.normal(size=(2**n + 1, 2**n + 1)),)


def _truss(r: Random, size: int) -> tuple[Any, ...]:
    n = 4 * size
    nodes = np.stack([np.repeat(np.arange(n // 2), 2), np.tile([0.0, 1.0], n // 2)], 1)
    bars = [(2 * i, 2 * i + 1) for i in range(n // 2)]
    for i in range(n // 2 - 1):
        bars += [(2 * i, 2 * i + 2), (2 * i + 1, 2 * i + 3), (2 * i, 2 * i + 3)]
    loads = np.zeros((n, 2))
    loads[-1, 1] = -1.0
    return nodes, bars, 1 + r.random(len(bars)), np.ones(len(bars)), loads, [0, 1, 2, 3]


def _spins(r: Random, size: int) -> Any:
    n = {1: 4, 10: 16}.get(size, 32)
    return r.choice([-1, 1], size=(n, n))


def _fire(r: Random, size: int) -> tuple[Any, ...]:
    n = 6 * min(size, 20)
    return r.integers(0, 3, size=(n, n)), r.random((4, n, n))


def _wave(r: Random, size: int) -> Any:
    y, x = np.mgrid[: 8 * size, : 10 * size]
    return np.exp(-((x - 4 * size) ** 2 + (y - 3 * size) ** 2) / (4.0 * size**2))


def _places(r: Random, n: int) -> Any:
    return np.stack([r.uniform(-80, 80, n), r.uniform(-90, 85, n)], 1)


PHYSICS = (
    Entry(
        odeint.pendulum_period,
        lambda r, n: (1.0, 2.0),
        rtol=1e-6,
        others={
            "raises": lambda r: (4.0,),
            "other method": lambda r: (1.0, 2.0, 0.1, 1e-4, "RK23"),
        },
    ),
    Entry(
        moldyn.run,
        lambda r, n: (*_atoms(r, n), 3),
        numbers=0,
        value=lambda result: result[2].sum(),
        others={"raises": lambda r: (np.zeros((3, 2)), np.zeros((3, 2)), 4.0)},
    ),
    Entry(
        gravity.simulate,
        _bodies,
        numbers=1,
        value=lambda result: sum(np.sum(track[-1:]) for track in result[0].values()) + result[1],
    ),
    Entry(gravity.orbit, lambda r, n: (0.3, 0.1), rtol=1e-6),
    Entry(
        lattice.vorticity_behind_cylinder,
        _flow,
        numbers=1,
        value=lambda result: (result[0] ** 2).sum(),
        others={"raises": lambda r: (*_flow(r, 1), 0.4)},
    ),
    Entry(
        shallow.integrate,
        lambda r, n: (_wave(r, n), 0.3),
        numbers=0,
        value=lambda result: (result[0] ** 2).sum(),
        others={"raises": lambda r: (np.zeros(3),), "unstable": lambda r: (100 * _wave(r, 1), 2.0)},
    ),
    Entry(
        shallow.step_in_place,
        lambda r, n: (
            r.normal(size=(6 * n, 5 * n + 1)),
            r.normal(size=(6 * n + 1, 5 * n)),
            r.normal(size=(6 * n, 5 * n)),
            0.01,
        ),
    ),
    Entry(
        adi.cool,
        lambda r, n: (r.random((6 * n, 8 * n)),),
        numbers=0,
        value=lambda result: (result**2).sum(),
        others={"raises": lambda r: (r.random((2, 5)),)},
    ),
    Entry(
        adi.thomas,
        lambda r, n: (
            r.random(9 * n),
            3 + r.random(9 * n + 1),
            r.random(9 * n),
            r.random((9 * n + 1, 3)),
        ),
        numbers=1,
        value=np.sum,
        others={
            "raises": lambda r: (
                r.random(4),
                np.array([0, 1.0, 1, 1, 1]),
                r.random(4),
                r.random(5),
            ),
            "unfit": lambda r: (r.random(4), r.random(4), r.random(4), r.random(4)),
        },
    ),
    Entry(
        multigrid.solve,
        _grid,
        numbers=0,
        value=lambda result: (result[0] ** 2).sum(),
        rtol=1e-7,
        others={
            "raises": lambda r: (r.random((6, 6)),),
            "zero": lambda r: (np.zeros((9, 9)),),
        },
    ),
    Entry(
        fem.solve_poisson,
        lambda r, n: (1 + r.random(2 * (2 + 2 * min(n, 8)) ** 2), 3 + 2 * min(n, 8)),
        numbers=0,
        value=lambda result: result[1],
    ),
    Entry(fem.bar_displacements, _truss, numbers=2, value=lambda result: result[0].sum()),
    Entry(ising.anneal, lambda r, n: (_spins(r, n), np.linspace(3.0, 1.0, 4))),
    Entry(
        ising.magnetise,
        lambda r, n: (_spins(r, n), r.random((5, 2, *_spins(r, n).shape))),
        others={"raises": lambda r: (np.zeros((3, 3), int), r.random((1, 2, 3, 3)))},
    ),
    Entry(ising.wolff_step, lambda r, n: (_spins(r, n), (1, 2), r.random(200 * n), 0.4)),
    Entry(
        automata.evolve,
        lambda r, n: (r.integers(0, 2, 30 * n), 20 * n),
        others={
            "other boundary": lambda r: (r.integers(0, 2, 12), 5, 110, "dead"),
            "raises": lambda r: (r.integers(0, 2, 12), 5, 300),
        },
    ),
    Entry(automata.play, lambda r, n: (r.integers(0, 2, (8 * n, 8 * n)), 30)),
    Entry(automata.burn, _fire),
    Entry(
        solar.total,
        lambda r, n: (1.6e9 + np.linspace(0, 86400, 24 * n), 48.0, 11.0),
        numbers=1,
        value=lambda result: result["poa"].sum(),
        others={
            "raises": lambda r: (1.6e9 + np.arange(3.0), 95.0, 11.0),
            "scalar": lambda r: (1.6e9 + 43200.0, 48, 11),
        },
    ),
    Entry(
        solar.sun_rise_set,
        lambda r, n: (np.arange(1, 30 * n, 3), 63.0),
        numbers=1,
        value=lambda result: np.sum(result[0]),
        others={"polar": lambda r: (np.arange(1, 365, 9), 75.0)},
    ),
    Entry(
        orbits.propagate,
        lambda r, n: (R0, V0, 3000.0),
        numbers=0,
        value=lambda result: result[0].sum(),
    ),
    Entry(
        orbits.ephemeris,
        lambda r, n: (R0, V0, np.linspace(0, 20_000.0, 8 * n)),
        numbers=1,
        value=lambda result: result[0][:, :3].sum(),
        others={"raises": lambda r: (R0, 3 * V0, np.linspace(0, 20_000.0, 8))},
    ),
    Entry(
        orbits.solve_kepler,
        lambda r, n: (1.3, 0.4),
        numbers=1,
        others={"raises": lambda r: (1.0, -0.5), "hyperbola": lambda r: (1.0, 1.5)},
    ),
    Entry(
        orbits.lambert,
        lambda r, n: (
            398600.4418,
            np.array([15945.34, 0.0, 0.0]),
            np.array([12214.8, 10249.5, 0.0]),
            4560.0,
        ),
        rtol=1e-6,
        others={"raises": lambda r: (398600.0, R0, -R0, 4560.0)},
    ),
    Entry(
        rotations.integrate_gyro,
        lambda r, n: (np.array([1.0, 0, 0, 0]), r.normal(size=(10 * n, 3)), 0.1),
        numbers=1,
        value=lambda result: result[-1].sum(),
        others={
            "still": lambda r: (np.array([1.0, 0, 0, 0]), np.zeros((5, 3)), 0.1),
            "raises": lambda r: (np.zeros(4), np.ones((5, 3)), 0.1),
        },
    ),
    Entry(
        rotations.slerp,
        lambda r, n: (r.normal(size=4), r.normal(size=4), 0.3),
        numbers=0,
        value=np.sum,
        others={
            "raises": lambda r: (r.normal(size=3), r.normal(size=4), 0.3),
            "same": lambda r: (np.ones(4), np.ones(4), 0.3),
        },
    ),
    Entry(
        rotations.estimate,
        lambda r, n: (
            r.normal(size=(6 * n, 3)),
            np.array([0.3, -0.2, 0.5]),
            0.01 * r.normal(size=(6 * n, 3)),
        ),
        numbers=1,
        value=lambda result: result[1],
        others={"upside down": lambda r: (r.normal(size=(6, 3)), np.array([3.1, 0.1, 0]), 0.0)},
    ),
    Entry(
        rotations.euler_to_matrix,
        lambda r, n: ("zyx", [0.1, 0.2, 0.3]),
        others={
            "degrees": lambda r: ("xz", np.array([10, 20]), True),
            "raises": lambda r: ("zq", [0.1, 0.2]),
        },
    ),
    Entry(
        geodesy.inverse,
        lambda r, n: (48.1, 11.5, 40.7, -74.0),
        others={
            "same": lambda r: (48.1, 11.5, 48.1, 11.5),
            "equator": lambda r: (0.0, 11.5, 0.0, 12.5),
            "opposite": lambda r: (0.0, 0.0, 0.5, 179.7),
            "ints": lambda r: (48, 11, 40, -74),
        },
    ),
    Entry(geodesy.distances, lambda r, n: (_places(r, 3 * n), _places(r, 2 * n))),
    Entry(geodesy.track_length, lambda r, n: (_places(r, 5 * n)[:, 0], _places(r, 5 * n)[:, 1])),
    Entry(
        geodesy.ecef2geodetic,
        lambda r, n: (4e6 + 1e5 * r.random(6 * n), 8e5 * r.random(6 * n), np.full(6 * n, 4.7e6)),
        numbers=0,
        value=lambda result: result[0].sum(),
    ),
    Entry(
        geodesy.geodetic2ecef,
        lambda r, n: (*_places(r, 5 * n).T, r.random(5 * n)),
        others={"raises": lambda r: (np.array([95.0]), np.zeros(1), np.zeros(1))},
    ),
    Entry(
        control.heat_room,
        lambda r, n: (5 + r.normal(size=20 * n),),
        numbers=0,
        value=lambda result: result[0].sum(),
    ),
    Entry(
        control.drive,
        lambda r, n: (np.array([2.0, -0.3]), 4 * n),
        numbers=0,
        value=lambda result: (result[0] ** 2).sum(),
        rtol=1e-7,
    ),
    Entry(
        control.lqr,
        lambda r, n: (
            np.array([[1.0, 0.1], [0.0, 0.9]]),
            np.array([[0.0], [0.1]]),
            np.eye(2),
            np.eye(1),
        ),
        numbers=0,
        value=lambda result: result[0].sum(),
        rtol=1e-7,
        others={"raises": lambda r: (2 * np.eye(2), np.zeros((2, 1)), np.eye(2), np.eye(1))},
    ),
)
