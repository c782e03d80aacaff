"""The division of a convolution by windows into work items, which threads share.

A work item is a band of windows of an image, or of some small images, and a block of outputs. Its
part of the input is copied into a frame, some channels at a time.
"""

from __future__ import annotations

from typing import Final

from weft.compiler.ir.dtypes import DType
from weft.compiler.lower.llvm.emit.arrays import Env
from weft.compiler.lower.llvm.emit.function import Function, Operand, V
from weft.compiler.lower.llvm.emit.types import I64, of_dtype
from weft.compiler.lower.llvm.routines.common.elements import working
from weft.compiler.lower.llvm.routines.convolution import frame as frames
from weft.compiler.lower.llvm.routines.convolution.frame import ConvolutionFrame
from weft.compiler.lower.llvm.routines.convolution.geometry import (
    Phase,
    band_at,
    follower_of,
    product,
    tasks_wanted,
    up,
    weighted,
)
from weft.compiler.lower.llvm.routines.convolution.records import PerAxis, Record, Word
from weft.compiler.lower.llvm.routines.gemm.tiles import tile_of
from weft.compiler.ops.convolution_planes import LIMITS
from weft.compiler.record import record

_DEEP: Final = 128  # terms for which copying a result is a small part of the work
_HEAVY: Final = 1 << 18  # bytes of filters that are not read for a few windows only
_JOINED: Final = 256  # windows that are enough for them
_TASKS: Final = 4  # work items for each thread, if there is enough to do
ITEM_STEPS: Final = 1 << 18  # multiplications that a work item has at least


class WindowPlan(Record):
    """How a convolution is divided by windows."""

    terms = Word()
    taps = Word()
    channels = Word()  # of a slice
    slice = Word()  # its terms
    image_block = Word()  # images of a work item
    image_blocks = Word()
    tiles = Word()  # of the output channels of a group
    tile_room = Word()  # elements of the filter of a tile
    channel_blocks = Word()  # into which these tiles are divided
    channel_block = Word()  # output channels of a block
    band = PerAxis()
    bands = PerAxis()
    work_items = Word()  # without regard to output channels
    steps = Word()  # multiplications of a work item
    frame_room = Word()  # elements
    panel_room = Word()
    is_in_rows = Word()  # whether a strip never goes on from a row to the next one
    is_apart = Word()  # whether windows lie apart in the result, or have another dtype
    result_room = Word()  # elements, if so
    is_whole = Word()  # whether a work item has whole planes
    is_followed = Word()  # whether someone goes on with what a work item has made


class Division:
    """A convolution that is divided, under emission. `numbers` are those of its windows."""

    def __init__(self, f: Function, env: Env, dtype: DType, numbers: Phase) -> None:
        self.f: Final = f
        self.dtype: Final = dtype
        self.tile: Final = tile_of(of_dtype(working(dtype)), f.module.target)
        self.numbers: Final = numbers
        self.plan: Final = WindowPlan(f)
        self.frame: Final = ConvolutionFrame(f)
        self.wanted: Final = tasks_wanted(f, env.run, _TASKS)

    def divide(self, most: int | None) -> None:
        """Fill the plan and the frame; a slice has at most so many terms (None: all of them)."""
        self._count(most)
        self._divide_windows()
        self._join_images()
        self._divide_outputs()
        self._describe_frame()
        self._see_who_follows()

    def _count(self, most: int | None) -> None:
        f, plan, numbers = self.f, self.plan, self.numbers
        taps, channels = product(numbers.taps.values()), numbers.channels
        plan.taps = taps
        plan.terms = channels * taps
        plan.channels = channels
        if most is not None:
            fitting = f.maximum(f.divide(f.const(most, I64), taps), 1)
            plan.channels = up(f, channels, up(f, channels, fitting))
        plan.slice = plan.channels * taps
        plan.tiles = up(f, numbers.out_channels, self.tile.rows)
        # Lines are packed in squares, the last of which reaches further.
        plan.tile_room = (plan.terms + 2 * self.tile.lanes) * self.tile.rows
        counts, steps = numbers.out_positions.values(), numbers.result_stride.values()
        follow = steps[2].eq(1) & steps[1].eq(counts[2]) & steps[0].eq(counts[1] * counts[2])
        is_other = f.const(self.dtype is not working(self.dtype), follow.type)
        plan.is_apart = (~follow | is_other).to(I64)

    def _shape_frame(self) -> None:
        """The frame of a band."""
        plan, numbers = self.plan, self.numbers
        reach = [
            (band - 1) * stride + (taps - 1) * dilation + 1
            for band, stride, taps, dilation in zip(
                *[plan.band.values(), numbers.stride.values()],
                *[numbers.taps.values(), numbers.dilation.values()],
                strict=True,
            )
        ]
        frames.shape(self.frame, (reach[0], reach[1], reach[2]), numbers.stride[2])

    def _divide_windows(self) -> None:
        """Bands are halved, along the first axis that allows it, until their frame fits into the
        cache and all threads have something to do. So the windows of a band lie in one piece.
        """
        f, plan, numbers, tile = self.f, self.plan, self.numbers, self.tile
        counts = numbers.out_positions.values()
        plan.band.set(counts)
        each = plan.terms * numbers.out_channels
        with f.loop_while() as loop:
            self._shape_frame()
            bands = plan.band.values()
            plan.bands.set([up(f, count, band) for count, band in zip(counts, bands, strict=True)])
            items = product([numbers.images, numbers.groups, *plan.bands.values()])
            windows = product(bands)
            room = plan.channels * frames.plane(self.frame)
            room = room + plan.is_apart * windows * numbers.out_channels
            is_large = room.gt(LIMITS.frame_bytes // tile.type.itemsize)
            is_idle = items.lt(self.wanted) & (windows * each).gt(2 * ITEM_STEPS)
            loop.stop_unless((is_large | is_idle) & windows.ge(2 * tile.columns))
            self._halve(bands)

    def _halve(self, bands: list[V]) -> None:
        f, plan, step = self.f, self.plan, self.tile.columns
        with f.otherwise(bands[0].gt(1)) as planes:
            plan.band[0] = up(f, bands[0], 2)
            planes.otherwise()
            with f.otherwise(bands[1].gt(1)) as lines:
                plan.band[1] = up(f, bands[1], 2)
                lines.otherwise()
                plan.band[2] = up(f, bands[2], 2 * step) * step

    def _join_images(self) -> None:
        """Several small images in a work item, so that few lanes are wasted at the end of each, and
        large filters are read less often. Images then take the place of planes.
        """
        f, plan, numbers, tile = self.f, self.plan, self.numbers, self.tile
        plan.image_block = 1
        windows, images = product(plan.band.values()), numbers.images
        is_whole = product(plan.bands.values()).eq(1) & numbers.out_positions[0].eq(1)
        room = plan.channels * frames.plane(self.frame)
        is_heavy = (plan.terms * numbers.out_channels).gt(_HEAVY // tile.type.itemsize)
        with f.when(is_whole & plan.terms.ge(_DEEP)), f.loop_while() as loop:
            image_block = plan.image_block
            joined = windows * image_block
            wasted = up(f, joined, tile.columns) * tile.columns - joined
            wanted = (wasted * 25).gt(joined) | (is_heavy & joined.lt(_JOINED))
            fits = (room * image_block * 2).le(LIMITS.frame_bytes // tile.type.itemsize)
            items = f.divide(images, image_block * 2) * numbers.groups * plan.tiles
            is_shared = (image_block * 2).le(images) & (items * _TASKS).ge(self.wanted)
            loop.stop_unless(wanted & fits & is_shared)
            plan.image_block = image_block * 2
        plan.image_blocks = up(f, images, plan.image_block)
        plan.work_items = product([plan.image_blocks, numbers.groups, *plan.bands.values()])
        with f.when(plan.image_block.gt(1)):
            plan.is_apart = 1

    def _divide_outputs(self) -> None:
        """Blocks of outputs, if there are too few bands to keep all threads busy."""
        f, plan, numbers, tile = self.f, self.plan, self.numbers, self.tile
        each = product(plan.band.values()) * plan.image_block * plan.terms
        affordable = f.divide(each * numbers.out_channels, ITEM_STEPS)
        wanted = f.minimum(up(f, self.wanted, plan.work_items), affordable)
        wanted = f.maximum(f.minimum(wanted, plan.tiles), 1)
        tall = up(f, plan.tiles, wanted)
        plan.channel_block = tall * tile.rows
        plan.channel_blocks = up(f, plan.tiles, tall)
        plan.steps = each * plan.channel_block

    def _see_who_follows(self) -> None:
        """Whole planes can be followed, and whole lines by who goes line by line; work items of few
        elements, as of depthwise convolutions of small images, are followed all at once.
        """
        plan, numbers = self.plan, self.numbers
        is_whole = product(plan.bands.values()).eq(1)
        has_lines = plan.bands[2].eq(1) & numbers.parts.gt(1)
        outputs = self.f.minimum(plan.channel_block, numbers.out_channels)
        elements = product(plan.band.values()) * plan.image_block * outputs
        is_large = elements.ge(LIMITS.least_elements)
        plan.is_whole = is_whole.to(I64)
        is_followed = numbers.task.ne(0) & (is_whole | has_lines) & is_large
        plan.is_followed = is_followed.to(I64)

    def _describe_frame(self) -> None:
        plan, numbers, frame, tile = self.plan, self.numbers, self.frame, self.tile
        frame.outer_from = numbers.input_channel
        frame.inner_from = numbers.input_image
        frame.inner_to = frames.plane(frame)
        frame.outer_to = plan.image_block * frame.inner_to
        frame.end.set(numbers.input_size.values())
        frame.source.set(numbers.input_stride.values())
        plan.frame_room = plan.channels * frame.outer_to + 2 * tile.columns
        windows = product(plan.band.values()) * plan.image_block
        plan.result_room = plan.is_apart * windows * plan.channel_block


@record
class WorkItem:
    """What a work item computes: windows of a group, for some images (the first, and how many) and
    some outputs. `starts` and `lengths` are those of its band; images count as planes in the
    latter.
    """

    group: V
    image: V
    images: V
    starts: list[V]
    lengths: list[V]
    output: V
    outputs: V


def work_item_at(plan: WindowPlan, numbers: Phase, which: V, block: V) -> WorkItem:
    """The work item of a number and a block of outputs."""
    f = plan.f
    band, rest = band_at(plan, which, numbers.out_positions.values())
    group = f.remainder(rest, numbers.groups)
    image = f.divide(rest, numbers.groups) * plan.image_block
    images = f.minimum(numbers.images - image, plan.image_block)
    planes, *others = band.lengths
    output = block * plan.channel_block
    outputs = f.minimum(numbers.out_channels - output, plan.channel_block)
    lengths = [planes * images, *others]
    return WorkItem(group, image, images, band.starts, lengths, output, outputs)


def place(numbers: Phase, item: WorkItem) -> V:
    """Where the first window and output of a work item is in the result."""
    output = item.group * numbers.out_channels + item.output
    place = item.image * numbers.result_image + output * numbers.result_channel
    return place + weighted(item.starts, numbers.result_stride.values())


def follow(
    numbers: Phase, plan: WindowPlan, run: V, item: WorkItem, outputs: tuple[V, V], windows: int = 1
) -> None:
    """Let the follower go on with some outputs of a work item: the first, and how many. Along each
    axis the work item counts so many windows as one.
    """
    f, follower = numbers.f, follower_of(numbers)
    parts, (first, count) = numbers.parts, outputs

    def plane(image: V, output: Operand) -> V:
        number = (item.image + image) * numbers.groups + item.group
        return number * numbers.out_channels + item.output + first + output

    with f.when(plan.is_followed.ne(0)), f.otherwise(plan.is_whole.ne(0)) as whole:
        with f.range(0, item.images) as image:
            follower.call(f, run, plane(image, 0) * parts, (plane(image, 0) + count) * parts)
        whole.otherwise()
        line = item.starts[1] * windows
        lines = f.minimum(numbers.out_positions[1] - line, item.lengths[1] * windows)
        with f.range(0, count) as output, f.range(0, item.lengths[0]) as z:
            begin = plane(f.const(0, I64), output) * parts
            begin = begin + (item.starts[0] + z) * numbers.out_positions[1] + line
            follower.call(f, run, begin, begin + lines)


def fill(
    frame: ConvolutionFrame,
    dtype: DType,
    numbers: Phase,
    item: WorkItem,
    lhs: V,
    room: V,
    channels: tuple[V, V],
) -> None:
    """Fill the frame of a work item, for some channels: the first, and how many."""
    f = frame.f
    origins = [
        start * stride - low
        for start, stride, low in zip(
            item.starts, numbers.stride.values(), numbers.padding.values(), strict=True
        )
    ]
    frame.origin.set(origins)
    frame.inner = item.images
    frame.outer = channels[1]
    channel = item.group * numbers.channels + channels[0]
    first = channel * numbers.input_channel + item.image * numbers.input_image
    input = f.element(lhs, of_dtype(dtype), first)
    tile = tile_of(of_dtype(working(dtype)), f.module.target)
    frames.fill(f, tile, dtype, input, room, frame)
