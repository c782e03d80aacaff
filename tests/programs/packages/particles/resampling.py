import numpy as np


def systematic_resample(weights, u):
    """Indexes of the particles that survive."""
    N = len(weights)
    positions = (u + np.arange(N)) / N
    indexes = np.zeros(N, "i")
    cumulative_sum = np.cumsum(weights)
    i, j = 0, 0
    while i < N:
        if positions[i] < cumulative_sum[j]:
            indexes[i] = j
            i += 1
        else:
            j += 1
    return indexes


def residual_resample(weights, u):
    N = len(weights)
    indexes = np.zeros(N, "i")
    num_copies = (np.floor(N * np.asarray(weights))).astype(int)
    k = 0
    for i in range(N):
        for _ in range(num_copies[i]):
            indexes[k] = i
            k += 1
    residual = weights - num_copies
    residual /= sum(residual)
    cumulative_sum = np.cumsum(residual)
    cumulative_sum[-1] = 1.0
    indexes[k:N] = np.searchsorted(cumulative_sum, u[k:N])
    return indexes


def multinomial_resample(weights, u):
    cumulative_sum = np.cumsum(weights)
    cumulative_sum[-1] = 1.0
    return np.searchsorted(cumulative_sum, u)
