"""Rows of the functions of each element, and of those between neighbours: differences, slopes."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.frontends.numpy.arrays import (
    BOOL,
    FLOAT,
    INEXACT,
    INTEGER,
    NUMBER,
    REAL,
    WITHOUT_COMPLEX,
    Draw,
    a_dtype,
    an_axis,
    array,
    chance,
    choice,
    integer,
    like,
    operand,
    options,
    plain,
)
from tests.frontends.numpy.checking import Call, Known, call
from tests.frontends.numpy.row import Row, rows

# --- questions about the type ---------------------------------------------------------------------


def anything(draw: Draw) -> Call:
    return call(operand(draw))


def size(draw: Draw) -> Call:
    x = operand(draw)
    return call(x, **options(draw, axis=st.just(an_axis(draw, np.ndim(plain(x))))))


def to_promote(draw: Draw) -> Call:
    given = [choice(draw, operand(draw), draw(a_dtype())) for _ in range(integer(draw, 1, 3))]
    return call(*given)


def to_cast(draw: Draw) -> Call:
    """Numbers that every dtype holds: of others, floats become any integer."""
    return call(array(draw, values="positive"), draw(a_dtype()))


# --- clipping, rounding, choosing -----------------------------------------------------------------


def clipped(draw: Draw) -> Call:
    x = operand(draw, WITHOUT_COMPLEX)
    limits = [operand(draw, WITHOUT_COMPLEX, (), scalars=(2, 0, 1.5)) for _ in range(2)]
    form = choice(draw, "positional", "keyword", "low", "high", "none", "stretched")
    if form == "keyword":
        return call(x, min=limits[0], max=limits[1])
    if form == "stretched":
        bound = array(draw, WITHOUT_COMPLEX, (2, 3))
        return call(array(draw, WITHOUT_COMPLEX, choice(draw, (3,), (2, 1), ())), bound, None)
    pairs = {"low": (limits[0], None), "high": (None, limits[1]), "none": (None, None)}
    return call(x, *pairs.get(form, (limits[0], limits[1])))


def rounded(draw: Draw) -> Call:
    return call(operand(draw, values="finite"), **options(draw, decimals=st.integers(-2, 2)))


def without_special(draw: Draw) -> Call:
    number = st.sampled_from((0, 1.5, np.array(2.0)))
    return call(array(draw), **options(draw, nan=number, posinf=number, neginf=number))


def chosen(draw: Draw) -> Call:
    x = array(draw)
    return call(
        operand(draw, of=x.shape, scalars=(True, False, 0, 1.5)),
        choice(draw, x, operand(draw, of=())),
        operand(draw, of=like(draw, x).shape),
    )


def selected(draw: Draw) -> Call:
    x = array(draw)
    count = integer(draw, 1, 3)
    conditions = [like(draw, x, BOOL) for _ in range(count)]
    choices = [choice(draw, like(draw, x), x, operand(draw, of=())) for _ in range(count)]
    return call(conditions, choices, **options(draw, default=st.sampled_from((0, 2, 1.5))))


def pieces(draw: Draw) -> Call:
    x = array(draw, NUMBER, values="finite")
    conditions = [array(draw, BOOL, x.shape) for _ in range(integer(draw, 1, 2))]
    functions = [choice(draw, 2, np.negative, lambda part: part + 1) for _ in conditions]
    return call(x, conditions, functions + ([np.square] if chance(draw) else []))


# --- tests and parts ------------------------------------------------------------------------------


def pair(draw: Draw) -> Call:
    x = operand(draw, values="small")
    same = x if chance(draw) else operand(draw, of=np.shape(plain(x)), values="small")
    return call(x, same, **options(draw, equal_nan=st.booleans()))


def close_pair(draw: Draw) -> Call:
    x = array(draw)
    y = choice(draw, x, like(draw, x), operand(draw, of=()))
    extra = options(draw, rtol=st.sampled_from((0.1, 1e-3)), atol=st.sampled_from((0.5, 0)))
    return call(x, y, **extra, **options(draw, equal_nan=st.booleans()))


def plain_pair(draw: Draw) -> Call:
    given = pair(draw)
    return Call(given.args)


def angle(draw: Draw) -> Call:
    return call(operand(draw), **options(draw, deg=st.booleans()))


def real_numbers(draw: Draw) -> Call:
    return call(operand(draw, WITHOUT_COMPLEX, values="finite"))


# --- between neighbours ---------------------------------------------------------------------------


def differences(draw: Draw) -> Call:
    x = array(draw, least_rank=1, most=5)
    axis = an_axis(draw, x.ndim)
    end = st.just(choice(draw, 2, array(draw, (str(x.dtype),), x.shape)))
    return call(
        x, **options(draw, n=st.integers(0, 3), axis=st.just(axis), prepend=end, append=end)
    )


def flat_differences(draw: Draw) -> Call:
    x = array(draw, NUMBER, most_rank=2)
    end = st.just(choice(draw, 2, [1, 2], array(draw, (str(x.dtype),), most_rank=1)))
    return call(x, **options(draw, to_end=end, to_begin=end))


def phases(draw: Draw) -> Call:
    x = array(draw, (*INTEGER[2:4], *FLOAT), least_rank=1, most=6, values="finite")
    period = choice(draw, 4, 3, 5.0)
    extra = options(draw, axis=st.just(an_axis(draw, x.ndim)), discont=st.sampled_from((1.0, 3.0)))
    return call(x, **({"period": period} if x.dtype.kind == "i" or chance(draw) else {}), **extra)


def slopes(draw: Draw) -> Call:
    x = array(draw, (*INTEGER[2:4], *INEXACT), least_rank=1, least=1, most=5, values="finite")
    axis = an_axis(draw, x.ndim)
    order = options(draw, edge_order=st.integers(1, 2))
    form = choice(draw, "plain", "step", "steps", "places")
    if form == "plain":
        return call(x, **order)
    if form == "step":
        return call(x, choice(draw, 2, 0.5, np.array(2.0)), axis=axis, **order)
    if form == "steps":
        return call(x, *[0.5 + i for i in range(x.ndim)], **order)
    size = x.shape[axis] if -x.ndim <= axis < x.ndim else 1
    return call(x, np.cumsum(1.0 + np.arange(size) % 3), axis=axis, **order)


def under_curve(draw: Draw) -> Call:
    y = array(draw, NUMBER, least_rank=1, most=5, values="finite")
    axis = an_axis(draw, y.ndim)
    size = y.shape[axis] if -y.ndim <= axis < y.ndim else 1
    places = array(draw, REAL, (size,), values="finite")
    x = choice(draw, places, array(draw, REAL, y.shape, values="finite"))
    widths: dict[str, Any] = choice(draw, {"x": x}, {"dx": choice(draw, 2, 0.5)}, {})
    return call(y, axis=axis, **widths)


def between_points(draw: Draw) -> Call:
    count = integer(draw, 1, 5)
    xp = np.cumsum(array(draw, ("float64", "float32", "int32"), (count,), values="positive"))
    fp = array(draw, NUMBER, (count,), values="finite")
    x = operand(draw, WITHOUT_COMPLEX, values="finite")
    number = st.sampled_from((2.0, -1))
    return call(x, xp, fp, **options(draw, left=number, right=number))


def between_periodic_points(draw: Draw) -> Call:
    count = integer(draw, 1, 5)
    xp = np.linspace(0.125, 5.0, count) + integer(draw, 0, 2)
    x = array(draw, FLOAT, values="finite")
    return call(x, xp, array(draw, REAL, (count,), values="finite"), period=7.5)


def polynomial(draw: Draw) -> Call:
    p = array(draw, of=(integer(draw, 0, 4),), values="small")
    return call(p, operand(draw, values="small"))


def signals(draw: Draw) -> Call:
    a = array(draw, least_rank=1, most_rank=1, most=6, values="small")
    v = array(draw, least_rank=1, most_rank=1, most=6, values="small")
    return call(a, v, **options(draw, mode=st.sampled_from(("full", "same", "valid"))))


# --- taking and putting ---------------------------------------------------------------------------


def indices(draw: Draw, size: int, of: Any = None, mode: str = "raise") -> Any:
    """Indices into an axis, inside unless the mode says what happens outside; of any integers."""
    least, most = (-size, size - 1) if mode == "raise" else (-9, 9)
    made = array(draw, ("int64", "int8"), of, most_rank=2)
    return (made.astype(np.int64) % max(most - least + 1, 1) + least).astype(made.dtype)


def taken(draw: Draw) -> Call:
    x = array(draw, most=5)
    axis = choice(draw, None, an_axis(draw, x.ndim))
    mode = choice(draw, "raise", "wrap", "clip")
    known = axis is not None and -x.ndim <= axis < x.ndim
    places = indices(draw, x.shape[axis] if known else x.size, mode=mode)
    form = choice(draw, places, Known(places), places.tolist(), integer(draw, 0, 2))
    return call(x, form, **options(draw, axis=st.just(axis)), mode=mode)


def taken_along(draw: Draw) -> Call:
    x = array(draw, least_rank=1, least=1)
    axis = integer(draw, -x.ndim, x.ndim - 1)
    of = list(x.shape)
    of[axis] = integer(draw, 0, 3)
    places = indices(draw, x.shape[axis], of)
    return call(x, places, **({} if axis == -1 and chance(draw) else {"axis": axis}))


def put_along(draw: Draw) -> Call:
    x = array(draw, NUMBER, least_rank=1, least=1)
    axis = integer(draw, -x.ndim, x.ndim - 1)
    of = list(x.shape)
    of[axis] = 1
    places = indices(draw, x.shape[axis], of)
    return call(x, places, choice(draw, 2, array(draw, (str(x.dtype),), of)), axis)


def put_along_axis(arr: Any, indices: Any, values: Any, axis: int) -> Any:
    written = arr.copy()
    np.put_along_axis(written, indices, values, axis)
    return written


def by_number(draw: Draw) -> Call:
    mode = choice(draw, "raise", "wrap", "clip")
    count = integer(draw, 1, 3)
    of = choice(draw, (), (3,), (2, 3))
    # NumPy wraps by repeated subtraction, so that large numbers take it for ever.
    which = array(draw, ("int64", "uint8"), of, values="finite")
    if mode == "raise":
        which = which % count
    options_ = [array(draw, of=choice(draw, of, ())) for _ in range(count)]
    return call(which, options_, mode=mode)


def flat_places(draw: Draw) -> Call:
    dims = choice(draw, (2, 3), (6,), (1, 2, 3))
    places = array(draw, INTEGER, values="positive") % 6
    return call(choice(draw, places, 4), dims, **options(draw, order=st.sampled_from("CF")))


def places_by_axis(draw: Draw) -> Call:
    dims = choice(draw, (2, 3), (4,), (2, 1, 3))
    mode = choice(draw, "raise", "wrap", "clip")
    of = choice(draw, (), (3,), (2, 2))
    parts = [array(draw, ("int64", "int32"), of, values="finite") for _ in dims]
    if mode == "raise":
        parts = [part % size for part, size in zip(parts, dims, strict=True)]
    return call(tuple(parts), dims, mode=mode, **options(draw, order=st.sampled_from("CF")))


# --- where a condition holds ----------------------------------------------------------------------


def padded_to(found: Any, size: int, fill: Any) -> Any:
    short = np.full((size, *found.shape[1:]), fill, found.dtype)
    short[: len(found)] = found[:size]
    return short


def with_size(draw: Draw) -> Call:
    x = array(draw, least_rank=1, values="small")
    return call(x, size=integer(draw, 0, 9), **options(draw, fill_value=st.integers(-1, 3)))


def known_condition(draw: Draw) -> Call:
    return call(Known(array(draw, least_rank=1, values="small")))


def nonzero(a: Any, *, size: int, fill_value: int = 0) -> Any:
    return tuple(padded_to(part, size, fill_value) for part in np.nonzero(a))


def flatnonzero(a: Any, *, size: int, fill_value: int = 0) -> Any:
    return padded_to(np.flatnonzero(a), size, fill_value)


def argwhere(a: Any, *, size: int, fill_value: int = 0) -> Any:
    return padded_to(np.argwhere(a), size, fill_value)


def extracted(draw: Draw) -> Call:
    x = array(draw, values="finite")
    condition = array(draw, (*BOOL, "int32"), x.shape, values="small")
    if chance(draw):
        return call(Known(condition), x)
    return call(
        condition, x, size=integer(draw, 0, 9), **options(draw, fill_value=st.integers(0, 3))
    )


def extract(condition: Any, arr: Any, *, size: int | None = None, fill_value: int = 0) -> Any:
    found = np.extract(condition, arr)
    return found if size is None else padded_to(found, size, fill_value)


def compressed(draw: Draw) -> Call:
    x = array(draw, least_rank=1, values="finite")
    axis = integer(draw, -x.ndim, x.ndim - 1)
    condition = array(draw, BOOL, (integer(draw, 0, x.shape[axis]),))
    if chance(draw):
        return call(Known(condition), x, axis=axis)
    fill = options(draw, fill_value=st.integers(0, 3))
    return call(condition, x, axis=axis, size=integer(draw, 0, 4), **fill)


def compress(
    condition: Any, a: Any, axis: int, *, size: int | None = None, fill_value: int = 0
) -> Any:
    found = np.compress(condition, a, axis)
    if size is None:
        return found
    return np.moveaxis(padded_to(np.moveaxis(found, axis, 0), size, fill_value), 0, axis)


def open_grid(draw: Draw) -> Call:
    parts = [array(draw, INTEGER, most_rank=1, least_rank=1) for _ in range(integer(draw, 1, 3))]
    mask = Known(array(draw, BOOL, (3,)))
    return call(*(parts if chance(draw) else [*parts, mask]))


ROWS: list[Row] = [
    *rows("shape ndim iscomplexobj isrealobj", anything),
    Row("size", size),
    Row("result_type", to_promote),
    Row("astype", to_cast),
    Row("clip", clipped),
    *rows("round around", rounded, tolerance=1),
    Row("fix", real_numbers),
    Row("nan_to_num", without_special),
    Row("where", chosen),
    Row("select", selected),
    Row("piecewise", pieces),
    *rows("array_equal", pair),
    Row("array_equiv", plain_pair),
    *rows("isclose allclose", close_pair),
    *rows("real imag isreal iscomplex isposinf isneginf", anything),
    Row("angle", angle),
    *rows("sinc i0", real_numbers, tolerance=32),
    Row("diff", differences),
    Row("ediff1d", flat_differences),
    Row("unwrap", phases),
    Row("gradient", slopes),
    Row("trapezoid", under_curve, tolerance=64),
    Row("interp", between_points, tolerance=64),
    Row("interp", between_periodic_points, tolerance=64),
    Row("polyval", polynomial),
    *rows("convolve correlate", signals),
    Row("take", taken),
    Row("take_along_axis", taken_along),
    Row("put_along_axis", put_along, function=put_along_axis),
    Row("choose", by_number),
    Row("unravel_index", flat_places),
    Row("ravel_multi_index", places_by_axis),
    *[Row(f.__name__, with_size, oracle=f) for f in (nonzero, flatnonzero, argwhere)],
    *rows("nonzero flatnonzero argwhere", known_condition),
    Row("extract", extracted, oracle=extract),
    Row("compress", compressed, oracle=compress),
    Row("ix_", open_grid),
]
