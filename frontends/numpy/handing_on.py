"""How a function of NumPy's that gets traced arrays is handed on to the traced version of it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from weft.compiler.ir.errors import WeftError
from weft.frontends.numpy.keys import with_known
from weft.frontends.numpy.ufunc_methods import write_into
from weft.frontends.tracing import core
from weft.frontends.tracing.trace import located


def call_in_place_of_numpy(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Call the traced version of a function; an argument that it does not have is refused.

    Its result is written to the array of `out=`, if there is one.
    """
    target, args, kwargs = _without_out(function, args, kwargs)
    args = with_known(args)
    kwargs = {name: with_known(value) for name, value in kwargs.items()}
    try:
        result = located(function, *args, **kwargs)
        if target is None:
            return result
        return located(write_into, target, result, f"numpy.{function.__name__}")
    except TypeError as error:
        if isinstance(error, WeftError) or "argument" not in str(error):
            raise
        raise core.trace_error(f"the traced version of numpy's {error}") from None


def _without_out(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """The array of `out=`, or None, and the other arguments."""
    kwargs = dict(kwargs)
    target = kwargs.pop("out", None)
    place = _place_of_out(function)
    if place is not None and place < len(args):
        target, args = args[place], (*args[:place], None, *args[place + 1 :])
    target = target[0] if isinstance(target, tuple) and len(target) == 1 else target
    return (None if target is np._NoValue else target), args, kwargs


@functools.cache
def _place_of_out(function: Callable[..., Any]) -> int | None:
    """Which argument by position is `out=`."""
    for index, parameter in enumerate(inspect.signature(function).parameters.values()):
        if parameter.name == "out" and parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
            return index
    return None
