"""Gradients of 3x3 filters by Winograd's minimal filtering (`winograd`).

Taps are those of a convolution with 3x3 windows, so many that they are the larger part. Tiles of
2x2 taps and the 4x4 elements that they meet are transformed; the products over all tiles of all
channels are formed point by point and their sums, in parts as in `filter`, transformed to
3x3 windows. Infinities and NaN are treated as in `winograd`.
"""

from __future__ import annotations

from typing import Final

from weft.compiler.ir.dtypes import DType
from weft.compiler.lower.llvm.emit.arrays import Env
from weft.compiler.lower.llvm.emit.function import Function, Module, V
from weft.compiler.lower.llvm.emit.types import I64, of_dtype
from weft.compiler.lower.llvm.routines.common import rows
from weft.compiler.lower.llvm.routines.convolution import frame as frames
from weft.compiler.lower.llvm.routines.convolution.frame import ConvolutionFrame
from weft.compiler.lower.llvm.routines.convolution.geometry import (
    Operands,
    Phase,
    Tasks,
    call_strategy,
    leave_measured,
    more_tasks,
    product,
    share_out,
    shared_strategy,
    up,
)
from weft.compiler.lower.llvm.routines.convolution.strategies import filter as filter_strategy
from weft.compiler.lower.llvm.routines.convolution.strategies.winograd_filter_tasks import (
    WinogradFilterPlan,
    WinogradFilterTasks,
    WinogradRooms,
    finish_image,
)
from weft.compiler.lower.llvm.routines.convolution.strategies.winograd_transforms import (
    POINTS,
    TAPS,
    WINDOWS,
)
from weft.compiler.lower.llvm.routines.gemm.tiles import ProductTile, tile_of

_ITEM_TILES: Final = 256  # of a work item, at most
_PART_TILES: Final = 256  # of a part, at least
_PARTS: Final = 32  # times groups, blocks of images and strips of outputs: no more than needed
_PARTS_BYTES: Final = 1 << 21  # of the sums of all parts, at most
_IMAGES: Final = 72  # of a task, at most
_TASKS: Final = 2  # for each thread, if there is enough to do
_TASK_STEPS: Final = 1 << 18  # multiplications that a task has at least
_LEAST: Final = 16  # images and outputs for which transforms are a small part of the work
_LEAST_TAPS: Final = 64


def fits(numbers: Phase) -> V:
    """Whether a convolution is computed faster this way."""
    wanted = numbers.out_positions[1].eq(TAPS) & numbers.out_positions[2].eq(TAPS)
    ones = [(numbers.stride, 1), (numbers.stride, 2), (numbers.dilation, 1), (numbers.dilation, 2)]
    for words, axis in [*ones, (numbers.taps, 0), (numbers.out_positions, 0)]:
        wanted = wanted & words[axis].eq(1)
    for axis in (1, 2):
        wanted = wanted & numbers.is_reversed[axis].eq(0)
    wanted = wanted & numbers.images.ge(_LEAST) & numbers.out_channels.ge(_LEAST)
    terms = numbers.channels * product(numbers.taps.values())
    return wanted & terms.ge(_LEAST_TAPS)


def define(module: Module, dtype: DType) -> str:
    """The function conv.winograd_taps of a module."""
    return shared_strategy(module, "winograd_taps", dtype, lambda *given: _Gradient(*given).emit())


class _Gradient:
    """The division into parts and work items, under emission."""

    def __init__(
        self, f: Function, env: Env, dtype: DType, operands: Operands, numbers: Phase
    ) -> None:
        self.f: Final = f
        self.env: Final = env
        self.dtype: Final = dtype
        self.tile: Final = tile_of(of_dtype(dtype), f.module.target)
        self.operands: Final = operands
        self.numbers: Final = numbers
        self.plan: Final = WinogradFilterPlan(f)
        self.frame: Final = ConvolutionFrame(f)

    def emit(self) -> None:
        f, env, plan = self.f, self.env, self.plan
        self._divide_tiles()
        self._describe_frame()
        self._divide_sums()
        own = plan.parts * plan.part_room * self.tile.type.itemsize
        tasks, images = self._tasks(), self._images()
        plain = filter_strategy.define(f.module, self.dtype)
        with f.when(env.is_measuring(f)):
            call_strategy(f, env, plain, self.operands, self.numbers)
        leave_measured(f, env, own, tasks, images)
        sums = env.workspace(f, own)
        self._run_tasks(tasks, sums)
        flag = f.stack(I64)
        f.store(f.const(0, I64), flag)
        self._finish(images, sums, flag)
        env.free(f, sums)
        with f.when(f.load(flag, I64).ne(0)):
            call_strategy(f, env, plain, self.operands, self.numbers)

    # --- division ---

    def _divide_tiles(self) -> None:
        """Rows of tiles, or channels that have few of them."""
        f, plan, numbers = self.f, self.plan, self.numbers
        high, wide = [up(f, numbers.taps[axis], WINDOWS) for axis in (1, 2)]
        most = f.const(_ITEM_TILES, I64)
        plan.band[0] = 1
        plan.bands[0] = 1
        plan.band[2] = f.minimum(wide, most)
        plan.bands[2] = up(f, wide, plan.band[2])
        plan.band[1] = f.minimum(high, f.maximum(f.divide(most, wide), 1))
        plan.bands[1] = up(f, high, plan.band[1])
        bands = plan.bands[1] * plan.bands[2]
        several = f.maximum(f.divide(most, high * wide), 1)
        plan.channel_block = f.select(bands.eq(1), f.minimum(several, numbers.channels), 1)
        plan.channel_blocks = up(f, numbers.channels, plan.channel_block)
        plan.work_items = plan.channel_blocks * bands
        plan.tiles = plan.channel_block * plan.band[1] * plan.band[2]
        plan.all_tiles = numbers.channels * high * wide

    def _describe_frame(self) -> None:
        f, plan, numbers, frame, tile = self.f, self.plan, self.numbers, self.frame, self.tile
        reach = [(plan.band[axis] * WINDOWS + (TAPS - 1)) for axis in (1, 2)]
        frames.shape(frame, (f.const(1, I64), reach[0], reach[1]), f.const(WINDOWS, I64))
        frame.inner_from = numbers.input_channel
        frame.inner_to = frames.plane(frame)
        frame.outer_from = numbers.input_image
        frame.outer_to = plan.channel_block * frame.inner_to
        frame.end.set(numbers.input_size.values())
        frame.source.set(numbers.input_stride.values())
        blocks = up(f, numbers.images, _IMAGES)
        even = up(f, up(f, numbers.images, blocks), tile.rows) * tile.rows
        plan.image_block = f.minimum(even, numbers.images)
        plan.image_blocks = up(f, numbers.images, plan.image_block)
        plan.frame_room = plan.image_block * frame.outer_to + 2 * tile.columns
        plan.pitch = up(f, plan.tiles, tile.columns) * tile.columns

    def _divide_sums(self) -> None:
        """Parts, and blocks of outputs if there are too few tasks to keep all threads busy."""
        f, plan, numbers, tile = self.f, self.plan, self.numbers, self.tile
        room = numbers.groups * numbers.images * numbers.out_channels * POINTS
        plan.part_room = room
        affordable = f.divide(f.const(_PARTS_BYTES, I64), room * tile.type.itemsize)
        strips = up(f, numbers.out_channels, tile.columns)
        needed = up(f, _PARTS, numbers.groups * plan.image_blocks * strips)
        wanted = f.minimum(f.divide(plan.all_tiles, _PART_TILES), needed)
        wanted = f.minimum(f.minimum(wanted, affordable), plan.work_items)
        plan.parts = f.maximum(wanted, 1)
        tasks = plan.parts * numbers.groups * plan.image_blocks
        busy = more_tasks(f, self.env.run, tasks, _TASKS)
        steps = f.divide(room * plan.all_tiles, _TASK_STEPS)
        several = up(f, f.minimum(busy, steps), tasks)
        broad = up(f, strips, f.maximum(f.minimum(several, strips), 1))
        plan.out_channel_block = broad * tile.columns
        plan.out_channel_blocks = up(f, strips, broad)

    # --- tasks ---

    def _tasks(self) -> Tasks:
        f, plan, numbers = self.f, self.plan, self.numbers
        blocks = plan.image_blocks * plan.out_channel_blocks
        count = plan.parts * numbers.groups * blocks
        steps = f.divide(plan.part_room * plan.all_tiles, count)
        grain = up(f, _TASK_STEPS, f.maximum(steps, 1))
        return Tasks(count, grain, WinogradRooms(plan, self.tile).bytes)

    def _run_tasks(self, tasks: Tasks, sums: V) -> None:
        captured = [self.operands.lhs, self.operands.rhs, sums]
        captured += [self.numbers.pointer, self.plan.pointer, self.frame.pointer]

        def build(g: Function, inner: Env, given: list[V], begin: V, end: V) -> None:
            lhs, rhs, sums, *records = given
            there = (
                Phase(g, records[0]),
                WinogradFilterPlan(g, records[1]),
                ConvolutionFrame(g, records[2]),
            )
            WinogradFilterTasks(g, inner, self.dtype, (lhs, rhs, sums), there).emit(begin, end)

        share_out(self.f, self.env, f"conv.winograd_parts.{self.dtype}", tasks, captured, build)

    def _images(self) -> Tasks:
        f, plan, numbers = self.f, self.plan, self.numbers
        steps = numbers.out_channels * (plan.parts + 1) * POINTS
        grain = up(f, rows.LEAST_STEPS, f.maximum(steps, 1))
        return Tasks(numbers.groups * numbers.images, grain, _image_bytes(numbers, self.tile))

    def _finish(self, images: Tasks, sums: V, flag: V) -> None:
        """The sums of all parts, image by image."""
        captured = [sums, self.operands.result, flag, self.numbers.pointer, self.plan.pointer]

        def build(g: Function, inner: Env, given: list[V], begin: V, end: V) -> None:
            sums, result, flag, numbers, plan = given
            there = Phase(g, numbers), WinogradFilterPlan(g, plan)
            room = inner.workspace(g, _image_bytes(there[0], self.tile))
            with g.range(begin, end) as number:
                finish_image(g, self.dtype, (sums, result, flag, room), there, number)
            inner.free(g, room)

        share_out(self.f, self.env, f"conv.winograd_images.{self.dtype}", images, captured, build)


def _image_bytes(numbers: Phase, tile: ProductTile) -> V:
    """What a thread finishes an image in."""
    return (numbers.out_channels + tile.lanes) * (TAPS * TAPS) * tile.type.itemsize
