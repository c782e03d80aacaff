"""Operators in converted functions: `a @ b` runs `__matmul__` of the user's class, converted."""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import FunctionType
from typing import Any, Final

import numpy as np

from weft.frontends.flow.text import percent
from weft.frontends.tracing.trace import Tracer, find_trace

Convert = Callable[[Any], Any]

OPERATORS: Final[dict[str, tuple[Callable[[Any, Any], Any], str, str]]] = {
    name: (getattr(operator, function), f"__{method}__", f"__r{method}__")
    for name, function, method in [
        ("Add", "add", "add"),
        ("Sub", "sub", "sub"),
        ("Mult", "mul", "mul"),
        ("Div", "truediv", "truediv"),
        ("FloorDiv", "floordiv", "floordiv"),
        ("Mod", "mod", "mod"),
        ("Pow", "pow", "pow"),
        ("MatMult", "matmul", "matmul"),
    ]
}
"""By the node of the syntax tree: the function, and the methods of the left and the right side."""
_PLAIN: Final = frozenset({int, float, complex, bool, str, list, tuple, np.ndarray, np.float64})


def binary(convert: Convert) -> Callable[[str, Any, Any], Any]:
    """`left + right` and the like, by converted methods where the user's classes have them."""

    def operate(name: str, left: Any, right: Any) -> Any:
        function, method, reflected = OPERATORS[name]
        if name == "Mod" and isinstance(left, str):
            return percent(left, right)
        own: Any = type(left)
        if _is_plain(own) and _is_plain(type(right)) or find_trace() is None:
            return function(left, right)
        converted = _converted(own, method, convert)
        if converted is not None and not _goes_first(type(right), own, reflected):
            made = converted(left, right)
            return function(left, right) if made is NotImplemented else made
        if own in (int, float, complex):
            converted = _converted(type(right), reflected, convert)
            made = NotImplemented if converted is None else converted(right, left)
            return function(left, right) if made is NotImplemented else made
        return function(left, right)

    return operate


def _is_plain(kind: Any) -> bool:
    return kind in _PLAIN or issubclass(kind, Tracer)


def _goes_first(right: Any, left: Any, reflected: str) -> bool:
    """Whether Python asks the right side first: it is of a class that refines that of the left."""
    return right is not left and issubclass(right, left) and hasattr(right, reflected)


def _converted(kind: Any, method: str, convert: Convert) -> Any:
    """A method that is written in Python, if it is converted; SciPy's sparse arrays look into what
    they get, and traced ones say what to write instead.
    """
    if _is_plain(kind) or kind.__module__.startswith("scipy."):
        return None
    found = getattr(kind, method, None)
    if not isinstance(found, FunctionType):
        return None
    made = convert(found)
    return None if made is found else made
