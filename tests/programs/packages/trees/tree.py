import numpy as np


class Node:
    __slots__ = ("feature", "threshold", "left", "right", "value")

    def __init__(self, value):
        self.feature = None
        self.threshold = None
        self.left = None
        self.right = None
        self.value = value

    @property
    def is_leaf(self):
        return self.left is None


class DecisionTreeRegressor:
    def __init__(self, max_depth=3, min_samples_split=2):
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.root_ = None

    def fit(self, X, y):
        X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
        if len(X) != len(y):
            raise ValueError("X and y have different lengths")
        if not np.isfinite(X).all():
            raise ValueError("Input X contains NaN or infinity.")
        self.n_features_in_ = X.shape[1]
        self.root_ = self._grow(X, y, 0)
        return self

    def _best_split(self, X, y):
        best, best_gain = None, 0.0
        total = np.sum((y - y.mean()) ** 2)
        for feature in range(X.shape[1]):
            order = np.argsort(X[:, feature], kind="stable")
            xs, ys = X[order, feature], y[order]
            left_sum = np.cumsum(ys)[:-1]
            left_sq = np.cumsum(ys**2)[:-1]
            n_left = np.arange(1, len(ys))
            right_sum, right_sq = ys.sum() - left_sum, np.sum(ys**2) - left_sq
            impurity = left_sq - left_sum**2 / n_left
            impurity += right_sq - right_sum**2 / (len(ys) - n_left)
            gain = np.where(xs[1:] > xs[:-1], total - impurity, -np.inf)
            i = np.argmax(gain)
            if gain[i] > best_gain + 1e-12:
                best, best_gain = (feature, 0.5 * (xs[i] + xs[i + 1])), gain[i]
        return best

    def _grow(self, X, y, depth):
        node = Node(y.mean())
        if depth >= self.max_depth or len(y) < self.min_samples_split:
            return node
        split = self._best_split(X, y)
        if split is None:
            return node
        node.feature, node.threshold = split
        left = X[:, node.feature] <= node.threshold
        node.left = self._grow(X[left], y[left], depth + 1)
        node.right = self._grow(X[~left], y[~left], depth + 1)
        return node

    def _predict_one(self, x):
        node = self.root_
        while not node.is_leaf:
            node = node.left if x[node.feature] <= node.threshold else node.right
        return node.value

    def predict(self, X):
        if self.root_ is None:
            raise RuntimeError("call fit first")
        return np.array([self._predict_one(x) for x in np.asarray(X)])


def fit_predict(X, y, X_new, **params):
    return DecisionTreeRegressor(**params).fit(X, y).predict(X_new)
