"""Products of large matrices of real floats: packed panels and a register-blocked tile.

The right operand is packed into panels as wide as a tile, a slice of the sum at a time, unless it
lies in rows and is used few times; blocks of rows of the left one are packed as they are used.
Tasks are blocks of rows times groups of panels, so that any shape keeps all threads busy. Every
element is summed in the same order whatever the number of threads.

The code serves all sizes and strides, so it is compiled once and linked to the programs that call
it by `symbol`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from weft.compiler.ir import dtypes
from weft.compiler.ir.dtypes import DType
from weft.compiler.lower.llvm import memory
from weft.compiler.lower.llvm.arrays import Array, Env, times
from weft.compiler.lower.llvm.driver import host
from weft.compiler.lower.llvm.emit import Function, Module, Operand, V
from weft.compiler.lower.llvm.types import I32, I64, PTR, VOID, Type

_VECTORS: Final = 2  # of a tile's row
_SLICE: Final = 256  # terms of a sum that are packed at a time
_TILES: Final = 4  # tiles below each other in a block of rows
_TASKS: Final = 16  # tasks that a product is divided into at least, if it is large enough
_TASK_STEPS: Final = 1 << 17  # multiplications that a task has at least
_FEW_ROWS: Final = 96  # up to which the right operand is read where it lies


@dataclass(frozen=True, slots=True)
class Tile:
    """The part of a product that stays in registers."""

    type: Type
    lanes: int
    rows: int

    @property
    def columns(self) -> int:
        return _VECTORS * self.lanes

    @property
    def block(self) -> int:
        """The rows that are packed together."""
        return self.rows * _TILES

    @property
    def vector(self) -> Type:
        return self.type.with_lanes(self.lanes)


def tile_of(type: Type) -> Tile:
    """The tile for this machine: accumulators fill three quarters of the registers, of which wide
    vectors have 32.
    """
    target = host()
    registers = 32 if target.vector_bytes == 64 or target.triple.startswith("aarch64") else 16
    lanes = max(target.vector_bytes // type.itemsize, 1)
    return Tile(type, lanes, registers * 3 // 4 // _VECTORS)


DTYPES: Final = (dtypes.f32, dtypes.f64)


def symbol(dtype: DType) -> str:
    """The name of weft_gemm_*(run, lhs, rhs, result, m, n, k, four strides)."""
    return f"weft_gemm_{dtype.name}"


def text() -> str:
    """The module with all products."""
    module = Module()
    for dtype in DTYPES:
        define(module, dtype)
    return module.text()


def define(module: Module, dtype: DType) -> None:
    """Define the product of a dtype."""
    name = symbol(dtype)
    numbers = ("m", "n", "k", "down", "across", "deeper", "along")
    pointers = [(pointer, PTR) for pointer in ("run", "lhs", "rhs", "result")]
    f = module.function(name, VOID, [*pointers, *[(number, I64) for number in numbers]])
    run, x, y, z, m, n, k, down, across, deeper, along = f.arguments
    result = Array(z, dtype, (m, n), (n, 1))
    env = Env(module, run, name, [])
    lhs = Array(x, dtype, (m, k), (down, across))
    # Rows that lie in order are packed by vector loads, which have to be known as such.
    with f.otherwise(along.eq(1)) as choice:
        build(f, env, lhs, Array(y, dtype, (k, n), (deeper, 1)), result)
        choice.otherwise()
        build(f, env, lhs, Array(y, dtype, (k, n), (deeper, along)), result)
    f.ret()


def call(f: Function, env: Env, lhs: Array, rhs: Array, result: Array) -> None:
    """The product of [m, k] and [k, n], any strides, into a row-major [m, n]; k is not 0."""
    sizes = (*result.shape, lhs.shape[1], *lhs.strides, *rhs.strides)
    pointers = [env.run, lhs.pointer, rhs.pointer, result.pointer]
    numbers = [f.const(size, I64) for size in sizes]
    f.call(symbol(result.dtype), VOID, [*pointers, *numbers])


def build(f: Function, env: Env, lhs: Array, rhs: Array, result: Array) -> None:
    """The product of [m, k] and [k, n], any strides, into a row-major [m, n]; k is not 0."""
    tile = tile_of(result.type)
    (m, n), k = [f.const(size, I64) for size in result.shape], f.const(lhs.shape[1], I64)
    panels = _up(f, n, tile.columns)
    blocks = _up(f, m, tile.block)
    groups = _groups(f, m, n, k, blocks, panels)
    # Where few rows are multiplied, only a last panel that is not full is packed.
    first = f.const(0, I64)
    if not isinstance(rhs.strides[1], V):
        first = f.select(m.le(_FEW_ROWS), f.divide(n, tile.columns), 0)
    packed = env.workspace(f, (panels - first) * (_SLICE * tile.columns * tile.type.itemsize))
    with f.range(0, k, _SLICE) as start:
        depth = f.minimum(k - start, _SLICE)
        extent, division = (start, depth, m, n), (blocks, panels, groups, first)
        _pack_right(f, env, tile, rhs, packed, extent, panels - first, first)
        _multiply(f, env, tile, (lhs, rhs, result), packed, extent, division)
    env.free(f, packed)


def _up(f: Function, size: V, step: int) -> V:
    return f.divide(size + (step - 1), step)


def _groups(f: Function, m: V, n: V, k: V, blocks: V, panels: V) -> V:
    """How many groups the panels form: more where there are few rows."""
    steps = m * n * f.minimum(k, _SLICE)
    affordable = f.maximum(f.divide(steps, _TASK_STEPS), 1)
    wanted = f.divide(f.minimum(affordable, _TASKS) + (blocks - 1), f.maximum(blocks, 1))
    return f.maximum(f.minimum(wanted, panels), 1)


# --- packing ------------------------------------------------------------------------------------


def _pack_right(
    f: Function,
    env: Env,
    tile: Tile,
    rhs: Array,
    packed: V,
    extent: tuple[V, V, V, V],
    panels: V,
    skipped: V,
) -> None:
    """Panels of a slice: line by line, the columns past the end as zeros."""
    start, depth, _, n = extent
    deeper, along = rhs.strides
    captured = [rhs.pointer, packed, start, depth, n, skipped]
    captured += [x for x in (deeper, along) if isinstance(x, V)]

    def pack(g: Function, inner: Env, number: V, given: list[V]) -> None:
        source, target, first, count, columns, before, *rest = given
        steps = iter(rest)
        down = next(steps) if isinstance(deeper, V) else deeper
        across = next(steps) if isinstance(along, V) else along
        panel = number + before
        left = columns - panel * tile.columns
        line_at = g.offset(target, number * (_SLICE * tile.columns * tile.type.itemsize))
        with g.range(0, count) as p:
            row = times(g, first + p, down)
            for part in range(_VECTORS):
                column = panel * tile.columns + part * tile.lanes
                place = g.add(g.const(row, I64), times(g, column, across))
                mask = _below(g, left - part * tile.lanes, tile.lanes)
                address = memory.Address(place, across)
                value = memory.load(g, source, rhs.dtype, address, tile.lanes, mask)
                assert isinstance(value, V)
                to = p * tile.columns + part * tile.lanes
                g.store(value, g.element(line_at, tile.type, to))

    grain = f.maximum(f.divide(f.const(1 << 15, I64), f.maximum(depth * tile.columns, 1)), 1)
    with f.when(panels.gt(0)):
        env.parallel(f, panels, pack, captured, grain)


def _below(f: Function, count: V, lanes: int) -> V:
    """The first `count` lanes."""
    few = f.maximum(f.minimum(count, lanes), 0).to(I32)
    return memory.iota(f, lanes, I32).lt(f.splat(few, lanes))


def _pack_left(
    f: Function, tile: Tile, lhs: Array, target: V, row: V, start: V, depth: V, m: V
) -> None:
    """A block of rows, tile by tile, the rows of a tile side by side; rows past the end are copies
    of the last, whose results are not stored.
    """
    down, across = lhs.strides
    with f.range(0, _TILES) as which:
        first = row + which * tile.rows
        room = f.element(target, tile.type, which * (_SLICE * tile.rows))
        with f.when(first.lt(m)):
            rows = [
                f.element(lhs.pointer, tile.type, times(f, f.minimum(first + i, m - 1), down))
                for i in range(tile.rows)
            ]
            with f.range(0, depth) as p:
                place = times(f, start + p, across)
                for i, at in enumerate(rows):
                    value = f.load(f.element(at, tile.type, place), tile.type)
                    f.store(value, f.element(room, tile.type, p * tile.rows + i))


# --- tiles --------------------------------------------------------------------------------------


def _multiply(
    f: Function,
    env: Env,
    tile: Tile,
    operands: tuple[Array, Array, Array],
    packed: V,
    extent: tuple[V, V, V, V],
    division: tuple[V, V, V, V],
) -> None:
    """All tiles of a slice, added to what the slices before gave."""
    lhs, rhs, result = operands
    blocks, panels, groups, packed_from = division
    down, across = lhs.strides
    deeper = f.const(rhs.strides[0], I64)
    captured = [lhs.pointer, rhs.pointer, result.pointer, packed, *extent, panels, groups]
    captured += [packed_from, deeper, *[x for x in (down, across) if isinstance(x, V)]]

    def task(g: Function, inner: Env, number: V, given: list[V]) -> None:
        x, y, target, right, start, depth, m, n, count, parts, from_here, line_step, *rest = given
        steps = iter(rest)
        strides: list[Operand] = [next(steps) if isinstance(z, V) else z for z in (down, across)]
        block, part = g.divide(number, parts), g.remainder(number, parts)
        row = block * tile.block
        room = g.stack(tile.type, tile.block * _SLICE, align=64)
        operand = Array(x, lhs.dtype, lhs.shape, tuple(strides))
        _pack_left(g, tile, operand, room, row, start, depth, m)
        low = g.divide(count * part, parts)
        high = g.divide(count * (part + 1), parts)
        with g.range(low, high) as panel:
            place = panel - from_here
            in_place = g.element(y, tile.type, start * line_step + panel * tile.columns)
            packed_at = g.offset(right, place * (_SLICE * tile.columns * tile.type.itemsize))
            is_packed = place.ge(0)
            line_at = g.select(is_packed, packed_at, in_place)
            step = g.select(is_packed, g.const(tile.columns, I64), line_step)
            with g.range(0, _TILES) as which:
                first = row + which * tile.rows
                with g.when(first.lt(m)):
                    rows_at = g.element(room, tile.type, which * (_SLICE * tile.rows))
                    corner = (first, panel * tile.columns)
                    pointers = (rows_at, line_at, step, target)
                    _tiles(g, tile, pointers, corner, (start, depth, m, n))

    env.parallel(f, blocks * groups, task, captured)


def _tiles(
    f: Function,
    tile: Tile,
    pointers: tuple[V, V, V, V],
    corner: tuple[V, V],
    extent: tuple[V, V, V, V],
) -> None:
    """A tile of as many rows as there are left, by the smallest function that holds them."""
    *_, m, _ = extent
    left_over = m - corner[0]
    heights = [tile.rows * part // 3 for part in (1, 2, 3)]
    arguments = [*pointers, *corner, *extent]

    def choose(candidates: list[int]) -> None:
        height, *taller = candidates
        name = _tile_function(f.module, tile, height)
        if not taller:
            f.call(name, VOID, arguments)
            return
        with f.otherwise(left_over.le(height)) as choice:
            f.call(name, VOID, arguments)
            choice.otherwise()
            choose(taller)

    choose(heights)


def _tile_function(module: Module, tile: Tile, height: int) -> str:
    name = f"gemm.{tile.type.text}.{height}"
    if name not in module.functions:
        pointers = [("left", PTR), ("right", PTR), ("step", I64), ("target", PTR)]
        numbers = [(x, I64) for x in ("row", "column", "start", "depth", "m", "n")]
        g = module.function(
            name,
            VOID,
            [*pointers, *numbers],
            internal=True,
            attributes="noinline nounwind",
            parameter_attributes="noalias",
        )
        left, right, step, target, row, column, *extent = g.arguments
        _tile(g, tile, height, (left, right, step, target), (row, column), extent)
        g.ret()
    return name


def _tile(
    f: Function,
    tile: Tile,
    height: int,
    pointers: tuple[V, V, V, V],
    corner: tuple[V, V],
    extent: list[V],
) -> None:
    """One tile: sums in registers over the slice."""
    left, right, step, target = pointers
    start, depth, m, n = extent
    row, column = corner
    zero = f.const(0.0, tile.vector)
    sums = [[f.variable(zero) for _ in range(_VECTORS)] for _ in range(height)]
    with f.range(0, depth) as p:
        line = [
            f.load(f.element(right, tile.type, p * step + part * tile.lanes), tile.vector)
            for part in range(_VECTORS)
        ]
        for number in range(height):
            at = f.element(left, tile.type, p * tile.rows + number)
            factor = f.splat(f.load(at, tile.type), tile.lanes)
            for part in range(_VECTORS):
                total = sums[number][part]
                total.set(f.fma(factor, line[part], total.get()))
    masks = [_below(f, n - column - part * tile.lanes, tile.lanes) for part in range(_VECTORS)]
    is_first = start.eq(0)
    for number in range(height):
        with f.when((row + number).lt(m)):
            at = f.element(target, tile.type, (row + number) * n + column)
            for part in range(_VECTORS):
                address = memory.Address(part * tile.lanes, 1)
                made = sums[number][part]
                with f.when(~is_first):
                    old = memory.load_lanes(
                        f, f.element(at, tile.type, part * tile.lanes), tile.vector, masks[part]
                    )
                    made.set(made.get() + old)
                memory.store(f, at, made.get(), address, tile.lanes, masks[part])
