"""Samples of eig, whose values are in no order: matrices for which every LAPACK has the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from tests.compiler.ops.rows_contraction import normal
from tests.compiler.ops.rows_linalg import DTYPES, HALF, exact, nans, row
from tests.compiler.ops.sample import Array, BadSample
from weft.compiler.ir.errors import DTypeError, ShapeError
from weft.compiler.ops.linalg import eig


def triangular(dtype: Any) -> Array:
    """A matrix whose eigenvalues stand on its diagonal, where every LAPACK leaves them."""
    matrix: Array = np.triu(normal((5, 5), dtype, 50)) + np.diag(np.arange(5)).astype(dtype)
    return matrix


def geev(a: Array) -> tuple[Array, Array]:
    values, vectors = scipy.linalg.eig(a)
    wide = np.result_type(a, np.complex64)
    return values.astype(wide), vectors.astype(wide)


PAIR = np.array([[1.0, -2.0, 0.5], [3.0, 1.0, 0.25], [0.125, 0.25, 7.0]])
TURN = np.array([[0.0, -1.0], [1.0, 0.0]])
ROWS = [
    *[row(eig, a, geev(a), "random") for d in DTYPES for a in [triangular(d)]],
    row(eig, PAIR, geev(PAIR), "complex vectors"),
    row(
        eig,
        TURN,
        (np.array([1j, -1j]), np.array([[HALF, HALF], [-1j * HALF, 1j * HALF]])),
        "known",
    ),
    row(
        eig,
        np.array([[1.0, 0.0], [0.0, 3.0]]),
        (np.array([1.0, 3.0], complex), np.eye(2, dtype=complex)),
        "real values",
    ),
    row(
        eig,
        np.stack([TURN, np.array([[np.nan, 0], [0, 1]]), np.diag([3.0, 4.0])]),
        tuple(
            np.stack([a, b, c])
            for a, b, c in zip(
                geev(TURN),
                nans((2,), (2, 2), dtype=np.complex128),
                (np.array([3.0, 4.0], complex), np.eye(2, dtype=complex)),
                strict=True,
            )
        ),
        "NaN only where not finite",
    ),
    exact(
        eig,
        np.array([[-4.0]], np.float32),
        (np.array([-4.0], np.complex64), np.ones((1, 1), np.complex64)),
        "one number",
    ),
    exact(
        eig,
        np.zeros((2, 0, 0)),
        (np.zeros((2, 0), complex), np.zeros((2, 0, 0), complex)),
        "zero size, batch",
    ),
    exact(
        eig,
        np.zeros((0, 2, 2), np.complex64),
        (np.zeros((0, 2), np.complex64), np.zeros((0, 2, 2), np.complex64)),
        "empty batch",
    ),
]

BAD = [
    BadSample(eig, ("f16[3, 3]",), DTypeError, "a has dtype f16"),
    BadSample(eig, ("f32[3]",), ShapeError, "needs rank 2 or more"),
    BadSample(eig, ("f32[n, m]",), ShapeError, "must be square, differ: n and m"),
]
