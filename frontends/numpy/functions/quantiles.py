"""NumPy's order statistics: median, quantile, percentile, and those that ignore NaN.

All sort along the reduced axes and read at positions, which may be traced: `q` need not be static.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from weft.compiler.ir import dtypes
from weft.compiler.ir.build import constant
from weft.compiler.ir.dims import Size
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.errors import DTypeError
from weft.compiler.ir.graph import Constant, Value
from weft.compiler.ir.types import Shape
from weft.compiler.ops import ordering
from weft.compiler.ops.arithmetic import (
    add,
    ceil,
    clamp,
    div,
    floor,
    floor_divide,
    minimum,
    mul,
    remainder,
    round_,
    sub,
)
from weft.compiler.ops.common import drop_axes
from weft.compiler.ops.indexing import gather
from weft.compiler.ops.logic import and_, eq, ge, is_nan, ne, not_, select
from weft.compiler.record import record
from weft.frontends.numpy.functions.axis_access import element, stretch
from weft.frontends.numpy.functions.reducing import SUM, Axis, merge_axes, reduce, wide_dtype
from weft.frontends.tracing.core import (
    broadcast_value,
    cast,
    check_no,
    expand,
    full,
    inexact_dtype,
    lift,
    normalize_axes,
    promotion_key,
    size_value,
    trace_error,
    transpose,
    wrap,
)
from weft.frontends.tracing.trace import ArrayLike, Tracer

__all__ = [
    "median",
    "nanmedian",
    "nanpercentile",
    "nanquantile",
    "percentile",
    "quantile",
]


def median(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Tracer:
    """As `numpy.median`."""
    check_no("median", out=out)
    value = lift(a)
    axes = normalize_axes(axis, value.type.rank)
    rows = _sorted(value, axes)
    found = _with_nan(_middle(rows), rows)
    return wrap(expand(found, axes, value.type.shape) if keepdims else found)


def nanmedian(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Tracer:
    """As `numpy.nanmedian`."""
    value = lift(a)
    if not value.type.dtype.is_float:
        return median(a, axis, out, overwrite_input, keepdims)
    check_no("nanmedian", out=out)
    axes = normalize_axes(axis, value.type.rank)
    found = _middle_number(_sorted(value, axes, last=True))
    return wrap(expand(found, axes, value.type.shape) if keepdims else found)


def quantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: None = None,
) -> Tracer:
    """As `numpy.quantile`, without weights."""
    check_no("quantile", out=out, weights=weights)
    return wrap(_quantile(a, q, 1, axis, method, keepdims, ignores_nan=False))


def percentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: None = None,
) -> Tracer:
    """As `numpy.percentile`; see `quantile`."""
    check_no("percentile", out=out, weights=weights)
    return wrap(_quantile(a, q, 100, axis, method, keepdims, ignores_nan=False))


def nanquantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: None = None,
) -> Tracer:
    """As `numpy.nanquantile`; see `quantile`."""
    check_no("nanquantile", out=out, weights=weights)
    return wrap(_quantile(a, q, 1, axis, method, keepdims, ignores_nan=True))


def nanpercentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: None = None,
) -> Tracer:
    """As `numpy.nanpercentile`; see `quantile`."""
    check_no("nanpercentile", out=out, weights=weights)
    return wrap(_quantile(a, q, 100, axis, method, keepdims, ignores_nan=True))


# --- positions ---------------------------------------------------------------------------------


def _between(alpha: float, beta: float) -> Callable[[Value, Value], Value]:
    """The position of quantile q among n elements in the family of Hyndman and Fan."""

    def position(q: Value, last: Value) -> Value:
        dtype = q.type.dtype
        # n*q + alpha + q*(1 - alpha - beta) - 1, with n = last + 1.
        slope = add(last, constant(2 - alpha - beta, dtype))
        return add(mul(q, slope), constant(alpha - 1, dtype))

    return position


def _linear(q: Value, last: Value) -> Value:
    return mul(q, last)


def _midpoint(q: Value, last: Value) -> Value:
    place = mul(q, last)
    return mul(add(floor(place), ceil(place)), constant(0.5, q.type.dtype))


def _ranked(q: Value, last: Value, shift: float) -> Value:
    """n*q - shift, with n = last + 1."""
    dtype = q.type.dtype
    return sub(mul(q, add(last, constant(1, dtype))), constant(shift, dtype))


def _averaged(q: Value, last: Value) -> Value:
    """Where the distribution function reaches q; half-way to the next one if it stays there."""
    place = _ranked(q, last, 1)
    above = ceil(place)
    return select(eq(place, above), add(place, constant(0.5, q.type.dtype)), above)


def _closest(q: Value, last: Value) -> Value:
    """The nearest element, of two the one of even rank, which is an odd place."""
    place = _ranked(q, last, 1.5)
    above, two = ceil(place), constant(2, q.type.dtype)
    is_odd = ne(remainder(above, two), constant(0, q.type.dtype))
    is_tie = eq(place, above)
    return select(and_(is_tie, not_(is_odd)), add(above, constant(1, q.type.dtype)), above)


_POSITIONS: Final[Mapping[str, Callable[[Value, Value], Value]]] = MappingProxyType(
    {
        "linear": _linear,
        "lower": lambda q, last: floor(mul(q, last)),
        "higher": lambda q, last: ceil(mul(q, last)),
        "nearest": lambda q, last: round_(mul(q, last)),
        "midpoint": _midpoint,
        "hazen": _between(0.5, 0.5),
        "weibull": _between(0, 0),
        "median_unbiased": _between(1 / 3, 1 / 3),
        "normal_unbiased": _between(3 / 8, 3 / 8),
        "interpolated_inverted_cdf": _between(0, 1),
        "inverted_cdf": lambda q, last: ceil(_ranked(q, last, 1)),
        "averaged_inverted_cdf": _averaged,
        "closest_observation": _closest,
    }
)
_WHOLE: Final = ("lower", "higher", "nearest", "inverted_cdf", "closest_observation")


@lru_cache(maxsize=256)
def _result_dtype(own: DType, q_key: Any, scale: int, method: str) -> DType:
    """The dtype that NumPy gives for an array of this dtype and this kind of q."""
    if own is dtypes.bf16:
        return own
    sample = np.ones(2, own.numpy)
    q = q_key(0) if isinstance(q_key, type) else np.zeros(1, q_key)
    function = np.quantile if scale == 1 else np.percentile
    try:
        return dtypes.dtype(function(sample, q, method=method).dtype)  # type: ignore[call-overload]
    except TypeError as error:
        raise DTypeError(f"a quantile of {own} has no meaning to NumPy: {error}") from None


def _quantile(
    a: ArrayLike,
    q: ArrayLike,
    scale: int,
    axis: Axis,
    method: str,
    keepdims: bool,
    *,
    ignores_nan: bool,
) -> Value:
    if method not in _POSITIONS:
        raise trace_error(
            f"quantile: method {method!r} is not supported; use {', '.join(_POSITIONS)}"
        )
    value = lift(a)
    result = _result_dtype(value.type.dtype, promotion_key(q), scale, method)
    axes, places = normalize_axes(axis, value.type.rank), _q_value(q, scale)
    if ignores_nan and value.type.dtype.is_float:
        found = _read_numbers(_sorted(value, axes, last=True), places, method, result)
    else:
        found = _read(_sorted(value, axes), places, method, result)
    if not keepdims:
        return found
    rank = places.type.rank
    full_shape = (*places.type.shape, *value.type.shape)
    return expand(found, [rank + axis for axis in axes], full_shape)


def _q_value(q: ArrayLike, scale: int) -> Value:
    value = lift(q)
    if isinstance(value, Constant) and not np.all((value.array >= 0) & (value.array <= scale)):
        raise trace_error(f"quantile: q must lie between 0 and {scale}, got {value.array}")
    value = cast(value, wide_dtype(inexact_dtype(value.type.dtype)))
    return value if scale == 1 else div(value, constant(scale, value.type.dtype))


@record
class _Rows:
    """An array sorted along one of its axes, with NaN at the end."""

    values: Value
    axis: int

    @property
    def count(self) -> Size:
        return self.values.type.shape[self.axis]

    @property
    def rest(self) -> Shape:
        """The shape without the sorted axis."""
        return drop_axes(self.values.type.shape, (self.axis,))

    def at(self, index: Size) -> Value:
        return element(self.values, self.axis, index)


def _sorted(value: Value, axes: Sequence[int], *, last: bool = False) -> _Rows:
    """The value sorted along axes, which are joined into one; `last` moves a single one too."""
    if len(axes) == 1 and not last:
        return _Rows(ordering.sort(value, axis=axes[0]), axes[0])
    merged = merge_axes(value, axes)
    axis = merged.type.rank - 1
    return _Rows(ordering.sort(merged, axis=axis), axis)


def _middle(rows: _Rows) -> Value:
    """The middle element of each row, or the mean of the two."""
    result = inexact_dtype(rows.values.type.dtype)
    if rows.count == 0:
        missing = complex(math.nan, math.nan) if result.is_complex else math.nan
        return full(rows.rest, missing, result)
    if isinstance(rows.count, int) and rows.count % 2:
        return cast(rows.at(rows.count // 2), result)
    wide = wide_dtype(result)
    sides = [cast(rows.at(index), wide) for index in ((rows.count - 1) // 2, rows.count // 2)]
    return cast(mul(add(*sides), constant(0.5, wide)), result)


def _middle_number(rows: _Rows) -> Value:
    """As `_middle`, of the elements that are not NaN; NaN if there are none."""
    dtype = rows.values.type.dtype
    if rows.count == 0:
        return full(rows.rest, math.nan, dtype)
    counted = cast(not_(is_nan(rows.values)), dtypes.i64)
    last = sub(reduce(SUM, counted, rows.axis), constant(1, dtypes.i64))
    half = floor_divide(last, constant(2, dtypes.i64))
    low, high = [_read_at(rows, place) for place in (half, sub(last, half))]
    wide = wide_dtype(dtype)
    mean = mul(add(cast(low, wide), cast(high, wide)), constant(0.5, wide))
    return select(eq(low, high), low, cast(mean, dtype))


def _read_at(rows: _Rows, places: Value) -> Value:
    """One element of each row, which lies along the last axis; the first for a place below 0."""
    return gather(rows.values, places, axes=(rows.axis,), batch_dims=rows.axis, mode="clip")


def _with_nan(found: Value, rows: _Rows) -> Value:
    """What was found, or NaN where the last of the sorted elements is NaN."""
    if not rows.values.type.dtype.is_inexact or rows.count == 0:
        return found
    is_missing = broadcast_value(is_nan(rows.at(rows.count - 1)), found.type.shape)
    return select(is_missing, constant(math.nan, found.type.dtype), found)


def _read(rows: _Rows, q: Value, method: str, result: DType) -> Value:
    """The quantiles of sorted rows, with the axes of q in front."""
    if rows.count == 0:
        return full((*q.type.shape, *rows.rest), math.nan, inexact_dtype(result))
    last = size_value(rows.count - 1, q.type.dtype)
    return _with_nan(_interpolate(rows, q, last, method, result, 0), rows)


def _read_numbers(rows: _Rows, q: Value, method: str, result: DType) -> Value:
    """As `_read`, of the elements that are not NaN, whose count differs from row to row."""
    batch = rows.rest
    if rows.count == 0:
        return full((*q.type.shape, *batch), math.nan, inexact_dtype(result))
    target = (*batch, *q.type.shape)
    of_rows, of_q = range(len(batch)), range(len(batch), len(target))
    counted = cast(not_(is_nan(rows.values)), q.type.dtype)
    last = sub(reduce(SUM, counted, rows.axis), constant(1, q.type.dtype))
    stretched = stretch(q, of_q, target), stretch(last, of_rows, target)
    found = _interpolate(rows, *stretched, method, result, len(batch))
    return transpose(found, [*of_q, *of_rows])


def _interpolate(
    rows: _Rows, q: Value, last: Value, method: str, result: DType, batch_dims: int
) -> Value:
    """Sorted rows read at the positions of q, whose first `batch_dims` axes are the rows'."""
    zero, one = constant(0, q.type.dtype), constant(1, q.type.dtype)
    position = clamp(zero, _POSITIONS[method](q, last), last)

    def read(at: Value) -> Value:
        indices = cast(at, dtypes.i64)
        return gather(rows.values, indices, axes=(rows.axis,), batch_dims=batch_dims, mode="clip")

    if method in _WHOLE:
        return cast(read(position), result)
    wide = wide_dtype(result)
    below = floor(position)
    low = cast(read(below), wide)
    high = cast(read(minimum(add(below, one), last)), wide)
    weight = cast(sub(position, below), wide)
    if weight.type.shape:
        weight = stretch(weight, range(weight.type.rank), low.type.shape)
    return cast(_lerp(low, high, weight), result)


def _lerp(low: Value, high: Value, weight: Value) -> Value:
    """The point between, exact at both ends and monotonic, as NumPy computes it."""
    distance = sub(high, low)
    rest = sub(constant(1, weight.type.dtype), weight)
    from_low, from_high = add(low, mul(distance, weight)), sub(high, mul(distance, rest))
    return select(ge(weight, constant(0.5, weight.type.dtype)), from_high, from_low)
