from typing import NamedTuple

import numpy as np


class Tree(NamedTuple):
    feature: np.ndarray  # -1 in leaves
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    value: np.ndarray
    default_left: np.ndarray


class Booster:
    """Trees of one ensemble; missing values go where training sent them."""

    def __init__(self, trees, learning_rate=0.1, base_score=0.0, n_features=None):
        self.trees = [Tree(*tree) for tree in trees]
        self.learning_rate = learning_rate
        self.base_score = base_score
        self.n_features = n_features

    def _check_X(self, X):
        X = np.asarray(X)
        if X.ndim != 2:
            raise ValueError(f"Expected 2D array, got {X.ndim}D array instead")
        if self.n_features is not None and X.shape[1] != self.n_features:
            raise ValueError(f"X has {X.shape[1]} features, expected {self.n_features}")
        return X

    def _leaf(self, tree, row):
        node = 0
        while tree.feature[node] >= 0:
            x = row[tree.feature[node]]
            if np.isnan(x):
                go_left = tree.default_left[node]
            else:
                go_left = x <= tree.threshold[node]
            if go_left:
                node = tree.left[node]
            else:
                node = tree.right[node]
        return node

    def predict_raw(self, X):
        X = self._check_X(X)
        out = np.full(X.shape[0], self.base_score, dtype=np.float64)
        for i in range(X.shape[0]):
            for tree in self.trees:
                out[i] += self.learning_rate * tree.value[self._leaf(tree, X[i])]
        return out

    def predict_vectorised(self, X):
        X = self._check_X(X)
        rows = np.arange(X.shape[0])
        out = np.full(X.shape[0], self.base_score, dtype=np.float64)
        for tree in self.trees:
            node = np.zeros(X.shape[0], dtype=np.intp)
            while True:
                feature = tree.feature[node]
                active = feature >= 0
                if not active.any():
                    break
                x = X[rows, np.where(active, feature, 0)]
                left = np.where(np.isnan(x), tree.default_left[node], x <= tree.threshold[node])
                child = np.where(left, tree.left[node], tree.right[node])
                node = np.where(active, child, node)
            out += self.learning_rate * tree.value[node]
        return out


def predict_raw(X, trees, **options):
    return Booster(trees, **options).predict_raw(X)


def predict_proba(X, trees, **options):
    raw = Booster(trees, **options).predict_vectorised(X)
    p = 1.0 / (1.0 + np.exp(-raw))
    return np.column_stack([1 - p, p])
