"""The tasks of `convolution_winograd_taps`: for a part of the tiles, some images and some outputs,
work item by work item; and the transform of the sums.
"""

from __future__ import annotations

from typing import Final

from weft.compiler.ir.dtypes import DType
from weft.compiler.lower.llvm.emit import memory
from weft.compiler.lower.llvm.emit.arrays import Array, Env
from weft.compiler.lower.llvm.emit.function import Function, V
from weft.compiler.lower.llvm.emit.types import I1, I64, of_dtype
from weft.compiler.lower.llvm.routines.convolution import frame as frames
from weft.compiler.lower.llvm.routines.convolution import window_strips
from weft.compiler.lower.llvm.routines.convolution.frame import ConvolutionFrame, Grid
from weft.compiler.lower.llvm.routines.convolution.geometry import Phase, Runs, band_at, weighted
from weft.compiler.lower.llvm.routines.convolution.records import PerAxis, Record, Word
from weft.compiler.lower.llvm.routines.convolution.strategies import winograd_transforms as winograd
from weft.compiler.lower.llvm.routines.convolution.strategies.filter_sums import (
    FilterSumParts,
    finish,
)
from weft.compiler.lower.llvm.routines.convolution.strategies.winograd_tiles import (
    Transformed,
    transform_input,
    transform_windows,
)
from weft.compiler.lower.llvm.routines.convolution.strategies.winograd_transforms import (
    POINTS,
    SIDE,
    WINDOWS,
)
from weft.compiler.lower.llvm.routines.gemm import packing
from weft.compiler.lower.llvm.routines.gemm.indirect_tiles import multiply_rows
from weft.compiler.lower.llvm.routines.gemm.tiles import ProductTile, Target, below, tile_of

_IMAGE_BLOCK: Final = 16  # images that are transformed at a time


class WinogradFilterPlan(Record):
    """How the gradient of a 3x3 filter is divided by tiles of taps."""

    channel_block = Word()  # channels of a work item
    channel_blocks = Word()
    band = PerAxis()  # of tiles
    bands = PerAxis()
    tiles = Word()  # of a work item
    all_tiles = Word()
    pitch = Word()  # from image to image of transformed tiles
    work_items = Word()
    parts = Word()
    image_block = Word()  # images of a task
    image_blocks = Word()
    out_channel_block = Word()  # output channels of a task
    out_channel_blocks = Word()
    frame_room = Word()  # elements
    part_room = Word()


class WinogradRooms:
    """What a thread works in: how many bytes in all, and at which each part begins."""

    def __init__(self, plan: WinogradFilterPlan, tile: ProductTile) -> None:
        f, taps = plan.f, plan.tiles * (WINDOWS * WINDOWS)
        rooms = {
            "frame": (plan.frame_room + 63) & -64,
            "panel": f.const((_IMAGE_BLOCK * POINTS + 2) * tile.columns, I64),
            "signal": plan.image_block * plan.pitch * POINTS,
            "taps": (taps + 1 + 2 * tile.lanes) * tile.columns,
            "right": plan.tiles * (POINTS * tile.columns),
        }
        tables = {
            "lines_at": plan.image_block * POINTS,
            "panel_at": f.const(_IMAGE_BLOCK * POINTS, I64),
            "taps_at": taps,
            "terms_at": plan.tiles,
            "rows_at": plan.image_block + tile.rows,
        }
        size, bytes = tile.type.itemsize, f.const(0, I64)
        self.places: Final[dict[str, V]] = {}
        for name, room in rooms.items():
            self.places[name], bytes = bytes, bytes + room * size
        for name, room in tables.items():
            self.places[name], bytes = bytes, bytes + room * 8
        self.bytes: Final = bytes


class WinogradFilterTasks:
    """Some tasks on one thread, under emission."""

    def __init__(
        self,
        f: Function,
        env: Env,
        dtype: DType,
        pointers: tuple[V, V, V],
        records: tuple[Phase, WinogradFilterPlan, ConvolutionFrame],
    ) -> None:
        self.f: Final = f
        self.env: Final = env
        self.dtype: Final = dtype
        self.tile: Final = tile_of(of_dtype(dtype), f.module.target)
        self.lhs, self.rhs, self.sums = pointers
        self.numbers, self.plan, given = records
        self.frame: Final = ConvolutionFrame(f)
        self.frame.copy_from(given)
        rooms = WinogradRooms(self.plan, self.tile)
        self.room: Final = env.workspace(f, rooms.bytes)
        self.at: Final = {name: f.offset(self.room, at) for name, at in rooms.places.items()}

    def emit(self, begin: V, end: V) -> None:
        f, plan, numbers = self.f, self.plan, self.numbers
        self._write_tables()
        with f.range(begin, end) as task:
            rest, found = task, []
            for count in (plan.out_channel_blocks, plan.image_blocks, numbers.groups):
                found.append(f.remainder(rest, count))
                rest = f.divide(rest, count)
            low = f.divide(rest * plan.work_items, plan.parts)
            high = f.divide((rest + 1) * plan.work_items, plan.parts)
            with f.range(low, high) as item:
                adds = item - low
                self._work_item(rest, found[2], found[1] * plan.image_block, found[0], item, adds)
        self.env.free(f, self.room)

    def _write_tables(self) -> None:
        f, plan, frame, tile = self.f, self.plan, self.frame, self.tile
        size = tile.type.itemsize
        side, one = f.const(SIDE, I64), f.const(1, I64)
        grid = Grid(plan.image_block, frame.outer_to, [one, side, side], [one, one, one])
        frames.write_distances(frame, grid, self.at["lines_at"], size)
        window_strips.write_table(f, tile, self.at["panel_at"], f.const(_IMAGE_BLOCK * POINTS, I64))
        with f.range(0, plan.tiles) as term:
            f.store(term * size, f.element(self.at["terms_at"], I64, term))
        with f.range(0, plan.image_block + tile.rows) as row:
            inside = f.minimum(row, plan.image_block - 1)
            f.store(inside * plan.pitch * size, f.element(self.at["rows_at"], I64, row))

    def _work_item(self, part: V, group: V, image: V, block: V, item: V, adds: V) -> None:
        f, numbers, plan, tile = self.f, self.numbers, self.plan, self.tile
        limits = [f.const(1, I64)]
        limits += [f.divide(numbers.taps[axis] + 1, WINDOWS) for axis in (1, 2)]
        band, rest = band_at(plan, item, limits)
        channel = rest * plan.channel_block
        channels = f.minimum(numbers.channels - channel, plan.channel_block)
        images = f.minimum(numbers.images - image, plan.image_block)
        lengths = [channels, *band.lengths[1:]]
        count = channels * lengths[1] * lengths[2]
        self._fill(group, (image, images), (channel, channels), band.starts)
        self._transform(lengths, count, images)
        regions = [
            f.minimum(numbers.taps[axis] - band.starts[axis] * WINDOWS, lengths[axis] * WINDOWS)
            for axis in (1, 2)
        ]
        self._write_taps_table(lengths, regions)
        output = block * plan.out_channel_block
        outputs = f.minimum(numbers.out_channels - output, plan.out_channel_block)
        first = group * numbers.out_channels + output
        place = first * numbers.filter_out_channel + channel * numbers.filter_channel
        starts = [start * WINDOWS for start in band.starts]
        starts[0] = f.const(0, I64)
        place = place + weighted(starts, numbers.filter_stride.values())
        filter = f.element(self.rhs, of_dtype(self.dtype), place)
        row = (part * numbers.groups + group) * POINTS * numbers.images + image
        target = f.element(self.sums, tile.type, row * numbers.out_channels + output)
        with f.range(0, outputs, tile.columns) as strip:
            columns = f.minimum(outputs - strip, tile.columns)
            moved = f.element(filter, of_dtype(self.dtype), strip * numbers.filter_out_channel)
            self._pack(moved, columns, channels, regions, count)
            at = f.element(target, tile.type, strip)
            self._multiply(at, (images, columns), count, adds)

    # --- inputs ---

    def _fill(self, group: V, images: tuple[V, V], channels: tuple[V, V], starts: list[V]) -> None:
        f, numbers, frame = self.f, self.numbers, self.frame
        lows = numbers.padding.values()
        origins = [-lows[0]]
        origins += [starts[axis] * WINDOWS - lows[axis] for axis in (1, 2)]
        frame.origin.set(origins)
        frame.outer = images[1]
        frame.inner = channels[1]
        place = (group * numbers.channels + channels[0]) * numbers.input_channel
        place = place + images[0] * numbers.input_image
        input = f.element(self.lhs, of_dtype(self.dtype), place)
        frames.fill(f, self.tile, self.dtype, input, self.at["frame"], frame)

    def _transform(self, lengths: list[V], count: V, images: V) -> None:
        """The tiles of all images: [points, images, tiles]."""
        f, tile, plan, frame = self.f, self.tile, self.plan, self.frame
        steps = [frame.inner_to, frame.pitch[1] * WINDOWS]
        strip = window_strips.Strip(f, tile, self.at["frame"], lengths, steps)
        panel = (self.at["panel"], self.at["panel_at"])
        apart = plan.image_block * plan.pitch
        with f.range(0, count, tile.columns) as first, f.range(0, images, _IMAGE_BLOCK) as image:
            columns = f.minimum(count - first, tile.columns)
            several = f.minimum(images - image, _IMAGE_BLOCK)
            table = f.element(self.at["lines_at"], I64, image * POINTS)
            lines = strip.lines(first, columns, table, several * POINTS, panel)
            at = f.element(self.at["signal"], tile.type, image * plan.pitch + first)
            made = Transformed(at, apart, plan.pitch)
            transform_input(f, tile, lines, columns, made, several)

    # --- taps ---

    def _write_taps_table(self, lengths: list[V], regions: list[V]) -> None:
        """Where the 2x2 taps of each tile are among packed ones: taps that are not there are the
        zeros in front of these.
        """
        f, tile = self.f, self.tile
        high, wide = regions
        number = f.variable(0, I64)
        bytes = tile.columns * tile.type.itemsize
        with (
            f.range(0, lengths[0]) as channel,
            f.range(0, lengths[1]) as row,
            f.range(0, lengths[2]) as column,
        ):
            for part in range(WINDOWS * WINDOWS):
                y, x = row * WINDOWS + part // WINDOWS, column * WINDOWS + part % WINDOWS
                place = (channel * high + y) * wide + x + 1
                line = f.select(y.lt(high) & x.lt(wide), place, 0)
                f.store(line * bytes, f.element(self.at["taps_at"], I64, number.get() + part))
            number.set(number.get() + WINDOWS * WINDOWS)

    def _pack(self, filter: V, columns: V, channels: V, regions: list[V], count: V) -> None:
        """The transformed taps of a strip of outputs: [points, tiles, outputs]."""
        f, numbers, tile = self.f, self.numbers, self.tile
        with f.range(0, tile.columns) as column:
            zero = f.const(0.0, tile.type)
            f.store(zero, f.element(self.at["taps"], tile.type, column))
        runs = Runs(f, numbers, [f.const(1, I64), *regions], channels)
        target = f.variable(tile.columns, I64)
        with runs.each() as further:
            source = Array(
                f.element(filter, of_dtype(self.dtype), further),
                self.dtype,
                (runs.length, columns),
                (numbers.filter_stride[2], numbers.filter_out_channel),
            )
            at = f.element(self.at["taps"], tile.type, target.get())
            packing.pack(f, tile, tile.columns, source, at)
            target.set(target.get() + runs.length * tile.columns)
        pointers = (self.at["taps_at"], self.at["taps"], self.at["right"])
        transform_windows(f, tile, pointers, columns, count)

    def _multiply(self, target: V, shape: tuple[V, V], depth: V, adds: V) -> None:
        """Point by point: images times outputs, over the tiles."""
        f, tile, plan, numbers = self.f, self.tile, self.plan, self.numbers
        images, columns = shape
        outputs = numbers.out_channels
        with f.range(0, POINTS) as point:
            left = f.element(self.at["signal"], tile.type, point * plan.image_block * plan.pitch)
            right = f.element(self.at["right"], tile.type, point * depth * tile.columns)
            start = point * numbers.images * outputs
            with f.range(0, images, tile.rows) as row:
                here = Target(
                    f.element(target, tile.type, start + row * outputs),
                    outputs,
                    f.minimum(images - row, tile.rows),
                    columns,
                    adds,
                )
                tables = (self.at["terms_at"], f.element(self.at["rows_at"], I64, row))
                multiply_rows(f, tile, (left, *tables), right, here, depth)


def finish_image(
    f: Function,
    dtype: DType,
    pointers: tuple[V, V, V, V],
    records: tuple[Phase, WinogradFilterPlan],
    number: V,
) -> None:
    """One image and one group: the sums of all parts, transformed, in their place."""
    sums, result, flag, room = pointers
    numbers, plan = records
    tile = tile_of(of_dtype(dtype), f.module.target)
    outputs = numbers.out_channels
    image, group = f.remainder(number, numbers.images), f.divide(number, numbers.images)
    apart = numbers.images * outputs
    start = group * POINTS * apart + image * outputs
    held = f.stack(tile.vector, POINTS, align=64)
    with f.range(0, outputs, tile.lanes) as first:
        mask = below(f, outputs - first, tile.lanes)
        with f.range(0, POINTS) as point:
            total = _sum(f, dtype, sums, plan, start + apart * point + first, mask)
            f.store(total, f.element(held, tile.type, point * tile.lanes))
        m = [
            [
                f.load(f.element(held, tile.type, (row * SIDE + column) * tile.lanes), tile.vector)
                for column in range(SIDE)
            ]
            for row in range(SIDE)
        ]
        wrong = f.const(0.0, tile.vector)
        made = [value for line in winograd.gradient(m) for value in line]
        for window, value in enumerate(made):
            wrong = f.fma(value, 0.0, wrong)
            f.store(value, f.element(room, tile.type, (outputs + tile.lanes) * window + first))
        with f.when(f.intrinsic("vector.reduce.or", f.is_nan(wrong), result=I1)):
            f.store(f.const(1, I64), flag)
    place = image * numbers.result_image + group * outputs * numbers.result_channel
    one, none = f.const(1, I64), f.const(0, I64)
    parts = FilterSumParts(room, one, none, outputs + tile.lanes, outputs)
    finish(f, dtype, parts, f.element(result, of_dtype(dtype), place), numbers)


def _sum(f: Function, dtype: DType, sums: V, plan: WinogradFilterPlan, place: V, mask: V) -> V:
    """A vector of sums over all parts, in order."""
    tile = tile_of(of_dtype(dtype), f.module.target)
    at = f.element(sums, tile.type, place)
    total = f.variable(memory.load_lanes(f, at, tile.vector, mask))
    with f.range(1, plan.parts) as part:
        further = f.element(at, tile.type, part * plan.part_room)
        total.set(total.get() + memory.load_lanes(f, further, tile.vector, mask))
    return total.get()
