"""Functions of NumPy arrays outside of a trace: each call is traced on its own and computed at
once, by the reference evaluator, or, where bits matter, by native code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from weft.compiler.ir.ambient import sealed
from weft.compiler.ir.errors import TraceError
from weft.compiler.ir.evaluate import evaluate
from weft.compiler.ir.graph import Graph, Region
from weft.compiler.ir.types import type_of
from weft.frontends.eager import recording
from weft.frontends.eager.applying import replaced
from weft.frontends.eager.op_by_op import goes_op_by_op, is_exact, run_op_by_op
from weft.frontends.numpy.array import start_trace
from weft.frontends.tracing import tree
from weft.frontends.tracing.conversion import converting
from weft.frontends.tracing.trace import Tracer, located

NumPyArray = np.ndarray[Any, Any]

_CIPHER: Final = "threefry2x32"  # what all draws are made of


@sealed
def compute(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call on NumPy arrays, whose values are known to it; one that draws has native bits."""
    call = converting(lambda: _traced(function, args, kwargs, []))
    if _draws(call.graph.region) and not is_exact(call.graph.region):
        return compute_natively(function, args, kwargs)
    return call.computed_by(lambda graph: evaluate(graph, []))


@sealed
def compute_natively(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """The same with the bits of compiled programs. Arrays and floats are inputs of the program,
    which is kept, unless the call needs their values.
    """
    inputs: list[NumPyArray] = []

    def traced(*is_input: Callable[[Any], bool]) -> _Call:
        inputs.clear()
        return converting(lambda: _traced(function, args, kwargs, inputs, *is_input))

    try:
        call = traced(_is_input)
    except TraceError:
        call = traced()
    return call.computed_by(lambda graph: _run(graph, inputs))


def _run(graph: Graph, inputs: Sequence[NumPyArray]) -> Sequence[NumPyArray]:
    if is_exact(graph.region):
        return evaluate(graph, inputs)
    results = run_op_by_op(graph, inputs) if goes_op_by_op(graph.region) else None
    return recording.run(graph, inputs) if results is None else results


class _Call:
    """A traced call: its graph, and how results are made of what that gives."""

    def __init__(self, graph: Graph, leaves: list[Any], positions: list[int], treedef: Any) -> None:
        self.graph = graph
        self._leaves = leaves
        self._positions = positions
        self._treedef = treedef

    def computed_by(self, run: Callable[[Graph], Sequence[NumPyArray]]) -> Any:
        for position, array in zip(self._positions, run(self.graph), strict=True):
            self._leaves[position] = array.copy() if not array.flags.writeable else array
        return tree.unflatten(self._treedef, self._leaves)


def _traced(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    inputs: list[NumPyArray],
    is_input: Callable[[Any], bool] = lambda leaf: False,
) -> _Call:
    """The call as a graph; arguments that shall be its inputs are noted."""
    trace = start_trace()

    def given(leaf: Any) -> Any:
        if not is_input(leaf):
            return leaf
        inputs.append(np.asarray(leaf))
        return trace.argument(type_of(inputs[-1]), weak=isinstance(leaf, float))

    with trace.active():
        arguments = replaced((args, kwargs), given)
        leaves, treedef = tree.flatten(located(function, *arguments[0], **arguments[1]))
        positions = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tracer)]
        values = [trace.read(leaves[i]) for i in positions]
    trace.finished = True
    name = getattr(function, "__name__", "eager")
    return _Call(trace.graph(name, values), leaves, positions, treedef)


def _is_input(leaf: Any) -> bool:
    """Whether an argument may be any value of its type: 0 and 1 are often left out of formulas, and
    integers may be sizes, but those of keys are not.
    """
    if isinstance(leaf, np.ndarray):
        is_key = leaf.dtype.name == "uint32" and leaf.shape[-1:] == (2,)
        return is_key or bool(leaf.dtype.kind == "f")
    return type(leaf) is float and leaf not in (0.0, 1.0)


def _draws(region: Region) -> bool:
    """Whether there are random numbers in a region."""
    return any(op.name == _CIPHER or any(map(_draws, op.regions)) for op in region.ops)
