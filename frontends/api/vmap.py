"""`vmap`: a function of one example as a function of a batch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from weft.frontends.driver.failures import reported
from weft.frontends.eager.anywhere import eager
from weft.frontends.flow.api import with_control_flow
from weft.frontends.regions.batching import apply_batched, batched

_apply = reported(eager(apply_batched))


def vmap(
    function: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    control_flow: bool | None = None,
) -> Callable[..., Any]:
    """The function applied to every element along an axis of its arguments, the results stacked.

    `in_axes` is an axis, None (not batched), or a tuple with one per argument, each possibly a
    pytree of them. `out_axes` likewise for the results. See `jit` for
    `control_flow`.

    >>> import numpy as np, weft as wf
    >>> wf.vmap(np.dot)(np.ones((3, 2)), np.arange(6.0).reshape(3, 2))
    array([1., 5., 9.])
    """
    name = getattr(function, "__name__", type(function).__name__)
    function = with_control_flow(function, control_flow)
    of_batch = batched(function, in_axes, out_axes, name, _apply)
    return functools.wraps(function, updated=())(of_batch)
