"""NumPy's convolution and correlation of sequences, by the convolution primitive."""

from __future__ import annotations

from weft.compiler.ir import dtypes
from weft.compiler.ir.build import constant
from weft.compiler.ir.dims import Size
from weft.compiler.ir.errors import ShapeError
from weft.compiler.ir.graph import Value
from weft.compiler.ops.arithmetic import add, mul, sub
from weft.compiler.ops.control import switch
from weft.compiler.ops.convolution import convolution
from weft.compiler.ops.logic import and_, ge, is_finite, lt
from weft.compiler.ops.shape import reverse
from weft.frontends.numpy.functions.axis_access import stretch
from weft.frontends.numpy.functions.axis_ops import gather_axis, iota
from weft.frontends.numpy.functions.loops import region_of
from weft.frontends.numpy.functions.magnitude import conjugate
from weft.frontends.numpy.functions.reducing import ALL, SUM, reduce, truth
from weft.frontends.tracing.core import cast, promote, reshape, size_value, trace_error, wrap
from weft.frontends.tracing.trace import ArrayLike, Tracer

__all__ = ["convolve", "correlate"]


def convolve(a: ArrayLike, v: ArrayLike, mode: str = "full") -> Tracer:
    """As `numpy.convolve`."""
    signal, kernel = [_at_least_1d(value) for value in promote(a, v)]
    if kernel.type.shape[0] > signal.type.shape[0]:
        signal, kernel = kernel, signal
    return wrap(_slide(signal, reverse(kernel, axes=(0,)), mode))


def correlate(a: ArrayLike, v: ArrayLike, mode: str = "valid") -> Tracer:
    """As `numpy.correlate`: sums of a[n + k] * conj(v[n])."""
    signal, kernel = promote(a, v)
    kernel = conjugate(kernel)
    for value in (signal, kernel):
        if value.type.rank != 1:
            raise ShapeError(f"correlate takes arrays of rank 1, got {value.type}")
    if kernel.type.shape[0] > signal.type.shape[0]:
        return wrap(reverse(_slide(kernel, signal, mode), axes=(0,)))
    return wrap(_slide(signal, kernel, mode))


def _at_least_1d(value: Value) -> Value:
    if value.type.rank > 1:
        raise ShapeError(f"convolve takes arrays of rank 1, got {value.type}")
    return value if value.type.rank else reshape(value, (1,))


def _slide(signal: Value, kernel: Value, mode: str) -> Value:
    """The sums of products of a kernel that slides over a signal at least as long."""
    size = kernel.type.shape[0]
    if size == 0:
        raise ShapeError("a convolution needs sequences of at least one element")
    if signal.type.dtype.is_bool:
        return truth(_slide(cast(signal, dtypes.i64), cast(kernel, dtypes.i64), mode))
    overhang = _overhang(size, mode)
    if overhang == (0, 0) or not kernel.type.dtype.is_inexact:
        return _windows(signal, kernel, overhang)
    all_finite = reduce(ALL, is_finite(kernel), None)
    types = signal.type, kernel.type
    branches = [
        region_of(lambda *pair, sums=sums: [sums(*pair, overhang)], types)
        for sums in (_pairs, _windows)
    ]
    return switch.emit(all_finite, signal, kernel, regions=branches)[0]


def _windows(signal: Value, kernel: Value, overhang: tuple[Size, Size]) -> Value:
    """The sums where zeros are put before and after the signal."""
    sums = convolution(
        reshape(signal, (1, 1, signal.type.shape[0])),
        reshape(kernel, (1, 1, kernel.type.shape[0])),
        strides=(1,),
        padding=(overhang,),
        lhs_dilation=(1,),
        rhs_dilation=(1,),
    )
    return reshape(sums, (sums.type.shape[-1],))


def _pairs(signal: Value, kernel: Value, overhang: tuple[Size, Size]) -> Value:
    """The same sums over the pairs that exist: an infinity in the kernel times a zero beyond the
    ends of the signal would be NaN.
    """
    (length,), (size,) = signal.type.shape, kernel.type.shape
    before, after = overhang
    shape = (length + before + after - size + 1, size)
    position = sub(add(iota(shape, 0), iota(shape, 1)), size_value(before, dtypes.i64))
    is_inside = and_(
        ge(position, constant(0, dtypes.i64)), lt(position, size_value(length, dtypes.i64))
    )
    values = gather_axis(signal, position, 0, mode="clip")
    return reduce(SUM, mul(values, stretch(kernel, (1,), shape)), 1, where=wrap(is_inside))


def _overhang(size: Size, mode: str) -> tuple[Size, Size]:
    """How far the kernel reaches beyond each end of the signal."""
    if mode == "full":
        return size - 1, size - 1
    if mode == "same":
        return size // 2, size - size // 2 - 1
    if mode == "valid":
        return 0, 0
    raise trace_error(f"a convolution has the modes full, same and valid, got {mode!r}")
