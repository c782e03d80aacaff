"""All shortest paths of a graph by Floyd and Warshall, with the way to go."""

import numpy as np


def floyd_warshall(distances):
    n = distances.shape[0]
    best = distances.copy()
    following = np.tile(np.arange(n), (n, 1))
    for k in range(n):
        through = best[:, k, None] + best[k, None, :]
        shorter = through < best
        best = np.where(shorter, through, best)
        following = np.where(shorter, following[:, k, None], following)
    return best, following
