"""`grad` and `value_and_grad`: gradients of scalar functions.

What differentiates is loaded with the first gradient that is computed or traced: a process that
finds the program of a gradient on disk does not need it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from weft.frontends.flow.api import with_control_flow


def grad(
    function: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    probes: Sequence[str] = (),
    control_flow: bool | None = None,
) -> Callable[..., Any]:
    """The gradient of a scalar function with respect to arguments (the first by default).

    With `has_aux` the function returns (value, anything) and the result is (gradient, anything).
    With `probes` the result is (gradient, {name: gradient of the intermediate that `wf.probe(name,
    x)` names}). See `jit` for `control_flow`.

    >>> import numpy as np, weft as wf
    >>> wf.grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    function = with_control_flow(function, control_flow)

    @functools.wraps(function, updated=())
    def gradient(*args: Any, **kwargs: Any) -> Any:
        from weft.frontends.api.differentiation import differentiate

        called = functools.partial(function, **kwargs) if kwargs else function
        value, gradients = differentiate(called, args, argnums, has_aux, probes, want_value=False)
        return (gradients, value[1]) if has_aux else gradients

    return gradient


def value_and_grad(
    function: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    probes: Sequence[str] = (),
    control_flow: bool | None = None,
) -> Callable[..., Any]:
    """The value of a scalar function and its gradient, computed together; see `grad`."""
    function = with_control_flow(function, control_flow)

    @functools.wraps(function, updated=())
    def both(*args: Any, **kwargs: Any) -> Any:
        from weft.frontends.api.differentiation import differentiate

        called = functools.partial(function, **kwargs) if kwargs else function
        return differentiate(called, args, argnums, has_aux, probes, want_value=True)

    return both
