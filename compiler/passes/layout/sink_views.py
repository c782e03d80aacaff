"""Moving transposes and reshapes downwards, through elementwise ops, to where they vanish.

A transpose that reaches a product becomes axis numbers, one that reaches another transpose or a
reduction is taken up by it (those rules are in `rewrite.rules_product`); what it passes becomes a
longer chain of elementwise ops.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from weft.compiler.ir.edit import edit
from weft.compiler.ir.graph import Graph, Op, Result, Value
from weft.compiler.ops import helpers
from weft.compiler.ops.shape import broadcast, reshape, transpose
from weft.compiler.rewrite.rules_shape import (
    ELEMENTWISE,
    made_by,
    reshape_of_reshape,
    transpose_of_transpose,
)

# All that an op meets on its way down is moved in one go, and not once for each.
_JOINED = {transpose: transpose_of_transpose, reshape: reshape_of_reshape}
_ROOTS = frozenset((*ELEMENTWISE, *_JOINED))


def sink_views(graph: Graph, fired: Counter[str] | None = None) -> Graph:
    """The graph with elementwise ops before transposes and reshapes, where all operands agree."""
    counts = fired if fired is not None else Counter()

    def visit(op: Op) -> Sequence[Value] | None:
        if op.definition in _JOINED:
            joined = _JOINED[op.definition](op)
            if joined is None:
                return None
            counts[f"{op.name} of {op.name}"] += 1
            return (joined,)
        if not any([isinstance(v, Result) and v.op.definition in _JOINED for v in op.operands]):
            return None  # nearly all
        for name, below in (("transpose", _below_transpose), ("reshape", _below_reshape)):
            sunk = below(op)
            if sunk is not None:
                counts[f"{name} below {op.name}"] += 1
                return (sunk,)
        return None

    # An op that went below a reshape may stand below a transpose now.
    while (changed := edit(graph, visit, _ROOTS)) is not graph:
        graph = changed
    return graph


def _below_transpose(op: Op) -> Value | None:
    moved = [inner for v in op.operands if (inner := made_by(v, transpose)) is not None]
    if not moved:
        return None
    permutation = moved[0].attributes["permutation"]
    sources = [_before_transpose(operand, permutation) for operand in op.operands]
    if any(source is None for source in sources):
        return None
    result = op.definition(*[s for s in sources if s is not None], **op.attributes)
    return transpose(result, permutation=permutation)


def _before_transpose(value: Value, permutation: tuple[int, ...]) -> Value | None:
    """The value that this permutation makes of which, if that costs nothing."""
    if not value.type.rank:
        return value
    inner = made_by(value, transpose)
    if inner is not None:
        return inner.operands[0] if inner.attributes["permutation"] == permutation else None
    stretched = made_by(value, broadcast)
    if stretched is None:
        return None
    # A stretched value can be stretched in another order, unless its own axes would cross.
    targets = [permutation[dim] for dim in stretched.attributes["dims"]]
    if targets != sorted(targets):
        return None
    shape = [value.type.shape[axis] for axis in helpers.inverse(permutation)]
    return broadcast(stretched.operands[0], shape=shape, dims=targets)


def _below_reshape(op: Op) -> Value | None:
    operands = [operand for operand in op.operands if operand.type.rank]
    inners = [made_by(operand, reshape) for operand in operands]
    sources = {inner.operands[0].type.shape for inner in inners if inner is not None}
    if not inners or None in inners or len(sources) != 1 or () in sources:
        return None
    # A number stays one, even where it was a reshaped array of one element.
    unshaped = [
        inner.operands[0] if operand.type.rank and inner is not None else operand
        for operand in op.operands
        for inner in (made_by(operand, reshape),)
    ]
    result = op.definition(*unshaped, **op.attributes)
    return reshape(result, shape=op.results[0].type.shape)
