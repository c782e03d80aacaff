"""Convolutions with 3x3 taps by Winograd's minimal filtering (`winograd`).

The work items are those of `tasks`, with tiles of 2x2 windows in the place of windows: a
tile's 4x4 elements are the taps of a convolution with stride 2. Some strips of tiles are
transformed; then, for the outputs of a matrix tile, the 16 products over the channels are formed,
and their sums transformed back.

Where an input or kernel has infinities or NaN, windows would get them from their neighbours. Such
results are seen, and the convolution is computed without transforms then; who has gone on with its
planes does so again.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from weft.compiler.ir import dtypes
from weft.compiler.ir.dtypes import DType
from weft.compiler.lower.llvm.emit.arrays import Env
from weft.compiler.lower.llvm.emit.function import Function, Module, V
from weft.compiler.lower.llvm.emit.types import I64, of_dtype
from weft.compiler.lower.llvm.routines.common import rows
from weft.compiler.lower.llvm.routines.convolution import frame as frames
from weft.compiler.lower.llvm.routines.convolution import tasks, window_strips
from weft.compiler.lower.llvm.routines.convolution.frame import ConvolutionFrame, Grid
from weft.compiler.lower.llvm.routines.convolution.geometry import (
    Operands,
    Phase,
    Tasks,
    call_strategy,
    leave_measured,
    product,
    share_out,
    shared_strategy,
    up,
)
from weft.compiler.lower.llvm.routines.convolution.strategies import direct
from weft.compiler.lower.llvm.routines.convolution.strategies.winograd_tiles import (
    Transformed,
    outputs_of,
    transform_filter,
    transform_input,
    transform_sums,
)
from weft.compiler.lower.llvm.routines.convolution.strategies.winograd_transforms import (
    POINTS,
    SIDE,
    TAPS,
    WINDOWS,
)
from weft.compiler.lower.llvm.routines.convolution.tasks import (
    ITEM_STEPS,
    Division,
    WindowPlan,
    WorkItem,
)
from weft.compiler.lower.llvm.routines.gemm.indirect_tiles import Scattered, multiply_lines
from weft.compiler.lower.llvm.routines.gemm.tiles import ProductTile, Target, tile_of

_CHANNEL_BLOCK: Final = 16  # channels that are transformed at a time
_INPUT_BYTES: Final = 3 << 18  # of transformed strips
_STRIPS: Final = 8  # at most
_LEAST: Final = 16  # channels and outputs for which transforms are a small part of the work
_LEAST_WINDOWS: Final = 16


DTYPES: Final = (dtypes.f32, dtypes.f64)

_Records: TypeAlias = tuple[Phase, Phase, WindowPlan, ConvolutionFrame]


def fits(numbers: Phase) -> V:
    """Whether a convolution can be computed this way, which has to be the cheapest one too
    (`costs`).
    """
    wanted = numbers.taps[1].eq(TAPS) & numbers.taps[2].eq(TAPS)
    ones = [(numbers.stride, axis) for axis in (0, 1, 2)]
    for words, axis in [*ones, (numbers.dilation, 1), (numbers.dilation, 2), (numbers.taps, 0)]:
        wanted = wanted & words[axis].eq(1)
    wanted = wanted & numbers.channels.ge(_LEAST) & numbers.out_channels.ge(_LEAST)
    return (
        wanted
        & product(numbers.out_positions.values()).ge(_LEAST_WINDOWS)
        & numbers.result_stride[2].eq(1)
    )


def define(module: Module, dtype: DType) -> str:
    """The function conv.winograd of a module."""
    return shared_strategy(module, "winograd", dtype, _emit)


def _emit(f: Function, env: Env, dtype: DType, operands: Operands, numbers: Phase) -> None:
    grid = _grid(f, numbers)
    division = Division(f, env, dtype, grid)
    division.divide(None)
    plan, frame, tile = division.plan, division.frame, division.tile
    size, channels = tile.type.itemsize, numbers.channels
    packed_room = numbers.groups * plan.tiles * _tile_room(plan, tile.rows)
    packed_bytes = (packed_room * size + 63) & -64
    own = packed_bytes + plan.terms * 8
    filters, work_items = _filter_tasks(numbers, plan, tile), _tasks(numbers, plan, tile)
    plain = direct.define(f.module, dtype)
    with f.when(env.is_measuring(f)):
        call_strategy(f, env, plain, operands, numbers)
    leave_measured(f, env, own, filters, work_items)
    packed = env.workspace(f, own)
    table = f.offset(packed, packed_bytes)
    axes = [grid.taps.values(), grid.dilation.values()]
    frames.write_distances(frame, Grid(channels, frame.outer_to, *axes), table, size)
    flag = f.stack(I64)
    f.store(f.const(0, I64), flag)
    _pack(env, dtype, filters, [operands.rhs, packed, numbers.pointer, plan.pointer])
    pointers = [operands.lhs, operands.result, packed, table, flag]
    records = [record.pointer for record in (numbers, grid, plan, frame)]

    def build(g: Function, inner: Env, given: list[V], begin: V, end: V) -> None:
        phases = Phase(g, given[5]), Phase(g, given[6])
        there = (*phases, WindowPlan(g, given[7]), ConvolutionFrame(g, given[8]))
        _WorkItems(g, inner, dtype, given[:5], there).emit(begin, end)

    name = f"conv.winograd.units.{dtype}"
    share_out(f, env, name, work_items, [*pointers, *records], build)
    numbers.is_followed = plan.is_followed
    env.free(f, packed)
    with f.when(f.load(flag, I64).ne(0)):
        call_strategy(f, env, plain, operands, numbers)


def _grid(f: Function, numbers: Phase) -> Phase:
    """The convolution whose windows are the tiles, in a result of their own."""
    grid = Phase(f)
    grid.copy_from(numbers)
    for axis in (1, 2):
        grid.out_positions[axis] = up(f, numbers.out_positions[axis], WINDOWS)
        grid.taps[axis] = SIDE
        grid.stride[axis] = WINDOWS
        grid.is_reversed[axis] = 0
    counts = grid.out_positions.values()
    grid.result_stride.set([counts[1] * counts[2], counts[2], f.const(1, I64)])
    return grid


def _tile_room(plan: WindowPlan, height: int) -> V:
    """The elements of the transformed filters of a tile."""
    return plan.terms * height


# --- filters ------------------------------------------------------------------------------------


def _filter_tasks(numbers: Phase, plan: WindowPlan, tile: ProductTile) -> Tasks:
    f = plan.f
    grain = up(f, rows.LEAST_STEPS, f.maximum(plan.terms * tile.rows, 1))
    return Tasks(numbers.groups * plan.tiles, grain, plan.tile_room * tile.type.itemsize)


def _pack(env: Env, dtype: DType, filters: Tasks, captured: list[V]) -> None:
    """The transformed filters of all tiles: [groups, tiles, points, channels, outputs]."""
    f = captured[0].f
    tile = tile_of(of_dtype(dtype), f.module.target)

    def build(g: Function, inner: Env, given: list[V], begin: V, end: V) -> None:
        rhs, target, *records = given
        there = Phase(g, records[0]), WindowPlan(g, records[1])
        room = inner.workspace(g, there[1].tile_room * tile.type.itemsize)
        with g.range(begin, end) as number:
            direct.pack_tile(g, tile, dtype, rhs, room, there, number)
            at = g.element(target, tile.type, number * _tile_room(there[1], tile.rows))
            transform_filter(g, tile, room, at, there[0])
        inner.free(g, room)

    share_out(f, env, f"conv.winograd.pack.{dtype}", filters, captured, build)


# --- work items -----------------------------------------------------------------------------------


class _Rooms:
    """What a thread works in: elements of the frame, of a panel, of transformed strips and of sums,
    and the entries of a table.
    """

    def __init__(self, numbers: Phase, plan: WindowPlan, tile: ProductTile) -> None:
        f, size = plan.f, tile.type.itemsize
        channels = numbers.channels
        self.strip_room: Final = channels * (POINTS * tile.columns)
        fitting = f.divide(f.const(_INPUT_BYTES // size, I64), self.strip_room)
        tiles_of_item = product(plan.band.values()) * plan.image_block
        most = f.minimum(up(f, tiles_of_item, tile.columns), _STRIPS)
        self.strips: Final = f.maximum(f.minimum(fitting, most), 1)
        self.sums_room: Final = POINTS * tile.rows * tile.columns
        self.elements: Final = [
            (plan.frame_room + 63) & -64,
            f.const((_CHANNEL_BLOCK * POINTS + 2) * tile.columns, I64),
            self.strips * self.strip_room,
            self.strips * self.sums_room,
        ]
        self.table_size: Final = f.maximum(channels, _CHANNEL_BLOCK * POINTS)
        first, *others = self.elements
        for room in others:
            first = first + room
        self.bytes: Final = first * size + self.table_size * 8


def _tasks(numbers: Phase, plan: WindowPlan, tile: ProductTile) -> Tasks:
    f = plan.f
    grain = up(f, ITEM_STEPS, f.maximum(plan.steps, 1))
    count = plan.work_items * plan.channel_blocks
    return Tasks(count, grain, _Rooms(numbers, plan, tile).bytes)


class _WorkItems:
    """Some work items on one thread, under emission."""

    def __init__(
        self, f: Function, env: Env, dtype: DType, pointers: list[V], records: _Records
    ) -> None:
        self.f: Final = f
        self.env: Final = env
        self.dtype: Final = dtype
        self.tile: Final = tile_of(of_dtype(dtype), f.module.target)
        self.lhs, self.result, self.packed, self.table, self.flag = pointers
        self.numbers, self.grid, self.plan, given = records
        self.frame: Final = ConvolutionFrame(f)
        self.frame.copy_from(given)
        tile = self.tile
        self.channels: Final = self.numbers.channels
        rooms = _Rooms(self.numbers, self.plan, tile)
        self.strips: Final = rooms.strips
        self.strip_room: Final = rooms.strip_room
        self.sums_room: Final = rooms.sums_room
        self.room: Final = env.workspace(f, rooms.bytes)
        self.panel: Final = f.element(self.room, tile.type, rooms.elements[0])
        self.input: Final = f.element(self.panel, tile.type, rooms.elements[1])
        self.sums: Final = f.element(self.input, tile.type, rooms.elements[2])
        self.panel_table: Final = f.element(self.sums, tile.type, rooms.elements[3])
        window_strips.write_table(f, tile, self.panel_table, rooms.table_size)

    def emit(self, begin: V, end: V) -> None:
        f, plan = self.f, self.plan
        last = f.variable(-1, I64)
        with f.range(begin, end) as number:
            which, block = (
                f.divide(number, plan.channel_blocks),
                f.remainder(number, plan.channel_blocks),
            )
            item = tasks.work_item_at(plan, self.grid, which, block)
            with f.when(which.ne(last.get())):
                every = (f.const(0, I64), self.channels)
                tasks.fill(self.frame, self.dtype, self.grid, item, self.lhs, self.room, every)
            self._work_item(item)
            last.set(which)
        self.env.free(f, self.room)

    def _work_item(self, item: WorkItem) -> None:
        """Some strips of tiles at a time."""
        f, tile, count = self.f, self.tile, product(item.lengths)
        outputs = outputs_of(self.numbers, self.plan, item, self.result, self.flag, tile.type)
        with f.range(0, count, self.strips * tile.columns) as first:
            end = f.minimum(first + self.strips * tile.columns, count)
            with f.range(first, end, tile.columns) as strip:
                number = f.divide(strip - first, tile.columns)
                at = f.element(self.input, tile.type, number * self.strip_room)
                self._transform(item, strip, f.minimum(end - strip, tile.columns), at)
            with f.range(0, item.outputs, tile.rows) as output:
                height = f.minimum(item.outputs - output, tile.rows)
                self._multiply(item, output, height, first, end)
                with f.range(first, end, tile.columns) as strip:
                    number = f.divide(strip - first, tile.columns)
                    at = f.element(self.sums, tile.type, number * self.sums_room)
                    columns = f.minimum(end - strip, tile.columns)
                    transform_sums(f, tile, at, outputs, (strip, columns), (output, height))
                with f.when(end.eq(count)):
                    given = (self.numbers, self.plan, self.env.run, item, (output, height))
                    tasks.follow(*given, WINDOWS)

    def _transform(self, item: WorkItem, first: V, count: V, target: V) -> None:
        """A strip of tiles, some channels at a time: [points, channels, tiles]."""
        f, tile = self.f, self.tile
        steps = window_strips.steps(self.frame, self.grid, self.plan)
        strip = window_strips.Strip(f, tile, self.room, item.lengths, steps)
        panel = (self.panel, self.panel_table)
        with f.range(0, self.channels, _CHANNEL_BLOCK) as channel:
            several = f.minimum(self.channels - channel, _CHANNEL_BLOCK)
            table = f.element(self.table, I64, channel * POINTS)
            lines = strip.lines(first, count, table, several * POINTS, panel)
            at = f.element(target, tile.type, channel * tile.columns)
            wide = f.const(tile.columns, I64)
            made = Transformed(at, self.channels * tile.columns, wide)
            transform_input(f, tile, lines, count, made, several)

    def _multiply(self, item: WorkItem, output: V, height: V, first: V, end: V) -> None:
        """The products over the channels, point by point, for the outputs of a matrix tile."""
        f, tile, plan = self.f, self.tile, self.plan
        number = item.group * plan.tiles + f.divide(item.output + output, tile.rows)
        left = f.element(self.packed, tile.type, number * _tile_room(plan, tile.rows))
        with f.range(0, POINTS) as point, f.range(first, end, tile.columns) as strip:
            which = f.divide(strip - first, tile.columns)
            place = which * self.strip_room + point * self.channels * tile.columns
            right = f.element(self.input, tile.type, place)
            vectors = [right, f.element(right, tile.type, tile.lanes)]
            target = which * self.sums_room + point * (tile.rows * tile.columns)
            here = Target(
                f.element(self.sums, tile.type, target),
                tile.columns,
                height,
                f.minimum(end - strip, tile.columns),
                0,
            )
            rows_at = f.element(left, tile.type, point * self.channels * tile.rows)
            lines = Scattered(self.panel_table, vectors)
            multiply_lines(f, tile, rows_at, lines, here, self.channels)
