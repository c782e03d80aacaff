"""Convolutions with more taps than windows, as gradients of filters are: sums over many terms.

The rows of a product are images times windows, its columns outputs, its terms channels times taps.
The terms are divided into work items, each some channels or a range of the taps of one. For a work
item the input is copied into a frame, in which the rows are read where they lie, and the filters
are packed with their outputs side by side. Parts of the terms are summed up apart, so that several
threads can do so, and then added in order: the parts follow from the sizes only, and so do the bits
of a sum.
"""

from __future__ import annotations

from typing import Final

from weft.compiler.ir.dtypes import DType
from weft.compiler.lower.llvm.emit.arrays import Env
from weft.compiler.lower.llvm.emit.function import Function, Module, V
from weft.compiler.lower.llvm.emit.types import I64, PTR, VOID, of_dtype
from weft.compiler.lower.llvm.routines.common import rows
from weft.compiler.lower.llvm.routines.common.elements import working
from weft.compiler.lower.llvm.routines.convolution import frame as frames
from weft.compiler.lower.llvm.routines.convolution.frame import ConvolutionFrame
from weft.compiler.lower.llvm.routines.convolution.geometry import (
    Operands,
    Phase,
    Tasks,
    leave_measured,
    more_tasks,
    product,
    share_out,
    shared_strategy,
    up,
)
from weft.compiler.lower.llvm.routines.convolution.strategies.filter_sums import (
    FilterSumParts,
    finish,
)
from weft.compiler.lower.llvm.routines.convolution.strategies.filter_tasks import (
    FilterPlan,
    FilterRooms,
    FilterTasks,
)
from weft.compiler.lower.llvm.routines.gemm.tiles import tile_of

_ITEM_TERMS: Final = 512  # of a work item, at most
_NARROW_TERMS: Final = 4096  # the same where taps are in lanes
_PART_TERMS: Final = 512  # of a part, at least
_PARTS: Final = 32  # times groups, blocks of images and strips of outputs: no more than needed
_PARTS_BYTES: Final = 1 << 22  # of the sums of all parts, at most
_FRAME_BYTES: Final = 1 << 18  # of a frame, if there are several images
_EVEN: Final = 4  # images that have a multiple of a tile's rows for windows of 3, 9 or 27 taps
_FEW: Final = 4  # times so many outputs are still fewer than lanes: taps are in lanes then
_TASKS: Final = 2  # for each thread, if there is enough to do
_TASK_STEPS: Final = 1 << 18  # multiplications that a task has at least


def define(module: Module, dtype: DType) -> str:
    """The function conv.taps of a module."""
    return shared_strategy(module, "taps", dtype, lambda *given: _Taps(*given).emit())


class _Taps:
    """The division into parts and work items, under emission."""

    def __init__(
        self, f: Function, env: Env, dtype: DType, operands: Operands, numbers: Phase
    ) -> None:
        self.f: Final = f
        self.env: Final = env
        self.dtype: Final = dtype
        self.tile: Final = tile_of(of_dtype(working(dtype)), f.module.target)
        self.operands: Final = operands
        self.numbers: Final = numbers
        self.plan: Final = FilterPlan(f)
        self.frame: Final = ConvolutionFrame(f)

    def emit(self) -> None:
        f, env, plan = self.f, self.env, self.plan
        self._divide_terms()
        self._divide_images()
        self._divide_sums()
        self._divide_outputs()
        # A single part is finished task by task.
        apart = f.select(plan.parts.gt(1), plan.parts * plan.part_room, 0)
        own, tasks = apart * self.tile.type.itemsize, self._tasks()
        leave_measured(f, env, own, tasks)
        sums = env.workspace(f, own)
        self._run_tasks(tasks, sums)
        with f.when(plan.parts.gt(1)):
            self._finish(sums)
        env.free(f, sums)

    # --- division ---

    def _divide_terms(self) -> None:
        """Bands of taps, halved along the first axis that allows it, or blocks of channels."""
        f, plan, numbers = self.f, self.plan, self.numbers
        taps = numbers.taps.values()
        is_narrow = (numbers.out_channels * _FEW).le(self.tile.lanes) & numbers.is_reversed[2].eq(0)
        plan.is_narrow = is_narrow.to(I64)
        most = f.select(is_narrow, f.const(_NARROW_TERMS, I64), _ITEM_TERMS)
        plan.out_positions = product(numbers.out_positions.values())
        plan.band.set(taps)
        with f.loop_while() as loop:
            bands = plan.band.values()
            loop.stop_unless(product(bands).gt(most))
            with f.otherwise(bands[0].gt(1)) as planes:
                plan.band[0] = up(f, bands[0], 2)
                planes.otherwise()
                with f.otherwise(bands[1].gt(1)) as lines:
                    plan.band[1] = up(f, bands[1], 2)
                    lines.otherwise()
                    plan.band[2] = up(f, bands[2], 2)
        bands = plan.band.values()
        plan.bands.set([up(f, tap, band) for tap, band in zip(taps, bands, strict=True)])
        fitting = f.maximum(f.divide(most, product(bands)), 1)
        several = f.minimum(fitting, numbers.channels)
        plan.channel_block = f.select(product(plan.bands.values()).eq(1), several, 1)
        plan.channel_blocks = up(f, numbers.channels, plan.channel_block)
        plan.work_items = plan.channel_blocks * product(plan.bands.values())

    def _divide_images(self) -> None:
        """Blocks of images whose frames fit into the cache."""
        f, plan, numbers, frame, tile = self.f, self.plan, self.numbers, self.frame, self.tile
        reach = [
            (band - 1) * dilation + (count - 1) * stride + 1
            for band, dilation, count, stride in zip(
                *[plan.band.values(), numbers.dilation.values()],
                *[numbers.out_positions.values(), numbers.stride.values()],
                strict=True,
            )
        ]
        phases = f.select(plan.is_narrow.ne(0), numbers.dilation[2], 1)
        frames.shape(frame, (reach[0], reach[1], reach[2]), phases)
        frame.inner_from = numbers.input_channel
        frame.inner_to = frames.plane(frame)
        frame.outer_from = numbers.input_image
        frame.outer_to = plan.channel_block * frame.inner_to
        frame.end.set(numbers.input_size.values())
        frame.source.set(numbers.input_stride.values())
        fitting = f.divide(f.const(_FRAME_BYTES // tile.type.itemsize, I64), frame.outer_to)
        blocks = up(f, numbers.images, f.maximum(fitting, 1))
        even = up(f, up(f, numbers.images, blocks), _EVEN) * _EVEN
        plan.image_block = f.minimum(even, numbers.images)
        plan.image_blocks = up(f, numbers.images, plan.image_block)
        plan.frame_room = plan.image_block * frame.outer_to + tile.columns

    def _divide_sums(self) -> None:
        f, plan, numbers = self.f, self.plan, self.numbers
        rows_of_all = numbers.groups * numbers.images * plan.out_positions
        plan.part_room = rows_of_all * numbers.out_channels
        terms = numbers.channels * product(numbers.taps.values())
        affordable = f.divide(f.const(_PARTS_BYTES, I64), plan.part_room * self.tile.type.itemsize)
        strips = up(f, numbers.out_channels, self.tile.columns)
        needed = up(f, _PARTS, numbers.groups * plan.image_blocks * strips)
        wanted = f.minimum(f.minimum(f.divide(terms, _PART_TERMS), needed), affordable)
        plan.parts = f.maximum(f.minimum(wanted, plan.work_items), 1)

    def _divide_outputs(self) -> None:
        """Blocks of outputs, if there are too few parts and images to keep all threads busy."""
        f, plan, numbers, tile = self.f, self.plan, self.numbers, self.tile
        terms = numbers.channels * product(numbers.taps.values())
        affordable = f.divide(plan.part_room * terms, _TASK_STEPS)
        tasks = plan.parts * numbers.groups * plan.image_blocks
        busy = more_tasks(f, self.env.run, tasks, _TASKS)
        wanted = up(f, f.minimum(busy, affordable), tasks)
        strips = up(f, numbers.out_channels, tile.columns)
        wide = up(f, strips, f.maximum(f.minimum(wanted, strips), 1))
        plan.out_channel_block = wide * tile.columns
        plan.out_channel_blocks = up(f, strips, wide)
        bands = plan.band.values()
        plan.line = up(f, bands[2], tile.lanes) * tile.lanes
        is_narrow = plan.is_narrow.ne(0)
        line = f.select(is_narrow, plan.line, bands[2])
        lines = plan.channel_block * bands[0] * bands[1] * line + 2 * tile.lanes
        # Taps in lanes are those of all outputs, packed ones those of a strip.
        every = f.minimum(numbers.out_channels, plan.out_channel_block)
        many = f.select(is_narrow, every, tile.columns)
        plan.right_room = lines * many + tile.lanes * tile.columns
        own = plan.image_block * plan.out_positions * plan.out_channel_block
        plan.own_room = f.select(plan.parts.eq(1), own, 0)

    # --- tasks ---

    def _tasks(self) -> Tasks:
        f, plan, numbers = self.f, self.plan, self.numbers
        count = product([plan.parts, numbers.groups, plan.image_blocks])
        count = count * plan.out_channel_blocks
        terms = numbers.channels * product(numbers.taps.values())
        steps = f.divide(plan.part_room * terms, count)
        grain = up(f, _TASK_STEPS, f.maximum(steps, 1))
        return Tasks(count, grain, FilterRooms(plan, self.tile).bytes)

    def _run_tasks(self, tasks: Tasks, sums: V) -> None:
        captured = [*self.operands.values, sums]
        captured += [self.numbers.pointer, self.plan.pointer, self.frame.pointer]

        def build(g: Function, inner: Env, given: list[V], begin: V, end: V) -> None:
            lhs, rhs, result, sums, numbers, plan, frame = given
            records = Phase(g, numbers), FilterPlan(g, plan), ConvolutionFrame(g, frame)
            operands = Operands(lhs, rhs, result)
            FilterTasks(g, inner, self.dtype, operands, sums, records).emit(begin, end)

        share_out(self.f, self.env, f"conv.parts.{self.dtype}", tasks, captured, build)

    def _finish(self, sums: V) -> None:
        """The sums of all parts, image by image."""
        f, env, plan, numbers = self.f, self.env, self.plan, self.numbers
        name = f"conv.images.{self.dtype}"
        captured = [sums, self.operands.result, numbers.pointer, plan.pointer]
        parameters = [("run", PTR), *[(f"p{n}", PTR) for n in range(len(captured))]]
        parameters += [("begin", I64), ("end", I64)]

        def build(g: Function) -> None:
            _, sums, result, numbers, plan, begin, end = g.arguments
            given = Phase(g, numbers), FilterPlan(g, plan)
            with g.range(begin, end) as number:
                _finish_image(g, self.dtype, sums, result, given, number)
            g.ret()

        rows.shared(f.module, name, VOID, parameters, build)
        steps = plan.out_positions * numbers.out_channels * (plan.parts + 1)
        grain = up(f, rows.LEAST_STEPS, f.maximum(steps, 1))
        env.share(f, name, numbers.groups * numbers.images, captured, grain)


def _finish_image(
    f: Function, dtype: DType, sums: V, result: V, records: tuple[Phase, FilterPlan], number: V
) -> None:
    """One image and one group."""
    numbers, plan = records
    outputs = numbers.out_channels
    image, group = f.remainder(number, numbers.images), f.divide(number, numbers.images)
    place = image * numbers.result_image + group * outputs * numbers.result_channel
    first = number * plan.out_positions * outputs
    source = f.element(sums, of_dtype(working(dtype)), first)
    parts = FilterSumParts(source, plan.parts, plan.part_room, outputs, outputs)
    finish(f, dtype, parts, f.element(result, of_dtype(dtype), place), numbers)
