import operator

import numpy as np


class Kernel:
    def __add__(self, other):
        return Combination(self, as_kernel(other), operator.add)

    def __mul__(self, other):
        return Combination(self, as_kernel(other), operator.mul)

    __radd__ = __add__
    __rmul__ = __mul__

    def diag(self, X):
        return np.array([self(x[None], x[None])[0, 0] for x in X])


def as_kernel(value):
    return value if isinstance(value, Kernel) else Constant(value)


class Combination(Kernel):
    def __init__(self, a, b, op):
        self.a, self.b, self.op = a, b, op

    def __call__(self, X, Y=None):
        return self.op(self.a(X, Y), self.b(X, Y))

    def diag(self, X):
        return self.op(self.a.diag(X), self.b.diag(X))


class Constant(Kernel):
    def __init__(self, value):
        self.value = value

    def __call__(self, X, Y=None):
        Y = X if Y is None else Y
        return np.full((len(X), len(Y)), self.value)


class White(Kernel):
    def __init__(self, level=1.0):
        self.level = level

    def __call__(self, X, Y=None):
        if Y is None:
            return self.level * np.eye(len(X))
        return np.zeros((len(X), len(Y)))

    def diag(self, X):
        return self.level * np.ones(len(X))


class Stationary(Kernel):
    def __init__(self, length_scale=1.0):
        if np.any(np.asarray(length_scale) <= 0):
            raise ValueError("length scales must be positive")
        self.length_scale = length_scale

    def distance(self, X, Y):
        Y = X if Y is None else Y
        X, Y = X / self.length_scale, Y / self.length_scale
        sq = np.sum(X**2, 1)[:, None] + np.sum(Y**2, 1)[None, :] - 2 * X @ Y.T
        return np.maximum(sq, 0.0)

    def diag(self, X):
        return np.ones(len(X))


class RBF(Stationary):
    def __call__(self, X, Y=None):
        return np.exp(-0.5 * self.distance(X, Y))


class Matern32(Stationary):
    def __call__(self, X, Y=None):
        r = np.sqrt(3 * self.distance(X, Y) + 1e-12)
        return (1 + r) * np.exp(-r)


class Periodic(Stationary):
    def __init__(self, length_scale=1.0, period=1.0):
        super().__init__(length_scale)
        self.period = period

    def __call__(self, X, Y=None):
        Y = X if Y is None else Y
        d = np.sqrt(((X[:, None, :] - Y[None, :, :]) ** 2).sum(-1))
        return np.exp(-2 * (np.sin(np.pi * d / self.period) / self.length_scale) ** 2)
