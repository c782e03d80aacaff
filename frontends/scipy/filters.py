"""Linear filters and spectra of `scipy.signal` on traced arrays: recursions along an axis as scans.

Coefficients may be traced, so that filters can be fitted.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft.compiler.ir.errors import ShapeError
from weft.frontends.eager.anywhere import eager
from weft.frontends.regions.control import scan
from weft.frontends.scipy import linalg
from weft.frontends.scipy.floats import floats, traced
from weft.frontends.tracing.core import normalize_axis, trace_error
from weft.frontends.tracing.trace import ArrayLike

__all__ = [
    "filtfilt",
    "lfilter",
    "lfilter_zi",
    "periodogram",
    "savgol_filter",
    "sosfilt",
    "sosfilt_zi",
    "sosfiltfilt",
    "welch",
]


@eager
def lfilter(b: ArrayLike, a: ArrayLike, x: ArrayLike, axis: int = -1, zi: Any = None) -> Any:
    """As `scipy.signal.lfilter`: a rational filter, of which `zi` is the state at the start.

    >>> import numpy as np, weft as wf
    >>> wf.scipy.signal.lfilter(np.array([1.0]), np.array([1.0, -0.5]), np.ones(3))
    array([1.  , 1.5 , 1.75])
    """
    numerator, denominator, signal = _floats(b, a, x)
    first, last = _normalised(numerator, denominator)
    order = first.shape[0] - 1
    along = normalize_axis(axis, signal.ndim)
    rows = np.moveaxis(signal, along, 0)
    if zi is None:
        state = np.zeros((order, *rows.shape[1:]), rows.dtype)
    else:
        state = np.moveaxis(_floats(zi, x)[0].astype(rows.dtype), along, 0)
        state = np.broadcast_to(state, (order, *rows.shape[1:]))
    end, made = _recursion(first, last, state, rows)
    result = np.moveaxis(made, 0, along)
    return result if zi is None else (result, np.moveaxis(end, 0, along))


def _recursion(first: Any, last: Any, state: Any, rows: Any) -> tuple[Any, Any]:
    """The state at the end and the results of a transposed direct form of the second kind."""
    order = first.shape[0] - 1
    if order == 0:
        return state, rows * first[0]
    column = (order, *[1] * (rows.ndim - 1))
    by_input, by_output = first[1:].reshape(column), last[1:].reshape(column)

    def step(state: Any, row: Any) -> tuple[Any, Any]:
        out = state[0] + first[0] * row
        moved = np.concatenate([state[1:], np.zeros_like(state[:1])])
        return moved + by_input * row - by_output * out, out

    return scan(step, state, rows)  # type: ignore[no-any-return]


def _normalised(numerator: Any, denominator: Any) -> tuple[Any, Any]:
    """Both polynomials, of one length, with a first coefficient of 1 below."""
    if numerator.ndim != 1 or denominator.ndim != 1:
        raise ShapeError("a filter has coefficients of rank 1")
    size = max(numerator.shape[0], denominator.shape[0])
    scaled = [
        np.pad(each / denominator[0], (0, size - each.shape[0]))
        for each in (numerator, denominator)
    ]
    return scaled[0], scaled[1]


@eager
def lfilter_zi(b: ArrayLike, a: ArrayLike) -> Any:
    """As `scipy.signal.lfilter_zi`: the state of the filter after a long time of ones."""
    first, last = _normalised(*_floats(b, a))
    order = first.shape[0] - 1
    companion = linalg.companion(last)
    right = first[1:] - last[1:] * first[0]
    return np.linalg.solve(np.eye(order, dtype=last.dtype) - companion.T, right)


@eager
def filtfilt(
    b: ArrayLike,
    a: ArrayLike,
    x: ArrayLike,
    axis: int = -1,
    padtype: str | None = "odd",
    padlen: int | None = None,
) -> Any:
    """As `scipy.signal.filtfilt` with `method="pad"`: forward and backward, without a phase."""
    numerator, denominator, signal = _floats(b, a, x)
    along = normalize_axis(axis, signal.ndim)
    longest = max(numerator.shape[0], denominator.shape[0])
    rows = np.moveaxis(signal, along, 0)
    extended, edge = _extended(rows, padtype, 3 * longest if padlen is None else padlen)
    start = lfilter_zi(numerator, denominator)
    start = start.reshape(-1, *[1] * (rows.ndim - 1))

    def once(rows: Any) -> Any:
        return lfilter(numerator, denominator, rows, axis=0, zi=start * rows[:1])[0]

    made = once(once(extended)[::-1])[::-1]
    return np.moveaxis(made[edge : made.shape[0] - edge], 0, along)


def _extended(rows: Any, kind: str | None, edge: int) -> tuple[Any, int]:
    """Rows continued beyond both ends, and by how many."""
    if kind is None or edge == 0:
        return rows, 0
    count = rows.shape[0]
    if count <= edge:
        raise ValueError(
            f"The length of the input vector x must be greater than padlen, which is {edge}."
        )
    left, right = rows[edge:0:-1], rows[-2 : -(edge + 2) : -1]
    if kind == "odd":
        left, right = 2 * rows[:1] - left, 2 * rows[-1:] - right
    elif kind == "constant":
        left, right = [np.broadcast_to(part, left.shape) for part in (rows[:1], rows[-1:])]
    elif kind != "even":
        raise trace_error(f"padtype is 'odd', 'even', 'constant' or None, got {kind!r}")
    return np.concatenate([left, rows, right]), edge


def detrended(values: Any, axis: int, kind: str) -> Any:
    """Values without their mean, or without their line of best fit, along an axis."""
    rows: Any = np.moveaxis(values, axis, -1)
    rows = rows - np.mean(rows, axis=-1, keepdims=True)
    if kind == "linear":
        steps = np.arange(rows.shape[-1]) - (rows.shape[-1] - 1) / 2
        steps = steps.astype(rows.dtype)
        slope = np.sum(rows * steps, axis=-1, keepdims=True) / np.sum(steps * steps)
        rows = rows - slope * steps
    elif kind != "constant":
        raise trace_error(f"detrend: type is 'linear' or 'constant', got {kind!r}")
    return np.moveaxis(rows, -1, axis)


# --- sections -----------------------------------------------------------------------------------


@eager
def sosfilt(sos: ArrayLike, x: ArrayLike, axis: int = -1, zi: Any = None) -> Any:
    """As `scipy.signal.sosfilt`: sections of the second order, one after another."""
    sections, signal = _floats(sos, x)
    along = normalize_axis(axis, signal.ndim)
    rows = np.moveaxis(signal, along, 0)
    count = sections.shape[0]
    starts: Any = np.zeros((count, 2, *rows.shape[1:]), rows.dtype)
    if zi is not None:
        starts = np.moveaxis(_floats(zi, x)[0], along + 1, 1).astype(rows.dtype)
    ends = []
    for number in range(count):
        section = sections[number]
        first, last = _normalised(section[:3], section[3:])
        start = np.broadcast_to(starts[number], (2, *rows.shape[1:]))
        end, rows = _recursion(first, last, start, rows)
        ends.append(end)
    result = np.moveaxis(rows, 0, along)
    return result if zi is None else (result, np.moveaxis(np.stack(ends), 1, along + 1))


@eager
def sosfilt_zi(sos: ArrayLike) -> Any:
    """As `scipy.signal.sosfilt_zi`."""
    (sections,) = _floats(sos)
    scale: Any = np.ones((), sections.dtype)
    made = []
    for number in range(sections.shape[0]):
        first, last = sections[number, :3], sections[number, 3:]
        made.append(scale * lfilter_zi(first, last))
        scale = scale * np.sum(first) / np.sum(last)
    return np.stack(made)


@eager
def sosfiltfilt(
    sos: ArrayLike,
    x: ArrayLike,
    axis: int = -1,
    padtype: str | None = "odd",
    padlen: int | None = None,
) -> Any:
    """As `scipy.signal.sosfiltfilt`; coefficients that are traced need a `padlen`."""
    sections, signal = _floats(sos, x)
    along = normalize_axis(axis, signal.ndim)
    if padlen is None:
        known = np.asarray(sos)
        zeros = min((known[:, 2] == 0).sum(), (known[:, 5] == 0).sum())
        padlen = int(3 * (2 * len(known) + 1 - zeros))
    rows = np.moveaxis(signal, along, 0)
    extended, edge = _extended(rows, padtype, padlen)
    start = sosfilt_zi(sections)
    start = start.reshape(*start.shape, *[1] * (rows.ndim - 1))

    def once(rows: Any) -> Any:
        return sosfilt(sections, rows, axis=0, zi=start * rows[:1])[0]

    made = once(once(extended)[::-1])[::-1]
    return np.moveaxis(made[edge : made.shape[0] - edge], 0, along)


# --- windows ------------------------------------------------------------------------------------


@eager
def savgol_filter(
    x: ArrayLike,
    window_length: int,
    polyorder: int,
    deriv: int = 0,
    delta: float = 1.0,
    axis: int = -1,
    mode: str = "interp",
    cval: float = 0.0,
) -> Any:
    """As `scipy.signal.savgol_filter`: polynomials fitted to windows."""
    (signal,) = _floats(x)
    along = normalize_axis(axis, signal.ndim)
    rows = np.moveaxis(signal, along, -1)
    half, count = window_length // 2, rows.shape[-1]
    line = _fit(np.arange(window_length) - half, [0.0], polyorder, deriv, delta)[0]
    if window_length % 2 == 0:
        line = _fit(np.arange(window_length) - half + 0.5, [0.0], polyorder, deriv, delta)[0]
    modes = {"mirror": "reflect", "nearest": "edge", "wrap": "wrap", "constant": "constant"}
    if mode != "interp" and mode not in modes:
        raise ValueError("mode must be 'mirror', 'constant', 'nearest' 'wrap' or 'interp'.")
    if mode == "interp" and window_length > count:
        raise ValueError("If mode is 'interp', window_length must be less than or equal to x.")
    width = [(0, 0)] * (rows.ndim - 1) + [(window_length - 1 - half, half)]
    options: dict[str, Any] = {"constant_values": cval} if mode == "constant" else {}
    how: Any = modes.get(mode, "constant")
    padded = np.pad(rows, width, how, **options)
    places = np.arange(count)[:, None] + np.arange(window_length)
    made = padded[..., places] @ line.astype(rows.dtype)
    if mode == "interp":
        made = _with_fitted_ends(made, rows, window_length, (polyorder, deriv, delta))
    return np.moveaxis(made, -1, along)


def _with_fitted_ends(made: Any, rows: Any, window: int, order: tuple[int, int, float]) -> Any:
    """The ends replaced by polynomials through the first and last windows."""
    half, count = window // 2, rows.shape[-1]
    places = np.arange(window)
    left = rows[..., :window] @ _fit(places, places[:half], *order).T.astype(rows.dtype)
    right = rows[..., count - window :] @ _fit(places, places[window - half :], *order).T.astype(
        rows.dtype
    )
    return np.concatenate([left, made[..., half : count - half], right], axis=-1)


def _fit(places: Any, at: Any, order: int, deriv: int, delta: float) -> Any:
    """What gives the derivative of a fitted polynomial, as weights of the samples."""
    if order >= len(places):
        raise ValueError("polyorder must be less than window_length.")
    powers = np.arange(order + 1)
    inverse = np.linalg.pinv(np.asarray(places, float)[:, None] ** powers)
    factors = np.array([math.perm(k, deriv) for k in powers])
    basis = factors * np.asarray(at, float)[:, None] ** np.maximum(powers - deriv, 0)
    return basis @ inverse / delta**deriv


# --- spectra ------------------------------------------------------------------------------------


@eager
def welch(
    x: ArrayLike,
    fs: float = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> Any:
    """As `scipy.signal.welch`, of real signals: the mean of spectra of windows."""
    (signal,) = _floats(x)
    rows = np.moveaxis(signal, normalize_axis(axis, signal.ndim), -1)
    count = rows.shape[-1]
    weights = None if isinstance(window, str | tuple) else np.asarray(window)
    size = len(weights) if weights is not None else min(nperseg or 256, count)
    if weights is None:
        from scipy.signal import get_window

        weights = get_window(window, size)
    step = size - (size // 2 if noverlap is None else noverlap)
    starts = np.arange(0, count - size + 1, step)
    segments = rows[..., starts[:, None] + np.arange(size)]
    power, frequencies = _power(
        segments, weights.astype(rows.dtype), fs, nfft or size, (detrend, return_onesided, scaling)
    )
    if average == "median":
        odd = np.arange(1, (len(starts) - 1) // 2 + 1) * 2.0
        bias = 1 + np.sum(1 / (odd + 1) - 1 / odd)
        made = np.median(power, axis=-2) / bias
    else:
        made = np.mean(power, axis=-2)
    return frequencies, np.moveaxis(made, -1, axis)


@eager
def periodogram(
    x: ArrayLike,
    fs: float = 1.0,
    window: Any = "boxcar",
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
) -> Any:
    """As `scipy.signal.periodogram`, of real signals."""
    count: Any = np.shape(traced(x))[axis]
    if nfft is not None and nfft < count:
        raise trace_error("periodogram: an nfft below the number of samples is not traced")
    return welch(
        x,
        fs,
        window,
        nperseg=count,
        noverlap=0,
        nfft=nfft,
        detrend=detrend,
        return_onesided=return_onesided,
        scaling=scaling,
        axis=axis,
    )


def _power(
    segments: Any, weights: Any, fs: float, size: int, options: tuple[Any, bool, str]
) -> tuple[Any, Any]:
    """Power spectra along the last axis, and their frequencies."""
    trend, is_one_sided, scaling = options
    if trend:
        segments = trend(segments) if callable(trend) else detrended(segments, -1, trend)
    windowed = segments * weights
    if scaling not in ("density", "spectrum"):
        raise ValueError(f"Unknown scaling: {scaling!r}")
    scale = 1 / (fs * np.sum(weights**2)) if scaling == "density" else 1 / np.sum(weights) ** 2
    if segments.dtype.kind == "c" or not is_one_sided:
        made = np.fft.fft(windowed, size)
        return np.real(made * np.conj(made)) * scale, np.fft.fftfreq(size, 1 / fs)
    made = np.fft.rfft(windowed, size)
    power = np.real(made * np.conj(made)) * scale
    twice = np.full(power.shape[-1], 2.0, weights.dtype)
    twice[0] = 1.0
    if size % 2 == 0:
        twice[-1] = 1.0
    return power * twice, np.fft.rfftfreq(size, 1 / fs)


def _floats(*operands: Any) -> list[Any]:
    return floats(*[traced(operand) for operand in operands])
