"""Products with matrices in compressed form, as SciPy's CSR and CSC hold them.

A compressed matrix is its entries line by line: entry p has the value `data[p]` and lies at
`indices[p]` across line i, where `offsets[i] <= p < offsets[i + 1]`. Lines are rows in CSR, columns
in CSC. All else that is done with sparse arrays is written with gather and scatter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from weft.compiler.ir.attributes import BOOL, SIZE
from weft.compiler.ir.build import constant
from weft.compiler.ir.dims import Size
from weft.compiler.ir.errors import BoundsError, ShapeError
from weft.compiler.ir.graph import Op, Value
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ir.rules import Maybe
from weft.compiler.ir.types import ArrayType
from weft.compiler.ops import arithmetic, cumulative, helpers, indexing, reduction, shape
from weft.compiler.ops.common import INTEGER, NUMBER, require_equal, require_kind, same_dtype
from weft.compiler.ops.precision import Array, widen


def _infer(
    data: ArrayType,
    indices: ArrayType,
    offsets: ArrayType,
    x: ArrayType,
    *,
    transposed: bool,
    size: Size,
) -> ArrayType:
    same_dtype((data, x))
    require_kind(data, NUMBER, "data")
    for operand, name in ((indices, "indices"), (offsets, "offsets")):
        require_kind(operand, INTEGER, name)
    for operand, name in ((data, "data"), (indices, "indices"), (offsets, "offsets")):
        if operand.rank != 1:
            raise ShapeError(f"{name} has type {operand}, expected rank 1")
    if x.rank not in (1, 2):
        raise ShapeError(f"x has type {x}, expected a vector or a matrix")
    require_equal(data.shape[0], indices.shape[0], "the numbers of data and indices")
    lines = x.shape[0] if transposed else size
    require_equal(offsets.shape[0], lines + 1, "the numbers of offsets and of lines plus one")
    return x.with_shape((size, *x.shape[1:]))


# --- the reference ------------------------------------------------------------------------------


def _reference(
    data: Array, indices: Array, offsets: Array, x: Array, *, transposed: bool, size: int
) -> Array:
    lines = _lines_of(offsets, len(data))
    _require_inside(indices, size if transposed else len(x))
    target, source = (indices, lines) if transposed else (lines, indices)
    factors = widen(data).reshape(-1, *[1] * (x.ndim - 1))
    terms = factors * widen(x)[source.astype(np.int64)]
    result = np.zeros((size, *x.shape[1:]), terms.dtype)
    np.add.at(result, target.astype(np.int64), terms)
    return result


def _lines_of(offsets: Array, count: int) -> Array:
    """The line of each entry."""
    limits = offsets.astype(np.int64)
    if limits[0] != 0 or limits[-1] != count or (np.diff(limits) < 0).any():
        raise BoundsError(f"offsets do not rise from 0 to the number of entries, {count}")
    return np.repeat(np.arange(len(limits) - 1), np.diff(limits))


def _require_inside(indices: Array, size: int) -> None:
    bad = (indices < 0) | (indices >= size)
    if bad.any():
        raise BoundsError(f"index {indices[bad][0]} is out of range for {size} lines across")


# --- rules --------------------------------------------------------------------------------------


def lines(offsets: Value, count: Size) -> Value:
    """The line of each of `count` entries, along the last axis: how many lines ended before it."""
    *batch, limits = offsets.type.shape
    axis = len(batch)
    inside = limits - 2  # offsets between two lines
    dtype = offsets.type.dtype
    target = ArrayType(dtype, (*batch, count))
    if isinstance(inside, int) and inside <= 0:
        return helpers.zeros(target)
    starts = shape.part(offsets, axis, 1, limits - 1)
    ones = helpers.stretch(constant(1, dtype), starts.type.shape)
    # An offset at the very end is that of empty lines behind all entries: it is left out.
    begun = indexing.scatter(
        helpers.zeros(target), ones, starts, axes=(axis,), batch_dims=axis, mode="fill", kind="add"
    )
    return cumulative.cumsum(begun, axis=axis)


def _transpose(op: Op, cotangents: Sequence[Maybe], linear: Sequence[bool]) -> list[Maybe]:
    """For x it is the product with the matrix transposed; for an entry, that of the rows of the
    cotangent and of x which it joins.
    """
    cotangent, (data, indices, offsets, x) = helpers.only(cotangents), op.operands
    transposed = op.attributes["transposed"]
    of_data = of_x = None
    if linear[0]:
        own = lines(offsets, data.type.shape[0])
        target, source = (indices, own) if transposed else (own, indices)
        pairs = arithmetic.mul(
            indexing.gather(cotangent, target, axes=(0,)), indexing.gather(x, source, axes=(0,))
        )
        of_data = reduction.reduce_sum(pairs, axes=tuple(range(1, x.type.rank)))
    if linear[3]:
        of_x = sparse_dot(
            *(data, indices, offsets, cotangent), transposed=not transposed, size=x.type.shape[0]
        )
    return [of_data, None, None, of_x]


def _batch(op: Op, operands: Sequence[Value], batched: Sequence[bool], size: Size) -> Value:
    if not any(batched[:3]):
        return _batch_columns(op, operands, size)
    data, indices, offsets, x = helpers.with_leading_axis(operands, batched, size)
    own = lines(offsets, data.type.shape[1])
    target, source = (indices, own) if op.attributes["transposed"] else (own, indices)
    read = indexing.gather(x, source, axes=(1,), batch_dims=1)
    factors = shape.broadcast(data, shape=read.type.shape, dims=(0, 1))
    result = x.type.with_shape((size, op.attributes["size"], *x.type.shape[2:]))
    return indexing.scatter(
        helpers.zeros(result),
        *(arithmetic.mul(factors, read), target),
        axes=(1,),
        batch_dims=1,
        kind="add",
    )


def _batch_columns(op: Op, operands: Sequence[Value], size: Size) -> Value:
    """One matrix times many vectors: they are columns, beside those that x has."""
    *matrix, x = operands
    _, depth, *columns = x.type.shape
    last = x.type.rank - 1
    moved = helpers.transpose(x, (*range(1, last + 1), 0))
    count = columns[0] * size if columns else size
    product = sparse_dot(*matrix, helpers.reshape(moved, (depth, count)), **op.attributes)
    spread = helpers.reshape(product, (op.attributes["size"], *columns, size))
    return helpers.transpose(spread, (last, *range(last)))


sparse_dot = OpDef(
    name="sparse_dot",
    doc="A matrix of `size` rows times a vector or a matrix `x`: entry p of line i, which is "
    "`offsets[i] <= p < offsets[i + 1]`, has the value `data[p]` and the position `indices[p]` in "
    "the line. Lines are rows, or columns if `transposed`.",
    infer=_infer,
    reference=_reference,
    attributes={"transposed": BOOL, "size": SIZE},
    operands=("data", "indices", "offsets", "x"),
    multilinear=(0, 3),
    transpose=_transpose,
    batch=_batch,
)

OPS: Final = (sparse_dot,)
