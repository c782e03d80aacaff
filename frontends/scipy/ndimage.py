"""`scipy.ndimage` on traced arrays: filters with edges continued, and sampling between pixels.

Results have the dtype of the input; they are computed in it, or in float64 for integers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from weft.compiler.ir.errors import ShapeError
from weft.compiler.ops.convolution import convolution
from weft.frontends.eager.anywhere import eager
from weft.frontends.scipy import splines
from weft.frontends.scipy.floats import float_dtype, traced
from weft.frontends.tracing.core import lift, normalize_axis, reshape, trace_error, wrap
from weft.frontends.tracing.trace import ArrayLike

__all__ = [
    "convolve",
    "convolve1d",
    "correlate",
    "correlate1d",
    "gaussian_filter",
    "gaussian_filter1d",
    "laplace",
    "map_coordinates",
    "prewitt",
    "sobel",
    "uniform_filter",
    "uniform_filter1d",
]

_PADDING: Final[dict[str, Any]] = {
    "reflect": "symmetric",
    "grid-mirror": "symmetric",
    "constant": "constant",
    "grid-constant": "constant",
    "nearest": "edge",
    "mirror": "reflect",
    "wrap": "wrap",
    "grid-wrap": "wrap",
}
"""From SciPy's names of how an image goes on beyond its edges to NumPy's."""

_BORDER: Final = 12  # as many pixels as SciPy adds


# --- filters ------------------------------------------------------------------------------------


@eager
def correlate(
    input: ArrayLike,
    weights: ArrayLike,
    output: None = None,
    mode: str = "reflect",
    cval: ArrayLike = 0.0,
    origin: Any = 0,
) -> Any:
    """As `scipy.ndimage.correlate`."""
    image, kernel = _image(input), traced(weights)
    return _filtered(image, kernel, mode, cval, _origins(origin, image.ndim), input)


@eager
def convolve(
    input: ArrayLike,
    weights: ArrayLike,
    output: None = None,
    mode: str = "reflect",
    cval: ArrayLike = 0.0,
    origin: Any = 0,
) -> Any:
    """As `scipy.ndimage.convolve`.

    >>> import numpy as np, weft as wf
    >>> wf.scipy.ndimage.convolve(np.array([1.0, 2.0, 4.0]), np.array([1.0, 1.0, 1.0]))
    array([ 4.,  7., 10.])
    """
    image, kernel = _image(input), np.flip(traced(weights))
    # A kernel of even size has no middle; turned around, it stands on the other side of it.
    shifts = [
        -shift - (0 if size % 2 else 1)
        for shift, size in zip(_origins(origin, image.ndim), kernel.shape, strict=True)
    ]
    return _filtered(image, kernel, mode, cval, shifts, input)


@eager
def correlate1d(
    input: ArrayLike,
    weights: ArrayLike,
    axis: int = -1,
    output: None = None,
    mode: str = "reflect",
    cval: ArrayLike = 0.0,
    origin: int = 0,
) -> Any:
    """As `scipy.ndimage.correlate1d`."""
    image, line = _image(input), traced(weights)
    return _along(image, line, axis, mode, cval, origin, input)


@eager
def convolve1d(
    input: ArrayLike,
    weights: ArrayLike,
    axis: int = -1,
    output: None = None,
    mode: str = "reflect",
    cval: ArrayLike = 0.0,
    origin: int = 0,
) -> Any:
    """As `scipy.ndimage.convolve1d`."""
    image, line = _image(input), np.flip(traced(weights))
    shift = -origin - (0 if line.shape[0] % 2 else 1)
    return _along(image, line, axis, mode, cval, shift, input)


@eager
def gaussian_filter1d(
    input: ArrayLike,
    sigma: float,
    axis: int = -1,
    order: int = 0,
    output: None = None,
    mode: str = "reflect",
    cval: ArrayLike = 0.0,
    truncate: float = 4.0,
    *,
    radius: int | None = None,
) -> Any:
    """As `scipy.ndimage.gaussian_filter1d`, of order 0; a traced `sigma` needs a `radius`."""
    if order != 0:
        raise trace_error("gaussian_filter1d: only order=0 is traced; use correlate1d")
    line = _bell(sigma, truncate, radius)
    return _along(_image(input), line, axis, mode, cval, 0, input)


@eager
def gaussian_filter(
    input: ArrayLike,
    sigma: Any,
    order: int = 0,
    output: None = None,
    mode: str = "reflect",
    cval: ArrayLike = 0.0,
    truncate: float = 4.0,
    *,
    radius: int | None = None,
) -> Any:
    """As `scipy.ndimage.gaussian_filter`, of order 0: along each axis in turn."""
    image = _image(input)
    each = list(sigma) if isinstance(sigma, list | tuple) else [sigma] * image.ndim
    made = image
    for axis, width in enumerate(each):
        made = gaussian_filter1d(
            made, width, axis, order, None, mode, cval, truncate, radius=radius
        )
    return _as_input(made, input)


def _bell(sigma: Any, truncate: float, radius: int | None) -> Any:
    if radius is None:
        if not isinstance(sigma, int | float):
            raise trace_error("a traced sigma does not say how wide the filter is; give radius=")
        radius = int(truncate * float(sigma) + 0.5)
    places: Any = traced(np.arange(-radius, radius + 1, dtype=np.float64))
    weights = np.exp(-0.5 * (places / sigma) ** 2)
    return weights / np.sum(weights)


@eager
def uniform_filter1d(
    input: ArrayLike,
    size: int,
    axis: int = -1,
    output: None = None,
    mode: str = "reflect",
    cval: ArrayLike = 0.0,
    origin: int = 0,
) -> Any:
    """As `scipy.ndimage.uniform_filter1d`."""
    line = traced(np.full(size, 1.0 / size))
    return _along(_image(input), line, axis, mode, cval, origin, input)


@eager
def uniform_filter(
    input: ArrayLike,
    size: Any = 3,
    output: None = None,
    mode: str = "reflect",
    cval: ArrayLike = 0.0,
    origin: Any = 0,
) -> Any:
    """As `scipy.ndimage.uniform_filter`: along each axis in turn."""
    made = _image(input)
    sizes = list(size) if isinstance(size, list | tuple) else [size] * made.ndim
    for axis, (width, shift) in enumerate(zip(sizes, _origins(origin, made.ndim), strict=True)):
        made = uniform_filter1d(made, width, axis, None, mode, cval, shift)
    return _as_input(made, input)


def _slope_filter(name: str, smooth: tuple[float, float, float]) -> Callable[..., Any]:
    def function(
        input: ArrayLike,
        axis: int = -1,
        output: None = None,
        mode: str = "reflect",
        cval: ArrayLike = 0.0,
    ) -> Any:
        made = _image(input)
        place = normalize_axis(axis, made.ndim)
        made = _along(made, traced(np.array([-1.0, 0.0, 1.0])), place, mode, cval, 0, made)
        for other in range(made.ndim):
            if other != place:
                made = _along(made, traced(np.array(smooth)), other, mode, cval, 0, made)
        return _as_input(made, input)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"As `scipy.ndimage.{name}`."
    return eager(function)


sobel = _slope_filter("sobel", (1.0, 2.0, 1.0))
prewitt = _slope_filter("prewitt", (1.0, 1.0, 1.0))


@eager
def laplace(
    input: ArrayLike, output: None = None, mode: str = "reflect", cval: ArrayLike = 0.0
) -> Any:
    """As `scipy.ndimage.laplace`: the sum of second differences along all axes."""
    image = _image(input)
    line = traced(np.array([1.0, -2.0, 1.0]))
    parts = [_along(image, line, axis, mode, cval, 0, image) for axis in range(image.ndim)]
    return _as_input(sum(parts[1:], parts[0]), input)


# --- pieces of filters --------------------------------------------------------------------------


def _image(input: ArrayLike) -> Any:
    return wrap(lift(input, float_dtype(input)))


def _as_input(made: Any, input: ArrayLike) -> Any:
    return made.astype(lift(input).type.dtype.numpy)


def _origins(origin: Any, rank: int) -> list[int]:
    return list(origin) if isinstance(origin, list | tuple) else [origin] * rank


def _filtered(
    image: Any, kernel: Any, mode: str, cval: ArrayLike, shifts: list[int], input: ArrayLike
) -> Any:
    """The sums of products of a kernel with the image around each pixel."""
    if kernel.ndim != image.ndim:
        raise ShapeError(f"the image has {image.ndim} axes, the weights {kernel.ndim}")
    if mode not in _PADDING:
        raise trace_error(f"mode is one of {', '.join(_PADDING)}, got {mode!r}")
    width = [
        (size // 2 + shift, size - 1 - size // 2 - shift)
        for size, shift in zip(kernel.shape, shifts, strict=True)
    ]
    if any(min(pair) < 0 for pair in width):
        raise ShapeError(f"origin {shifts} moves the middle out of weights of {kernel.shape}")
    options: dict[str, Any] = {"constant_values": cval} if _PADDING[mode] == "constant" else {}
    padded = np.pad(image, width, _PADDING[mode], **options)
    rank = image.ndim
    made = convolution(
        reshape(lift(padded), (1, 1, *padded.shape)),
        reshape(lift(kernel, lift(image).type.dtype), (1, 1, *kernel.shape)),
        strides=(1,) * rank,
        padding=((0, 0),) * rank,
        lhs_dilation=(1,) * rank,
        rhs_dilation=(1,) * rank,
    )
    return _as_input(wrap(reshape(made, made.type.shape[2:])), input)


def _along(
    image: Any, line: Any, axis: int, mode: str, cval: ArrayLike, shift: int, input: ArrayLike
) -> Any:
    """A filter along one axis."""
    if line.ndim != 1:
        raise ShapeError(f"weights along an axis have rank 1, got {line.shape}")
    place = normalize_axis(axis, image.ndim)
    sizes = [1] * image.ndim
    sizes[place] = line.shape[0]
    shifts = [shift if a == place else 0 for a in range(image.ndim)]
    return _filtered(image, np.reshape(line, sizes), mode, cval, shifts, input)


# --- sampling -----------------------------------------------------------------------------------


def _wrapped(index: Any, size: int, mode: str) -> Any:
    """Whole positions moved inside the image, as it goes on beyond its edges."""
    if mode in ("wrap", "grid-wrap"):
        # SciPy's wrap takes the last pixel for the first of the next period.
        return index % max(size - 1 if mode == "wrap" else size, 1)
    if mode in ("reflect", "grid-mirror"):
        folded = index % (2 * size)
        return np.minimum(folded, 2 * size - 1 - folded)
    if mode == "mirror":
        if size == 1:
            return index * 0
        folded = index % (2 * size - 2)
        return np.minimum(folded, 2 * size - 2 - folded)
    return np.clip(index, 0, size - 1)


@eager
def map_coordinates(
    input: ArrayLike,
    coordinates: Any,
    output: None = None,
    order: int = 3,
    mode: str = "constant",
    cval: ArrayLike = 0.0,
    prefilter: bool = True,
) -> Any:
    """As `scipy.ndimage.map_coordinates`: the image between its pixels, by splines.

    Gradients flow to the image, and from order 1 on to the coordinates.
    """
    if order not in splines.ORDERS:
        raise trace_error(f"map_coordinates: order is a whole number from 0 to 5, got {order}")
    if mode not in _PADDING:
        raise trace_error(f"mode is one of {', '.join(_PADDING)}, got {mode!r}")
    image = _image(input)
    places = [_image(part) for part in coordinates]
    if len(places) != image.ndim:
        raise ShapeError(f"there are {len(places)} coordinates for {image.ndim} axes")
    is_inside = _within(places, image.shape) if mode == "constant" else None
    if mode == "wrap":
        periods = [max(size - 1, 1) for size in image.shape]
        places = [place - np.floor(place / p) * p for place, p in zip(places, periods, strict=True)]
    if order > 1:
        image, places = _splined(image, places, order if prefilter else 0, mode, cval)
        # Where SciPy's filter has no ending of its own, the coefficients are mirrored.
        mode = "mirror" if mode in ("constant", "wrap") else mode
    nodes = [splines.weights(place, order) for place in places]
    total: Any = 0.0
    for corner in itertools.product(*nodes):
        weight = math.prod([node[1] for node in corner[1:]], start=corner[0][1])
        total = total + weight * _pixels(image, [node[0] for node in corner], mode, cval)
    if is_inside is not None:
        total = np.where(is_inside, total, traced(cval))
    return _rounded(total, input)


def _splined(
    image: Any, places: list[Any], order: int, mode: str, cval: ArrayLike
) -> tuple[Any, list[Any]]:
    """The coefficients of splines through an image, and places in them; order 0 leaves it as it is.

    As in SciPy, an image that goes on by a constant is made larger, as its coefficients do not.
    """
    width = _BORDER if order and mode in ("nearest", "grid-constant") else 0
    if width:
        options: dict[str, Any] = {} if mode == "nearest" else {"constant_values": cval}
        image = np.pad(image, width, _PADDING[mode], **options)
        places = [place + width for place in places]
    if mode == "nearest":
        bounds = zip(places, image.shape, strict=True)
        places = [np.clip(place, 0, size - 1) for place, size in bounds]
    endings = {"reflect": "reflect", "grid-mirror": "reflect", "nearest": "reflect"}
    ending = endings.get(mode, "grid-wrap" if mode == "grid-wrap" else "mirror")
    for axis in range(image.ndim if order else 0):
        line = traced(splines.inverse_filter(order))
        # Along an axis of one pixel, that is the spline.
        if image.shape[axis] > 1:
            image = _along(image, line, axis, ending, 0.0, 0, image)
    return image, places


def _within(places: list[Any], shape: tuple[int, ...]) -> Any:
    """Whether places lie between the outermost pixels."""
    inside: Any = True
    for place, size in zip(places, shape, strict=True):
        inside = inside & (place >= 0) & (place <= size - 1)
    return inside


def _pixels(image: Any, index: list[Any], mode: str, cval: ArrayLike) -> Any:
    """The image at whole positions."""
    pairs = list(zip(index, image.shape, strict=True))
    kind = "clip" if mode == "wrap" else mode
    read = image[tuple(_wrapped(i, size, kind) for i, size in pairs)]
    if mode != "grid-constant":
        return read
    return np.where(_within(index, image.shape), read, traced(cval))


def _rounded(made: Any, input: ArrayLike) -> Any:
    dtype = lift(input).type.dtype
    return (
        made.astype(dtype.numpy) if dtype.is_inexact else np.floor(made + 0.5).astype(dtype.numpy)
    )


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"scipy.ndimage.{name} has no traced version; weft.scipy.ndimage has filters and "
        "map_coordinates, wf.callback calls SciPy's"
    )
