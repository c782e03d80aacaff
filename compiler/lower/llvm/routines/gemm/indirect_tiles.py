"""Tiles of products whose terms lie wherever a table says, as convolutions need them.

Each term has an entry in a table: a distance in bytes. In tiles of *lines* it is added to the
addresses of the vectors of the right operand, which need not lie beside each other; the left
operand is packed, the rows of a tile side by side. In tiles of *rows* it is added to the addresses
of the rows of the left operand, which are read element by element; the right operand is packed in
lines as wide as a tile.

The functions are internal to the module that asks for them, and built once in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from weft.compiler.lower.llvm.emit import memory
from weft.compiler.lower.llvm.emit.function import Function, Module, Operand, V, Variable
from weft.compiler.lower.llvm.emit.types import I64, PTR, VOID
from weft.compiler.lower.llvm.routines.gemm.tiles import ProductTile, Target, below
from weft.compiler.record import record

_NUMBERS: Final = ("spacing", "rows", "columns", "adds", "depth")


@record
class Scattered:
    """Lines of the right operand: the address of each vector of a tile, and the table."""

    table: V
    vectors: Sequence[V]


def heights(tile: ProductTile) -> list[int]:
    """The heights of the functions, the smallest first."""
    return [height for height in (2, 4, 8) if height < tile.rows] + [tile.rows]


def multiply_lines(
    f: Function, tile: ProductTile, left: V, right: Scattered, target: Target, depth: Operand
) -> None:
    """A packed left operand times scattered lines; at most `tile.rows` rows."""
    given = [left, right.table, *right.vectors, target.pointer, *_numbers(f, target, depth)]
    _by_shape(f, tile, target, lambda height, width: _lines(f.module, tile, height, width), given)


def multiply_rows(
    f: Function, tile: ProductTile, left: tuple[V, V, V], right: V, target: Target, depth: Operand
) -> None:
    """Rows that are read where they lie times packed lines; at most `tile.rows` rows. The left
    operand is an address, a table of terms, and a table of rows: distances in bytes.
    """
    given = [*left, right, target.pointer, *_numbers(f, target, depth)]
    _by_shape(f, tile, target, lambda height, width: _rows(f.module, tile, height, width), given)


def _numbers(f: Function, target: Target, depth: Operand) -> list[V]:
    numbers = (target.spacing, target.rows, target.columns, target.adds, depth)
    return [f.const(number, I64) for number in numbers]


def _by_shape(
    f: Function,
    tile: ProductTile,
    target: Target,
    name: Callable[[int, int], str],
    given: Sequence[V],
) -> None:
    """The smallest function that has all rows and columns of the target."""
    rows, narrow = f.const(target.rows, I64), f.const(target.columns, I64).le(tile.lanes)

    def choose(candidates: Sequence[int]) -> None:
        height, *taller = candidates
        if not taller:
            call(height)
            return
        with f.otherwise(rows.le(height)) as choice:
            call(height)
            choice.otherwise()
            choose(taller)

    def call(height: int) -> None:
        with f.otherwise(narrow) as choice:
            f.call(name(height, 1), VOID, given)
            choice.otherwise()
            f.call(name(height, 2), VOID, given)

    choose(heights(tile))


# --- the functions ------------------------------------------------------------------------------


def _lines(module: Module, tile: ProductTile, height: int, width: int) -> str:
    name = f"tile.lines.{tile.type.text}.{height}x{width}"
    if name in module.functions:
        return name
    f = _function(module, name, ("left", "table", "first", "second", "target"))
    left, table, *vectors, target = f.arguments[:5]

    def factor(term: V, _: V, row: int) -> V:
        return f.load(f.element(left, tile.type, term * tile.rows + row), tile.type)

    def line(_: V, distance: V, part: int) -> V:
        return f.load(f.offset(vectors[part], distance), tile.vector)

    _emit(f, tile, (height, width), (table, factor, line), target)
    return name


def _rows(module: Module, tile: ProductTile, height: int, width: int) -> str:
    name = f"tile.rows.{tile.type.text}.{height}x{width}"
    if name in module.functions:
        return name
    f = _function(module, name, ("left", "table", "rows_at", "right", "target"))
    left, table, rows_at, right, target = f.arguments[:5]

    def factor(_: V, distance: V, row: int) -> V:
        # As many addresses as a tile has rows would fill the registers, and LLVM would then keep
        # sums in memory (65 instead of 115 GFLOP/s): a volatile load is not taken out of the loop.
        at = f.element(rows_at, I64, row)
        further = f.instruction(f"load volatile i64, ptr {at.ref}, align 8", I64)
        return f.load(f.offset(f.offset(left, distance), further), tile.type)

    def line(term: V, _: V, part: int) -> V:
        place = term * tile.columns + part * tile.lanes
        return f.load(f.element(right, tile.type, place), tile.vector)

    _emit(f, tile, (height, width), (table, factor, line), target)
    return name


def _function(module: Module, name: str, pointers: Sequence[str]) -> Function:
    return module.function(
        name,
        VOID,
        [*[(x, PTR) for x in pointers], *[(x, I64) for x in _NUMBERS]],
        internal=True,
        attributes="noinline nounwind",
        parameter_attributes="noalias",
    )


_Read = Callable[[V, V, int], V]


def _emit(
    f: Function,
    tile: ProductTile,
    shape: tuple[int, int],
    operands: tuple[V, _Read, _Read],
    pointer: V,
) -> None:
    (height, width), (table, factor, line) = shape, operands
    spacing, rows, columns, adds, depth = f.arguments[5:]
    zero = f.const(0.0, tile.vector)
    sums = [[f.variable(zero) for _ in range(width)] for _ in range(height)]
    with f.range(0, depth) as term:
        distance = f.load(f.element(table, I64, term), I64)
        vectors = [line(term, distance, part) for part in range(width)]
        for row in range(height):
            x = f.splat(factor(term, distance, row), tile.lanes)
            for total, y in zip(sums[row], vectors, strict=True):
                total.set(f.fma(x, y, total.get()))
    target = Target(pointer, spacing, rows, columns, adds)
    mask = below(f, columns - (width - 1) * tile.lanes, tile.lanes)
    with f.when(adds.ne(0)):
        _each(f, tile, sums, target, lambda at, total, here: _add(f, tile, at, total, here), mask)
    _each(f, tile, sums, target, lambda at, total, here: _put(f, tile, at, total, here), mask)
    f.ret()


def _each(
    f: Function,
    tile: ProductTile,
    sums: Sequence[Sequence[Variable]],
    target: Target,
    step: Callable[[V, Variable, V | None], None],
    mask: V,
) -> None:
    """Something for every sum, with its place; only the last vector of a row has a mask."""
    for row, totals in enumerate(sums):
        at = f.element(target.pointer, tile.type, f.mul(f.const(row, I64), target.spacing))
        with f.when(f.compare("gt", target.rows, row)):
            for part, total in enumerate(totals):
                here = mask if part == len(totals) - 1 else None
                step(f.element(at, tile.type, part * tile.lanes), total, here)


def _add(f: Function, tile: ProductTile, at: V, total: Variable, mask: V | None) -> None:
    total.set(total.get() + memory.load_lanes(f, at, tile.vector, mask))


def _put(f: Function, tile: ProductTile, at: V, total: Variable, mask: V | None) -> None:
    memory.store(f, at, total.get(), memory.Address(0, 1), tile.lanes, mask)
