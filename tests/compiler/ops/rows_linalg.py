"""Samples of the linear algebra ops: matrices with known factors, and SciPy's LAPACK elsewhere.

Signs of vectors are part of what is compared: QR, eigenvectors and singular vectors come out as
LAPACK's geqrf, syevd/heevd and gesdd give them. Tolerances are some units in the last place of the
dtype, on matrices whose condition is small.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import permutations, product
from typing import Any

import numpy as np
import scipy.linalg

from tests.compiler.ops.rows_contraction import normal
from tests.compiler.ops.sample import Array, BadSample, Sample
from weft.compiler.ir.errors import DTypeError, ShapeError
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ops.linalg import cholesky, eigh, lu, qr, slogdet, solve, svd, triangular_solve

DTYPES = (np.float32, np.float64, np.complex64, np.complex128)


def tolerance(dtype: Any) -> float:
    return 2e-5 if np.finfo(dtype).bits == 32 else 1e-12


Operands = Array | tuple[Array, ...]


def exact(op: OpDef, operands: Operands, expected: Any, name: str, **attributes: Any) -> Sample:
    several = operands if isinstance(operands, tuple) else (operands,)
    return Sample(op, several, expected, attributes, name=name)


def row(op: OpDef, operands: Operands, expected: Any, name: str, **attributes: Any) -> Sample:
    sample = exact(op, operands, expected, name, **attributes)
    close = tolerance(sample.operands[0].dtype)
    return replace(sample, rtol=close, atol=close)


def each(function: Any, *stacks: Array) -> Any:
    """A function of single matrices on every matrix of stacks, its results stacked."""
    results = [function(*matrices) for matrices in zip(*stacks, strict=True)]
    if isinstance(results[0], tuple):
        return tuple(np.stack(part) for part in zip(*results, strict=True))
    return np.stack(results)


def real(dtype: Any) -> Any:
    return np.finfo(dtype).dtype


def positive(size: int, dtype: Any, seed: int) -> Array:
    """A positive definite matrix."""
    root = normal((size, size), dtype, seed)
    matrix: Array = root @ root.conj().T + size * np.eye(size, dtype=dtype)
    return matrix


def garbage_above(a: Array) -> Array:
    """The lower triangle of `a`, with NaN above."""
    return np.where(np.tril(np.ones(a.shape[-2:], bool)), a, np.nan).astype(a.dtype)


# --- cholesky -----------------------------------------------------------------------------------

KNOWN = np.array([[4, 12, -16], [12, 37, -43], [-16, -43, 98]])
KNOWN_ROOT = np.array([[2, 0, 0], [6, 1, 0], [-8, 5, 3]])
HERMITIAN = np.array([[1, 1 - 2j], [1 + 2j, 14]])
HERMITIAN_ROOT = np.array([[1, 0], [1 + 2j, 3]])
INDEFINITE = np.array([[1.0, 2.0], [2.0, 1.0]])


def lower_root(a: Array) -> Any:
    return scipy.linalg.cholesky(a, lower=True)


CHOLESKY = [
    *[row(cholesky, KNOWN.astype(d), KNOWN_ROOT.astype(d), "known") for d in DTYPES],
    *[
        row(cholesky, HERMITIAN.astype(d), HERMITIAN_ROOT.astype(d), "Hermitian")
        for d in DTYPES[2:]
    ],
    *[row(cholesky, a, lower_root(a), "random") for d in DTYPES for a in [positive(7, d, 1)]],
    row(
        cholesky,
        garbage_above(KNOWN.astype(float)),
        KNOWN_ROOT.astype(float),
        "reads the lower triangle",
    ),
    row(
        cholesky,
        np.stack([np.eye(2), INDEFINITE, 4 * np.eye(2), np.zeros((2, 2))]),
        np.stack([np.eye(2), np.full((2, 2), np.nan), 2 * np.eye(2), np.full((2, 2), np.nan)]),
        "NaN only where not positive definite",
    ),
    exact(
        cholesky, -np.ones((1, 1), np.complex64), np.full((1, 1), np.nan, np.complex64), "negative"
    ),
    exact(cholesky, np.array([[1, 0], [np.nan, 1]]), np.full((2, 2), np.nan), "NaN"),
    exact(
        cholesky,
        np.array([[np.inf, 0], [0, 1]], np.float32),
        np.full((2, 2), np.nan, np.float32),
        "infinity",
    ),
    row(
        cholesky,
        np.stack([positive(3, np.float64, n) for n in range(6)]).reshape(2, 3, 3, 3),
        np.stack([lower_root(positive(3, np.float64, n)) for n in range(6)]).reshape(2, 3, 3, 3),
        "two batch axes",
    ),
    row(
        cholesky,
        positive(4, np.float64, 2)[::-1, ::-1],
        lower_root(positive(4, np.float64, 2)[::-1, ::-1].copy()),
        "negative strides",
    ),
    *[
        exact(cholesky, np.zeros(s, np.float32), np.zeros(s, np.float32), "zero size")
        for s in ((0, 0), (2, 0, 0), (0, 3, 3))
    ],
]

# --- triangular solve ---------------------------------------------------------------------------


def triangular(a: Array, b: Array, name: str, **flags: bool) -> Sample:
    """The matrix that the flags describe, written out, against NumPy's general solver."""
    matrix = np.tril(a) if flags["lower"] else np.triu(a)
    if flags.get("unit_diagonal"):
        np.fill_diagonal(matrix, 1)
    matrix = matrix.conj() if flags.get("conjugate") else matrix
    matrix = matrix.T if flags.get("transpose") else matrix
    left = flags.get("left_side", True)
    x = np.linalg.solve(matrix, b) if left else np.linalg.solve(matrix.T, b.T).T
    unread = (
        np.triu(np.ones(a.shape, bool), 1)
        if flags["lower"]
        else np.tril(np.ones(a.shape, bool), -1)
    )
    if flags.get("unit_diagonal"):
        unread |= np.eye(len(a), dtype=bool)
    garbage = np.where(unread, np.nan, a).astype(a.dtype)
    return row(triangular_solve, (garbage, b), x.astype(a.dtype), name, **flags)


def steady(size: int, dtype: Any, seed: int) -> Array:
    """A matrix whose triangles are well conditioned."""
    return (normal((size, size), dtype, seed) / size + 2 * np.eye(size)).astype(dtype)


FLAGS = ("lower", "transpose", "conjugate", "unit_diagonal", "left_side")
TRIANGULAR = [
    *[
        triangular(
            steady(4, np.complex128, 3),
            normal((4, 2) if values[-1] else (2, 4), np.complex128, 4),
            "every flag",
            **dict(zip(FLAGS, values, strict=True)),
        )
        for values in product((False, True), repeat=5)
    ],
    *[triangular(steady(5, d, 5), normal((5, 3), d, 6), "typical", lower=True) for d in DTYPES],
    *[triangular(steady(5, d, 5), normal((5, 3), d, 6), "typical", lower=False) for d in DTYPES],
    exact(
        triangular_solve,
        (np.array([[2.0, 0.0], [1.0, 4.0]]), np.array([[2.0], [9.0]])),
        np.array([[1.0], [2.0]]),
        "known",
        lower=True,
    ),
    exact(
        triangular_solve,
        (
            np.array([[0.0, 9.0], [1.0, 1.0]], np.float32),
            np.array([[1.0, 0.0], [1.0, 1.0]], np.float32),
        ),
        np.array([[np.inf, np.nan], [-np.inf, np.nan]], np.float32),
        "singular",
        lower=True,
    ),
    exact(
        triangular_solve,
        (np.stack([np.eye(2), 2 * np.eye(2)]), np.ones((2, 2, 1))),
        np.stack([np.ones((2, 1)), np.full((2, 1), 0.5)]),
        "batch",
        lower=False,
    ),
    *[
        exact(
            triangular_solve,
            (np.ones(a, np.float32), np.ones(b, np.float32)),
            np.ones(b, np.float32),
            "zero size",
            lower=True,
        )
        for a, b in (((0, 0), (0, 2)), ((0, 2, 2), (0, 2, 1)), ((2, 2), (2, 0)))
    ],
]

# --- solve, LU, determinant ---------------------------------------------------------------------

SINGULAR = np.array([[1.0, 2.0], [2.0, 4.0]])


def general(a: Array, b: Array, name: str) -> Sample:
    return row(solve, (a, b), np.linalg.solve(a, b), name)


SOLVE = [
    *[
        row(
            solve,
            (np.array([[2, 1], [1, 3]], d), np.array([[3], [5]], d)),
            np.array([[0.8], [1.4]]).astype(d),
            "known",
        )
        for d in DTYPES
    ],
    *[general(normal((6, 6), d, 7), normal((6, 2), d, 8), "random") for d in DTYPES],
    general(
        normal((2, 3, 4, 4), np.float64, 9), normal((2, 3, 4, 2), np.float64, 10), "two batch axes"
    ),
    general(
        normal((4, 4), np.float64, 11)[::-1, ::-1],
        normal((4, 2), np.float64, 12)[::-1],
        "negative strides",
    ),
    exact(
        solve,
        (np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([[3.0], [4.0]])),
        np.array([[4.0], [3.0]]),
        "needs a pivot",
    ),
    exact(
        solve,
        (np.stack([SINGULAR, np.eye(2)]), np.ones((2, 2, 1))),
        np.stack([np.array([[-np.inf], [np.inf]]), np.ones((2, 1))]),
        "singular",
    ),
    exact(
        solve,
        (np.zeros((2, 2), np.float32), np.zeros((2, 1), np.float32)),
        np.full((2, 1), np.nan, np.float32),
        "all zero",
    ),
    *[
        exact(
            solve,
            (np.ones(a, np.float32), np.ones(b, np.float32)),
            np.ones(b, np.float32),
            "zero size",
        )
        for a, b in (((0, 0), (0, 2)), ((0, 2, 2), (0, 2, 1)), ((1, 1), (1, 0)))
    ],
]


def getrf(a: Array) -> tuple[Array, Array, Array]:
    """LAPACK's factors of one matrix, and the permutation that its exchanges amount to."""
    packed, pivots, _ = scipy.linalg.get_lapack_funcs("getrf", (a,))(a)
    order = list(range(a.shape[0]))
    for step, pivot in enumerate(pivots):
        order[step], order[pivot] = order[pivot], order[step]
    return packed, pivots.astype(np.int32), np.array(order, np.int32)


def i32(*numbers: int) -> Array:
    return np.array(numbers, np.int32)


LU = [
    row(
        lu,
        np.array([[1.0, 2.0], [3.0, 4.0]]),
        (np.array([[3, 4], [1 / 3, 2 / 3]]), i32(1, 1), i32(1, 0)),
        "known",
    ),
    *[
        row(lu, a, getrf(a), "random")
        for d in DTYPES
        for s in ((5, 5), (6, 3), (3, 6))
        for a in [normal(s, d, 13)]
    ],
    exact(lu, SINGULAR, (np.array([[2.0, 4.0], [0.5, 0.0]]), i32(1, 1), i32(1, 0)), "singular"),
    exact(lu, np.zeros((3, 3)), (np.zeros((3, 3)), i32(0, 1, 2), i32(0, 1, 2)), "all zero"),
    exact(
        lu,
        np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 2.0], [0.0, 0.0, 4.0]]),
        (np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 2.0], [0.0, 0.0, 4.0]]), i32(0, 1, 2), i32(0, 1, 2)),
        "zero columns",
    ),
    exact(
        lu,
        np.array([[3, 0], [2 + 2j, 1]], np.complex64),
        (
            np.array([[2 + 2j, 1], [0.75 - 0.75j, -0.75 + 0.75j]], np.complex64),
            i32(1, 1),
            i32(1, 0),
        ),
        "pivot by |re| + |im|",
    ),
    row(
        lu,
        normal((4, 3, 3), np.float64, 14),
        each(getrf, normal((4, 3, 3), np.float64, 14)),
        "batch",
    ),
    row(
        lu,
        normal((4, 4), np.float64, 15)[::-1, ::-1],
        getrf(normal((4, 4), np.float64, 15)[::-1, ::-1].copy()),
        "negative strides",
    ),
    exact(
        lu, np.zeros((0, 0), np.float32), (np.zeros((0, 0), np.float32), i32(), i32()), "zero size"
    ),
    exact(lu, np.zeros((3, 0)), (np.zeros((3, 0)), i32(), i32(0, 1, 2)), "no columns"),
    exact(
        lu,
        np.zeros((0, 2, 3)),
        (np.zeros((0, 2, 3)), np.zeros((0, 2), np.int32), np.zeros((0, 2), np.int32)),
        "empty batch",
    ),
]


def determinant(a: Array) -> complex:
    """The sum over all permutations."""
    total: complex = 0
    for order in permutations(range(len(a))):
        swaps = sum(order[i] > order[j] for j in range(len(a)) for i in range(j))
        total += (-1) ** swaps * math.prod(a[i, j].item() for i, j in enumerate(order))
    return total


def sign_and_log(a: Array) -> tuple[Array, Array]:
    value = determinant(a)
    sign = np.array(value / abs(value))
    return sign.astype(a.dtype), np.array(math.log(abs(value)), real(a.dtype))


SLOGDET = [
    *[row(slogdet, a, sign_and_log(a), "random") for d in DTYPES for a in [normal((4, 4), d, 16)]],
    row(
        slogdet,
        np.array([[0.0, 2.0], [3.0, 0.0]]),
        (np.array(-1.0), np.array(math.log(6))),
        "negative",
    ),
    exact(slogdet, SINGULAR, (np.array(0.0), np.array(-np.inf)), "singular"),
    row(
        slogdet,
        np.diag([1e200, 1e200, -1e200]),
        (np.array(-1.0), np.array(600 * math.log(10))),
        "beyond f64",
    ),
    row(
        slogdet,
        np.stack([np.eye(2), SINGULAR, -3 * np.eye(2)]).astype(np.float32),
        (np.array([1, 0, 1], np.float32), np.array([0, -np.inf, math.log(9)], np.float32)),
        "batch",
    ),
    exact(slogdet, np.zeros((0, 0)), (np.array(1.0), np.array(0.0)), "no rows"),
    exact(
        slogdet,
        np.zeros((2, 0, 0), np.complex64),
        (np.ones(2, np.complex64), np.zeros(2, np.float32)),
        "no rows, batch",
    ),
    exact(slogdet, np.zeros((0, 2, 2)), (np.zeros(0), np.zeros(0)), "empty batch"),
]

# --- QR, eigenvalues, singular values -----------------------------------------------------------

HOUSEHOLDER = np.array([[12, -51, 4], [6, 167, -68], [-4, 24, -41]])
HOUSEHOLDER_Q = np.array([[-150, 69, 58], [-75, -158, -6], [50, -30, 165]]) / 175
HOUSEHOLDER_R = np.array([[-14, -21, 14], [0, -175, 70], [0, 0, -35]])
SHAPES = ((4, 4), (5, 3), (3, 5), (1, 4), (4, 1))


def geqrf(a: Array, full: bool) -> tuple[Array, Array]:
    q, r = scipy.linalg.qr(a, mode="full" if full else "economic")
    return q, r


QR = [
    *[
        row(qr, HOUSEHOLDER.astype(d), (HOUSEHOLDER_Q.astype(d), HOUSEHOLDER_R.astype(d)), "known")
        for d in DTYPES
    ],
    *[
        row(qr, a, geqrf(a, full), "random", full=full)
        for d in DTYPES
        for shape in SHAPES
        for full in (False, True)
        for a in [normal(shape, d, 17)]
    ],
    row(
        qr,
        normal((3, 4, 2), np.float64, 18),
        each(lambda a: geqrf(a, False), normal((3, 4, 2), np.float64, 18)),
        "batch",
    ),
    row(qr, np.ones((3, 2)), geqrf(np.ones((3, 2)), False), "rank 1"),
    row(qr, np.zeros((2, 2)), (np.eye(2), np.zeros((2, 2))), "all zero"),
    row(
        qr,
        normal((3, 3), np.float64, 19)[::-1, ::-1],
        geqrf(normal((3, 3), np.float64, 19)[::-1, ::-1].copy(), False),
        "negative strides",
    ),
    exact(
        qr,
        np.zeros((0, 3), np.float32),
        (np.zeros((0, 0), np.float32), np.zeros((0, 3), np.float32)),
        "no rows",
    ),
    exact(qr, np.zeros((3, 0)), (np.zeros((3, 0)), np.zeros((0, 0))), "no columns"),
    exact(qr, np.zeros((3, 0)), (np.eye(3), np.zeros((3, 0))), "no columns", full=True),
    exact(qr, np.zeros((0, 2, 3)), (np.zeros((0, 2, 2)), np.zeros((0, 2, 3))), "empty batch"),
]


def syevd(a: Array) -> tuple[Array, Array]:
    values, vectors = scipy.linalg.eigh(a, driver="evd")
    return values, vectors


def nans(*shapes: tuple[int, ...], dtype: Any = np.float64) -> tuple[Array, ...]:
    return tuple(np.full(shape, np.nan, dtype) for shape in shapes)


HALF = math.sqrt(0.5)
EIGH = [
    *[row(eigh, a, syevd(a), "random") for d in DTYPES for a in [positive(5, d, 20)]],
    *[
        row(
            eigh,
            np.diag([3, 1, 2]).astype(d),
            (np.array([1, 2, 3], real(d)), np.eye(3, dtype=d)[:, [1, 2, 0]]),
            "diagonal",
        )
        for d in DTYPES
    ],
    row(
        eigh,
        np.array([[2.0, 1.0], [1.0, 2.0]]),
        (np.array([1.0, 3.0]), np.array([[-HALF, HALF], [HALF, HALF]])),
        "known",
    ),
    row(
        eigh,
        np.array([[2.0, np.nan], [1.0, 2.0]]),
        (np.array([1.0, 3.0]), np.array([[-HALF, HALF], [HALF, HALF]])),
        "reads the lower triangle",
    ),
    row(eigh, np.eye(3), (np.ones(3), np.eye(3)), "repeated"),
    exact(eigh, np.array([[-4.0]]), (np.array([-4.0]), np.array([[1.0]])), "one number"),
    row(
        eigh,
        np.stack([np.diag([1.0, 2.0]), np.array([[np.nan, 0], [0, 1]]), np.diag([3.0, 4.0])]),
        tuple(
            np.stack([a, b, c])
            for a, b, c in zip(
                (np.array([1.0, 2.0]), np.eye(2)),
                nans((2,), (2, 2)),
                (np.array([3.0, 4.0]), np.eye(2)),
                strict=True,
            )
        ),
        "NaN only where not finite",
    ),
    exact(
        eigh, np.full((1, 1), np.inf, np.float32), nans((1,), (1, 1), dtype=np.float32), "infinity"
    ),
    exact(
        eigh,
        np.zeros((0, 0), np.complex64),
        (np.zeros(0, np.float32), np.zeros((0, 0), np.complex64)),
        "zero size",
    ),
    exact(eigh, np.zeros((2, 0, 0)), (np.zeros((2, 0)), np.zeros((2, 0, 0))), "zero size, batch"),
    exact(eigh, np.zeros((0, 2, 2)), (np.zeros((0, 2)), np.zeros((0, 2, 2))), "empty batch"),
]


def gesdd(a: Array, full: bool) -> tuple[Array, Array, Array]:
    u, s, vh = scipy.linalg.svd(a, full_matrices=full, lapack_driver="gesdd")
    return u, s, vh


SVD = [
    *[
        row(svd, a, gesdd(a, full), "random", full=full)
        for d in DTYPES
        for shape in SHAPES
        for full in (False, True)
        for a in [normal(shape, d, 21)]
    ],
    row(
        svd,
        np.diag([1.0, 3.0, 2.0]),
        (np.eye(3)[:, [1, 2, 0]], np.array([3.0, 2.0, 1.0]), np.eye(3)[[1, 2, 0]]),
        "diagonal",
    ),
    row(
        svd,
        normal((3, 4, 2), np.float64, 22),
        each(lambda a: gesdd(a, False), normal((3, 4, 2), np.float64, 22)),
        "batch",
    ),
    row(svd, np.zeros((2, 2)), (np.eye(2), np.zeros(2), np.eye(2)), "all zero"),
    exact(svd, np.array([[np.nan, 1.0]]), nans((1, 1), (1,), (1, 2)), "NaN"),
    exact(svd, np.array([[np.inf], [1.0]]), nans((2, 2), (1,), (1, 1)), "infinity", full=True),
    exact(
        svd,
        np.zeros((0, 3), np.complex64),
        (np.zeros((0, 0), np.complex64), np.zeros(0, np.float32), np.zeros((0, 3), np.complex64)),
        "no rows",
    ),
    exact(svd, np.zeros((0, 3)), (np.zeros((0, 0)), np.zeros(0), np.eye(3)), "no rows", full=True),
    exact(svd, np.zeros((3, 0)), (np.zeros((3, 0)), np.zeros(0), np.zeros((0, 0))), "no columns"),
    exact(
        svd,
        np.zeros((0, 2, 3)),
        (np.zeros((0, 2, 2)), np.zeros((0, 2)), np.zeros((0, 2, 3))),
        "empty batch",
    ),
]

ROWS = CHOLESKY + TRIANGULAR + SOLVE + LU + SLOGDET + QR + EIGH + SVD

SQUARE = (cholesky, slogdet, eigh)
ANY = (*SQUARE, lu, qr, svd)
BAD = [
    *[
        BadSample(op, (f"{d}[3, 3]",), DTypeError, f"a has dtype {d}")
        for op in ANY
        for d in ("f16", "bf16", "i32", "bool")
    ],
    *[BadSample(op, ("f32[3]",), ShapeError, "needs rank 2 or more") for op in ANY],
    *[
        BadSample(op, ("f32[5, 2, 3]",), ShapeError, "must be square, differ: 2 and 3")
        for op in SQUARE
    ],
    *[
        BadSample(op, ("f32[n, m]",), ShapeError, "must be square, differ: n and m")
        for op in SQUARE
    ],
    *[
        BadSample(op, types, error, match, flags)
        for op, flags in ((solve, {}), (triangular_solve, {"lower": True}))
        for types, error, match in (
            (("f16[3, 3]", "f16[3, 1]"), DTypeError, "a has dtype f16"),
            (("f32[3, 3]", "f64[3, 1]"), DTypeError, "different dtypes"),
            (("f32[3, 2]", "f32[3, 1]"), ShapeError, "must be square"),
            (("f32[3, 3]", "f32[3]"), ShapeError, "b .* needs rank 2"),
            (("f32[3, 3]", "f32[4, 1]"), ShapeError, "rows of a and of b differ: 3 and 4"),
            (("f32[2, 3, 3]", "f32[3, 1]"), ShapeError, "batch shapes of a and b differ"),
            (("f32[1, 3, 3]", "f32[2, 3, 1]"), ShapeError, "batch shapes of a and b differ"),
        )
    ],
    BadSample(
        triangular_solve,
        ("f32[3, 3]", "f32[3, 2]"),
        ShapeError,
        "rows of a and columns of b differ: 3 and 2",
        {"lower": True, "left_side": False},
    ),
]
