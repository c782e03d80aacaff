from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class Parameters:
    dx: float = 1.0
    dy: float = 1.0
    g: float = 9.81
    depth: float = 10.0
    f: float = 1e-2
    drag: float = 1e-3
    cfl: float = 0.5

    @property
    def wave_speed(self):
        return np.sqrt(self.g * self.depth)

    def time_step(self):
        return self.cfl * min(self.dx, self.dy) / self.wave_speed


class ShallowWater:
    def __init__(self, eta, params=None, **overrides):
        self.p = replace(params or Parameters(), **overrides)
        eta = np.asarray(eta, dtype=float)
        if eta.ndim != 2:
            raise ValueError("eta must be two-dimensional")
        ny, nx = eta.shape
        self.eta = eta.copy()
        self.u = np.zeros((ny, nx + 1))
        self.v = np.zeros((ny + 1, nx))
        self.time = 0.0
        self.dt = self.p.time_step()

    def step(self):
        p, dt = self.p, self.dt
        u, v, eta = self.u, self.v, self.eta
        u[:, 1:-1] -= dt * p.g * (eta[:, 1:] - eta[:, :-1]) / p.dx
        v[1:-1, :] -= dt * p.g * (eta[1:, :] - eta[:-1, :]) / p.dy
        v_at_u = 0.25 * (v[:-1, :-1] + v[:-1, 1:] + v[1:, :-1] + v[1:, 1:])
        u[:, 1:-1] += dt * p.f * v_at_u
        u_at_v = 0.25 * (u[:-1, :-1] + u[:-1, 1:] + u[1:, :-1] + u[1:, 1:])
        v[1:-1, :] -= dt * p.f * u_at_v
        u *= 1 - p.drag * dt
        v *= 1 - p.drag * dt
        fx = np.empty_like(u)
        fx[:, 1:-1] = u[:, 1:-1] * (p.depth + np.where(u[:, 1:-1] > 0, eta[:, :-1], eta[:, 1:]))
        fx[:, 0] = fx[:, -1] = 0.0
        fy = np.empty_like(v)
        fy[1:-1] = v[1:-1] * (p.depth + np.where(v[1:-1] > 0, eta[:-1], eta[1:]))
        fy[0] = fy[-1] = 0.0
        eta -= dt * (np.diff(fx, axis=1) / p.dx + np.diff(fy, axis=0) / p.dy)
        self.time += dt

    def check(self):
        if np.isnan(self.eta).any() or np.abs(self.eta).max() > self.p.depth:
            raise RuntimeError("the model is unstable")

    @property
    def energy(self):
        p = self.p
        kinetic = 0.5 * p.depth * (np.sum(self.u**2) + np.sum(self.v**2))
        return (kinetic + 0.5 * p.g * np.sum(self.eta**2)) * p.dx * p.dy


def integrate(eta, until=1.0, check_every=10, **overrides):
    model = ShallowWater(eta, **overrides)
    energies = [model.energy]
    n = 0
    while model.time < until:
        model.step()
        n += 1
        if n % check_every == 0:
            model.check()
            energies.append(model.energy)
    return model.eta, model.u, model.v, np.array(energies)


def step_in_place(u, v, eta, dt, g=9.81, depth=10.0):
    """One step on the caller's arrays, which are changed; nothing is returned."""
    u[:, 1:-1] -= dt * g * np.diff(eta, axis=1)
    v[1:-1, :] -= dt * g * np.diff(eta, axis=0)
    eta -= dt * depth * (np.diff(u, axis=1) + np.diff(v, axis=0))
