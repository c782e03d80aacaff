"""Small matrices, one in each lane of a vector: how they get there, and loops over their elements.

The same code serves matrices of a few elements, for which loops are written out and elements live
in registers, and somewhat larger ones, for which loops run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from weft.compiler.ir.dtypes import DType
from weft.compiler.lower.llvm.emit.arrays import Array, Element, Env, plus, product, times, unravel
from weft.compiler.lower.llvm.emit.function import Function, Operand, V
from weft.compiler.lower.llvm.emit.types import I32, I64, Type
from weft.compiler.lower.llvm.routines.common import elements, rows, sizes
from weft.compiler.lower.llvm.routines.common.elements import of_parts, parts, vector_lanes

WRITTEN_OUT: Final = 4  # rows and columns up to which loops are written out

Place: TypeAlias = Callable[[Operand, Operand], tuple[Operand, ...]]
Compute: TypeAlias = Callable[["Items"], None]


class LaneBlock:
    """A matrix in each lane, on the stack; element after element, each with all its lanes."""

    __slots__ = ("items", "rows", "columns", "type", "parts", "_pointer")

    def __init__(self, items: Items, count: int, columns: int, type: Type, parts: int = 1) -> None:
        self.items: Final = items
        self.rows: Final = count
        self.columns: Final = columns
        self.type: Final = type
        self.parts: Final = parts
        room = max(count * columns * parts, 1) * items.width
        self._pointer: Final = items.f.stack(type, room, align=64)

    def line(self, row: Operand, column: Operand, part: int = 0) -> Operand:
        """Where the lanes of a part of an element begin."""
        f = self.items.f
        element = plus(f, times(f, row, self.columns), column)
        return times(f, plus(f, times(f, element, self.parts), part), self.items.width)

    def at(self, position: Operand) -> V:
        return self.items.f.element(self._pointer, self.type, position)

    def get(self, row: Operand, column: Operand = 0) -> Element:
        f, type = self.items.f, self.type.with_lanes(self.items.lanes)
        places = [self.line(row, column, part) for part in range(self.parts)]
        return of_parts([f.load(self.at(place), type) for place in places])

    def set(self, row: Operand, column: Operand, value: Element) -> None:
        for part, held in enumerate(parts(value)):
            self.items.f.store(held, self.at(self.line(row, column, part)))


class Items:
    """The matrices that are worked on at once (0 lanes: one alone). For each array `tables` has the
    places of the lanes' matrices; of the lanes only the first `valid` are written.
    """

    def __init__(
        self,
        f: Function,
        arrays: Sequence[Array],
        lanes: int,
        tables: Sequence[V] = (),
        valid: Operand = 1,
    ) -> None:
        self.f: Final = f
        self.arrays: Final = arrays
        self.lanes: Final = lanes
        self.width: Final = max(lanes, 1)
        self._tables: Final = tables
        self._valid: Final = valid
        first = arrays[0].shape
        self.is_written_out: Final = max(sizes.known(size) for size in first) <= WRITTEN_OUT

    @property
    def dtype(self) -> DType:
        return self.arrays[0].dtype

    def number(self, value: float) -> Element:
        """A real number in all lanes."""
        return elements.number(self.f, value, self.dtype, self.lanes)

    def count(self, value: Operand) -> V:
        """A row or column number in all lanes."""
        if isinstance(value, V):
            return self.f.splat(value.to(I32), self.lanes)
        return self.f.const(value, I32.with_lanes(self.lanes))

    def each(self, begin: Operand, end: Operand, body: Callable[[Operand], None]) -> None:
        """`body(i)` from `begin` up to `end`, written out or as a loop."""
        if self.is_written_out:
            for number in range(sizes.known(begin), sizes.known(end)):
                body(number)
            return
        with self.f.range(begin, end) as i:
            body(i)

    def each_down(self, begin: Operand, end: Operand, body: Callable[[Operand], None]) -> None:
        """The same from the last to the first."""
        f = self.f
        last = sizes.minus(f, end, 1)
        self.each(0, sizes.minus(f, end, begin), lambda i: body(sizes.minus(f, last, i)))

    def take(self, which: int, count: int, columns: int, place: Place) -> LaneBlock:
        """A matrix out of an array: `place(row, column)` is the index of its elements there."""
        f, array = self.f, self.arrays[which]
        held = self._block(array, count, columns)

        def one_lane(lane: Operand, start: Operand) -> None:
            def one(row: Operand, column: Operand) -> None:
                there = plus(f, start, array.position(f, place(row, column)))
                for part, value in enumerate(parts(array.load(f, there))):
                    f.store(value, held.at(plus(f, held.line(row, column, part), lane)))

            self._elements(held, one)

        self._each_lane(which, self.width, one_lane)
        return self._copied(held) if self.is_written_out else held

    def put(self, which: int, block: LaneBlock, place: Place) -> None:
        """The same in the other direction."""
        f, array = self.f, self.arrays[which]
        held = self._copied(block) if self.is_written_out else block

        def one_lane(lane: Operand, start: Operand) -> None:
            def one(row: Operand, column: Operand) -> None:
                there = plus(f, start, array.position(f, place(row, column)))
                lines = [held.line(row, column, part) for part in range(held.parts)]
                made = [f.load(held.at(plus(f, line, lane)), held.type) for line in lines]
                array.store(f, there, of_parts(made))

            self._elements(held, one)

        self._each_lane(which, self._valid, one_lane)

    def _block(self, array: Array, count: int, columns: int) -> LaneBlock:
        return LaneBlock(self, count, columns, array.type, 2 if array.dtype.is_complex else 1)

    def _copied(self, block: LaneBlock) -> LaneBlock:
        """A copy that no lane is taken out of, so that LLVM can keep it in registers."""
        result = LaneBlock(self, block.rows, block.columns, block.type, block.parts)
        self._elements(result, lambda row, column: result.set(row, column, block.get(row, column)))
        return result

    def _elements(self, block: LaneBlock, body: Callable[[Operand, Operand], None]) -> None:
        self.each(0, block.rows, lambda row: self.each(0, block.columns, lambda c: body(row, c)))

    def _each_lane(
        self, which: int, end: Operand, body: Callable[[Operand, Operand], None]
    ) -> None:
        if not self.lanes:
            body(0, 0)
            return
        with self.f.range(0, end) as lane:
            body(lane, self.f.load(self.f.element(self._tables[which], I64, lane), I64))


def for_lanes(
    f: Function, env: Env, batch: Sequence[Operand], arrays: Sequence[Array], compute: Compute
) -> None:
    """`compute(items)` for the items of arrays at all indices of their leading axes `batch`; as
    many at a time as a vector has lanes, or one alone.
    """
    shape, outer = sizes.coalesced(batch, [array.strides[: len(batch)] for array in arrays])
    inner = [sizes.rank_split(array, len(batch))[1] for array in arrays]
    if not shape:
        compute(Items(f, inner, 0))
        return
    moved = [
        Array(item.pointer, item.dtype, (*shape, *item.shape), (*strides, *item.strides))
        for item, strides in zip(inner, outer, strict=True)
    ]
    lanes, rank = vector_lanes(arrays[0].dtype), len(shape)
    size = max(sizes.known(size) for size in inner[0].shape)

    def chunk(
        g: Function, _: Env, begin: V, end: V, given: list[Array], numbers: list[Operand]
    ) -> None:
        tables = [g.stack(I64, lanes) for _ in given]
        with g.range(begin, end) as group:
            first = group * lanes
            left = g.sub(sizes.value(g, numbers[0]), first)
            with g.range(0, lanes) as lane:
                # Lanes without a matrix of their own repeat the last one.
                index = unravel(g, first + g.minimum(lane, left - 1), given[0].shape[:rank])
                for table, array in zip(tables, given, strict=True):
                    place = sizes.rank_split(array, rank)[0].position(g, index)
                    g.store(place, g.element(table, I64, lane))
            items = [sizes.rank_split(array, rank)[1] for array in given]
            compute(Items(g, items, lanes, tables, g.minimum(left, lanes)))

    count = product(f, shape)
    groups = sizes.ceil_divide(f, count, lanes)
    rows.parallel(f, env, groups, lanes * size * size, moved, [count], chunk)
