"""What Python would raise an exception for while a program runs, such as a division by zero."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.compiler.ir.graph import Constant, Value
from weft.compiler.ops.logic import not_
from weft.frontends.tracing.failing import fail_where
from weft.frontends.tracing.trace import current_trace


def require(holds: Value, error: Exception) -> None:
    """Raise an exception if a rank-0 bool is false: now if that is known and decided, else when the
    program runs.
    """
    if isinstance(holds, Constant):
        if holds.array:
            return
        if current_trace().parent is None:
            raise error
    fail_where(not_(holds), error, is_expected=False)


def raised(function: Callable[..., Any], *operands: Any) -> Exception:
    """The exception that Python raises, in the words of this version of it."""
    try:
        function(*operands)
    except (ArithmeticError, ValueError) as error:
        return error.with_traceback(None)
    raise AssertionError("no exception")
