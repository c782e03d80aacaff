"""NumPy's functions of `x[mask]`: elementwise functions, reductions and products of `Selected`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from weft.frontends.numpy.masked.array import ELEMENTWISE, Selected, refuse, require_same
from weft.frontends.tracing import core
from weft.frontends.tracing.core import normalize_axes
from weft.frontends.tracing.trace import Tracer

_BY_UFUNC: Final[Mapping[np.ufunc, Callable[..., Any]]] = {
    np.add: np.sum,
    np.multiply: np.prod,
    np.maximum: np.max,
    np.minimum: np.min,
    np.logical_and: np.all,
    np.logical_or: np.any,
}


def apply_ufunc(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """What a ufunc, or one of its methods, makes of arrays some of which are `x[mask]`."""
    if ufunc is np.matmul and method == "__call__" and not kwargs:
        return _product(*inputs)
    if method == "__call__" and not kwargs.keys() & {"out", "where"}:
        return _elementwise(ufunc, inputs, kwargs)
    if method == "reduce" and ufunc in _BY_UFUNC:
        given = {name: value for name, value in kwargs.items() if value is not np._NoValue}
        axis = given.pop("axis", 0)
        return _reduced(_BY_UFUNC[ufunc], inputs[0], axis, **given)
    if method == "at" and isinstance(inputs[1], Selected):
        return _written_at(ufunc, *inputs)
    refuse(f"np.{ufunc.__name__}" + (f".{method}" if method != "__call__" else " with out="))


def apply_function(function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """What a function of NumPy makes of arrays some of which are `x[mask]`."""
    name = function.__name__
    if name in _REDUCTIONS:
        return _reduced(function, *args, **kwargs)
    if name in ELEMENTWISE and (name != "where" or len(args) == 3):
        return _elementwise(function, args, kwargs)
    if name not in _OTHERS:
        refuse(f"np.{name}")
    return _OTHERS[name](*args, **kwargs)


# --- elements -------------------------------------------------------------------------------------


def _elementwise(function: Any, operands: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    chosen = [operand for operand in operands if isinstance(operand, Selected)]
    require_same(chosen)
    from_right = {operand.ndim - operand.axis for operand in chosen}
    if len(from_right) > 1:
        refuse("an operation along different axes")
    place = from_right.pop()
    for operand in operands:
        _require_broadcast(operand, place)
    made = function(*[o.filled() if isinstance(o, Selected) else o for o in operands], **kwargs)

    def chosen_of(whole: Any) -> Selected:
        return Selected(whole, chosen[0].mask, whole.ndim - place, is_filled=True)

    return tuple(map(chosen_of, made)) if isinstance(made, tuple) else chosen_of(made)


def _require_broadcast(operand: Any, place: int) -> None:
    """Refuse a plain array whose elements would have to be paired with those of `x[mask]`."""
    shape = () if isinstance(operand, Selected) or operand is None else np.shape(operand)
    if len(shape) >= place and shape[len(shape) - place] != 1:
        raise core.trace_error(
            f"an array of shape {shape} meets x[mask], whose number of elements is only known when "
            "the program runs; choose by the same mask on both sides, as in x[mask] + y[mask]"
        )


# --- reductions -----------------------------------------------------------------------------------

_REDUCTIONS: Final = frozenset("sum prod mean var std max amax min amin any all ptp".split())
_EXTREMES: Final = ("max", "amax", "min", "amin")


def _reduced(function: Any, array: Any, axis: Any = None, /, **kwargs: Any) -> Any:
    if not isinstance(array, Selected):
        refuse(f"where= of np.{function.__name__}")
    axis = kwargs.pop("axis", axis)
    name = function.__name__
    reduced = normalize_axes(axis, array.ndim)
    if array.axis not in reduced:
        made = function(array.filled(), axis=reduced, **kwargs)
        before = 0 if kwargs.get("keepdims") else sum(a < array.axis for a in reduced)
        return Selected(made, array.mask, array.axis - before, is_filled=True)
    if name == "ptp":
        return _reduced(np.max, array, axis, **kwargs) - _reduced(np.min, array, axis, **kwargs)
    mask = np.broadcast_to(array.wide_mask, array.whole.shape)
    where = kwargs.pop("where", True)
    if where is not True:
        require_same((array, where))
        mask = mask & where.whole
    if name in _EXTREMES:
        kwargs.setdefault("initial", _neutral(array.dtype, name))
    # A deviation from the mean may overflow where an element was not chosen.
    whole = array.filled() if name in ("var", "std") else array.whole
    return function(whole, axis=reduced, where=mask, **kwargs)


def _neutral(dtype: np.dtype[Any], name: str) -> Any:
    """What changes no maximum or minimum."""
    is_max = name in ("max", "amax")
    if dtype == np.bool_:
        return not is_max
    if dtype.kind in "iu":
        return np.iinfo(dtype).min if is_max else np.iinfo(dtype).max
    return -np.inf if is_max else np.inf


def _one_axis(array: Any, name: str, axis: Any = None) -> Selected:
    if not isinstance(array, Selected) or array.ndim != 1 or axis not in (None, 0, -1):
        refuse(f"np.{name} along an axis")
    return array


def _count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return _reduced(np.sum, a != 0, axis, keepdims=keepdims)


def _argument(name: str) -> Callable[..., Any]:
    def function(a: Any, axis: Any = None, out: None = None) -> Any:
        array = _one_axis(a, f"arg{name}", axis)
        place = getattr(np, f"arg{name}")(array.replaced(_neutral(array.dtype, name)))
        return np.cumsum(array.mask)[place] - 1

    return function


def _running(name: str, neutral: int) -> Callable[..., Any]:
    def function(a: Any, axis: Any = None, dtype: Any = None, out: None = None) -> Any:
        array = _one_axis(a, name, axis)
        return Selected(getattr(np, name)(array.replaced(neutral), dtype=dtype), array.mask)

    return function


def _sort(a: Any, axis: Any = -1, **_: Any) -> Selected:
    array = _one_axis(a, "sort", axis)
    last = np.nan if array.dtype.kind in "fc" else _neutral(array.dtype, "min")
    return Selected(np.sort(array.replaced(last)), np.arange(array.mask.shape[0]) < array.count)


def _quantile(a: Any, q: Any, axis: Any = None, *, method: Any = "linear") -> Any:
    array = _one_axis(a, "quantile", axis)
    numbers = array if array.dtype.kind == "f" else array.astype(np.float64)
    made = np.nanquantile(numbers.replaced(np.nan), q, method=method)
    has_nan = _reduced(np.any, np.isnan(numbers))
    return np.where(has_nan, np.asarray(np.nan, made.dtype), made)


def _percentile(a: Any, q: Any, axis: Any = None, *, method: Any = "linear") -> Any:
    return _quantile(a, np.true_divide(q, 100), axis, method=method)


def _median(a: Any, axis: Any = None) -> Any:
    return _quantile(a, 0.5, axis)


def _bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    array = _one_axis(x, "bincount")
    if weights is None:
        counted = np.bincount(array.filled(), weights=array.mask, minlength=minlength)
        return counted.astype(np.int64)
    require_same((array, weights))
    return np.bincount(array.filled(), weights=weights.replaced(0), minlength=minlength)


def _histogram(a: Any, bins: Any = 10, range: Any = None) -> Any:
    array = _one_axis(a, "histogram")
    if range is None and np.ndim(bins) == 0:
        refuse("np.histogram without range=", "range=(low, high)")
    return np.histogram(array.filled(), bins, range, weights=array.mask.astype(np.int64))


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    if x.axis not in normalize_axes(axis, x.ndim):
        made = np.linalg.norm(x.filled(), ord, axis, keepdims)
        before = 0 if keepdims else sum(a < x.axis for a in normalize_axes(axis, x.ndim))
        return Selected(made, x.mask, x.axis - before, is_filled=True)
    if ord not in (None, 1, 2, np.inf, "fro"):
        refuse(f"np.linalg.norm with ord={ord}")
    return np.linalg.norm(x.replaced(0), ord, axis, keepdims)


# --- products -------------------------------------------------------------------------------------


def _product(left: Any, right: Any) -> Any:
    """`left @ right` of vectors and matrices."""
    is_left, is_right = isinstance(left, Selected), isinstance(right, Selected)
    sums_left = is_left and left.axis == left.ndim - 1
    sums_right = is_right and right.axis == max(right.ndim - 2, 0)
    if sums_left and sums_right:
        require_same((left, right))
        return left.replaced(0) @ right.replaced(0)
    if sums_left or sums_right or (is_left and is_right):
        refuse("a product of it with an array that was not chosen by the same mask")
    made = (left.filled() if is_left else left) @ (right.filled() if is_right else right)
    chosen = left if is_left else right
    axis = made.ndim - 1 if is_right or np.ndim(right) == 1 else made.ndim - 2
    return Selected(made, chosen.mask, axis, is_filled=True)


def _transpose(a: Any, axes: Any = None) -> Any:
    if axes is not None and a.ndim > 2:
        refuse("np.transpose with axes=")
    return a if axes is not None and tuple(axes) == tuple(range(a.ndim)) else a.T


def _same_kind(a: Any, *_: Any, **kwargs: Any) -> Any:
    return a.astype(kwargs.get("dtype") or a.dtype)


def _filled_like(number: Any) -> Callable[..., Any]:
    def function(a: Any, fill: Any = number, /, *, dtype: Any = None, **_: Any) -> Any:
        whole = np.full_like(a.whole, fill, dtype=dtype)
        return Selected(whole, a.mask, a.axis, is_filled=True)

    return function


def _written_at(ufunc: np.ufunc, target: Any, index: Any, values: Any = None) -> None:
    """`ufunc.at(x, i[mask], v[mask])`: places that were not chosen are behind the end of x."""
    if ufunc is not np.add and ufunc is not np.subtract:
        refuse(f"np.{ufunc.__name__}.at")
    if not isinstance(target, Tracer):
        refuse("a write to a NumPy array", "weft.numpy.zeros or np.zeros_like(x) to make it")
    new = values
    if isinstance(values, Selected):
        require_same((index, values))
        new = values.whole
    places = index.replaced(target.type.shape[0])
    update = target.at[places]  # type: ignore[attr-defined]
    made = update.add(new, "fill") if ufunc is np.add else update.add(np.negative(new), "fill")
    target.assign(made.value, "x = x.at[i].add(...)")


_OTHERS: Final[Mapping[str, Callable[..., Any]]] = {
    "argmax": _argument("max"),
    "argmin": _argument("min"),
    "bincount": _bincount,
    "copy": _same_kind,
    "count_nonzero": _count_nonzero,
    "cumprod": _running("cumprod", 1),
    "cumsum": _running("cumsum", 0),
    "dot": _product,
    "full_like": _filled_like(0),
    "histogram": _histogram,
    "inner": lambda a, b: _product(a, b.T if b.ndim > 1 else b),
    "median": _median,
    "norm": _norm,
    "ones_like": _filled_like(1),
    "percentile": _percentile,
    "quantile": _quantile,
    "shape": lambda a: a.shape,
    "size": lambda a: a.size,
    "ndim": lambda a: a.ndim,
    "sort": _sort,
    "transpose": _transpose,
    "vdot": lambda a, b: _product(np.conj(a), b),
    "zeros_like": _filled_like(0),
}
