"""The general contraction: every matrix product, batched or not, and every step of an einsum.

Orders of several contractions are chosen by the frontend; transposes of operands are axis numbers
here, never copies.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from weft.compiler.ir import dims, dtypes
from weft.compiler.ir.attributes import DTYPE, INTS, Optional
from weft.compiler.ir.dims import Size
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.errors import DTypeError, ShapeError
from weft.compiler.ir.graph import Op, Value
from weft.compiler.ir.lowering import Consumers
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ir.rules import Maybe
from weft.compiler.ir.types import ArrayType, Shape
from weft.compiler.ops import conversion, helpers
from weft.compiler.ops.common import drop_axes, require_axes, require_equal, same_dtype
from weft.compiler.ops.precision import Array, widen
from weft.compiler.ops.primitives import ops

Axes: TypeAlias = tuple[int, ...]


def _infer(
    lhs: ArrayType,
    rhs: ArrayType,
    *,
    lhs_contract: Axes,
    rhs_contract: Axes,
    lhs_batch: Axes,
    rhs_batch: Axes,
    dtype: DType | None,
) -> ArrayType:
    operand_dtype = same_dtype((lhs, rhs))
    require_axes(lhs_batch + lhs_contract, lhs.rank)
    require_axes(rhs_batch + rhs_contract, rhs.rank)
    _require_paired(lhs, lhs_contract, rhs, rhs_contract, "contracted")
    _require_paired(lhs, lhs_batch, rhs, rhs_batch, "batch")
    if dtype is not None and dtypes.promote(operand_dtype, dtype) is not dtype:
        raise DTypeError(
            f"{operand_dtype} operands do not fit the result dtype {dtype}; convert the result"
        )
    batch = tuple(lhs.shape[axis] for axis in lhs_batch)
    lhs_free = drop_axes(lhs.shape, lhs_batch + lhs_contract)
    rhs_free = drop_axes(rhs.shape, rhs_batch + rhs_contract)
    return ArrayType(dtype or operand_dtype, batch + lhs_free + rhs_free)


def _require_paired(
    lhs: ArrayType, lhs_axes: Axes, rhs: ArrayType, rhs_axes: Axes, what: str
) -> None:
    if len(lhs_axes) != len(rhs_axes):
        raise ShapeError(
            f"lhs has {len(lhs_axes)} {what} axes {lhs_axes}, rhs has {len(rhs_axes)}: {rhs_axes}"
        )
    for left, right in zip(lhs_axes, rhs_axes, strict=True):
        sizes = f"sizes of {what} axes {left} of lhs and {right} of rhs"
        require_equal(lhs.shape[left], rhs.shape[right], sizes)


def _reference(
    lhs: Array,
    rhs: Array,
    *,
    lhs_contract: Axes,
    rhs_contract: Axes,
    lhs_batch: Axes,
    rhs_batch: Axes,
    dtype: DType | None,
) -> Array:
    if dtype is not None:
        lhs, rhs = lhs.astype(dtype.numpy), rhs.astype(dtype.numpy)
    lhs_free = _other_axes(lhs.ndim, lhs_batch + lhs_contract)
    rhs_free = _other_axes(rhs.ndim, rhs_batch + rhs_contract)
    left = _as_matrices(widen(lhs), lhs_batch, lhs_free, lhs_contract)
    right = _as_matrices(widen(rhs), rhs_batch, rhs_contract, rhs_free)
    # NumPy's product of bools is the logical or of ands, and an empty one is zero, as the op wants.
    products: Array = np.matmul(left, right)
    lhs_sizes = [lhs.shape[axis] for axis in lhs_batch + lhs_free]
    return products.reshape(lhs_sizes + [rhs.shape[axis] for axis in rhs_free])


def _other_axes(rank: int, axes: Axes) -> Axes:
    return tuple(axis for axis in range(rank) if axis not in axes)


def _as_matrices(array: Array, batch: Axes, rows: Axes, columns: Axes) -> Array:
    """The array with each group of axes merged into one: [batch, rows, columns]."""
    shape = [math.prod(array.shape[axis] for axis in group) for group in (batch, rows, columns)]
    return array.transpose(batch + rows + columns).reshape(shape)


# --- rules --------------------------------------------------------------------------------------


def _transpose(op: Op, cotangents: Sequence[Maybe], linear: Sequence[bool]) -> list[Maybe]:
    """The cotangent contracted with the other operand, over the axes that only that one had."""
    side = 0 if linear[0] else 1
    cotangent, other, of = helpers.only(cotangents), op.operands[1 - side], op.operands[side]
    contract, batch = _axes(op, side)
    other_contract, other_batch = _axes(op, 1 - side)
    other_free = _other_axes(other.type.rank, other_batch + other_contract)
    n_batch, n_free = len(batch), of.type.rank - len(batch) - len(contract)
    start = n_batch + n_free * (1 - side)  # where the axes of `other` lie in the result
    if other.type.dtype is not cotangent.type.dtype:
        other = conversion.cast(other, dtype=cotangent.type.dtype)
    operand_cotangent = _place(
        of.type,
        (cotangent, tuple(range(start, start + len(other_free))), tuple(range(n_batch))),
        (other, other_free, other_batch),
        batch + _other_axes(of.type.rank, batch + contract),
        tuple([contract[other_contract.index(axis)] for axis in sorted(other_contract)]),
    )
    if operand_cotangent.type.dtype is not of.type.dtype:
        operand_cotangent = conversion.cast(operand_cotangent, dtype=of.type.dtype)
    return [operand_cotangent, None] if side == 0 else [None, operand_cotangent]


def _axes(op: Op, side: int) -> tuple[Axes, Axes]:
    """The contracted and the batch axes of one operand."""
    name = ("lhs", "rhs")[side]
    return op.attributes[f"{name}_contract"], op.attributes[f"{name}_batch"]


Side: TypeAlias = tuple[Value, Axes, Axes]


def _place(target: ArrayType, given: Side, other: Side, left: Axes, right: Axes) -> Value:
    """The product of two operands with its axes brought to those of the target.

    The axes that `given` and `other` leave are the target's axes `left` (batch first) and `right`.
    Whichever operand comes first leaves its axes first: the order is chosen that needs no
    permutation, if one does.
    """
    n_batch = len(given[2])
    swapped = left[:n_batch] + right + left[n_batch:]
    if swapped == tuple(range(target.rank)):
        return _product(other, given)
    return helpers.transpose(_product(given, other), helpers.inverse(left + right))


def _product(lhs: Side, rhs: Side) -> Value:
    (x, lhs_contract, lhs_batch), (y, rhs_contract, rhs_batch) = lhs, rhs
    return dot_general(
        x,
        y,
        lhs_contract=lhs_contract,
        rhs_contract=rhs_contract,
        lhs_batch=lhs_batch,
        rhs_batch=rhs_batch,
    )


def _batch(op: Op, operands: Sequence[Value], batched: Sequence[bool], size: Size) -> Value:
    """A batch axis of both operands is one of the product; of one operand, a free axis of it."""
    return _batched_product(operands, batched, op.attributes, op.operands[0].type.rank)


def _batched_product(
    operands: Sequence[Value], batched: Sequence[bool], given: Mapping[str, Any], lhs_rank: int
) -> Value:
    attributes = dict(given)
    for name, mark in zip(("lhs", "rhs"), batched, strict=True):
        if mark:
            for group in (f"{name}_contract", f"{name}_batch"):
                attributes[group] = helpers.shifted(attributes[group])
    if all(batched):
        for group in ("lhs_batch", "rhs_batch"):
            attributes[group] = (0, *attributes[group])
        return dot_general(*operands, **attributes)
    product = dot_general(*operands, **attributes)
    # The free axes of lhs follow the batch axes, those of rhs follow all axes that lhs leaves.
    lhs_left = lhs_rank - len(attributes["lhs_contract"])
    batch_axis = len(attributes["lhs_batch"]) if batched[0] else lhs_left
    order = [axis for axis in range(product.type.rank) if axis != batch_axis]
    return helpers.transpose(product, [batch_axis, *order])


def matrix_shape(op: Op) -> tuple[Size, Size, Size]:
    """Rows (of all matrices of a batch), columns and terms of a product."""
    shapes = op.operands[0].type.shape, op.results[0].type.shape
    return _matrix_shape(*shapes, op.attributes["lhs_contract"])


@functools.lru_cache(maxsize=1024)
def _matrix_shape(lhs: Shape, shape: Shape, contract: Axes) -> tuple[Size, Size, Size]:
    rank = len(lhs) - len(contract)
    terms = dims.product(lhs[axis] for axis in contract)
    return dims.product(shape[:rank]), dims.product(shape[rank:]), terms


def _work(op: Op) -> Size:
    return dims.product(matrix_shape(op))


dot_general = OpDef(
    name="dot_general",
    doc="Sum of products over the contracted axes, with axes batch, lhs free, rhs free. `dtype` is "
    "the result's, to which operands count as converted beforehand (none: their own).",
    operands=("lhs", "rhs"),
    attributes={
        "lhs_contract": INTS,
        "rhs_contract": INTS,
        "lhs_batch": INTS,
        "rhs_batch": INTS,
        "dtype": Optional(DTYPE),
    },
    defaults={"lhs_batch": (), "rhs_batch": (), "dtype": None},
    infer=_infer,
    reference=_reference,
    multilinear=(0, 1),
    transpose=_transpose,
    batch=_batch,
    work=_work,
    consumers=Consumers(matrix_shape),
)


# --- a product and the sums of its right operand ------------------------------------------------


def _infer_sums(
    lhs: ArrayType, rhs: ArrayType, *, lhs_contract: Axes, rhs_contract: Axes
) -> tuple[ArrayType, ArrayType]:
    if rhs.dtype not in (dtypes.f32, dtypes.f64):
        raise DTypeError(f"rhs has dtype {rhs.dtype}, expected f32 or f64; use reduce_sum beside")
    axes = {"lhs_contract": lhs_contract, "rhs_contract": rhs_contract}
    product = _infer(lhs, rhs, **axes, lhs_batch=(), rhs_batch=(), dtype=None)
    return product, rhs.with_shape(drop_axes(rhs.shape, rhs_contract))


def _reference_sums(
    lhs: Array, rhs: Array, *, lhs_contract: Axes, rhs_contract: Axes
) -> tuple[Array, Array]:
    axes = {"lhs_contract": lhs_contract, "rhs_contract": rhs_contract}
    product = _reference(lhs, rhs, **axes, lhs_batch=(), rhs_batch=(), dtype=None)
    sums: Array = ops.reduce_sum.reference(rhs, axes=tuple(sorted(rhs_contract)))
    return product, sums


def _sums_jvp(op: Op, tangents: Sequence[Maybe]) -> list[Maybe]:
    (lhs, rhs), (d_lhs, d_rhs), axes = op.operands, tangents, op.attributes
    left = None if d_lhs is None else dot_general(d_lhs, rhs, **axes)
    if d_rhs is None:
        return [left, None]
    product = helpers.accumulate(left, dot_general(lhs, d_rhs, **axes))
    return [product, ops.reduce_sum(d_rhs, axes=axes["rhs_contract"])]


def _sums_batch(
    op: Op, operands: Sequence[Value], batched: Sequence[bool], size: Size
) -> tuple[Value, Value]:
    attributes = {**op.attributes, "lhs_batch": (), "rhs_batch": ()}
    product = _batched_product(operands, batched, attributes, op.operands[0].type.rank)
    axes, rhs = op.attributes["rhs_contract"], operands[1]
    if batched[1]:
        return product, ops.reduce_sum(rhs, axes=helpers.shifted(axes))
    return product, helpers.add_leading_axis(ops.reduce_sum(rhs, axes=axes), size)


dot_general_sums = OpDef(
    name="dot_general_sums",
    doc="dot_general of f32 or f64 without batch axes, and the sums of rhs over its contracted "
    "axes: the gradients of a weight and of its bias in one.",
    operands=("lhs", "rhs"),
    attributes={"lhs_contract": INTS, "rhs_contract": INTS},
    infer=_infer_sums,
    reference=_reference_sums,
    jvp=_sums_jvp,
    batch=_sums_batch,
    work=_work,
    consumers=Consumers(matrix_shape),
)

OPS: Final = (dot_general, dot_general_sums)
