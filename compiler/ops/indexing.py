"""Reading and writing at positions that arrays give: gather and its adjoint in shape, scatter.

One integer array per indexed axis, all of one shape, with leading batch axes aligned between
operand and indices. NumPy's advanced indexing, embeddings, take_along_axis and segment sums are all
written with these two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from weft.compiler.ir.attributes import INT, INTS, Choice
from weft.compiler.ir.dims import Size
from weft.compiler.ir.dtypes import bf16, i64
from weft.compiler.ir.errors import BoundsError, DTypeError, ShapeError
from weft.compiler.ir.graph import Op, Value
from weft.compiler.ir.lowering import Memory, Writes
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ir.rules import Maybe
from weft.compiler.ir.types import ArrayType, format_shape
from weft.compiler.ops import duplicates, helpers, index_maps
from weft.compiler.ops.common import INTEGER, drop_axes, require_axes, require_kind, same_dtype
from weft.compiler.ops.primitives import ops

Array: TypeAlias = NDArray[Any]

MODE: Final = Choice(("raise", "clip", "fill", "inside"))
KIND: Final = Choice(("set", "add", "mul", "min", "max"))


def _gather_type(
    operand: ArrayType, *indices: ArrayType, axes: tuple[int, ...], batch_dims: int, mode: str
) -> ArrayType:
    if not axes or len(indices) != len(axes):
        raise ShapeError(
            f"axes is {axes}, but there are {len(indices)} index arrays; "
            "give one per axis, and at least one"
        )
    require_axes(axes, operand.rank)
    for position, index in enumerate(indices):
        require_kind(index, INTEGER, f"index {position}")
        if index.shape != indices[0].shape:
            raise ShapeError(
                f"index arrays have different shapes: {format_shape(indices[0].shape)} and "
                f"{format_shape(index.shape)}"
            )
    index_shape = indices[0].shape
    _require_batch(operand, indices[0], axes, batch_dims)
    kept = drop_axes(operand.shape, (*range(batch_dims), *axes))
    return operand.with_shape((*index_shape, *kept))


def _require_batch(
    operand: ArrayType, index: ArrayType, axes: tuple[int, ...], batch_dims: int
) -> None:
    most = min(index.rank, *axes)
    if not 0 <= batch_dims <= most:
        raise ShapeError(
            f"batch_dims is {batch_dims}, expected 0 to {most}: no more than the indices have, "
            f"and none of the axes {axes}"
        )
    batch, of_index = operand.shape[:batch_dims], index.shape[:batch_dims]
    if batch != of_index:
        raise ShapeError(
            f"batch axes differ: {format_shape(batch)} in the operand, {format_shape(of_index)} "
            "in the indices"
        )


def _scatter_type(
    operand: ArrayType,
    updates: ArrayType,
    *indices: ArrayType,
    axes: tuple[int, ...],
    batch_dims: int,
    mode: str,
    kind: str,
) -> ArrayType:
    same_dtype((operand, updates))
    if kind != "set" and operand.dtype.is_bool:
        raise DTypeError(f"scatter of kind {kind} has no meaning for bool; use integers")
    if kind in ("min", "max") and operand.dtype.is_complex:
        raise DTypeError(f"scatter of kind {kind} needs an order, which {operand.dtype} has not")
    expected = _gather_type(operand, *indices, axes=axes, batch_dims=batch_dims, mode=mode)
    if updates.shape != expected.shape:
        raise ShapeError(
            f"updates have shape {format_shape(updates.shape)}, expected "
            f"{format_shape(expected.shape)}: the index shape, then the axes that are kept whole"
        )
    return operand


# --- references ---------------------------------------------------------------------------------


def _gather(
    operand: Array, *indices: Array, axes: tuple[int, ...], batch_dims: int, mode: str
) -> Array:
    moved = _indexed_axes_first(operand, axes, batch_dims)
    coordinates, valid = _coordinates(moved.shape, indices, axes, batch_dims, mode)
    kept_shape = moved.shape[batch_dims + len(axes) :]
    result = np.zeros((*valid.shape, *kept_shape), operand.dtype)
    result[valid] = moved[coordinates]
    return result


def _scatter(
    operand: Array,
    updates: Array,
    *indices: Array,
    axes: tuple[int, ...],
    batch_dims: int,
    mode: str,
    kind: str,
) -> Array:
    # Sums of many half-precision updates would be swallowed one by one; f32 holds them.
    result = operand.astype(_accumulator(operand.dtype), copy=True)
    moved = _indexed_axes_first(result, axes, batch_dims)
    coordinates, valid = _coordinates(moved.shape, indices, axes, batch_dims, mode)
    # The boolean mask lists positions in row-major order, so the last of equal ones wins in "set".
    values = updates[valid].astype(result.dtype)
    if kind == "set":
        moved[coordinates] = values
    else:
        _COMBINE[kind].at(moved, coordinates, values)
    return result.astype(operand.dtype)


_COMBINE: Final = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


def _accumulator(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(np.float32) if dtype in (np.dtype(np.float16), bf16.numpy) else dtype


def _indexed_axes_first(operand: Array, axes: tuple[int, ...], batch_dims: int) -> Array:
    """A view with axes in the order batch, indexed, kept."""
    front = (*range(batch_dims), *axes)
    kept = [axis for axis in range(operand.ndim) if axis not in front]
    return operand.transpose(*front, *kept)


def _coordinates(
    shape: tuple[int, ...],
    indices: tuple[Array, ...],
    axes: tuple[int, ...],
    batch_dims: int,
    mode: str,
) -> tuple[tuple[Array, ...], Array]:
    """One list of positions per batch and indexed axis, and which indices they come from."""
    index_shape = indices[0].shape
    valid = np.ones(index_shape, np.bool_)
    positions = list(np.indices(index_shape)[:batch_dims])
    for index, axis, size in zip(indices, axes, shape[batch_dims:], strict=False):
        position, inside = _resolve(index, size)
        if mode == "clip":
            _require_elements(index, axis, size)
            position = np.clip(position, 0, size - 1)
        elif mode in ("raise", "inside"):
            _require_inside(index, inside, axis, size)
        else:
            valid &= inside
        positions.append(position)
    return tuple(position[valid] for position in positions), valid


def _resolve(index: Array, size: int) -> tuple[Array, Array]:
    """The position of each index counted from 0, and whether it lies inside the axis."""
    if index.dtype.kind == "u":
        # Large u64 values have no i64; all beyond the axis are alike.
        position = np.minimum(index.astype(np.uint64), np.uint64(size)).astype(np.int64)
    else:
        position = index.astype(np.int64)
        position = np.where(position < 0, position + size, position)
    return position, (position >= 0) & (position < size)


def _require_inside(index: Array, inside: Array, axis: int, size: int) -> None:
    if not inside.all():
        culprit = index[~inside].flat[0]
        raise BoundsError(f"index {culprit} is out of range for axis {axis} of size {size}")


def _require_elements(index: Array, axis: int, size: int) -> None:
    if size == 0 and index.size:
        raise BoundsError(f"index {index.flat[0]} cannot be clipped into axis {axis} of size 0")


# --- rules of gather ----------------------------------------------------------------------------


def _gather_transpose(op: Op, cotangents: Sequence[Maybe], linear: Sequence[bool]) -> list[Maybe]:
    """What was read from an element adds up there."""
    cotangent, (operand, *indices) = helpers.only(cotangents), op.operands
    zeros = helpers.zeros(operand.type)
    return [
        scatter(zeros, cotangent, *indices, kind="add", **op.attributes),
        *[None] * len(indices),
    ]


def _gather_batch(op: Op, operands: Sequence[Value], batched: Sequence[bool], size: Size) -> Value:
    """The batch axis becomes one of the index arrays if the operand has none, else one of both."""
    operand, *indices = operands
    axes, batch_dims = op.attributes["axes"], op.attributes["batch_dims"]
    indices = helpers.with_leading_axis(indices, batched[1:], size)
    if batched[0]:
        axes, batch_dims = helpers.shifted(axes), batch_dims + 1
    else:
        # Batch axes of the operand come to be indexed like others, rather than repeat it.
        counts = [
            ops.iota(dtype=i64, shape=indices[0].type.shape, axis=axis + 1)
            for axis in range(batch_dims)
        ]
        indices, axes, batch_dims = [*counts, *indices], (*range(batch_dims), *axes), 0
    return gather(operand, *indices, axes=axes, batch_dims=batch_dims, mode=op.attributes["mode"])


gather = OpDef(
    name="gather",
    doc="Reads at `indices` along `axes`: the result has the index shape, then the other axes "
    "whole; negative indices count from the end, and `mode` says what one out of range does.",
    infer=_gather_type,
    reference=_gather,
    attributes={"axes": INTS, "batch_dims": INT, "mode": MODE},
    defaults={"batch_dims": 0, "mode": "raise"},
    operands=("operand", "*indices"),
    linear=(0,),
    transpose=_gather_transpose,
    batch=_gather_batch,
    index_map=index_maps.gather,
    cost=4,
)


# --- rules of scatter ---------------------------------------------------------------------------


def _scatter_jvp(op: Op, tangents: Sequence[Maybe]) -> Maybe:
    """`set` and `add` are linear in operand and updates; the others are not."""
    d_operand, d_updates = tangents[:2]
    match op.attributes["kind"]:
        case "mul":
            return duplicates.product_tangent(op, d_operand, d_updates)
        case "min" | "max":
            return duplicates.extreme_tangent(op, d_operand, d_updates)
        case "add" if d_updates is None:
            return d_operand
    operand, updates, *indices = op.operands
    return scatter(
        d_operand or helpers.zeros(operand.type),
        d_updates or helpers.zeros(updates.type),
        *indices,
        **op.attributes,
    )


def _scatter_transpose(op: Op, cotangents: Sequence[Maybe], linear: Sequence[bool]) -> list[Maybe]:
    cotangent, (_, updates, *indices) = helpers.only(cotangents), op.operands
    places = {name: op.attributes[name] for name in ("axes", "batch_dims", "mode")}
    is_set = op.attributes["kind"] == "set"
    of_operand = of_updates = None
    if linear[0]:
        # What is overwritten has no influence.
        zeros = helpers.zeros(updates.type)
        of_operand = scatter(cotangent, zeros, *indices, **op.attributes) if is_set else cotangent
    if linear[1]:
        of_updates = gather(cotangent, *indices, **places)
        if is_set:
            of_updates = duplicates.where_last(of_updates, cotangent.type, indices, **places)
    return [of_operand, of_updates, *[None] * len(indices)]


def _scatter_batch(op: Op, operands: Sequence[Value], batched: Sequence[bool], size: Size) -> Value:
    attributes = {
        **op.attributes,
        "axes": helpers.shifted(op.attributes["axes"]),
        "batch_dims": op.attributes["batch_dims"] + 1,
    }
    return scatter(*helpers.with_leading_axis(operands, batched, size), **attributes)


scatter = OpDef(
    name="scatter",
    doc="Writes `updates`, shaped as gather's result, at `indices` along `axes`; at repeated "
    "positions `set` keeps the last in row-major order, other kinds combine all with the operand.",
    infer=_scatter_type,
    reference=_scatter,
    attributes={"axes": INTS, "batch_dims": INT, "mode": MODE, "kind": KIND},
    defaults={"batch_dims": 0, "mode": "raise"},
    operands=("operand", "updates", "*indices"),
    jvp=_scatter_jvp,
    transpose=_scatter_transpose,
    batch=_scatter_batch,
    memory=Memory(writes=Writes(index_maps.scattered_piece, base=0, combine="kind", may_meet=True)),
)

OPS: Final = (gather, scatter)
