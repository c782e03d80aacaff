"""Sequences of numbers and grids of indices: arange, linspace, meshgrid and their relatives."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from weft.compiler.ir import dims, dtypes
from weft.compiler.ir.build import constant
from weft.compiler.ir.dims import Dim, Size
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.errors import DTypeError, ShapeError
from weft.compiler.ir.graph import Constant, Value
from weft.compiler.ir.types import Shape
from weft.compiler.ops import shape as shape_ops
from weft.compiler.ops.arithmetic import add, div, floor, mul, sub
from weft.compiler.ops.cumulative import cumprod
from weft.compiler.ops.logic import eq, select
from weft.frontends.numpy.functions.axis_ops import (
    as_value,
    flat,
    iota,
    join,
    static_array,
    with_axis,
)
from weft.frontends.numpy.functions.creation import asarray, check_device, optional_dtype
from weft.frontends.numpy.functions.manipulation import expand_dims, moveaxis, stretch
from weft.frontends.numpy.functions.ufuncs import apply_ufunc
from weft.frontends.numpy.masked.creation import counted
from weft.frontends.tracing import core
from weft.frontends.tracing.core import (
    as_shape,
    as_size,
    cast,
    inexact_dtype,
    normalize_axis,
    result_dtype,
    size_value,
    wrap,
)
from weft.frontends.tracing.trace import ArrayLike, Tracer

__all__ = [
    "arange",
    "fromfunction",
    "geomspace",
    "indices",
    "linspace",
    "logspace",
    "meshgrid",
    "vander",
]

_MOST_KNOWN: Final = 2**16


# --- arange ---------------------------------------------------------------------------------------


def arange(
    start: Any = None,
    stop: Any = None,
    step: Any = None,
    dtype: object = None,
    *,
    device: str | None = None,
    like: object = None,
) -> Any:
    """As `numpy.arange`; ints may be symbolic, or traced where it is known how large they are.

    >>> import weft as wf
    >>> wf.trace(lambda x: wf.numpy.arange(x.shape[0]))(wf.spec("f32[n]")).results[0].type
    i64[n]
    """
    check_device("arange", device)
    if start is None or stop is None:
        start, stop = 0, start if stop is None else stop
    if step is None and dtype is None and (made := counted(start, stop)) is not None:
        return made
    start, stop, step = (_bound(bound) for bound in (start, stop, 1 if step is None else step))
    found = _arange_dtype(start, stop, step) if dtype is None else dtypes.dtype(dtype)
    length = _arange_length(start, stop, step)
    return wrap(_arange(start, step, length, found))


def _bound(given: Any) -> Any:
    """A bound as a Python number or symbolic size."""
    if isinstance(given, Dim):
        return given
    known = None if isinstance(given, Tracer) else np.asarray(given)
    if known is None or known.ndim or known.dtype.kind not in "biuf":
        found = f"the traced {given.type}" if isinstance(given, Tracer) else repr(given)
        raise core.trace_error(
            f"arange needs real numbers that are known now, got {found}; make them static "
            "arguments, or write start + step * arange(count)"
        )
    return known[()]


def _arange_dtype(*bounds: Any) -> DType:
    """Nothing narrower than int64, as NumPy has it."""
    return dtypes.promote(
        dtypes.i64, *[dtypes.dtype(b.dtype) for b in bounds if not isinstance(b, Dim)]
    )


def _arange_length(start: Any, stop: Any, step: Any) -> Size:
    if not any(isinstance(bound, Dim) for bound in (start, stop, step)):
        start, stop, step = start.item(), stop.item(), step.item()
        if step == 0:
            raise ShapeError("arange needs a step other than 0")
        return max(0, int(math.ceil((stop - start) / step)))
    if not isinstance(step, np.integer) or not all(
        isinstance(b, np.integer | Dim) for b in (start, stop)
    ):
        raise ShapeError(
            f"arange({start}, {stop}, {step}) has a symbolic size, so all three must be integers "
            "and the step a known one; scale the integers instead"
        )
    start, stop = (b if isinstance(b, Dim) else int(b) for b in (start, stop))
    distance, stride = (stop - start, int(step)) if step > 0 else (start - stop, -int(step))
    length: Size = dims.maximum(dims.floor_divide(distance + stride - 1, stride), 0)
    return length


def _arange(start: Any, step: Any, length: Size, dtype: DType) -> Value:
    """The first number and the distance to the second, both rounded, decide the rest."""
    # NumPy counts half precision in single, and rounds at the end.
    wide = {dtypes.bool_: dtypes.i64, dtypes.f16: dtypes.f32, dtypes.bf16: dtypes.f32}.get(
        dtype, dtype
    )
    count = iota((length,), 0, wide)
    if isinstance(start, Dim):
        first, distance = size_value(start, wide), np.asarray(step).astype(wide.numpy)
    else:
        ends = [np.asarray(number).astype(dtype.numpy) for number in (start, start + step)]
        begin, following = (end.astype(wide.numpy) for end in ends)
        first, distance = constant(begin, wide), following - begin
    if distance != 1:
        count = mul(count, constant(distance, wide))
    is_zero = isinstance(first, Constant) and not first.array
    return cast(count if is_zero else add(count, first), dtype)


# --- linspace and its relatives -------------------------------------------------------------------


def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: object = None,
    axis: int = 0,
    *,
    device: str | None = None,
) -> Any:
    """As `numpy.linspace`; the ends may be traced, the number symbolic."""
    check_device("linspace", device)
    count = _count("linspace", num)
    if _is_known((start, stop), count):
        return _known(np.linspace, start, stop, num, endpoint, retstep, _numpy_dtype(dtype), axis)
    found = inexact_dtype(result_dtype(start, stop))
    first, last = as_value(start, found), as_value(stop, found)
    difference = sub(*core.broadcast_together((last, first)))
    gaps = count - 1 if endpoint else count
    # At least one, so that no point is the last one where there is but one.
    intervals = dims.maximum(gaps, 1)
    step = div(difference, size_value(intervals, found))
    line = _Line(step.type.shape, count, normalize_axis(axis, step.type.rank + 1))
    points = add(mul(cast(line.index, found), line.spread(step)), line.spread(first))
    if endpoint and count != 1:
        points = line.replace(points, intervals, last)
    result = wrap(_as_dtype(points, optional_dtype(dtype)))
    if not retstep:
        return result
    undefined = isinstance(gaps, int) and gaps < 1
    return result, wrap(constant(math.nan, dtypes.f64) if undefined else step)


def logspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: Any = 50,
    endpoint: bool = True,
    base: ArrayLike = 10.0,
    dtype: object = None,
    axis: int = 0,
) -> Tracer:
    """As `numpy.logspace`; the ends and the base may be traced."""
    if _is_known((start, stop, base), _count("logspace", num)):
        known: Tracer = _known(
            np.logspace, start, stop, num, endpoint, base, _numpy_dtype(dtype), axis
        )
        return known
    if not isinstance(base, int | float) and as_value(base).type.rank:
        ends = [asarray(end) for end in (start, stop, base)]
        rank = max(end.type.rank for end in ends)
        start, stop, base = (
            wrap(core.reshape(e.value, (*((1,) * (rank - e.type.rank)), *e.type.shape)))
            for e in ends
        )
        base = expand_dims(base, axis)
    exponents = linspace(start, stop, num, endpoint, axis=axis)
    powers: Tracer = apply_ufunc(np.power, base, exponents)
    return powers if dtype is None else wrap(cast(powers.value, dtypes.dtype(dtype)))


def geomspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: Any = 50,
    endpoint: bool = True,
    dtype: object = None,
    axis: int = 0,
) -> Tracer:
    """As `numpy.geomspace`; the ends may be traced, and must not be 0."""
    for end in (start, stop):
        number = static_array(end)
        if number is not None and np.any(number == 0):
            raise ShapeError("a geometric sequence cannot start or end at 0")
    count = _count("geomspace", num)
    if _is_known((start, stop), count):
        known: Tracer = _known(np.geomspace, start, stop, num, endpoint, _numpy_dtype(dtype), axis)
        return known
    ends = as_value(start), as_value(stop)
    wanted = optional_dtype(dtype)
    found = dtypes.promote(*[end.type.dtype for end in ends], wanted or dtypes.f64)
    found = result_dtype(wrap(constant(0, found)), 1.0)
    first, last = (wrap(cast(end, found)) for end in ends)
    # Turned to the positive axis and back, so that negative and complex ends have logarithms.
    turn = apply_ufunc(np.sign, first)
    first, last = (apply_ufunc(np.true_divide, end, turn) for end in (first, last))
    logarithms = [apply_ufunc(np.log10, end) for end in (first, last)]
    powers = logspace(logarithms[0], logarithms[1], count, endpoint).value
    line = _Line(powers.type.shape[1:], count, 0)
    if endpoint and count != 1:
        powers = line.replace(powers, dims.maximum(count - 1, 1), last.value)
    powers = line.replace(powers, 0, first.value)
    turned = apply_ufunc(np.multiply, wrap(powers), turn)
    return wrap(cast(moveaxis(turned, 0, axis).value, wanted or found))


def _is_known(numbers: Sequence[Any], count: Size) -> bool:
    """Whether NumPy can make the sequence now; a very long one is left to the program."""
    return (
        isinstance(count, int)
        and count <= _MOST_KNOWN
        and all(isinstance(number, int | float | complex | np.generic) for number in numbers)
    )


def _known(function: Callable[..., Any], *arguments: Any) -> Any:
    """What NumPy's function makes, as constants."""
    with np.errstate(all="ignore"):
        made = function(*arguments)
    if isinstance(made, tuple):
        return tuple([wrap(constant(part)) for part in made])
    return wrap(constant(made))


def _numpy_dtype(dtype: object) -> Any:
    return None if dtype is None else dtypes.dtype(dtype).numpy


class _Line:
    """Points along one axis of an array, the others being those of the ends."""

    def __init__(self, shape: Shape, count: Size, axis: int) -> None:
        self.shape: Shape = (*shape[:axis], count, *shape[axis:])
        self.axis = axis
        self.index = iota(self.shape, axis)

    def spread(self, value: Value) -> Value:
        """A value of the ends' shape for each point."""
        if not value.type.rank:
            return value
        rest = (*self.shape[: self.axis], *self.shape[self.axis + 1 :])
        return with_axis(stretch(value, rest), self.axis, self.shape[self.axis])

    def replace(self, points: Value, index: Size, value: Value) -> Value:
        """The points with the one at `index` made exact."""
        is_there = eq(self.index, size_value(index, dtypes.i64))
        return select(is_there, self.spread(value), points)


def _count(function: str, num: Any) -> Size:
    count = as_size(num)
    if (dims.upper(count) or 0) < 0:
        raise ShapeError(f"{function}: the number of points is {count}, and must not be negative")
    return count


def _as_dtype(points: Value, dtype: DType | None) -> Value:
    if dtype is None:
        return points
    if not dtype.is_integer:
        return cast(points, dtype)
    if points.type.dtype.is_complex:
        raise DTypeError(f"linspace between complex numbers cannot be of dtype {dtype}")
    return cast(floor(points), dtype)


# --- grids ----------------------------------------------------------------------------------------


def meshgrid(
    *xi: ArrayLike, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[Tracer, ...]:
    """As `numpy.meshgrid`."""
    if indexing not in ("xy", "ij"):
        raise ShapeError(f'indexing is "xy" or "ij", got {indexing!r}')
    lines = [flat(as_value(x)) for x in xi]
    places = list(range(len(lines)))
    if indexing == "xy" and len(lines) > 1:
        places[0], places[1] = 1, 0
    sizes: list[Size] = [1] * len(lines)
    for place, line in zip(places, lines, strict=True):
        sizes[place] = line.type.shape[0]
    return tuple(
        [
            wrap(_along(line, place, sizes, sparse))
            for place, line in zip(places, lines, strict=True)
        ]
    )


def indices(dimensions: Any, dtype: object = int, sparse: bool = False) -> Any:
    """As `numpy.indices`; sizes may be symbolic."""
    sizes, found = as_shape(dimensions), dtypes.dtype(dtype)
    rank = len(sizes)
    if sparse:
        lines = [cast(iota((size,), 0), found) for size in sizes]
        return tuple([wrap(_along(line, axis, sizes, True)) for axis, line in enumerate(lines)])
    if not sizes:
        return wrap(constant(np.zeros(0), found))
    grids = [_index((1, *sizes), axis + 1, found) for axis in range(rank)]
    return wrap(join(grids, 0))


def fromfunction(
    function: Callable[..., Any],
    shape: Any,
    *,
    dtype: object = float,
    like: object = None,
    **kwargs: Any,
) -> Any:
    """As `numpy.fromfunction`: one call, with one traced array of indices per axis."""
    sizes, found = as_shape(shape), dtypes.dtype(dtype)
    grids = [wrap(_index(sizes, axis, found)) for axis in range(len(sizes))]
    return function(*grids, **kwargs)


def vander(x: ArrayLike, N: Any = None, increasing: bool = False) -> Tracer:
    """As `numpy.vander`."""
    value = as_value(x)
    if value.type.rank != 1:
        raise ShapeError(f"vander needs an array of rank 1, got {value.type}")
    (rows,) = value.type.shape
    columns = rows if N is None else as_size(N)
    base = cast(value, dtypes.promote(value.type.dtype, dtypes.i64))
    ones = core.full((rows, 1), 1, base.type.dtype)
    if columns == 0:
        return wrap(core.full((rows, 0), 1, base.type.dtype))
    powers = cumprod(join([ones, with_axis(base, 1, columns - 1)], 1), axis=1)
    return wrap(powers if increasing else shape_ops.reverse(powers, axes=(1,)))


def _along(line: Value, axis: int, sizes: Sequence[Size], sparse: bool) -> Value:
    """A line of numbers along one axis of a grid; a sparse one has size 1 along the others."""
    if sparse:
        return core.reshape(line, tuple([s if i == axis else 1 for i, s in enumerate(sizes)]))
    if len(sizes) == 1:
        return line
    return shape_ops.broadcast(line, shape=sizes, dims=(axis,))


def _index(sizes: Shape, axis: int, dtype: DType) -> Value:
    """Each element's index along an axis, in any dtype."""
    return cast(iota(sizes, axis), dtype) if dtype.is_bool else iota(sizes, axis, dtype)
