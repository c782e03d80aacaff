"""Sparse arrays made of other arrays, inside and outside of traced functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.compiler.ir.errors import ArgumentError, DTypeError, ShapeError
from weft.frontends.eager.anywhere import eager
from weft.frontends.numpy import public as wnp
from weft.frontends.numpy.sparse.conversion import compressed
from weft.frontends.tracing import core, tree
from weft.frontends.tracing.sparse_array import SparseArray, of_scipy, traced


def asarray(array: Any) -> Any:
    """One of SciPy's arrays for use in a traced function that closes over it.

    >>> import numpy as np, scipy.sparse, weft as wf
    >>> S = scipy.sparse.eye_array(3, format="csr")
    >>> wf.jit(lambda x: wf.sparse.asarray(S) @ x)(np.arange(3.0))
    array([0., 1., 2.])
    """
    if isinstance(array, SparseArray):
        return array
    if not tree.is_scipy(array):
        raise ArgumentError(
            f"wf.sparse.asarray takes one of SciPy's sparse arrays, got {type(array).__name__}; "
            "wf.sparse.from_dense makes one of a dense array"
        )
    return of_scipy(array)


@eager
def csr(data: Any, indices: Any, indptr: Any, shape: tuple[int, int], unique: bool = False) -> Any:
    """The array whose row i has the entries `data[indptr[i] : indptr[i + 1]]` in the columns
    `indices[...]`. `unique` promises that no position is there twice. Outside of traced functions
    it is SciPy's.

    >>> import weft as wf
    >>> wf.sparse.csr([1.0, 2.0], [0, 2], [0, 1, 2], (2, 3)).toarray()
    array([[1., 0., 0.],
           [0., 0., 2.]])
    """
    return _made("csr", data, indices, indptr, shape, unique)


@eager
def csc(data: Any, indices: Any, indptr: Any, shape: tuple[int, int], unique: bool = False) -> Any:
    """As `csr`, column by column; `indices` are rows."""
    return _made("csc", data, indices, indptr, shape, unique)


@eager
def coo(data: Any, row: Any, col: Any, shape: tuple[int, int], unique: bool = False) -> Any:
    """The array with `data[p]` at `[row[p], col[p]]`; what is at the same position adds up."""
    return _made("coo", data, col, row, shape, unique)


@eager
def from_dense(x: Any, nse: int, format: str = "csr") -> Any:
    """The first `nse` nonzero elements of a matrix, row by row; if there are less, zeros follow.

    How many entries there are must be known when a function is traced, hence `nse`.

    >>> import numpy as np, weft as wf
    >>> wf.sparse.from_dense(np.eye(2), nse=2).toarray()
    array([[1., 0.],
           [0., 1.]])
    """
    dense = traced(x)
    if dense.ndim != 2:
        raise ShapeError(f"from_dense takes a matrix, got {dense.type}")
    rows, columns = wnp.nonzero(dense, size=nse, fill_value=-1)
    is_used = rows >= 0
    row = np.where(is_used, rows, dense.shape[0] - 1)
    col = np.where(is_used, columns, dense.shape[1] - 1)
    data = np.where(is_used, dense[row, col], np.zeros((), dense.dtype))
    made = _made("coo", data, col, row, dense.shape, False)
    return made if format == "coo" else compressed(made, format)


def _made(
    format: str, data: Any, indices: Any, lines: Any, shape: Any, unique: bool
) -> SparseArray:
    size = core.as_shape(shape)
    if len(size) != 2 or not all(isinstance(n, int) for n in size):
        raise ShapeError(f"a sparse array has two axes of known sizes, got the shape {size}")
    leaves = [_leaf(leaf) for leaf in (data, indices, lines)]
    for leaf, name in zip(leaves, ("data", "positions", "positions"), strict=True):
        if len(leaf.shape) != 1:
            raise ShapeError(f"{name} of a sparse array have one axis, got the shape {leaf.shape}")
    for leaf in leaves[1:]:
        if leaf.dtype.kind not in "iu":
            raise DTypeError(f"positions of a sparse array are integers, got {leaf.dtype}")
    count = leaves[0].shape[0]
    expected = count if format == "coo" else size[0 if format == "csr" else 1] + 1
    for leaf, wanted, name in ((leaves[1], count, "indices"), (leaves[2], expected, "lines")):
        if leaf.shape[0] != wanted:
            raise ShapeError(
                f"a {format} array of shape {size} with {count} entries has {wanted} {name}, got "
                f"{leaf.shape[0]}"
            )
    rows, columns = size
    assert isinstance(rows, int) and isinstance(columns, int)
    return SparseArray(leaves[0], leaves[1], leaves[2], (rows, columns), format, unique)


def _leaf(given: Any) -> Any:
    return given if isinstance(given, np.ndarray) else traced(given)
