import numpy as np

from .factor import ilu0
from .matrix import CSRMatrix


def gauss_seidel(data, indices, indptr, b, tol=1e-8, max_sweeps=200, omega=1.0):
    A = CSRMatrix(data, indices, indptr, (len(b), len(b)))
    x = np.zeros(len(b))
    for sweep in range(max_sweeps):
        change = 0.0
        for i in range(len(b)):
            sigma, d = 0.0, 0.0
            for k in range(A.indptr[i], A.indptr[i + 1]):
                j = A.indices[k]
                if j == i:
                    d = A.data[k]
                else:
                    sigma += A.data[k] * x[j]
            if d == 0:
                raise ZeroDivisionError(f"no diagonal in row {i}")
            new = (1 - omega) * x[i] + omega * (b[i] - sigma) / d
            change = max(change, abs(new - x[i]))
            x[i] = new
        if change < tol:
            return x, sweep + 1
    raise RuntimeError("Gauss-Seidel does not converge")


def relax(x, data, indices, indptr, b, sweeps=1):
    """Sweeps of Jacobi over the caller's x."""
    n = len(b)
    for _ in range(sweeps):
        old = x.copy()
        for i in range(n):
            lo, hi = indptr[i], indptr[i + 1]
            cols, vals = indices[lo:hi], data[lo:hi]
            d = vals[cols == i][0]
            x[i] = (b[i] - vals @ old[cols] + d * old[i]) / d


def pcg(data, indices, indptr, b, tol=1e-10, maxiter=100):
    A = CSRMatrix(data, indices, indptr, (len(b), len(b)))
    M = ilu0(A)
    x = np.zeros_like(b)
    r = b - A @ x
    z = M(r)
    p = z.copy()
    rz = r @ z
    for it in range(maxiter):
        Ap = A @ p
        alpha = rz / (p @ Ap)
        x += alpha * p
        r -= alpha * Ap
        if np.sqrt(r @ r) < tol:
            return x, it + 1
        z = M(r)
        rz, old = r @ z, rz
        p = z + rz / old * p
    raise RuntimeError("no convergence")


def pagerank(rows, cols, n, damping=0.85, tol=1e-10):
    out = np.bincount(rows, minlength=n)
    rank = np.full(n, 1.0 / n)
    for iteration in range(200):
        share = np.where(out > 0, rank / np.maximum(out, 1), 0.0)
        new = np.zeros(n)
        for a, b in zip(rows, cols):
            new[b] += share[a]
        new = (1 - damping) / n + damping * (new + rank[out == 0].sum() / n)
        if np.abs(new - rank).sum() < tol:
            return new, iteration
        rank = new
    return rank, -1
