"""Sums, means and extremes of sparse arrays, their diagonals and elements: dense results."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.compiler.ir.errors import ShapeError
from weft.frontends.numpy import public as wnp
from weft.frontends.numpy.functions.axis_ops import checked
from weft.frontends.tracing import core
from weft.frontends.tracing.sparse_array import SparseArray, refusal, require_unique, traced


def total(array: SparseArray, axis: Any, dtype: Any = None) -> Any:
    """The sum along an axis, or of everything."""
    data = traced(array.data)
    axes = core.normalize_axes(axis, 2)
    wide = wnp.zeros(1, array.dtype).sum(dtype=dtype).dtype
    if len(axes) == 2:
        return np.sum(data, dtype=wide)
    data = data.astype(wide)
    if array.format == ("csc", "csr")[axes[0]]:
        ones = wnp.ones(array.shape[axes[0]], wide)
        summed = array.with_data(data)
        return (summed if axes[0] else summed.T) @ ones
    lines, count = _lines(array, axes[0])
    return wnp.zeros(count, wide).at[lines].add(data)


def mean(array: SparseArray, axis: Any, dtype: Any = None) -> Any:
    """The sum by the number of elements."""
    axes = core.normalize_axes(axis, 2)
    count = int(np.prod([array.shape[a] for a in axes]))
    if dtype is None and array.dtype.kind in "biu":
        dtype = np.float64
    return total(array, axis, dtype) / np.float64(count).astype(dtype or array.dtype)


def extreme(array: SparseArray, axis: Any, kind: str) -> Any:
    """The largest or smallest element; where there are less entries than elements, 0 is one."""
    require_unique(array, kind)
    axes = core.normalize_axes(axis, 2)
    length = int(np.prod([array.shape[a] for a in axes]))
    if not length:
        raise ShapeError(f"{kind} of no elements, along an axis of size 0")
    data, combine = traced(array.data), np.maximum if kind == "max" else np.minimum
    zero = np.zeros((), array.dtype)
    if len(axes) == 2:
        joined = data if array.nnz == length else wnp.concatenate([data, zero[None]])
        return getattr(np, kind)(joined)
    lines, count = _lines(array, axes[0])
    start = wnp.full(count, _bound(array.dtype, kind), array.dtype)
    found = getattr(start.at[lines], kind)(data)
    stored = wnp.zeros(count, np.int64).at[lines].add(1)
    return np.where(stored < length, combine(found, zero), found)


def _bound(dtype: np.dtype[Any], kind: str) -> Any:
    """What every element is at least (for a maximum) or at most."""
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return limits.min if kind == "max" else limits.max
    if dtype.kind in "bc":
        raise core.trace_error(f"{kind} of a sparse array of {dtype} is not supported")
    return -np.inf if kind == "max" else np.inf


def _lines(array: SparseArray, axis: int) -> tuple[Any, int]:
    """The line of each entry that is left when an axis is reduced, and how many there are."""
    return (traced(array.col), array.shape[1]) if axis == 0 else (traced(array.row), array.shape[0])


def diagonal(array: SparseArray, k: int = 0) -> Any:
    """The elements at [i, i + k]."""
    rows, columns = array.shape
    length = min(rows + min(k, 0), columns - max(k, 0))
    if length <= 0:
        return wnp.zeros(0, array.dtype)
    row, col = (at.astype(np.int64) for at in (traced(array.row), traced(array.col)))
    is_there = col - row == k
    place = np.where(is_there, np.minimum(row, col), 0)
    return wnp.zeros(length, array.dtype).at[place].add(_where(is_there, array))


def _where(condition: Any, array: SparseArray) -> Any:
    return np.where(condition, traced(array.data), np.zeros((), array.dtype))


def element(array: SparseArray, key: Any) -> Any:
    """`S[i]` and `S[i, :]`, `S[:, j]`, `S[i, j]`, by numbers that may be traced."""
    items = key if isinstance(key, tuple) else (key, slice(None))
    whole = [isinstance(item, slice) and item == slice(None) for item in items]
    is_number = [not isinstance(item, slice) and np.ndim(item) == 0 for item in items]
    is_known = all(x or y for x, y in zip(whole, is_number, strict=True))
    if len(items) != 2 or all(whole) or not is_known:
        raise refusal("only S[i], S[:, j] and S[i, j] are supported on sparse arrays")
    chosen = np.ones((), bool)
    for item, number, at, size in zip(
        items, is_number, (array.row, array.col), array.shape, strict=True
    ):
        if number:
            chosen = chosen & (traced(at) == _position(item, size))
    picked = _where(chosen, array)
    if not any(whole):
        return np.sum(picked)
    lines, count = _lines(array, 0 if whole[1] else 1)
    return wnp.zeros(count, array.dtype).at[lines].add(picked)


def _position(item: Any, size: int) -> Any:
    if isinstance(item, int | np.integer):
        return core.normalize_axis(item, size) if -size <= item < size else _outside(item, size)
    return core.wrap(checked(core.lift(item), size, from_end=True))


def _outside(item: Any, size: int) -> Any:
    raise IndexError(f"index {item} is out of range for an axis of size {size}")
