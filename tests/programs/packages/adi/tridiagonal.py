import numpy as np


def thomas(a, b, c, d):
    """Solve a tridiagonal system; d may be a matrix. None of the arguments is changed."""
    n = len(b)
    if not (len(a) == len(c) == n - 1):
        raise ValueError("the diagonals do not fit")
    c_, d_ = np.zeros(n - 1), np.zeros_like(d)
    if b[0] == 0:
        raise ZeroDivisionError("zero pivot in row 0")
    c_[0] = c[0] / b[0]
    d_[0] = d[0] / b[0]
    for i in range(1, n):
        pivot = b[i] - a[i - 1] * c_[i - 1]
        if i < n - 1:
            c_[i] = c[i] / pivot
        d_[i] = (d[i] - a[i - 1] * d_[i - 1]) / pivot
    x = np.zeros_like(d)
    x[-1] = d_[-1]
    for i in reversed(range(n - 1)):
        x[i] = d_[i] - c_[i] * x[i + 1]
    return x


class Tridiagonal:
    """Factors once, solves often."""

    def __init__(self, lower, diagonal, upper):
        self.lower = np.asarray(lower, dtype=float)
        self.n = len(diagonal)
        self.pivots = np.empty(self.n)
        self.ratio = np.empty(self.n)
        self.pivots[0] = diagonal[0]
        self.ratio[0] = upper[0] / diagonal[0]
        for i in range(1, self.n):
            self.pivots[i] = diagonal[i] - lower[i - 1] * self.ratio[i - 1]
            if i < self.n - 1:
                self.ratio[i] = upper[i] / self.pivots[i]

    def solve_in_place(self, d):
        d[0] /= self.pivots[0]
        for i in range(1, self.n):
            d[i] -= self.lower[i - 1] * d[i - 1]
            d[i] /= self.pivots[i]
        for i in range(self.n - 2, -1, -1):
            d[i] -= self.ratio[i] * d[i + 1]
        return d
