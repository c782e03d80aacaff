"""Convolutions with many windows: filters times lines of neighbouring windows.

The rows of a product are outputs, its columns windows, its terms channels times taps. The filters
are packed once. In the frame of a work item a tile's line for a term lies at a fixed distance
behind the line for another one: it is read where it lies, unless a vector would run over the end of
a row. Such lines are copied to a panel first.
"""

from __future__ import annotations

from typing import Final

from weft.compiler.ir.dtypes import DType
from weft.compiler.lower.llvm.emit.arrays import Array, Env
from weft.compiler.lower.llvm.emit.function import Function, Module, V
from weft.compiler.lower.llvm.emit.types import I64, PTR, VOID, of_dtype
from weft.compiler.lower.llvm.routines.common import rows
from weft.compiler.lower.llvm.routines.common.elements import working
from weft.compiler.lower.llvm.routines.convolution import frame as frames
from weft.compiler.lower.llvm.routines.convolution import tasks, window_strips
from weft.compiler.lower.llvm.routines.convolution.frame import ConvolutionFrame, Grid
from weft.compiler.lower.llvm.routines.convolution.geometry import (
    Operands,
    Phase,
    Runs,
    Tasks,
    leave_measured,
    product,
    share_out,
    shared_strategy,
    up,
)
from weft.compiler.lower.llvm.routines.convolution.strategies.depthwise_windows import (
    Terms,
    multiply_rows_of_windows,
)
from weft.compiler.lower.llvm.routines.convolution.tasks import (
    ITEM_STEPS,
    Division,
    WindowPlan,
    WorkItem,
)
from weft.compiler.lower.llvm.routines.gemm import packing
from weft.compiler.lower.llvm.routines.gemm.indirect_tiles import multiply_lines
from weft.compiler.lower.llvm.routines.gemm.tiles import ProductTile, Target, tile_of

_SLICE: Final = 640  # terms that are multiplied at a time, at most
_PANEL_COST: Final = 3  # of a line of a panel, in multiplications of two vectors


def define(module: Module, dtype: DType) -> str:
    """The function conv.points of a module."""
    return shared_strategy(module, "points", dtype, _emit)


def _emit(f: Function, env: Env, dtype: DType, operands: Operands, numbers: Phase) -> None:
    division = Division(f, env, dtype, numbers)
    division.divide(_SLICE)
    plan, frame, tile = division.plan, division.frame, division.tile
    plan.panel_room = plan.slice * tile.columns + 2 * tile.columns
    width = plan.band[2]
    wasted = up(f, width, tile.lanes) * tile.lanes - width
    plan.is_in_rows = (wasted * numbers.out_channels).le(width * _PANEL_COST).to(I64)
    size = tile.type.itemsize
    packed_room = numbers.groups * plan.tiles * plan.tile_room
    packed_bytes = (packed_room * size + 63) & -64
    own = packed_bytes + plan.slice * 8
    work_items = _tasks(plan, tile)
    leave_measured(f, env, own, work_items)
    packed = env.workspace(f, own)
    table = f.offset(packed, packed_bytes)
    axes = [x.values() for x in (numbers.taps, numbers.dilation, numbers.is_reversed)]
    grid = Grid(plan.channels, frame.outer_to, *axes)
    frames.write_distances(frame, grid, table, size)
    _pack(env, dtype, operands.rhs, packed, numbers, plan)
    pointers = [operands.lhs, operands.result, packed, table]
    records = [numbers.pointer, plan.pointer, frame.pointer]

    def build(g: Function, inner: Env, given: list[V], begin: V, end: V) -> None:
        there = Phase(g, given[4]), WindowPlan(g, given[5]), ConvolutionFrame(g, given[6])
        _WorkItems(g, inner, dtype, given[:4], there).emit(begin, end)

    share_out(f, env, f"conv.units.{dtype}", work_items, [*pointers, *records], build)
    numbers.is_followed = plan.is_followed
    env.free(f, packed)


# --- filters ------------------------------------------------------------------------------------


def _pack(env: Env, dtype: DType, rhs: V, packed: V, numbers: Phase, plan: WindowPlan) -> None:
    """The filters of all tiles, the outputs of a tile side by side."""
    f, tile = plan.f, tile_of(of_dtype(working(dtype)), plan.f.module.target)
    name = f"conv.pack.{dtype}"
    captured = [rhs, packed, numbers.pointer, plan.pointer]
    parameters = [("run", PTR), *[(f"p{n}", PTR) for n in range(len(captured))]]
    parameters += [("begin", I64), ("end", I64)]

    def build(g: Function) -> None:
        _, rhs, target, numbers, plan, begin, end = g.arguments
        given = Phase(g, numbers), WindowPlan(g, plan)
        with g.range(begin, end) as number:
            at = g.element(target, tile.type, number * given[1].tile_room)
            pack_tile(g, tile, dtype, rhs, at, given, number)
        g.ret()

    rows.shared(f.module, name, VOID, parameters, build)
    grain = up(f, rows.LEAST_STEPS, f.maximum(plan.terms * tile.rows, 1))
    env.share(f, name, numbers.groups * plan.tiles, captured, grain)


def pack_tile(
    f: Function,
    tile: ProductTile,
    dtype: DType,
    rhs: V,
    target: V,
    records: tuple[Phase, WindowPlan],
    number: V,
) -> None:
    """The outputs of one tile of one group: the taps of a channel at once where they follow each
    other, or else row by row.
    """
    numbers, plan = records
    group, first = f.divide(number, plan.tiles), f.remainder(number, plan.tiles) * tile.rows
    output = group * numbers.out_channels + first
    count = f.minimum(numbers.out_channels - first, tile.rows)
    place = f.variable(0, I64)
    runs = Runs(f, numbers, numbers.taps.values(), numbers.channels)
    with runs.each() as further:
        start = output * numbers.filter_out_channel + further
        source = Array(
            f.element(rhs, of_dtype(dtype), start),
            dtype,
            (runs.length, count),
            (numbers.filter_stride[2], numbers.filter_out_channel),
        )
        packing.pack(f, tile, tile.rows, source, f.element(target, tile.type, place.get()))
        place.set(place.get() + runs.length * tile.rows)


# --- work items -----------------------------------------------------------------------------------


def _tasks(plan: WindowPlan, tile: ProductTile) -> Tasks:
    f = plan.f
    count = plan.work_items * plan.channel_blocks
    grain = up(f, ITEM_STEPS, f.maximum(plan.steps, 1))
    return Tasks(count, grain, _task_bytes(plan, tile))


def _task_bytes(plan: WindowPlan, tile: ProductTile) -> V:
    frame, panel, result = _rooms(plan)
    return (frame + panel + result) * tile.type.itemsize + plan.slice * 8


def _rooms(plan: WindowPlan) -> list[V]:
    """The elements of a thread's frame, panel and results."""
    rooms = (plan.frame_room, plan.panel_room, plan.result_room)
    return [(room + 63) & -64 for room in rooms]


class _WorkItems:
    """Some work items on one thread, under emission."""

    def __init__(
        self,
        f: Function,
        env: Env,
        dtype: DType,
        pointers: list[V],
        records: tuple[Phase, WindowPlan, ConvolutionFrame],
    ) -> None:
        self.f: Final = f
        self.env: Final = env
        self.dtype: Final = dtype
        self.tile: Final = tile_of(of_dtype(working(dtype)), f.module.target)
        self.lhs, self.result, self.packed, self.table = pointers
        self.numbers, self.plan, given = records
        self.frame: Final = ConvolutionFrame(f)
        self.frame.copy_from(given)
        plan, size = self.plan, self.tile.type.itemsize
        frame_room, panel_room, result_room = _rooms(plan)
        elements = frame_room + panel_room + result_room
        self.room: Final = env.workspace(f, _task_bytes(plan, self.tile))
        self.panel: Final = f.element(self.room, self.tile.type, frame_room)
        self.made: Final = f.element(self.panel, self.tile.type, panel_room)
        self.panel_table: Final = f.offset(self.room, elements * size)

    def emit(self, begin: V, end: V) -> None:
        f, plan = self.f, self.plan
        window_strips.write_table(f, self.tile, self.panel_table, plan.slice)
        last = f.variable(-1, I64)
        with f.range(begin, end) as number:
            which, block = (
                f.divide(number, plan.channel_blocks),
                f.remainder(number, plan.channel_blocks),
            )
            item = tasks.work_item_at(plan, self.numbers, which, block)
            self._work_item(item, which.ne(last.get()))
            last.set(which)
        self.env.free(f, self.room)

    def _work_item(self, item: WorkItem, is_new: V) -> None:
        """A frame of all channels serves all blocks of outputs that follow each other."""
        f, numbers, plan, tile = self.f, self.numbers, self.plan, self.tile
        place = tasks.place(numbers, item)
        result = f.element(self.result, of_dtype(self.dtype), place)
        is_apart = plan.is_apart.ne(0)
        target = f.select(is_apart, self.made, result)
        spacing = f.select(is_apart, product(item.lengths), numbers.result_channel)
        number = item.group * plan.tiles + f.divide(item.output, tile.rows)
        left = number * plan.tile_room
        is_whole = plan.channels.eq(numbers.channels)
        with f.range(0, numbers.channels, plan.channels) as channel:
            count = f.minimum(numbers.channels - channel, plan.channels)
            with f.when(is_new | ~is_whole):
                tasks.fill(
                    self.frame, self.dtype, numbers, item, self.lhs, self.room, (channel, count)
                )
            term = channel * plan.taps
            at = f.element(self.packed, tile.type, left + term * tile.rows)
            with f.otherwise(item.outputs.eq(1)) as single:
                self._single(item, term, at, target)
                single.otherwise()
                self._slice(item, term, at, (target, spacing))
        with f.when(is_apart):
            window_strips.spread(
                f, tile, self.dtype, (self.made, result), item.lengths, item.outputs, numbers, plan
            )
        every = (f.const(0, I64), item.outputs)
        tasks.follow(numbers, plan, self.env.run, item, every)

    def _slice(self, item: WorkItem, term: V, left: V, target: tuple[V, V]) -> None:
        """All windows of a work item, times some terms. A row is either one of its own, or all."""
        f, plan, tile = self.f, self.plan, self.tile
        windows = product(item.lengths)
        depth = f.minimum(plan.terms - term, plan.slice)
        steps = window_strips.steps(self.frame, self.numbers, plan)
        strip = window_strips.Strip(f, tile, self.room, item.lengths, steps)
        row = f.select(plan.is_in_rows.ne(0), item.lengths[2], windows)
        with f.range(0, windows, row) as start, f.range(0, row, tile.columns) as part:
            first, columns = start + part, f.minimum(row - part, tile.columns)
            right = strip.lines(first, columns, self.table, depth, (self.panel, self.panel_table))
            with f.range(0, item.outputs, tile.rows) as output:
                here = Target(
                    f.element(target[0], tile.type, output * target[1] + first),
                    target[1],
                    f.minimum(item.outputs - output, tile.rows),
                    columns,
                    term,
                )
                number = f.divide(output, tile.rows)
                rows_at = f.element(left, tile.type, number * plan.tile_room)
                multiply_lines(f, tile, rows_at, right, here, depth)

    def _single(self, item: WorkItem, term: V, left: V, target: V) -> None:
        """The same for a single output, plane by plane."""
        f, plan, tile = self.f, self.plan, self.tile
        planes, height, width = item.lengths
        depth = f.minimum(plan.terms - term, plan.slice)
        plane_step, row_step = window_strips.steps(self.frame, self.numbers, plan)
        with f.range(0, planes) as plane:
            start = f.element(self.room, tile.type, plane * plane_step)
            terms = Terms(self.table, start, depth, row_step * tile.type.itemsize)
            at = f.element(target, tile.type, plane * height * width)
            multiply_rows_of_windows(f, tile, left, terms, at, (height, width), term)
