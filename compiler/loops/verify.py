"""Checks that a loop program keeps the rules of its form; run after every step in tests, and on
request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.compiler.ir.errors import VerifyError
from weft.compiler.loops.arena import Buffer
from weft.compiler.loops.fusion import Fusion
from weft.compiler.loops.memory import RegionPlan
from weft.compiler.loops.order import Order

if TYPE_CHECKING:
    from weft.compiler.loops.program import LoopProgram


def verify(program: LoopProgram) -> None:
    """Check what the steps so far have decided; raises VerifyError."""
    for region, order in program.orders.items():
        _verify_order(program.fusions[region], order)
    if program.memory is not None:
        for plan in program.memory.all_regions():
            _verify_memory(plan)


def _verify_order(fusion: Fusion, order: Order) -> None:
    position = {node: number for number, node in enumerate(order.nodes)}
    if set(position) != set(fusion.nodes):
        raise VerifyError("the order has other nodes than the fusion")
    for node, number in position.items():
        for source in fusion.sources(node):
            if source is not node and position[source] > number:
                raise VerifyError(f"{node} runs before {source}, which it reads")


def _verify_memory(plan: RegionPlan) -> None:
    known = [b for b in plan.temporaries if isinstance(b.bytes, int) and isinstance(b.offset, int)]
    known.sort(key=lambda buffer: buffer.first)
    live: list[Buffer] = []
    for buffer in known:
        live = [other for other in live if other.last >= buffer.first]
        for other in live:
            apart = (
                buffer.offset + buffer.bytes <= other.offset
                or other.offset + other.bytes <= buffer.offset
            )
            if not apart:
                raise VerifyError(f"{buffer} and {other} overlap while both are alive")
        live.append(buffer)
