"""Frames: parts of inputs with their padding, so that windows need not look where they are.

A frame is [outer, inner, planes, rows, phases, columns]. Along the last axis the elements that are
`phases` apart become neighbours, so that windows that are a stride apart read neighbours.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Final

from weft.compiler.ir.dtypes import DType
from weft.compiler.lower.llvm.emit import memory
from weft.compiler.lower.llvm.emit.arrays import Element
from weft.compiler.lower.llvm.emit.function import Function, Operand, V
from weft.compiler.lower.llvm.emit.types import I64, PTR, VOID, of_dtype
from weft.compiler.lower.llvm.routines.common import rows
from weft.compiler.lower.llvm.routines.common.elements import converted, working
from weft.compiler.lower.llvm.routines.convolution.geometry import up, weighted
from weft.compiler.lower.llvm.routines.convolution.records import PerAxis, Record, Word
from weft.compiler.lower.llvm.routines.gemm.tiles import ProductTile, below
from weft.compiler.record import record


class ConvolutionFrame(Record):
    """Where a frame takes its elements from, and how they lie in it."""

    outer = Word()  # how many, how far apart in the input, and in the frame
    outer_from = Word()
    outer_to = Word()
    inner = Word()
    inner_from = Word()
    inner_to = Word()
    phases = Word()
    columns = Word()  # of a phase
    extent = PerAxis()  # of the frame, not of a phase
    origin = PerAxis()  # where the frame begins on the axis
    end = PerAxis()  # the size of the axis
    source = PerAxis()  # strides in the input
    pitch = PerAxis()  # and in the frame; of the last axis: from phase to phase


def shape(frame: ConvolutionFrame, extents: tuple[V, V, V], phases: V) -> None:
    """Set the extents of a frame, and what follows from them."""
    f = frame.f
    columns = up(f, extents[2], phases)
    frame.extent.set(extents)
    frame.phases = phases
    frame.columns = columns
    frame.pitch[2] = columns
    frame.pitch[1] = columns * phases
    frame.pitch[0] = columns * phases * extents[1]


def plane(frame: ConvolutionFrame) -> V:
    """The elements of all planes of one inner index."""
    return frame.pitch[0] * frame.extent[0]


def fill(
    f: Function, tile: ProductTile, dtype: DType, input: V, room: V, frame: ConvolutionFrame
) -> None:
    """Copy what a frame shows of an input, and zeros around it."""
    name = f"conv.fill.{dtype}"
    parameters = [("signal", PTR), ("room", PTR), ("frame", PTR)]

    def build(g: Function) -> None:
        source, target, record = g.arguments
        _Fill(g, tile, dtype, source, target, ConvolutionFrame(g, record)).emit()
        g.ret()

    rows.shared(f.module, name, VOID, parameters, build, "noinline nounwind")
    f.call(name, VOID, [input, room, frame.pointer])


class _Fill:
    """A frame that is filled, under emission."""

    def __init__(
        self,
        f: Function,
        tile: ProductTile,
        dtype: DType,
        input: V,
        room: V,
        frame: ConvolutionFrame,
    ) -> None:
        self.f: Final = f
        self.lanes: Final = tile.lanes
        self.type: Final = tile.type
        self.dtype: Final = dtype
        self.input: Final = input
        self.room: Final = room
        self.frame: Final = frame

    def emit(self) -> None:
        """Columns in vectors, and for each of these all rows: neighbours, pairs of phases, or
        elements any distance apart.
        """
        f, frame = self.f, self.frame
        phases, step = frame.phases, frame.source[2]
        with f.range(0, frame.columns, self.lanes) as column:
            with f.otherwise(step.eq(1) & phases.eq(1)) as single:
                self._neighbours(column)
                single.otherwise()
                with f.otherwise(step.eq(1) & phases.eq(2)) as double:
                    self._pairs(column)
                    double.otherwise()
                    with f.range(0, phases) as phase:
                        self._apart(column, phase)

    # --- vectors of rows ---

    def _neighbours(self, column: V) -> None:
        f = self.f
        first = self.frame.origin[2] + column
        mask = self._inside(first, 1)

        def load(row: V) -> list[V]:
            return [self._loaded(f.element(row, of_dtype(self.dtype), first), mask)]

        self._rows(column, [f.const(0, I64)], load)

    def _pairs(self, column: V) -> None:
        """Two phases: every second lane of two vectors."""
        f, lanes = self.f, self.lanes
        starts = [self.frame.origin[2] + column * 2 + part * lanes for part in (0, 1)]
        masks = [self._inside(start, 1) for start in starts]

        def load(row: V) -> list[V]:
            low, high = [
                self._loaded(f.element(row, of_dtype(self.dtype), start), mask)
                for start, mask in zip(starts, masks, strict=True)
            ]
            return [f.shuffle(low, high, range(phase, 2 * lanes, 2)) for phase in (0, 1)]

        self._rows(column, [f.const(0, I64), self.frame.pitch[2]], load)

    def _apart(self, column: V, phase: V) -> None:
        f, frame = self.f, self.frame
        phases, step = frame.phases, frame.source[2]
        first = frame.origin[2] + phase + column * phases
        mask = self._inside(first, phases)

        def load(row: V) -> list[V]:
            address = memory.Address(first * step, phases * step)
            found = memory.load(f, row, self.dtype, address, self.lanes, mask)
            return [self._at_work(found)]

        self._rows(column, [phase * frame.pitch[2]], load)

    def _inside(self, first: V, step: Operand) -> V:
        """Which lanes, from an index on and `step` apart, are on the axis."""
        f, size = self.f, self.frame.end[2]
        begin, end = [up(f, f.maximum(x, 0), step) for x in (-first, size - first)]
        return below(f, end, self.lanes) & ~below(f, begin, self.lanes)

    def _loaded(self, at: V, mask: V) -> V:
        type = of_dtype(self.dtype).with_lanes(self.lanes)
        return self._at_work(memory.load_lanes(self.f, at, type, mask))

    def _at_work(self, value: Element) -> V:
        result = converted(self.f, value, self.dtype, working(self.dtype))
        assert isinstance(result, V)
        return result

    # --- rows ---

    def _rows(self, column: V, places: list[V], load: Callable[[V], list[V]]) -> None:
        """What `load` gives for each row of the input, at the places of a row of the frame."""
        f, frame = self.f, self.frame
        left = frame.columns - column
        mask, is_full = below(f, left, self.lanes), left.ge(self.lanes)
        targets = [f.element(self.room, self.type, place + column) for place in places]
        zeros = [f.const(0.0, self.type.with_lanes(self.lanes)) for _ in places]

        def put(values: list[V], place: V) -> None:
            for value, target in zip(values, targets, strict=True):
                at = f.element(target, self.type, place)
                with f.otherwise(is_full) as choice:
                    f.store(value, at)
                    choice.otherwise()
                    memory.store(f, at, value, memory.Address(0, 1), self.lanes, mask)

        self._each_row(lambda row, place: put(load(row), place), lambda place: put(zeros, place))

    def _each_row(self, on_axis: Callable[[V, V], None], off_axis: Callable[[V], None]) -> None:
        f, frame = self.f, self.frame
        froms = [frame.outer_from, frame.inner_from, frame.source[0], frame.source[1]]
        tos = [frame.outer_to, frame.inner_to, frame.pitch[0], frame.pitch[1]]
        origins, ends = frame.origin.values(), frame.end.values()
        with (
            f.range(0, frame.outer) as i,
            f.range(0, frame.inner) as j,
            f.range(0, frame.extent[0]) as z,
        ):
            plane = z + origins[0]
            read = weighted([i, j, plane], froms[:3])
            written = weighted([i, j, z], tos[:3])
            has_plane = plane.ge(0) & plane.lt(ends[0])
            with f.range(0, frame.extent[1]) as y:
                row = y + origins[1]
                place = written + y * tos[3]
                with f.otherwise(has_plane & row.ge(0) & row.lt(ends[1])) as choice:
                    source = f.element(self.input, of_dtype(self.dtype), read + row * froms[3])
                    on_axis(source, place)
                    choice.otherwise()
                    off_axis(place)


@record
class Grid:
    """Positions in a frame: `counts` of them along its axes, `steps` apart, from the last to the
    first where an axis is turned; all of this `repeats` times, `apart` elements from each other.
    """

    repeats: V
    apart: V
    counts: list[V]
    steps: list[V]
    turned: list[V] | None = None


def write_distances(frame: ConvolutionFrame, grid: Grid, table: V, size: int) -> None:
    """Write to a table how many bytes behind the start of a frame the positions are."""
    f = frame.f
    number = f.variable(0, I64)
    with f.range(0, grid.repeats) as i, ExitStack() as loops:
        index = [loops.enter_context(f.range(0, count)) for count in grid.counts]
        if grid.turned is not None:
            index = [
                f.select(is_turned.ne(0), count - 1 - x, x)
                for is_turned, count, x in zip(grid.turned, grid.counts, index, strict=True)
            ]
        z, y, along = [x * step for x, step in zip(index, grid.steps, strict=True)]
        phases = frame.phases
        place = i * grid.apart + z * frame.pitch[0] + y * frame.pitch[1]
        place = place + f.remainder(along, phases) * frame.pitch[2] + f.divide(along, phases)
        f.store(place * size, f.element(table, I64, number.get()))
        number.set(number.get() + 1)
