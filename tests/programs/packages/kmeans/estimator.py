import numbers
import warnings

import numpy as np

from .initial import kmeans_plusplus


def check_random_state(seed):
    if seed is None or seed is np.random:
        return np.random.mtrand._rand
    if isinstance(seed, numbers.Integral):
        return np.random.RandomState(seed)
    if isinstance(seed, np.random.RandomState):
        return seed
    raise ValueError(f"{seed!r} cannot be used to seed a RandomState")


class KMeans:
    def __init__(
        self, n_clusters=8, *, init="k-means++", n_init=3, max_iter=50, tol=1e-6, random_state=None
    ):
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _validate(self, X):
        X = np.asarray(X)
        if X.dtype.kind != "f":
            X = X.astype(np.float64)
        if X.ndim == 1:
            raise ValueError("Expected 2D array, got 1D array instead")
        if X.shape[0] < self.n_clusters:
            raise ValueError(f"n_samples={X.shape[0]} should be >= n_clusters={self.n_clusters}.")
        return X

    def _init_centers(self, X, rng):
        if callable(self.init):
            return np.asarray(self.init(X, self.n_clusters, rng))
        if isinstance(self.init, str):
            if self.init == "k-means++":
                return kmeans_plusplus(X, self.n_clusters, rng)
            if self.init == "random":
                return X[rng.permutation(X.shape[0])[: self.n_clusters]]
            raise ValueError(f"init={self.init!r}")
        return np.array(self.init, copy=True)

    def _labels_inertia(self, X, centers):
        d = ((X[:, None, :] - centers[None, :, :]) ** 2).sum(axis=2)
        labels = d.argmin(axis=1)
        return labels, d[np.arange(len(X)), labels].sum()

    def _single(self, X, centers, tol):
        for i in range(self.max_iter):
            labels, inertia = self._labels_inertia(X, centers)
            new = np.zeros_like(centers)
            for k in range(self.n_clusters):
                members = X[labels == k]
                if len(members) > 0:
                    new[k] = members.mean(axis=0)
                else:
                    new[k] = centers[k]
            shift = ((new - centers) ** 2).sum()
            centers = new
            if shift <= tol:
                break
        else:
            warnings.warn("did not converge", stacklevel=2)
        labels, inertia = self._labels_inertia(X, centers)
        return labels, inertia, centers, i + 1

    def fit(self, X):
        X = self._validate(X)
        rng = check_random_state(self.random_state)
        X_mean = X.mean(axis=0)
        X = X - X_mean
        tol = np.mean(np.var(X, axis=0)) * self.tol
        best_inertia = None
        for _ in range(self.n_init):
            centers = self._init_centers(X, rng)
            labels, inertia, centers, n_iter = self._single(X, centers, tol)
            if best_inertia is None or inertia < best_inertia * (1 - 1e-6):
                best_labels, best_centers = labels, centers
                best_inertia, best_n_iter = inertia, n_iter
        self.labels_, self.inertia_ = best_labels, best_inertia
        self.cluster_centers_ = best_centers + X_mean
        self.n_iter_ = best_n_iter
        return self

    def predict(self, X):
        if not hasattr(self, "cluster_centers_"):
            raise AttributeError("not fitted")
        return self._labels_inertia(self._validate(X), self.cluster_centers_)[0]


def cluster(X, n_clusters=4, **params):
    model = KMeans(n_clusters, random_state=3, **params).fit(X)
    return model.cluster_centers_, model.labels_, model.inertia_, model.n_iter_
