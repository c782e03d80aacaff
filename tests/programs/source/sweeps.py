"""Sweeps through grids in place: filters, solvers of bands, relaxations, dynamic programming."""

import numpy as np


def filter_rows(x, a):
    """Each row follows the one before."""
    y = x.copy()
    for i in range(1, x.shape[0]):
        y[i] = a * y[i - 1] + (1.0 - a) * x[i]
    return y


def filter_columns(x, a):
    """Each column follows those to its left."""
    y = np.zeros_like(x)
    y[:, 0] = x[:, 0]
    for j in range(1, x.shape[1]):
        y[:, j] = a * y[:, j - 1] + (1.0 - a) * x[:, j]
    return y


def thomas(below, diagonal, above, right):
    """Tridiagonal systems, one for each column of the right-hand sides."""
    n = right.shape[0]
    c = np.zeros_like(above)
    x = np.zeros_like(right)
    c[0] = above[0] / diagonal[0]
    x[0] = right[0] / diagonal[0]
    for i in range(1, n):
        scale = diagonal[i] - below[i] * c[i - 1]
        c[i] = above[i] / scale
        x[i] = (right[i] - below[i] * x[i - 1]) / scale
    for i in range(n - 2, -1, -1):
        x[i] = x[i] - c[i] * x[i + 1]
    return x


def alternating_directions(u, r, steps):
    """Heat on a square, implicit along rows and columns in turn."""
    n = u.shape[0]
    u = u.copy()
    p = np.zeros_like(u)
    q = np.zeros_like(u)
    for _ in range(steps):
        for j in range(1, n - 1):
            scale = 1.0 + 2.0 * r - r * p[:, j - 1]
            p[:, j] = r / scale
            q[:, j] = (u[:, j] + r * q[:, j - 1]) / scale
        for j in range(n - 2, 0, -1):
            u[:, j] = p[:, j] * u[:, j + 1] + q[:, j]
        for i in range(1, n - 1):
            scale = 1.0 + 2.0 * r - r * p[i - 1, :]
            p[i, :] = r / scale
            q[i, :] = (u[i, :] + r * q[i - 1, :]) / scale
        for i in range(n - 2, 0, -1):
            u[i, :] = p[i, :] * u[i + 1, :] + q[i, :]
    return u


def relaxed_rows(u, steps):
    """Gauss and Seidel's relaxation, row by row."""
    u = u.copy()
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            u[i, 1:-1] = 0.25 * (u[i - 1, 1:-1] + u[i + 1, 1:-1] + u[i, :-2] + u[i, 2:])
    return u


def shortest_paths(d):
    """Floyd and Warshall's: through each node in turn."""
    d = d.copy()
    for k in range(d.shape[0]):
        for i in range(d.shape[0]):
            d[i] = np.minimum(d[i], d[i, k] + d[k])
    return d


def knapsack(weights, values, room):
    """The best value for each room, in place from above."""
    best = np.zeros(room + 1)
    for i in range(weights.shape[0]):
        for w in range(room, -1, -1):
            if weights[i] <= w:
                best[w] = max(best[w], best[w - weights[i]] + values[i])
    return best


def bubbled(x):
    """A few passes of neighbours that exchange rows by their first element."""
    x = x.copy()
    for _ in range(4):
        for i in range(x.shape[0] - 1):
            if x[i, 0] > x[i + 1, 0]:
                row = x[i].copy()
                x[i] = x[i + 1]
                x[i + 1] = row
    return x
