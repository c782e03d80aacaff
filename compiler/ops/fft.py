"""Discrete Fourier transforms: complex, and between a real signal and half of its spectrum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from weft.compiler.ir import dims, dtypes
from weft.compiler.ir.attributes import INTS, SIZE, Choice, Optional
from weft.compiler.ir.build import constant
from weft.compiler.ir.dims import Size
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.errors import DTypeError, ShapeError
from weft.compiler.ir.graph import Op, Value
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ir.rules import Maybe
from weft.compiler.ir.types import ArrayType, type_of
from weft.compiler.ops import arithmetic, conversion, helpers, logic, positions, shape
from weft.compiler.ops.common import require_axes
from weft.compiler.ops.precision import Array, widen

Axes: TypeAlias = tuple[int, ...]

_RESULT_DTYPE: Final[dict[str, dict[DType, DType]]] = {
    "fft": {dtypes.c64: dtypes.c64, dtypes.c128: dtypes.c128},
    "ifft": {dtypes.c64: dtypes.c64, dtypes.c128: dtypes.c128},
    "rfft": {dtypes.f32: dtypes.c64, dtypes.f64: dtypes.c128},
    "irfft": {dtypes.c64: dtypes.f32, dtypes.c128: dtypes.f64},
}


def _infer(x: ArrayType, *, kind: str, axes: Axes, last: Size | None) -> ArrayType:
    accepted = _RESULT_DTYPE[kind]
    if x.dtype not in accepted:
        raise DTypeError(f"{kind} takes {' or '.join(d.name for d in accepted)}, got {x.dtype}")
    require_axes(axes, x.rank)
    if last is not None and kind != "irfft":
        raise ShapeError(f"`last` is for irfft only, got {last} for {kind}")
    shape = list(x.shape)
    if kind in ("rfft", "irfft"):
        if not axes:
            raise ShapeError(f"{kind} needs at least one axis")
        halved = axes[-1]
        shape[halved] = shape[halved] // 2 + 1 if kind == "rfft" else _full(shape[halved], last)
    return ArrayType(accepted[x.dtype], shape)


def _full(half: Size, last: Size | None) -> Size:
    """The length of the real signal that a half spectrum belongs to: even unless `last` says."""
    if half == 0:
        raise ShapeError("irfft needs at least one frequency along its last axis")
    if last is None:
        return 2 * (half - 1)
    if last // 2 + 1 != half:
        raise ShapeError(f"a signal of length {last} has {last // 2 + 1} frequencies, got {half}")
    return last


def _reference(x: Array, *, kind: str, axes: Axes, last: int | None) -> Array:
    result = _infer(type_of(x), kind=kind, axes=axes, last=last)
    if x.size == 0 or result.size == 0:
        return np.zeros(result.shape)
    x = widen(x)
    match kind:
        case "rfft":
            return _each_axis(np.fft.fft, np.fft.rfft(x, axis=axes[-1]), axes[:-1])
        case "irfft":
            spectrum = _each_axis(np.fft.ifft, x, axes[:-1])
            length = int(result.shape[axes[-1]])
            return np.fft.irfft(spectrum, length, axis=axes[-1])
        case _:
            return _each_axis(np.fft.fft if kind == "fft" else np.fft.ifft, x, axes)


def _each_axis(transform: Any, x: Array, axes: Axes) -> Array:
    for axis in axes:
        x = transform(x, axis=axis)
    return x


# --- rules --------------------------------------------------------------------------------------


def _transpose(op: Op, cotangents: Sequence[Maybe], linear: Sequence[bool]) -> list[Maybe]:
    """The matrices of fft and ifft are symmetric; the half spectra are each other's, weighted.

    With n elements in all, irfft sums Re(z exp(i t)) / n over the whole spectrum, so twice over
    frequencies that have a mirror image; rfft is a sum of x exp(-i t) over frequencies given once.
    """
    cotangent, (x,) = helpers.only(cotangents), op.operands
    kind, axes = op.attributes["kind"], op.attributes["axes"]
    if kind == "rfft":
        weights = _weights(cotangent.type, x.type, axes, forward=True)
        weighted = arithmetic.mul(conversion.conj(cotangent), weights)
        return [fft(weighted, kind="irfft", axes=axes, last=x.type.shape[axes[-1]])]
    if kind == "irfft":
        spectrum = conversion.conj(fft(cotangent, kind="rfft", axes=axes))
        weights = _weights(spectrum.type, cotangent.type, axes, forward=False)
        return [arithmetic.mul(spectrum, weights)]
    return [fft(cotangent, kind=kind, axes=axes)]


def _weights(half: ArrayType, signal: ArrayType, axes: Axes, *, forward: bool) -> Value:
    """n for rfft and 1/n for irfft; half and twice that for frequencies with a mirror image."""
    edge, inner = _scales([signal.shape[axis] for axis in axes], half.dtype, forward)
    # Alone are 0 and, if the length is even, its half: the frequencies whose double it divides.
    count = shape.iota(dtype=dtypes.i64, shape=(half.shape[axes[-1]],), axis=0)
    double = arithmetic.mul(count, helpers.number(2, count))
    rest = arithmetic.remainder(double, positions.size_value(signal.shape[axes[-1]]))
    weights = logic.select(logic.eq(rest, helpers.number(0, rest)), edge, inner)
    return shape.broadcast(weights, shape=half.shape, dims=(axes[-1],))


def _scales(sizes: Sequence[Size], dtype: DType, forward: bool) -> tuple[Value, Value]:
    """The weights of frequencies without and with a mirror image."""
    # Where there is no element nothing is summed, and 1/n must not make NaN of that.
    count, factor = dims.maximum(dims.product(sizes), 1), 0.5 if forward else 2.0
    if isinstance(count, int):
        scale = float(count) if forward else 1 / count
        return constant(scale, dtype), constant(scale * factor, dtype)
    edge = conversion.cast(shape.dim_value(dim=count), dtype=dtype)
    if not forward:
        edge = arithmetic.div(helpers.number(1, edge), edge)
    return edge, arithmetic.mul(edge, helpers.number(factor, edge))


def _batch(op: Op, operands: Sequence[Value], batched: Sequence[bool], size: Size) -> Value:
    axes = helpers.shifted(op.attributes["axes"])
    return fft(operands[0], kind=op.attributes["kind"], axes=axes, last=op.attributes["last"])


fft = OpDef(
    name="fft",
    doc="The discrete Fourier transform over `axes`, the inverse divided by the length n. rfft "
    "gives, and irfft takes, frequencies 0 to n//2 of the last of `axes`; `last` is that axis's n "
    "for irfft (none: the even one).",
    operands=("x",),
    attributes={
        "kind": Choice(("fft", "ifft", "rfft", "irfft")),
        "axes": INTS,
        "last": Optional(SIZE),
    },
    defaults={"last": None},
    infer=_infer,
    reference=_reference,
    linear=(),
    transpose=_transpose,
    batch=_batch,
)

OPS: Final = (fft,)
