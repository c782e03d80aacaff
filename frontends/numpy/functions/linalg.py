"""`numpy.linalg`: factorisations, solves, and what is computed from them.

A matrix without an answer, for which NumPy raises, gives NaN or infinities here. Half precision is
refused, as in NumPy.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from weft.compiler.ir.build import constant
from weft.compiler.ir.errors import ShapeError
from weft.compiler.ir.graph import Value
from weft.compiler.ir.types import format_shape
from weft.compiler.ops import linalg as primitives
from weft.compiler.ops.arithmetic import mul
from weft.compiler.ops.logic import eq, select
from weft.compiler.ops.reduction import reduce_prod
from weft.compiler.ops.shape import iota
from weft.frontends.numpy.functions import contraction, diagonals
from weft.frontends.numpy.functions.axis_access import swap_last
from weft.frontends.numpy.functions.least_squares import lstsq, matrix_rank, pinv
from weft.frontends.numpy.functions.magnitude import conjugate
from weft.frontends.numpy.functions.manipulation import matrix_transpose
from weft.frontends.numpy.functions.matrices import (
    decompose,
    inverse,
    matrices,
    operands,
    square_matrices,
    stretch_stacks,
)
from weft.frontends.numpy.functions.matrix_functions import (
    expm,
    matrix_power,
    multi_dot,
    tensorinv,
    tensorsolve,
)
from weft.frontends.numpy.functions.norms import cond, matrix_norm, norm, vector_norm
from weft.frontends.tracing.core import lift, normalize_axis, reshape, trace_error, wrap
from weft.frontends.tracing.trace import ArrayLike, Tracer

__all__ = [
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "expm",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vecdot",
    "vector_norm",
]


class EigResult(NamedTuple):
    """What `eig` returns."""

    eigenvalues: Tracer
    eigenvectors: Tracer


class EighResult(NamedTuple):
    """What `eigh` returns."""

    eigenvalues: Tracer
    eigenvectors: Tracer


class QRResult(NamedTuple):
    """What `qr` returns."""

    Q: Tracer
    R: Tracer


class SlogdetResult(NamedTuple):
    """What `slogdet` returns."""

    sign: Tracer
    logabsdet: Tracer


class SVDResult(NamedTuple):
    """What `svd` returns."""

    U: Tracer
    S: Tracer
    Vh: Tracer


# --- solving -----------------------------------------------------------------------------------


def solve(a: ArrayLike, b: ArrayLike) -> Tracer:
    """As `numpy.linalg.solve`: b is one vector if it has rank 1, else a stack of matrices."""
    left, right = operands("solve", a, b)
    left = square_matrices("solve", wrap(left))
    size = left.type.shape[-1]
    is_vector = right.type.rank == 1
    if is_vector:
        right = reshape(right, (right.type.size, 1))
    if right.type.rank < 2 or right.type.shape[-2] != size:
        raise ShapeError(
            f"solve: the matrices have {size} rows, b has shape "
            f"{format_shape(lift(b).type.shape)}; b needs as many rows, or rank 1 and as many "
            "elements"
        )
    found = primitives.solve(*stretch_stacks([left, right]))
    return wrap(reshape(found, found.type.shape[:-1]) if is_vector else found)


def inv(a: ArrayLike) -> Tracer:
    """As `numpy.linalg.inv`."""
    return wrap(inverse(square_matrices("inv", a)))


# --- determinants ------------------------------------------------------------------------------


def slogdet(a: ArrayLike) -> SlogdetResult:
    """As `numpy.linalg.slogdet`."""
    sign, logarithm = primitives.slogdet.emit(square_matrices("slogdet", a))
    return SlogdetResult(wrap(sign), wrap(logarithm))


def det(a: ArrayLike) -> Tracer:
    """As `numpy.linalg.det`: a product of pivots, so that singular matrices have gradients."""
    value = square_matrices("det", a)
    packed, pivots, _ = primitives.lu.emit(value)
    last = value.type.rank - 2
    on_diagonal = lift(diagonals.diagonal(wrap(packed), 0, -2, -1))
    own_row = iota(dtype=pivots.type.dtype, shape=pivots.type.shape, axis=last)
    swapped = select(eq(pivots, own_row), _one(value, 1), _one(value, -1))
    return wrap(reduce_prod(mul(on_diagonal, swapped), axes=(last,)))


def _one(like: Value, sign: int) -> Value:
    return constant(sign, like.type.dtype)


# --- factorisations ----------------------------------------------------------------------------


def cholesky(a: ArrayLike, /, *, upper: bool = False) -> Tracer:
    """As `numpy.linalg.cholesky`; reads one triangle, and is NaN where not positive definite."""
    value = square_matrices("cholesky", a)
    if not upper:
        return wrap(primitives.cholesky(value))
    return wrap(_adjoint(primitives.cholesky(_adjoint(value))))


def qr(a: ArrayLike, mode: str = "reduced") -> Any:
    """As `numpy.linalg.qr`, in the modes reduced, complete and r."""
    if mode not in ("reduced", "complete", "r"):
        raise trace_error(f"qr: mode {mode!r} is not supported; use reduced, complete or r")
    q, r = primitives.qr.emit(matrices("qr", a), full=mode == "complete")
    return wrap(r) if mode == "r" else QRResult(wrap(q), wrap(r))


def eig(a: ArrayLike) -> EigResult:
    """As `numpy.linalg.eig`, but always complex: whether all values are real is not known."""
    values, vectors = primitives.eig.emit(square_matrices("eig", a))
    return EigResult(wrap(values), wrap(vectors))


def eigvals(a: ArrayLike) -> Tracer:
    """As `numpy.linalg.eigvals`, but always complex: whether all are real is not known."""
    return eig(a).eigenvalues


def eigh(a: ArrayLike, UPLO: str = "L") -> EighResult:
    """As `numpy.linalg.eigh`."""
    values, vectors = primitives.eigh.emit(_lower("eigh", a, UPLO))
    return EighResult(wrap(values), wrap(vectors))


def eigvalsh(a: ArrayLike, UPLO: str = "L") -> Tracer:
    """As `numpy.linalg.eigvalsh`."""
    return eigh(a, UPLO).eigenvalues


def svd(
    a: ArrayLike, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """As `numpy.linalg.svd`."""
    full_size = full_matrices and compute_uv
    u, s, vh = decompose(matrices("svd", a), full=full_size, hermitian=hermitian)
    return SVDResult(wrap(u), wrap(s), wrap(vh)) if compute_uv else wrap(s)


def svdvals(x: ArrayLike, /) -> Tracer:
    """As `numpy.linalg.svdvals`."""
    _, s, _ = primitives.svd.emit(matrices("svdvals", x), full=False)
    return wrap(s)


def _adjoint(value: Value) -> Value:
    return conjugate(swap_last(value))


def _lower(name: str, a: ArrayLike, triangle: str) -> Value:
    """The matrices with what describes them in the lower triangle."""
    value = square_matrices(name, a)
    if triangle.upper() not in ("L", "U"):
        raise trace_error(f"{name}: UPLO must be 'L' or 'U', got {triangle!r}")
    return value if triangle.upper() == "L" else _adjoint(value)


# --- as in NumPy's main namespace, with the array API's conventions ----------------------------


def trace(x: ArrayLike, /, *, offset: int = 0, dtype: object = None) -> Tracer:
    """As `numpy.linalg.trace`: of the matrices in the last two axes."""
    return diagonals.trace(x, offset, -2, -1, dtype)


def diagonal(x: ArrayLike, /, *, offset: int = 0) -> Tracer:
    """As `numpy.linalg.diagonal`: of the matrices in the last two axes."""
    return diagonals.diagonal(x, offset, -2, -1)


def outer(x1: ArrayLike, x2: ArrayLike, /) -> Tracer:
    """As `numpy.linalg.outer`: of two vectors."""
    for operand in (x1, x2):
        if lift(operand).type.rank != 1:
            raise ShapeError(f"linalg.outer takes arrays of rank 1, got {lift(operand).type}")
    return contraction.outer(x1, x2)


def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Tracer:
    """As `numpy.linalg.cross`: of vectors with 3 components."""
    for operand in (x1, x2):
        shape = lift(operand).type.shape
        if shape[normalize_axis(axis, len(shape))] != 3:
            raise ShapeError(
                f"linalg.cross takes vectors with 3 components, got {lift(operand).type}"
            )
    return contraction.cross(x1, x2, axis=axis)


def matmul(x1: ArrayLike, x2: ArrayLike, /) -> Tracer:
    """As `numpy.linalg.matmul`."""
    return contraction.matmul(x1, x2)


def tensordot(x1: ArrayLike, x2: ArrayLike, /, *, axes: Any = 2) -> Tracer:
    """As `numpy.linalg.tensordot`."""
    return contraction.tensordot(x1, x2, axes)


def vecdot(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Tracer:
    """As `numpy.linalg.vecdot`."""
    return contraction.vecdot(x1, x2, axis=axis)
