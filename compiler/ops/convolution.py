"""Convolution as networks mean it: [N, C, *spatial] cross-correlated with [O, C/groups, *spatial].

One op with both dilations and signed padding is closed under its own derivatives: the gradient of
either operand, and so a transposed convolution, is again this op on permuted and flipped axes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np

from weft.compiler.ir import dims
from weft.compiler.ir.attributes import INTS, PAIRS, SIZE
from weft.compiler.ir.dims import Size
from weft.compiler.ir.errors import ShapeError
from weft.compiler.ir.graph import Op, Value
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ir.rules import Maybe
from weft.compiler.ir.types import ArrayType, Shape
from weft.compiler.ops import helpers, shape
from weft.compiler.ops.common import NUMBER, require_equal, require_kind, require_rank, same_dtype
from weft.compiler.ops.convolution_planes import PLANES, plane_shape
from weft.compiler.ops.precision import Array, widen
from weft.compiler.ops.window import Ints, Windows, require_entries

Pairs: TypeAlias = tuple[tuple[Size, ...], ...]


def _infer(
    lhs: ArrayType,
    rhs: ArrayType,
    *,
    strides: Ints,
    padding: Pairs,
    lhs_dilation: Ints,
    rhs_dilation: Ints,
    groups: Size,
) -> ArrayType:
    dtype = same_dtype((lhs, rhs))
    require_kind(lhs, NUMBER, "lhs")
    require_rank(lhs, 2, "lhs [N, C, *spatial]")
    if rhs.rank != lhs.rank:
        raise ShapeError(f"lhs has rank {lhs.rank} and rhs {rhs.rank}; both have 2 + spatial axes")
    _require_groups(lhs.shape[1], rhs.shape[0], rhs.shape[1], groups)
    require_entries(
        lhs.rank - 2,
        strides=strides,
        padding=padding,
        lhs_dilation=lhs_dilation,
        rhs_dilation=rhs_dilation,
    )
    windows = Windows(
        window=rhs.shape[2:],
        strides=strides,
        padding=padding,
        base_dilation=lhs_dilation,
        window_dilation=rhs_dilation,
    )
    return ArrayType(dtype, (lhs.shape[0], rhs.shape[0], *windows.counts(lhs.shape[2:])))


def _require_groups(lhs_channels: Size, outputs: Size, rhs_channels: Size, groups: Size) -> None:
    most = dims.upper(groups)
    if most is not None and most < 1:
        raise ShapeError(f"groups must be 1 or more, got {groups}")
    if not dims.is_divisible(outputs, groups):
        raise ShapeError(f"the {outputs} outputs of rhs do not divide into {groups} groups")
    require_equal(lhs_channels, rhs_channels * groups, "channels of lhs and of rhs times groups")


def _reference(
    lhs: Array,
    rhs: Array,
    *,
    strides: Ints,
    padding: Pairs,
    lhs_dilation: Ints,
    rhs_dilation: Ints,
    groups: int,
) -> Array:
    """A matrix product of windows and kernels per group."""
    windows = Windows(
        window=rhs.shape[2:],
        strides=strides,
        padding=padding,
        base_dilation=lhs_dilation,
        window_dilation=rhs_dilation,
    ).slide(widen(lhs), 0)
    batch, outputs, channels = lhs.shape[0], rhs.shape[0], rhs.shape[1]
    positions = windows.shape[2 : lhs.ndim]
    terms = channels * math.prod(rhs.shape[2:])

    grouped = windows.reshape(batch, groups, channels, *windows.shape[2:])
    patches = np.moveaxis(grouped, 2, lhs.ndim).reshape(batch, groups, math.prod(positions), terms)
    kernels = widen(rhs).reshape(groups, outputs // groups, terms)
    sums: Array = np.matmul(kernels, patches.swapaxes(-1, -2))
    return sums.reshape(batch, outputs, *positions)


# --- derivatives --------------------------------------------------------------------------------


def _transpose(op: Op, cotangents: Sequence[Maybe], linear: Sequence[bool]) -> list[Maybe]:
    cotangent = helpers.only(cotangents)
    return (
        [_lhs_cotangent(op, cotangent), None]
        if linear[0]
        else [None, _rhs_cotangent(op, cotangent)]
    )


def _windows(op: Op) -> Windows:
    """The windows that rhs makes over lhs."""
    return Windows(
        window=op.operands[1].type.shape[2:],
        strides=op.attributes["strides"],
        padding=op.attributes["padding"],
        base_dilation=op.attributes["lhs_dilation"],
        window_dilation=op.attributes["rhs_dilation"],
    )


def _slide(lhs: Value, rhs: Value, windows: Windows, groups: Size) -> Value:
    """The convolution in which rhs makes these windows over lhs."""
    return convolution(
        lhs,
        rhs,
        strides=windows.strides,
        padding=windows.padding,
        lhs_dilation=windows.base_dilation,
        rhs_dilation=windows.window_dilation,
        groups=groups,
    )


def _lhs_cotangent(op: Op, given: Value) -> Value:
    """The cotangent under the kernel turned around, with inputs and outputs exchanged."""
    (lhs, rhs), groups = op.operands, op.attributes["groups"]
    outputs, channels, *taps = rhs.type.shape
    per_group = outputs // groups
    split, merged = (groups, per_group, channels), (groups * channels, per_group)
    kernel = _regroup(rhs, 2, split, (0, 2, 1), merged)
    turned = tuple([axis for axis, size in enumerate(taps, 2) if size != 1])
    if turned:
        kernel = shape.reverse(kernel, axes=turned)
    return _slide(given, kernel, _windows(op).adjoint(lhs.type.shape[2:]), groups)


def _rhs_cotangent(op: Op, given: Value) -> Value:
    """lhs under a sliding cotangent, with batch and channels exchanged: the batch is summed."""
    (lhs, rhs), groups = op.operands, op.attributes["groups"]
    count, (outputs, channels) = lhs.type.shape[0], rhs.type.shape[:2]
    split, merged = (count, groups, channels), (channels, groups * count)
    signal = _regroup(lhs, 2, split, (2, 1, 0), merged)
    kernel = _regroup(given, 2, (count, outputs), (1, 0), (outputs, count))
    gradient = _slide(signal, kernel, _windows(op).over_taps(lhs.type.shape[2:]), groups)
    return _regroup(gradient, 2, (channels, outputs), (1, 0), (outputs, channels))


def _regroup(
    value: Value, leading: int, split: Shape, order: Sequence[int], merged: Shape
) -> Value:
    """The leading axes taken apart into `split`, put into another order, and merged again.

    Axes of size 1 move without a transpose.
    """
    wide = [axis for axis, size in enumerate(split) if size != 1]
    moved = [axis for axis in order if axis in wide]
    rest = value.type.shape[leading:]
    if moved == wide:
        return helpers.reshape(value, (*merged, *rest))
    parts = helpers.reshape(value, (*[split[axis] for axis in wide], *rest))
    trailing = range(len(wide), parts.type.rank)
    turned = helpers.transpose(parts, (*[wide.index(axis) for axis in moved], *trailing))
    return helpers.reshape(turned, (*merged, *rest))


# --- batching -----------------------------------------------------------------------------------


def _batch(op: Op, operands: Sequence[Value], batched: Sequence[bool], size: Size) -> Value:
    """The batch joins N of lhs, or the outputs of rhs, or the groups if both have it."""
    (lhs, rhs), attributes = operands, dict(op.attributes)
    count, outputs = op.result.type.shape[:2]
    channels, groups = op.operands[0].type.shape[1], attributes.pop("groups")
    if not batched[1]:
        merged = helpers.reshape(lhs, (size * count, *lhs.type.shape[2:]))
        convolved = convolution(merged, rhs, groups=groups, **attributes)
        return helpers.reshape(convolved, (size, *op.result.type.shape))
    if not batched[0]:
        per_group = outputs // groups
        kernels = _regroup(rhs, 2, (size, groups, per_group), (1, 0, 2), (size * outputs,))
        convolved = convolution(lhs, kernels, groups=groups, **attributes)
        parts = (count, groups, size, per_group)
        return _regroup(convolved, 2, parts, (2, 0, 1, 3), (size, count, outputs))
    merged = _regroup(lhs, 3, (size, count, channels), (1, 0, 2), (count, size * channels))
    kernels = helpers.reshape(rhs, (size * outputs, *rhs.type.shape[2:]))
    convolved = convolution(merged, kernels, groups=size * groups, **attributes)
    return _regroup(convolved, 2, (count, size, outputs), (1, 0, 2), (size, count, outputs))


convolution = OpDef(
    name="convolution",
    doc="Cross-correlation: lhs, dilated and padded, under a sliding, dilated rhs. The result is "
    "[N, O, *spatial], with spatial size 0 where rhs does not fit.",
    operands=("lhs", "rhs"),
    attributes={
        "strides": INTS,
        "padding": PAIRS,
        "lhs_dilation": INTS,
        "rhs_dilation": INTS,
        "groups": SIZE,
    },
    defaults={"groups": 1},
    infer=_infer,
    reference=_reference,
    multilinear=(0, 1),
    transpose=_transpose,
    batch=_batch,
    work=lambda op: dims.product(plane_shape(op)),
    consumers=PLANES,
)

OPS: Final = (convolution,)
