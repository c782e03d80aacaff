"""`numpy.fft`: discrete Fourier transforms with padding, norms and axes, by one primitive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np

from weft.compiler.ir import dims, dtypes
from weft.compiler.ir.build import constant
from weft.compiler.ir.dims import Size
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.errors import DTypeError, ShapeError
from weft.compiler.ir.graph import Value
from weft.compiler.ops import fft as primitives
from weft.compiler.ops.arithmetic import div, mul, sub
from weft.compiler.ops.logic import lt, select
from weft.compiler.ops.special import sqrt
from weft.frontends.numpy.functions import manipulation
from weft.frontends.numpy.functions.axis_access import padded
from weft.frontends.numpy.functions.axis_ops import iota
from weft.frontends.numpy.functions.magnitude import conjugate
from weft.frontends.numpy.functions.reducing import Axis
from weft.frontends.tracing.core import (
    as_size,
    cast,
    check_no,
    lift,
    normalize_axes,
    product,
    size_value,
    trace_error,
    wrap,
)
from weft.frontends.tracing.trace import ArrayLike, Tracer

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

Sizes: TypeAlias = "Sequence[Size | None] | None"
Axes: TypeAlias = "Sequence[int] | None"

_LAST_TWO: Final = (-2, -1)


# --- along one axis ----------------------------------------------------------------------------


def fft(
    a: ArrayLike, n: Size | None = None, axis: int = -1, norm: str | None = None, out: None = None
) -> Tracer:
    """As `numpy.fft.fft`."""
    check_no("fft", out=out)
    return wrap(_transform("fft", a, _one(n), [axis], norm))


def ifft(
    a: ArrayLike, n: Size | None = None, axis: int = -1, norm: str | None = None, out: None = None
) -> Tracer:
    """As `numpy.fft.ifft`."""
    check_no("ifft", out=out)
    return wrap(_transform("ifft", a, _one(n), [axis], norm))


def rfft(
    a: ArrayLike, n: Size | None = None, axis: int = -1, norm: str | None = None, out: None = None
) -> Tracer:
    """As `numpy.fft.rfft`: the frequencies 0 to n//2 of a real signal."""
    check_no("rfft", out=out)
    return wrap(_transform("rfft", a, _one(n), [axis], norm))


def irfft(
    a: ArrayLike, n: Size | None = None, axis: int = -1, norm: str | None = None, out: None = None
) -> Tracer:
    """As `numpy.fft.irfft`: the real signal of length n that has these frequencies."""
    check_no("irfft", out=out)
    return wrap(_transform("irfft", a, _one(n), [axis], norm))


def hfft(
    a: ArrayLike, n: Size | None = None, axis: int = -1, norm: str | None = None, out: None = None
) -> Tracer:
    """As `numpy.fft.hfft`: the real spectrum of a signal with Hermitian symmetry."""
    check_no("hfft", out=out)
    mirrored = wrap(conjugate(lift(a)))
    return wrap(_transform("irfft", mirrored, _one(n), [axis], _swapped(norm)))


def ihfft(
    a: ArrayLike, n: Size | None = None, axis: int = -1, norm: str | None = None, out: None = None
) -> Tracer:
    """As `numpy.fft.ihfft`: the inverse of hfft."""
    check_no("ihfft", out=out)
    return wrap(conjugate(_transform("rfft", a, _one(n), [axis], _swapped(norm))))


def _one(n: Size | None) -> Sizes:
    """The length along one axis, where -1 does not stand for the axis's own as in a list."""
    if n == -1:
        raise ShapeError("a Fourier transform needs at least one point, got -1; leave n out")
    return [n]


# --- along several axes ------------------------------------------------------------------------


def fftn(
    a: ArrayLike, s: Sizes = None, axes: Axes = None, norm: str | None = None, out: None = None
) -> Tracer:
    """As `numpy.fft.fftn`."""
    check_no("fftn", out=out)
    return wrap(_transform("fft", a, s, axes, norm))


def ifftn(
    a: ArrayLike, s: Sizes = None, axes: Axes = None, norm: str | None = None, out: None = None
) -> Tracer:
    """As `numpy.fft.ifftn`."""
    check_no("ifftn", out=out)
    return wrap(_transform("ifft", a, s, axes, norm))


def rfftn(
    a: ArrayLike, s: Sizes = None, axes: Axes = None, norm: str | None = None, out: None = None
) -> Tracer:
    """As `numpy.fft.rfftn`."""
    check_no("rfftn", out=out)
    return wrap(_transform("rfft", a, s, axes, norm))


def irfftn(
    a: ArrayLike, s: Sizes = None, axes: Axes = None, norm: str | None = None, out: None = None
) -> Tracer:
    """As `numpy.fft.irfftn`."""
    check_no("irfftn", out=out)
    return wrap(_transform("irfft", a, s, axes, norm))


def fft2(
    a: ArrayLike,
    s: Sizes = None,
    axes: Axes = _LAST_TWO,
    norm: str | None = None,
    out: None = None,
) -> Tracer:
    """As `numpy.fft.fft2`."""
    return fftn(a, s, axes, norm, out)


def ifft2(
    a: ArrayLike,
    s: Sizes = None,
    axes: Axes = _LAST_TWO,
    norm: str | None = None,
    out: None = None,
) -> Tracer:
    """As `numpy.fft.ifft2`."""
    return ifftn(a, s, axes, norm, out)


def rfft2(
    a: ArrayLike,
    s: Sizes = None,
    axes: Axes = _LAST_TWO,
    norm: str | None = None,
    out: None = None,
) -> Tracer:
    """As `numpy.fft.rfft2`."""
    return rfftn(a, s, axes, norm, out)


def irfft2(
    a: ArrayLike,
    s: Sizes = None,
    axes: Axes = _LAST_TWO,
    norm: str | None = None,
    out: None = None,
) -> Tracer:
    """As `numpy.fft.irfft2`."""
    return irfftn(a, s, axes, norm, out)


# --- frequencies -------------------------------------------------------------------------------


def fftfreq(n: Size, d: ArrayLike = 1.0, device: str | None = None) -> Tracer:
    """As `numpy.fft.fftfreq`."""
    size = as_size(n)
    index = iota((size,), 0)
    is_low = lt(index, size_value((size - 1) // 2 + 1, dtypes.i64))
    numbers = select(is_low, index, sub(index, size_value(size, dtypes.i64)))
    return wrap(_over_duration(numbers, size, d))


def rfftfreq(n: Size, d: ArrayLike = 1.0, device: str | None = None) -> Tracer:
    """As `numpy.fft.rfftfreq`."""
    size = as_size(n)
    return wrap(_over_duration(iota((size // 2 + 1,), 0), size, d))


def _over_duration(numbers: Value, size: Size, spacing: ArrayLike) -> Value:
    step = lift(spacing)
    dtype = dtypes.promote(dtypes.f64, step.type.dtype)
    duration = mul(size_value(size, dtype), cast(step, dtype))
    return mul(cast(numbers, dtype), div(constant(1, dtype), duration))


def fftshift(x: ArrayLike, axes: Axis = None) -> Tracer:
    """As `numpy.fft.fftshift`: frequency 0 in the middle."""
    return _shift(x, axes, 1)


def ifftshift(x: ArrayLike, axes: Axis = None) -> Tracer:
    """As `numpy.fft.ifftshift`: the inverse of fftshift."""
    return _shift(x, axes, -1)


def _shift(x: ArrayLike, axes: Axis, sign: int) -> Tracer:
    shape = lift(x).type.shape
    chosen = normalize_axes(axes, len(shape))
    return manipulation.roll(x, [sign * (shape[axis] // 2) for axis in chosen], chosen)


# --- the transform -----------------------------------------------------------------------------


def _transform(kind: str, a: ArrayLike, sizes: Sizes, axes: Axes, norm: str | None) -> Value:
    """The transform over axes, each brought to its size first."""
    given = lift(a)
    along = _resolve_axes(sizes, axes, given.type.rank)
    if not along and kind in ("fft", "ifft"):
        return given
    value = _to_input(given, kind)
    lengths = _lengths(kind, value, sizes, along)
    for axis, length in zip(along, lengths, strict=True):
        is_halved = kind == "irfft" and axis == along[-1]
        wanted = length // 2 + 1 if is_halved else length
        value = padded(value, axis, 0, wanted - value.type.shape[axis])
    last = lengths[-1] if kind == "irfft" else None
    result = primitives.fft(value, kind=kind, axes=along, last=last)
    scaled = _scaled(result, product(lengths), norm, is_inverse=kind.startswith("i"))
    own = given.type.dtype
    # Over several axes NumPy's first step already leaves half precision.
    keeps_half = kind == "irfft" and own.bits == 16 and own.is_float and len(along) == 1
    return cast(scaled, own) if keeps_half else scaled


def _to_input(value: Value, kind: str) -> Value:
    """The value in the dtype that the primitive takes: single precision only for at most f32."""
    own = value.type.dtype
    if kind == "rfft" and own.is_complex:
        raise DTypeError(f"rfft and ihfft take real numbers, got {value.type}; use fft, or x.real")
    is_single = own in (dtypes.c64, dtypes.f32, dtypes.f16, dtypes.bf16)
    if kind == "rfft":
        return cast(value, dtypes.f32 if is_single else dtypes.f64)
    return cast(value, dtypes.c64 if is_single else dtypes.c128)


def _resolve_axes(sizes: Sizes, axes: Axes, rank: int) -> tuple[int, ...]:
    if axes is None:
        count = rank if sizes is None else len(sizes)
        return normalize_axes(range(-count, 0), rank)
    if sizes is not None and len(sizes) != len(axes):
        raise ShapeError(f"s has {len(sizes)} sizes for {len(axes)} axes; give one for each")
    return normalize_axes(axes, rank)


def _lengths(kind: str, value: Value, sizes: Sizes, axes: tuple[int, ...]) -> list[Size]:
    """The length of the signal along each axis."""
    if kind in ("rfft", "irfft") and not axes:
        raise ShapeError(f"{kind}n needs at least one axis")
    lengths = [value.type.shape[axis] for axis in axes]
    if kind == "irfft":
        lengths[-1] = 2 * (lengths[-1] - 1)
    for i, given in enumerate(sizes or ()):
        if given is not None:
            # As in NumPy, -1 is the size of the input, even where the output is longer by default.
            lengths[i] = value.type.shape[axes[i]] if given == -1 else as_size(given)
    for length in lengths:
        most = dims.upper(length)
        if most is not None and most < 1:
            raise ShapeError(f"a Fourier transform needs at least one point, got {length}")
    return lengths


_SWAPPED: Final = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def _swapped(norm: str | None) -> str:
    """The norm that makes a transform scale as its inverse does."""
    _require_norm(norm)
    return _SWAPPED[norm]


def _require_norm(norm: str | None) -> None:
    if norm not in _SWAPPED:
        raise trace_error(f"a Fourier norm is backward, ortho or forward, got {norm!r}")


def _scaled(value: Value, size: Size, norm: str | None, *, is_inverse: bool) -> Value:
    """The result of the primitive, which divides only the inverse by the size, in another norm."""
    _require_norm(norm)
    if norm in (None, "backward"):
        return value
    factor = _factor(size, value.type.dtype.real, norm == "ortho", is_inverse)
    return mul(value, cast(factor, value.type.dtype))


def _factor(size: Size, dtype: DType, is_root: bool, is_inverse: bool) -> Value:
    if isinstance(size, int):
        number = float(np.sqrt(size)) if is_root else float(size)
        return constant(number if is_inverse else 1 / number, dtype)
    value = size_value(size, dtype)
    value = sqrt(value) if is_root else value
    return value if is_inverse else div(constant(1, dtype), value)
