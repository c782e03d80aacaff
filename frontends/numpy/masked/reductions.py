"""Reductions of arrays whose sizes are only known when the program runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from weft.frontends.numpy.masked.array import Selected, refuse
from weft.frontends.numpy.masked.choice import Choice
from weft.frontends.numpy.masked.meeting import meet
from weft.frontends.numpy.masked.requirements import require_elements
from weft.frontends.tracing.core import normalize_axes

REDUCTIONS: Final = frozenset("sum prod mean var std max amax min amin any all ptp".split())
_EXTREMES: Final = ("max", "amax", "min", "amin")
_NOTHING: Final = "zero-size array to reduction operation {} which has no identity"


def reduced(function: Any, array: Any, axis: Any = None, /, **kwargs: Any) -> Any:
    """What a reduction of NumPy makes of the chosen elements."""
    if not isinstance(array, Selected):
        refuse(f"where= of np.{function.__name__}")
    out = kwargs.pop("out", None)
    if out is not None and out is not np._NoValue:
        refuse(f"out= of np.{function.__name__}")
    kwargs = {name: value for name, value in kwargs.items() if value is not np._NoValue}
    axis = kwargs.pop("axis", axis)
    name = function.__name__
    axes = normalize_axes(axis, array.ndim)
    left = left_after(array, axes, kwargs.get("keepdims", False))
    if not any(array.chosen[a] is not None for a in axes):
        return Selected.of_gated(function(array.gated(), axis=axes, **kwargs), left)
    if name == "ptp":
        return reduced(np.max, array, axis, **kwargs) - reduced(np.min, array, axis, **kwargs)
    mask = np.broadcast_to(array.mask(axes), array.whole.shape)
    where = kwargs.pop("where", True)
    if where is not True:
        array, where = meet([array, where])
        mask = mask & (where.whole if isinstance(where, Selected) else where)
    if name in _EXTREMES:
        if "initial" not in kwargs:
            require_elements(array, axes, _NOTHING.format(f"{name.removeprefix('a')}imum"))
        kwargs.setdefault("initial", neutral(array.dtype, name))
    # A deviation from the mean may overflow where an element was not chosen.
    whole = array.gated() if name in ("var", "std") else array.whole
    made = function(whole, axis=axes, where=mask, **kwargs)
    return Selected(made, left) if any(left) else made


def left_after(array: Selected, axes: tuple[int, ...], keepdims: bool) -> tuple[Choice | None, ...]:
    """What is chosen of the axes that a reduction leaves."""
    return tuple(
        [
            None if a in axes else choice
            for a, choice in enumerate(array.chosen)
            if keepdims or a not in axes
        ]
    )


def neutral(dtype: np.dtype[Any], name: str) -> Any:
    """What changes no maximum or minimum."""
    is_max = name in ("max", "amax")
    if dtype == np.bool_:
        return not is_max
    if dtype.kind in "iu":
        return np.iinfo(dtype).min if is_max else np.iinfo(dtype).max
    return -np.inf if is_max else np.inf


def one_axis(array: Any, name: str, axis: Any = None) -> tuple[Selected, Choice]:
    """The array and what is chosen of its only axis."""
    if not isinstance(array, Selected) or array.ndim != 1 or axis not in (None, 0, -1):
        refuse(f"np.{name} along an axis")
    choice = array.chosen[0]
    assert choice is not None
    return array, choice


def _count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return reduced(np.sum, a != 0, axis, keepdims=keepdims)


def _argument(name: str) -> Callable[..., Any]:
    def function(a: Any, axis: Any = None, out: None = None) -> Any:
        array, choice = one_axis(a, f"arg{name}", axis)
        require_elements(array, (0,), f"attempt to get arg{name} of an empty sequence")
        size = array.whole.shape[0]
        # Behind NaN, which is the largest and smallest of all, come elements that equal the fill.
        fill = neutral(array.dtype, name)
        place = getattr(np, f"arg{name}")(array.replaced(fill))
        first = np.argmax(choice.mask(size))
        place = np.where(choice.mask(size)[place], place, first)
        return choice.ranks(size)[place]

    return function


def _bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    array, choice = one_axis(x, "bincount")
    flags = choice.mask(array.whole.shape[0])
    if weights is None:
        counted = np.bincount(array.replaced(0), weights=flags, minlength=minlength)
        return counted.astype(np.int64)
    array, weights = meet([array, weights])
    return np.bincount(array.replaced(0), weights=weights.replaced(0), minlength=minlength)


def _histogram(a: Any, bins: Any = 10, range: Any = None) -> Any:
    array, choice = one_axis(a, "histogram")
    if range is None and np.ndim(bins) == 0:
        refuse("np.histogram without range=", "range=(low, high)")
    low = np.min(bins) if range is None else range[0]
    flags = choice.mask(array.whole.shape[0])
    return np.histogram(array.replaced(low), bins, range, weights=flags.astype(np.int64))


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    axes = normalize_axes(axis, x.ndim)
    left = left_after(x, axes, keepdims)
    if ord not in (None, 1, 2, np.inf, "fro") and any(x.chosen[a] is not None for a in axes):
        refuse(f"np.linalg.norm with ord={ord}")
    made = np.linalg.norm(x.replaced(0, axes), ord, axis, keepdims)
    return Selected(made, left) if any(left) else made


FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "argmax": _argument("max"),
    "argmin": _argument("min"),
    "bincount": _bincount,
    "count_nonzero": _count_nonzero,
    "histogram": _histogram,
    "norm": _norm,
}
