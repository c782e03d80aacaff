"""The Ising model by Metropolis steps, one spin at a time."""

import numpy as np


def ising(spins, chances, sites, beta):
    spins = spins.copy()
    n, m = spins.shape
    energy = 0
    for k in range(len(chances)):
        i, j = sites[k]
        around = spins[(i + 1) % n, j] + spins[i - 1, j] + spins[i, (j + 1) % m] + spins[i, j - 1]
        change = 2 * spins[i, j] * around
        if change <= 0 or chances[k] < np.exp(-beta * change):
            spins[i, j] *= -1
            energy += change
    return spins, energy, spins.mean()
