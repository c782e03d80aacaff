"""Sums over taps for filters with few outputs, as those of depthwise convolutions: taps in lanes.

The rows of taps, with zeros behind them, are multiplied with the rows of a frame that each window
meets, vector by vector; the lanes of a window's sum are added at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from weft.compiler.lower.llvm.emit import memory
from weft.compiler.lower.llvm.emit.function import Function, Module, V, Variable
from weft.compiler.lower.llvm.emit.types import I64, PTR, VOID
from weft.compiler.lower.llvm.routines.common.elements import add, sum_of_lanes
from weft.compiler.lower.llvm.routines.gemm.tiles import ProductTile, below
from weft.compiler.record import record

_HEIGHTS: Final = (3, 9)  # windows at a time
PADDING: Final = _HEIGHTS[-1]  # entries that a table of windows has at its end
_POINTERS: Final = ("left", "table", "windows_at", "right", "target")
_NUMBERS: Final = ("lines", "length", "pitch", "spacing", "rows", "adds")


@record
class Dots:
    """Sums of products of rows of taps, `length` long and `pitch` elements apart, with rows of a
    frame: where those are is told by a table of rows and one of windows, in bytes.
    """

    left: V
    table: V
    windows_at: V
    right: V
    lines: V
    length: V
    pitch: V


def multiply_dots(f: Function, tile: ProductTile, dots: Dots, sums: tuple[V, V, V, V]) -> None:
    """The sums of windows: where they go, how far apart they are, how many there are, and whether
    they are added to what is there.
    """
    (target, spacing, count, adds), most = sums, _HEIGHTS[-1]
    with f.range(0, count, most) as first:
        rows = f.minimum(count - first, most)
        at = f.element(target, tile.type, first * spacing)
        windows = f.element(dots.windows_at, I64, first)
        given = [dots.left, dots.table, windows, dots.right, at]
        given += [dots.lines, dots.length, dots.pitch, spacing, rows, adds]
        _choose(f, tile, rows, given, _HEIGHTS)


def _choose(
    f: Function, tile: ProductTile, rows: V, given: Sequence[V], heights: Sequence[int]
) -> None:
    height, *taller = heights
    if not taller:
        f.call(_function(f.module, tile, height), VOID, given)
        return
    with f.otherwise(rows.le(height)) as choice:
        f.call(_function(f.module, tile, height), VOID, given)
        choice.otherwise()
        _choose(f, tile, rows, given, taller)


def _function(module: Module, tile: ProductTile, height: int) -> str:
    name = f"tile.dots.{tile.type.text}.{height}"
    if name not in module.functions:
        f = module.function(
            name,
            VOID,
            [*[(x, PTR) for x in _POINTERS], *[(x, I64) for x in _NUMBERS]],
            internal=True,
            attributes="noinline nounwind",
            parameter_attributes="noalias",
        )
        _emit(f, tile, height)
    return name


def _emit(f: Function, tile: ProductTile, height: int) -> None:
    left, table, windows_at, right, target = f.arguments[:5]
    lines, length, pitch, spacing, rows, adds = f.arguments[5:]
    sums = [f.variable(f.const(0.0, tile.vector)) for _ in range(height)]
    whole = length & -tile.lanes
    rest = below(f, length - whole, tile.lanes)
    with f.range(0, lines) as line:
        row = f.offset(left, f.load(f.element(table, I64, line), I64))
        taps = f.element(right, tile.type, line * pitch)
        with f.range(0, whole, tile.lanes) as first:
            _step(f, tile, sums, (row, taps, windows_at), first, None)
        with f.when(length.gt(whole)):
            _step(f, tile, sums, (row, taps, windows_at), whole, rest)
    for number, total in enumerate(sums):
        with f.when(f.compare("gt", rows, number)):
            at = f.element(target, tile.type, spacing * number)
            made = sum_of_lanes(f, total.get(), add)
            assert isinstance(made, V)
            old = f.variable(f.const(0.0, tile.type))
            with f.when(adds.ne(0)):
                old.set(f.load(at, tile.type))
            f.store(made + old.get(), at)
    f.ret()


def _step(
    f: Function,
    tile: ProductTile,
    sums: Sequence[Variable],
    pointers: tuple[V, V, V],
    first: V,
    mask: V | None,
) -> None:
    """One vector of taps, times what each window has there."""
    row, taps, windows_at = pointers
    y = memory.load_lanes(f, f.element(taps, tile.type, first), tile.vector, mask)
    start = f.element(row, tile.type, first)
    for number, total in enumerate(sums):
        # Not taken out of the loop, see `tiles_indirect`.
        at = f.element(windows_at, I64, number)
        further = f.instruction(f"load volatile i64, ptr {at.ref}, align 8", I64)
        x = memory.load_lanes(f, f.offset(start, further), tile.vector, mask)
        total.set(f.fma(x, y, total.get()))
