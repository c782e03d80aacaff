import numpy as np

from .tridiagonal import Tridiagonal


class Plate:
    def __init__(self, temperature, diffusivity=1.0, dx=0.1, dt=0.01):
        self.u = np.array(temperature, dtype=float)
        if min(self.u.shape) < 3:
            raise ValueError("the plate needs an inside")
        self.r = diffusivity * dt / (2 * dx**2)
        rows, cols = self.u.shape
        self._along = {0: self._matrix(rows - 2), 1: self._matrix(cols - 2)}

    def _matrix(self, n):
        off = np.full(n - 1, -self.r)
        return Tridiagonal(off, np.full(n, 1 + 2 * self.r), off)

    def _explicit(self, u, axis):
        inner = u[1:-1, 1:-1]
        if axis == 0:
            return inner + self.r * (u[2:, 1:-1] - 2 * inner + u[:-2, 1:-1])
        return inner + self.r * (u[1:-1, 2:] - 2 * inner + u[1:-1, :-2])

    def step(self):
        u = self.u
        rhs = self._explicit(u, 0)
        rhs[:, 0] += self.r * u[1:-1, 0]
        rhs[:, -1] += self.r * u[1:-1, -1]
        u[1:-1, 1:-1] = self._along[1].solve_in_place(rhs.T).T
        rhs = self._explicit(u, 1)
        rhs[0] += self.r * u[0, 1:-1]
        rhs[-1] += self.r * u[-1, 1:-1]
        u[1:-1, 1:-1] = self._along[0].solve_in_place(rhs)

    def until_steady(self, tol, max_steps=200):
        for n in range(1, max_steps + 1):
            before = self.u.copy()
            self.step()
            if np.linalg.norm(self.u - before) < tol * np.linalg.norm(before):
                return n
        raise RuntimeError("not steady after %d steps" % max_steps)


def cool(temperature, steps=5, **kwargs):
    plate = Plate(temperature, **kwargs)
    for _ in range(steps):
        plate.step()
    return plate.u
