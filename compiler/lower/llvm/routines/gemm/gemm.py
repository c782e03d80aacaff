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

from typing import Final

from weft.compiler.abi import Run
from weft.compiler.ir import dtypes
from weft.compiler.ir.dtypes import DType
from weft.compiler.lower.llvm.caches import caches
from weft.compiler.lower.llvm.emit import memory
from weft.compiler.lower.llvm.emit.arrays import Array, Env, Follower
from weft.compiler.lower.llvm.emit.function import Function, Module, V
from weft.compiler.lower.llvm.emit.types import I32, I64, PTR, VOID, of_dtype
from weft.compiler.lower.llvm.routines.common.elements import read, vector_lanes, working, write
from weft.compiler.lower.llvm.routines.gemm import packing, tiles
from weft.compiler.lower.llvm.routines.gemm.tiles import Left, Lines, Target, Tile, tile_of
from weft.compiler.record import record

_LEAST_SLICE: Final = 128  # terms of a sum that are multiplied at a time, at least and at most
_MOST_SLICE: Final = 512
_MOST_BYTES: Final = 256  # of products of bytes, so that their sums stay below 2**24
_PANEL_PART: Final = 16  # of the second cache that a panel of so many terms takes at most
_TILES: Final = 4  # tiles below each other in a block of rows, at most
_STACK_BYTES: Final = 1 << 15  # of panels that need no memory from the heap
_EVEN: Final = 4  # rows of which blocks are multiples that are not multiples of tiles
_TASKS: Final = 8  # tasks per thread that a product is divided into where blocks do not fit
_TASK_STEPS: Final = 1 << 16  # multiplications that a task has at least

_FEW_ROWS: Final = 192  # up to which a right operand in rows that are near is read where it lies
_OFTEN: Final = 6  # panels for which packing a left operand pays then


@record
class Kind:
    """The dtypes of a product: of its operands, and of its result. Sums of halves are made in f32.
    So are those of bytes, a slice at a time: up to 2**24 they are exact.
    """

    operands: DType
    result: DType

    @property
    def is_of_bytes(self) -> bool:
        return self.operands.is_integer

    @property
    def sums(self) -> DType:
        return dtypes.f32 if self.is_of_bytes else working(self.result)

    @property
    def tile(self) -> Tile:
        return tile_of(of_dtype(self.sums))

    @property
    def name(self) -> str:
        same = self.operands is self.result
        return self.operands.name if same else f"{self.operands.name}{self.result.name}"

    @property
    def symbol(self) -> str:
        """weft_gemm_*(run, lhs, rhs, result, task, data, totals, first, m, n, k, four strides)."""
        return f"weft_gemm_{self.name}"

    @property
    def has_tiles(self) -> bool:
        """Whether the module of this kind has the tiles of its sums, for others too."""
        return self.operands is self.sums

    @property
    def exports(self) -> list[str]:
        """The functions of its module that programs may call."""
        return [self.symbol, *(tiles.names(self.tile) if self.has_tiles else ())]


KINDS: Final = {
    kind.name: kind
    for kind in (
        Kind(dtypes.f32, dtypes.f32),
        Kind(dtypes.f64, dtypes.f64),
        Kind(dtypes.f16, dtypes.f16),
        Kind(dtypes.bf16, dtypes.bf16),
        Kind(dtypes.f16, dtypes.f32),
        Kind(dtypes.bf16, dtypes.f32),
        Kind(dtypes.i8, dtypes.i8),
        Kind(dtypes.i8, dtypes.i32),
        Kind(dtypes.u8, dtypes.u8),
        Kind(dtypes.u8, dtypes.i32),
    )
}

_POINTERS: Final = ("run", "lhs", "rhs", "result", "task", "data", "totals")
_NUMBERS: Final = ("first", "m", "n", "k", "down", "across", "deeper", "along")


def kind_of(lhs: DType, rhs: DType, result: DType) -> Kind | None:
    """The kind of a product, if it is one of those that are generated here."""
    if lhs is not rhs:
        return None
    kind = Kind(lhs, result)
    return KINDS.get(kind.name)


def module_of(kind: Kind) -> Module:
    """The module of a kind."""
    module = Module()
    define(module, kind)
    return module


def call(
    f: Function,
    env: Env,
    lhs: Array,
    rhs: Array,
    result: Array,
    follower: Follower | None = None,
    totals: V | None = None,
) -> None:
    """The product of [m, k] and [k, n], any strides, into a row-major [m, n]; k is not 0. `totals`
    is where the n sums of the right operand's columns go, if they are wanted.
    """
    kind = kind_of(lhs.dtype, rhs.dtype, result.dtype)
    assert kind is not None
    goes_on = follower or Follower(f.const(0, PTR), f.const(0, PTR))
    sizes = (goes_on.first, *result.shape, lhs.shape[1], *lhs.strides, *rhs.strides)
    pointers = [env.run, lhs.pointer, rhs.pointer, result.pointer, goes_on.task, goes_on.data]
    pointers.append(totals or f.const(0, PTR))
    f.call(kind.symbol, VOID, [*pointers, *[f.const(size, I64) for size in sizes]])


def define(module: Module, kind: Kind) -> None:
    """Define the product of a kind, and its tiles, if it has those."""
    if kind.has_tiles:
        tiles.define(module, kind.tile)
    parameters = [*[(x, PTR) for x in _POINTERS], *[(x, I64) for x in _NUMBERS]]
    f = module.function(kind.symbol, VOID, parameters)
    run, *values = f.arguments
    env = Env(module, run, kind.symbol, [])
    if kind.result is kind.sums or kind.is_of_bytes:
        _build(f, env, _Product(kind, (*values, values[2])))
    else:
        m, n = values[7:9]
        sums = env.workspace(f, m * n * kind.tile.type.itemsize)
        _build(f, env, _Product(kind, (*values, sums)))
        env.free(f, sums)
    f.ret()


@record
class _Product:
    """What is multiplied, as the values that are passed to tasks."""

    kind: Kind
    values: tuple[V, ...]

    @property
    def tile(self) -> Tile:
        return self.kind.tile

    @property
    def most_slice(self) -> int:
        """The terms that are multiplied at a time, at most: panels are read from the second cache,
        and the more terms, the less often sums go to memory and back.
        """
        line = self.tile.columns * self.tile.type.itemsize
        fitting = caches().second // _PANEL_PART // line
        most = _MOST_BYTES if self.kind.is_of_bytes else _MOST_SLICE
        return max(min(fitting, most), _LEAST_SLICE) & -self.tile.lanes

    def slice(self, f: Function) -> V:
        """The terms that are multiplied at a time, so that all slices are about as long."""
        k = self.shape[2]
        each = _up(f, k, f.maximum(_up(f, k, self.most_slice), 1))
        return (each + (self.tile.lanes - 1)) & -self.tile.lanes

    @property
    def shape(self) -> tuple[V, V, V]:
        m, n, k = self.values[7:10]
        return m, n, k

    @property
    def lhs(self) -> Array:
        m, _, k = self.shape
        return Array(self.values[0], self.kind.operands, (m, k), self.values[10:12])

    @property
    def rhs(self) -> Array:
        _, n, k = self.shape
        return Array(self.values[1], self.kind.operands, (k, n), self.values[12:14])

    @property
    def result(self) -> Array:
        m, n, _ = self.shape
        return Array(self.values[2], self.kind.result, (m, n), (n, 1))

    @property
    def sums(self) -> Array:
        """Where the sums are made: in the result, or in memory of their own."""
        m, n, _ = self.shape
        return Array(self.values[14], self.kind.sums, (m, n), (n, 1))

    @property
    def totals(self) -> V:
        """Where the sums of the right operand's columns go, or null."""
        return self.values[5]

    @property
    def is_at_work(self) -> bool:
        """Whether the operands are of the dtype of the sums already."""
        return self.kind.operands is self.kind.sums

    def go_on(self, f: Function, run: V, row: V, end: V) -> None:
        """Do what is left to do with rows whose sums are done."""
        if self.is_narrowed:
            n = self.shape[1]
            _narrow(f, self.sums, self.result, row * n, end * n)
        follower = Follower(self.values[3], self.values[4], self.values[6])
        with f.when(follower.task.ne(0)):
            follower.call(f, run, row, end)

    @property
    def has_more(self) -> V:
        """Whether there is something left to do then."""
        task = self.values[3]
        return task.eq(task) if self.is_narrowed else task.ne(0)

    @property
    def is_narrowed(self) -> bool:
        """Whether finished sums have to be converted."""
        return self.kind.result is not self.kind.sums and not self.kind.is_of_bytes


def _narrow(f: Function, source: Array, target: Array, begin: V, end: V) -> None:
    """Elements of row-major arrays from one dtype to another."""
    lanes = vector_lanes(source.dtype)
    middle = begin + ((end - begin) & -lanes)
    for low, high, width in ((begin, middle, lanes), (middle, end, 0)):
        with f.range(low, high, max(width, 1)) as place:
            value = read(f, source, place, width, source.dtype)
            write(f, target, place, value, source.dtype)


@record
class _Division:
    """How a product is divided: rows in blocks, each of some units of rows; groups of panels,
    panels in all, how many of these are read where they lie, and the elements that a packed one
    takes; the terms of a slice.
    """

    blocks: V
    units: V
    unit: V
    groups: V
    panels: V
    in_place: V
    panel_room: V
    slice: V

    @property
    def values(self) -> tuple[V, ...]:
        rows = self.blocks, self.units, self.unit
        return *rows, self.groups, self.panels, self.in_place, self.panel_room, self.slice

    @property
    def packed_panels(self) -> V:
        return self.panels - self.in_place

    def first_row(self, f: Function, block: V) -> V:
        """Where a block starts; the last one ends with the rows."""
        return f.divide(self.units * block, self.blocks) * self.unit


def _build(f: Function, env: Env, product: _Product) -> None:
    tile = product.tile
    m, n, k = product.shape
    depth = product.slice(f)
    panels = _up(f, n, tile.columns)
    in_place = _read_in_place(f, product)
    panel_room = packing.room(tile, tile.columns, depth)
    blocks, groups = _blocks(f, env, product, panels)
    division = _Division(*blocks, groups, panels, in_place, panel_room, depth)
    packed_panels = division.packed_panels
    # The slices that are packed at a time fit the last cache, with what else is there.
    line_bytes = f.maximum(packed_panels * (tile.columns * tile.type.itemsize), 1)
    affordable = f.divide(f.const(caches().last // 4, I64), line_bytes * depth)
    several = f.minimum(f.maximum(affordable, 1), _up(f, k, depth))
    room = several * packed_panels * panel_room * tile.type.itemsize
    few = f.stack(I64, _STACK_BYTES // 8, align=64)
    packed = f.variable(few)
    is_large = room.gt(_STACK_BYTES)
    with f.when(is_large):
        packed.set(env.workspace(f, room))
    with f.range(0, k, several * depth) as start:
        end = f.minimum(start + several * depth, k)
        span = (start, end)
        with f.when(packed_panels.gt(0)):
            _pack_right(f, env, product, division, packed.get(), span)
        _multiply(f, env, product, division, packed.get(), span)
    with f.when(is_large):
        env.free(f, packed.get())
    with f.when(product.has_more & groups.ne(1)):
        _go_on(f, env, product)


def _go_on(f: Function, env: Env, product: _Product) -> None:
    """Go on with all rows, where tasks did not have whole ones."""

    def step(g: Function, inner: Env, row: V, given: list[V]) -> None:
        _Product(product.kind, tuple(given)).go_on(g, inner.run, row, row + 1)

    env.parallel(f, product.shape[0], step, product.values)


def _up(f: Function, size: V, step: V | int) -> V:
    return f.divide(size + f.sub(f.const(step, I64), 1), step)


def _read_in_place(f: Function, product: _Product) -> V:
    """How many panels are read where they lie: all that are full, where the right operand fits the
    second cache or is used by few rows, by very few where its own rows are far apart.
    """
    if not product.is_at_work:
        return f.const(0, I64)
    tile, (m, n, k) = product.tile, product.shape
    down, along = [f.const(stride, I64) for stride in product.rhs.strides]
    apart = f.maximum(down, -down) * tile.type.itemsize
    # Rows that are a power of two apart find room in one of as many lines of the cache.
    has_room = ((apart & -apart) * product.slice(f)).le(caches().second)
    is_small = (n * k * tile.type.itemsize).le(caches().second)
    is_near = apart.le(tiles.FAR_BYTES) & has_room & (is_small | m.le(_FEW_ROWS))
    wanted = along.eq(1) & (is_near | m.le(_TILES * tile.rows))
    return f.select(wanted, f.divide(n, tile.columns), 0)


def _blocks(f: Function, env: Env, product: _Product, panels: V) -> tuple[tuple[V, V, V], V]:
    """How many blocks of rows there are, the units and rows of a unit that they are divided at,
    and how many groups the panels form: so that all threads have the same to do, but no more
    tasks than pay.
    """
    m, n, k = product.shape
    tile = product.tile
    threads = f.load(f.element(env.run, I64, int(Run.THREADS)), I64)
    affordable = f.maximum(f.divide(m * n * k, _TASK_STEPS), 1)
    workers = f.maximum(f.minimum(threads, affordable), 1)
    whole, fine = [_up(f, _up(f, m, unit), workers) * unit for unit in (tile.rows, _EVEN)]
    # Whole tiles are worth a little waiting.
    is_fine = (fine * 64).lt(whole * 63)
    unit = f.select(is_fine, f.const(_EVEN, I64), tile.rows)
    units = _up(f, m, unit)
    # A twentieth of the time may be lost to threads that wait.
    is_even = (f.minimum(whole, fine) * workers * 20).le(m * 21)
    # Rows can be followed only by who has all of their columns.
    is_followed = product.has_more & units.ge(workers)
    most = _TILES * tile.rows
    alone, shared = _up(f, m, most), _up(f, m, workers * most) * workers
    blocks = f.select(is_even | is_followed, shared, alone)
    affordable = f.maximum(f.divide(affordable, f.maximum(blocks, 1)), 1)
    several = f.minimum(
        f.minimum(_up(f, workers * _TASKS, f.maximum(blocks, 1)), panels), affordable
    )
    groups = f.select(is_even | is_followed, 1, f.maximum(several, 1))
    return (blocks, units, unit), groups


def _pack_right(
    f: Function, env: Env, product: _Product, division: _Division, packed: V, span: tuple[V, V]
) -> None:
    """The panels of some slices, slice by slice. A task has a few lines of all panels where these
    lie in one piece, else all lines of one panel: memory is read in its order.
    """
    tile = product.tile
    start, end = span
    is_in_rows = f.const(product.rhs.strides[1], I64).eq(1)
    lines = f.select(is_in_rows, f.const(tile.lanes, I64), division.slice)
    group = f.select(is_in_rows, division.packed_panels, 1)
    groups = f.divide(division.packed_panels, group)
    captured = [*product.values, *division.values, packed, start, end, lines, group, groups]

    def pack(g: Function, inner: Env, number: V, given: list[V]) -> None:
        count = len(product.values)
        here = _Product(product.kind, tuple(given[:count]))
        *divided, target, first, last, each, several, all_groups = given[count:]
        line = first + g.divide(number, all_groups) * each
        panel = g.remainder(number, all_groups) * several
        strip = _Strip(g, here, _Division(*divided), target, first)
        with g.range(panel, panel + several) as place:
            strip.pack(place, line, g.minimum(last - line, each))

    grain = f.maximum(f.divide(f.const(1 << 15, I64), lines * group * tile.columns), 1)
    env.parallel(f, _up(f, end - start, lines) * groups, pack, captured, grain)


@record
class _Strip:
    """Where panels are packed to, under emission: those of the slices from line `first` on."""

    f: Function
    product: _Product
    division: _Division
    packed: V
    first: V

    def pack(self, place: V, line: V, lines: V) -> None:
        """Some lines of a panel; a slice is a multiple of them, but for the last one."""
        f, tile, division, rhs = self.f, self.product.tile, self.division, self.product.rhs
        column = (place + division.in_place) * tile.columns
        columns = f.minimum(self.product.shape[1] - column, tile.columns)
        corner = rhs.moved(f, rhs.position(f, (line, column)))
        source = Array(corner.pointer, rhs.dtype, (lines, columns), rhs.strides)
        passed = line - self.first
        panel = f.divide(passed, division.slice) * division.packed_panels + place
        inside = f.remainder(passed, division.slice) * tile.columns
        at = panel * division.panel_room + inside
        packing.pack(f, tile, tile.columns, source, f.element(self.packed, tile.type, at))


def _multiply(
    f: Function,
    env: Env,
    product: _Product,
    division: _Division,
    packed: V,
    span: tuple[V, V],
) -> None:
    """All tiles of some slices, added to what the slices before gave."""
    captured = [*product.values, *division.values, packed, *span]

    def task(g: Function, inner: Env, number: V, given: list[V]) -> None:
        count = len(product.values)
        here = _Product(product.kind, tuple(given[:count]))
        *divided, target, first, last = given[count:]
        _Task(g, inner, here, _Division(*divided), target, (first, last)).emit(number)

    env.parallel(f, division.blocks * division.groups, task, captured)


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
        self.left_room = packing.most_room(self.tile, self.tile.rows, self.product.most_slice)

    def emit(self, number: V) -> None:
        f, division = self.f, self.division
        block, part = f.divide(number, division.groups), f.remainder(number, division.groups)
        row = division.first_row(f, block)
        rows = f.minimum(division.first_row(f, block + 1), self.product.shape[0]) - row
        low = f.divide(division.panels * part, division.groups)
        high = f.divide(division.panels * (part + 1), division.groups)
        room = f.stack(self.tile.type, self.left_room * _TILES, align=64)
        count = _TILES * self.tile.rows * self.tile.columns if self.product.kind.is_of_bytes else 1
        apart = f.stack(self.tile.type, count, align=64)
        one = f.stack(self.tile.type)
        f.store(f.const(1.0, self.tile.type), one)
        with f.range(*self.span, division.slice) as start:
            depth = f.minimum(self.span[1] - start, division.slice)
            with f.when(self._is_packed(high - low)):
                self._pack_left(room, row, rows, start, depth)
            with f.range(low, high) as panel:
                right = self._right(panel, start)
                target = self._target(row, rows, panel, start)
                if self.product.kind.is_of_bytes:
                    here = Target(apart, self.tile.columns, rows, target.columns, 0)
                    self._from_packed(room, right, here, depth)
                    self._add_up(here, row, panel, start)
                else:
                    self._tiles(room, row, right, target, start, depth, self._is_packed(high - low))
                if self.product.is_at_work:
                    self._add_to_totals(one, block, panel, right, start, depth)
        is_done = self.span[1].eq(self.product.shape[2]) & division.groups.eq(1)
        with f.when(self.product.has_more & is_done):
            self.product.go_on(f, self.env.run, row, row + rows)

    def _add_to_totals(self, one: V, block: V, panel: V, right: Lines, start: V, depth: V) -> None:
        """Sums of a panel's columns: its product with a row of ones. Blocks take turns at this."""
        f, tile, totals = self.f, self.tile, self.product.totals
        with f.when(totals.ne(0)), f.when(f.remainder(panel, self.division.blocks).eq(block)):
            column = panel * tile.columns
            columns = f.minimum(self.product.shape[1] - column, tile.columns)
            at = f.element(totals, tile.type, column)
            here = Target(at, tile.columns, 1, columns, start.ne(0).to(I64))
            tiles.multiply(f, tile, Left(one, "columns", 0), right, here, depth)

    def _is_packed(self, panels: V) -> V:
        """Whether the left operand is packed: if it lies apart both ways, or if it is used often
        and its rows are so far apart that they compete for the same lines of the cache.
        """
        f = self.f
        down, across = [f.const(stride, I64) for stride in self.product.lhs.strides]
        is_far = f.maximum(down, across).ge(tiles.FAR_BYTES // self.tile.type.itemsize)
        if not self.product.is_at_work:
            return down.eq(down)
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
        number = f.divide(start - self.span[0], division.slice) * division.packed_panels
        packed = f.element(self.packed, tile.type, (number + place) * division.panel_room)
        where = rhs.at(f, start * deeper + panel * tile.columns)
        is_packed = place.ge(0)
        step = f.select(is_packed, f.const(tile.columns, I64), deeper)
        return Lines(f.select(is_packed, packed, where), step)

    def _target(self, row: V, rows: V, panel: V, start: V) -> Target:
        f, result = self.f, self.product.sums
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
        if not self.product.is_at_work:
            self._from_packed(room, right, target, depth)
            return
        down, across = lhs.strides
        corner = lhs.at(f, lhs.position(f, (row, start)))
        with f.otherwise(is_packed) as choice:
            self._from_packed(room, right, target, depth)
            choice.otherwise()
            with f.otherwise(f.compare("eq", across, 1)) as in_rows:
                tiles.multiply(f, tile, Left(corner, "rows", down), right, target, depth)
                in_rows.otherwise()
                tiles.multiply(f, tile, Left(corner, "columns", across), right, target, depth)

    def _add_up(self, sums: Target, row: V, panel: V, start: V) -> None:
        """Add the sums of a slice to a result of integers."""
        f, tile, result = self.f, self.tile, self.product.result
        vector = result.type.with_lanes(tile.lanes)
        with f.range(0, sums.rows) as i:
            place = result.position(f, (row + i, panel * tile.columns))
            for part in range(tile.columns // tile.lanes):
                first = part * tile.lanes
                mask = tiles.below(f, f.const(sums.columns, I64) - first, tile.lanes)
                at = f.element(sums.pointer, tile.type, i * tile.columns + first)
                made = f.variable(f.load(at, tile.vector).to(I32.with_lanes(tile.lanes)).to(vector))
                to = result.at(f, place + first)
                with f.when(start.ne(0)):
                    made.set(made.get() + memory.load_lanes(f, to, vector, mask))
                memory.store(f, to, made.get(), memory.Address(0, 1), tile.lanes, mask)

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
