"""Strips of matrices packed for tiles: line after line, each as wide as the strip.

The same code packs rows of a left operand and columns of a right one: an element of line `p` lies
`deeper` elements after that of the line before, and `along` elements after its neighbour. Where
neighbours lie side by side lines are copied; where lines do, squares of them are turned in
registers.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.compiler.ir import dtypes
from weft.compiler.ir.dtypes import DType
from weft.compiler.lower.llvm.emit import memory
from weft.compiler.lower.llvm.emit.arrays import Array
from weft.compiler.lower.llvm.emit.function import Function, Module, V
from weft.compiler.lower.llvm.emit.types import I64, PTR, VOID
from weft.compiler.lower.llvm.emit.vectors import transpose
from weft.compiler.lower.llvm.routines.common.elements import converted
from weft.compiler.lower.llvm.routines.gemm.tiles import ProductTile, below


def pack(f: Function, tile: ProductTile, width: int, source: Array, target: V) -> None:
    """Pack a strip: the source is [lines, at most `width`]. Lines are written in multiples of a
    vector's lanes, and up to a vector further.
    """
    name = f"pack.{source.dtype}.{width}"
    if name not in f.module.functions:
        _define(f.module, name, tile, width, source.dtype)
    numbers = (*source.shape, *source.strides)
    f.call(name, VOID, [source.pointer, target, *[f.const(x, I64) for x in numbers]])


def room(tile: ProductTile, width: int, lines: V) -> V:
    """The elements that a packed strip takes at most."""
    return ((lines + (tile.lanes - 1)) & -tile.lanes) * width + overlap(tile, width)


def overlap(tile: ProductTile, width: int) -> int:
    """The elements that the last line of a strip is written over its end."""
    return tile.lanes if width % tile.lanes else 0


def _define(module: Module, name: str, tile: ProductTile, width: int, dtype: DType) -> None:
    numbers = [(x, I64) for x in ("lines", "columns", "deeper", "along")]
    f = module.function(
        name,
        VOID,
        [("source", PTR), ("target", PTR), *numbers],
        internal=True,
        attributes="noinline nounwind",
        parameter_attributes="noalias",
    )
    pointer, target, lines, columns, deeper, along = f.arguments
    with f.otherwise(along.eq(1)) as side_by_side:
        strip = _Strip(f, tile, width, Array(pointer, dtype, (lines, columns), (deeper, 1)), target)
        strip.copy()
        side_by_side.otherwise()
        with f.otherwise(deeper.eq(1)) as in_lines:
            source = Array(pointer, dtype, (lines, columns), (1, along))
            _Strip(f, tile, width, source, target).turn()
            in_lines.otherwise()
            source = Array(pointer, dtype, (lines, columns), (deeper, along))
            _Strip(f, tile, width, source, target).collect()
    f.ret()


class _Strip:
    """A strip under emission."""

    def __init__(
        self, f: Function, tile: ProductTile, width: int, source: Array, target: V
    ) -> None:
        self.f = f
        self.tile = tile
        self.width = width
        self.source = source
        self.target = target
        self.lines, self.columns = [f.const(size, I64) for size in source.shape]
        self.pieces = -(-width // tile.lanes)
        self.dtype = dtypes.f64 if tile.type.itemsize == 8 else dtypes.f32

    def copy(self) -> None:
        """Lines whose elements are neighbours."""
        f, lanes = self.f, self.tile.lanes
        fitting = [self.width - piece * lanes >= lanes for piece in range(self.pieces)]
        masks = [below(f, self.columns - piece * lanes, lanes) for piece in range(self.pieces)]
        with f.otherwise(self.columns.eq(self.width)) as choice:
            self._copy([None if fits else m for fits, m in zip(fitting, masks, strict=True)])
            choice.otherwise()
            self._copy(masks)

    def _copy(self, masks: Sequence[V | None]) -> None:
        f = self.f
        with f.range(0, self.lines) as line:
            start = f.mul(line, self.source.strides[0])
            for piece, mask in enumerate(masks):
                value = self._load(start + piece * self.tile.lanes, mask)
                self._store(line, piece, value)

    def turn(self) -> None:
        """Lines side by side: squares of as many lines as there are lanes."""
        f, lanes, pieces = self.f, self.tile.lanes, range(self.pieces)
        with f.range(0, self.lines, lanes) as first:
            mask = below(f, self.lines - first, lanes)
            if self.width % lanes == 0:
                for piece in pieces:
                    for line, value in enumerate(self._square(piece, first, mask)):
                        self._store(first + line, piece, value)
            else:
                # A last piece reaches into the next line, which has to be written after it.
                squares = [self._square(piece, first, mask) for piece in pieces]
                for line in range(lanes):
                    for piece in pieces:
                        self._store(first + line, piece, squares[piece][line])

    def _square(self, piece: int, first: V, mask: V) -> list[V]:
        f, lanes = self.f, self.tile.lanes
        rows = []
        for column in range(piece * lanes, (piece + 1) * lanes):
            if column >= self.width:
                rows.append(f.const(0.0, self.tile.vector))
                continue
            # Columns past the end are not there to be read: the last one stands for them.
            inside = f.minimum(f.const(column, I64), self.columns - 1)
            rows.append(self._load(f.mul(inside, self.source.strides[1]) + first, mask))
        return transpose(f, rows)

    def collect(self) -> None:
        """Elements that lie apart both ways."""
        f = self.f
        with f.range(0, self.lines) as line:
            with f.range(0, self.width) as column:
                inside = f.minimum(column, self.columns - 1)
                found = self.source.load(f, self.source.position(f, (line, inside)))
                value = self._at_work(found)
                f.store(value, f.element(self.target, value.type, line * self.width + column))

    # --- elements ---

    def _load(self, place: V, mask: V | None) -> V:
        f, source = self.f, self.source
        at = f.element(source.pointer, source.type, place)
        type = source.type.with_lanes(self.tile.lanes)
        return self._at_work(memory.load_lanes(f, at, type, mask))

    def _at_work(self, element: object) -> V:
        assert isinstance(element, V)
        result = converted(self.f, element, self.source.dtype, self.dtype)
        assert isinstance(result, V)
        return result

    def _store(self, line: V, piece: int, value: V) -> None:
        f = self.f
        place = line * self.width + piece * self.tile.lanes
        f.store(value, f.element(self.target, self.tile.type, place), align=self.tile.type.itemsize)
