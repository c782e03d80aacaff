"""Ops that move elements without computing, and the two that make arrays from sizes alone.

Primitives are exact where NumPy is lenient: axes count from 0, slices lie inside their axis, and
nothing stretches that was not asked to. Frontends bring users' forms to these.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from weft.compiler.ir.attributes import DTYPE, INT, INTS, SIZE, SIZES
from weft.compiler.ir.build import constant
from weft.compiler.ir.dims import Size, product, upper
from weft.compiler.ir.dtypes import DType, i64
from weft.compiler.ir.errors import DTypeError, ShapeError
from weft.compiler.ir.graph import Op, Value
from weft.compiler.ir.lowering import Memory, Writes
from weft.compiler.ir.opdef import OpDef, Trait
from weft.compiler.ir.rules import Maybe
from weft.compiler.ir.types import ArrayType, Shape, format_shape
from weft.compiler.ops import helpers, index_maps, padding, positions
from weft.compiler.ops.common import (
    INTEGER,
    require_axes,
    require_axis,
    require_kind,
    require_per_axis,
    same_dtype,
)
from weft.compiler.ops.primitives import ops

Array: TypeAlias = NDArray[Any]


def _require_sizes(shape: Shape) -> None:
    """No size may be negative for sure; one that could be for some value of a symbol passes."""
    for size in shape:
        most = upper(size)
        if most is not None and most < 0:
            raise ShapeError(f"shape {format_shape(shape)} has the negative size {size}")


# --- broadcast, reshape, transpose, reverse -----------------------------------------------------


def _broadcast_type(x: ArrayType, *, shape: Shape, dims: tuple[int, ...]) -> ArrayType:
    _require_sizes(shape)
    require_per_axis(x.rank, dims=dims)
    if any(left >= right for left, right in pairwise(dims)):
        raise ShapeError(f"dims {dims} are not strictly increasing; transpose first")
    for axis, (size, target) in enumerate(zip(x.shape, dims, strict=True)):
        require_axis(target, len(shape))
        if size not in (1, shape[target]):
            raise ShapeError(
                f"axis {axis} of size {size} does not stretch to {shape[target]}; "
                "the sizes must be equal or the operand's 1"
            )
    return x.with_shape(shape)


def _broadcast(x: Array, *, shape: tuple[int, ...], dims: tuple[int, ...]) -> Array:
    aligned = [1] * len(shape)
    for size, target in zip(x.shape, dims, strict=True):
        aligned[target] = size
    return np.broadcast_to(x.reshape(aligned), shape)


def _broadcast_transpose(
    op: Op, cotangents: Sequence[Maybe], linear: Sequence[bool]
) -> list[Value]:
    """A sum over each axis that was stretched, new or from size 1."""
    cotangent, (x,) = helpers.only(cotangents), op.operands
    source = dict(zip(op.attributes["dims"], x.type.shape, strict=True))
    stretched = [
        axis for axis, size in enumerate(cotangent.type.shape) if size != source.get(axis, 1)
    ]
    total = ops.reduce_sum(cotangent, axes=tuple(stretched)) if stretched else cotangent
    return [helpers.reshape(total, x.type.shape)]


def _broadcast_batch(
    op: Op, operands: Sequence[Value], batched: Sequence[bool], size: Size
) -> Value:
    target, dims = op.attributes["shape"], op.attributes["dims"]
    return broadcast(operands[0], shape=(size, *target), dims=(0, *helpers.shifted(dims)))


broadcast = OpDef(
    name="broadcast",
    doc="Stretches to `shape`: operand axis i becomes axis `dims[i]`, the other axes are new.",
    infer=_broadcast_type,
    reference=_broadcast,
    attributes={"shape": SIZES, "dims": INTS},
    operands=("x",),
    traits=Trait.VIEW,
    linear=(),
    transpose=_broadcast_transpose,
    batch=_broadcast_batch,
    index_map=index_maps.broadcast,
    view=index_maps.STRETCHED,
    cost=0,
)


def _reshape_type(x: ArrayType, *, shape: Shape) -> ArrayType:
    _require_sizes(shape)
    count = product(shape)
    if count != x.size:
        raise ShapeError(
            f"{format_shape(x.shape)} has {x.size} elements, {format_shape(shape)} has {count}; "
            "the counts must be equal"
        )
    return x.with_shape(shape)


reshape = OpDef(
    name="reshape",
    doc="The same elements in row-major order under another shape.",
    infer=_reshape_type,
    reference=lambda x, *, shape: x.reshape(shape),
    attributes={"shape": SIZES},
    operands=("x",),
    traits=Trait.VIEW,
    linear=(),
    transpose=lambda op, cotangents, linear: [
        op.definition(helpers.only(cotangents), shape=op.operands[0].type.shape)
    ],
    batch=lambda op, operands, batched, size: op.definition(
        operands[0], shape=(size, *op.attributes["shape"])
    ),
    index_map=index_maps.reshape,
    view=index_maps.RESHAPED,
    memory=Memory(keeps_order=True),
    cost=0,
)


def _transpose_type(x: ArrayType, *, permutation: tuple[int, ...]) -> ArrayType:
    if sorted(permutation) != list(range(x.rank)):
        raise ShapeError(f"{permutation} is no permutation of the {x.rank} axes")
    return x.with_shape(x.shape[axis] for axis in permutation)


transpose = OpDef(
    name="transpose",
    doc="Reorders axes: result axis i is operand axis `permutation[i]`.",
    infer=_transpose_type,
    reference=lambda x, *, permutation: np.transpose(x, permutation),
    attributes={"permutation": INTS},
    operands=("x",),
    traits=Trait.VIEW,
    linear=(),
    transpose=lambda op, cotangents, linear: [
        op.definition(
            helpers.only(cotangents), permutation=helpers.inverse(op.attributes["permutation"])
        )
    ],
    batch=lambda op, operands, batched, size: op.definition(
        operands[0], permutation=(0, *helpers.shifted(op.attributes["permutation"]))
    ),
    index_map=index_maps.transpose,
    view=index_maps.TRANSPOSED,
    cost=0,
)


def _reverse_type(x: ArrayType, *, axes: tuple[int, ...]) -> ArrayType:
    require_axes(axes, x.rank)
    return x


reverse = OpDef(
    name="reverse",
    doc="Turns the order of elements around along each of `axes`.",
    infer=_reverse_type,
    reference=lambda x, *, axes: np.flip(x, axes),
    attributes={"axes": INTS},
    operands=("x",),
    traits=Trait.VIEW,
    linear=(),
    transpose=lambda op, cotangents, linear: [
        op.definition(helpers.only(cotangents), **op.attributes)
    ],
    batch=lambda op, operands, batched, size: op.definition(
        operands[0], axes=helpers.shifted(op.attributes["axes"])
    ),
    index_map=index_maps.reverse,
    view=index_maps.REVERSED,
    cost=0,
)


# --- slices -------------------------------------------------------------------------------------


def _slice_type(
    x: ArrayType, *, starts: Shape, limits: Shape, strides: tuple[int, ...]
) -> ArrayType:
    require_per_axis(x.rank, starts=starts, limits=limits, strides=strides)
    bounds = zip(starts, limits, strides, x.shape, strict=True)
    return x.with_shape(
        [_sliced_size(axis, *bound_of_axis) for axis, bound_of_axis in enumerate(bounds)]
    )


def _sliced_size(axis: int, start: Size, limit: Size, stride: int, size: Size) -> Size:
    if stride < 1:
        raise ShapeError(
            f"stride {stride} of axis {axis} is below 1; use reverse for negative ones"
        )
    # A slice as long as its axis is in order even where the bounds of the symbols cannot show it.
    is_ordered = limit - start == size or start <= limit
    if start < 0 or limit > size or not is_ordered:
        raise ShapeError(f"slice {start}:{limit} does not lie inside axis {axis} of size {size}")
    return (limit - start + stride - 1) // stride


def _slice(
    x: Array, *, starts: tuple[int, ...], limits: tuple[int, ...], strides: tuple[int, ...]
) -> Array:
    return x[tuple(map(slice, starts, limits, strides))]


def _slice_transpose(op: Op, cotangents: Sequence[Maybe], linear: Sequence[bool]) -> list[Value]:
    """Zeros around and between the elements that were taken."""
    cotangent, (x,) = helpers.only(cotangents), op.operands
    starts, strides = op.attributes["starts"], op.attributes["strides"]
    axes = zip(x.type.shape, starts, cotangent.type.shape, strides, strict=True)
    return [
        pad(
            cotangent,
            helpers.number(0, cotangent),
            low=starts,
            high=[
                size - start - padding.spread_size(count, step) for size, start, count, step in axes
            ],
            interior=[step - 1 for step in strides],
        )
    ]


def _slice_batch(op: Op, operands: Sequence[Value], batched: Sequence[bool], size: Size) -> Value:
    return slice_(
        operands[0],
        starts=(0, *op.attributes["starts"]),
        limits=(size, *op.attributes["limits"]),
        strides=(1, *op.attributes["strides"]),
    )


slice_ = OpDef(
    name="slice",
    doc="The elements at `starts`, `starts + strides`, ... below `limits` of each axis.",
    infer=_slice_type,
    reference=_slice,
    attributes={"starts": SIZES, "limits": SIZES, "strides": INTS},
    operands=("x",),
    traits=Trait.VIEW,
    linear=(),
    transpose=_slice_transpose,
    batch=_slice_batch,
    index_map=index_maps.slice_,
    view=index_maps.SLICED,
    cost=0,
)


def _require_window(x: ArrayType, sizes: Shape, starts: tuple[ArrayType, ...]) -> None:
    """A window of `sizes` must fit into `x`, and one integer per axis must say where it starts."""
    require_per_axis(x.rank, starts=starts)
    for axis, start in enumerate(starts):
        require_kind(start, INTEGER, f"the start of axis {axis}")
        if start.rank:
            raise ShapeError(f"the start of axis {axis} has type {start}, expected rank 0")
    for axis, (size, available) in enumerate(zip(sizes, x.shape, strict=True)):
        if size != available and (size < 0 or size > available):
            raise ShapeError(
                f"a window of size {size} does not fit axis {axis} of size {available}"
            )


def _window(
    shape: Sequence[int], sizes: Sequence[int], starts: Sequence[Array]
) -> tuple[slice, ...]:
    """The window moved to where it lies inside the array, as XLA does."""
    firsts = [
        min(max(int(start), 0), available - size)
        for start, size, available in zip(starts, sizes, shape, strict=True)
    ]
    return tuple(slice(first, first + size) for first, size in zip(firsts, sizes, strict=True))


def _dynamic_slice_type(x: ArrayType, *starts: ArrayType, sizes: Shape) -> ArrayType:
    require_per_axis(x.rank, sizes=sizes)
    _require_window(x, sizes, starts)
    return x.with_shape(sizes)


def _dynamic_slice_transpose(
    op: Op, cotangents: Sequence[Maybe], linear: Sequence[bool]
) -> list[Maybe]:
    cotangent, (x, *starts) = helpers.only(cotangents), op.operands
    return [dynamic_update_slice(helpers.zeros(x.type), cotangent, *starts), *[None] * len(starts)]


def _dynamic_slice_batch(
    op: Op, operands: Sequence[Value], batched: Sequence[bool], size: Size
) -> Value:
    x, *starts = operands
    sizes = op.attributes["sizes"]
    if any(batched[1:]):
        return positions.read_windows(x, starts, sizes, size, has_axis=batched[0])
    return dynamic_slice(x, constant(0, i64), *starts, sizes=(size, *sizes))


dynamic_slice = OpDef(
    name="dynamic_slice",
    doc="A window of `sizes` that begins at `starts`, moved inside where it would stick out.",
    infer=_dynamic_slice_type,
    reference=lambda x, *starts, sizes: x[_window(x.shape, sizes, starts)],
    attributes={"sizes": SIZES},
    operands=("x", "*starts"),
    linear=(0,),
    transpose=_dynamic_slice_transpose,
    batch=_dynamic_slice_batch,
    index_map=index_maps.dynamic_slice,
)


def _dynamic_update_slice_type(x: ArrayType, update: ArrayType, *starts: ArrayType) -> ArrayType:
    same_dtype((x, update))
    if update.rank != x.rank:
        raise ShapeError(f"update has rank {update.rank}, expected the operand's rank {x.rank}")
    _require_window(x, update.shape, starts)
    return x


def _dynamic_update_slice(x: Array, update: Array, *starts: Array) -> Array:
    result = np.array(x)
    result[_window(x.shape, update.shape, starts)] = update
    return result


def _dynamic_update_slice_transpose(
    op: Op, cotangents: Sequence[Maybe], linear: Sequence[bool]
) -> list[Maybe]:
    cotangent, (_, update, *starts) = helpers.only(cotangents), op.operands
    around = inside = None
    if linear[0]:
        around = dynamic_update_slice(cotangent, helpers.zeros(update.type), *starts)
    if linear[1]:
        inside = dynamic_slice(cotangent, *starts, sizes=update.type.shape)
    return [around, inside, *[None] * len(starts)]


def _dynamic_update_slice_batch(
    op: Op, operands: Sequence[Value], batched: Sequence[bool], size: Size
) -> Value:
    x, update = helpers.with_leading_axis(operands[:2], batched[:2], size)
    starts = operands[2:]
    if any(batched[2:]):
        return positions.write_windows(x, update, starts)
    return dynamic_update_slice(x, update, constant(0, i64), *starts)


dynamic_update_slice = OpDef(
    name="dynamic_update_slice",
    doc="The operand with the window that begins at `starts` replaced by `update`.",
    infer=_dynamic_update_slice_type,
    reference=_dynamic_update_slice,
    operands=("x", "update", "*starts"),
    linear=(0, 1),
    transpose=_dynamic_update_slice_transpose,
    batch=_dynamic_update_slice_batch,
    index_map=index_maps.dynamic_update_slice,
    memory=Memory(writes=Writes(index_maps.window_piece, base=0)),
    cost=lambda op: len(op.operands),
)


# --- pad and concatenate ------------------------------------------------------------------------


pad = OpDef(
    name="pad",
    doc="Puts `interior` copies of `value` between elements, then `low` and `high` at the ends; "
    "negative ends crop.",
    infer=padding.pad_type,
    reference=padding.pad_reference,
    attributes={"low": SIZES, "high": SIZES, "interior": INTS},
    operands=("x", "value"),
    linear=(0, 1),
    transpose=padding.pad_transpose,
    batch=padding.pad_batch,
    index_map=index_maps.pad,
    cost=lambda op: len(op.operands),
)


def _concatenate_type(*operands: ArrayType, axis: int) -> ArrayType:
    if not operands:
        raise ShapeError("there is nothing to join; give at least one operand")
    same_dtype(operands)
    first = operands[0]
    require_axis(axis, first.rank)
    total: Size = 0
    for position, operand in enumerate(operands):
        if operand.rank != first.rank or _without(operand, axis) != _without(first, axis):
            raise ShapeError(
                f"operand {position} has shape {format_shape(operand.shape)}, which differs from "
                f"{format_shape(first.shape)} outside axis {axis}"
            )
        total = total + operand.shape[axis]
    return first.with_shape((*first.shape[:axis], total, *first.shape[axis + 1 :]))


def _without(operand: ArrayType, axis: int) -> Shape:
    return operand.shape[:axis] + operand.shape[axis + 1 :]


def _concatenate_transpose(
    op: Op, cotangents: Sequence[Maybe], linear: Sequence[bool]
) -> list[Maybe]:
    cotangent, axis = helpers.only(cotangents), op.attributes["axis"]
    result: list[Maybe] = []
    end: Size = 0
    for operand, mark in zip(op.operands, linear, strict=True):
        start, end = end, end + operand.type.shape[axis]
        result.append(part(cotangent, axis, start, end) if mark else None)
    return result


def part(x: Value, axis: int, start: Size, limit: Size) -> Value:
    """The slice from `start` to `limit` along one axis."""
    starts: list[Size] = [0] * x.type.rank
    limits = list(x.type.shape)
    starts[axis], limits[axis] = start, limit
    return slice_(x, starts=starts, limits=limits, strides=[1] * x.type.rank)


def _concatenate_batch(
    op: Op, operands: Sequence[Value], batched: Sequence[bool], size: Size
) -> Value:
    pieces = helpers.with_leading_axis(operands, batched, size)
    return concatenate(*pieces, axis=op.attributes["axis"] + 1)


concatenate = OpDef(
    name="concatenate",
    doc="The operands one after the other along `axis`.",
    infer=_concatenate_type,
    reference=lambda *operands, axis: np.concatenate(operands, axis),
    attributes={"axis": INT},
    operands=("*operands",),
    linear=(),
    transpose=_concatenate_transpose,
    batch=_concatenate_batch,
    index_map=index_maps.concatenate,
    memory=Memory(writes=Writes(index_maps.joined_pieces)),
    cost=lambda op: len(op.operands),
)


# --- arrays from sizes --------------------------------------------------------------------------


def _iota_type(*, dtype: DType, shape: Shape, axis: int) -> ArrayType:
    if dtype.is_bool:
        raise DTypeError("iota counts, which bool cannot; make integers and compare them")
    _require_sizes(shape)
    require_axis(axis, len(shape))
    return ArrayType(dtype, shape)


def _iota(*, dtype: DType, shape: tuple[int, ...], axis: int) -> Array:
    aligned = [1] * len(shape)
    aligned[axis] = shape[axis]
    # Counted in i64 and then cast, so that narrow integers wrap and narrow floats round once.
    count = np.arange(shape[axis], dtype=np.int64).astype(dtype.numpy)
    return np.broadcast_to(count.reshape(aligned), shape)


iota = OpDef(
    name="iota",
    doc="Each element's index along `axis`.",
    infer=_iota_type,
    reference=_iota,
    attributes={"dtype": DTYPE, "shape": SIZES, "axis": INT},
    index_map=index_maps.iota,
    cost=0,
)

dim_value = OpDef(
    name="dim_value",
    doc="The value that a symbolic size has when the program runs.",
    infer=lambda *, dim: ArrayType(i64),
    reference=lambda *, dim: np.asarray(dim, np.int64),
    attributes={"dim": SIZE},
    index_map=index_maps.dim_value,
)

OPS: Final = (
    broadcast,
    reshape,
    transpose,
    reverse,
    slice_,
    dynamic_slice,
    dynamic_update_slice,
    pad,
    concatenate,
    iota,
    dim_value,
)
