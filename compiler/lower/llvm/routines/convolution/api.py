"""Convolution: by which strategy each is computed.

Convolutions with windows of one element are products of matrices as they stand. Those of real
floats call a function that is compiled once and serves all sizes (`entry`); all others
are written out for their dtype and rank (`panels`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from weft.compiler.ir.graph import Op
from weft.compiler.lower.llvm.emit.arrays import (
    Array,
    Env,
    Follower,
    contiguous,
    dot,
    product,
    times,
)
from weft.compiler.lower.llvm.emit.function import Function, Operand
from weft.compiler.lower.llvm.emit.types import PTR, VOID
from weft.compiler.lower.llvm.routines import Routine
from weft.compiler.lower.llvm.routines.common import rows, sizes
from weft.compiler.lower.llvm.routines.convolution import entry
from weft.compiler.lower.llvm.routines.convolution.geometry import Convolution
from weft.compiler.lower.llvm.routines.convolution.records import AXES
from weft.compiler.lower.llvm.routines.convolution.strategies.panels import Axis, Panels
from weft.compiler.lower.llvm.routines.gemm import contraction


def _emit(f: Function, env: Env, op: Op, operands: list[Array], results: list[Array]) -> None:
    lhs, rhs, result = *operands, results[0]
    axes = _axes(env, op, lhs, rhs, result)
    if not axes:
        lhs, rhs, result = [_one_more_axis(array) for array in (lhs, rhs, result)]
        axes = [Axis(1, 1, 1, 0, 1, 1, 1)]
    groups = env.size(op.attributes["groups"])
    input, filter, made = _grouped(f, lhs, rhs, result, groups)
    if _is_pointwise(f, axes):
        # Such windows crop at most: the first one lies on element -low.
        starts = [sizes.minus(f, 0, axis.low) for axis in axes]
        cropped = input.moved(f, dot(f, starts, input.strides[3:]))
        if _multiply_points(f, env, cropped, filter, made):
            return
    if result.dtype in entry.DTYPES and len(axes) <= AXES:
        _call(f, env, input, filter, made, axes)
        return
    Panels(f, env, input, filter, made, axes).emit()
    if env.follower is not None:
        planes, columns = [product(f, shape) for shape in (made.shape[:3], made.shape[3:])]
        parts = env.follower.parts
        each = sizes.floor_divide(f, columns, parts)
        rows.follow_at_once(f, env, env.follower, times(f, planes, parts), each)


def _axes(env: Env, op: Op, lhs: Array, rhs: Array, result: Array) -> list[Axis]:
    attributes = op.attributes
    return [
        Axis(size, taps, count, env.size(low), stride, base, dilation)
        for size, taps, count, (low, _), stride, base, dilation in zip(
            lhs.shape[2:],
            rhs.shape[2:],
            result.shape[2:],
            attributes["padding"],
            attributes["strides"],
            attributes["lhs_dilation"],
            attributes["rhs_dilation"],
            strict=True,
        )
    ]


def _one_more_axis(array: Array) -> Array:
    return Array(array.pointer, array.dtype, (*array.shape, 1), (*array.strides, 1))


def _grouped(
    f: Function, lhs: Array, rhs: Array, result: Array, groups: Operand
) -> tuple[Array, Array, Array]:
    """The input as [N, groups, channels, *spatial], the filters as [N, groups, outputs, channels,
    *spatial] (the same ones for all N), the result as [N, groups, outputs, *spatial].
    """
    channels, outputs = rhs.shape[1], sizes.floor_divide(f, rhs.shape[0], groups)
    per_group = times(f, lhs.strides[1], channels)
    input = Array(
        lhs.pointer,
        lhs.dtype,
        (lhs.shape[0], groups, channels, *lhs.shape[2:]),
        (lhs.strides[0], per_group, *lhs.strides[1:]),
    )
    filter = Array(
        rhs.pointer,
        rhs.dtype,
        (lhs.shape[0], groups, outputs, *rhs.shape[1:]),
        (0, times(f, rhs.strides[0], outputs), *rhs.strides),
    )
    shape = (lhs.shape[0], groups, outputs, *result.shape[2:])
    return input, filter, contiguous(f, result.pointer, result.dtype, shape)


# --- windows of one element ---------------------------------------------------------------------


def _is_pointwise(f: Function, axes: Sequence[Axis]) -> bool:
    return all(
        sizes.is_known(axis.taps) and axis.taps == 1 and axis.stride == 1 and axis.is_plain(f)
        for axis in axes
    )


def _multiply_points(f: Function, env: Env, input: Array, filter: Array, made: Array) -> bool:
    """The products [outputs, channels] times [channels, points], if the points are known to lie
    behind each other; whether they were.
    """
    shape, (strides,) = sizes.coalesced(made.shape[3:], [input.strides[3:]])
    if len(shape) > 1:
        return False
    points = product(f, shape)
    step = strides[0] if strides else 1
    flat = Array(input.pointer, input.dtype, (*input.shape[:3], points), (*input.strides[:3], step))
    matrix = Array(filter.pointer, filter.dtype, filter.shape[:4], filter.strides[:4])
    target = contiguous(f, made.pointer, made.dtype, (*made.shape[:3], points))
    contraction.multiply_batch(f, env, matrix, flat, target, env.follower)
    return True


# --- windows of real floats ---------------------------------------------------------------------


def _call(
    f: Function, env: Env, input: Array, filter: Array, made: Array, axes: Sequence[Axis]
) -> None:
    """Call the function for all sizes, with what it is to know."""
    record = Convolution(f)
    record.images = made.shape[0]
    record.groups = made.shape[1]
    record.channels = input.shape[2]
    record.out_channels = made.shape[2]
    record.input_image = input.strides[0]
    record.input_channel = input.strides[2]
    record.filter_out_channel = filter.strides[2]
    record.filter_channel = filter.strides[3]
    record.result_image = times(f, made.strides[0], 1)
    record.result_channel = made.strides[2]
    follower = env.follower or Follower(f.const(0, PTR), f.const(0, PTR))
    f.store(follower.task, record.at(Convolution.task.position))
    f.store(follower.data, record.at(Convolution.data.position))
    record.parts = follower.parts
    missing = AXES - len(axes)
    for number in range(missing):
        _set_axis(record, number, _NO_AXIS, (0, 0, made.strides[2]))
    for place, axis in enumerate(axes):
        strides = (input.strides[3 + place], filter.strides[4 + place], made.strides[3 + place])
        _set_axis(record, missing + place, axis, strides)
    pointers = [env.run, input.pointer, filter.pointer, made.pointer, record.pointer]
    f.call(entry.symbol(made.dtype), VOID, pointers)


def _set_axis(
    record: Convolution, number: int, axis: Axis, strides: tuple[Operand, Operand, Operand]
) -> None:
    """Fill in an axis; the strides are those of the three arrays along it."""
    record.input_size[number] = axis.size
    record.taps[number] = axis.taps
    record.out_positions[number] = axis.count
    record.padding[number] = axis.low
    record.stride[number] = axis.stride
    record.input_dilation[number] = axis.base_dilation
    record.dilation[number] = axis.dilation
    record.input_stride[number] = strides[0]
    record.filter_stride[number] = strides[1]
    record.result_stride[number] = strides[2]
    record.phases[number] = axis.base_dilation // math.gcd(axis.stride, axis.base_dilation)
    record.tap_step[number] = axis.base_dilation // math.gcd(axis.dilation, axis.base_dilation)


_NO_AXIS: Final = Axis(1, 1, 1, 0, 1, 1, 1)


ROUTINES: Final[Mapping[str, Routine]] = {"convolution": _emit}
