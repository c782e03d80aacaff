"""NumPy's functions of arrays whose sizes are only known when the program runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from weft.frontends.numpy.masked import order, products, reductions
from weft.frontends.numpy.masked.array import Selected, gate, refuse
from weft.frontends.numpy.masked.meeting import choices, meet
from weft.frontends.numpy.masked.parts import item, set_item
from weft.frontends.numpy.masked.writing import written_at, written_over
from weft.frontends.tracing.trace import Tracer

__all__ = ["apply_function", "apply_ufunc", "item", "set_item", "written_over"]

_BY_UFUNC: Final[Mapping[np.ufunc, Callable[..., Any]]] = {
    np.add: np.sum,
    np.multiply: np.prod,
    np.maximum: np.max,
    np.minimum: np.min,
    np.logical_and: np.all,
    np.logical_or: np.any,
}

_ELEMENTWISE: Final = frozenset(
    "angle around clip cbrt conj fix i0 imag iscomplex isclose isneginf isposinf isreal nan_to_num "
    "real round sinc where".split()
)
"""Functions of elements that are no ufuncs."""

_MAPPED: Final = {"digitize": 0, "interp": 0, "isin": 0, "polyval": 1, "searchsorted": 1}
"""Functions of the elements of one argument, by its place; the others are taken as they are."""

_FINITE: Final = frozenset((np.add, np.subtract, np.negative, np.positive))
"""Functions whose derivatives are finite everywhere."""


def apply_ufunc(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """What a ufunc, or one of its methods, makes of arrays of which some have chosen elements."""
    if method == "__call__" and "where" not in kwargs:
        return _called(ufunc, inputs, dict(kwargs))
    if method == "reduce" and ufunc in _BY_UFUNC:
        given = {name: value for name, value in kwargs.items() if value is not np._NoValue}
        axis = given.pop("axis", 0)
        return reductions.reduced(_BY_UFUNC[ufunc], inputs[0], axis, **given)
    if method == "at" and isinstance(inputs[1], Selected):
        return written_at(ufunc, *inputs)
    if method == "outer" and not kwargs:
        left, right = inputs
        return ufunc(left[(..., *[None] * np.ndim(right))], right)
    refuse(f"np.{ufunc.__name__}" + (f".{method}" if method != "__call__" else " with where="))


def _called(ufunc: np.ufunc, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    out = kwargs.pop("out", None)
    target = out[0] if isinstance(out, tuple) and len(out) == 1 else out
    if ufunc is np.matmul and not kwargs:
        made = products.product(*inputs)
    else:
        made = elementwise(ufunc, inputs, kwargs)
    if target is None:
        return made
    target[...] = made
    return target


def apply_function(function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """What a function of NumPy makes of arrays of which some have chosen elements."""
    name = function.__name__
    if name in reductions.REDUCTIONS:
        return reductions.reduced(function, *args, **kwargs)
    if name == "allclose":
        return np.all(elementwise(np.isclose, args[:2], {**_named(args), **kwargs}))
    if any(isinstance(value, Selected) for value in kwargs.values()):
        refuse(f"np.{name} with such an array by name")
    if name in _ELEMENTWISE and (name != "where" or len(args) == 3):
        return elementwise(function, args, kwargs)
    place = _MAPPED.get(name, len(args))
    if place < len(args) and not any(isinstance(a, Selected) for a in _without(args, place)):
        given = args[place]
        parts = (*args[:place], given.gated(), *args[place + 1 :])
        return Selected.of_gated(function(*parts, **kwargs), given.chosen)
    if name not in _OTHERS:
        refuse(f"np.{name}")
    return _OTHERS[name](*args, **kwargs)


def _named(args: Sequence[Any]) -> dict[str, Any]:
    """The tolerances of `numpy.allclose` that were given by place."""
    return dict(zip(("rtol", "atol", "equal_nan"), args[2:], strict=False))


def _without(items: Sequence[Any], place: int) -> tuple[Any, ...]:
    return (*items[:place], *items[place + 1 :])


def elementwise(function: Any, operands: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """What a function of elements makes of the elements that belong together."""
    met = meet(operands)
    chosen = choices(met)
    if not any(isinstance(operand, Selected) for operand in met):
        return function(*met, **kwargs)
    mask = Selected(_Shape(chosen, met), chosen).mask()
    is_gated = function not in _FINITE
    arrays = [_array(operand, mask, is_gated) for operand in met]
    made = function(*arrays, **kwargs)
    keep = Selected.of_gated if is_gated or _are_gated(met) else Selected
    if isinstance(made, tuple):
        return tuple([keep(each, chosen) for each in made])
    return keep(made, chosen)


class _Shape:
    """The sizes of what operands make that have met."""

    def __init__(self, chosen: Sequence[Any], operands: Sequence[Any]) -> None:
        shapes = [o.whole.shape if isinstance(o, Selected) else np.shape(o) for o in operands]
        rank = len(chosen)
        self.shape = [
            next((s[-a] for s in shapes if len(s) >= a and s[-a] != 1), 1)
            for a in range(rank, 0, -1)
        ]


def _array(operand: Any, mask: Any, is_gated: bool) -> Any:
    if isinstance(operand, Selected):
        return operand.gated() if is_gated else operand.whole
    return gate(operand, mask) if is_gated and isinstance(operand, Tracer) else operand


def _are_gated(operands: Sequence[Any]) -> bool:
    chosen = [operand for operand in operands if isinstance(operand, Selected)]
    return all(operand.__dict__.get("_is_gated") for operand in chosen)


# --- the rest -------------------------------------------------------------------------------------


def _transpose(a: Any, axes: Any = None) -> Any:
    return a.transpose() if axes is None else a.transpose(axes)


def _same_kind(a: Any, *_: Any, **kwargs: Any) -> Any:
    return a.copy() if kwargs.get("dtype") is None else a.astype(kwargs["dtype"])


def _array_of(a: Any, dtype: Any = None, copy: Any = None, **_: Any) -> Any:
    if dtype is not None and np.dtype(dtype) != a.dtype:
        return a.astype(dtype)
    return a.copy() if copy else a


def _new_array(a: Any, dtype: Any = None, copy: Any = True, **kwargs: Any) -> Any:
    return _array_of(a, dtype, copy, **kwargs)


def _filled_like(number: Any) -> Callable[..., Any]:
    def function(a: Any, fill: Any = number, /, *, dtype: Any = None, **_: Any) -> Any:
        return Selected(np.full_like(a.whole, fill, dtype=dtype), a.chosen)

    return function


def _flip(m: Any, axis: Any = None) -> Any:
    from weft.frontends.tracing.core import normalize_axes

    axes = normalize_axes(axis, m.ndim)
    return m[tuple([slice(None, None, -1 if a in axes else None) for a in range(m.ndim)])]


def _expand_dims(a: Any, axis: int) -> Any:
    place = axis % (a.ndim + 1)
    return a[(*[slice(None)] * place, None, ...)]


_OTHERS: Final[Mapping[str, Callable[..., Any]]] = {
    **reductions.FUNCTIONS,
    **order.FUNCTIONS,
    **products.FUNCTIONS,
    "array": _new_array,
    "asarray": _array_of,
    "asanyarray": _array_of,
    "ascontiguousarray": _array_of,
    "astype": lambda a, dtype, **_: a.astype(dtype),
    "copy": _same_kind,
    "empty_like": _filled_like(0),
    "expand_dims": _expand_dims,
    "flip": _flip,
    "full_like": _filled_like(0),
    "ndim": lambda a: a.ndim,
    "ones_like": _filled_like(1),
    "ravel": lambda a, order="C": a.ravel(order),
    "shape": lambda a: a.shape,
    "size": lambda a, axis=None: a.size if axis is None else a.shape[axis],
    "transpose": _transpose,
    "zeros_like": _filled_like(0),
}
