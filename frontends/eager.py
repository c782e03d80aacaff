"""Functions outside of a trace: each call is traced on its own and run at once by the reference
evaluator.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from weft.compiler.ir.evaluate import evaluate
from weft.frontends import tree
from weft.frontends.array import start_trace
from weft.frontends.trace import Tracer, find_trace, located


def eager(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function for use anywhere: inside a trace it is traced, outside it computes with NumPy
    arrays.
    """

    @functools.wraps(function, updated=())
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if find_trace() is not None:
            return located(function, *args, **kwargs)
        return _run(function, args, kwargs)

    return wrapper


def _run(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    trace = start_trace()
    with trace.active():
        leaves, treedef = tree.flatten(located(function, *args, **kwargs))
        places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tracer)]
        values = [trace.read(leaves[i]) for i in places]
    trace.finished = True
    for place, array in zip(
        places, evaluate(trace.graph(function.__name__, values), []), strict=True
    ):
        leaves[place] = array.copy() if not array.flags.writeable else array
    return tree.unflatten(treedef, leaves)
