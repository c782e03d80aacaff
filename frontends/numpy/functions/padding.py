"""`pad`: every mode of NumPy, one axis after the other, out of slices joined to the array.

An axis is padded from what the axes before it have become, which is how NumPy fills the corners.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import numpy as np

from weft.compiler.ir import dims, dtypes
from weft.compiler.ir.build import constant
from weft.compiler.ir.dims import Size
from weft.compiler.ir.errors import ShapeError, TraceError
from weft.compiler.ir.graph import Value
from weft.compiler.ir.types import format_shape
from weft.compiler.ops import shape as shape_ops
from weft.compiler.ops.arithmetic import mul, round_, sub
from weft.frontends.numpy.functions import quantiles, reductions
from weft.frontends.numpy.functions.axis_ops import as_value, join, slice_axis, without_axis
from weft.frontends.numpy.functions.ranges import linspace
from weft.frontends.tracing.core import as_size, broadcast_value, cast, lift, normalize_axis, wrap
from weft.frontends.tracing.trace import ArrayLike, Tracer

__all__ = ["pad"]

Pair: TypeAlias = tuple[Any, Any]
Widths: TypeAlias = tuple[Size, Size]

# The one argument that each mode takes, and what it is unless given.
_ARGUMENTS: Final[Mapping[str, tuple[str, Any]]] = MappingProxyType(
    {
        "constant": ("constant_values", 0),
        "empty": ("", 0),
        "edge": ("", None),
        "wrap": ("", None),
        "linear_ramp": ("end_values", 0),
        "reflect": ("reflect_type", "even"),
        "symmetric": ("reflect_type", "even"),
        "maximum": ("stat_length", None),
        "minimum": ("stat_length", None),
        "mean": ("stat_length", None),
        "median": ("stat_length", None),
    }
)


def pad(array: ArrayLike, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Tracer:
    """As `numpy.pad`; widths of mode "constant" may be symbolic, and values traced."""
    value = as_value(array)
    argument = _argument(mode, kwargs)
    widths = _widths(pad_width, value.type.rank)
    if mode in ("constant", "empty"):
        return wrap(_pad_constant(value, widths, argument))
    arguments = _pairs(argument, value.type.rank)
    for axis, (width, pair) in enumerate(zip(widths, arguments, strict=True)):
        if width == (0, 0):
            continue
        if value.type.shape[axis] == 0:
            raise ShapeError(
                f"axis {axis} of shape {format_shape(value.type.shape)} is empty, so mode {mode!r} "
                'has nothing to extend it with; use mode="constant"'
            )
        value = _MODES[mode](value, axis, width, pair)
    return wrap(value)


# --- arguments ------------------------------------------------------------------------------------


def _argument(mode: Any, given: Mapping[str, Any]) -> Any:
    """What the mode is told, or its default."""
    if callable(mode):
        raise TraceError(
            "pad: a function as mode writes to NumPy arrays in place, which traced code cannot; "
            "pad with a constant and write with x.at[...].set"
        )
    if mode not in _ARGUMENTS:
        raise ShapeError(f"pad: mode {mode!r} is not known; known are {', '.join(_ARGUMENTS)}")
    expected, default = _ARGUMENTS[mode]
    for name in given:
        if name != expected:
            raise ShapeError(f"pad: mode {mode!r} takes no argument {name}")
    return given.get(expected, default)


def _widths(given: Any, rank: int) -> list[Widths]:
    """The number of elements before and after each axis."""
    if isinstance(given, dict):
        by_axis = {normalize_axis(axis, rank): _pair(width) for axis, width in given.items()}
        pairs = [by_axis.get(axis, (0, 0)) for axis in range(rank)]
    else:
        pairs = _pairs(given, rank)
    widths = [(as_size(before), as_size(after)) for before, after in pairs]
    for width in widths:
        if any((dims.upper(size) or 0) < 0 for size in width):
            raise ShapeError(f"pad: widths must not be negative, got {width}; slice instead")
    return widths


def _pairs(given: Any, rank: int) -> list[Pair]:
    """A pair per axis, from NumPy's shorthands: one thing for all, a pair for all, pairs."""
    items = given.tolist() if isinstance(given, np.ndarray) else given
    if not isinstance(items, list | tuple):
        return [(items, items)] * rank
    if not any(isinstance(item, list | tuple | np.ndarray) for item in items):
        return [_pair(items)] * rank
    if len(items) not in (1, rank):
        raise ShapeError(f"pad: there are {len(items)} pairs for an array of rank {rank}")
    return [_pair(item) for item in (items if len(items) == rank else items * rank)]


def _pair(given: Any) -> Pair:
    items = given.tolist() if isinstance(given, np.ndarray) else given
    if not isinstance(items, list | tuple):
        return items, items
    if len(items) not in (1, 2):
        raise ShapeError(f"pad: expected one number or a pair of them, got {given!r}")
    return items[0], items[-1]


# --- constant -------------------------------------------------------------------------------------


def _pad_constant(value: Value, widths: Sequence[Widths], values: Any) -> Value:
    rank = value.type.rank
    if not isinstance(values, list | tuple | np.ndarray):
        fill = _fill(values, value)
        return _pad_ends(value, fill, [w[0] for w in widths], [w[1] for w in widths])
    for axis, (width, pair) in enumerate(zip(widths, _pairs(values, rank), strict=True)):
        none: list[Size] = [0] * rank
        low, high = ([*none[:axis], size, *none[axis + 1 :]] for size in width)
        value = _pad_ends(value, _fill(pair[0], value), low, none)
        value = _pad_ends(value, _fill(pair[1], value), none, high)
    return value


def _fill(given: Any, like: Value) -> Value:
    """A padding value in the array's dtype; a number out of its range wraps, as NumPy's does."""
    fill = cast(lift(given), like.type.dtype)
    if fill.type.rank:
        raise ShapeError(f"pad: a padding value must be of rank 0, got {fill.type}")
    return fill


def _pad_ends(value: Value, fill: Value, low: Sequence[Size], high: Sequence[Size]) -> Value:
    if all(size == 0 for size in (*low, *high)):
        return value
    return shape_ops.pad(value, fill, low=low, high=high, interior=[0] * value.type.rank)


# --- the other modes ------------------------------------------------------------------------------
# Each pads one axis, and says what goes to one end of it: a side of some width, first or last.

Side: TypeAlias = Callable[[Size, bool], list[Value]]


def _extend(value: Value, axis: int, width: Widths, side: Side) -> Value:
    before = [] if width[0] == 0 else side(width[0], True)
    after = [] if width[1] == 0 else side(width[1], False)
    return join([*before, value, *after], axis)


def _pad_edge(value: Value, axis: int, width: Widths, _: Pair) -> Value:
    return _extend(
        value, axis, width, lambda size, first: [_repeat(_edge(value, axis, first), axis, size)]
    )


def _pad_wrap(value: Value, axis: int, width: Widths, _: Pair) -> Value:
    period = value.type.shape[axis]

    def side(size: Size, first: bool) -> list[Value]:
        copies, rest = 0, size
        if isinstance(size, int) and isinstance(period, int):
            copies, rest = divmod(size, period)
        start = period - rest if first else 0
        part = [slice_axis(value, axis, start, start + rest)] if rest != 0 else []
        whole = [value] * copies
        return [*part, *whole] if first else [*whole, *part]

    return _extend(value, axis, width, side)


def _pad_ramp(value: Value, axis: int, width: Widths, ends: Pair) -> Value:
    def side(size: Size, first: bool) -> list[Value]:
        end = ends[0] if first else ends[1]
        # NumPy takes the end for an array, so that the ramp of a narrow dtype is computed wide.
        start = end if isinstance(end, Tracer) else np.asarray(end)
        target = wrap(without_axis(_edge(value, axis, first), axis))
        ramp = linspace(start, target, size, False, dtype=value.type.dtype, axis=axis).value
        return [ramp if first else shape_ops.reverse(ramp, axes=(axis,))]

    return _extend(value, axis, width, side)


def _pad_statistic(compute: Callable[..., Tracer]) -> PadAxis:
    """The mode that repeats a statistic of the first and the last elements."""

    def pad_axis(value: Value, axis: int, width: Widths, lengths: Pair) -> Value:
        size = value.type.shape[axis]
        first, last = (size if n is None else dims.minimum(as_size(n), size) for n in lengths)
        if 0 in (first, last) and compute in (reductions.max, reductions.min):
            raise ShapeError("pad: a stat_length of 0 leaves nothing to find an extreme of")
        bounds = {True: (0, first), False: (size - last, size)}
        # Both ends often look at the whole axis, and then share what is computed.
        found = {bound: _statistic(compute, value, axis, bound) for bound in bounds.values()}
        return _extend(
            value, axis, width, lambda count, start: [_repeat(found[bounds[start]], axis, count)]
        )

    return pad_axis


def _pad_mirror(skipped: int) -> PadAxis:
    """The mode that mirrors at both ends, `skipped` elements away from them."""

    def pad_axis(value: Value, axis: int, width: Widths, kinds: Pair) -> Value:
        if value.type.shape[axis] == 1:
            return _pad_edge(value, axis, width, kinds)
        period = value.type.shape[axis] - skipped
        (left, right), is_odd = width, kinds[0] == "odd"
        while (left, right) != (0, 0):
            span = value.type.shape[axis] - skipped
            # Whole periods are mirrored, so that a wide padding goes on with the pattern.
            limit = dims.floor_divide(span, period) * period
            now = _at_most(left, limit), _at_most(right, limit)
            value = _mirror(value, axis, now, skipped, is_odd)
            left, right = left - now[0], right - now[1]
        return value

    return pad_axis


def _mirror(value: Value, axis: int, width: Widths, skipped: int, is_odd: bool) -> Value:
    """The value between its mirror images; odd ones are turned about the edge as well."""
    size = value.type.shape[axis]

    def side(count: Size, first: bool) -> list[Value]:
        start = skipped if first else size - skipped - count
        image = shape_ops.reverse(slice_axis(value, axis, start, start + count), axes=(axis,))
        return [_through(image, _edge(value, axis, first)) if is_odd else image]

    return _extend(value, axis, width, side)


def _through(image: Value, edge: Value) -> Value:
    """The image turned about the edge: as far above it as the elements are below."""
    dtype = image.type.dtype
    wide = dtypes.i64 if dtype.is_bool else dtype
    doubled = mul(cast(edge, wide), constant(2, wide))
    return cast(sub(broadcast_value(doubled, image.type.shape), cast(image, wide)), dtype)


def _at_most(width: Size, limit: Size) -> Size:
    """The width to pad now; what is symbolic must fit at once, which the slice checks."""
    return min(width, limit) if isinstance(width, int) and isinstance(limit, int) else width


def _statistic(
    compute: Callable[..., Tracer], value: Value, axis: int, bound: tuple[Size, Size]
) -> Value:
    dtype = value.type.dtype
    found = compute(wrap(slice_axis(value, axis, *bound)), axis=axis, keepdims=True).value
    is_rounded = dtype.is_integer and found.type.dtype.is_float
    return cast(round_(found) if is_rounded else found, dtype)


def _edge(value: Value, axis: int, first: bool) -> Value:
    end = 1 if first else value.type.shape[axis]
    return slice_axis(value, axis, end - 1, end)


def _repeat(edge: Value, axis: int, count: Size) -> Value:
    sizes = edge.type.shape
    return broadcast_value(edge, (*sizes[:axis], count, *sizes[axis + 1 :]))


PadAxis: TypeAlias = Callable[[Value, int, Widths, Pair], Value]

_MODES: Final[Mapping[str, PadAxis]] = MappingProxyType(
    {
        "edge": _pad_edge,
        "wrap": _pad_wrap,
        "linear_ramp": _pad_ramp,
        "reflect": _pad_mirror(1),
        "symmetric": _pad_mirror(0),
        "maximum": _pad_statistic(reductions.max),
        "minimum": _pad_statistic(reductions.min),
        "mean": _pad_statistic(reductions.mean),
        "median": _pad_statistic(quantiles.median),
    }
)
