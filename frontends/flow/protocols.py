"""Functions of NumPy's that its protocols do not hand on, on traced arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import numpy as np

from weft.frontends.flow.lookups import holds_traced
from weft.frontends.numpy.functions.namespace import BY_NUMPY
from weft.frontends.tracing import core


def without(function: Any) -> Callable[..., Any] | None:
    """What is called in place of such a function, or None."""
    try:
        own = _OWN.get(function)
    except TypeError:
        return None
    if own is None and (getattr(function, "__module__", None) or "").startswith("numpy.testing"):
        return _checking(function)
    return own


def _require(a: Any, dtype: Any = None, requirements: Any = None, *, like: Any = None) -> Any:
    """`np.require`: layout and ownership mean nothing in a trace."""
    if not holds_traced(a):
        return np.require(a, dtype, requirements)
    return BY_NUMPY[np.asarray](a, dtype)


def _fromiter(iter: Iterable[Any], dtype: Any, count: int = -1, **kwargs: Any) -> Any:
    """`np.fromiter`."""
    items = list(iter)
    if not holds_traced(items):
        return np.fromiter(items, dtype, count, **kwargs)
    if count > len(items):
        raise ValueError("iterator too short")
    return BY_NUMPY[np.array](items if count < 0 else items[:count], dtype)


def _chkfinite(a: Any, dtype: Any = None, order: Any = None) -> Any:
    """`np.asarray_chkfinite`."""
    if not holds_traced(a):
        return np.asarray_chkfinite(a, dtype, order)
    raise core.trace_error(
        "np.asarray_chkfinite looks at values, which are only known when the program runs; use "
        "np.asarray"
    )


def _checking(function: Any) -> Callable[..., Any]:
    """A function of `np.testing`, on values that are known."""

    def run(*args: Any, **kwargs: Any) -> Any:
        if holds_traced([*args, *kwargs.values()]):
            raise core.trace_error(
                f"np.testing.{function.__name__} looks at values, which are only known when the "
                "program runs; call it on the results, outside"
            )
        return function(*args, **kwargs)

    return run


_OWN: Final[Mapping[Any, Callable[..., Any]]] = {
    np.asarray_chkfinite: _chkfinite,
    np.fromiter: _fromiter,
    np.require: _require,
}
