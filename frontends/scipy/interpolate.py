"""`scipy.interpolate` on traced arrays: piecewise polynomials and regular grids.

What SciPy has made of known samples can be evaluated at traced places as well: `evaluated` finds
the version for an interpolator of SciPy's. Places have no order; samples have to be in order.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from weft.frontends.eager.anywhere import eager
from weft.frontends.numpy.functions.namespace import BY_NUMPY
from weft.frontends.scipy.floats import float_dtype, traced
from weft.frontends.tracing.core import lift, trace_error
from weft.frontends.tracing.failing import fail_where
from weft.frontends.tracing.trace import ArrayLike, find_trace

__all__ = [
    "Akima1DInterpolator",
    "CubicSpline",
    "PPoly",
    "PchipInterpolator",
    "RegularGridInterpolator",
    "interp1d",
]


class PPoly:
    """As `scipy.interpolate.PPoly`: pieces of polynomials, of which `c[0]` is the highest power."""

    def __init__(self, c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> None:
        self.c, self.x, self.axis = c, x, axis
        self.extrapolate = True if extrapolate is None else extrapolate

    def __call__(self, x: ArrayLike, nu: int = 0, extrapolate: Any = None) -> Any:
        how = self.extrapolate if extrapolate is None else extrapolate
        return eager(lambda x, c, knots: self._evaluated(x, c, knots, nu, how))(x, self.c, self.x)

    def _evaluated(self, x: Any, c: Any, knots: Any, nu: int, extrapolate: Any) -> Any:
        places, pieces, ends = _floating(x), _floating(c), _floating(knots)
        if extrapolate == "periodic":
            places = ends[0] + (places - ends[0]) % (ends[-1] - ends[0])
        number = _piece(ends, places)
        inside = places - ends[number]
        inside = inside.reshape(inside.shape + (1,) * (pieces.ndim - 2))
        order = pieces.shape[0] - 1
        made: Any = None
        for power in range(order, nu - 1, -1):
            term = pieces[order - power][number] * math.perm(power, nu)
            made = term if made is None else made * inside + term
        if made is None:
            made = np.zeros_like(pieces[0][number] * inside)
        if not extrapolate:
            is_out = (places < ends[0]) | (places > ends[-1])
            made = np.where(is_out.reshape(inside.shape), np.nan, made)
        return _with_axis(made, np.ndim(x), self.axis)

    def derivative(self, nu: int = 1) -> PPoly:
        """As `scipy.interpolate.PPoly.derivative`."""

        def rows(c: Any) -> Any:
            order = c.shape[0] - 1
            made = [c[order - k] * math.perm(k, nu) for k in range(order, nu - 1, -1)]
            return BY_NUMPY[np.stack](made or [c[0] * 0.0])

        return PPoly(eager(rows)(self.c), self.x, self.extrapolate, self.axis)


def _piece(knots: Any, places: Any) -> Any:
    """The number of the piece that each place is in; the first and last go on beyond the ends."""
    count = knots.shape[0] - 1
    return np.clip(np.searchsorted(knots, places, side="right") - 1, 0, count - 1)


def _with_axis(made: Any, rank: int, axis: int) -> Any:
    """The axes of the places, which are the first, in place of the axis interpolated along."""
    rest = list(range(rank, made.ndim))
    return np.transpose(made, [*rest[:axis], *range(rank), *rest[axis:]])


def _hermite(x: Any, y: Any, slopes: Any) -> Any:
    """The pieces of cubic polynomials with values and slopes at samples."""
    widths = _column(np.diff(x), y)
    secants = np.diff(y, axis=0) / widths
    rest = (slopes[:-1] + slopes[1:] - 2 * secants) / widths
    rows = [rest / widths, (secants - slopes[:-1]) / widths - rest, slopes[:-1], y[:-1]]
    return BY_NUMPY[np.stack](rows)


def _column(line: Any, y: Any) -> Any:
    return line.reshape(-1, *[1] * (y.ndim - 1))


def _samples(x: ArrayLike, y: ArrayLike, axis: int) -> tuple[Any, Any]:
    values = _floating(y)
    return _floating(x), np.moveaxis(values, axis, 0)


def _rank(y: Any) -> int:
    return int(np.ndim(y))


def _floating(x: ArrayLike) -> Any:
    values: Any = traced(x)
    return values.astype(float_dtype(values).numpy)


class _Cubic(PPoly):
    """Cubic pieces whose slopes at the samples a function finds."""

    _slopes: Callable[..., Any]

    def __init__(
        self, x: ArrayLike, y: ArrayLike, axis: int = 0, extrapolate: Any = None, **how: Any
    ):
        def pieces(x: Any, y: Any) -> Any:
            places, values = _samples(x, y, axis)
            return _hermite(places, values, type(self)._slopes(places, values, **how))

        super().__init__(eager(pieces)(x, y), x, extrapolate, axis % _rank(y))


class CubicSpline(_Cubic):
    """As `scipy.interpolate.CubicSpline`, with the ends not-a-knot, natural, clamped or given as
    (order, value); of n samples it solves an n x n system.
    """

    def __init__(
        self,
        x: ArrayLike,
        y: ArrayLike,
        axis: int = 0,
        bc_type: Any = "not-a-knot",
        extrapolate: Any = None,
    ) -> None:
        super().__init__(x, y, axis, extrapolate, ends=bc_type)

    @staticmethod
    def _slopes(x: Any, y: Any, ends: Any) -> Any:
        first, last = ends if isinstance(ends, tuple) else (ends, ends)
        count = x.shape[0]
        widths = np.diff(x)
        wide = _column(widths, y)
        secants = np.diff(y, axis=0) / wide
        if count == 2:
            first, last = [(1, secants[0]) if e == "not-a-knot" else e for e in (first, last)]
        if count == 3 and first == last == "not-a-knot":
            return _parabola(widths, wide, secants)
        start = _end(first, 1, widths, wide, secants)
        matrix, right = _inner(widths, wide, secants, count)
        final = _end(last, -1, widths[::-1], wide[::-1], secants[::-1])
        system = np.concatenate([start[0][None], matrix, final[0][::-1][None]])
        whole = np.concatenate([start[1][None], right, final[1][None]])
        flat = whole.reshape(count, -1)
        return np.linalg.solve(system, flat).reshape(whole.shape)


def _inner(widths: Any, wide: Any, secants: Any, count: int) -> tuple[Any, Any]:
    """The equations of smoothness at all samples but the ends."""
    before, after = widths[:-1], widths[1:]
    eye: Any = np.eye(count - 2, count, dtype=widths.dtype)
    lower, upper = after[:, None] * eye, before[:, None] * np.roll(eye, 2, axis=1)
    matrix = lower + 2 * (before + after)[:, None] * np.roll(eye, 1, axis=1) + upper
    return matrix, 3 * (wide[1:] * secants[:-1] + wide[:-1] * secants[1:])


def _end(kind: Any, sign: int, widths: Any, wide: Any, secants: Any) -> tuple[Any, Any]:
    """The equation at the first sample, or with turned arrays and a sign of -1 at the last."""
    count = widths.shape[0] + 1
    line: Any = np.zeros(count, dtype=np.dtype(widths.dtype))
    if kind == "not-a-knot":
        both = widths[0] + widths[1]
        row = [widths[1], both]
        right = (wide[0] + 2 * (wide[0] + wide[1])) * wide[1] * secants[0]
        right = (right + wide[0] ** 2 * secants[1]) / (wide[0] + wide[1])
    else:
        named = {"clamped": (1, 0.0), "natural": (2, 0.0)}
        if not isinstance(kind, tuple):
            if kind not in named:
                raise trace_error(
                    f"CubicSpline: bc_type {kind!r} is not traced; it is 'not-a-knot', 'natural', "
                    "'clamped' or (order, value)"
                )
            kind = named[kind]
        order, value = kind
        if order == 1:
            row, right = [1.0, 0.0], value + 0 * secants[0]
        else:
            row, right = (
                [2 * widths[0], widths[0]],
                3 * secants[0] * wide[0] - sign * value * wide[0] ** 2 / 2,
            )
    places = BY_NUMPY[np.stack]([traced(part).astype(widths.dtype) for part in row])
    return np.concatenate([places, traced(line)[2:]]), right


def _parabola(widths: Any, wide: Any, secants: Any) -> Any:
    """The slopes of the parabola through three samples."""
    bend = (secants[1] - secants[0]) / (wide[0] + wide[1])
    slopes = [secants[0] - bend * wide[0], secants[0] + bend * wide[0], secants[1] + bend * wide[1]]
    return BY_NUMPY[np.stack](slopes)


class PchipInterpolator(_Cubic):
    """As `scipy.interpolate.PchipInterpolator`: pieces are monotone where samples are."""

    @staticmethod
    def _slopes(x: Any, y: Any) -> Any:
        widths = _column(np.diff(x), y)
        secants = np.diff(y, axis=0) / widths
        if y.shape[0] == 2:
            return np.concatenate([secants, secants])
        one, other = secants[:-1], secants[1:]
        is_flat = (np.sign(one) != np.sign(other)) | (one == 0) | (other == 0)
        left, right = np.where(is_flat, 1.0, one), np.where(is_flat, 1.0, other)
        by_left, by_right = 2 * widths[1:] + widths[:-1], widths[1:] + 2 * widths[:-1]
        mean = (by_left / left + by_right / right) / (by_left + by_right)
        inner = np.where(is_flat, 0.0, 1 / mean)
        ends = [
            _pchip_end(widths[0], widths[1], secants[0], secants[1]),
            _pchip_end(widths[-1], widths[-2], secants[-1], secants[-2]),
        ]
        return np.concatenate([ends[0][None], inner, ends[1][None]])


def _pchip_end(width: Any, next_width: Any, secant: Any, next_secant: Any) -> Any:
    slope = ((2 * width + next_width) * secant - width * next_secant) / (width + next_width)
    is_steep = (np.sign(secant) != np.sign(next_secant)) & (np.abs(slope) > 3 * np.abs(secant))
    return np.where(np.sign(slope) != np.sign(secant), 0.0, np.where(is_steep, 3.0 * secant, slope))


class Akima1DInterpolator(_Cubic):
    """As `scipy.interpolate.Akima1DInterpolator`, by the method "akima"."""

    def __init__(self, x: ArrayLike, y: ArrayLike, axis: int = 0, extrapolate: Any = False) -> None:
        super().__init__(x, y, axis, extrapolate or False)

    @staticmethod
    def _slopes(x: Any, y: Any) -> Any:
        inner = np.diff(y, axis=0) / _column(np.diff(x), y)
        if y.shape[0] == 2:
            return np.concatenate([inner, inner])
        left = 2 * inner[:1] - inner[1:2]
        right = 2 * inner[-1:] - inner[-2:-1]
        m = np.concatenate([2 * left - inner[:1], left, inner, right, 2 * right - inner[-1:]])
        changes = np.abs(np.diff(m, axis=0))
        one, other = changes[2:], changes[:-2]
        total = one + other
        is_plain = total > 1e-9 * np.max(total)
        share = other / np.where(is_plain, total, 1.0)
        bent = m[1:-2] + share * (m[2:-1] - m[1:-2])
        return np.where(is_plain, bent, 0.5 * (m[3:] + m[:-3]))


# --- by single samples and grids ----------------------------------------------------------------

_KINDS: Final = ("linear", "nearest", "nearest-up", "previous", "next", "zero", "cubic")


class interp1d:  # noqa: N801
    """As `scipy.interpolate.interp1d`, of samples in order, of the kinds linear, nearest,
    nearest-up, previous, next, zero and cubic. Places outside of the samples raise a ValueError
    when the program runs, unless a `fill_value` is given.
    """

    def __init__(
        self,
        x: ArrayLike,
        y: ArrayLike,
        kind: str = "linear",
        axis: int = -1,
        copy: bool = True,
        bounds_error: bool | None = None,
        fill_value: Any = np.nan,
        assume_sorted: bool = False,
    ) -> None:
        if kind not in _KINDS:
            raise trace_error(f"interp1d: kind is one of {', '.join(_KINDS)}, got {kind!r}")
        self.x, self.y, self._kind, self.axis = x, y, kind, axis % _rank(y)
        self.fill_value, self._extrapolates = fill_value, _is_word(fill_value, "extrapolate")
        is_given = self._extrapolates or not _is_nan(fill_value)
        self._checks = not is_given if bounds_error is None else bounds_error

    def __call__(self, x: ArrayLike) -> Any:
        return eager(self._evaluated)(x, self.x, self.y)

    def _evaluated(self, x: Any, knots: Any, y: Any) -> Any:
        places = _floating(x)
        ends, values = _samples(knots, y, self.axis)
        below, above = places < ends[0], places > ends[-1]
        if self._checks and not self._extrapolates:
            _require_none(below, "A value in x_new is below the interpolation range.")
            _require_none(above, "A value in x_new is above the interpolation range.")
        made, fill = self._between(ends, values, places), self.fill_value
        if self._extrapolates and self._kind in ("previous", "next"):
            fill = (np.nan, made) if self._kind == "previous" else (made, np.nan)
        if not self._extrapolates or isinstance(fill, tuple):
            low, high = fill if isinstance(fill, tuple) else (fill, fill)
            shape = places.shape + (1,) * (values.ndim - 1)
            made = np.where(above.reshape(shape), high, np.where(below.reshape(shape), low, made))
        return _with_axis(made, np.ndim(x), self.axis)

    def _between(self, x: Any, y: Any, places: Any) -> Any:
        count = x.shape[0]
        if self._kind == "cubic":
            return PPoly(_hermite(x, y, CubicSpline._slopes(x, y, "not-a-knot")), x)(places)
        if self._kind == "linear":
            high = np.clip(np.searchsorted(x, places), 1, count - 1)
            low = high - 1
            slope = (y[high] - y[low]) / _behind(x[high] - x[low], y)
            return slope * _behind(places - x[low], y) + y[low]
        return y[np.clip(self._nearest(x, places), 0, count - 1)]

    def _nearest(self, x: Any, places: Any) -> Any:
        """The number of the sample that counts at a place."""
        if self._kind.startswith("nearest"):
            halves = x[1:] / 2.0 + x[:-1] / 2.0
            side: Any = "left" if self._kind == "nearest" else "right"
            return np.searchsorted(halves, places, side=side)
        if self._kind == "next":
            return np.searchsorted(x, places, side="left")
        return np.searchsorted(x, places, side="right") - 1


def _behind(line: Any, y: Any) -> Any:
    return line.reshape(line.shape + (1,) * (y.ndim - 1))


def _is_word(value: Any, word: str) -> bool:
    return isinstance(value, str) and value == word


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _require_none(is_out: Any, message: str) -> None:
    if find_trace() is not None:
        fail_where(lift(np.any(is_out)), ValueError(message))


class RegularGridInterpolator:
    """As `scipy.interpolate.RegularGridInterpolator`, by the methods linear and nearest."""

    def __init__(
        self,
        points: Sequence[Any],
        values: ArrayLike,
        method: str = "linear",
        bounds_error: bool = True,
        fill_value: Any = np.nan,
    ) -> None:
        self.grid, self.values, self.method = tuple(points), values, method
        self.bounds_error, self.fill_value = bounds_error, fill_value
        self._require_method(method)

    def _require_method(self, method: str) -> None:
        if method not in ("linear", "nearest"):
            raise trace_error(
                f"RegularGridInterpolator: method is 'linear' or 'nearest', got {method!r}"
            )

    def __call__(self, xi: Any, method: str | None = None) -> Any:
        self._require_method(method or self.method)
        return eager(self._evaluated)(xi, self.grid, self.values, method or self.method)

    def _evaluated(self, xi: Any, grid: Any, values: Any, method: str) -> Any:
        if isinstance(xi, tuple):
            parts = [_floating(part) for part in BY_NUMPY[np.broadcast_arrays](*xi)]
        else:
            places = _floating(xi)
            parts = [places[..., axis] for axis in range(len(grid))]
            parts = [part.reshape(1) for part in parts] if places.ndim == 1 else parts
        lines, table = [_floating(line) for line in grid], _floating(values)
        made = self._by_axis(parts, lines, table, method)
        outside = [(p < line[0]) | (p > line[-1]) for p, line in zip(parts, lines, strict=True)]
        if self.bounds_error:
            for axis, is_out in enumerate(outside):
                message = f"One of the requested xi is out of bounds in dimension {axis}"
                _require_none(is_out, message)
        elif self.fill_value is not None:
            is_out = np.any(BY_NUMPY[np.stack](outside), axis=0)
            made = np.where(_behind(is_out, table[(0,) * (len(grid) - 1)]), self.fill_value, made)
        return made

    def _by_axis(self, parts: Any, lines: Any, table: Any, method: str) -> Any:
        numbers = [_piece(line, part) for line, part in zip(lines, parts, strict=True)]
        shares = [
            (part - line[k]) / (line[k + 1] - line[k])
            for part, line, k in zip(parts, lines, numbers, strict=True)
        ]
        if method == "nearest":
            return table[
                tuple([np.where(s <= 0.5, k, k + 1) for s, k in zip(shares, numbers, strict=True)])
            ]
        total: Any = 0.0
        for corner in itertools.product((0, 1), repeat=len(lines)):
            weight: Any = 1.0
            for share, side in zip(shares, corner, strict=True):
                weight = weight * (share if side else 1 - share)
            found = table[tuple([k + side for k, side in zip(numbers, corner, strict=True)])]
            total = total + found * weight.reshape(weight.shape + (1,) * (found.ndim - weight.ndim))
        return total


# --- SciPy's own --------------------------------------------------------------------------------


def evaluated(interpolator: Any) -> Callable[..., Any] | None:
    """What evaluates an interpolator of SciPy's, or None."""
    from scipy import interpolate as theirs

    if isinstance(interpolator, theirs.PPoly):
        return PPoly(interpolator.c, interpolator.x, interpolator.extrapolate, interpolator.axis)
    if isinstance(interpolator, theirs.BSpline):
        made = theirs.PPoly.from_spline(interpolator)
        return PPoly(made.c, made.x, interpolator.extrapolate, interpolator.axis)
    if isinstance(interpolator, theirs.RegularGridInterpolator):
        return RegularGridInterpolator(
            interpolator.grid,
            interpolator.values,
            interpolator.method,
            interpolator.bounds_error,
            interpolator.fill_value,
        )
    if isinstance(interpolator, theirs.interp1d) and interpolator._kind in _KINDS:
        fill = "extrapolate" if interpolator._extrapolate else interpolator.fill_value
        return interp1d(
            interpolator.x,
            interpolator.y,
            interpolator._kind,
            interpolator.axis,
            bounds_error=interpolator.bounds_error,
            fill_value=fill,
        )
    return None


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"scipy.interpolate.{name} has no traced version; weft.scipy.interpolate has cubic pieces, "
        "interp1d and regular grids, wf.callback calls SciPy's"
    )
