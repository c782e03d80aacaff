import numpy as np


class LinearOperator:
    def __init__(self, shape, matvec):
        if len(shape) != 2:
            raise ValueError(f"invalid shape {shape!r}")
        self.shape = tuple(shape)
        self._matvec = matvec

    def matvec(self, x):
        x = np.asanyarray(x)
        if x.shape != (self.shape[1],):
            raise ValueError("dimension mismatch")
        return self._matvec(x)

    def __matmul__(self, x):
        return self.matvec(x)

    def __call__(self, x):
        return self @ x


def aslinearoperator(A):
    if isinstance(A, LinearOperator):
        return A
    if isinstance(A, np.ndarray):
        if A.ndim != 2:
            raise ValueError("array must have ndim <= 2")
        return LinearOperator(A.shape, lambda x: A @ x)
    if callable(A):
        raise TypeError("give a LinearOperator, which knows its shape")
    raise TypeError("type not understood")


def jacobi(A):
    diagonal = np.diag(A)
    if np.any(diagonal == 0):
        raise np.linalg.LinAlgError("zero on the diagonal")
    return LinearOperator(A.shape, lambda x: x / diagonal)
