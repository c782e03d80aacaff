"""Windows of filters with one output per group, as those of depthwise convolutions: a few rows of
windows at a time, in vectors, with no matrix product.
"""

from __future__ import annotations

from typing import Final

from weft.compiler.lower.llvm.emit import memory
from weft.compiler.lower.llvm.emit.function import Function, V
from weft.compiler.lower.llvm.emit.types import I64, PTR, VOID
from weft.compiler.lower.llvm.routines.common import rows
from weft.compiler.lower.llvm.routines.gemm.tiles import ProductTile, below
from weft.compiler.record import record

_ROWS: Final = 4  # at a time
_NUMBERS: Final = ("depth", "height", "width", "step", "adds")


@record
class Terms:
    """Where the terms of a window are: a table of distances in bytes from the start of the first
    window, how many of them there are, and how far behind those of a row the next row's are.
    """

    table: V
    start: V
    depth: V
    step: V


def multiply_rows_of_windows(
    f: Function, tile: ProductTile, left: V, right: Terms, target: V, shape: tuple[V, V], adds: V
) -> None:
    """The windows of a plane, rows times columns of them, into a row-major target; `left` has the
    factors of terms, packed for a tile.
    """
    name = f"tile.single.{tile.type.text}"
    parameters = [(x, PTR) for x in ("left", "table", "start", "target")]
    parameters += [(x, I64) for x in _NUMBERS]

    def build(g: Function) -> None:
        _emit(g, tile)
        g.ret()

    rows.shared(f.module, name, VOID, parameters, build, "noinline nounwind")
    numbers = [right.depth, *shape, right.step, adds]
    f.call(name, VOID, [left, right.table, right.start, target, *numbers])


def _emit(f: Function, tile: ProductTile) -> None:
    left, table, start, target, depth, height, width, step, adds = f.arguments
    with f.range(0, height, _ROWS) as first, f.range(0, width, tile.lanes) as column:
        places = [f.minimum(first + row, height - 1) for row in range(_ROWS)]
        starts = [f.element(f.offset(start, place * step), tile.type, column) for place in places]
        sums = [f.variable(f.const(0.0, tile.vector)) for _ in places]
        with f.range(0, depth) as term:
            distance = f.load(f.element(table, I64, term), I64)
            factor = f.splat(
                f.load(f.element(left, tile.type, term * tile.rows), tile.type), tile.lanes
            )
            for at, total in zip(starts, sums, strict=True):
                x = f.load(f.offset(at, distance), tile.vector)
                total.set(f.fma(x, factor, total.get()))
        mask = below(f, width - column, tile.lanes)
        for row, (place, total) in enumerate(zip(places, sums, strict=True)):
            with f.when((first + row).lt(height)):
                at = f.element(target, tile.type, place * width + column)
                with f.when(adds.ne(0)):
                    total.set(total.get() + memory.load_lanes(f, at, tile.vector, mask))
                memory.store(f, at, total.get(), memory.Address(0, 1), tile.lanes, mask)
