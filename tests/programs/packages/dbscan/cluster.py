from collections import deque

import numpy as np

NOISE = -1
UNSEEN = -2


def euclidean(a, b):
    return np.sqrt(np.sum((a - b) ** 2, axis=-1))


class DBSCAN:
    """Labels are found point by point, with a queue of seeds."""

    def __init__(self, eps=0.5, min_samples=5, metric=euclidean):
        if eps <= 0:
            raise ValueError("eps must be positive")
        self.eps = eps
        self.min_samples = min_samples
        self.metric = metric

    def _region_query(self, X, i):
        return np.where(self.metric(X, X[i]) <= self.eps)[0]

    def fit(self, X):
        X = np.asarray(X)
        self.labels_ = np.full(len(X), UNSEEN)
        cluster = 0
        for i in range(len(X)):
            if self.labels_[i] != UNSEEN:
                continue
            neighbors = self._region_query(X, i)
            if len(neighbors) < self.min_samples:
                self.labels_[i] = NOISE
                continue
            self._expand(X, i, neighbors, cluster)
            cluster += 1
        self.n_clusters_ = cluster
        return self

    def _expand(self, X, i, neighbors, cluster):
        self.labels_[i] = cluster
        queue = deque(neighbors)
        while queue:
            j = queue.popleft()
            if self.labels_[j] == NOISE:
                self.labels_[j] = cluster
            if self.labels_[j] != UNSEEN:
                continue
            self.labels_[j] = cluster
            reached = self._region_query(X, j)
            if len(reached) >= self.min_samples:
                queue.extend(reached)


def dbscan(X, eps=0.5, min_samples=5):
    model = DBSCAN(eps, min_samples).fit(X)
    return model.labels_, model.n_clusters_
