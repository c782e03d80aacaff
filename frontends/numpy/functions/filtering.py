"""NumPy's convolution and correlation of sequences, by the convolution primitive."""

from __future__ import annotations

from weft.compiler.ir import dtypes
from weft.compiler.ir.dims import Size
from weft.compiler.ir.errors import ShapeError
from weft.compiler.ir.graph import Value
from weft.compiler.ops.convolution import convolution
from weft.compiler.ops.shape import reverse
from weft.frontends.numpy.functions.magnitude import conjugate
from weft.frontends.numpy.functions.reducing import truth
from weft.frontends.tracing.core import cast, promote, reshape, trace_error, wrap
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
    sums = convolution(
        reshape(signal, (1, 1, signal.type.shape[0])),
        reshape(kernel, (1, 1, size)),
        strides=(1,),
        padding=(_overhang(size, mode),),
        lhs_dilation=(1,),
        rhs_dilation=(1,),
    )
    return reshape(sums, (sums.type.shape[-1],))


def _overhang(size: Size, mode: str) -> tuple[Size, Size]:
    """How far the kernel reaches beyond each end of the signal."""
    if mode == "full":
        return size - 1, size - 1
    if mode == "same":
        return size // 2, size - size // 2 - 1
    if mode == "valid":
        return 0, 0
    raise trace_error(f"a convolution has the modes full, same and valid, got {mode!r}")
