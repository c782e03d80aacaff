"""The transforms of `winograd` in memory: strips of tiles, filters of a matrix tile,
and sums at their places in the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from weft.compiler.lower.llvm.emit import memory
from weft.compiler.lower.llvm.emit.function import Function, V, Variable
from weft.compiler.lower.llvm.emit.types import I1, I64, PTR, VOID, Type
from weft.compiler.lower.llvm.routines.common import rows
from weft.compiler.lower.llvm.routines.convolution.geometry import Phase, weighted
from weft.compiler.lower.llvm.routines.convolution.strategies import winograd_transforms as winograd
from weft.compiler.lower.llvm.routines.convolution.strategies.winograd_transforms import (
    POINTS,
    SIDE,
    TAPS,
    WINDOWS,
)
from weft.compiler.lower.llvm.routines.convolution.tasks import WindowPlan, WorkItem
from weft.compiler.lower.llvm.routines.gemm.indirect_tiles import Scattered
from weft.compiler.lower.llvm.routines.gemm.tiles import ProductTile, below
from weft.compiler.record import record

_ATTRIBUTES: Final = "noinline nounwind"
_PARTS: Final = (2, 4)  # of a vector, that rows of tiles often are


# --- inputs ------------------------------------------------------------------------------------


@record
class Transformed:
    """Where transformed tiles go: the first, and how far apart points and channels are."""

    pointer: V
    points_apart: V
    channels_apart: V


def transform_input(
    f: Function, tile: ProductTile, lines: Scattered, count: V, target: Transformed, channels: V
) -> None:
    """Lines of `count` tiles, 16 for each channel, transformed."""
    numbers = [target.points_apart, target.channels_apart, channels]
    given = [lines.table, *lines.vectors, target.pointer, *numbers]
    with f.otherwise(count.le(tile.lanes)) as narrow:
        f.call(_input_function(f, tile, 1), VOID, given)
        narrow.otherwise()
        f.call(_input_function(f, tile, 2), VOID, given)


def _input_function(f: Function, tile: ProductTile, width: int) -> str:
    parameters = [(x, PTR) for x in ("table", "first", "second", "target")]
    parameters += [(x, I64) for x in ("apart", "pitch", "channels")]

    def build(g: Function) -> None:
        table, *vectors, target, apart, pitch, channels = g.arguments
        with g.range(0, channels) as channel, g.range(0, width) as part:
            start = g.select(part.eq(0), vectors[0], vectors[1])
            entries = g.element(table, I64, channel * POINTS)
            d = [
                [
                    g.load(g.offset(start, _entry(g, entries, row * SIDE + column)), tile.vector)
                    for column in range(SIDE)
                ]
                for row in range(SIDE)
            ]
            at = g.element(target, tile.type, channel * pitch + part * tile.lanes)
            for number, value in enumerate(_flat(winograd.input(d))):
                g.store(value, g.element(at, tile.type, apart * number))
        g.ret()

    name = f"conv.winograd.signal.{tile.type.text}.{width}"
    return rows.shared(f.module, name, VOID, parameters, build, _ATTRIBUTES)


def _entry(f: Function, table: V, number: int) -> V:
    return f.load(f.element(table, I64, number), I64)


def _flat(square: Sequence[Sequence[V]]) -> list[V]:
    return [value for row in square for value in row]


# --- filters ------------------------------------------------------------------------------------


def transform_filter(f: Function, tile: ProductTile, packed: V, target: V, numbers: Phase) -> None:
    """The packed filters of a matrix tile, [channels, taps, outputs], transformed: [points,
    channels, outputs].
    """
    parameters = [(x, PTR) for x in ("packed", "target")]
    parameters += [(x, I64) for x in ("channels", "turned1", "turned2")]

    def build(g: Function) -> None:
        source, to, channels, *turned = g.arguments
        places = [
            [
                g.select(turned[0].ne(0), g.const(TAPS - 1 - y, I64), y) * TAPS
                + g.select(turned[1].ne(0), g.const(TAPS - 1 - x, I64), x)
                for x in range(TAPS)
            ]
            for y in range(TAPS)
        ]
        with g.range(0, channels) as channel:
            for first in range(0, tile.rows, tile.lanes):
                _transform_kernel(g, tile, (source, to), places, channel, channels, first)
        g.ret()

    name = f"conv.winograd.kernel.{tile.type.text}"
    rows.shared(f.module, name, VOID, parameters, build, _ATTRIBUTES)
    given = [packed, target, numbers.channels, numbers.is_reversed[1], numbers.is_reversed[2]]
    f.call(name, VOID, given)


def _transform_kernel(
    f: Function,
    tile: ProductTile,
    pointers: tuple[V, V],
    places: Sequence[Sequence[V]],
    channel: V,
    channels: V,
    first: int,
) -> None:
    """A vector of outputs of one channel."""
    start = channel * (TAPS * TAPS)

    def taps(place: V) -> V:
        at = f.element(pointers[0], tile.type, (start + place) * tile.rows + first)
        return f.load(at, tile.vector)

    g = [[taps(place) for place in row] for row in places]
    inside = min(tile.rows - first, tile.lanes)
    mask = f.lanes_const([int(lane < inside) for lane in range(tile.lanes)], I1)
    for number, value in enumerate(_flat(winograd.kernel(g))):
        place = (channels * number + channel) * tile.rows + first
        address = memory.Address(place, 1)
        memory.store(f, pointers[1], value, address, tile.lanes, mask)


# --- windows ------------------------------------------------------------------------------------


def transform_windows(
    f: Function, tile: ProductTile, pointers: tuple[V, V, V], columns: V, count: V
) -> None:
    """2x2 windows of `count` tiles, transformed: [points, tiles, outputs]. The pointers are those
    of a table with four distances in bytes for each tile, of lines of outputs, and of the target;
    so many outputs of a line are there.
    """
    with f.otherwise(columns.le(tile.lanes)) as narrow:
        f.call(_windows_function(f, tile, 1), VOID, [*pointers, count])
        narrow.otherwise()
        f.call(_windows_function(f, tile, 2), VOID, [*pointers, count])


def _windows_function(f: Function, tile: ProductTile, width: int) -> str:
    parameters = [*[(x, PTR) for x in ("table", "lines", "target")], ("count", I64)]

    def build(g: Function) -> None:
        table, lines, target, count = g.arguments
        with g.range(0, count) as number, g.range(0, width) as part:
            entries = g.element(table, I64, number * (WINDOWS * WINDOWS))
            start = g.element(lines, tile.type, part * tile.lanes)
            y = [
                [
                    g.load(g.offset(start, _entry(g, entries, row * WINDOWS + column)), tile.vector)
                    for column in range(WINDOWS)
                ]
                for row in range(WINDOWS)
            ]
            at = g.element(target, tile.type, number * tile.columns + part * tile.lanes)
            for point, value in enumerate(_flat(winograd.windows(y))):
                g.store(value, g.element(at, tile.type, count * (point * tile.columns)))
        g.ret()

    name = f"conv.winograd.windows.{tile.type.text}.{width}"
    return rows.shared(f.module, name, VOID, parameters, build, _ATTRIBUTES)


# --- sums ---------------------------------------------------------------------------------------


@record
class _Strip:
    """A strip of tiles: its first tile, how many there are, and the numbers of its outputs."""

    first: V
    count: V
    out_channels: V
    output_step: V
    plane_step: V
    row_step: V
    height: V  # windows from the first one of the work item to the end of the result
    width: V
    tiles_high: V
    tiles_wide: V


@record
class Outputs:
    """Where the windows of an item's tiles go; a flag tells that there were infinities or NaN."""

    result: V
    flag: V
    output_step: V
    numbers: list[V]  # the rest of `_Strip`


def outputs_of(
    numbers: Phase, plan: WindowPlan, item: WorkItem, result: V, flag: V, type: Type
) -> Outputs:
    """The outputs of a work item in a result of elements of a type."""
    f = numbers.f
    steps = numbers.result_stride.values()
    starts = [item.starts[0], item.starts[1] * WINDOWS, item.starts[2] * WINDOWS]
    output = item.group * numbers.out_channels + item.output
    place = item.image * numbers.result_image + output * numbers.result_channel
    first = f.element(result, type, place + weighted(starts, steps))
    plane = f.select(plan.image_block.gt(1), numbers.result_image, steps[0])
    left = [numbers.out_positions[1] - starts[1], numbers.out_positions[2] - starts[2]]
    rest = [plane, steps[1], *left, *item.lengths[1:]]
    return Outputs(first, flag, numbers.result_channel, rest)


def transform_sums(
    f: Function,
    tile: ProductTile,
    sums: V,
    outputs: Outputs,
    strip: tuple[V, V],
    block: tuple[V, V],
) -> None:
    """The sums of a strip of tiles, [points, outputs, tiles], at their places: for a block of
    outputs, which are given like tiles by the first and by how many there are.
    """
    name = f"conv.winograd.sums.{tile.type.text}"
    parameters = [(x, PTR) for x in ("sums", "result", "flag")]
    parameters += [(x, I64) for x in _Strip.__match_args__]

    def build(g: Function) -> None:
        _Sums(g, tile).emit()
        g.ret()

    rows.shared(f.module, name, VOID, parameters, build, _ATTRIBUTES)
    at = f.element(outputs.result, tile.type, block[0] * outputs.output_step)
    numbers = [*strip, block[1], outputs.output_step, *outputs.numbers]
    f.call(name, VOID, [sums, at, outputs.flag, *numbers])


class _Sums:
    """A strip under emission."""

    def __init__(self, f: Function, tile: ProductTile) -> None:
        self.f: Final = f
        self.tile: Final = tile
        self.sums, self.result, self.flag = f.arguments[:3]
        self.given: Final = _Strip(*f.arguments[3:])
        # The windows of a vector of tiles: for each output, two rows.
        self.row: Final = WINDOWS * tile.lanes
        self.room: Final = f.stack(tile.type, tile.rows * WINDOWS * self.row, align=64)

    def emit(self) -> None:
        f, given, lanes = self.f, self.given, self.tile.lanes
        with f.range(0, given.count, lanes) as part:
            count = f.minimum(given.count - part, lanes)
            column, row, place = self._place(given.first + part)
            columns = given.width - column * WINDOWS
            is_full = count.eq(lanes) & (column + lanes).le(given.tiles_wide)
            is_full = is_full & columns.ge(self.row)
            has_second = (row * WINDOWS + 1).lt(given.height)
            bad = f.variable(f.const(0.0, self.tile.vector))
            with f.otherwise(is_full) as choice:
                self._in_place(part, place, has_second, bad)
                choice.otherwise()
                parts = [x for x in _PARTS if x <= lanes]
                self._in_runs(part, count, column.eq(0), bad, parts)
            wrong = f.is_nan(bad.get()) & below(f, count, lanes)
            with f.when(f.intrinsic("vector.reduce.or", wrong, result=I1)):
                f.store(f.const(1, I64), self.flag)

    def _place(self, tile: V) -> tuple[V, V, V]:
        """The column and row of a tile, and where its first window goes."""
        f, given = self.f, self.given
        line, column = f.divide(tile, given.tiles_wide), f.remainder(tile, given.tiles_wide)
        plane, row = f.divide(line, given.tiles_high), f.remainder(line, given.tiles_high)
        place = plane * given.plane_step + row * WINDOWS * given.row_step
        return column, row, place + column * WINDOWS

    def _rows(self, output: V, part: V, bad: Variable) -> list[list[V]]:
        """Two rows of windows of a vector of tiles, each as two vectors."""
        f, tile = self.f, self.tile
        start = f.element(self.sums, tile.type, output * tile.columns + part)
        m = [
            [
                f.load(
                    f.element(start, tile.type, (row * SIDE + column) * tile.rows * tile.columns),
                    tile.vector,
                )
                for column in range(SIDE)
            ]
            for row in range(SIDE)
        ]
        made = winograd.sums(m)
        for value in _flat(made):
            bad.set(f.fma(value, 0.0, bad.get()))
        lanes = tile.lanes
        order = [lane // 2 + lanes * (lane % 2) for lane in range(2 * lanes)]
        return [
            [f.shuffle(even, odd, order[:lanes]), f.shuffle(even, odd, order[lanes:])]
            for even, odd in made
        ]

    def _in_place(self, part: V, place: V, has_second: V, bad: Variable) -> None:
        """Tiles beside each other, all of whose columns are there."""
        f, tile, given = self.f, self.tile, self.given
        with f.range(0, given.out_channels) as output:
            first, second = self._rows(output, part, bad)
            at = f.element(self.result, tile.type, output * given.output_step + place)
            self._put(first, at)
            with f.when(has_second):
                self._put(second, f.element(at, tile.type, given.row_step))

    def _in_runs(self, part: V, count: V, at_start: V, bad: Variable, parts: Sequence[int]) -> None:
        """Rows of tiles that are a part of a vector, all of whose windows are there, or any."""
        f, given = self.f, self.given
        if not parts:
            self._apart(part, bad)
            self._copy(given.first + part, count)
            return
        wide = self.tile.lanes // parts[0]
        fits = given.tiles_wide.eq(wide) & count.eq(self.tile.lanes) & at_start
        fits = fits & given.width.ge(wide * WINDOWS)
        fits = fits & given.height.ge(given.tiles_high * WINDOWS)
        with f.otherwise(fits) as choice:
            self._whole_runs(part, wide, bad)
            choice.otherwise()
            self._in_runs(part, count, at_start, bad, parts[1:])

    def _whole_runs(self, part: V, wide: int, bad: Variable) -> None:
        f, tile, given, lanes = self.f, self.tile, self.given, self.tile.lanes
        starts = range(0, lanes, wide)
        places = [self._place(given.first + part + start)[2] for start in starts]
        with f.range(0, given.out_channels) as output:
            at = f.element(self.result, tile.type, output * given.output_step)
            for number, row in enumerate(self._rows(output, part, bad)):
                line = f.element(at, tile.type, given.row_step * number)
                for start, place in zip(starts, places, strict=True):
                    first = start * WINDOWS
                    picked = range(first % lanes, first % lanes + wide * WINDOWS)
                    held = row[first // lanes]
                    f.store(f.shuffle(held, held, picked), f.element(line, tile.type, place))

    def _put(self, row: Sequence[V], at: V) -> None:
        for number, value in enumerate(row):
            self.f.store(value, self.f.element(at, self.tile.type, number * self.tile.lanes))

    def _apart(self, part: V, bad: Variable) -> None:
        """All outputs into the room, from where runs of tiles are copied."""
        f, tile = self.f, self.tile
        with f.range(0, self.given.out_channels) as output:
            for number, row in enumerate(self._rows(output, part, bad)):
                place = (output * WINDOWS + number) * self.row
                self._put(row, f.element(self.room, tile.type, place))

    def _copy(self, first: V, count: V) -> None:
        f, given = self.f, self.given
        lane = f.variable(0, I64)
        with f.loop_while() as loop:
            at = lane.get()
            loop.stop_unless(at.lt(count))
            column, row, place = self._place(first + at)
            length = f.minimum(given.tiles_wide - column, count - at)
            columns = f.minimum(length * WINDOWS, given.width - column * WINDOWS)
            lines = f.minimum(given.height - row * WINDOWS, WINDOWS)
            with f.range(0, given.out_channels) as output, f.range(0, lines) as line:
                source = (output * WINDOWS + line) * self.row + at * WINDOWS
                target = output * given.output_step + place + line * given.row_step
                self._copy_row(source, target, columns)
            lane.set(at + length)

    def _copy_row(self, source: V, target: V, columns: V) -> None:
        f, tile = self.f, self.tile
        with f.range(0, columns, tile.lanes) as x:
            mask = below(f, columns - x, tile.lanes)
            at = f.element(self.room, tile.type, source + x)
            value = memory.load_lanes(f, at, tile.vector, mask)
            memory.store(f, self.result, value, memory.Address(target + x, 1), tile.lanes, mask)
