"""Reductions: many elements along axes become one; the axes are dropped and the dtype stays.

The order of combination is not part of the meaning: references accumulate floats in double,
backends in a tree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from weft.compiler.ir import dims
from weft.compiler.ir.attributes import DTYPE, INT, INTS
from weft.compiler.ir.dims import Size
from weft.compiler.ir.dtypes import DType, i64
from weft.compiler.ir.errors import DTypeError, ShapeError
from weft.compiler.ir.graph import Op, Value
from weft.compiler.ir.opdef import OpDef, Trait
from weft.compiler.ir.rules import JvpRule, Maybe, TransposeRule
from weft.compiler.ir.types import ArrayType
from weft.compiler.ops import cumulative, helpers
from weft.compiler.ops.common import (
    INTEGER,
    NUMBER,
    ORDERED,
    drop_axes,
    require_axes,
    require_axis,
    require_kind,
)
from weft.compiler.ops.precision import Array, widen
from weft.compiler.ops.primitives import ops


def reduction(
    name: str,
    doc: str,
    *,
    kinds: Sequence[str],
    combine: Callable[..., Any],
    combiner: str,
    has_identity: bool = True,
    linear: tuple[int, ...] | None = None,
    jvp: JvpRule | None = None,
    transpose: TransposeRule | None = None,
) -> OpDef:
    """An op over `axes`; `combine(x, axis=axes)` is NumPy's function, `combiner` its name."""

    def infer(x: ArrayType, *, axes: tuple[int, ...]) -> ArrayType:
        require_kind(x, kinds, "x")
        require_axes(axes, x.rank)
        if not has_identity:
            _require_elements(x.shape, axes)
        return x.with_shape(drop_axes(x.shape, axes))

    def reference(x: Array, *, axes: tuple[int, ...]) -> Any:
        if not has_identity:
            _require_elements(x.shape, axes)
        return combine(widen(x), axis=axes)

    return OpDef(
        name,
        doc,
        infer=infer,
        reference=reference,
        attributes={"axes": INTS},
        operands=("x",),
        traits=Trait.REDUCTION,
        combiner=combiner,
        linear=linear,
        jvp=jvp,
        transpose=transpose,
        batch=_batch_reduction,
    )


def position(name: str, doc: str, *, find: Callable[..., Any]) -> OpDef:
    """The place of an extreme along one axis; `find(x, axis=axis)` is NumPy's function."""

    def infer(x: ArrayType, *, axis: int, dtype: DType) -> ArrayType:
        require_kind(x, ORDERED, "x")
        require_axis(axis, x.rank)
        _require_elements(x.shape, (axis,))
        _require_index_dtype(dtype, x.shape[axis])
        return ArrayType(dtype, drop_axes(x.shape, (axis,)))

    def reference(x: Array, *, axis: int, dtype: DType) -> Any:
        _require_elements(x.shape, (axis,))
        return find(widen(x), axis=axis)

    return OpDef(
        name,
        doc,
        infer=infer,
        reference=reference,
        attributes={"axis": INT, "dtype": DTYPE},
        defaults={"dtype": i64},
        operands=("x",),
        traits=Trait.REDUCTION,
        combiner=name,
        batch=_batch_position,
    )


def _batch_reduction(
    op: Op, operands: Sequence[Value], batched: Sequence[bool], size: Size
) -> Value:
    return op.definition(*operands, axes=[axis + 1 for axis in op.attributes["axes"]])


def _batch_position(
    op: Op, operands: Sequence[Value], batched: Sequence[bool], size: Size
) -> Value:
    axis, dtype = op.attributes["axis"] + 1, op.attributes["dtype"]
    return op.definition(*operands, axis=axis, dtype=dtype)


def _require_elements(shape: Sequence[Size], axes: Sequence[int]) -> None:
    """Refuse an empty axis: type rules for sizes that are numbers, references for symbolic ones."""
    for axis in axes:
        if shape[axis] == 0:
            raise ShapeError(
                f"axis {axis} is empty, and an empty axis has no largest or smallest element"
            )


def _require_index_dtype(dtype: DType, size: Size) -> None:
    if dtype.kind not in INTEGER:
        raise DTypeError(f"dtype {dtype} cannot hold indices; give an integer dtype")
    largest = np.iinfo(dtype.numpy).max
    if (dims.lower(size) or 0) - 1 > largest:
        raise DTypeError(f"dtype {dtype} ends at {largest}, too early for an axis of size {size}")


# --- derivatives --------------------------------------------------------------------------------


def _sum_transpose(op: Op, cotangents: Sequence[Maybe], linear: Sequence[bool]) -> list[Maybe]:
    axes, full = op.attributes["axes"], op.operands[0].type.shape
    return [helpers.expand_axes(helpers.only(cotangents), axes, full)]


def _prod_jvp(op: Op, tangents: Sequence[Maybe]) -> Maybe:
    """The sum of each tangent times the product of all other elements."""
    (tangent,), (x,) = tangents, op.operands
    assert tangent is not None
    axes = op.attributes["axes"]
    if not axes:
        return tangent
    return reduce_sum(ops.mul(tangent, _product_of_others(x, axes)), axes=axes)


def _product_of_others(x: Value, axes: Sequence[int]) -> Value:
    """The product of all before each element times that of all after it.

    The product divided by the element would not do for zeros, nor would a special case for them:
    second derivatives need the derivative of what it leaves out.
    """
    kept = [axis for axis in range(x.type.rank) if axis not in axes]
    order = [*kept, *axes]
    moved = helpers.transpose(x, order)
    lengths = [x.type.shape[axis] for axis in kept]
    rows = helpers.reshape(moved, (*lengths, dims.product(x.type.shape[axis] for axis in axes)))
    before, after = [
        cumulative.exclusive_product(rows, axis=len(kept), reverse=reverse)
        for reverse in (False, True)
    ]
    others = helpers.reshape(ops.mul(before, after), moved.type.shape)
    return helpers.transpose(others, [order.index(axis) for axis in range(x.type.rank)])


def _extreme_jvp(op: Op, tangents: Sequence[Maybe]) -> Maybe:
    """The mean of the tangents of all elements that are equal to the extreme."""
    (tangent,), (x,), (extreme,) = tangents, op.operands, op.results
    assert tangent is not None
    axes = op.attributes["axes"]
    if not axes:
        return tangent
    is_extreme = ops.eq(x, helpers.expand_axes(extreme, axes, x.type.shape))
    count = reduce_sum(ops.cast(is_extreme, dtype=x.type.dtype), axes=axes)
    chosen = ops.select(is_extreme, tangent, helpers.number(0, x))
    return ops.div(reduce_sum(chosen, axes=axes), count)


# --- the ops ------------------------------------------------------------------------------------

# Without its dtype argument np.sum and np.prod would widen small integers, which must wrap.
reduce_sum = reduction(
    "reduce_sum",
    "The sum along axes, 0 of no elements; integers wrap.",
    kinds=NUMBER,
    combine=lambda x, axis: np.sum(x, axis=axis, dtype=x.dtype),
    combiner="sum",
    linear=(),
    transpose=_sum_transpose,
)

reduce_prod = reduction(
    "reduce_prod",
    "The product along axes, 1 of no elements; integers wrap.",
    kinds=NUMBER,
    combine=lambda x, axis: np.prod(x, axis=axis, dtype=x.dtype),
    combiner="prod",
    jvp=_prod_jvp,
)

reduce_max = reduction(
    "reduce_max",
    "The largest element along axes, NaN if one is; the axes must not be empty.",
    kinds=ORDERED,
    combine=np.max,
    combiner="max",
    has_identity=False,
    jvp=_extreme_jvp,
)

reduce_min = reduction(
    "reduce_min",
    "The smallest element along axes, NaN if one is; the axes must not be empty.",
    kinds=ORDERED,
    combine=np.min,
    combiner="min",
    has_identity=False,
    jvp=_extreme_jvp,
)

reduce_any = reduction(
    "reduce_any",
    "Whether a bool along axes is true, false of no elements.",
    kinds=("bool",),
    combine=np.any,
    combiner="any",
)

reduce_all = reduction(
    "reduce_all",
    "Whether all bools along axes are true, true of no elements.",
    kinds=("bool",),
    combine=np.all,
    combiner="all",
)

argmax = position(
    "argmax",
    "The index along axis of the first NaN if there is one, else of the first largest element.",
    find=np.argmax,
)

argmin = position(
    "argmin",
    "The index along axis of the first NaN if there is one, else of the first smallest element.",
    find=np.argmin,
)

OPS: Final = (
    reduce_sum,
    reduce_prod,
    reduce_max,
    reduce_min,
    reduce_any,
    reduce_all,
    argmax,
    argmin,
)
