import numpy as np


def ilu0(A):
    """Incomplete LU without fill, on a copy of the data; returns a solver."""
    data = A.data.astype(float)
    n = A.shape[0]
    diag = np.zeros(n, dtype=int)
    for i in range(n):
        for k in range(A.indptr[i], A.indptr[i + 1]):
            if A.indices[k] == i:
                diag[i] = k
    for i in range(1, n):
        for kk in range(A.indptr[i], A.indptr[i + 1]):
            k = A.indices[kk]
            if k >= i:
                break
            if data[diag[k]] == 0:
                raise np.linalg.LinAlgError("zero pivot")
            data[kk] /= data[diag[k]]
            for jj in range(kk + 1, A.indptr[i + 1]):
                for ll in range(diag[k] + 1, A.indptr[k + 1]):
                    if A.indices[ll] == A.indices[jj]:
                        data[jj] -= data[kk] * data[ll]
                        break

    def solve(b):
        x = b.copy()
        for i in range(n):
            for k in range(A.indptr[i], diag[i]):
                x[i] -= data[k] * x[A.indices[k]]
        for i in range(n - 1, -1, -1):
            for k in range(diag[i] + 1, A.indptr[i + 1]):
                x[i] -= data[k] * x[A.indices[k]]
            x[i] /= data[diag[i]]
        return x

    return solve
