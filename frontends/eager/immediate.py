"""Functions of NumPy arrays outside of a trace: each call is traced on its own and computed at once
by the reference evaluator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.compiler.ir.evaluate import evaluate
from weft.frontends.numpy.array import start_trace
from weft.frontends.tracing import tree
from weft.frontends.tracing.trace import Tracer, located


def compute(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call on NumPy arrays, whose values are known to it."""
    trace = start_trace()
    with trace.active():
        leaves, treedef = tree.flatten(located(function, *args, **kwargs))
        positions = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tracer)]
        values = [trace.read(leaves[i]) for i in positions]
    trace.finished = True
    name = getattr(function, "__name__", "eager")
    for position, array in zip(positions, evaluate(trace.graph(name, values), []), strict=True):
        leaves[position] = array.copy() if not array.flags.writeable else array
    return tree.unflatten(treedef, leaves)
