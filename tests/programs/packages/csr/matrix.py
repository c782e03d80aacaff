import numpy as np


class CSRMatrix:
    def __init__(self, data, indices, indptr, shape):
        self.data = np.asarray(data)
        self.indices = np.asarray(indices)
        self.indptr = np.asarray(indptr)
        self.shape = shape
        self._check()

    def _check(self):
        if len(self.indptr) != self.shape[0] + 1:
            raise ValueError(f"index pointer size {len(self.indptr)} should be {self.shape[0] + 1}")
        if len(self.indices) != len(self.data):
            raise ValueError("indices and data should have the same size")
        if self.indptr[0] != 0:
            raise ValueError("index pointer should start with 0")
        if np.any(np.diff(self.indptr) < 0):
            raise ValueError("index pointer values must form a non-decreasing sequence")

    @property
    def nnz(self):
        return int(self.indptr[-1])

    def row(self, i):
        s = slice(self.indptr[i], self.indptr[i + 1])
        return self.indices[s], self.data[s]

    def dot(self, x):
        if x.shape[0] != self.shape[1]:
            raise ValueError("dimension mismatch")
        y = np.zeros(self.shape[0], dtype=np.result_type(self.data, x))
        for i in range(self.shape[0]):
            for k in range(self.indptr[i], self.indptr[i + 1]):
                y[i] += self.data[k] * x[self.indices[k]]
        return y

    def __matmul__(self, x):
        return self.dot(x)

    def transpose_dot(self, x):
        y = np.zeros(self.shape[1])
        for i in range(self.shape[0]):
            cols, vals = self.row(i)
            y[cols] += vals * x[i]
        return y

    def diagonal(self):
        d = np.zeros(min(self.shape))
        for i in range(len(d)):
            for k in range(self.indptr[i], self.indptr[i + 1]):
                if self.indices[k] == i:
                    d[i] = self.data[k]
                    break
        return d

    def todense(self):
        out = np.zeros(self.shape)
        for i in range(self.shape[0]):
            cols, vals = self.row(i)
            out[i, cols] = vals
        return out


def from_coo(rows, cols, values, shape):
    """Entries at the same place are added up."""
    order = np.lexsort((cols, rows))
    rows, cols, values = rows[order], cols[order], values[order]
    new = np.ones(len(rows), dtype=bool)
    new[1:] = (np.diff(rows) != 0) | (np.diff(cols) != 0)
    group = np.cumsum(new) - 1
    data = np.bincount(group, weights=values)
    indptr = np.zeros(shape[0] + 1, dtype=int)
    np.add.at(indptr, rows[new] + 1, 1)
    return CSRMatrix(data, cols[new], np.cumsum(indptr), shape)
