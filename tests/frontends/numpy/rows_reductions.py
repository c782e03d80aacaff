"""Rows of the functions that make one element of many: sums, extremes, moments, histograms."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from tests.frontends.numpy.arrays import (
    ALL,
    BOOL,
    FLOAT,
    INEXACT,
    INTEGER,
    NUMBER,
    REAL,
    WITHOUT_COMPLEX,
    Array,
    Draw,
    a_dtype,
    an_axis,
    array,
    axes,
    chance,
    choice,
    integer,
    keepdims,
    like,
    operand,
    options,
    plain,
)
from tests.frontends.numpy.checking import Call, Function, Known, call
from tests.frontends.numpy.row import Row, rows


def reduced(draw: Draw, x: Any, **more: st.SearchStrategy[Any]) -> dict[str, Any]:
    """Some of the arguments that all reductions take, and more."""
    return options(draw, axis=st.just(axes(draw, np.ndim(plain(x)))), keepdims=keepdims, **more)


def mask(draw: Draw, x: Array) -> st.SearchStrategy[Any]:
    """For where=."""
    return st.just(choice(draw, True, like(draw, x, BOOL), array(draw, BOOL, x.shape)))


# --- sums, products, extremes ---------------------------------------------------------------------


def summed(draw: Draw) -> Call:
    x = array(draw)
    return call(x, **reduced(draw, x, where=mask(draw, x), initial=st.sampled_from((2, 1.5))))


def summed_in(draw: Draw) -> Call:
    x = operand(draw, values="finite")
    given = call(x, **reduced(draw, x), dtype=draw(a_dtype(NUMBER)))
    assume(can_hold(given.kwargs["dtype"], plain(x)))
    return given


def can_hold(dtype: str, x: Any) -> bool:
    """Whether a dtype has all the elements of x; what becomes of other floats is undefined."""
    elements, target = np.asarray(x), np.dtype(dtype)
    if elements.dtype.kind not in "fc" or target.kind not in "iu":
        return True
    whole, limits = np.trunc(elements.real.astype(np.float64)), np.iinfo(target)
    return bool(np.all((whole >= limits.min) & (whole <= limits.max)))


def multiplied(draw: Draw) -> Call:
    x = array(draw, ALL, most_rank=2, values="unit")
    return call(x, **reduced(draw, x, where=mask(draw, x), initial=st.sampled_from((2, 1.5))))


def tested(draw: Draw) -> Call:
    x = operand(draw, values="small", scalars=(0, 1, 2.5, True, False))
    where = mask(draw, x) if isinstance(x, np.ndarray) else st.just(True)
    return call(x, **reduced(draw, x, where=where))


def extreme(draw: Draw) -> Call:
    x = array(draw, choice(draw, ALL, REAL, BOOL))
    given = reduced(draw, x)
    if x.dtype.kind in "iuf" and chance(draw):
        given |= {"initial": choice(draw, 2, 0), **options(draw, where=mask(draw, x))}
    return call(x, **given)


def spread(draw: Draw) -> Call:
    x = array(draw, NUMBER)
    return call(x, **reduced(draw, x))


def place(draw: Draw) -> Call:
    x = array(draw, choice(draw, ALL, FLOAT))
    axis = choice(draw, None, an_axis(draw, x.ndim))
    return call(x, **options(draw, axis=st.just(axis), keepdims=keepdims))


def nan_place(name: str) -> Function:
    """NumPy's function, with -1 instead of an error where all elements are NaN."""

    def find(a: Array, axis: int | None = None, keepdims: bool = False) -> Any:
        if a.dtype.kind not in "fc":
            return getattr(np, f"nan{name}")(a, axis=axis, keepdims=keepdims)
        least = -np.inf if name == "argmax" else np.inf
        worst = complex(least, least) if a.dtype.kind == "c" else least
        found = getattr(np, name)(np.where(np.isnan(a), worst, a), axis=axis, keepdims=keepdims)
        return np.where(np.all(np.isnan(a), axis=axis, keepdims=keepdims), -1, found)

    return find


def counted(draw: Draw) -> Call:
    x = operand(draw, values="small")
    return call(x, **reduced(draw, x))


# --- running --------------------------------------------------------------------------------------


def running(draw: Draw) -> Call:
    x = operand(draw, ALL, values="finite", most_rank=2)
    axis = st.just(choice(draw, None, an_axis(draw, np.ndim(plain(x)))))
    return call(x, **options(draw, axis=axis, dtype=a_dtype(("float32", "int64", "complex128"))))


def running_product(draw: Draw) -> Call:
    x = array(draw, ALL, values="unit", most_rank=2)
    axis = st.just(choice(draw, None, an_axis(draw, x.ndim)))
    return call(x, **options(draw, axis=axis, dtype=a_dtype(("float64", "int64", "complex128"))))


def running_from_start(draw: Draw) -> Call:
    x = array(draw, ALL, values="unit", most_rank=2)
    axis = {} if x.ndim == 1 and chance(draw) else {"axis": an_axis(draw, x.ndim)}
    return call(x, **axis, **options(draw, include_initial=st.booleans(), dtype=a_dtype(REAL[3:])))


# --- means and moments ----------------------------------------------------------------------------


def averaged(draw: Draw) -> Call:
    x = array(draw, least=choice(draw, 0, 1))
    return call(x, **reduced(draw, x, where=mask(draw, x), dtype=a_dtype(INEXACT)))


def deviating(draw: Draw) -> Call:
    x = array(draw, values="finite")
    freedom: dict[str, Any] = choice(
        draw, {}, {"ddof": integer(draw, 0, 3)}, {"correction": choice(draw, 1, 0.5)}
    )
    wanted = a_dtype(("complex64", "complex128") if x.dtype.kind == "c" else FLOAT[1:])
    return call(x, **freedom, **reduced(draw, x, where=mask(draw, x), dtype=wanted))


def deviating_numbers(draw: Draw) -> Call:
    """With NaN; NumPy rounds deviations to the dtype of the array, whatever dtype= says."""
    x = array(draw)
    freedom = options(draw, ddof=st.integers(0, 3))
    return call(x, **freedom, **reduced(draw, x, where=mask(draw, x)))


def deviating_from(draw: Draw) -> Call:
    x = array(draw, NUMBER, values="finite", least=1)
    axis = axes(draw, x.ndim) if x.ndim else None
    try:
        mean = np.asarray(np.mean(x, axis=axis, keepdims=True))
    except ValueError:
        return call(x, axis=axis)
    return call(x, axis=axis, mean=mean, **options(draw, ddof=st.integers(0, 1)))


def weighted(draw: Draw) -> Call:
    x = array(draw, values="finite", least=1)
    axis = choice(draw, None, *([an_axis(draw, x.ndim)] if x.ndim else []))
    given = options(draw, axis=st.just(axis), returned=st.booleans(), keepdims=keepdims)
    if integer(draw, 0, 3) == 0:
        return call(x, **given)
    along = given.get("axis")
    is_axis = along is not None and -x.ndim <= along < x.ndim
    size = x.shape[along] if is_axis and chance(draw) else x.shape
    of = (size,) if isinstance(size, int) else size
    return call(x, weights=array(draw, REAL, of, values="positive"), **given)


def variables(draw: Draw) -> Call:
    x = array(draw, least_rank=1, most_rank=2, least=2, most=4, values="finite")
    given = options(draw, rowvar=st.booleans(), bias=st.booleans(), ddof=st.integers(0, 1))
    if integer(draw, 0, 2) == 0:
        return call(x, array(draw, of=x.shape, values="finite"), **given)
    wanted = a_dtype(("complex128",) if x.dtype.kind == "c" else FLOAT[1:])
    return call(x, **given, **options(draw, dtype=wanted))


def weighted_variables(draw: Draw) -> Call:
    x = array(draw, NUMBER, of=(integer(draw, 1, 3), 4), values="finite")
    frequencies = st.just(array(draw, INTEGER, (4,), values="positive"))
    importance = st.just(array(draw, REAL, (4,), values="positive"))
    given = options(draw, fweights=frequencies, aweights=importance, ddof=st.integers(0, 1))
    return call(x, **given)


def correlated(draw: Draw) -> Call:
    # A variable that varies, as rounding decides about 0 / 0 otherwise.
    of = choice(draw, (5,), (2, 5), (3, 5))
    steps = np.arange(5) ** 2 * np.array([1, -2, 1, 3, 1])
    x = array(draw, NUMBER, of, values="small")
    x = x + (steps % 7).astype(x.dtype)
    given = options(draw, y=st.just(x[..., ::-1].copy()))
    return call(x, **given)


# --- order ----------------------------------------------------------------------------------------

METHODS = (
    *(
        "inverted_cdf",
        "averaged_inverted_cdf",
        "closest_observation",
        "linear",
        "lower",
        "higher",
        "midpoint",
        "nearest",
        "hazen",
        "weibull",
    ),
    *("median_unbiased", "normal_unbiased", "interpolated_inverted_cdf"),
)


def middle(draw: Draw) -> Call:
    x = array(draw, ALL, most=5)
    return call(x, **reduced(draw, x))


def quantiles(draw: Draw, scale: int, dtypes: tuple[str, ...]) -> Call:
    x = array(draw, dtypes, most=5, least=1, values="finite")
    # Eighths, so that no rounding decides which elements a quantile lies between.
    levels = [integer(draw, 0, 8) / 8 * scale for _ in range(3)]
    q = choice(draw, levels[0], levels, np.array(levels), np.array(levels[0]), Known(levels[:2]))
    if x.dtype.kind == "f" and isinstance(q, float) and chance(draw):
        x = array(draw, (str(x.dtype),), x.shape)
    return call(x, q, **reduced(draw, x, method=st.sampled_from(METHODS)))


def fraction(draw: Draw) -> Call:
    return quantiles(draw, 1, (*REAL[2:4], "uint8", "float32", "float64"))


def percent(draw: Draw) -> Call:
    return quantiles(draw, 100, (*REAL[2:4], "uint8", "float32", "float64"))


# --- histograms -----------------------------------------------------------------------------------


def binned(draw: Draw) -> Call:
    x = array(draw, REAL, values="finite", most=6)
    bins = choice(draw, integer(draw, 1, 5), [-4, 0, 0.5, 3], np.array([-7.0, -1.0, 2.0, 7.0]))
    given = options(draw, range=st.just((-4.0, 4.0)) if chance(draw) else st.just((0, 3)))
    return call(x, bins, **(given if isinstance(bins, int) else {}))


def weighted_bins(draw: Draw) -> Call:
    given = binned(draw)
    x = given.args[0]
    weights = st.just(array(draw, REAL[2:], x.shape, values="finite"))
    more = options(draw, weights=weights, density=st.booleans())
    return Call(given.args, {**given.kwargs, **more})


def placed(draw: Draw) -> Call:
    edges = np.cumsum(array(draw, ("int64", "float64"), (integer(draw, 0, 5),), values="positive"))
    edges = edges[::-1].copy() if chance(draw) else edges
    x = array(draw, WITHOUT_COMPLEX, values=choice(draw, "finite", "any"))
    return call(x, edges, **options(draw, right=st.booleans()))


def tallied(draw: Draw) -> Call:
    x = array(draw, ("uint8", "int64", "int32"), of=(integer(draw, 0, 6),), values="positive")
    weights = st.just(array(draw, WITHOUT_COMPLEX, x.shape, values="finite"))
    return call(x, **options(draw, weights=weights), length=integer(draw, 0, 9))


def bincount(x: Array, weights: Any = None, *, length: int) -> Array:
    return np.bincount(x, weights, length)[:length]


def tallied_at_least(draw: Draw) -> Call:
    """All values are below minlength, so that the length is known."""
    x = array(draw, ("uint8", "int64"), of=(integer(draw, 0, 6),), values="positive")
    return call(x, minlength=8)


ROWS: list[Row] = [
    *rows("sum nansum", summed),
    *rows("sum prod", summed_in, tolerance=64),
    *rows("prod nanprod", multiplied, tolerance=64),
    *rows("any all", tested),
    *rows("max min amax amin", extreme),
    *rows("nanmax nanmin", extreme),
    Row("ptp", spread),
    *rows("argmax argmin", place),
    *[Row(f"nan{name}", place, oracle=nan_place(name)) for name in ("argmax", "argmin")],
    Row("count_nonzero", counted),
    *rows("cumsum nancumsum", running),
    *rows("cumprod nancumprod", running_product, tolerance=64),
    *rows("cumulative_sum cumulative_prod", running_from_start, tolerance=64),
    *rows("mean nanmean", averaged),
    *rows("var std", deviating, tolerance=64),
    *rows("nanvar nanstd", deviating_numbers, tolerance=64),
    *rows("var std", deviating_from, tolerance=64),
    Row("average", weighted, tolerance=64),
    Row("cov", variables, tolerance=128),
    Row("cov", weighted_variables, tolerance=128),
    Row("corrcoef", correlated, tolerance=64),
    *rows("median nanmedian", middle),
    *rows("quantile nanquantile", fraction),
    *rows("percentile nanpercentile", percent),
    Row("histogram", weighted_bins, tolerance=64),
    Row("histogram_bin_edges", binned, tolerance=64),
    Row("digitize", placed),
    Row("bincount", tallied, oracle=bincount),
    Row("bincount", tallied_at_least),
]
