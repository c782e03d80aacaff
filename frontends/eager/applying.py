"""NumPy's own functions and ufuncs, called with traced arrays among their arguments, and what such
arguments are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from weft.frontends.numpy.array import TracedArray

# NumPy arrays with few integers may be sizes or positions that have to be known now.
SMALL_INTEGERS: Final = 16


def apply_ufunc(ufunc: np.ufunc, method: str, inputs: Any, kwargs: Any) -> Any:
    """One of NumPy's ufuncs on traced arrays, or on known ones."""
    tracer = _any_tracer((inputs, kwargs))
    if tracer is None:  # all values are known: NumPy computes
        return getattr(ufunc, method)(*inputs, **kwargs)
    return tracer.__array_ufunc__(ufunc, method, *inputs, **kwargs)


def apply_function(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """One of NumPy's functions on traced arrays, or on known ones."""
    tracer = _any_tracer((args, kwargs))
    if tracer is None:
        return function(*args, **kwargs)
    return tracer.__array_function__(function, (), args, kwargs)


def _any_tracer(arguments: Any) -> Any:
    stack = [arguments]
    while stack:
        item = stack.pop()
        if isinstance(item, TracedArray):
            return item
        if isinstance(item, tuple | list):
            stack.extend(item)
        elif isinstance(item, dict):
            stack.extend(item.values())
    return None


def replaced(arguments: Any, replace: Callable[[Any], Any]) -> Any:
    """Arguments with other leaves; only plain containers can hold arrays in a call."""
    if type(arguments) is tuple:
        return tuple([replaced(item, replace) for item in arguments])
    if type(arguments) is list:
        return [replaced(item, replace) for item in arguments]
    if type(arguments) is dict:
        return {key: replaced(item, replace) for key, item in arguments.items()}
    return replace(arguments)


def may_be_static(array: np.ndarray[Any, Any]) -> bool:
    """Whether an array may be sizes or positions."""
    return array.dtype.kind not in "fcV" and array.size <= SMALL_INTEGERS
