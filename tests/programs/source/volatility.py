"""The likelihood of returns whose variance follows a GARCH(1, 1) recurrence."""

import numpy as np


def garch(returns, omega, alpha, beta):
    variance = np.zeros(len(returns))
    variance[0] = np.var(returns)
    likelihood = 0.0
    for t in range(1, len(returns)):
        variance[t] = omega + alpha * returns[t - 1] ** 2 + beta * variance[t - 1]
        likelihood -= 0.5 * (np.log(2 * np.pi * variance[t]) + returns[t] ** 2 / variance[t])
    return likelihood, variance
