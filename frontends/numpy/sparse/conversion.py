"""Sparse arrays as dense ones, of other dtypes and in other formats."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from weft.compiler.ir.dtypes import dtype as as_dtype
from weft.frontends.numpy import public as wnp
from weft.frontends.tracing.sparse_array import SparseArray, require_unique, traced


def todense(array: SparseArray) -> Any:
    """The array with its zeros; entries at the same position add up."""
    if array.dtype.kind == "b":
        return todense(array.with_data(traced(array.data).astype("i32"))) != 0
    zeros = wnp.zeros(array.shape, array.dtype)
    return zeros.at[traced(array.row), traced(array.col)].add(traced(array.data))


def astype(array: SparseArray, dtype: Any) -> SparseArray:
    """Entries of another dtype; to round sums, they must be known."""
    if not as_dtype(dtype).is_inexact and array.dtype != as_dtype(dtype).numpy:
        require_unique(array, "astype to integers")
    return array.with_data(traced(array.data).astype(dtype))


def compressed(array: SparseArray, format: str) -> SparseArray:
    """The entries in the order of rows (csr) or columns (csc); in a line, in that of now."""
    if array.format == format:
        return array
    rows, columns = traced(array.row), traced(array.col)
    lines, across, count = (
        (rows, columns, array.shape[0]) if format == "csr" else (columns, rows, array.shape[1])
    )
    order = np.argsort(lines, stable=True)
    ends = np.cumsum(wnp.zeros(count, lines.dtype).at[lines].add(1)) if count else lines[:0]
    offsets = wnp.concatenate([wnp.zeros(1, lines.dtype), ends.astype(lines.dtype)])
    data = traced(array.data)[order]
    return replace(array, data=data, indices=across[order], lines=offsets, format=format)
