"""`trace`: the graph of a function, without running it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable
from typing import Any

from weft.compiler.ir.graph import Graph
from weft.frontends.eager.anywhere import start_trace
from weft.frontends.flow.api import with_control_flow
from weft.frontends.tracing.arguments import FunctionSignature
from weft.frontends.tracing.conversion import converting
from weft.frontends.tracing.fixing import with_values
from weft.frontends.tracing.function import trace_call


def trace(
    function: Callable[..., Any],
    *,
    static_argnums: int | Iterable[int] = (),
    static_argnames: str | Iterable[str] = (),
    control_flow: bool | None = None,
) -> Callable[..., Graph]:
    """A function that takes the same arguments, or specs in their place, and returns the graph.

    Python's `if`, `while`, ... on traced values become part of it, unless `control_flow` is False.

    >>> import numpy as np, weft as wf
    >>> print(wf.trace(lambda x: np.tanh(x) * 2)(wf.spec("f32[n]")))
    weft 1
    graph @lambda(%x: f32[n]) {
      %0: f32[n] = tanh(%x)
      %1: f32[n] = mul(%0, 2.0: f32)
      return %1
    }
    <BLANKLINE>
    """
    function = with_control_flow(function, control_flow)
    signature = FunctionSignature(function, static_argnums, static_argnames)

    @functools.wraps(function, updated=())
    def traced(*args: Any, **kwargs: Any) -> Graph:
        call = signature.take_apart(args, kwargs)

        def graph(known: Collection[int] = ()) -> Graph:
            made = call.with_fixed(known)
            traced = functools.partial(trace_call, function, signature.name, made)
            return converting(lambda: traced(start_trace()).graph)

        return graph() if control_flow is not None else with_values(call.values, graph)

    return traced
