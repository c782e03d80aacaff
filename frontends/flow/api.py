"""`control_flow`: Python's control flow on traced values, in all functions that are traced, unless
they ask for something else.

Nothing is converted before a function is traced, so compiled functions that are found on disk do
not load any of it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from weft.compiler.ir.ambient import active
from weft.frontends.tracing.conversion import BEGINNING, unconverted


def control_flow(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with `if`, `while`, `for`, `and`, `or`, `not`, ... on traced values made into
    branches and loops of the program; see docs/control_flow.md.

    Conditions that are known while tracing stay Python's. Functions that it calls are converted
    too if they are the user's own. Outside of a trace the function runs as it is.

    >>> import weft as wf
    >>> @wf.jit
    ... @wf.control_flow
    ... def collatz(n):
    ...     steps = 0
    ...     while n != 1:
    ...         n = n // 2 if n % 2 == 0 else 3 * n + 1
    ...         steps += 1
    ...     return steps
    >>> collatz(27).item()
    111
    """

    @functools.wraps(function, updated=())
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if active.get() is None:
            return function(*args, **kwargs)
        from weft.frontends.flow.convert import call_converted, require_source

        require_source(function)
        return call_converted(function, *args, **kwargs)

    return wrapper


def with_control_flow(
    function: Callable[..., Any], control_flow_too: bool | None
) -> Callable[..., Any]:
    """The function for a trace: converted where that can be done (None), or else refused (True), or
    as it is (False).
    """
    if control_flow_too is None:
        return function
    return control_flow(function) if control_flow_too else _as_it_is(function)


def _as_it_is(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function, updated=())
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with unconverted():
            return function(*args, **kwargs)

    return wrapper


def _call_converted(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    from weft.frontends.flow.convert import call_converted

    return call_converted(function, *args, **kwargs)


BEGINNING.hand_in(_call_converted)
