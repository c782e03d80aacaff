"""`scipy.linalg` on traced arrays: solves by given factors, and matrices of a structure.

Beside these, what `numpy.linalg` has is here too. Flags about overwriting and checks mean nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.compiler.ir.errors import ShapeError
from weft.compiler.ops import linalg as primitives
from weft.frontends.eager.anywhere import eager
from weft.frontends.numpy.functions import linalg
from weft.frontends.numpy.functions.matrices import operands, stretch_stacks
from weft.frontends.scipy.floats import traced
from weft.frontends.tracing.core import lift, reshape, trace_error, wrap
from weft.frontends.tracing.trace import ArrayLike

_FROM_NUMPY = "det eig eigh eigvals eigvalsh expm inv lstsq norm pinv qr svdvals"

__all__ = sorted(
    [
        *_FROM_NUMPY.split(),
        *("block_diag", "cho_factor", "cho_solve", "cholesky", "circulant", "companion", "hankel"),
        *("hilbert", "kron", "lu", "lu_factor", "lu_solve", "solve", "solve_triangular", "svd"),
        "toeplitz",
    ]
)

globals().update({name: eager(getattr(linalg, name)) for name in _FROM_NUMPY.split()})


# --- factors and solves -------------------------------------------------------------------------


@eager
def cholesky(a: ArrayLike, lower: bool = False, **_: Any) -> Any:
    """As `scipy.linalg.cholesky`: the upper factor unless `lower`; NaN if there is none."""
    return linalg.cholesky(a, upper=not lower)


@eager
def cho_factor(a: ArrayLike, lower: bool = False, **_: Any) -> Any:
    """As `scipy.linalg.cho_factor`; the other triangle is 0."""
    return linalg.cholesky(a, upper=not lower), lower


@eager
def cho_solve(c_and_lower: Any, b: ArrayLike, **_: Any) -> Any:
    """As `scipy.linalg.cho_solve`."""
    factor, lower = c_and_lower
    first = solve_triangular(factor, b, lower=lower, trans=0 if lower else 2)
    return solve_triangular(factor, first, lower=lower, trans=2 if lower else 0)


@eager
def solve_triangular(
    a: ArrayLike,
    b: ArrayLike,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    **_: Any,
) -> Any:
    """As `scipy.linalg.solve_triangular`; reads one triangle of `a`."""
    kinds: dict[Any, int] = {"N": 0, "T": 1, "C": 2}
    kind = kinds.get(trans, trans)
    if kind not in (0, 1, 2):
        raise trace_error(f"solve_triangular: trans is 0, 1, 2 or 'N', 'T', 'C', got {trans!r}")
    matrix, right = operands("solve_triangular", a, b)
    is_vector = right.type.rank == matrix.type.rank - 1
    if is_vector:
        right = reshape(right, (*right.type.shape, 1))
    if matrix.type.shape[-2] != right.type.shape[-2]:
        raise ShapeError(f"solve_triangular: {matrix.type} and {right.type} do not fit together")
    matrix, right = stretch_stacks([matrix, right])
    found = primitives.triangular_solve(
        matrix,
        right,
        lower=lower,
        transpose=kind != 0,
        conjugate=kind == 2 and matrix.type.dtype.is_complex,
        unit_diagonal=unit_diagonal,
    )
    return wrap(reshape(found, found.type.shape[:-1]) if is_vector else found)


@eager
def solve(a: ArrayLike, b: ArrayLike, lower: bool = False, assume_a: str = "gen", **_: Any) -> Any:
    """As `scipy.linalg.solve`; `assume_a="pos"` takes Cholesky's factor."""
    if assume_a in ("pos", "positive definite"):
        return cho_solve((linalg.cholesky(a), True), b)
    return linalg.solve(a, b)


@eager
def lu_factor(a: ArrayLike, **_: Any) -> Any:
    """As `scipy.linalg.lu_factor`."""
    (value,) = operands("lu_factor", a)
    packed, pivots, _permutation = primitives.lu.emit(value)
    return wrap(packed), wrap(pivots)


@eager
def lu(a: ArrayLike, permute_l: bool = False, **_: Any) -> Any:
    """As `scipy.linalg.lu`: (P, L, U) with a = P L U."""
    (value,) = operands("lu", a)
    packed_value, pivots, order = primitives.lu.emit(value)
    del pivots
    packed: Any = wrap(packed_value)
    rows, columns = packed.shape[-2:]
    inner = min(rows, columns)
    unit = np.eye(rows, inner, dtype=packed.dtype)
    left = np.tril(packed[..., :, :inner], -1) + unit
    right = np.triu(packed[..., :inner, :])
    # Row i of L U is row order[i] of a.
    rows_of_a: Any = wrap(order)
    exchange = (rows_of_a[..., None, :] == np.arange(rows)[:, None]).astype(packed.dtype)
    return (exchange @ left, right) if permute_l else (exchange, left, right)


@eager
def lu_solve(lu_and_piv: Any, b: ArrayLike, trans: int = 0, **_: Any) -> Any:
    """As `scipy.linalg.lu_solve`, of one matrix."""
    packed, pivots = [traced(part) for part in lu_and_piv]
    size = packed.type.shape[-1]
    order: Any = traced(np.arange(size))
    for step in range(size):
        swapped = order.at[step].set(order[pivots[step]])
        order = swapped.at[pivots[step]].set(order[step])
    right: Any = traced(b)
    if trans == 0:
        first = solve_triangular(packed, right[order], lower=True, unit_diagonal=True)
        return solve_triangular(packed, first)
    first = solve_triangular(packed, right, trans=trans)
    made = solve_triangular(packed, first, trans=trans, lower=True, unit_diagonal=True)
    return np.zeros_like(made).at[order].set(made)


@eager
def svd(a: ArrayLike, full_matrices: bool = True, compute_uv: bool = True, **_: Any) -> Any:
    """As `scipy.linalg.svd`."""
    made = linalg.svd(a, full_matrices, compute_uv)
    return tuple(made) if compute_uv else made


# --- matrices of a structure --------------------------------------------------------------------


@eager
def block_diag(*arrs: ArrayLike) -> Any:
    """As `scipy.linalg.block_diag`."""
    blocks: list[Any] = [np.atleast_2d(traced(a)) for a in arrs or ([],)]
    columns = sum(block.shape[-1] for block in blocks)
    before, rows = 0, []
    for block in blocks:
        after = columns - before - block.shape[-1]
        rows.append(np.pad(block, ((0, 0), (before, after))))
        before += block.shape[-1]
    return np.concatenate(rows)


@eager
def toeplitz(c: ArrayLike, r: ArrayLike | None = None) -> Any:
    """As `scipy.linalg.toeplitz`, of two vectors: the first column and row."""
    column: Any = np.ravel(traced(c))
    row: Any = np.conj(column) if r is None else np.ravel(traced(r))
    line = np.concatenate([column[::-1], row[1:]])
    height, width = column.shape[0], row.shape[0]
    places = np.arange(height - 1, -1, -1)[:, None] + np.arange(width)
    return line[places]


@eager
def circulant(c: ArrayLike) -> Any:
    """As `scipy.linalg.circulant`, of a vector."""
    column: Any = np.ravel(traced(c))
    size = column.shape[0]
    return column[(np.arange(size)[:, None] - np.arange(size)) % size]


@eager
def hankel(c: ArrayLike, r: ArrayLike | None = None) -> Any:
    """As `scipy.linalg.hankel`, of two vectors: the first column and the last row."""
    column: Any = np.ravel(traced(c))
    row: Any = np.zeros_like(column) if r is None else np.ravel(traced(r))
    line = np.concatenate([column, row[1:]])
    return line[np.arange(column.shape[0])[:, None] + np.arange(row.shape[0])]


@eager
def hilbert(n: int) -> Any:
    """As `scipy.linalg.hilbert`."""
    return wrap(lift(1 / (np.arange(n)[:, None] + np.arange(n) + 1.0)))


@eager
def companion(a: ArrayLike) -> Any:
    """As `scipy.linalg.companion`."""
    line: Any = traced(a)
    size = line.shape[0]
    top = (-line[1:] / line[0])[None]
    return np.concatenate([top, np.eye(size - 2, size - 1, dtype=top.dtype)])


@eager
def kron(a: ArrayLike, b: ArrayLike) -> Any:
    """As `numpy.kron`."""
    return np.kron(traced(a), traced(b))


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"scipy.linalg.{name} has no traced version; see weft.numpy.linalg, or call SciPy's with "
        "wf.callback"
    )
