import numpy as np


def kmeans_plusplus(X, n_clusters, rng):
    n_samples, n_features = X.shape
    centers = np.empty((n_clusters, n_features), dtype=X.dtype)
    center_id = rng.randint(n_samples)
    centers[0] = X[center_id]
    closest = ((X - centers[0]) ** 2).sum(axis=1)
    for c in range(1, n_clusters):
        rand_val = rng.random_sample() * closest.sum()
        candidate = np.searchsorted(np.cumsum(closest), rand_val)
        candidate = min(candidate, n_samples - 1)
        centers[c] = X[candidate]
        np.minimum(closest, ((X - centers[c]) ** 2).sum(axis=1), out=closest)
    return centers
