"""How random functions are called: with the same bits wherever that is.

What a program computes in one loop may round a product and a sum once. A draw must not depend on
what it is computed with, so its products are rounded, and so is what is given to it. Outside of
traces it is computed by native code, whose logarithms are not those of NumPy.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from weft.compiler.ir.graph import Constant, Parameter, Value
from weft.compiler.ops.conversion import rounded
from weft.frontends.eager.anywhere import eager
from weft.frontends.tracing import core
from weft.frontends.tracing.trace import Tracer, current_trace


def draws(function: Callable[..., Any]) -> Callable[..., Any]:
    """A random function for use anywhere; its first argument is a key."""

    @functools.wraps(function)
    def traced(*args: Any, **kwargs: Any) -> Any:
        trace = current_trace()
        if trace.is_rounding:  # called by another one
            return function(*args, **kwargs)
        with trace.rounding():
            given = [_settled(argument) for argument in args]
            named = {name: _settled(argument) for name, argument in kwargs.items()}
            return function(*given, **named)

    return eager(traced, native=True)


def _settled(argument: Any) -> Any:
    """An argument that LLVM cannot take for a product."""
    if not isinstance(argument, Tracer):
        return argument
    value = current_trace().read(argument)
    if isinstance(value, Parameter | Constant) or not value.type.dtype.is_float:
        return argument
    return core.wrap(rounded(value), weak=argument.weak)


def unknown(value: Value) -> Value:
    """The value itself, of which nothing is computed before the program runs: functions of numbers
    would then have NumPy's bits.
    """
    return rounded(value) if isinstance(value, Constant) and value.type.dtype.is_float else value
