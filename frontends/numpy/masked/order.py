"""Running sums, sorting and joining of arrays whose sizes are only known when the program runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from weft.compiler.ir import dtypes
from weft.frontends.numpy.masked.array import Selected, refuse
from weft.frontends.numpy.masked.choice import Mask, Span, iota, total
from weft.frontends.numpy.masked.parts import packed
from weft.frontends.numpy.masked.reductions import neutral, one_axis, reduced
from weft.frontends.tracing import core


def _running(name: str, neutral: int) -> Callable[..., Any]:
    def function(a: Any, axis: Any = None, dtype: Any = None, out: None = None) -> Any:
        if a.ndim > 1 and axis is not None:
            place = core.normalize_axis(axis, a.ndim)
            made = getattr(np, name)(a.replaced(neutral, (place,)), axis=place, dtype=dtype)
            return Selected(made, a.chosen)
        array, _ = one_axis(a, name, axis)
        return Selected(getattr(np, name)(array.replaced(neutral), dtype=dtype), array.chosen)

    return function


def _last(dtype: np.dtype[Any]) -> Any:
    """What comes last in a sorted array."""
    return np.nan if dtype.kind in "fc" else neutral(dtype, "min")


def _sort(a: Any, axis: Any = -1, **_: Any) -> Selected:
    array, choice = one_axis(a, "sort", axis)
    return Selected(np.sort(array.replaced(_last(array.dtype))), (Span.of(0, choice.count()),))


def _argsort(a: Any, axis: Any = -1, **_: Any) -> Selected:
    array, choice = one_axis(a, "argsort", axis)
    near = packed(array, 0)
    # Sorting is stable, so what was not chosen comes after elements that are as large as it is.
    return Selected(np.argsort(near.replaced(_last(array.dtype))), near.chosen)


def _searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    if sorter is not None or isinstance(v, Selected):
        refuse("np.searchsorted in it of such an array, or with sorter=")
    array, _ = one_axis(a, "searchsorted")
    near = packed(array, 0)
    last = near.replaced(_last(array.dtype))
    return np.minimum(np.searchsorted(last, v, side), near.shape[0])  # type: ignore[call-overload]


def _quantile(a: Any, q: Any, axis: Any = None, *, method: Any = "linear") -> Any:
    array, _ = one_axis(a, "quantile", axis)
    numbers = array if array.dtype.kind == "f" else array.astype(np.float64)
    made = np.nanquantile(numbers.replaced(np.nan), q, method=method)
    has_nan = reduced(np.any, np.isnan(numbers))
    return np.where(has_nan, np.asarray(np.nan, made.dtype), made)


def _percentile(a: Any, q: Any, axis: Any = None, *, method: Any = "linear") -> Any:
    return _quantile(a, np.true_divide(q, 100), axis, method=method)


def _median(a: Any, axis: Any = None) -> Any:
    return _quantile(a, 0.5, axis)


def _diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    if prepend not in (None, np._NoValue) or append not in (None, np._NoValue):
        refuse("np.diff with prepend= or append=")
    place = core.normalize_axis(axis, a.ndim)
    for _ in range(n):
        after, before = [
            a[(*[slice(None)] * place, part)] for part in (slice(1, None), slice(None, -1))
        ]
        a = after != before if a.dtype == np.bool_ else after - before
    return a


def _concatenate(arrays: Sequence[Any], axis: Any = 0, dtype: Any = None, **_: Any) -> Any:
    """Arrays of rank 1 one after the other, each written behind the end of those before."""
    if axis not in (0, -1, None) or any(np.ndim(array) != 1 for array in arrays):
        refuse("np.concatenate of arrays of rank 2 or more")
    common = core.result_dtype(*[a.whole if isinstance(a, Selected) else a for a in arrays]).numpy
    kind = np.dtype(dtype) if dtype is not None else common
    sizes = [a.whole.shape[0] if isinstance(a, Selected) else np.shape(a)[0] for a in arrays]
    size: Any = sum(sizes[1:], sizes[0])
    made = core.wrap(core.full((size,), 0, core.lift(np.zeros((), kind)).type.dtype))
    end: Any = 0
    for array, own in zip(arrays, sizes, strict=True):
        whole = array if isinstance(array, Selected) else Selected(array, (Span.of(0, own),))
        near = packed(whole, 0)
        choice = near.chosen[0]
        assert choice is not None
        places = np.where(iota(own) < choice.count(), iota(own) + end, size)
        made = made.at[places].set(core.wrap(core.lift(near.whole)).astype(kind), "fill")  # type: ignore[attr-defined]
        end = total(end, choice.count())
    return Selected(made, (Span.of(0, end),))


def _places(a: Any) -> Selected:
    """Where elements are not zero, counted among those that are chosen."""
    array, choice = one_axis(a, "nonzero")
    size = array.whole.shape[0]
    flags = choice.mask(size) & (array.whole != 0)
    return Selected(choice.ranks(size), (Mask(flags),))


def _column(found: Selected) -> tuple[Any, Any]:
    return found.whole[:, None], (*found.chosen, None)


def _where(condition: Any, *others: Any) -> Any:
    if others:
        refuse("np.where with one of two choices")
    return (_places(condition),)


def _array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Whether two vectors have the same elements."""
    if np.ndim(a1) != np.ndim(a2):
        return core.wrap(core.lift(False))
    nears = [
        packed(a, 0) if isinstance(a, Selected) else Selected(a, (Span.of(0, np.shape(a)[0]),))
        for a in (a1, a2)
    ]
    if any(near.ndim != 1 for near in nears):
        refuse("np.array_equal of arrays of rank 2 or more")
    one, other = nears
    counts = [near.shape[0] for near in nears]
    size = min(near.whole.shape[0] for near in nears)
    left, right = one.whole[:size], other.whole[:size]
    same = left == right
    if equal_nan:
        same = same | ((left != left) & (right != right))
    return (counts[0] == counts[1]) & np.all(same | (iota(size) >= counts[0]))


def _unique(ar: Any, *others: Any, **further: Any) -> Selected:
    if others or any(value for value in further.values() if value is not True):
        refuse("np.unique with further arguments")
    near = _sort(ar)
    choice, whole = near.chosen[0], near.whole
    assert choice is not None
    size = whole.shape[0]
    if size == 0:
        return near
    differs = whole[1:] != whole[:-1]
    if near.dtype.kind in "fc":
        differs = differs & ~(np.isnan(whole[1:]) & np.isnan(whole[:-1]))
    first = core.wrap(core.full((1,), True, dtypes.bool_))
    is_new: Any = np.concatenate([first, differs])
    return Selected(whole, (Mask(is_new & choice.mask(size)),))


def _append(arr: Any, values: Any, axis: Any = None) -> Any:
    parts = [part if isinstance(part, Selected) else np.ravel(part) for part in (arr, values)]
    return _concatenate(parts, axis)


FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "append": _append,
    "argwhere": lambda a: Selected(*_column(_places(a))),
    "array_equal": _array_equal,
    "argsort": _argsort,
    "concatenate": _concatenate,
    "cumprod": _running("cumprod", 1),
    "cumsum": _running("cumsum", 0),
    "diff": _diff,
    "flatnonzero": _places,
    "hstack": _concatenate,
    "median": _median,
    "nonzero": lambda a: (_places(a),),
    "percentile": _percentile,
    "quantile": _quantile,
    "searchsorted": _searchsorted,
    "sort": _sort,
    "unique": _unique,
    "where": _where,
}
