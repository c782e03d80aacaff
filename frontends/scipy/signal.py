"""`scipy.signal` on traced arrays: convolutions, directly and by Fourier transforms; what is in
`filters` too.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from weft.compiler.ir.errors import ShapeError
from weft.compiler.ops.convolution import convolution
from weft.frontends.eager.anywhere import eager
from weft.frontends.scipy import filters
from weft.frontends.scipy.floats import traced
from weft.frontends.tracing.core import lift, normalize_axes, promote, reshape, trace_error, wrap
from weft.frontends.tracing.trace import ArrayLike

__all__ = [
    *filters.__all__,
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "detrend",
    "fftconvolve",
    "hilbert",
]

globals().update({name: getattr(filters, name) for name in filters.__all__})


@eager
def fftconvolve(in1: ArrayLike, in2: ArrayLike, mode: str = "full", axes: Any = None) -> Any:
    """As `scipy.signal.fftconvolve`: by Fourier transforms along all axes, or some.

    >>> import numpy as np, weft as wf
    >>> np.round(wf.scipy.signal.fftconvolve(np.array([1.0, 2.0]), np.array([1.0, 1.0])), 6)
    array([1., 3., 2.])
    """
    first, second = _pair("fftconvolve", in1, in2)
    if first.ndim == 0:
        return first * second
    along = normalize_axes(axes, first.ndim)
    sizes = [first.shape[a] + second.shape[a] - 1 for a in along]
    if any(size == 0 for size in (*first.shape, *second.shape)):
        raise ShapeError("fftconvolve: an operand has no elements")
    is_complex = first.dtype.kind == "c"
    forward = np.fft.fftn if is_complex else np.fft.rfftn
    backward = np.fft.ifftn if is_complex else np.fft.irfftn
    product = forward(first, sizes, along) * forward(second, sizes, along)
    made = backward(product, sizes, along).astype(first.dtype)
    return _cut(made, first, second, mode, along)


@eager
def convolve(in1: ArrayLike, in2: ArrayLike, mode: str = "full", method: str = "auto") -> Any:
    """As `scipy.signal.convolve`: directly unless `method="fft"`."""
    if method == "fft":
        return fftconvolve(in1, in2, mode)
    first, second = _pair("convolve", in1, in2, keep_integers=True)
    made = _slide(first, np.flip(second))
    return _cut(made, first, second, mode, tuple(range(first.ndim)))


@eager
def correlate(in1: ArrayLike, in2: ArrayLike, mode: str = "full", method: str = "auto") -> Any:
    """As `scipy.signal.correlate`: directly unless `method="fft"`."""
    first, second = _pair("correlate", in1, in2, keep_integers=True)
    if method == "fft":
        return fftconvolve(first, np.conj(np.flip(second)), mode)
    made = _slide(first, np.conj(second) if second.dtype.kind == "c" else second)
    return _cut(made, first, second, mode, tuple(range(first.ndim)))


@eager
def convolve2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: ArrayLike = 0,
) -> Any:
    """As `scipy.signal.convolve2d`."""
    first, second = _pair("convolve2d", in1, in2, keep_integers=True)
    return _planar(first, np.flip(second), mode, boundary, fillvalue, _before_middle(second))


@eager
def correlate2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: ArrayLike = 0,
) -> Any:
    """As `scipy.signal.correlate2d`."""
    first, second = _pair("correlate2d", in1, in2, keep_integers=True)
    # An even kernel, not turned around, stands on the other side of its middle.
    middle = tuple(size // 2 for size in second.shape)
    return _planar(first, np.conj(second), mode, boundary, fillvalue, middle)


@eager
def detrend(data: ArrayLike, axis: int = -1, type: str = "linear") -> Any:
    """As `scipy.signal.detrend`, without breakpoints."""
    return filters.detrended(traced(data), axis, type)


@eager
def hilbert(x: ArrayLike, N: int | None = None, axis: int = -1) -> Any:
    """As `scipy.signal.hilbert`: the analytic signal."""
    value: Any = traced(x)
    size = N or value.shape[axis]
    weights = np.zeros(size)
    weights[0] = 1
    weights[1 : (size + 1) // 2] = 2
    if size % 2 == 0:
        weights[size // 2] = 1
    shape = [1] * value.ndim
    shape[axis] = size
    return np.fft.ifft(np.fft.fft(value, size, axis) * weights.reshape(shape), axis=axis)


# --- pieces -------------------------------------------------------------------------------------


def _pair(name: str, in1: ArrayLike, in2: ArrayLike, keep_integers: bool = False) -> list[Any]:
    """Both operands in one dtype, which is a floating-point one unless integers are kept."""
    values: list[Any] = [wrap(value) for value in promote(traced(in1), traced(in2))]
    if values[0].ndim != values[1].ndim:
        raise ShapeError(f"{name}: operands have {values[0].ndim} and {values[1].ndim} axes")
    if values[0].dtype.kind in "biu" and not keep_integers:
        return [value.astype("float64") for value in values]
    return values


def _slide(signal: Any, kernel: Any) -> Any:
    """All sums of products of a kernel that slides over a signal and beyond both its ends."""
    if signal.ndim == 0:
        return signal * kernel
    rank, sizes = signal.ndim, kernel.shape
    made = convolution(
        reshape(lift(signal), (1, 1, *signal.shape)),
        reshape(lift(kernel), (1, 1, *sizes)),
        strides=(1,) * rank,
        padding=tuple((size - 1, size - 1) for size in sizes),
        lhs_dilation=(1,) * rank,
        rhs_dilation=(1,) * rank,
    )
    return wrap(reshape(made, made.type.shape[2:]))


def _before_middle(kernel: Any) -> tuple[int, ...]:
    return tuple((size - 1) // 2 for size in kernel.shape)


def _cut(
    made: Any,
    first: Any,
    second: Any,
    mode: str,
    axes: tuple[int, ...],
    middle: tuple[int, ...] | None = None,
) -> Any:
    """The part of all sums that a mode asks for."""
    if mode == "full" or first.ndim == 0:
        return made
    if mode not in ("same", "valid"):
        raise trace_error(f"a convolution has the modes full, same and valid, got {mode!r}")
    key: list[Any] = [slice(None)] * first.ndim
    starts = _before_middle(second) if middle is None else middle
    for axis in axes:
        large, small = first.shape[axis], second.shape[axis]
        if mode == "valid":
            large, small = max(large, small), min(large, small)
            key[axis] = slice(small - 1, large)
        else:
            key[axis] = slice(starts[axis], starts[axis] + large)
    return made[tuple(key)]


_EDGES: Final[dict[str, Any]] = {"fill": "constant", "symm": "symmetric", "wrap": "wrap"}


def _planar(
    first: Any,
    kernel: Any,
    mode: str,
    boundary: str,
    fillvalue: ArrayLike,
    middle: tuple[int, ...],
) -> Any:
    if first.ndim != 2:
        raise ShapeError(f"a convolution in the plane takes arrays of rank 2, got {first.shape}")
    if boundary not in _EDGES:
        raise trace_error(f"boundary is one of {', '.join(_EDGES)}, got {boundary!r}")
    if mode == "valid" or (boundary == "fill" and isinstance(fillvalue, int) and fillvalue == 0):
        made = _slide(first, kernel)
        return _cut(made, first, kernel, mode, (0, 1), middle)
    options: dict[str, Any] = {"constant_values": fillvalue} if boundary == "fill" else {}
    width = [(size - 1, size - 1) for size in kernel.shape]
    padded = np.pad(first, width, _EDGES[boundary], **options)
    every = _cut(_slide(padded, kernel), padded, kernel, "valid", (0, 1))
    return _cut(every, first, kernel, mode, (0, 1), middle)


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"scipy.signal.{name} has no traced version; weft.scipy.signal has convolutions, filters "
        "and spectra, wf.callback calls SciPy's"
    )
