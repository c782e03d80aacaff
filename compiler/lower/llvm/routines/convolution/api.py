"""Convolution: by which strategy each is computed.

Convolutions with windows of one element are products of matrices as they stand. Those of real
floats call a function that is compiled once and serves all sizes (`entry`); all others
are written out for their dtype and rank (`panels`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from weft.compiler.ir import dims
from weft.compiler.ir.dims import Size
from weft.compiler.ir.graph import Op
from weft.compiler.ir.index.affine import row_major
from weft.compiler.lower.llvm.emit.arrays import (
    Array,
    Env,
    FusedConsumer,
    contiguous,
    dot,
    product,
    times,
)
from weft.compiler.lower.llvm.emit.function import Function, Operand
from weft.compiler.lower.llvm.emit.scratch import Scratch
from weft.compiler.lower.llvm.emit.types import PTR, VOID
from weft.compiler.lower.llvm.routines import Planned, Routine, ScratchOf
from weft.compiler.lower.llvm.routines.common import planning, rows, sizes
from weft.compiler.lower.llvm.routines.convolution import entry
from weft.compiler.lower.llvm.routines.convolution.geometry import Convolution
from weft.compiler.lower.llvm.routines.convolution.records import AXES
from weft.compiler.lower.llvm.routines.convolution.strategies.panels import PanelAxis, Panels
from weft.compiler.lower.llvm.routines.gemm import contraction
from weft.compiler.record import record


def _emit(f: Function, env: Env, op: Op, operands: list[Array], results: list[Array]) -> None:
    given = _grouped(f, env, op, operands, results[0])
    products = given.products(f)
    if products is not None:
        contraction.multiply_batch(f, env, *products, env.follower)
        return
    made = given.made
    if given.is_shared:
        _call(f, env, given)
        return
    Panels(f, env, given.input, given.filter, made, given.axes).emit()
    if env.follower is not None:
        planes, columns = [product(f, shape) for shape in (made.shape[:3], made.shape[3:])]
        parts = env.follower.parts
        each = sizes.floor_divide(f, columns, parts)
        rows.follow_at_once(f, env, env.follower, times(f, planes, parts), each)


@record
class _Grouped:
    """The input as [N, groups, channels, *spatial], the filters as [N, groups, outputs, channels,
    *spatial] (the same ones for all N), the result as [N, groups, outputs, *spatial].
    """

    input: Array
    filter: Array
    made: Array
    axes: Sequence[PanelAxis]

    @property
    def is_shared(self) -> bool:
        """Whether code that serves all sizes computes it, unless it is a product."""
        return self.made.dtype in entry.DTYPES and len(self.axes) <= AXES

    def products(self, f: Function) -> tuple[Array, Array, Array] | None:
        """Windows of one element: the products [outputs, channels] times [channels, points], if the
        points are known to lie behind each other.
        """
        if not _is_pointwise(f, self.axes):
            return None
        input, filter, made = self.input, self.filter, self.made
        shape, (strides,) = sizes.coalesced(made.shape[3:], [input.strides[3:]])
        if len(shape) > 1:
            return None
        # Such windows crop at most: the first one lies on element -low.
        starts = [sizes.minus(f, 0, axis.low) for axis in self.axes]
        cropped = input.moved(f, dot(f, starts, input.strides[3:])).pointer
        points = product(f, shape)
        steps = (*input.strides[:3], strides[0] if strides else 1)
        flat = Array(cropped, input.dtype, (*input.shape[:3], points), steps)
        matrix = Array(filter.pointer, filter.dtype, filter.shape[:4], filter.strides[:4])
        return matrix, flat, contiguous(f, made.pointer, made.dtype, (*made.shape[:3], points))


def _axes(env: Env, op: Op, lhs: Array, rhs: Array, result: Array) -> list[PanelAxis]:
    attributes = op.attributes
    return [
        PanelAxis(size, taps, count, env.size(low), stride, base, dilation)
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


def _grouped(f: Function, env: Env, op: Op, operands: list[Array], result: Array) -> _Grouped:
    lhs, rhs = operands
    axes = _axes(env, op, lhs, rhs, result)
    if not axes:
        lhs, rhs, result = [_one_more_axis(array) for array in (lhs, rhs, result)]
        axes = [_NO_AXIS]
    groups = env.size(op.attributes["groups"])
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
    made = contiguous(f, result.pointer, result.dtype, shape)
    return _Grouped(input, filter, made, axes)


def _is_pointwise(f: Function, axes: Sequence[PanelAxis]) -> bool:
    return all(
        sizes.is_known(axis.taps) and axis.taps == 1 and axis.stride == 1 and axis.is_plain(f)
        for axis in axes
    )


# --- windows of real floats ---------------------------------------------------------------------


def _call(f: Function, env: Env, given: _Grouped) -> None:
    """Call the function for all sizes, with what it is to know."""
    input, filter, made, axes = given.input, given.filter, given.made, given.axes
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
    follower = env.follower or FusedConsumer(f.const(0, PTR), f.const(0, PTR))
    f.store(follower.task, record.at(Convolution.task.position))
    f.store(follower.data, record.at(Convolution.data.position))
    record.parts = follower.parts
    missing = AXES - len(axes)
    for number in range(missing):
        _set_axis(record, number, _NO_AXIS, (0, 0, made.strides[2]))
    for index, axis in enumerate(axes):
        strides = (input.strides[3 + index], filter.strides[4 + index], made.strides[3 + index])
        _set_axis(record, missing + index, axis, strides)
    pointers = [env.run, input.pointer, filter.pointer, made.pointer, record.pointer]
    pointers.append((env.scratch or Scratch.none(f)).record)
    f.call(entry.symbol(made.dtype), VOID, pointers)


def _set_axis(
    record: Convolution, number: int, axis: PanelAxis, strides: tuple[Operand, Operand, Operand]
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


_NO_AXIS: Final = PanelAxis(1, 1, 1, 0, 1, 1, 1)


# --- planning -----------------------------------------------------------------------------------


def _scratch(call: Planned) -> Size:
    """What products take; what the function for all sizes says at run time; what panels do."""
    op, f = call.op, planning.nowhere()
    (made,) = op.results
    operands = [
        planning.seen(value.type, strides)
        for value, strides in zip(op.operands, call.strides, strict=True)
    ]
    env = planning.no_env(f)
    result = planning.seen(made.type, row_major(made.type.shape))
    given = _grouped(f, env, op, operands, result)
    products = given.products(f)
    if products is not None:
        return contraction.batch_bytes(call, _planned_batch(op, *products[:2]), *products)
    if given.is_shared:
        return call.measured
    return Panels(f, env, given.input, given.filter, given.made, given.axes).bytes(call.threads)


def _planned_batch(op: Op, lhs: Array, rhs: Array) -> contraction.PlannedBatch:
    images, groups = op.operands[0].type.shape[0], op.attributes["groups"]
    outputs, channels = op.operands[1].type.shape[:2]
    points = dims.product(op.results[0].type.shape[2:])
    per_group = dims.floor_divide(outputs, groups)
    batch, steps = (images, groups), [_known_strides(matrix) for matrix in (lhs, rhs)]
    return contraction.PlannedBatch(batch, per_group, points, channels, steps[0], steps[1])


def _known_strides(matrix: Array) -> tuple[Size, Size] | None:
    down, across = matrix.strides[-2:]
    return (down, across) if sizes.is_known(down) and sizes.is_known(across) else None


ROUTINES: Final[Mapping[str, Routine]] = {"convolution": _emit}
SCRATCH: Final[Mapping[str, ScratchOf]] = {"convolution": _scratch}
