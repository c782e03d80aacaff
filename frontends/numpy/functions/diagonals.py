"""Matrices with a diagonal, triangles, and the elements of a diagonal."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from weft.compiler.ir import dims, dtypes
from weft.compiler.ir.build import constant
from weft.compiler.ir.dims import Dim, Size
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.errors import ShapeError
from weft.compiler.ir.graph import Constant, Value
from weft.compiler.ir.types import Shape, format_shape
from weft.compiler.ops import indexing
from weft.compiler.ops import shape as shape_ops
from weft.compiler.ops.arithmetic import add, remainder
from weft.compiler.ops.logic import and_, eq, ge, select
from weft.frontends.numpy.functions import reductions
from weft.frontends.numpy.functions.axis_ops import as_value, flat, iota, slice_axis
from weft.frontends.numpy.functions.creation import check_device
from weft.frontends.numpy.functions.resizing import resize
from weft.frontends.tracing import core
from weft.frontends.tracing.core import as_size, cast, check_no, normalize_axis, size_value, wrap
from weft.frontends.tracing.trace import ArrayLike, Tracer

__all__ = [
    "diag",
    "diag_indices",
    "diag_indices_from",
    "diagflat",
    "diagonal",
    "eye",
    "fill_diagonal",
    "identity",
    "trace",
    "tri",
    "tril",
    "tril_indices",
    "tril_indices_from",
    "triu",
    "triu_indices",
    "triu_indices_from",
]


# --- made from sizes ------------------------------------------------------------------------------


def eye(
    N: Any,
    M: Any = None,
    k: Any = 0,
    dtype: object = float,
    order: str = "C",
    *,
    device: str | None = None,
    like: object = None,
) -> Tracer:
    """As `numpy.eye`; sizes and `k` may be symbolic."""
    check_device("eye", device)
    row, column = _rows_and_columns(_matrix_shape(N, M), k)
    return wrap(cast(eq(row, column), dtypes.dtype(dtype)))


def identity(n: Any, dtype: object = None, *, like: object = None) -> Tracer:
    """As `numpy.identity`."""
    return eye(n, dtype=dtype)


def tri(N: Any, M: Any = None, k: Any = 0, dtype: object = float, *, like: object = None) -> Tracer:
    """As `numpy.tri`; sizes and `k` may be symbolic."""
    row, column = _rows_and_columns(_matrix_shape(N, M), k)
    return wrap(cast(ge(row, column), dtypes.dtype(dtype)))


def tril(m: ArrayLike, k: Any = 0) -> Tracer:
    """As `numpy.tril`."""
    value = _matrix("tril", m)
    row, column = _rows_and_columns(value.type.shape, k)
    return wrap(select(ge(row, column), value, constant(0, value.type.dtype)))


def triu(m: ArrayLike, k: Any = 0) -> Tracer:
    """As `numpy.triu`."""
    value = _matrix("triu", m)
    row, column = _rows_and_columns(value.type.shape, k)
    return wrap(select(ge(column, row), value, constant(0, value.type.dtype)))


def _matrix_shape(rows: Any, columns: Any) -> Shape:
    # NumPy takes a negative size for an empty one here.
    sizes = as_size(rows), as_size(rows if columns is None else columns)
    return tuple([dims.maximum(size, 0) for size in sizes])


def _matrix(function: str, m: ArrayLike) -> Value:
    """The operand of tril and triu; a row stands for the square matrix that repeats it."""
    value = as_value(m)
    if not value.type.rank:
        raise ShapeError(f"{function} needs an array of rank 1 or more, got {value.type}")
    if value.type.rank == 1:
        (size,) = value.type.shape
        return core.broadcast_value(value, (size, size))
    return value


def _rows_and_columns(sizes: Shape, k: Any) -> tuple[Value, Value]:
    """For each element its row moved by `k`, and its column."""
    rank, shift = len(sizes), as_size(k)
    rows, columns = sizes[-2:]
    dtype = _index_dtype(rows, columns, shift)
    row = iota(sizes, rank - 2, dtype)
    column = iota(sizes, rank - 1, dtype)
    return (row if shift == 0 else add(row, size_value(shift, dtype))), column


def _index_dtype(*sizes: Size) -> DType:
    """int32, of which twice as many are compared at once, where all sizes are far below its end."""
    small = all(isinstance(size, Dim) or abs(size) < 2**30 for size in sizes)
    return dtypes.i32 if small else dtypes.i64


# --- diagonals ------------------------------------------------------------------------------------


def diag(v: ArrayLike, k: Any = 0) -> Tracer:
    """As `numpy.diag`: the diagonal of a matrix, or the matrix with this diagonal."""
    value = as_value(v)
    if value.type.rank == 1:
        return wrap(_diagonal_matrix(value, operator.index(k)))
    if value.type.rank == 2:
        return diagonal(wrap(value), k)
    raise ShapeError(f"diag needs an array of rank 1 or 2, got {value.type}")


def diagflat(v: ArrayLike, k: Any = 0) -> Tracer:
    """As `numpy.diagflat`."""
    return wrap(_diagonal_matrix(flat(as_value(v)), operator.index(k)))


def diagonal(a: ArrayLike, offset: Any = 0, axis1: int = 0, axis2: int = 1) -> Tracer:
    """As `numpy.diagonal`."""
    value = as_value(a)
    if value.type.rank < 2:
        raise ShapeError(f"diagonal needs an array of rank 2 or more, got {value.type}")
    row, column = normalize_axis(axis1, value.type.rank), normalize_axis(axis2, value.type.rank)
    if row == column:
        raise ShapeError(f"axis1 and axis2 are both {row}; a diagonal needs two axes")
    return wrap(_diagonal(value, operator.index(offset), row, column))


def trace(
    a: ArrayLike,
    offset: Any = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: object = None,
    out: None = None,
) -> Tracer:
    """As `numpy.trace`."""
    check_no("trace", out=out)
    return reductions.sum(diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)


def fill_diagonal(a: ArrayLike, val: ArrayLike, wrap: bool = False) -> Tracer:
    """As `numpy.fill_diagonal`, but returns the new array: traced arrays do not change."""
    value = as_value(a)
    sizes = value.type.shape
    if len(sizes) < 2:
        raise ShapeError(f"fill_diagonal needs an array of rank 2 or more, got {value.type}")
    if len(sizes) > 2 and any(size != sizes[0] for size in sizes):
        raise ShapeError(f"all axes must have one size for rank above 2, got {format_shape(sizes)}")
    new = as_value(val, value.type.dtype)
    if not new.type.rank:
        return core.wrap(select(_on_diagonal(sizes, wrap), new, value))
    return core.wrap(_scatter_diagonal(value, new, wrap))


def _diagonal_matrix(value: Value, k: int) -> Value:
    """The square matrix: the vector spread to the distance of diagonal elements, then folded."""
    (count,) = value.type.shape
    size = count + abs(k)
    low = k if k >= 0 else -k * size
    zero = constant(0, value.type.dtype)
    if isinstance(count, int) and isinstance(size, int):
        high = size * size - low - max(count + (count - 1) * size, 0)
        spread = shape_ops.pad(value, zero, low=[low], high=[high], interior=[size])
        return core.reshape(spread, (size, size))
    column = core.reshape(value, (count, 1))
    rows = shape_ops.pad(column, zero, low=[0, 0], high=[0, size], interior=[0, 0])
    high = size * size - low - count * (size + 1)
    spread = shape_ops.pad(flat(rows), zero, low=[low], high=[high], interior=[0])
    return core.reshape(spread, (size, size))


def _diagonal(value: Value, offset: int, row: int, column: int) -> Value:
    sizes = value.type.shape
    kept = [axis for axis in range(len(sizes)) if axis not in (row, column)]
    rows, columns = sizes[row], sizes[column]
    count = dims.maximum(
        dims.minimum(rows - max(-offset, 0), columns - max(offset, 0)),
        0,
    )
    if not isinstance(columns, int) or not isinstance(count, int):
        return _gather_diagonal(value, offset, count, row, column)
    last = core.transpose(value, [*kept, row, column])
    batch = last.type.shape[:-2]
    folded = core.reshape(last, (*batch, rows * columns))
    start = offset if offset >= 0 else -offset * columns
    if not count:
        return slice_axis(folded, len(batch), 0, 0)
    limit = start + (count - 1) * (columns + 1) + 1
    return slice_axis(folded, len(batch), start, limit, columns + 1)


def _gather_diagonal(value: Value, offset: int, count: Size, row: int, column: int) -> Value:
    index = iota((count,), 0)
    moved = add(index, constant(abs(offset), dtypes.i64)) if offset else index
    pair = (index, moved) if offset >= 0 else (moved, index)
    gathered = indexing.gather(value, *pair, axes=(row, column), mode="clip")
    return core.transpose(gathered, [*range(1, gathered.type.rank), 0])


def _on_diagonal(sizes: Shape, wraps: bool) -> Value:
    """Whether each element lies on the diagonal; in a tall matrix a wrapped one starts anew."""
    indices = [iota(sizes, axis, _index_dtype(*sizes)) for axis in range(len(sizes))]
    if wraps and len(sizes) == 2:
        period = size_value(sizes[1] + 1, indices[0].type.dtype)
        indices[0] = remainder(indices[0], period)
    result = eq(indices[0], indices[1])
    for index in indices[2:]:
        result = and_(result, eq(indices[0], index))
    return result


def _scatter_diagonal(value: Value, new: Value, wraps: bool) -> Value:
    """Several values, in order and over and over, on the flat positions of the diagonal."""
    sizes = value.type.shape
    if not value.type.is_static:
        raise core.trace_error(
            f"fill_diagonal with several values needs known sizes, got {value.type}; give one value"
        )
    known = [operator.index(size) for size in sizes]
    step = 1 + int(np.cumprod(known[::-1])[:-1].sum())
    end = known[1] ** 2 if len(known) == 2 and not wraps else int(np.prod(known))
    positions = np.arange(0, min(end, int(np.prod(known))), step)
    if not len(positions):
        return value
    updates = resize(wrap(new), (len(positions),)).value
    written = indexing.scatter(
        flat(value), updates, Constant(positions), axes=(0,), kind="set", mode="clip"
    )
    return core.reshape(written, sizes)


# --- indices of diagonals and triangles -----------------------------------------------------------


def diag_indices(n: Any, ndim: int = 2) -> tuple[Tracer, ...]:
    """As `numpy.diag_indices`; the size may be symbolic."""
    return (wrap(iota((as_size(n),), 0)),) * ndim


def diag_indices_from(arr: ArrayLike) -> tuple[Tracer, ...]:
    """As `numpy.diag_indices_from`."""
    sizes = as_value(arr).type.shape
    if len(sizes) < 2 or any(size != sizes[0] for size in sizes):
        raise ShapeError(
            f"all axes must have one size, and there must be two, got {format_shape(sizes)}"
        )
    return diag_indices(sizes[0], len(sizes))


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Tracer, ...]:
    """As `numpy.tril_indices`: constants."""
    return _known_indices(np.tril_indices(*_known("tril_indices", n, k, n if m is None else m)))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Tracer, ...]:
    """As `numpy.triu_indices`: constants."""
    return _known_indices(np.triu_indices(*_known("triu_indices", n, k, n if m is None else m)))


def tril_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Tracer, ...]:
    """As `numpy.tril_indices_from`: constants."""
    return tril_indices(*_matrix_arguments("tril_indices_from", arr, k))


def triu_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Tracer, ...]:
    """As `numpy.triu_indices_from`: constants."""
    return triu_indices(*_matrix_arguments("triu_indices_from", arr, k))


def _matrix_arguments(function: str, array: ArrayLike, k: int) -> tuple[Any, int, Any]:
    sizes = as_value(array).type.shape
    if len(sizes) != 2:
        raise ShapeError(
            f"{function} needs an array of rank 2, got the shape {format_shape(sizes)}"
        )
    return sizes[0], k, sizes[1]


def _known(function: str, *sizes: Any) -> list[int]:
    """Sizes that must be numbers, as the number of results depends on them."""
    checked = [as_size(size) for size in sizes]
    for size in checked:
        if isinstance(size, Dim):
            raise core.trace_error(
                f"{function} needs sizes that are known, got {size}; mask with tril or triu instead"
            )
    return [operator.index(size) for size in checked]


def _known_indices(arrays: tuple[Any, ...]) -> tuple[Tracer, ...]:
    return tuple([wrap(Constant(array)) for array in arrays])
