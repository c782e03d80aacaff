"""Factorisations and solves of matrices, batched over leading axes, in f32, f64, c64 and c128.

Nothing raises, and no matrix of a batch touches another: cholesky, eigh, eig and svd of a matrix
that has no answer (not positive definite, not finite, no convergence) are NaN throughout; a
singular matrix makes solves divide by zero. Determinant, inverse, pseudo-inverse and matrix
exponential are compositions in the frontend. What their derivatives mean stands in `linalg_rules`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from weft.compiler.ir import dims, dtypes
from weft.compiler.ir.attributes import BOOL
from weft.compiler.ir.dims import Size
from weft.compiler.ir.errors import DTypeError, ShapeError
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ir.types import ArrayType, format_shape
from weft.compiler.ops import linalg_rules
from weft.compiler.ops.common import require_equal, require_rank, same_dtype
from weft.compiler.ops.precision import Array

_DTYPES: Final = (dtypes.f32, dtypes.f64, dtypes.c64, dtypes.c128)


# --- checks -------------------------------------------------------------------------------------


def _require_matrices(a: ArrayType, name: str = "a") -> tuple[Size, Size]:
    """The rows and columns of a batch of matrices in a dtype that LAPACK knows."""
    if a.dtype not in _DTYPES:
        accepted = ", ".join(d.name for d in _DTYPES)
        raise DTypeError(
            f"{name} has dtype {a.dtype}, expected one of {accepted}; convert it first"
        )
    require_rank(a, 2, f"{name} [*batch, rows, columns]")
    return a.shape[-2], a.shape[-1]


def _require_square(a: ArrayType) -> Size:
    rows, columns = _require_matrices(a)
    require_equal(rows, columns, "rows and columns of a, which must be square,")
    return rows


def _require_same_batch(a: ArrayType, b: ArrayType) -> None:
    same_dtype((a, b))
    _require_matrices(b, "b")
    if a.shape[:-2] != b.shape[:-2]:
        batches = f"{format_shape(a.shape[:-2])} and {format_shape(b.shape[:-2])}"
        raise ShapeError(f"batch shapes of a and b differ: {batches}")


def _nan_where_impossible(factorise: Callable[[Array], Any], a: Array) -> Any:
    """`factorise(a)`, with NaN for each matrix that is not finite or makes it raise."""
    # LAPACK's answer to NaN depends on its version, down to loops that never end.
    if np.isfinite(a).all():
        try:
            return factorise(a)
        except np.linalg.LinAlgError:
            pass
    if a.ndim == 2:
        possible = factorise(np.eye(*a.shape, dtype=a.dtype))
        return _map_parts(lambda part: np.full_like(part, np.nan), possible)
    parts = [_nan_where_impossible(factorise, matrix) for matrix in a]
    return _map_parts(lambda *part: np.stack(part), *parts)


def _map_parts(function: Callable[..., Array], *results: Any) -> Any:
    """A function of arrays, applied to results that are arrays or tuples of arrays."""
    if isinstance(results[0], tuple):
        return tuple(function(*part) for part in zip(*results, strict=True))
    return function(*results)


# --- cholesky -----------------------------------------------------------------------------------


def _infer_cholesky(a: ArrayType) -> ArrayType:
    _require_square(a)
    return a


def _reference_cholesky(a: Array) -> Any:
    return _nan_where_impossible(np.linalg.cholesky, np.tril(a))


cholesky = OpDef(
    name="cholesky",
    doc="The lower L with L L^H = a, of a's lower triangle; NaN where not positive definite.",
    operands=("a",),
    infer=_infer_cholesky,
    reference=_reference_cholesky,
    jvp=linalg_rules.cholesky_jvp,
    batch=linalg_rules.batch_alone,
)


# --- triangular solve ---------------------------------------------------------------------------


def _infer_triangular_solve(
    a: ArrayType, b: ArrayType, *, left_side: bool, **flags: bool
) -> ArrayType:
    size = _require_square(a)
    _require_same_batch(a, b)
    if left_side:
        require_equal(size, b.shape[-2], "rows of a and of b")
    else:
        require_equal(size, b.shape[-1], "rows of a and columns of b")
    return b


def _reference_triangular_solve(
    a: Array,
    b: Array,
    *,
    lower: bool,
    transpose: bool,
    conjugate: bool,
    unit_diagonal: bool,
    left_side: bool,
) -> Array:
    """Substitution from the left; the other cases are brought to it by turning the arrays."""
    if not left_side:
        flags = {"lower": lower, "conjugate": conjugate, "unit_diagonal": unit_diagonal}
        turned = _reference_triangular_solve(
            a, b.swapaxes(-1, -2), transpose=not transpose, left_side=True, **flags
        )
        return turned.swapaxes(-1, -2)
    a = a.conj() if conjugate else a
    if transpose:
        a, lower = a.swapaxes(-1, -2), not lower
    substitute = _forward_substitution if lower else _back_substitution
    return substitute(a, b, unit_diagonal)


def _forward_substitution(a: Array, b: Array, unit_diagonal: bool) -> Array:
    x = b.copy()
    for row in range(a.shape[-1]):
        known = a[..., row : row + 1, :row] @ x[..., :row, :]
        x[..., row, :] -= known[..., 0, :]
        if not unit_diagonal:
            x[..., row, :] /= a[..., row, row, None]
    return x


def _back_substitution(a: Array, b: Array, unit_diagonal: bool) -> Array:
    turned = _forward_substitution(a[..., ::-1, ::-1], b[..., ::-1, :], unit_diagonal)
    return turned[..., ::-1, :]


triangular_solve = OpDef(
    name="triangular_solve",
    doc="x with op(a) x = b, or x op(a) = b unless `left_side`, where op transposes, conjugates or "
    "both; reads one triangle of a, and takes its diagonal as ones if `unit_diagonal`.",
    operands=("a", "b"),
    attributes={
        "lower": BOOL,
        "transpose": BOOL,
        "conjugate": BOOL,
        "unit_diagonal": BOOL,
        "left_side": BOOL,
    },
    defaults={"transpose": False, "conjugate": False, "unit_diagonal": False, "left_side": True},
    infer=_infer_triangular_solve,
    reference=_reference_triangular_solve,
    jvp=linalg_rules.triangular_solve_jvp,
    transpose=linalg_rules.triangular_solve_transpose,
    batch=linalg_rules.batch_solve,
)


# --- LU, solve, determinant ---------------------------------------------------------------------


def _infer_lu(a: ArrayType) -> tuple[ArrayType, ...]:
    rows, columns = _require_matrices(a)
    batch = a.shape[:-2]
    pivots = ArrayType(dtypes.i32, (*batch, dims.minimum(rows, columns)))
    return a, pivots, ArrayType(dtypes.i32, (*batch, rows))


def _reference_lu(a: Array) -> tuple[Array, Array, Array]:
    """Gaussian elimination, column by column, on all matrices at once."""
    *leading, rows, columns = a.shape
    count, steps = math.prod(leading), min(rows, columns)
    lu = a.reshape(count, rows, columns).copy()
    batch = np.arange(count)
    pivots = np.empty((count, steps), np.int32)
    permutation = np.tile(np.arange(rows, dtype=np.int32), (count, 1))
    for step in range(steps):
        # LAPACK compares complex numbers by |re| + |im|; the same pivots come out.
        weights = np.abs(lu[:, step:, step].real) + np.abs(lu[:, step:, step].imag)
        chosen = step + weights.argmax(axis=-1)
        pivots[:, step] = chosen
        for swapped in (lu, permutation):
            chosen_rows = swapped[batch, chosen]
            swapped[batch, chosen] = swapped[:, step]
            swapped[:, step] = chosen_rows
        pivot, below = lu[:, step, step, None], slice(step + 1, None)
        lu[:, below, step] /= np.where(pivot == 0, 1, pivot)
        lu[:, below, below] -= lu[:, below, step, None] * lu[:, None, step, below]
    return lu.reshape(a.shape), pivots.reshape(*leading, steps), permutation.reshape(*leading, rows)


lu = OpDef(
    name="lu",
    doc="(packed, pivots, permutation) with a[permutation] = L U: U is packed's upper triangle, L "
    "the part below it with ones on the diagonal. Step i exchanged rows i and pivots[i].",
    operands=("a",),
    infer=_infer_lu,
    reference=_reference_lu,
    jvp=linalg_rules.lu_jvp,
    batch=linalg_rules.batch_alone,
)


def _infer_solve(a: ArrayType, b: ArrayType) -> ArrayType:
    size = _require_square(a)
    _require_same_batch(a, b)
    require_equal(size, b.shape[-2], "rows of a and of b")
    return b


def _reference_solve(a: Array, b: Array) -> Array:
    packed, _, permutation = _reference_lu(a)
    permuted = np.take_along_axis(b, permutation[..., None], axis=-2)
    halfway = _forward_substitution(packed, permuted, unit_diagonal=True)
    return _back_substitution(packed, halfway, unit_diagonal=False)


solve = OpDef(
    name="solve",
    doc="x with a x = b for b [*batch, n, k], by `lu` and two triangular solves; infinities and "
    "NaN where a is singular.",
    operands=("a", "b"),
    infer=_infer_solve,
    reference=_reference_solve,
    jvp=linalg_rules.solve_jvp,
    transpose=linalg_rules.solve_transpose,
    batch=linalg_rules.batch_solve,
)


def _infer_slogdet(a: ArrayType) -> tuple[ArrayType, ArrayType]:
    _require_square(a)
    batch = a.shape[:-2]
    return ArrayType(a.dtype, batch), ArrayType(a.dtype.real, batch)


def _reference_slogdet(a: Array) -> tuple[Any, Any]:
    sign, log_magnitude = np.linalg.slogdet(a)
    return sign, log_magnitude


slogdet = OpDef(
    name="slogdet",
    doc="(sign, log of the magnitude) of the determinant; (0, -inf) where a is singular.",
    operands=("a",),
    infer=_infer_slogdet,
    reference=_reference_slogdet,
    jvp=linalg_rules.slogdet_jvp,
    batch=linalg_rules.batch_alone,
)


# --- QR, eigenvalues, singular values -----------------------------------------------------------


def _infer_qr(a: ArrayType, *, full: bool) -> tuple[ArrayType, ArrayType]:
    rows, columns = _require_matrices(a)
    batch = a.shape[:-2]
    inner = rows if full else dims.minimum(rows, columns)
    return a.with_shape((*batch, rows, inner)), a.with_shape((*batch, inner, columns))


def _reference_qr(a: Array, *, full: bool) -> tuple[Array, Array]:
    q, r = np.linalg.qr(a, mode="complete" if full else "reduced")
    return q, r


qr = OpDef(
    name="qr",
    doc="(q, r) with a = q r, q of orthonormal columns and r upper triangular, by Householder "
    "reflections as in LAPACK; `full` makes q square.",
    operands=("a",),
    attributes={"full": BOOL},
    defaults={"full": False},
    infer=_infer_qr,
    reference=_reference_qr,
    jvp=linalg_rules.qr_jvp,
    batch=linalg_rules.batch_alone,
)


def _infer_eigh(a: ArrayType) -> tuple[ArrayType, ArrayType]:
    _require_square(a)
    return ArrayType(a.dtype.real, a.shape[:-1]), a


def _reference_eigh(a: Array) -> Any:
    return _nan_where_impossible(lambda part: tuple(np.linalg.eigh(part, "L")), np.tril(a))


eigh = OpDef(
    name="eigh",
    doc="(ascending eigenvalues, eigenvectors as columns) of the Hermitian matrix that a's lower "
    "triangle describes.",
    operands=("a",),
    infer=_infer_eigh,
    reference=_reference_eigh,
    jvp=linalg_rules.eigh_jvp,
    batch=linalg_rules.batch_alone,
)


def _infer_eig(a: ArrayType) -> tuple[ArrayType, ArrayType]:
    _require_square(a)
    element = dtypes.promote(a.dtype, dtypes.c64)
    return ArrayType(element, a.shape[:-1]), ArrayType(element, a.shape)


def _reference_eig(a: Array) -> Any:
    # NumPy's results are real where all values are; whether they are depends on the matrix.
    element = np.result_type(a.dtype, np.complex64)
    eigenpairs = _nan_where_impossible(lambda part: tuple(np.linalg.eig(part)), a)
    return _map_parts(lambda part: part.astype(element), eigenpairs)


eig = OpDef(
    name="eig",
    doc="(eigenvalues, right eigenvectors as columns of length 1) of a general matrix, complex "
    "always, in no order; the largest element of a complex vector is real.",
    operands=("a",),
    infer=_infer_eig,
    reference=_reference_eig,
    jvp=linalg_rules.eig_jvp,
    batch=linalg_rules.batch_alone,
)


def _infer_svd(a: ArrayType, *, full: bool) -> tuple[ArrayType, ArrayType, ArrayType]:
    rows, columns = _require_matrices(a)
    batch = a.shape[:-2]
    least = dims.minimum(rows, columns)
    left, right = (rows, columns) if full else (least, least)
    u, vh = a.with_shape((*batch, rows, left)), a.with_shape((*batch, right, columns))
    return u, ArrayType(a.dtype.real, (*batch, least)), vh


def _reference_svd(a: Array, *, full: bool) -> Any:
    return _nan_where_impossible(lambda part: tuple(np.linalg.svd(part, full_matrices=full)), a)


svd = OpDef(
    name="svd",
    doc="(u, s, vh) with a = u diag(s) vh and s descending; `full` makes u and vh square.",
    operands=("a",),
    attributes={"full": BOOL},
    defaults={"full": False},
    infer=_infer_svd,
    reference=_reference_svd,
    jvp=linalg_rules.svd_jvp,
    batch=linalg_rules.batch_alone,
)

OPS: Final = (cholesky, triangular_solve, solve, lu, slogdet, qr, eigh, eig, svd)
