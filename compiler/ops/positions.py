"""Reading and writing where rules say: along an axis, and in a window per element of a batch.

The index arrays made here are always in range, so no mode has anything to do; "clip" is the one
that never raises.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.compiler.ir.build import constant
from weft.compiler.ir.dims import Size
from weft.compiler.ir.dtypes import i64, u64
from weft.compiler.ir.graph import Value
from weft.compiler.ir.types import Shape
from weft.compiler.ops import helpers
from weft.compiler.ops.primitives import ops


def size_value(size: Size) -> Value:
    """A size as an i64 number."""
    return constant(size, i64) if isinstance(size, int) else ops.dim_value(dim=size)


def take_along_axis(x: Value, index: Value, axis: int) -> Value:
    """The elements of x at `index` along one axis; other axes are those of the index array."""
    rank = x.type.rank
    counts = [
        ops.iota(dtype=i64, shape=index.type.shape, axis=other) for other in range(axis + 1, rank)
    ]
    axes = tuple(range(axis, rank))
    return ops.gather(x, index, *counts, axes=axes, batch_dims=axis, mode="clip")


def read_windows(
    x: Value, starts: Sequence[Value], sizes: Shape, batch: Size, *, has_axis: bool
) -> Value:
    """dynamic_slice of each batch element, at starts of which some have the batch axis."""
    room = x.type.shape[1:] if has_axis else x.type.shape
    moving, whole = _split_axes(sizes, room)
    if not moving:
        return x if has_axis else helpers.add_leading_axis(x, batch)
    windows = ops.gather(
        x,
        *_window_indices(starts, sizes, room, batch, moving),
        axes=[axis + has_axis for axis in moving],
        batch_dims=int(has_axis),
        mode="clip",
    )
    order = [*moving, *whole]
    return helpers.transpose(windows, (0, *[1 + order.index(axis) for axis in range(len(order))]))


def write_windows(x: Value, update: Value, starts: Sequence[Value]) -> Value:
    """dynamic_update_slice of each batch element; x and update both have the batch axis."""
    (batch, *room), (_, *sizes) = x.type.shape, update.type.shape
    moving, whole = _split_axes(sizes, room)
    if not moving:
        return update
    return ops.scatter(
        x,
        helpers.transpose(update, (0, *helpers.shifted([*moving, *whole]))),
        *_window_indices(starts, sizes, room, batch, moving),
        axes=helpers.shifted(moving),
        batch_dims=1,
        mode="clip",
        kind="set",
    )


def _split_axes(sizes: Sequence[Size], room: Sequence[Size]) -> tuple[list[int], list[int]]:
    """The axes along which a window can move, and those that it covers."""
    moving = [axis for axis, size in enumerate(sizes) if size != room[axis]]
    return moving, [axis for axis in range(len(sizes)) if axis not in moving]


def _window_indices(
    starts: Sequence[Value],
    sizes: Sequence[Size],
    room: Sequence[Size],
    batch: Size,
    axes: Sequence[int],
) -> list[Value]:
    """For each of the axes, where along it the elements of every window lie."""
    target = (batch, *[sizes[axis] for axis in axes])
    indices = []
    for number, axis in enumerate(axes):
        first = _inside(starts[axis], room[axis] - sizes[axis])
        if first.type.rank:
            first = ops.broadcast(first, shape=target, dims=(0,))
        offset = ops.iota(dtype=i64, shape=target, axis=number + 1)
        indices.append(ops.add(offset, first))
    return indices


def _inside(start: Value, last: Size) -> Value:
    """The start moved to between 0 and `last`."""
    if start.type.dtype is u64:
        # Starts beyond i64 are beyond every array too, and would turn negative.
        start = ops.minimum(start, constant(2**63 - 1, u64))
    if start.type.dtype is not i64:
        start = ops.cast(start, dtype=i64)
    return ops.clamp(constant(0, i64), start, size_value(last))
