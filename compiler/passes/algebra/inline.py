"""Putting called regions in the place of their calls, and the chosen branch in that of a switch
whose index is known.

Passes run after all derivatives, so functions with rules of their own are calls by now. A
`checkpoint` stays: its region is there to be computed again, which sharing would undo.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from weft.compiler.ir.edit import edit
from weft.compiler.ir.graph import Constant, Graph, Op, Value
from weft.compiler.ops import control
from weft.compiler.ops.regions import inline_here

CALLS: Final = (control.call, control.custom_jvp, control.custom_vjp)


def inline_calls(graph: Graph, fired: Counter[str] | None = None) -> Graph:
    """The graph without calls and without switches on constants."""
    counts = fired if fired is not None else Counter()

    def visit(op: Op) -> Sequence[Value] | None:
        if op.definition in CALLS:
            counts[op.name] += 1
            return inline_here(op.regions[0], op.operands)
        if op.definition is control.switch and isinstance(op.operands[0], Constant):
            counts["known branch"] += 1
            index = min(max(int(op.operands[0].array), 0), len(op.regions) - 1)
            return inline_here(op.regions[index], op.operands[1:])
        return None

    return edit(graph, visit, (*CALLS, control.switch))
