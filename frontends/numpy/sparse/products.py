"""Products of sparse arrays with dense ones, and with each other where positions are known."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.compiler.ir.errors import ShapeError
from weft.compiler.ops import sparse as ops
from weft.frontends.numpy import public as wnp
from weft.frontends.tracing import core
from weft.frontends.tracing.sparse_array import SparseArray, known_array, traced


def matmul(left: Any, right: Any) -> Any:
    """`left @ right`, one of them sparse."""
    if isinstance(left, SparseArray) and isinstance(right, SparseArray):
        return _both_sparse(left, right)
    if isinstance(left, SparseArray):
        return _times_dense(left, traced(right))
    return _dense_times(traced(left), right)


def _times_dense(left: SparseArray, x: Any) -> Any:
    if x.ndim not in (1, 2) or x.shape[0] != left.shape[1]:
        raise _mismatch(left.shape, x.shape)
    common = np.result_type(left.dtype, x.dtype)
    if common.kind == "b":
        return _times_dense(left.astype("i32"), x.astype("i32")) != 0
    data, x = traced(left.data).astype(common), x.astype(common)
    if left.format == "coo":
        terms = data.reshape((-1, *[1] * (x.ndim - 1))) * x[traced(left.col)]
        return wnp.zeros((left.shape[0], *x.shape[1:]), common).at[traced(left.row)].add(terms)
    matrix = [core.lift(leaf) for leaf in (data, left.indices, left.lines)]
    is_csc = left.format == "csc"
    made = ops.sparse_dot(*matrix, core.lift(x), transposed=is_csc, size=left.shape[0])
    return core.wrap(made)


def _dense_times(x: Any, right: SparseArray) -> Any:
    if not x.ndim or x.shape[-1] != right.shape[0]:
        raise _mismatch(x.shape, right.shape)
    if x.ndim == 1:
        return _times_dense(right.T, x)
    flat = x.reshape((core.product(x.shape[:-1]), x.shape[-1]))
    return _times_dense(right.T, flat.T).T.reshape((*x.shape[:-1], right.shape[1]))


def _mismatch(left: Any, right: Any) -> Exception:
    return ShapeError(f"matmul: the shapes {tuple(left)} and {tuple(right)} do not fit")


def _both_sparse(left: SparseArray, right: SparseArray) -> SparseArray:
    if left.shape[1] != right.shape[0]:
        raise _mismatch(left.shape, right.shape)
    rows, inner, across, columns = [
        known_array(at) for at in (left.row, left.col, right.row, right.col)
    ]
    if rows is None or inner is None or across is None or columns is None:
        raise core.trace_error(
            "which entries a product of two sparse arrays has depends on the positions of theirs, "
            "which are only known when the program runs; close over both arrays with "
            "wf.sparse.asarray(S), or use A @ B.todense()"
        )
    first, second = _pairs(inner, across, right.shape[0])
    shape = (left.shape[0], right.shape[1])
    flat = rows[first].astype(np.int64) * shape[1] + columns[second]
    places, target = np.unique(flat, return_inverse=True)
    terms = traced(left.data)[first] * traced(right.data)[second]
    data = wnp.zeros(len(places), terms.dtype).at[target].add(terms)
    row, col = np.divmod(places, max(shape[1], 1))
    made = SparseArray(data, col, row, shape, "coo", True)
    return _like(made, left.format)


def _pairs(inner: Any, across: Any, size: int) -> tuple[Any, Any]:
    """Which entries of two arrays meet: each of the first with all in the row of its column."""
    order = np.argsort(across, kind="stable")
    counts = np.bincount(across, minlength=size)
    starts = np.cumsum(counts) - counts
    each = counts[inner]
    first = np.repeat(np.arange(len(inner)), each)
    within = np.arange(len(first)) - np.repeat(np.cumsum(each) - each, each)
    return first, order[starts[inner][first] + within]


def _like(made: SparseArray, format: str) -> SparseArray:
    """Entries row by row, whose positions are known, in another format."""
    if format == "coo":
        return made
    row, col = np.asarray(made.lines), np.asarray(made.indices)
    lines, across, count = (
        (row, col, made.shape[0]) if format == "csr" else (col, row, made.shape[1])
    )
    order = np.argsort(lines, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(lines, minlength=count))])
    data = made.data if format == "csr" else made.data[order]
    return SparseArray(data, across[order], offsets, made.shape, format, True)
