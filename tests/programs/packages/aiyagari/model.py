import logging
from dataclasses import dataclass, field

import numpy as np

from .markov import rouwenhorst, stationary

log = logging.getLogger(__name__)


class NotConverged(RuntimeError):
    pass


@dataclass
class Household:
    r: float
    w: float
    beta: float = 0.95
    gamma: float = 2.0
    a_min: float = 0.0
    a_max: float = 30.0
    size: int = 60
    states: int = 3
    rho: float = 0.6
    sigma: float = 0.2
    grid: np.ndarray = field(init=False, repr=False)

    def __post_init__(self):
        if not 0 < self.beta < 1:
            raise ValueError("beta must be in (0, 1)")
        if self.a_max <= self.a_min:
            raise ValueError("the grid is empty")
        self.grid = self.a_min + (self.a_max - self.a_min) * np.linspace(0, 1, self.size) ** 2
        z, self.P = rouwenhorst(self.states, self.rho, self.sigma)
        self.z = np.exp(z)

    def utility(self, c):
        if self.gamma == 1:
            return np.log(c)
        return c ** (1 - self.gamma) / (1 - self.gamma)

    def marginal(self, c):
        return c**-self.gamma

    def euler_step(self, c):
        """One step of the endogenous grid method."""
        expected = self.marginal(c) @ self.P.T
        c_now = (self.beta * (1 + self.r) * expected) ** (-1 / self.gamma)
        a_now = (c_now + self.grid[:, None] - self.w * self.z[None, :]) / (1 + self.r)
        new = np.empty_like(c)
        for s in range(self.states):
            new[:, s] = np.interp(self.grid, a_now[:, s], c_now[:, s])
            poor = self.grid < a_now[0, s]
            new[poor, s] = (1 + self.r) * self.grid[poor] + self.w * self.z[s] - self.a_min
        return new

    def solve(self, tol=1e-8, max_iter=2000, callback=None):
        c = self.r * self.grid[:, None] + self.w * self.z[None, :]
        for it in range(max_iter):
            new = self.euler_step(c)
            err = np.abs(new - c).max()
            c = new
            if callback is not None:
                callback(it, err)
            if err < tol:
                break
        else:
            raise NotConverged(f"no policy after {max_iter} steps")
        self.iterations_ = it + 1
        savings = (1 + self.r) * self.grid[:, None] + self.w * self.z[None, :] - c
        return c, savings

    def distribution(self, savings, tol=1e-10, max_iter=5000):
        idx = np.clip(np.searchsorted(self.grid, savings) - 1, 0, self.size - 2)
        weight = (self.grid[idx + 1] - savings) / (self.grid[idx + 1] - self.grid[idx])
        weight = np.clip(weight, 0.0, 1.0)
        mass = np.outer(np.ones(self.size) / self.size, stationary(self.P))
        for _ in range(max_iter):
            moved = np.zeros_like(mass)
            for s in range(self.states):
                np.add.at(moved[:, s], idx[:, s], weight[:, s] * mass[:, s])
                np.add.at(moved[:, s], idx[:, s] + 1, (1 - weight[:, s]) * mass[:, s])
            moved = moved @ self.P
            if np.max(np.abs(moved - mass)) < tol:
                return moved
            mass = moved
        raise NotConverged("no distribution")


def equilibrium(alpha=0.36, delta=0.08, beta=0.95, low=0.0, high=0.045, steps=8, **options):
    """Bisection on the interest rate until supply of capital meets demand."""
    for step in range(steps):
        r = 0.5 * (low + high)
        k = (alpha / (r + delta)) ** (1 / (1 - alpha))
        w = (1 - alpha) * k**alpha
        household = Household(r, w, beta=beta, **options)
        _, savings = household.solve()
        supply = np.sum(household.distribution(savings) * household.grid[:, None])
        log.debug("step %d", step)
        if supply > k:
            high = r
        else:
            low = r
    return r, k, supply
