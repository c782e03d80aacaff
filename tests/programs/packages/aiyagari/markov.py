from math import erfc, sqrt

import numpy as np


def std_norm_cdf(x):
    return 0.5 * erfc(-x / sqrt(2))


def tauchen(n, rho, sigma, mu=0.0, n_std=3):
    """A Markov chain for an AR(1) process: states and transition matrix."""
    std_y = np.sqrt(sigma**2 / (1 - rho**2))
    x_max = n_std * std_y
    x = np.linspace(-x_max, x_max, n)
    step = x[1] - x[0]
    half_step = 0.5 * step
    P = np.empty((n, n))
    for i in range(n):
        P[i, 0] = std_norm_cdf((x[0] - rho * x[i] + half_step) / sigma)
        P[i, n - 1] = 1 - std_norm_cdf((x[n - 1] - rho * x[i] - half_step) / sigma)
        for j in range(1, n - 1):
            z = x[j] - rho * x[i]
            P[i, j] = std_norm_cdf((z + half_step) / sigma)
            P[i, j] -= std_norm_cdf((z - half_step) / sigma)
    return x + mu / (1 - rho), P


def rouwenhorst(n, rho, sigma):
    p = (1 + rho) / 2

    def build(n):
        if n == 2:
            return np.array([[p, 1 - p], [1 - p, p]])
        small = build(n - 1)
        theta = np.zeros((n, n))
        theta[:-1, :-1] += p * small
        theta[:-1, 1:] += (1 - p) * small
        theta[1:, :-1] += (1 - p) * small
        theta[1:, 1:] += p * small
        theta[1:-1, :] /= 2
        return theta

    psi = np.sqrt((n - 1) / (1 - rho**2)) * sigma
    return np.linspace(-psi, psi, n), build(n)


def stationary(P, tol=1e-12, max_iter=10_000):
    pi = np.ones(P.shape[0]) / P.shape[0]
    for _ in range(max_iter):
        new = pi @ P
        if np.max(np.abs(new - pi)) < tol:
            return new
        pi = new
    raise RuntimeError("the chain does not settle")
