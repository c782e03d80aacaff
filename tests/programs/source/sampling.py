"""Hamiltonian Monte Carlo for a correlated distribution; random numbers are given."""

import numpy as np


def log_density(x, precision):
    return -0.5 * x @ precision @ x - 0.1 * np.sum(x**4)


def gradient(x, precision):
    return -precision @ x - 0.4 * x**3


def hmc(start, precision, momenta, uniforms, step, leaps):
    x = start
    samples = np.zeros((len(momenta), len(start)))
    accepted = 0
    for i in range(len(momenta)):
        p = momenta[i]
        before = log_density(x, precision) - 0.5 * p @ p
        q = x
        p = p + 0.5 * step * gradient(q, precision)
        for leap in range(leaps):
            q = q + step * p
            if leap < leaps - 1:
                p = p + step * gradient(q, precision)
        p = p + 0.5 * step * gradient(q, precision)
        after = log_density(q, precision) - 0.5 * p @ p
        if np.log(uniforms[i]) < after - before:
            x = q
            accepted += 1
        samples[i] = x
    return samples, accepted / len(momenta)
