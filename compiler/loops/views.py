"""Views: results that are read from the operand's array by other strides, and who can read them."""

from __future__ import annotations

from typing import Final

from weft.compiler.ir.graph import Op, Result, Value
from weft.compiler.loops.group import Node, OpaqueNode

VIEWS: Final = ("transpose", "broadcast", "reverse", "slice")


def needs_row_major(node: Node) -> bool:
    """Whether a node takes its operands in row-major order only: control flow, the host."""
    return isinstance(node, OpaqueNode) and (bool(node.op.regions) or node.op.name == "host_call")


def is_view(op: Op) -> bool:
    """Whether an op's result can be read from its operand's array by other strides."""
    return op.name in VIEWS or op.name == "reshape" and _drops_ones(op)


def _drops_ones(op: Op) -> bool:
    """Whether a reshape only adds or drops axes of one element."""
    before, after = [
        [size for size in value.type.shape if size != 1] for value in (op.operands[0], *op.results)
    ]
    return before == after


def view_base(value: Value) -> Value:
    """The value whose array a view by strides reads: the end of a chain of views."""
    while isinstance(value, Result) and is_view(value.op):
        operand = value.op.operands[0]
        if not operand.type.rank:
            break
        value = operand
    return value
