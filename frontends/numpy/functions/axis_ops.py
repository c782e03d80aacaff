"""Cutting values along an axis and joining them: what joining, padding and selecting consist of.

These work on graph values, with non-negative axes and sizes that may be symbolic. What users call
is in the modules beside this one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from weft.compiler.ir import dtypes
from weft.compiler.ir.dims import Dim, Size
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.errors import ShapeError
from weft.compiler.ir.graph import Constant, Result, Value
from weft.compiler.ir.types import Shape, format_shape
from weft.compiler.ops import indexing
from weft.compiler.ops import shape as shape_ops
from weft.frontends.tracing.core import cast, lift, reshape, trace_error, transpose
from weft.frontends.tracing.trace import ArrayLike, Tracer, type_of_operand

Positions = np.ndarray[Any, np.dtype[np.int64]]

# So many slices are joined where a gather would do as well: slices are views, indices cost memory.
_FEW: Final = 3


def as_value(operand: ArrayLike, dtype: DType | None = None) -> Value:
    """The value of anything array-like; nested lists that hold traced values are stacked."""
    if not isinstance(operand, list | tuple):
        return lift(operand, dtype)
    leaves = list(_leaves(operand))
    if not any(isinstance(leaf, Tracer | Dim) for leaf in leaves):
        return lift(operand, dtype)
    if dtype is None:
        dtype = dtypes.promote(*{type_of_operand(leaf).dtype for leaf in leaves})
    return _stack_nested(operand, dtype)


def static_array(operand: ArrayLike) -> np.ndarray[Any, Any] | None:
    """The array if it is known while tracing, else None."""
    value = as_value(operand)
    return value.array if isinstance(value, Constant) else None


def slice_axis(value: Value, axis: int, start: Size, limit: Size, stride: int = 1) -> Value:
    """The elements from `start` to below `limit` of one axis."""
    sizes = value.type.shape
    if (start, limit, stride) == (0, sizes[axis], 1):
        return value
    return shape_ops.slice_(
        value,
        starts=[start if a == axis else 0 for a in range(len(sizes))],
        limits=[limit if a == axis else size for a, size in enumerate(sizes)],
        strides=[stride if a == axis else 1 for a in range(len(sizes))],
    )


def join(values: Sequence[Value], axis: int) -> Value:
    """Values of one dtype one after the other along an axis; rows of one array that follow each
    other are that array, or a slice of it.
    """
    parts = _joined_rows(values, axis) if len(values) > 1 else values
    return parts[0] if len(parts) == 1 else shape_ops.concatenate(*parts, axis=axis)


def flat(value: Value) -> Value:
    """The elements in row-major order along one axis; what is known stays known."""
    if isinstance(value, Constant):
        return Constant(value.array.reshape(-1), value.location)
    return reshape(value, (value.type.size,))


def with_axis(value: Value, axis: int, size: Size = 1) -> Value:
    """The value with a further axis, along which it repeats."""
    sizes = value.type.shape
    target = (*sizes[:axis], size, *sizes[axis:])
    if size == 1:
        return reshape(value, target)
    kept = [a for a in range(len(target)) if a != axis]
    return shape_ops.broadcast(value, shape=target, dims=kept)


def without_axis(value: Value, axis: int) -> Value:
    """The value without an axis of size 1."""
    sizes = value.type.shape
    return reshape(value, (*sizes[:axis], *sizes[axis + 1 :]))


def stack_values(values: Sequence[Value], axis: int) -> Value:
    """Values of one type joined along a new axis."""
    first = values[0].type.shape
    for value in values:
        if value.type.shape != first:
            raise ShapeError(
                f"arrays of shapes {format_shape(first)} and {format_shape(value.type.shape)} do "
                "not stack; all must have one shape"
            )
    return join([with_axis(value, axis) for value in values], axis)


def unstack_value(value: Value, axis: int = 0) -> list[Value]:
    """The slices along an axis, whose size must be known."""
    count = value.type.shape[axis] if value.type.rank else None
    if count is None:
        raise ShapeError("an array of rank 0 has no axis to take apart")
    if not isinstance(count, int):
        raise trace_error(
            f"axis {axis} of {value.type} has a symbolic size, so the number of slices along it is "
            "not known; use an operation on the whole array, or loop with weft.scan"
        )
    return [without_axis(slice_axis(value, axis, i, i + 1), axis) for i in range(count)]


def gather_axis(value: Value, index: Value, axis: int, mode: str = "raise") -> Value:
    """The elements of one axis at integer indices, whose own axes take its place."""
    gathered = indexing.gather(value, index, axes=(axis,), mode=mode)
    rank = index.type.rank
    kept = list(range(rank, gathered.type.rank))
    return transpose(gathered, [*kept[:axis], *range(rank), *kept[axis:]])


def checked(index: Value, size: Size, *, from_end: bool = False) -> Value:
    """Integer indices as i64 from 0 on; one outside of an axis of this size is an error when the
    program runs. Negative ones are outside, or count `from_end`.
    """
    places = cast(index, dtypes.i64)
    if not from_end:
        places = cast(places, dtypes.u64)  # negative ones become huge
    return gather_axis(iota((size,), 0), places, 0)


def pick(value: Value, positions: Positions, axis: int) -> Value:
    """The elements of one axis at positions known now: slices where a few do, else a gather."""
    count = len(positions)
    steps = np.diff(positions)
    if not count:
        return slice_axis(value, axis, 0, 0)
    if count == 1 or (steps[0] > 0 and np.all(steps == steps[0])):
        stride = int(steps[0]) if count > 1 else 1
        return slice_axis(value, axis, int(positions[0]), int(positions[-1]) + 1, stride)
    runs = np.split(positions, np.flatnonzero(steps != 1) + 1)
    if len(runs) <= _FEW:
        return join([slice_axis(value, axis, int(r[0]), int(r[-1]) + 1) for r in runs], axis)
    return gather_axis(value, Constant(positions), axis)


def iota(sizes: Shape, axis: int, dtype: DType = dtypes.i64) -> Value:
    """Each element's index along an axis."""
    return shape_ops.iota(dtype=dtype, shape=sizes, axis=axis)


@dataclass(frozen=True)
class _Row:
    """One place of one axis of an array, in any shape."""

    array: Value
    axis: int
    place: int

    def is_before(self, other: _Row | None) -> bool:
        return (
            other is not None
            and self.array is other.array
            and (self.axis, self.place + 1) == (other.axis, other.place)
        )


def _row_of(value: Value) -> _Row | None:
    """Of which array a value is a row, as indexing and unstacking give them; None if of none."""
    while isinstance(value, Result) and value.op.definition is shape_ops.reshape:
        value = value.op.operands[0]
    if not isinstance(value, Result) or value.op.definition is not shape_ops.slice_:
        return None
    (array,), attributes = value.op.operands, value.op.attributes
    if any(stride != 1 for stride in attributes["strides"]):
        return None
    spans = zip(attributes["starts"], attributes["limits"], array.type.shape, strict=True)
    cuts = [(n, a, b) for n, (a, b, size) in enumerate(spans) if (a, b) != (0, size)]
    if len(cuts) != 1:
        return None
    ((axis, start, limit),) = cuts
    return _Row(array, axis, start) if isinstance(start, int) and limit == start + 1 else None


def _joined_rows(values: Sequence[Value], axis: int) -> list[Value]:
    """The values with rows of one array that follow each other as one; a loop leaves thousands of
    them in a list, and each would be an operand, a kernel, and a gradient of its own.
    """
    rows = [_row_of(value) for value in values]
    parts: list[Value] = []
    start = 0
    for end in range(1, len(values) + 1):
        row = rows[end - 1]
        if (
            end < len(values)
            and row is not None
            and row.is_before(rows[end])
            and values[end].type == values[start].type
        ):
            continue
        first = rows[start] if end - start > 1 else None
        run = values[start:end]
        parts.append(run[0] if first is None else _row_block(first, run, axis))
        start = end
    return parts


def _row_block(first: _Row, values: Sequence[Value], axis: int) -> Value:
    """Rows of one array that follow each other, joined along an axis."""
    count, sizes = len(values), values[0].type.shape
    block = slice_axis(first.array, first.axis, first.place, first.place + count)
    others = [a for a in range(block.type.rank) if a != first.axis]
    block = reshape(transpose(block, [first.axis, *others]), (count, *sizes))
    order = [*range(1, axis + 1), 0, *range(axis + 1, block.type.rank)]
    return reshape(
        transpose(block, order), (*sizes[:axis], sizes[axis] * count, *sizes[axis + 1 :])
    )


def _stack_nested(operand: Any, dtype: DType) -> Value:
    if not isinstance(operand, list | tuple):
        return lift(operand, dtype)
    if not operand:
        return Constant(np.zeros(0, dtype.numpy))
    return stack_values([_stack_nested(item, dtype) for item in operand], 0)


def _leaves(nested: Sequence[Any]) -> Iterator[Any]:
    """What nested lists and tuples hold."""
    stack: list[Any] = [nested]
    while stack:
        item = stack.pop()
        if isinstance(item, list | tuple):
            stack.extend(item)
        else:
            yield item
