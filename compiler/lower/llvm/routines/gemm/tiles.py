"""Tiles of matrix products: a few rows times a few vectors, whose sums stay in registers.

A tile multiplies `depth` terms. The right operand is read in lines as wide as the tile, `step`
elements apart; fewer columns may be stored. The left one is read element by element, in one of two
ways: the terms of a row behind each other and its rows `step` elements apart, or the rows side by
side and its terms `step` elements apart, as a packed one has them.

The functions serve every caller: they are compiled once, and programs are linked to them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from weft.compiler.lower.llvm import linkage
from weft.compiler.lower.llvm.emit import memory
from weft.compiler.lower.llvm.emit.function import Function, Module, Operand, V, Variable
from weft.compiler.lower.llvm.emit.types import I32, I64, PTR, VOID, Type
from weft.compiler.lower.llvm.target import Target as Machine
from weft.compiler.record import record

_WIDEST: Final = 2  # vectors of a tile's row
_SHARED_BASE: Final = 3  # rows that one address register serves
FAR_BYTES: Final = 4096  # between lines that compete for the same places of the first cache
_AHEAD: Final = 16  # lines that are fetched ahead


@record
class ProductTile:
    """The shape of tiles for sums of a type on a machine."""

    type: Type
    lanes: int
    rows: int

    @property
    def columns(self) -> int:
        return _WIDEST * self.lanes

    @property
    def vector(self) -> Type:
        return self.type.with_lanes(self.lanes)

    @property
    def heights(self) -> tuple[int, ...]:
        """Any number of rows is a sum of these, the largest first."""
        powers = [1 << bit for bit in range(3, -1, -1) if 1 << bit < self.rows]
        return (self.rows, *powers)


def tile_of(type: Type, machine: Machine) -> ProductTile:
    """The tile for a machine: accumulators fill three quarters of the registers."""
    lanes = max(machine.vector_bytes // type.itemsize, 1)
    return ProductTile(type, lanes, machine.vector_registers * 3 // 4 // _WIDEST)


@record
class Lines:
    """Lines of the right operand: the first, and how many elements further the next one is."""

    pointer: V
    step: Operand


@record
class Target:
    """Where sums go: rows `spacing` elements apart; `adds` is not 0 where they are added."""

    pointer: V
    spacing: Operand
    rows: Operand
    columns: Operand
    adds: Operand


@record
class Left:
    """The left operand: its first element, which of the two ways it lies ("rows" or "columns" in
    one piece), and how far apart these are.
    """

    pointer: V
    kind: str
    step: Operand


def multiply_packed(
    f: Function, tile: ProductTile, left: V, right: Lines, target: Target, depth: Operand
) -> None:
    """A tile with a left operand that was packed: `tile.rows` elements for each term."""
    multiply(f, tile, Left(left, "columns", tile.rows), right, target, depth)


def multiply(
    f: Function, tile: ProductTile, left: Left, right: Lines, target: Target, depth: Operand
) -> None:
    """Tiles below each other: all rows of the target."""
    narrow = f.const(target.columns, I64).le(tile.lanes)
    done = f.variable(0, I64)
    for height in tile.heights:
        with f.loop_while() as loop:
            row = done.get()
            loop.stop_unless((row + height).le(target.rows))
            place = f.mul(row, left.step) if left.kind == "rows" else row
            at = f.element(target.pointer, tile.type, f.mul(row, target.spacing))
            here = Target(at, target.spacing, height, target.columns, target.adds)
            start = f.element(left.pointer, tile.type, place)
            passed = [start, *_passed(f, right, here, depth), f.const(left.step, I64)]
            with f.otherwise(narrow) as choice:
                f.call(_name(tile, left.kind, height, 1), VOID, passed)
                choice.otherwise()
                f.call(_name(tile, left.kind, height, _WIDEST), VOID, passed)
            done.set(row + height)


def _passed(f: Function, right: Lines, target: Target, depth: Operand) -> list[V]:
    numbers = (right.step, target.spacing, target.columns, target.adds, depth)
    return [right.pointer, target.pointer, *[f.const(number, I64) for number in numbers]]


def _name(tile: ProductTile, kind: str, height: int, width: int) -> str:
    return linkage.tile(_dtype(tile), kind, height, width)


def _dtype(tile: ProductTile) -> str:
    return f"f{tile.type.itemsize * 8}"


# --- the functions ------------------------------------------------------------------------------


_KINDS: Final = ("rows", "columns")


def names(tile: ProductTile) -> list[str]:
    """All functions of a tile."""
    return [
        _name(tile, kind, height, width)
        for kind in _KINDS
        for height in tile.heights
        for width in range(1, _WIDEST + 1)
    ]


def define(module: Module, tile: ProductTile) -> None:
    """Define all functions of a tile."""
    for kind in _KINDS:
        for height in tile.heights:
            for width in range(1, _WIDEST + 1):
                _define(module, tile, kind, height, width)


def _define(module: Module, tile: ProductTile, kind: str, height: int, width: int) -> None:
    pointers = [(pointer, PTR) for pointer in ("left", "right", "target")]
    numbers = [(x, I64) for x in ("step", "spacing", "columns", "adds", "depth", "apart")]
    g = module.function(
        _name(tile, kind, height, width),
        VOID,
        [*pointers, *numbers],
        attributes="noinline nounwind",
        parameter_attributes="noalias",
    )
    left, right, target, step, spacing, columns, adds, depth, apart = g.arguments
    find = {"rows": _in_rows, "columns": _in_columns}[kind]
    where = Target(target, spacing, height, columns, adds)
    _emit(g, tile, (height, width), find(g, tile, left, apart), Lines(right, step), where, depth)
    g.ret()


def _in_columns(f: Function, tile: ProductTile, left: V, apart: V) -> Callable[[V, int], V]:
    """How rows side by side are read: the factor of a row for a term."""

    def factor(term: V, row: int) -> V:
        return f.load(f.element(left, tile.type, term * apart + row), tile.type)

    return factor


def _in_rows(f: Function, tile: ProductTile, left: V, apart: V) -> Callable[[V, int], V]:
    """How rows in one piece are read. Machines have fewer address registers than a tile has rows,
    but they can add one register to another.
    """
    bases = [
        f.element(left, tile.type, apart * first) for first in range(0, tile.rows, _SHARED_BASE)
    ]
    steps = [apart * number for number in range(_SHARED_BASE)]

    def factor(term: V, row: int) -> V:
        place = term + steps[row % _SHARED_BASE] if row % _SHARED_BASE else term
        return f.load(f.element(bases[row // _SHARED_BASE], tile.type, place), tile.type)

    return factor


def _emit(
    f: Function,
    tile: ProductTile,
    shape: tuple[int, int],
    factor: Callable[[V, int], V],
    right: Lines,
    target: Target,
    depth: V,
) -> None:
    height, width = shape
    zero = f.const(0.0, tile.vector)
    sums = [[f.variable(zero) for _ in range(width)] for _ in range(height)]
    _add_terms(f, tile, sums, factor, right, depth)
    # Only the last vector can have lanes without a column.
    left = f.const(target.columns, I64) - (width - 1) * tile.lanes
    mask = below(f, left, tile.lanes)
    adds = f.const(target.adds, I64).ne(0)
    for row in range(height):
        _store(f, tile, sums[row], target, row, mask, adds)


def _add_terms(
    f: Function,
    tile: ProductTile,
    sums: Sequence[Sequence[Variable]],
    factor: Callable[[V, int], V],
    right: Lines,
    depth: V,
) -> None:
    """Add all terms to the sums. Machines fetch what follows a line, but not into another page, and
    not lines that lie apart: some of them are asked for ahead, beyond the last one too, which does
    no harm.
    """
    parts = [part * tile.lanes for part in range(len(sums[0]))]
    with f.range(0, depth) as term:
        start = f.element(right.pointer, tile.type, f.mul(term, right.step))
        line = [f.load(f.element(start, tile.type, part), tile.vector) for part in parts]
        later = f.element(start, tile.type, f.mul(f.const(_AHEAD, I64), right.step))
        for part in parts:
            memory.prefetch(f, f.element(later, tile.type, part))
        for row, totals in enumerate(sums):
            x = f.splat(factor(term, row), tile.lanes)
            for total, y in zip(totals, line, strict=True):
                total.set(f.fma(x, y, total.get()))


def _store(
    f: Function,
    tile: ProductTile,
    sums: Sequence[Variable],
    target: Target,
    row: int,
    mask: V,
    adds: V,
) -> None:
    at = f.element(target.pointer, tile.type, f.mul(f.const(row, I64), target.spacing))
    for part, total in enumerate(sums):
        here = mask if part == len(sums) - 1 else None
        place = f.element(at, tile.type, part * tile.lanes)
        with f.when(adds):
            old = memory.load_lanes(f, place, tile.vector, here)
            total.set(total.get() + old)
        memory.store(f, place, total.get(), memory.Address(0, 1), tile.lanes, here)


def below(f: Function, count: V, lanes: int) -> V:
    """The first `count` lanes."""
    few = f.maximum(f.minimum(count, lanes), 0).to(I32)
    return memory.iota(f, lanes, I32).lt(f.splat(few, lanes))
