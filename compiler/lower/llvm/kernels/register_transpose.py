"""Blocks that are read along one loop and written along another: turned in registers.

As many steps of the tiled loop as there are lanes are done at once. What lies in order along that
loop is loaded as rows, one vector per lane, and the square of them is transposed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.compiler.loops.kernel import Entry, Load
from weft.compiler.loops.vectorise import crosses
from weft.compiler.lower.llvm.emit import memory
from weft.compiler.lower.llvm.emit.function import Function, V
from weft.compiler.lower.llvm.emit.types import I32, I64, of_dtype
from weft.compiler.lower.llvm.emit.vectors import transpose
from weft.compiler.lower.llvm.kernels.scope import Scope

if TYPE_CHECKING:
    from weft.compiler.lower.llvm.kernels.kernel import Body


def emit_squares(body: Body, scope: Scope, tile: V, block: V) -> None:
    """A block of the vector loop, for a tile of the other loop, square by square."""
    f, plan = body.f, body.plan
    assert plan.outer is not None and plan.tile is not None
    lanes = plan.lanes
    first = tile * lanes
    low = block * body.plan.block
    high = f.minimum(low + body.plan.block, body.sizes.value(plan.outer.size))
    entries = [
        entry for entry in body.kernel.entries.values() if crosses(entry, plan.outer, plan.tile)
    ]
    rest = body.sizes.value(plan.tile.size) - first
    with f.range(low, high, lanes) as start:
        across = _below(f, high - start, lanes)
        down = _below(f, rest, lanes)
        here = scope.along(plan.outer, start, lanes, across)
        here.counters[plan.tile] = first
        squares = {entry.ref: _turned(body, here, entry, high - start, down) for entry in entries}
        for step in range(lanes):
            with f.when(rest.gt(step)):
                inner = scope.along(plan.outer, start, lanes, across)
                inner.counters[plan.tile] = first + step
                for ref, rows in squares.items():
                    inner.values[ref] = rows[step]
                body.levels(inner)


def _below(f: Function, count: V, lanes: int) -> V:
    few = f.minimum(count, lanes).to(I32)
    return memory.iota(f, lanes, I32).lt(f.splat(few, lanes))


def _turned(body: Body, scope: Scope, entry: Entry, count: V, mask: V) -> list[V]:
    """What an entry is at each step of the tiled loop, in lanes along the other one."""
    f, lanes = body.f, scope.lanes
    assert isinstance(entry.source, Load)
    address = body.values.address(scope, entry.source.position)
    pointer = body.values.pointers[entry.source.array]
    type = of_dtype(entry.source.dtype).with_lanes(lanes)
    rows = []
    for lane in range(lanes):
        # Rows past the end are not there to be read: the last one stands for them.
        inside = f.minimum(f.const(lane, I64), count - 1)
        place = f.add(f.const(address.base, I64), f.mul(inside, address.step))
        rows.append(memory.load_lanes(f, f.element(pointer, type, place), type, mask))
    return transpose(f, rows)
