"""Makes the public functions of the NumPy modules out of their implementations."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from weft.frontends.numpy import views
from weft.frontends.numpy.functions.ufuncs import apply_ufunc
from weft.frontends.numpy.views import Viewed
from weft.frontends.tracing.outside import eager

# Functions that make arrays of something else.
CREATION: Final = frozenset(
    ("array", "asarray", "empty", "full", "ones", "zeros", "eye", "identity", "tri")
    + ("arange", "linspace", "logspace", "geomspace")
)


def surface(functions: Mapping[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """The functions, usable outside of traces too."""
    return {
        name: eager(_viewing(name, function), creates=name in CREATION)
        for name, function in functions.items()
    }


def _viewing(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which makes views where NumPy's does."""
    if name not in views.FUNCTIONS:
        return function

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], Viewed):
            return args[0].view_by(function, name, args[1:], kwargs)
        return function(*args, **kwargs)

    return call


def ufunc_surface(ufuncs: Mapping[str, np.ufunc]) -> dict[str, Callable[..., Any]]:
    """A plain function for each ufunc."""
    return {name: eager(_plain(name, ufunc)) for name, ufunc in ufuncs.items()}


def _plain(name: str, ufunc: np.ufunc) -> Callable[..., Any]:
    def function(*operands: Any, dtype: Any = None) -> Any:
        return apply_ufunc(ufunc, *operands, dtype=dtype)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"As `numpy.{name}`."
    return function
