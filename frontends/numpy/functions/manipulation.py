"""Functions that give an array another shape or its axes and elements another order.

None of them changes which elements there are; joining and splitting are in `joining`, functions
that add or leave out elements in `resizing`.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from weft.compiler.ir import dims, dtypes
from weft.compiler.ir.dims import Dim, Size
from weft.compiler.ir.errors import ShapeError
from weft.compiler.ir.graph import Value
from weft.compiler.ir.types import ArrayType, Shape, format_shape
from weft.compiler.ops import shape as shape_ops
from weft.compiler.ops.arithmetic import remainder, sub
from weft.frontends.numpy.functions.axis_ops import (
    as_value,
    flat,
    gather_axis,
    iota,
    join,
    slice_axis,
    unstack_value,
)
from weft.frontends.tracing import core
from weft.frontends.tracing.core import (
    as_shape,
    cast,
    normalize_axes,
    normalize_axis,
    size_value,
    trace_error,
    wrap,
)
from weft.frontends.tracing.trace import ArrayLike, Tracer

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "expand_dims",
    "flip",
    "fliplr",
    "flipud",
    "matrix_transpose",
    "moveaxis",
    "permute_dims",
    "ravel",
    "reshape",
    "roll",
    "rollaxis",
    "rot90",
    "squeeze",
    "swapaxes",
    "transpose",
]

Axes: TypeAlias = "int | Sequence[int]"


# --- shape ----------------------------------------------------------------------------------------


def reshape(a: ArrayLike, /, shape: Any, order: str = "C", *, copy: bool | None = None) -> Tracer:
    """As `numpy.reshape`; sizes may be symbolic, and `copy` means nothing in a trace.

    >>> import numpy as np, weft as wf
    >>> wf.trace(lambda x: np.reshape(x, (x.shape[0], -1)))(wf.spec("f32[n, 2, 3]")).results[0].type
    f32[n, 6]
    """
    value = as_value(a)
    target = _complete(value.type, as_shape(shape))
    if _is_column_major(order):
        turned = core.reshape(_reverse_axes(value), target[::-1])
        return wrap(_reverse_axes(turned))
    return wrap(core.reshape(value, target))


def ravel(a: ArrayLike, order: str = "C") -> Tracer:
    """As `numpy.ravel`."""
    return reshape(a, -1, order)


def squeeze(a: ArrayLike, axis: Axes | None = None) -> Tracer:
    """As `numpy.squeeze`; without `axis`, a symbolic size stays even if it can be 1."""
    value = as_value(a)
    sizes = value.type.shape
    if axis is None:
        return wrap(core.reshape(value, tuple([size for size in sizes if size != 1])))
    if not sizes:
        # NumPy takes an array of rank 0 for one of rank 1 here.
        normalize_axes(axis, 1)
        return wrap(value)
    dropped = normalize_axes(axis, len(sizes))
    for candidate in dropped:
        if sizes[candidate] != 1:
            raise ShapeError(
                f"axis {candidate} of the shape {format_shape(sizes)} has size {sizes[candidate]}; "
                "only axes of size 1 can be squeezed"
            )
    return wrap(core.reshape(value, tuple([s for i, s in enumerate(sizes) if i not in dropped])))


def expand_dims(a: ArrayLike, axis: Axes) -> Tracer:
    """As `numpy.expand_dims`."""
    value = as_value(a)
    given = tuple(axis) if isinstance(axis, Iterable) else (axis,)
    rank = value.type.rank + len(given)
    new = normalize_axes(given, rank)
    sizes = iter(value.type.shape)
    target = tuple([1 if i in new else next(sizes) for i in range(rank)])
    return wrap(core.reshape(value, target))


def atleast_1d(*arys: ArrayLike) -> Tracer | tuple[Tracer, ...]:
    """As `numpy.atleast_1d`."""
    return _each(arys, 1)


def atleast_2d(*arys: ArrayLike) -> Tracer | tuple[Tracer, ...]:
    """As `numpy.atleast_2d`."""
    return _each(arys, 2)


def atleast_3d(*arys: ArrayLike) -> Tracer | tuple[Tracer, ...]:
    """As `numpy.atleast_3d`."""
    return _each(arys, 3)


def raise_rank(value: Value, rank: int) -> Value:
    """The value with at least `rank` axes, placed where NumPy's atleast functions place them."""
    sizes = value.type.shape
    if len(sizes) >= rank:
        return value
    if rank == 3 and sizes:
        sizes = (*((1,) * (2 - len(sizes))), *sizes, 1)
    return core.reshape(value, (*((1,) * (rank - len(sizes))), *sizes))


def broadcast_to(array: ArrayLike, shape: Any, subok: bool = False) -> Tracer:
    """As `numpy.broadcast_to`."""
    value, target = as_value(array), as_shape(shape)
    return wrap(stretch(value, target))


def broadcast_arrays(*args: ArrayLike, subok: bool = False) -> tuple[Tracer, ...]:
    """As `numpy.broadcast_arrays`."""
    values = [as_value(a) for a in args]
    common = core.broadcast_shapes(*[value.type.shape for value in values])
    return tuple([wrap(core.broadcast_value(value, common)) for value in values])


def broadcast_shapes(*args: Any) -> Shape:
    """As `numpy.broadcast_shapes`; sizes may be symbolic."""
    return core.broadcast_shapes(*[as_shape(shape) for shape in args])


def stretch(value: Value, target: Shape) -> Value:
    """The value broadcast to a shape, or an error that shows both."""
    given = value.type.shape
    stretches = len(given) <= len(target) and all(
        size in (1, wanted) for size, wanted in zip(given[::-1], target[::-1], strict=False)
    )
    if not stretches:
        raise ShapeError(
            f"an array of shape {format_shape(given)} does not broadcast to {format_shape(target)}"
        )
    return core.broadcast_value(value, target)


# --- order of axes --------------------------------------------------------------------------------


def transpose(a: ArrayLike, axes: Sequence[int] | None = None) -> Tracer:
    """As `numpy.transpose`."""
    value = as_value(a)
    if axes is None:
        return wrap(_reverse_axes(value))
    rank = value.type.rank
    order = normalize_axes(axes, rank)
    if len(order) != rank:
        raise ShapeError(
            f"axes {tuple(axes)} do not name each of the {rank} axes of {value.type} once"
        )
    return wrap(core.transpose(value, order))


permute_dims = transpose


def matrix_transpose(x: ArrayLike, /) -> Tracer:
    """As `numpy.matrix_transpose`."""
    value = as_value(x)
    if value.type.rank < 2:
        raise ShapeError(f"matrix_transpose needs an array of rank 2 or more, got {value.type}")
    return swapaxes(wrap(value), -1, -2)


def moveaxis(a: ArrayLike, source: Axes, destination: Axes) -> Tracer:
    """As `numpy.moveaxis`."""
    value = as_value(a)
    rank = value.type.rank
    start, end = normalize_axes(source, rank), normalize_axes(destination, rank)
    if len(start) != len(end):
        raise ShapeError(f"source {start} and destination {end} differ in their number of axes")
    order = [axis for axis in range(rank) if axis not in start]
    for place, axis in sorted(zip(end, start, strict=True)):
        order.insert(place, axis)
    return wrap(core.transpose(value, order))


def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> Tracer:
    """As `numpy.rollaxis`."""
    value = as_value(a)
    rank = value.type.rank
    moved = normalize_axis(axis, rank)
    end = operator.index(start)
    if not -rank <= end <= rank:
        raise ShapeError(f"start {end} is out of bounds for an array of rank {rank}")
    end = end + rank if end < 0 else end
    return moveaxis(wrap(value), moved, end - 1 if moved < end else end)


def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> Tracer:
    """As `numpy.swapaxes`."""
    value = as_value(a)
    first, second = normalize_axis(axis1, value.type.rank), normalize_axis(axis2, value.type.rank)
    order = list(range(value.type.rank))
    order[first], order[second] = second, first
    return wrap(core.transpose(value, order))


# --- order of elements ----------------------------------------------------------------------------


def flip(m: ArrayLike, axis: Axes | None = None) -> Tracer:
    """As `numpy.flip`."""
    value = as_value(m)
    return wrap(_reverse(value, normalize_axes(axis, value.type.rank)))


def flipud(m: ArrayLike) -> Tracer:
    """As `numpy.flipud`."""
    return flip(m, 0)


def fliplr(m: ArrayLike) -> Tracer:
    """As `numpy.fliplr`."""
    return flip(m, 1)


def rot90(m: ArrayLike, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Tracer:
    """As `numpy.rot90`."""
    value = as_value(m)
    plane = normalize_axes(axes, value.type.rank)
    if len(plane) != 2:
        raise ShapeError(f"rot90 turns in the plane of two axes, got axes={tuple(axes)}")
    quarters = operator.index(k) % 4
    if quarters in (0, 2):
        return wrap(_reverse(value, plane if quarters else ()))
    turned = swapaxes(wrap(value), *plane).value
    return wrap(_reverse(turned, plane[:1] if quarters == 1 else plane[1:]))


def roll(a: ArrayLike, shift: Any, axis: Axes | None = None) -> Tracer:
    """As `numpy.roll`; shifts may be traced."""
    value = as_value(a)
    if axis is None:
        return wrap(core.reshape(_roll(flat(value), shift, (0,)), value.type.shape))
    # Unlike elsewhere an axis may be named twice: its shifts add up.
    axes = axis if isinstance(axis, Iterable) else (axis,)
    return wrap(_roll(value, shift, [normalize_axis(a, value.type.rank) for a in axes]))


# --- helpers --------------------------------------------------------------------------------------


def _complete(given: ArrayType, target: Shape) -> Shape:
    """The shape with the one negative size replaced by what the number of elements leaves."""
    unknown = [i for i, size in enumerate(target) if isinstance(size, int) and size < 0]
    if not unknown:
        return target
    if len(unknown) > 1:
        raise ShapeError(
            f"shape {format_shape(target)} leaves more than one size open; only one can be -1"
        )
    known = dims.product([size for i, size in enumerate(target) if i != unknown[0]])
    if not dims.is_divisible(given.size, known):
        raise ShapeError(
            f"an array of shape {format_shape(given.shape)} does not reshape to "
            f"{format_shape(target)}: its {given.size} elements cannot be divided by {known}"
        )
    filled = dims.floor_divide(given.size, known)
    return tuple([filled if i == unknown[0] else size for i, size in enumerate(target)])


def _is_column_major(order: str) -> bool:
    if order not in ("C", "F"):
        raise trace_error(
            f"order={order!r} depends on how an array lies in memory, which a trace does not know; "
            'give "C" or "F"'
        )
    return order == "F"


def _reverse_axes(value: Value) -> Value:
    return core.transpose(value, range(value.type.rank)[::-1])


def _reverse(value: Value, axes: Sequence[int]) -> Value:
    return shape_ops.reverse(value, axes=axes) if axes else value


def _each(arrays: Sequence[ArrayLike], rank: int) -> Tracer | tuple[Tracer, ...]:
    raised = tuple([wrap(raise_rank(as_value(array), rank)) for array in arrays])
    return raised[0] if len(raised) == 1 else raised


def _roll(value: Value, shift: Any, axes: Sequence[int]) -> Value:
    shifts = _shifts(shift)
    if 1 not in (len(shifts), len(axes)) and len(shifts) != len(axes):
        raise ShapeError(f"there are {len(shifts)} shifts for {len(axes)} axes; give one per axis")
    count = max(len(shifts), len(axes))
    total: dict[int, Size] = {}
    for index, moved in enumerate(axes if len(axes) == count else [*axes] * count):
        step = shifts[index if len(shifts) == count else 0]
        if isinstance(step, Value):
            value = _roll_traced(value, step, moved)
        else:
            total[moved] = total.get(moved, 0) + step
    for moved, distance in total.items():
        value = _roll_axis(value, distance, moved)
    return value


def _shifts(shift: Any) -> list[Size | Value]:
    """The shifts one by one: sizes where they are known, values where they are traced."""
    if isinstance(shift, Tracer):
        value = core.lift(shift)
        return list(unstack_value(value)) if value.type.rank else [value]
    if isinstance(shift, np.ndarray):
        return [operator.index(item) for item in shift.ravel()]
    if isinstance(shift, list | tuple):
        return [one for item in shift for one in _shifts(item)]
    return [shift if isinstance(shift, Dim) else operator.index(shift)]


def _roll_axis(value: Value, distance: Size, axis: int) -> Value:
    size = value.type.shape[axis]
    if isinstance(size, int) and isinstance(distance, int):
        distance = distance % size if size else 0
    if distance == 0:
        return value
    for cut in (size - distance, -distance):
        if _is_not_negative(cut) and _is_not_negative(size - cut):
            return join([slice_axis(value, axis, cut, size), slice_axis(value, axis, 0, cut)], axis)
    return _roll_traced(value, size_value(distance, dtypes.i64), axis)


def _is_not_negative(size: Size) -> bool:
    least = dims.lower(size)
    return least is not None and least >= 0


def _roll_traced(value: Value, distance: Value, axis: int) -> Value:
    size = value.type.shape[axis]
    if size == 0:
        return value
    positions = sub(iota((size,), 0), cast(distance, dtypes.i64))
    wrapped = remainder(positions, size_value(size, dtypes.i64))
    return gather_axis(value, wrapped, axis, mode="clip")
