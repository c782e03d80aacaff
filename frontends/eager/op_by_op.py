"""Graphs op by op with the bits of compiled programs, for calls that come once.

The reference evaluator runs them, but elementwise functions are native: one program of each, which
serves all sizes. So arrays of many shapes take no compiling, and where products are rounded, as in
random functions, what results has the bits of one fused program.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from weft.compiler.ir import dims
from weft.compiler.ir.build import Builder
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.evaluate import Reference, evaluate
from weft.compiler.ir.graph import Graph, Op, Region
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ir.types import ArrayType

NumPyArray = np.ndarray[Any, Any]

# What rounds once, and so gives the same bits whoever computes it.
_EXACT: Final = frozenset(
    ("add", "sub", "mul", "div", "neg", "abs", "sign", "maximum", "minimum", "clamp", "sqrt")
    + ("floor", "ceil", "round", "trunc", "select", "cast", "bitcast", "rounded", "stop_gradient")
    + ("reduce_max", "reduce_min", "argmax", "argmin", "sort", "concatenate", "pad", "gather")
    + ("while", "cond")
)


def is_exact(region: Region) -> bool:
    """Whether the reference evaluator gives the bits of native code."""
    return all(_is_exact(op) and all(map(is_exact, op.regions)) for op in region.ops)


def goes_op_by_op(region: Region) -> bool:
    """Whether each op of a region, on its own, gives the bits that it gives in one program."""
    return all(
        (_is_exact(op) or op.definition.is_elementwise) and all(map(goes_op_by_op, op.regions))
        for op in region.ops
    )


def run_op_by_op(graph: Graph, inputs: Sequence[NumPyArray]) -> list[NumPyArray] | None:
    """The results of such a graph, after the passes that programs go through; None if these leave
    one that is not such a graph.
    """
    final = _optimised(_Hashed(graph))
    if not goes_op_by_op(final.region):
        return None
    return evaluate(final, inputs, substitute=_native)


class _Hashed:
    """A graph as a key, by its content."""

    __slots__ = ("graph", "hash")

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.hash = graph.content_hash()

    def __hash__(self) -> int:
        return hash(self.hash)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Hashed) and self.hash == other.hash


@functools.lru_cache(maxsize=256)
def _optimised(key: _Hashed) -> Graph:
    from weft.frontends.driver.cpu_program import optimised

    return optimised(key.graph)


def _is_exact(op: Op) -> bool:
    is_plain: bool = op.definition.is_view or op.name in _EXACT
    return is_plain or not any(value.type.dtype.is_inexact for value in op.results)


def _native(op: Op) -> Reference | None:
    if _is_exact(op):
        return None
    attributes = tuple(op.attributes.items())
    return functools.partial(_computed, op.definition, attributes)


def _computed(
    definition: OpDef, attributes: tuple[tuple[str, Any], ...], *operands: NumPyArray, **_: Any
) -> NumPyArray:
    """An elementwise op on arrays of one shape, and numbers that go with each element."""
    arrays = [np.asarray(operand) for operand in operands]
    shape = next((array.shape for array in arrays if array.ndim), ())
    kinds = tuple([(array.dtype, array.ndim > 0) for array in arrays])
    flat = [array.reshape(-1) if array.ndim else array for array in arrays]
    (result,) = _program(definition, attributes, kinds)(flat)
    shaped: NumPyArray = result.reshape(shape)
    return shaped


@functools.lru_cache(maxsize=256)
def _program(
    definition: OpDef,
    attributes: tuple[tuple[str, Any], ...],
    kinds: tuple[tuple[np.dtype[Any], bool], ...],
) -> Callable[[Sequence[Any]], list[Any]]:
    from weft.compiler.ir.dtypes import dtype
    from weft.frontends.driver.cpu_program import compiled
    from weft.frontends.driver.fallback import Fallback

    def parameter(of: DType, has_elements: bool) -> ArrayType:
        return ArrayType(of, (dims.symbol("n", lower=0),) if has_elements else ())

    builder = Builder()
    with builder.active():
        values = [builder.parameter(parameter(dtype(kind), many)) for kind, many in kinds]
        result = definition(*values, **dict(attributes))
    graph = builder.graph(definition.name, [result])
    return Fallback(lambda: compiled(graph), lambda: graph)
