"""Strips of windows, as wide as a tile: where their vectors lie in a frame, and panels of those
whose vectors would run over the end of a row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from weft.compiler.ir.dtypes import DType
from weft.compiler.lower.llvm.emit import memory
from weft.compiler.lower.llvm.emit.function import Function, V
from weft.compiler.lower.llvm.emit.types import I16, I64, PTR, VOID, of_dtype
from weft.compiler.lower.llvm.routines.common import rows
from weft.compiler.lower.llvm.routines.common.elements import converted, working
from weft.compiler.lower.llvm.routines.convolution.frame import ConvolutionFrame
from weft.compiler.lower.llvm.routines.convolution.geometry import Phase
from weft.compiler.lower.llvm.routines.convolution.tasks import WindowPlan
from weft.compiler.lower.llvm.routines.gemm.indirect_tiles import Scattered
from weft.compiler.lower.llvm.routines.gemm.tiles import ProductTile, below

_PARTS: Final = (4, 2)  # of a vector, for runs that are short


def write_table(f: Function, tile: ProductTile, table: V, count: V) -> None:
    """The table of a panel: how many bytes each line is behind the first."""
    with f.range(0, count) as line:
        f.store(line * (tile.columns * tile.type.itemsize), f.element(table, I64, line))


def steps(frame: ConvolutionFrame, numbers: Phase, plan: WindowPlan) -> list[V]:
    """How far apart the windows of planes, or images in their place, and of rows are in a frame."""
    plane = numbers.stride[0] * frame.pitch[0]
    plane = frame.f.select(plan.image_block.gt(1), frame.inner_to, plane)
    return [plane, numbers.stride[1] * frame.pitch[1]]


class Strip:
    """The strips of a band of windows, under emission; `lengths` are those of the band."""

    def __init__(
        self, f: Function, tile: ProductTile, room: V, lengths: list[V], steps: list[V]
    ) -> None:
        self.f: Final = f
        self.tile: Final = tile
        self.room: Final = room
        self.lengths: Final = lengths
        self.steps: Final = steps

    def lines(self, first: V, count: V, table: V, depth: V, panel: tuple[V, V]) -> Scattered:
        """The lines of a strip of some windows, read in the frame or in a panel that is filled now;
        a panel has a table of its own.
        """
        f, tile = self.f, self.tile
        starts, fits = [], []
        for part in range(2):
            column, place = self._place(first + part * tile.lanes)
            starts.append(f.element(self.room, tile.type, place))
            inside = f.minimum(count - part * tile.lanes, tile.lanes)
            fits.append((column + inside).le(self.lengths[2]))
        pointers = [f.variable(start) for start in starts]
        chosen = f.variable(table)
        with f.when(~(fits[0] & fits[1])):
            self._fill(first, count, table, depth, panel[0])
            for part, pointer in enumerate(pointers):
                pointer.set(f.element(panel[0], tile.type, part * tile.lanes))
            chosen.set(panel[1])
        return Scattered(chosen.get(), [pointer.get() for pointer in pointers])

    def _place(self, window: V) -> tuple[V, V]:
        """The column of a window, and its place in the frame."""
        return _place(self.f, window, self.lengths[1:], self.steps)

    def _fill(self, first: V, count: V, table: V, depth: V, panel: V) -> None:
        f, tile = self.f, self.tile
        numbers = ("first", "count", "depth", "height", "width", "plane", "row")
        parameters = [*[(x, PTR) for x in ("frame", "table", "panel")]]
        parameters += [(x, I64) for x in numbers]

        def build(g: Function) -> None:
            _Panel(g, tile).emit()
            g.ret()

        name = f"conv.panel.{tile.type.text}"
        rows.shared(f.module, name, VOID, parameters, build, "noinline nounwind")
        given = [self.room, table, panel, first, count, depth, *self.lengths[1:], *self.steps]
        f.call(name, VOID, given)


def _place(f: Function, window: V, lengths: list[V], steps: list[V]) -> tuple[V, V]:
    height, width = lengths
    row, column = f.divide(window, width), f.remainder(window, width)
    plane, line = f.divide(row, height), f.remainder(row, height)
    return column, plane * steps[0] + line * steps[1] + column


class _Panel:
    """A panel that is filled, under emission. A run is what the strip has of one row."""

    def __init__(self, f: Function, tile: ProductTile) -> None:
        self.f: Final = f
        self.tile: Final = tile
        self.places: Final = f.stack(I64, tile.columns)  # in the frame
        self.lengths: Final = f.stack(I64, tile.columns)
        self.runs: Final = f.variable(0, I64)

    def emit(self) -> None:
        """Runs of a known length are written out; else a run is a vector, or several."""
        f, tile = self.f, self.tile
        count, width = f.arguments[4], f.arguments[7]
        self._find_runs()
        is_regular = count.eq(tile.columns) & f.load(self.lengths, I64).eq(width)
        widths = [tile.lanes // part for part in _PARTS if tile.lanes > part]
        copies = [(is_regular & width.eq(lanes), self._copy_regular, lanes) for lanes in widths]
        copies += [(width.le(lanes), self._copy, lanes) for lanes in (*widths, tile.lanes)]
        self._choose(copies)

    def _choose(self, copies: Sequence[tuple[V, Callable[[int], None], int]]) -> None:
        f = self.f
        if not copies:
            self._copy(self.tile.lanes, is_long=True)
            return
        (condition, copy, lanes), *others = copies
        with f.otherwise(condition) as choice:
            copy(lanes)
            choice.otherwise()
            self._choose(others)

    def _find_runs(self) -> None:
        f = self.f
        *_, first, count, _, height, width, plane, line = f.arguments
        lane, number = f.variable(0, I64), f.variable(0, I64)
        with f.loop_while() as loop:
            at = lane.get()
            loop.stop_unless(at.lt(count))
            column, place = _place(f, first + at, [height, width], [plane, line])
            length = f.minimum(width - column, count - at)
            f.store(place * self.tile.type.itemsize, f.element(self.places, I64, number.get()))
            f.store(length, f.element(self.lengths, I64, number.get()))
            number.set(number.get() + 1)
            lane.set(at + length)
        self.runs.set(number.get())

    def _copy(self, lanes: int, is_long: bool = False) -> None:
        """Line by line and run by run, in vectors: what a vector writes too much is written over
        by the next run or line.
        """
        f, tile, runs = self.f, self.tile, self.runs.get()
        frame, table, panel, _, _, depth = f.arguments[:6]
        vector = tile.type.with_lanes(lanes)
        with f.range(0, depth) as line:
            start = f.offset(frame, f.load(f.element(table, I64, line), I64))
            target = f.variable(f.element(panel, tile.type, line * tile.columns))
            with f.range(0, runs) as run:
                source = f.offset(start, f.load(f.element(self.places, I64, run), I64))
                length = f.load(f.element(self.lengths, I64, run), I64)
                at = target.get()
                if is_long:
                    with f.range(0, length, lanes) as lane:
                        found = f.load(f.element(source, tile.type, lane), vector)
                        f.store(found, f.element(at, tile.type, lane))
                else:
                    f.store(f.load(source, vector), at)
                target.set(f.element(at, tile.type, length))

    def _copy_regular(self, lanes: int) -> None:
        """Runs of so many lanes, all of them."""
        f, tile = self.f, self.tile
        frame, table, panel, _, _, depth = f.arguments[:6]
        vector = tile.type.with_lanes(lanes)
        with f.range(0, depth) as line:
            start = f.offset(frame, f.load(f.element(table, I64, line), I64))
            target = f.element(panel, tile.type, line * tile.columns)
            for run in range(tile.columns // lanes):
                place = f.load(f.element(self.places, I64, run), I64)
                found = f.load(f.offset(start, place), vector)
                f.store(found, f.element(target, tile.type, run * lanes))


def spread(
    f: Function,
    tile: ProductTile,
    dtype: DType,
    pointers: tuple[V, V],
    lengths: list[V],
    outputs: V,
    numbers: Phase,
    plan: WindowPlan,
) -> None:
    """Copy the sums of a work item to places in the result that do not follow each other."""
    name = f"conv.spread.{dtype}"
    plane, row, column = numbers.result_stride.values()
    plane = f.select(plan.image_block.gt(1), numbers.result_image, plane)
    given = [outputs, *lengths, numbers.result_channel, plane, row, column]
    parameters = [("made", PTR), ("result", PTR)]
    parameters += [(f"n{number}", I64) for number in range(len(given))]

    def build(g: Function) -> None:
        _build_spread(g, tile, dtype)
        g.ret()

    rows.shared(f.module, name, VOID, parameters, build, "noinline nounwind")
    f.call(name, VOID, [*pointers, *given])


def _build_spread(f: Function, tile: ProductTile, dtype: DType) -> None:
    made, result, *numbers = f.arguments
    (*outer, width), steps = numbers[:4], numbers[4:]
    source = f.variable(made)
    with f.range(0, outer[0]) as o, f.range(0, outer[1]) as z, f.range(0, outer[2]) as y:
        place = o * steps[0] + z * steps[1] + y * steps[2]
        target = f.element(result, of_dtype(dtype), place)
        row = source.get()
        with f.range(0, width, tile.lanes) as x:
            mask = below(f, width - x, tile.lanes)
            sums = memory.load_lanes(f, f.element(row, tile.type, x), tile.vector, mask)
            value = converted(f, sums, working(dtype), dtype)
            assert isinstance(value, V)
            # LLVM would take shuffles of halves apart through f32.
            held = value.bits(I16) if dtype is not working(dtype) else value
            _put(f, held, target, x, steps[3], mask)
        source.set(f.element(row, tile.type, width))


def _put(f: Function, value: V, target: V, x: V, step: V, mask: V) -> None:
    """A vector of a row: lanes beside each other, with a gap between each, or anywhere."""
    lanes = value.type.lanes
    with f.otherwise(step.eq(1)) as single:
        memory.store(f, target, value, memory.Address(x, 1), lanes, mask)
        single.otherwise()
        with f.otherwise(step.eq(2)) as double:
            nothing = f.const(False, mask.type)
            for part in range(2):
                halves = [part * lanes // 2 + lane // 2 for lane in range(lanes)]
                spread = f.shuffle(value, value, halves)
                gaps = [lane if n % 2 == 0 else lanes for n, lane in enumerate(halves)]
                here = f.shuffle(mask, nothing, gaps)
                memory.store(
                    f, target, spread, memory.Address(x * 2 + part * lanes, 1), lanes, here
                )
            double.otherwise()
            memory.store(f, target, value, memory.Address(x * step, step), lanes, mask)
