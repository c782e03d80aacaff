"""The tasks of a convolution by taps (`filter`): for a part of the terms, some images and
some outputs, work item by work item.
"""

from __future__ import annotations

from typing import Final

from weft.compiler.ir.dtypes import DType
from weft.compiler.lower.llvm.emit.arrays import Array, Env
from weft.compiler.lower.llvm.emit.function import Function, V
from weft.compiler.lower.llvm.emit.types import I64, of_dtype
from weft.compiler.lower.llvm.routines.common.elements import working
from weft.compiler.lower.llvm.routines.convolution import frame as frames
from weft.compiler.lower.llvm.routines.convolution.frame import ConvolutionFrame, Grid
from weft.compiler.lower.llvm.routines.convolution.geometry import (
    Operands,
    Phase,
    Runs,
    band_at,
    product,
    weighted,
)
from weft.compiler.lower.llvm.routines.convolution.records import PerAxis, Record, Word
from weft.compiler.lower.llvm.routines.convolution.strategies.depthwise_dots import (
    PADDING,
    Dots,
    multiply_dots,
)
from weft.compiler.lower.llvm.routines.convolution.strategies.filter_sums import (
    FilterSumParts,
    finish,
)
from weft.compiler.lower.llvm.routines.gemm import packing
from weft.compiler.lower.llvm.routines.gemm.indirect_tiles import multiply_rows
from weft.compiler.lower.llvm.routines.gemm.tiles import ProductTile, Target, tile_of
from weft.compiler.record import record


class FilterPlan(Record):
    """How a convolution is divided by taps."""

    out_positions = Word()
    channel_block = Word()  # channels of a work item
    channel_blocks = Word()
    band = PerAxis()  # of taps
    bands = PerAxis()
    work_items = Word()
    parts = Word()
    image_block = Word()  # images of a task
    image_blocks = Word()
    out_channel_block = Word()  # output channels of a task
    out_channel_blocks = Word()
    is_narrow = Word()  # whether taps and not output channels are in lanes
    line = Word()  # elements of a row of taps, if so
    frame_room = Word()  # elements
    right_room = Word()
    part_room = Word()
    own_room = Word()  # of the sums of a task, if there is one part only


@record
class _Block:
    """What a task computes: the sums of a part of the terms for a group, some images (the first,
    and how many) and some outputs.
    """

    part: V
    group: V
    image: V
    images: V
    output: V
    outputs: V


@record
class _Sums:
    """Where the sums of a task go: windows `spacing` elements apart; added to if `adds`."""

    pointer: V
    spacing: V
    adds: V


class FilterRooms:
    """What a thread works in: elements of a frame, of packed filters and of its own sums, and
    entries of tables of terms and of rows.
    """

    def __init__(self, plan: FilterPlan, tile: ProductTile) -> None:
        self.frame: Final = (plan.frame_room + 63) & -64
        self.right: Final = (plan.right_room + 63) & -64
        self.own: Final = (plan.own_room + 63) & -64
        self.terms: Final = plan.channel_block * product(plan.band.values())
        self.padding: Final = max(tile.rows, PADDING)
        count = self.terms + plan.image_block * plan.out_positions + self.padding
        self.tables_at: Final = (self.frame + self.right + self.own) * tile.type.itemsize
        self.bytes: Final = self.tables_at + count * 8


class FilterTasks:
    """Some tasks on one thread, under emission."""

    def __init__(
        self,
        f: Function,
        env: Env,
        dtype: DType,
        operands: Operands,
        sums: V,
        records: tuple[Phase, FilterPlan, ConvolutionFrame],
    ) -> None:
        self.f: Final = f
        self.env: Final = env
        self.dtype: Final = dtype
        self.tile: Final = tile_of(of_dtype(working(dtype)), f.module.target)
        self.operands: Final = operands
        self.sums: Final = sums
        self.numbers, self.plan, given = records
        self.frame: Final = ConvolutionFrame(f)
        self.frame.copy_from(given)
        rooms = FilterRooms(self.plan, self.tile)
        self.padding: Final = rooms.padding
        self.room: Final = env.workspace(f, rooms.bytes)
        self.right: Final = f.element(self.room, self.tile.type, rooms.frame)
        self.own: Final = f.element(self.right, self.tile.type, rooms.right)
        self.terms_at: Final = f.offset(self.room, rooms.tables_at)
        self.rows_at: Final = f.element(self.terms_at, I64, rooms.terms)

    def emit(self, begin: V, end: V) -> None:
        f, plan, numbers = self.f, self.plan, self.numbers
        self._write_tables()
        with f.range(begin, end) as task:
            rest, found = task, []
            for count in (plan.out_channel_blocks, plan.image_blocks, numbers.groups):
                found.append(f.remainder(rest, count))
                rest = f.divide(rest, count)
            output, image = found[0] * plan.out_channel_block, found[1] * plan.image_block
            images = f.minimum(numbers.images - image, plan.image_block)
            outputs = f.minimum(numbers.out_channels - output, plan.out_channel_block)
            self.frame.outer = images
            block = _Block(rest, found[2], image, images, output, outputs)
            low = f.divide(rest * plan.work_items, plan.parts)
            high = f.divide((rest + 1) * plan.work_items, plan.parts)
            with f.range(low, high) as item:
                self._work_item(block, item, item - low)
            with f.when(plan.parts.eq(1)):
                self._finish(block)
        self.env.free(f, self.room)

    def _write_tables(self) -> None:
        f, plan, numbers, frame = self.f, self.plan, self.numbers, self.frame
        size = self.tile.type.itemsize
        counts = plan.band.values()
        # Where taps are in lanes, the table has an entry for each row of them.
        counts[2] = f.select(plan.is_narrow.ne(0), 1, counts[2])
        axes = [counts, numbers.dilation.values(), numbers.is_reversed.values()]
        terms = Grid(plan.channel_block, frame.inner_to, *axes)
        frames.write_distances(frame, terms, self.terms_at, size)
        axes = [numbers.out_positions.values(), numbers.stride.values()]
        windows = Grid(plan.image_block, frame.outer_to, *axes)
        frames.write_distances(frame, windows, self.rows_at, size)
        last = plan.image_block * plan.out_positions
        with f.range(last, last + self.padding) as row:
            f.store(f.const(0, I64), f.element(self.rows_at, I64, row))

    def _finish(self, block: _Block) -> None:
        """The sums of the only part."""
        f, plan, numbers = self.f, self.plan, self.numbers
        one, nothing = f.const(1, I64), f.const(0, I64)
        with f.range(0, block.images) as image:
            output = block.group * numbers.out_channels + block.output
            place = (block.image + image) * numbers.result_image
            place = place + output * numbers.result_channel
            result = f.element(self.operands.result, of_dtype(self.dtype), place)
            first = image * plan.out_positions * block.outputs
            source = f.element(self.own, self.tile.type, first)
            parts = FilterSumParts(source, one, nothing, block.outputs, block.outputs)
            finish(f, self.dtype, parts, result, numbers)

    # --- work items ---

    def _work_item(self, block: _Block, item: V, adds: V) -> None:
        f, numbers, plan = self.f, self.numbers, self.plan
        band, rest = band_at(plan, item, numbers.taps.values())
        starts, lengths = band.starts, band.lengths
        channel = rest * plan.channel_block
        channels = f.minimum(numbers.channels - channel, plan.channel_block)
        self._fill(block, channel, channels, starts)
        output = block.group * numbers.out_channels + block.output
        first = output * numbers.filter_out_channel + channel * numbers.filter_channel
        first = first + weighted(starts, numbers.filter_stride.values())
        filter = f.element(self.operands.rhs, of_dtype(self.dtype), first)
        sums = self._sums(block, adds)
        with f.otherwise(plan.is_narrow.ne(0)) as narrow:
            self._multiply_dots(block, filter, channels, lengths, sums)
            narrow.otherwise()
            # A strip is multiplied as soon as it is packed, so that it comes from the cache.
            with f.range(0, block.outputs, self.tile.columns) as strip:
                columns = f.minimum(block.outputs - strip, self.tile.columns)
                self._pack(filter, (strip, columns), channels, lengths)
                self._multiply(block, (strip, columns), channels * product(lengths), sums)

    def _sums(self, block: _Block, adds: V) -> _Sums:
        f, numbers, plan = self.f, self.numbers, self.plan
        row = (block.group * numbers.images + block.image) * plan.out_positions
        place = block.part * plan.part_room + row * numbers.out_channels + block.output
        is_single = plan.parts.eq(1)
        target = f.select(is_single, self.own, f.element(self.sums, self.tile.type, place))
        return _Sums(target, f.select(is_single, block.outputs, numbers.out_channels), adds)

    def _fill(self, block: _Block, channel: V, channels: V, starts: list[V]) -> None:
        f, numbers, frame = self.f, self.numbers, self.frame
        origins = []
        for axis, start in enumerate(starts):
            taps, dilation = numbers.taps[axis], numbers.dilation[axis]
            low, is_turned = numbers.padding[axis], numbers.is_reversed[axis]
            other = taps - start - self.plan.band[axis]
            first = f.select(is_turned.ne(0), other, start)
            origins.append(first * dilation - low)
        frame.origin.set(origins)
        frame.inner = channels
        place = (block.group * numbers.channels + channel) * numbers.input_channel
        place = place + block.image * numbers.input_image
        input = f.element(self.operands.lhs, of_dtype(self.dtype), place)
        frames.fill(f, self.tile, self.dtype, input, self.room, frame)

    def _pack(self, filter: V, strip: tuple[V, V], channels: V, lengths: list[V]) -> None:
        """Filters of a work item for a strip of outputs, which is given by the first and by how
        many there are; taps that follow each other are packed at once.
        """
        f, numbers, tile = self.f, self.numbers, self.tile
        runs = Runs(f, numbers, lengths, channels)
        target = f.variable(0, I64)
        with runs.each() as further:
            start = strip[0] * numbers.filter_out_channel + further
            source = Array(
                f.element(filter, of_dtype(self.dtype), start),
                self.dtype,
                (runs.length, strip[1]),
                (numbers.filter_stride[2], numbers.filter_out_channel),
            )
            at = f.element(self.right, tile.type, target.get())
            packing.pack(f, tile, tile.columns, source, at)
            target.set(target.get() + runs.length * tile.columns)

    def _multiply(self, block: _Block, strip: tuple[V, V], depth: V, sums: _Sums) -> None:
        f, tile = self.f, self.tile
        count = block.images * self.plan.out_positions
        with f.range(0, count, tile.rows) as row:
            here = Target(
                f.element(sums.pointer, tile.type, row * sums.spacing + strip[0]),
                sums.spacing,
                f.minimum(count - row, tile.rows),
                strip[1],
                sums.adds,
            )
            left = (self.room, self.terms_at, f.element(self.rows_at, I64, row))
            multiply_rows(f, tile, left, self.right, here, depth)

    def _multiply_dots(
        self, block: _Block, filter: V, channels: V, lengths: list[V], sums: _Sums
    ) -> None:
        """Few outputs, one after the other, with rows of taps in lanes."""
        f, plan, tile = self.f, self.plan, self.tile
        taps = self._frame_of_taps(block, channels, lengths)
        frames.fill(f, tile, self.dtype, filter, self.right, taps)
        lines, count = channels * lengths[0] * lengths[1], block.images * plan.out_positions
        with f.range(0, block.outputs) as output:
            right = f.element(self.right, tile.type, output * lines * plan.line)
            rest = (right, lines, lengths[2], plan.line)
            dots = Dots(self.room, self.terms_at, self.rows_at, *rest)
            at = f.element(sums.pointer, tile.type, output)
            multiply_dots(f, tile, dots, (at, sums.spacing, count, sums.adds))

    def _frame_of_taps(self, block: _Block, channels: V, lengths: list[V]) -> ConvolutionFrame:
        """Rows of taps, with zeros behind them."""
        f, numbers, plan = self.f, self.numbers, self.plan
        taps = ConvolutionFrame(f)
        wide = (lengths[0], lengths[1], plan.line)
        frames.shape(taps, wide, f.const(1, I64))
        taps.outer = block.outputs
        taps.outer_from = numbers.filter_out_channel
        taps.outer_to = channels * frames.plane(taps)
        taps.inner = channels
        taps.inner_from = numbers.filter_channel
        taps.inner_to = frames.plane(taps)
        taps.origin.set((0, 0, 0))
        taps.end.set(lengths)
        taps.source.set(numbers.filter_stride.values())
        return taps
