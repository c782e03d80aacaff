"""Reductions over sliding windows, which are what pooling is made of, and how windows slide.

A base array is dilated (holes between its elements), then padded (a negative amount crops), and a
window, itself dilated, moves over it in strides. Holes and padding hold the identity element of the
reduction, so they never change a result.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from weft.compiler.ir import dims, dtypes
from weft.compiler.ir.attributes import INTS, PAIRS, Choice
from weft.compiler.ir.dims import Size
from weft.compiler.ir.errors import ShapeError
from weft.compiler.ir.graph import Op, Value
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ir.rules import Maybe
from weft.compiler.ir.types import ArrayType, Shape
from weft.compiler.ops import arithmetic, cumulative, helpers, indexing, positions, reduction, shape
from weft.compiler.ops.common import NUMBER, ORDERED, require_kind
from weft.compiler.ops.precision import Array, widen

Ints: TypeAlias = tuple[int, ...]
Number: TypeAlias = bool | int | float


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """How windows lie over the last axes of an array: one entry of each field per axis."""

    window: tuple[Size, ...]
    strides: Ints
    padding: tuple[tuple[Size, ...], ...]
    base_dilation: Ints
    window_dilation: Ints

    def counts(self, sizes: Sequence[Size]) -> Shape:
        """How many windows lie on each axis; none where the window is longer than the axis."""
        axes = zip(sizes, self.base_dilation, self.padding, strict=True)
        lengths = [dilated(size, step) + low + high for size, step, (low, high) in axes]
        return tuple(
            dims.maximum((length - extent) // stride + 1, 0)
            for length, extent, stride in zip(lengths, self.extents(), self.strides, strict=True)
        )

    def extents(self) -> Shape:
        """The sizes of the dilated window."""
        axes = zip(self.window, self.window_dilation, strict=True)
        return tuple(dilated(size, step) for size, step in axes)

    def adjoint(self, sizes: Sequence[Size]) -> Windows:
        """The windows over what these make from a base of `sizes` that lead back to the base.

        Base element i is tap j of window p where low + i*base_dilation = p*stride + j*dilation; so
        with the taps counted from the other end the windows have strides and dilation exchanged.
        """
        counts, extents = self.counts(sizes), self.extents()
        low = [extent - 1 - low for extent, (low, _) in zip(extents, self.padding, strict=True)]
        axes = zip(sizes, self.base_dilation, counts, self.strides, self.padding, strict=True)
        high = [
            (size - 1) * base + 1 + low - dilated(count, stride)
            for size, base, count, stride, (low, _) in axes
        ]
        return Windows(
            window=self.window,
            strides=self.base_dilation,
            padding=tuple(zip(low, high, strict=True)),
            base_dilation=self.strides,
            window_dilation=self.window_dilation,
        )

    def over_taps(self, sizes: Sequence[Size]) -> Windows:
        """The windows over a base of `sizes` with a tap for each position of these, and a position
        for each tap.

        The padding follows from that, whether or not the strides of these come out even.
        """
        counts = self.counts(sizes)
        axes = zip(self.window, self.window_dilation, counts, self.strides, strict=True)
        lengths = [(taps - 1) * step + dilated(count, stride) for taps, step, count, stride in axes]
        bases = zip(sizes, self.base_dilation, self.padding, strict=True)
        dilated_bases = [(dilated(size, step), low) for size, step, (low, _) in bases]
        return Windows(
            window=counts,
            strides=self.window_dilation,
            padding=tuple(
                [
                    (low, n - base - low)
                    for n, (base, low) in zip(lengths, dilated_bases, strict=True)
                ]
            ),
            base_dilation=self.base_dilation,
            window_dilation=self.strides,
        )

    def slide(self, array: Array, fill: Number) -> Array:
        """All windows over the last axes, as an array of axes leading, positions, window."""
        first = array.ndim - len(self.window)
        counts = self.counts(array.shape[first:])
        if 0 in counts or 0 in self.window:
            return np.empty(array.shape[:first] + counts + self.window, array.dtype)
        whole = (0,) * first
        base: Array = shape.pad.reference(
            array,
            fill,
            low=whole + tuple(low for low, _ in self.padding),
            high=whole + tuple(high for _, high in self.padding),
            interior=whole + tuple(step - 1 for step in self.base_dilation),
        )
        extents: Any = self.extents()  # ints here, as a reference gets them
        windows = sliding_window_view(base, extents, _axes_from(first, base))
        steps = (1,) * first + self.strides + self.window_dilation
        return windows[tuple(slice(None, None, step) for step in steps)]


def require_entries(rank: int, *, padding: Sequence[Sequence[Size]], **positive: Ints) -> None:
    """One pair of padding and one positive number of each other attribute per axis."""
    for name, entries in {"padding": padding, **positive}.items():
        if len(entries) != rank:
            raise ShapeError(f"{name} has {len(entries)} entries, expected one per axis: {rank}")
    for name, numbers in positive.items():
        if any(number < 1 for number in numbers):
            raise ShapeError(f"{name} must be 1 or more, got {numbers}")
    for pair in padding:
        if len(pair) != 2:
            raise ShapeError(f"padding is a pair (low, high) per axis, got {pair}")


def dilated(size: Size, step: int) -> Size:
    """The size of an axis once its elements lie `step` apart; an empty axis stays empty."""
    return size if step == 1 else dims.maximum((size - 1) * step + 1, 0)


_COMBINE: Final = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}
_KINDS: Final = {"sum": NUMBER, "prod": NUMBER, "max": ORDERED, "min": ORDERED}


def identity(kind: str, dtype: np.dtype[Any]) -> Number:
    """What leaves every number as it is under the reduction, in a dtype that NumPy knows."""
    if kind in ("sum", "prod"):
        return 0 if kind == "sum" else 1
    if dtype.kind == "b":
        return kind == "min"
    if dtype.kind == "f":
        return -math.inf if kind == "max" else math.inf
    return int(np.iinfo(dtype).min if kind == "max" else np.iinfo(dtype).max)


def _infer_reduce_window(x: ArrayType, *, kind: str, **attributes: Any) -> ArrayType:
    require_kind(x, _KINDS[kind], "x")
    require_entries(x.rank, **attributes)
    return x.with_shape(Windows(**attributes).counts(x.shape))


def _reference_reduce_window(x: Array, *, kind: str, **attributes: Any) -> Any:
    x = widen(x)
    windows = Windows(**attributes).slide(x, identity(kind, x.dtype))
    return _COMBINE[kind].reduce(windows, axis=_axes_from(x.ndim, windows), dtype=x.dtype)


def _infer_window_argmax(x: ArrayType, **attributes: Any) -> ArrayType:
    require_kind(x, _KINDS["max"], "x")
    require_entries(x.rank, **attributes)
    return ArrayType(dtypes.i64, Windows(**attributes).counts(x.shape))


def _reference_window_argmax(x: Array, **attributes: Any) -> Array:
    windows = Windows(**attributes)
    x = widen(x)
    candidates = windows.slide(x, identity("max", x.dtype))
    indices = windows.slide(np.arange(x.size).reshape(x.shape), x.size)
    greatest = np.maximum.reduce(candidates, axis=_axes_from(x.ndim, candidates), keepdims=True)
    is_greatest = (candidates == greatest) | (candidates != candidates)
    # Padding has the greatest index, so the least one among the winners is a real element, if any.
    winners = np.where(is_greatest, indices, x.size)
    first: Array = winners.min(axis=_axes_from(x.ndim, winners))
    return first


def _axes_from(first: int, array: Array) -> Ints:
    return tuple(range(first, array.ndim))


# --- rules --------------------------------------------------------------------------------------


def _reduce_window_jvp(op: Op, tangents: Sequence[Maybe]) -> Maybe:
    """An extreme moves as the first element that reaches it does."""
    (tangent,), (x,) = tangents, op.operands
    assert tangent is not None
    kind, windows = _split_attributes(op)
    if kind == "sum":
        return reduce_window(tangent, **op.attributes)
    if kind == "prod":
        return _product_tangent(op, tangent, Windows(**windows))
    first = window_argmax(x if kind == "max" else arithmetic.neg(x), **windows)
    lead = _untouched(x.type.rank, Windows(**windows))
    plane = dims.product(x.type.shape[lead:])
    if not lead or not isinstance(plane, int):
        flat = helpers.reshape(tangent, (x.type.size,))
        return indexing.gather(flat, first, axes=(0,), mode="fill")
    # Plane by plane, which tells that sums in the other direction do not meet.
    planes, count = dims.product(x.type.shape[:lead]), dims.product(first.type.shape[lead:])
    rows = helpers.reshape(first, (planes, count))
    numbers = shape.iota(dtype=first.type.dtype, shape=(planes, count), axis=0)
    inside = arithmetic.sub(rows, helpers.scale(numbers, plane))
    moved = helpers.reshape(tangent, (planes, plane))
    gathered = indexing.gather(moved, inside, axes=(1,), batch_dims=1, mode="fill")
    return helpers.reshape(gathered, first.type.shape)


def _untouched(rank: int, windows: Windows) -> int:
    """How many first axes windows have one element of."""
    lead = rank - len(windows.window)
    fields = (windows.window, windows.strides, windows.padding, windows.base_dilation)
    for entry in zip(*fields, strict=True):
        if entry != (1, 1, (0, 0), 1):
            break
        lead += 1
    return lead


def _split_attributes(op: Op) -> tuple[str, dict[str, Any]]:
    windows = dict(op.attributes)
    return windows.pop("kind"), windows


def _product_tangent(op: Op, tangent: Value, windows: Windows) -> Maybe:
    """Each tangent times all others in its window, summed over the window."""
    (x,), counts, rank = op.operands, op.result.type.shape, tangent.type.rank
    if rank == 0 or 0 in counts:
        return tangent if rank == 0 else None
    rows = (*counts, dims.product(windows.window))
    factors = helpers.reshape(_all_windows(x, 1, windows), rows)
    moves = helpers.reshape(_all_windows(tangent, 0, windows), rows)
    before, after = [
        cumulative.exclusive_product(factors, axis=rank, reverse=reverse)
        for reverse in (False, True)
    ]
    others = arithmetic.mul(before, after)
    return reduction.reduce_sum(arithmetic.mul(moves, others), axes=(rank,))


def _all_windows(x: Value, fill: int, windows: Windows) -> Value:
    """What a reference gets from `Windows.slide`: axes of positions, then axes of the window."""
    low, high = zip(*windows.padding, strict=True)
    holes = [step - 1 for step in windows.base_dilation]
    base = shape.pad(x, helpers.number(fill, x), low=low, high=high, interior=holes)
    rank, target = x.type.rank, (*windows.counts(x.type.shape), *windows.window)
    indices = [
        arithmetic.add(
            _multiples(windows.strides[axis], target, axis),
            _multiples(windows.window_dilation[axis], target, rank + axis),
        )
        for axis in range(rank)
    ]
    return indexing.gather(base, *indices, axes=range(rank), mode="clip")


def _multiples(step: int, target: Shape, axis: int) -> Value:
    """The index along an axis, times a step."""
    count = shape.iota(dtype=dtypes.i64, shape=target, axis=axis)
    return count if step == 1 else arithmetic.mul(count, helpers.number(step, count))


def _reduce_window_transpose(
    op: Op, cotangents: Sequence[Maybe], linear: Sequence[bool]
) -> list[Maybe]:
    """Each element gets the sum of the cotangents of the windows that it lies in."""
    cotangent, (x,) = helpers.only(cotangents), op.operands
    _, windows = _split_attributes(op)
    back = Windows(**windows).adjoint(x.type.shape)
    return [reduce_window(cotangent, kind="sum", **asdict(back))]


def _reduce_window_batch(
    op: Op, operands: Sequence[Value], batched: Sequence[bool], size: Size
) -> Value:
    kind, windows = _split_attributes(op)
    return reduce_window(*operands, kind=kind, **_one_more_axis(windows))


def _window_argmax_batch(
    op: Op, operands: Sequence[Value], batched: Sequence[bool], size: Size
) -> Value:
    """Indices into the whole batch, brought back to one element of it; padding stays the last."""
    indices = window_argmax(*operands, **_one_more_axis(op.attributes))
    count = positions.size_value(op.operands[0].type.size)
    element = shape.iota(dtype=dtypes.i64, shape=indices.type.shape, axis=0)
    inside = arithmetic.sub(indices, arithmetic.mul(element, count))
    return arithmetic.minimum(inside, count)


def _one_more_axis(windows: Mapping[str, Any]) -> dict[str, Any]:
    """Windows that leave a new first axis as it is."""
    return {
        name: ((0, 0) if name == "padding" else 1, *entries) for name, entries in windows.items()
    }


_WINDOW_ATTRIBUTES: Final = {
    "window": INTS,
    "strides": INTS,
    "padding": PAIRS,
    "base_dilation": INTS,
    "window_dilation": INTS,
}

# What each attribute is along an axis over which windows do not slide.
_STILL: Final = {
    "window": 1,
    "strides": 1,
    "padding": (0, 0),
    "base_dilation": 1,
    "window_dilation": 1,
}


def _is_row_local(op: Op, axes: int) -> bool:
    return all(
        all(entry == still for entry in op.attributes[name][:axes])
        for name, still in _STILL.items()
    )


reduce_window = OpDef(
    name="reduce_window",
    doc="The sum, product, maximum or minimum of each window over all axes; NaN wins.",
    operands=("x",),
    attributes={"kind": Choice(tuple(_COMBINE)), **_WINDOW_ATTRIBUTES},
    infer=_infer_reduce_window,
    reference=_reference_reduce_window,
    jvp=_reduce_window_jvp,
    transpose=_reduce_window_transpose,
    batch=_reduce_window_batch,
    is_row_local=_is_row_local,
)

window_argmax = OpDef(
    name="window_argmax",
    doc="The row-major index into x of each window's maximum: the first of equal ones, NaN before "
    "numbers, padding never; the number of elements of x for a window of padding only.",
    operands=("x",),
    attributes=_WINDOW_ATTRIBUTES,
    infer=_infer_window_argmax,
    reference=_reference_window_argmax,
    batch=_window_argmax_batch,
    is_row_local=_is_row_local,
)


def select_and_scatter(operand: Value, source: Value, **windows: object) -> Value:
    """Emit zeros in operand's shape plus each element of `source` where its window has its maximum.

    The gradient of max pooling. `windows` are the attributes of `window_argmax`, and `source` has
    the shape of its result; an element whose window holds padding only goes nowhere.
    """
    first = window_argmax(operand, **windows)
    zeros = helpers.zeros(source.type.with_shape((operand.type.size,)))
    sums = indexing.scatter(zeros, source, first, axes=(0,), mode="fill", kind="add")
    return helpers.reshape(sums, operand.type.shape)


OPS: Final = (reduce_window, window_argmax)
