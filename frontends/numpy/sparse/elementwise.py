"""Functions of each element: those that keep zeros, and sums and products with other arrays."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np

from weft.compiler.ir.errors import ShapeError
from weft.frontends.numpy import public as wnp
from weft.frontends.tracing import core
from weft.frontends.tracing.sparse_array import (
    SparseArray,
    refusal,
    require_unique,
    same_positions,
    traced,
)

# Of these, the value for a sum is the sum of values.
_LINEAR: Final = "negative positive conjugate deg2rad rad2deg radians degrees".split()
_KEEP_ZEROS: Final = (
    "absolute fabs sign square sqrt cbrt expm1 log1p sin tan arcsin arctan sinh tanh arcsinh "
    "arctanh floor ceil trunc rint isnan isinf"
).split()


def unary(ufunc: np.ufunc, array: SparseArray) -> SparseArray:
    """A function of each element that is zero at zero."""
    name = ufunc.__name__
    if name not in _LINEAR:
        if name not in _KEEP_ZEROS:
            raise refusal(f"numpy.{name} of a sparse array is not known to be zero where that is")
        require_unique(array, f"numpy.{name}")
    return array.with_data(ufunc(traced(array.data)))


def binary(function: str, left: Any, right: Any) -> Any:
    """A function of two arrays, one of them sparse at least."""
    match function:
        case "add":
            return _sum(left, right)
        case "subtract":
            return _sum(left, -right)
        case "multiply" if isinstance(left, SparseArray):
            return _product(left, right)
        case "multiply":
            return _product(right, left)
        case "divide" | "true_divide" if isinstance(left, SparseArray):
            return _quotient(left, right)
        case "power" if isinstance(left, SparseArray):
            return _power(left, right)
    raise refusal(f"numpy.{function} is not supported with a sparse array in this place")


# --- sums ---------------------------------------------------------------------------------------


def _sum(left: Any, right: Any) -> Any:
    if isinstance(left, SparseArray) and isinstance(right, SparseArray):
        return _sum_of_entries(left, right)
    sparse, other = (left, right) if isinstance(left, SparseArray) else (right, left)
    dense = traced(other)
    if not dense.ndim:
        raise refusal("a number added to a sparse array leaves no zeros")
    return sparse.todense() + other


def _sum_of_entries(left: SparseArray, right: SparseArray) -> SparseArray:
    """Entries at the same positions are added, others stand beside each other."""
    if left.shape != right.shape:
        raise _mismatch(left.shape, right.shape)
    if same_positions(left, right):
        return left.with_data(traced(left.data) + traced(right.data))
    common = np.result_type(left.dtype, right.dtype)
    left, right = (array.with_data(traced(array.data).astype(common)) for array in (left, right))
    if left.format == right.format != "coo":
        return _joined_lines(left, right)
    left, right = left.tocoo(), right.tocoo()
    leaves = [
        wnp.concatenate([traced(x), traced(y)])
        for x, y in ((left.data, right.data), _integers(left, right, "indices"))
    ]
    lines = wnp.concatenate(list(_integers(left, right, "lines")))
    return replace(left, data=leaves[0], indices=leaves[1], lines=lines, unique=False)


def _integers(left: SparseArray, right: SparseArray, name: str) -> tuple[Any, Any]:
    pair = traced(getattr(left, name)), traced(getattr(right, name))
    common = np.result_type(*[x.dtype for x in pair])
    return pair[0].astype(common), pair[1].astype(common)


def _joined_lines(left: SparseArray, right: SparseArray) -> SparseArray:
    """Line by line, the entries of one array and then those of the other: each moves on by as many
    as the other one has before it.
    """
    mine, others = _integers(left, right, "lines")
    counts = left.nnz, right.nnz
    at_left = wnp.arange(counts[0]) + others[_line_of_entries(left)]
    at_right = wnp.arange(counts[1]) + mine[_line_of_entries(right) + 1]
    total = counts[0] + counts[1]

    def joined(x: Any, y: Any) -> Any:
        return wnp.zeros(total, x.dtype).at[at_left].set(x).at[at_right].set(y)

    data = joined(traced(left.data), traced(right.data))
    indices = joined(*_integers(left, right, "indices"))
    return replace(left, data=data, indices=indices, lines=mine + others, unique=False)


def _line_of_entries(array: SparseArray) -> Any:
    return traced(array.row if array.format == "csr" else array.col)


# --- products -----------------------------------------------------------------------------------


def _product(array: SparseArray, other: Any) -> SparseArray:
    if isinstance(other, SparseArray):
        if array.shape != other.shape:
            raise _mismatch(array.shape, other.shape)
        if not same_positions(array, other):
            raise core.trace_error(
                "a product, element by element, of two sparse arrays whose entries are not plainly "
                "at the same positions is not supported; use A * B.todense()"
            )
        require_unique(array, "a product element by element")
        return array.with_data(traced(array.data) * traced(other.data))
    return array.with_data(traced(array.data) * _at_entries(array, other))


def _quotient(array: SparseArray, other: Any) -> SparseArray:
    if isinstance(other, SparseArray):
        raise refusal("a quotient of sparse arrays divides zeros by zeros")
    return array.with_data(traced(array.data) / _at_entries(array, other))


def _power(array: SparseArray, exponent: Any) -> SparseArray:
    if not isinstance(exponent, int | float) or exponent <= 0:
        raise refusal("only a positive number, known now, as an exponent keeps zeros")
    require_unique(array, "a power")
    return array.with_data(traced(array.data) ** exponent)


def _at_entries(array: SparseArray, other: Any) -> Any:
    """Elements of a dense array that broadcasts to the shape, where the entries are."""
    if isinstance(other, int | float | complex):
        return other
    dense = traced(other)
    shape = dense.shape
    if not shape:
        return dense
    if core.broadcast_shapes(array.shape, shape) != array.shape:
        raise _mismatch(array.shape, shape)
    row, col = traced(array.row), traced(array.col)
    at_row = row if len(shape) == 2 and shape[0] != 1 else None
    at_col = col if shape[-1] != 1 else None
    flat = dense if len(shape) == 2 else dense.reshape((1, *shape))
    if at_row is None and at_col is None:
        return flat[0, 0]
    if at_row is None:
        return flat[0][at_col]
    return flat[at_row, at_col] if at_col is not None else flat[:, 0][at_row]


def _mismatch(left: Any, right: Any) -> ShapeError:
    return ShapeError(f"the shapes {tuple(left)} and {tuple(right)} do not fit together")
