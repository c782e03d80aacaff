"""`scipy.integrate` on traced arrays: integrals of samples, and of functions by fixed rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.compiler.ir.errors import ShapeError
from weft.frontends.eager.anywhere import eager
from weft.frontends.scipy.floats import traced
from weft.frontends.tracing.core import normalize_axis, trace_error
from weft.frontends.tracing.trace import ArrayLike

__all__ = [
    "cumulative_simpson",
    "cumulative_trapezoid",
    "fixed_quad",
    "romb",
    "simpson",
    "trapezoid",
]


@eager
def trapezoid(y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1) -> Any:
    """As `scipy.integrate.trapezoid`."""
    values, widths = _samples(y, x, dx, axis)
    return np.sum(_panels(values, widths), axis=-1)


@eager
def cumulative_trapezoid(
    y: ArrayLike,
    x: ArrayLike | None = None,
    dx: ArrayLike = 1.0,
    axis: int = -1,
    initial: ArrayLike | None = None,
) -> Any:
    """As `scipy.integrate.cumulative_trapezoid`.

    >>> import numpy as np, weft as wf
    >>> wf.scipy.integrate.cumulative_trapezoid(np.array([1.0, 3.0, 5.0]), initial=0)
    array([0., 2., 6.])
    """
    values, widths = _samples(y, x, dx, axis)
    made = np.cumsum(_panels(values, widths), axis=-1)
    return _from_last(_with_initial(made, initial), axis)


@eager
def simpson(
    y: ArrayLike, x: ArrayLike | None = None, *, dx: ArrayLike = 1.0, axis: int = -1
) -> Any:
    """As `scipy.integrate.simpson`: of an even number of samples, the last interval is that of the
    parabola through the last three.
    """
    values, widths = _samples(y, x, dx, axis)
    count = values.shape[-1]
    if count < 3:
        return np.sum(_panels(values, widths), axis=-1)
    last = count if count % 2 else count - 1
    made = np.sum(_parabolas(values[..., :last], widths[..., : last - 1]), axis=-1)
    if last < count:
        ends = values[..., ::-1][..., :3], widths[..., ::-1][..., :2]
        made = made + _first_half(*ends)[..., 0]
    return made


@eager
def cumulative_simpson(
    y: ArrayLike,
    *,
    x: ArrayLike | None = None,
    dx: ArrayLike = 1.0,
    axis: int = -1,
    initial: ArrayLike | None = None,
) -> Any:
    """As `scipy.integrate.cumulative_simpson`."""
    values, widths = _samples(y, x, dx, axis)
    count = values.shape[-1]
    if count < 3:
        parts = _panels(values, widths)
    else:
        forward = _first_half(values, widths)
        backward = _first_half(values[..., ::-1], widths[..., ::-1])[..., ::-1]
        steps = np.arange(count - 1)
        # The first half of a parabola at even places, the second half of the same at odd ones.
        first = np.concatenate([forward, backward[..., -1:]], axis=-1)
        second = np.concatenate([forward[..., :1], backward], axis=-1)
        is_first = (steps % 2 == 0) & (steps < count - 2)
        parts = np.where(is_first, first, second)
    made = np.cumsum(parts, axis=-1)
    if initial is None:
        return _from_last(made, axis)
    return _from_last(_with_initial(made + traced(initial), initial), axis)


@eager
def romb(y: ArrayLike, dx: ArrayLike = 1.0, axis: int = -1) -> Any:
    """As `scipy.integrate.romb`, of 2**k + 1 samples."""
    values = np.moveaxis(_floating(y), axis, -1)
    panels = values.shape[-1] - 1
    levels = panels.bit_length() - 1
    if panels != 1 << levels:
        raise ValueError("Number of samples must be one plus a non-negative power of 2.")
    width: Any = traced(dx) * panels
    rows = [(values[..., 0] + values[..., -1]) / 2 * width]
    for level in range(1, levels + 1):
        step = panels >> level
        inner = np.sum(values[..., step : -1 : 2 * step], axis=-1)
        row = [rows[0] / 2 + inner * width / (1 << level)]
        for order, before in enumerate(rows, 1):
            row.append(row[-1] + (row[-1] - before) / (4**order - 1))
        rows = row
    return rows[-1]


@eager
def fixed_quad(
    func: Callable[..., Any], a: ArrayLike, b: ArrayLike, args: tuple[Any, ...] = (), n: int = 5
) -> tuple[Any, None]:
    """As `scipy.integrate.fixed_quad`: Gauss and Legendre's rule of order `n`."""
    nodes, weights = np.polynomial.legendre.leggauss(n)
    low, high = _floating(a), _floating(b)
    places = (high - low) * (nodes + 1) / 2 + low
    return (high - low) / 2 * np.sum(weights * func(places, *args), axis=-1), None


# --- pieces -------------------------------------------------------------------------------------


def _floating(y: ArrayLike) -> Any:
    values: Any = traced(y)
    return values if values.dtype.kind in "fc" else values.astype("float64")


def _samples(y: ArrayLike, x: ArrayLike | None, dx: ArrayLike, axis: int) -> tuple[Any, Any]:
    """Samples along the last axis, and the widths between them."""
    given = _floating(y)
    values = np.moveaxis(given, normalize_axis(axis, given.ndim), -1)
    count = values.shape[-1]
    if not isinstance(count, int):
        raise trace_error(f"the number of samples is {count}; integrals need it to be known")
    if x is None:
        return values, np.broadcast_to(traced(dx), (*[1] * (values.ndim - 1), count - 1))
    places: Any = traced(x)
    if places.ndim > 1:
        places = np.moveaxis(places, normalize_axis(axis, places.ndim), -1)
    if places.shape[-1] != count:
        raise ShapeError(f"there are {count} samples at {places.shape[-1]} places")
    return values, np.diff(places, axis=-1)


def _panels(values: Any, widths: Any) -> Any:
    return widths * (values[..., 1:] + values[..., :-1]) / 2.0


def _parabolas(values: Any, widths: Any) -> Any:
    """Integrals over pairs of intervals."""
    one, other = widths[..., ::2], widths[..., 1::2]
    left, middle, right = values[..., :-2:2], values[..., 1::2], values[..., 2::2]
    both, ratio = one + other, one / other
    inner = middle * both * both / (one * other)
    return both / 6.0 * (left * (2.0 - 1.0 / ratio) + inner + right * (2.0 - ratio))


def _first_half(values: Any, widths: Any) -> Any:
    """Integrals over the first intervals of the parabolas through three samples in a row."""
    one, other = widths[..., :-1], widths[..., 1:]
    left, middle, right = values[..., :-2], values[..., 1:-1], values[..., 2:]
    both = one + other
    by_left = 3 - one / both
    by_middle = 3 + one * one / (other * both) + one / both
    by_right = -one * one / (other * both)
    return one / 6 * (by_left * left + by_middle * middle + by_right * right)


def _with_initial(made: Any, initial: ArrayLike | None) -> Any:
    if initial is None:
        return made
    first = np.broadcast_to(traced(initial), (*made.shape[:-1], 1)).astype(made.dtype)
    return np.concatenate([first, made], axis=-1)


def _from_last(made: Any, axis: int) -> Any:
    return np.moveaxis(made, -1, axis)


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"scipy.integrate.{name} has no traced version; weft.scipy.integrate has integrals of "
        "samples and fixed_quad, wf.scan steps through time, wf.callback calls SciPy's"
    )
