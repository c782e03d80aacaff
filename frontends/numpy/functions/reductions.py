"""NumPy's reductions and cumulative functions: elements along axes become one, or a running one.

The names shadow builtins on purpose; how they are computed is in `reducing`, which does not.
"""

from __future__ import annotations

from weft.compiler.ir import dtypes
from weft.compiler.ops.arithmetic import div, sub
from weft.frontends.numpy.functions import reducing
from weft.frontends.numpy.functions.reducing import Axis, reduce, to_accumulator, truth
from weft.frontends.tracing.core import cast, check_no, inexact_dtype, lift, wrap
from weft.frontends.tracing.trace import ArrayLike, Tracer

__all__ = [
    "all",
    "amax",
    "amin",
    "any",
    "argmax",
    "argmin",
    "count_nonzero",
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "max",
    "mean",
    "min",
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nansum",
    "prod",
    "ptp",
    "sum",
]


# --- sums, products, extremes, truth -------------------------------------------------------------


def sum(
    a: ArrayLike,
    axis: Axis = None,
    dtype: object = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Tracer:
    """As `numpy.sum`."""
    check_no("sum", out=out)
    value = to_accumulator(lift(a), dtype)
    kind = reducing.ANY if value.type.dtype.is_bool else reducing.SUM
    return wrap(reduce(kind, value, axis, keepdims, initial, where))


def prod(
    a: ArrayLike,
    axis: Axis = None,
    dtype: object = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Tracer:
    """As `numpy.prod`."""
    check_no("prod", out=out)
    value = to_accumulator(lift(a), dtype)
    kind = reducing.ALL if value.type.dtype.is_bool else reducing.PROD
    return wrap(reduce(kind, value, axis, keepdims, initial, where))


def max(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Tracer:
    """As `numpy.max`."""
    check_no("max", out=out)
    return wrap(reduce(reducing.MAX, lift(a), axis, keepdims, initial, where))


def min(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Tracer:
    """As `numpy.min`."""
    check_no("min", out=out)
    return wrap(reduce(reducing.MIN, lift(a), axis, keepdims, initial, where))


amax = max
amin = min


def any(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Tracer:
    """As `numpy.any`; always bool."""
    check_no("any", out=out)
    return wrap(reduce(reducing.ANY, truth(lift(a)), axis, keepdims, None, where))


def all(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Tracer:
    """As `numpy.all`; always bool."""
    check_no("all", out=out)
    return wrap(reduce(reducing.ALL, truth(lift(a)), axis, keepdims, None, where))


def ptp(a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False) -> Tracer:
    """As `numpy.ptp`: the largest element less the smallest."""
    check_no("ptp", out=out)
    value = lift(a)
    ends = [reduce(kind, value, axis, keepdims) for kind in (reducing.MAX, reducing.MIN)]
    return wrap(sub(*ends))


def count_nonzero(a: ArrayLike, axis: Axis = None, *, keepdims: bool = False) -> Tracer:
    """As `numpy.count_nonzero`."""
    counted = cast(truth(lift(a)), dtypes.i64)
    return wrap(reduce(reducing.SUM, counted, axis, keepdims))


def mean(
    a: ArrayLike,
    axis: Axis = None,
    dtype: object = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Tracer:
    """As `numpy.mean`; half precision is summed in f32, and a mean of nothing is NaN."""
    check_no("mean", out=out)
    value = lift(a)
    result = inexact_dtype(value.type.dtype) if dtype is None else dtypes.dtype(dtype)
    wide = reducing.wide_dtype(result)
    values = cast(cast(value, result), wide)
    total = reduce(reducing.SUM, values, axis, keepdims, None, where)
    count = reducing.count_value(value.type.shape, axis, keepdims, where, inexact_dtype(wide))
    return wrap(cast(div(cast(total, inexact_dtype(wide)), count), result))


# --- positions -----------------------------------------------------------------------------------


def argmax(
    a: ArrayLike, axis: int | None = None, out: None = None, *, keepdims: bool = False
) -> Tracer:
    """As `numpy.argmax`."""
    check_no("argmax", out=out)
    return wrap(reducing.position(lift(a), axis, keepdims, largest=True))


def argmin(
    a: ArrayLike, axis: int | None = None, out: None = None, *, keepdims: bool = False
) -> Tracer:
    """As `numpy.argmin`."""
    check_no("argmin", out=out)
    return wrap(reducing.position(lift(a), axis, keepdims, largest=False))


# --- running sums and products -------------------------------------------------------------------


def cumsum(a: ArrayLike, axis: int | None = None, dtype: object = None, out: None = None) -> Tracer:
    """As `numpy.cumsum`."""
    check_no("cumsum", out=out)
    return wrap(reducing.accumulate(reducing.CUMSUM, to_accumulator(lift(a), dtype), axis))


def cumprod(
    a: ArrayLike, axis: int | None = None, dtype: object = None, out: None = None
) -> Tracer:
    """As `numpy.cumprod`."""
    check_no("cumprod", out=out)
    return wrap(reducing.accumulate(reducing.CUMPROD, to_accumulator(lift(a), dtype), axis))


def cumulative_sum(
    x: ArrayLike,
    /,
    *,
    axis: int | None = None,
    dtype: object = None,
    out: None = None,
    include_initial: bool = False,
) -> Tracer:
    """As `numpy.cumulative_sum`."""
    check_no("cumulative_sum", out=out)
    return wrap(
        reducing.accumulate_with_start(
            reducing.CUMSUM, to_accumulator(lift(x), dtype), axis, include_initial
        )
    )


def cumulative_prod(
    x: ArrayLike,
    /,
    *,
    axis: int | None = None,
    dtype: object = None,
    out: None = None,
    include_initial: bool = False,
) -> Tracer:
    """As `numpy.cumulative_prod`."""
    check_no("cumulative_prod", out=out)
    return wrap(
        reducing.accumulate_with_start(
            reducing.CUMPROD, to_accumulator(lift(x), dtype), axis, include_initial
        )
    )


# --- without NaN ---------------------------------------------------------------------------------


def nansum(
    a: ArrayLike,
    axis: Axis = None,
    dtype: object = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Tracer:
    """As `numpy.nansum`."""
    return sum(wrap(reducing.replace_nan(lift(a), 0)), axis, dtype, out, keepdims, initial, where)


def nanprod(
    a: ArrayLike,
    axis: Axis = None,
    dtype: object = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Tracer:
    """As `numpy.nanprod`."""
    return prod(wrap(reducing.replace_nan(lift(a), 1)), axis, dtype, out, keepdims, initial, where)


def nanmean(
    a: ArrayLike,
    axis: Axis = None,
    dtype: object = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Tracer:
    """As `numpy.nanmean`."""
    chosen = reducing.where_not_nan(lift(a), where)
    return mean(a, axis, dtype, out, keepdims, where=None if chosen is None else wrap(chosen))


def nanmax(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Tracer:
    """As `numpy.nanmax`: NaN only where there is nothing else."""
    check_no("nanmax", out=out)
    return wrap(reducing.nan_extreme(reducing.MAX, lift(a), axis, keepdims, initial, where))


def nanmin(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Tracer:
    """As `numpy.nanmin`: NaN only where there is nothing else."""
    check_no("nanmin", out=out)
    return wrap(reducing.nan_extreme(reducing.MIN, lift(a), axis, keepdims, initial, where))


def nanargmax(
    a: ArrayLike, axis: int | None = None, out: None = None, *, keepdims: bool = False
) -> Tracer:
    """As `numpy.nanargmax`, but -1 where NumPy raises because all elements are NaN."""
    check_no("nanargmax", out=out)
    return wrap(reducing.nan_position(lift(a), axis, keepdims, largest=True))


def nanargmin(
    a: ArrayLike, axis: int | None = None, out: None = None, *, keepdims: bool = False
) -> Tracer:
    """As `numpy.nanargmin`, but -1 where NumPy raises because all elements are NaN."""
    check_no("nanargmin", out=out)
    return wrap(reducing.nan_position(lift(a), axis, keepdims, largest=False))


def nancumsum(
    a: ArrayLike, axis: int | None = None, dtype: object = None, out: None = None
) -> Tracer:
    """As `numpy.nancumsum`."""
    return cumsum(wrap(reducing.replace_nan(lift(a), 0)), axis, dtype, out)


def nancumprod(
    a: ArrayLike, axis: int | None = None, dtype: object = None, out: None = None
) -> Tracer:
    """As `numpy.nancumprod`."""
    return cumprod(wrap(reducing.replace_nan(lift(a), 1)), axis, dtype, out)
