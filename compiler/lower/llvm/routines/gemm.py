"""Products of matrices of real floats: packed panels times tiles, on several threads.

The right operand is packed into panels as wide as a tile, unless it lies in rows and is used few
times. Tasks are blocks of rows, or, where there are too few of these, blocks of rows times groups
of panels. A task goes through the sum in slices; a left operand whose rows lie in one piece is read
where it lies, others are packed as they are used. Every element is summed up in the same order
whatever the number of threads. What follows a product goes on with the rows of a block as soon as
they are done.

The code serves all sizes and strides, so it is compiled once and linked to the programs that call
it by `symbol`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from weft.compiler.abi import Run
from weft.compiler.ir import dtypes
from weft.compiler.ir.dtypes import DType
from weft.compiler.lower.llvm.arrays import Array, Env, Follower
from weft.compiler.lower.llvm.emit import Function, Module, V
from weft.compiler.lower.llvm.routines import packing, tiles
from weft.compiler.lower.llvm.routines.tiles import Left, Lines, Target, Tile, tile_of
from weft.compiler.lower.llvm.types import I64, PTR, VOID, of_dtype

_SLICE: Final = 256  # terms of a sum that are multiplied at a time
_TILES: Final = 4  # tiles below each other in a block of rows, at most
_PACKED_BYTES: Final = 1 << 23  # of a right operand that are packed at a time
_TASKS: Final = 8  # tasks per thread that a product is divided into where blocks do not fit
_TASK_STEPS: Final = 1 << 16  # multiplications that a task has at least
_FEW_ROWS: Final = 96  # up to which a right operand in rows is read where it lies

_SMALL_BYTES: Final = 1 << 17  # of a right operand in rows that is always read where it lies
_FAR_BYTES: Final = 4096  # between rows that compete for the same lines of the cache
_OFTEN: Final = 6  # panels for which packing a left operand pays then

DTYPES: Final = (dtypes.f32, dtypes.f64)

_POINTERS: Final = ("run", "lhs", "rhs", "result", "task", "data")
_NUMBERS: Final = ("first", "m", "n", "k", "down", "across", "deeper", "along")


def symbol(dtype: DType) -> str:
    """The name of weft_gemm_*(run, lhs, rhs, result, task, data, first, m, n, k, four strides)."""
    return f"weft_gemm_{dtype.name}"


def text(dtype: DType) -> str:
    """The module with the product of a dtype, and the tiles that it uses."""
    module = Module()
    define(module, dtype)
    return module.text()


def exports(dtype: DType) -> list[str]:
    """The functions of that module that programs may call."""
    return [symbol(dtype), *tiles.names(tile_of(of_dtype(dtype)))]


def call(
    f: Function,
    env: Env,
    lhs: Array,
    rhs: Array,
    result: Array,
    follower: Follower | None = None,
) -> None:
    """The product of [m, k] and [k, n], any strides, into a row-major [m, n]; k is not 0."""
    goes_on = follower or Follower(f.const(0, PTR), f.const(0, PTR))
    sizes = (goes_on.first, *result.shape, lhs.shape[1], *lhs.strides, *rhs.strides)
    pointers = [env.run, lhs.pointer, rhs.pointer, result.pointer, goes_on.task, goes_on.data]
    f.call(symbol(result.dtype), VOID, [*pointers, *[f.const(size, I64) for size in sizes]])


def define(module: Module, dtype: DType) -> None:
    """Define the product of a dtype, and its tiles."""
    tiles.define(module, tile_of(of_dtype(dtype)))
    name = symbol(dtype)
    parameters = [*[(x, PTR) for x in _POINTERS], *[(x, I64) for x in _NUMBERS]]
    f = module.function(name, VOID, parameters)
    run = f.arguments[0]
    _build(f, Env(module, run, name, []), _Product(dtype, tuple(f.arguments[1:])))
    f.ret()


@dataclass(frozen=True, slots=True)
class _Product:
    """What is multiplied, as the values that are passed to tasks."""

    dtype: DType
    values: tuple[V, ...]

    @property
    def tile(self) -> Tile:
        return tile_of(of_dtype(self.dtype))

    @property
    def shape(self) -> tuple[V, V, V]:
        m, n, k = self.values[6:9]
        return m, n, k

    @property
    def lhs(self) -> Array:
        m, _, k = self.shape
        return Array(self.values[0], self.dtype, (m, k), self.values[9:11])

    @property
    def rhs(self) -> Array:
        _, n, k = self.shape
        return Array(self.values[1], self.dtype, (k, n), self.values[11:13])

    @property
    def follower(self) -> Follower:
        return Follower(self.values[3], self.values[4], self.values[5])

    @property
    def result(self) -> Array:
        m, n, _ = self.shape
        return Array(self.values[2], self.dtype, (m, n), (n, 1))


@dataclass(frozen=True, slots=True)
class _Division:
    """How a product is divided: tiles in a block of rows, groups of panels, panels in all, how many
    of these are read where they lie, and the elements that a packed one takes.
    """

    tiles: V
    groups: V
    panels: V
    in_place: V
    panel_room: V

    @property
    def values(self) -> tuple[V, ...]:
        return self.tiles, self.groups, self.panels, self.in_place, self.panel_room


def _build(f: Function, env: Env, product: _Product) -> None:
    tile = product.tile
    m, n, k = product.shape
    depth = f.minimum(k, _SLICE)
    panels = _up(f, n, tile.columns)
    in_place = _read_in_place(f, product)
    blocks, tall, groups = _blocks(f, env, product, panels)
    panel_room = packing.room(tile, tile.columns, depth)
    division = _Division(tall, groups, panels, in_place, panel_room)
    packed_panels = panels - in_place
    # Slices that are packed at a time, so that a large operand does not take much memory.
    line_bytes = f.maximum(packed_panels * (tile.columns * tile.type.itemsize), 1)
    affordable = f.divide(f.const(_PACKED_BYTES, I64), line_bytes * _SLICE)
    several = f.minimum(f.maximum(affordable, 1), _up(f, k, _SLICE))
    room = several * packed_panels * panel_room * tile.type.itemsize
    packed = f.variable(0, PTR)
    with f.when(packed_panels.gt(0)):
        packed.set(env.workspace(f, room))
    with f.range(0, k, several * _SLICE) as start:
        end = f.minimum(start + several * _SLICE, k)
        span = (start, end)
        with f.when(packed_panels.gt(0)):
            _pack_right(f, env, product, division, packed.get(), span)
        _multiply(f, env, product, division, packed.get(), span, blocks)
    with f.when(packed_panels.gt(0)):
        env.free(f, packed.get())
    with f.when(product.follower.task.ne(0) & groups.ne(1)):
        _follow(f, env, product)


def _follow(f: Function, env: Env, product: _Product) -> None:
    """Go on with all rows, where tasks did not have whole ones."""

    def step(g: Function, inner: Env, row: V, given: list[V]) -> None:
        _Product(product.dtype, tuple(given)).follower.call(g, inner.run, row, row + 1)

    env.parallel(f, product.shape[0], step, product.values)


def _up(f: Function, size: V, step: V | int) -> V:
    return f.divide(size + f.sub(f.const(step, I64), 1), step)


def _read_in_place(f: Function, product: _Product) -> V:
    """How many panels are read where they lie: all that are full, where few rows are multiplied or
    the operand is small.
    """
    m, n, k = product.shape
    lies_in_rows = f.compare("eq", product.rhs.strides[1], 1)
    is_small = (n * k).le(_SMALL_BYTES // product.tile.type.itemsize)
    wanted = lies_in_rows & (m.le(_FEW_ROWS) | is_small)
    return f.select(wanted, f.divide(n, product.tile.columns), 0)


def _blocks(f: Function, env: Env, product: _Product, panels: V) -> tuple[V, V, V]:
    """How many blocks of rows there are, of how many tiles each, and how many groups the panels
    form: so that all threads have the same to do, but no more tasks than pay.
    """
    m, n, k = product.shape
    threads = f.load(f.element(env.run, I64, int(Run.THREADS)), I64)
    affordable = f.maximum(f.divide(m * n * k, _TASK_STEPS), 1)
    workers = f.maximum(f.minimum(threads, affordable), 1)
    high = f.maximum(_up(f, m, product.tile.rows), 1)
    tall, least = f.variable(_TILES, I64), f.variable(1 << 62, I64)
    for candidate in range(_TILES, 0, -1):
        rounds = _up(f, _up(f, high, candidate), workers)
        with f.when((rounds * candidate).lt(least.get())):
            least.set(rounds * candidate)
            tall.set(candidate)
    blocks = _up(f, high, tall.get())
    # A twentieth of the time may be lost to threads that wait.
    is_even = (least.get() * workers * 20).le(high * 21)
    most = f.maximum(f.divide(affordable, blocks), 1)
    several = f.minimum(f.minimum(_up(f, workers * _TASKS, blocks), panels), most)
    # Rows can be followed only by who has all of their columns.
    is_followed = product.follower.task.ne(0) & blocks.ge(workers)
    groups = f.select(is_even | is_followed, 1, f.maximum(several, 1))
    return blocks, tall.get(), groups


def _pack_right(
    f: Function, env: Env, product: _Product, division: _Division, packed: V, span: tuple[V, V]
) -> None:
    """The panels of some slices, slice by slice."""
    tile = product.tile
    start, end = span
    panels = division.panels - division.in_place
    captured = [*product.values, *division.values, packed, start, end]

    def pack(g: Function, inner: Env, number: V, given: list[V]) -> None:
        here = _Product(product.dtype, tuple(given[: len(product.values)]))
        *_, count, skipped, room, target, first, last = given
        each = count - skipped
        part, panel = g.divide(number, each), g.remainder(number, each) + skipped
        line = first + part * _SLICE
        column = panel * tile.columns
        lines = g.minimum(last - line, _SLICE)
        columns = g.minimum(here.shape[1] - column, tile.columns)
        rhs = here.rhs
        corner = rhs.moved(g, rhs.position(g, (line, column)))
        source = Array(corner.pointer, rhs.dtype, (lines, columns), rhs.strides)
        packing.pack(g, tile, tile.columns, source, g.element(target, tile.type, number * room))

    lines = f.minimum(end - start, _SLICE)
    grain = f.maximum(f.divide(f.const(1 << 15, I64), f.maximum(lines * tile.columns, 1)), 1)
    env.parallel(f, _up(f, end - start, _SLICE) * panels, pack, captured, grain)


def _multiply(
    f: Function,
    env: Env,
    product: _Product,
    division: _Division,
    packed: V,
    span: tuple[V, V],
    blocks: V,
) -> None:
    """All tiles of some slices, added to what the slices before gave."""
    captured = [*product.values, *division.values, packed, *span]

    def task(g: Function, inner: Env, number: V, given: list[V]) -> None:
        count = len(product.values)
        here = _Product(product.dtype, tuple(given[:count]))
        *divided, target, first, last = given[count:]
        _Task(g, inner, here, _Division(*divided), target, (first, last)).emit(number)

    env.parallel(f, blocks * division.groups, task, captured)


class _Task:
    """Some rows times some panels, under emission."""

    def __init__(
        self,
        f: Function,
        env: Env,
        product: _Product,
        division: _Division,
        packed: V,
        span: tuple[V, V],
    ) -> None:
        self.f = f
        self.env = env
        self.product = product
        self.tile = product.tile
        self.division = division
        self.packed = packed
        self.span = span
        self.left_room = packing.most_room(self.tile, self.tile.rows, _SLICE)

    def emit(self, number: V) -> None:
        f, division = self.f, self.division
        m = self.product.shape[0]
        block, part = f.divide(number, division.groups), f.remainder(number, division.groups)
        tall = division.tiles * self.tile.rows
        row = block * tall
        rows = f.minimum(m - row, tall)
        low = f.divide(division.panels * part, division.groups)
        high = f.divide(division.panels * (part + 1), division.groups)
        room = f.stack(self.tile.type, self.left_room * _TILES, align=64)
        with f.range(*self.span, _SLICE) as start:
            depth = f.minimum(self.span[1] - start, _SLICE)
            with f.when(self._is_packed(high - low)):
                self._pack_left(room, row, rows, start, depth)
            with f.range(low, high) as panel:
                right = self._right(panel, start)
                target = self._target(row, rows, panel, start)
                self._tiles(room, row, right, target, start, depth, self._is_packed(high - low))
        follower = self.product.follower
        is_done = self.span[1].eq(self.product.shape[2]) & division.groups.eq(1)
        with f.when(follower.task.ne(0) & is_done):
            follower.call(f, self.env.run, row, row + rows)

    def _is_packed(self, panels: V) -> V:
        """Whether the left operand is packed: if it lies apart both ways, or if it is used often
        and its rows are so far apart that they compete for the same lines of the cache.
        """
        f = self.f
        down, across = [f.const(stride, I64) for stride in self.product.lhs.strides]
        is_far = f.maximum(down, across).ge(_FAR_BYTES // self.tile.type.itemsize)
        is_apart = down.ne(1) & across.ne(1)
        return is_apart | (is_far & panels.ge(_OFTEN))

    def _pack_left(self, room: V, row: V, rows: V, start: V, depth: V) -> None:
        """A block of rows, tile by tile."""
        f, tile, lhs = self.f, self.tile, self.product.lhs
        down, across = lhs.strides
        with f.range(0, rows, tile.rows) as first:
            corner = lhs.moved(f, lhs.position(f, (row + first, start)))
            count = f.minimum(rows - first, tile.rows)
            source = Array(corner.pointer, lhs.dtype, (depth, count), (across, down))
            which = f.divide(first, tile.rows)
            target = f.element(room, tile.type, which * self.left_room)
            packing.pack(f, tile, tile.rows, source, target)

    def _right(self, panel: V, start: V) -> Lines:
        """The lines of a panel, from a slice on: packed ones, or where they lie."""
        f, tile, rhs, division = self.f, self.tile, self.product.rhs, self.division
        deeper = f.const(rhs.strides[0], I64)
        place = panel - division.in_place
        number = f.divide(start - self.span[0], _SLICE) * (division.panels - division.in_place)
        packed = f.element(self.packed, tile.type, (number + place) * division.panel_room)
        where = rhs.at(f, start * deeper + panel * tile.columns)
        is_packed = place.ge(0)
        step = f.select(is_packed, f.const(tile.columns, I64), deeper)
        return Lines(f.select(is_packed, packed, where), step)

    def _target(self, row: V, rows: V, panel: V, start: V) -> Target:
        f, result = self.f, self.product.result
        n = self.product.shape[1]
        column = panel * self.tile.columns
        corner = result.at(f, result.position(f, (row, column)))
        columns = f.minimum(n - column, self.tile.columns)
        return Target(corner, n, rows, columns, start.ne(0).to(I64))

    def _tiles(
        self, room: V, row: V, right: Lines, target: Target, start: V, depth: V, is_packed: V
    ) -> None:
        """A panel times the rows, read where they lie if they are not packed."""
        f, tile, lhs = self.f, self.tile, self.product.lhs
        down, across = lhs.strides
        corner = lhs.at(f, lhs.position(f, (row, start)))
        with f.otherwise(is_packed) as choice:
            self._from_packed(room, right, target, depth)
            choice.otherwise()
            with f.otherwise(f.compare("eq", across, 1)) as in_rows:
                tiles.multiply(f, tile, Left(corner, "rows", down), right, target, depth)
                in_rows.otherwise()
                tiles.multiply(f, tile, Left(corner, "columns", across), right, target, depth)

    def _from_packed(self, room: V, right: Lines, target: Target, depth: V) -> None:
        f, tile, rows = self.f, self.tile, self.f.const(target.rows, I64)
        with f.range(0, rows, tile.rows) as first:
            left = f.element(room, tile.type, f.divide(first, tile.rows) * self.left_room)
            here = Target(
                f.element(target.pointer, tile.type, f.mul(first, target.spacing)),
                target.spacing,
                f.minimum(rows - first, tile.rows),
                target.columns,
                target.adds,
            )
            tiles.multiply_packed(f, tile, left, right, here, depth)
