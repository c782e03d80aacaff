"""What Python would raise an exception for while a program runs, such as a division by zero."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.compiler.ir.graph import Constant, Value
from weft.frontends.tracing.conversion import conversion

CHECKED_AT_RUN_TIME = False


def require(holds: Callable[[], Value], error: Exception) -> None:
    """Raise an exception if a condition does not hold, which is known while tracing or when the
    program runs.
    """
    if not CHECKED_AT_RUN_TIME:
        return
    state = conversion.get()
    is_certain = state is None or not state.conditions
    held = holds()
    if isinstance(held, Constant) and (is_certain or bool(held.array)):
        if not held.array:
            raise error
        return


def raised(function: Callable[..., Any], *operands: Any) -> Exception:
    """The exception that Python raises, in the words of this version of it."""
    try:
        function(*operands)
    except (ArithmeticError, ValueError) as error:
        return error.with_traceback(None)
    raise AssertionError("no exception")
