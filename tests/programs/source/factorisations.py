"""Matrix factorisations by loops: Cholesky, LU with partial pivoting, Gram-Schmidt."""

import numpy as np


def cholesky(a):
    n = a.shape[0]
    lower = np.zeros_like(a)
    for i in range(n):
        for j in range(i + 1):
            total = 0.0
            for k in range(j):
                total += lower[i, k] * lower[j, k]
            if i == j:
                lower[i, i] = np.sqrt(a[i, i] - total)
            else:
                lower[i, j] = (a[i, j] - total) / lower[j, j]
    return lower


def lu(a):
    n = a.shape[0]
    u = a.copy()
    order = np.arange(n)
    for k in range(n - 1):
        p = k + np.argmax(np.abs(u[k:, k]))
        if p != k:
            u[[k, p]] = u[[p, k]]
            order[[k, p]] = order[[p, k]]
        u[k + 1 :, k] /= u[k, k]
        u[k + 1 :, k + 1 :] -= np.outer(u[k + 1 :, k], u[k, k + 1 :])
    return np.tril(u, -1) + np.eye(n), np.triu(u), order


def gram_schmidt(a):
    rows, columns = a.shape
    q = np.zeros((rows, columns))
    r = np.zeros((columns, columns))
    for j in range(columns):
        v = a[:, j].copy()
        for i in range(j):
            r[i, j] = q[:, i] @ v
            v -= r[i, j] * q[:, i]
        r[j, j] = np.linalg.norm(v)
        q[:, j] = v / r[j, j]
    return q, r
