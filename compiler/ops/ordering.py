"""Ops that put elements in order or look for a place in an order: sort, top_k, searchsorted.

All three share one order, NumPy's: NaN comes after every number, -0.0 equals 0.0, complex numbers
compare by real part, then imaginary part. All three are stable: equal elements keep their order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from weft.compiler.ir.attributes import BOOL, INT, Choice
from weft.compiler.ir.dims import Size
from weft.compiler.ir.dtypes import bf16, i64
from weft.compiler.ir.errors import ShapeError
from weft.compiler.ir.graph import Op, Result, Value
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ir.rules import Maybe
from weft.compiler.ir.types import ArrayType, format_shape
from weft.compiler.ops import helpers, positions
from weft.compiler.ops.common import require_axis, same_dtype
from weft.compiler.ops.primitives import ops

Array: TypeAlias = NDArray[Any]


def _stable_order(keys: Sequence[Array], axis: int, descending: bool) -> Array:
    """The indices along `axis` that sort by the first key, then the second, and so on."""
    # NumPy's sort does not know that bfloat16 has NaNs.
    keys = [key.astype(np.float32) if key.dtype == bf16.numpy else key for key in keys]
    if not descending:
        return np.lexsort(keys[::-1], axis=axis)
    # Sorting the mirrored array and mirroring the result reverses values but not ties.
    mirrored = np.lexsort([np.flip(key, axis) for key in keys[::-1]], axis=axis)
    return np.flip(keys[0].shape[axis] - 1 - mirrored, axis)


# --- sort ---------------------------------------------------------------------------------------


def _sort_type(
    *operands: ArrayType, axis: int, num_keys: int, descending: bool
) -> tuple[ArrayType, ...]:
    if not 1 <= num_keys <= len(operands):
        raise ShapeError(
            f"num_keys is {num_keys}, expected 1 to the number of operands, {len(operands)}"
        )
    first = operands[0]
    require_axis(axis, first.rank)
    for operand in operands:
        if operand.shape != first.shape:
            raise ShapeError(
                f"operands have different shapes: {format_shape(first.shape)} and "
                f"{format_shape(operand.shape)}"
            )
    return operands


def _sort(*operands: Array, axis: int, num_keys: int, descending: bool) -> tuple[Array, ...]:
    order = _stable_order(operands[:num_keys], axis, descending)
    return tuple(np.take_along_axis(operand, order, axis) for operand in operands)


def _sort_jvp(op: Op, tangents: Sequence[Maybe]) -> list[Maybe]:
    """Tangents move with their elements."""
    order, axis = _permutation(op), op.attributes["axis"]
    return [
        None if tangent is None else positions.take_along_axis(tangent, order, axis)
        for tangent in tangents
    ]


def _permutation(op: Op) -> Value:
    """Where each sorted element comes from: what a count along the axis is sorted into."""
    axis, num_keys = op.attributes["axis"], op.attributes["num_keys"]
    for operand, result in zip(op.operands[num_keys:], op.results[num_keys:], strict=True):
        if _counts_along(operand, axis):
            return result
    count = ops.iota(dtype=i64, shape=op.operands[0].type.shape, axis=axis)
    *_, order = sort.emit(*op.operands[:num_keys], count, **op.attributes)
    return order


def _counts_along(value: Value, axis: int) -> bool:
    if not isinstance(value, Result) or value.op.definition is not ops.iota:
        return False
    return value.type.dtype is i64 and value.op.attributes["axis"] == axis


def _sort_batch(
    op: Op, operands: Sequence[Value], batched: Sequence[bool], size: Size
) -> Sequence[Value]:
    attributes = {**op.attributes, "axis": op.attributes["axis"] + 1}
    return sort.emit(*helpers.with_leading_axis(operands, batched, size), **attributes)


sort = OpDef(
    name="sort",
    doc="All operands permuted along `axis` into the stable order of the first `num_keys` of them.",
    infer=_sort_type,
    reference=_sort,
    attributes={"axis": INT, "num_keys": INT, "descending": BOOL},
    defaults={"num_keys": 1, "descending": False},
    operands=("*operands",),
    jvp=_sort_jvp,
    batch=_sort_batch,
)


# --- top_k --------------------------------------------------------------------------------------


def _top_k_type(x: ArrayType, *, k: int, axis: int, largest: bool) -> tuple[ArrayType, ArrayType]:
    require_axis(axis, x.rank)
    if k < 0 or k > x.shape[axis]:
        raise ShapeError(f"k is {k}, expected 0 to the size of axis {axis}, {x.shape[axis]}")
    values = x.with_shape((*x.shape[:axis], k, *x.shape[axis + 1 :]))
    return values, values.with_dtype(i64)


def _top_k(x: Array, *, k: int, axis: int, largest: bool) -> tuple[Array, Array]:
    order = _stable_order([x], axis, descending=largest)
    indices = np.take(order, np.arange(k), axis)
    return np.take_along_axis(x, indices, axis), indices


def _top_k_jvp(op: Op, tangents: Sequence[Maybe]) -> list[Maybe]:
    (tangent,), (_, indices) = tangents, op.results
    assert tangent is not None
    return [positions.take_along_axis(tangent, indices, op.attributes["axis"]), None]


def _top_k_batch(
    op: Op, operands: Sequence[Value], batched: Sequence[bool], size: Size
) -> Sequence[Value]:
    return top_k.emit(*operands, **{**op.attributes, "axis": op.attributes["axis"] + 1})


top_k = OpDef(
    name="top_k",
    doc="The `k` largest (or smallest) elements along `axis` in order, and their indices; "
    "ties go to the lowest index, NaN counts as largest.",
    infer=_top_k_type,
    reference=_top_k,
    attributes={"k": INT, "axis": INT, "largest": BOOL},
    defaults={"largest": True},
    operands=("x",),
    jvp=_top_k_jvp,
    batch=_top_k_batch,
)


# --- searchsorted -------------------------------------------------------------------------------


def _searchsorted_type(
    table: ArrayType, values: ArrayType, *, side: str, batch_dims: int
) -> ArrayType:
    same_dtype((table, values))
    if table.rank != batch_dims + 1:
        raise ShapeError(
            f"sorted has rank {table.rank}, expected {batch_dims + 1}: batch_dims and one axis"
        )
    batch, of_values = table.shape[:batch_dims], values.shape[:batch_dims]
    if batch != of_values:
        raise ShapeError(
            f"batch axes differ: {format_shape(batch)} in sorted, {format_shape(of_values)} "
            "in values"
        )
    return values.with_dtype(i64)


def _searchsorted(table: Array, values: Array, *, side: str, batch_dims: int) -> Array:
    """Sorts table and values together and counts the table's elements before each value."""
    count = math.prod(values.shape[batch_dims:])
    queries = values.reshape(*values.shape[:batch_dims], count)
    # Ties keep their order, so values go first to land left of equal elements, last to land right.
    merged = (queries, table) if side == "left" else (table, queries)
    first_query = 0 if side == "left" else table.shape[-1]
    order = _stable_order([np.concatenate(merged, axis=-1)], axis=-1, descending=False)
    is_query = (order >= first_query) & (order < first_query + count)
    before = np.empty_like(order)
    np.put_along_axis(before, order, np.cumsum(~is_query, axis=-1), axis=-1)
    return before[..., first_query : first_query + count].reshape(values.shape)


def _searchsorted_batch(
    op: Op, operands: Sequence[Value], batched: Sequence[bool], size: Size
) -> Value:
    """One table for the whole batch stays one; otherwise both sides get the axis."""
    batch_dims = op.attributes["batch_dims"]
    if batched[0] or batch_dims:
        operands, batch_dims = helpers.with_leading_axis(operands, batched, size), batch_dims + 1
    return searchsorted(*operands, side=op.attributes["side"], batch_dims=batch_dims)


searchsorted = OpDef(
    name="searchsorted",
    doc="Where each value belongs in its sorted row: before equal elements (left) or after.",
    infer=_searchsorted_type,
    reference=_searchsorted,
    attributes={"side": Choice(("left", "right")), "batch_dims": INT},
    defaults={"batch_dims": 0},
    operands=("sorted", "values"),
    batch=_searchsorted_batch,
)

OPS: Final = (sort, top_k, searchsorted)
