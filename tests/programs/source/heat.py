"""The heat equation on a plate with fixed edges, by explicit steps."""

import numpy as np


def heat(start, rate, steps):
    u = start.copy()
    for _ in range(steps):
        old = u.copy()
        u[1:-1, 1:-1] = old[1:-1, 1:-1] + rate * (
            old[2:, 1:-1] + old[:-2, 1:-1] + old[1:-1, 2:] + old[1:-1, :-2] - 4 * old[1:-1, 1:-1]
        )
    return u


def heat_until_steady(start, rate, tolerance):
    u = start.copy()
    steps = 0
    change = np.inf
    while change > tolerance:
        new = u.copy()
        new[1:-1] = u[1:-1] + rate * (u[2:] - 2 * u[1:-1] + u[:-2])
        change = np.max(np.abs(new - u))
        u = new
        steps += 1
    return u, steps
