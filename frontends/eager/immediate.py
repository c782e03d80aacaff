"""Functions outside of a trace. On NumPy arrays each call is traced on its own and computed at once
by the reference evaluator; with a `weft.Array` among the arguments it is gathered with others.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from weft.compiler.ir.evaluate import evaluate
from weft.frontends.eager import array as lazy
from weft.frontends.tracing import tree
from weft.frontends.tracing.array import start_trace
from weft.frontends.tracing.trace import Tracer, find_trace, located


def eager(function: Callable[..., Any], *, creates: bool = False) -> Callable[..., Any]:
    """The function for use anywhere: inside a trace it is traced, outside it computes. One that
    `creates` arrays gives `weft.Array`s there.
    """

    @functools.wraps(function, updated=())
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if creates or lazy.holds_array(args) or lazy.holds_array(kwargs):
            return lazy.call(function, *args, **kwargs)
        if find_trace() is not None:
            return located(function, *args, **kwargs)
        return compute(function, args, kwargs)

    return wrapper


def compute(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call on NumPy arrays, whose values are known to it."""
    trace = start_trace()
    with trace.active():
        leaves, treedef = tree.flatten(located(function, *args, **kwargs))
        places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tracer)]
        values = [trace.read(leaves[i]) for i in places]
    trace.finished = True
    name = getattr(function, "__name__", "eager")
    for place, array in zip(places, evaluate(trace.graph(name, values), []), strict=True):
        leaves[place] = array.copy() if not array.flags.writeable else array
    return tree.unflatten(treedef, leaves)
