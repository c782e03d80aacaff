"""The tasks of a generated product: panels that are packed, and tiles that are multiplied.

A task goes through the sum in slices; a left operand whose rows lie in one piece is read where it
lies, others are packed as they are used. Every element is summed up in the same order whatever the
number of threads. What follows a product goes on with the rows of a block as soon as they are done.
"""

from __future__ import annotations

from typing import Final

from weft.compiler.lower.llvm.emit import memory
from weft.compiler.lower.llvm.emit.arrays import Array, Env
from weft.compiler.lower.llvm.emit.function import Function, V
from weft.compiler.lower.llvm.emit.types import I32, I64, PTR
from weft.compiler.lower.llvm.routines.gemm import packing, tiles
from weft.compiler.lower.llvm.routines.gemm.blocking import LIMITS, Blocking, Product, up
from weft.compiler.lower.llvm.routines.gemm.tiles import Left, Lines, Target
from weft.compiler.record import record


def go_on(f: Function, env: Env, product: Product) -> None:
    """Go on with all rows, where tasks did not have whole ones."""

    def step(g: Function, inner: Env, row: V, given: list[V]) -> None:
        product.rebound(given).go_on(g, inner.run, row, row + 1)

    env.parallel(f, product.given.m, step, product.given.values)


def pack_right(
    f: Function, env: Env, product: Product, blocking: Blocking, packed: V, span: tuple[V, V]
) -> None:
    """The panels of some slices, slice by slice. A task has a few lines of all panels where these
    lie in one piece, else all lines of one panel: memory is read in its order.
    """
    tile = product.tile
    start, end = span
    is_in_rows = f.const(product.rhs.strides[1], I64).eq(1)
    lines = f.select(is_in_rows, f.const(tile.lanes, I64), blocking.slice)
    group = f.select(is_in_rows, blocking.packed_panels, 1)
    groups = f.divide(blocking.packed_panels, group)
    captured = [*product.given.values, *blocking.values, packed, start, end, lines, group, groups]

    def pack(g: Function, inner: Env, number: V, given: list[V]) -> None:
        count = len(product.given.values)
        here = product.rebound(given[:count])
        *divided, target, first, last, each, several, all_groups = given[count:]
        line = first + g.divide(number, all_groups) * each
        panel = g.remainder(number, all_groups) * several
        strip = _Strip(g, here, Blocking(*divided), target, first)
        with g.range(panel, panel + several) as place:
            strip.pack(place, line, g.minimum(last - line, each))

    grain = f.maximum(f.divide(f.const(1 << 15, I64), lines * group * tile.columns), 1)
    env.parallel(f, up(f, end - start, lines) * groups, pack, captured, grain)


@record
class _Strip:
    """Where panels are packed to, under emission: those of the slices from line `first` on."""

    f: Function
    product: Product
    blocking: Blocking
    packed: V
    first: V

    def pack(self, place: V, line: V, lines: V) -> None:
        """Some lines of a panel; a slice is a multiple of them, but for the last one."""
        f, tile, blocking, rhs = self.f, self.product.tile, self.blocking, self.product.rhs
        column = (place + blocking.in_place) * tile.columns
        columns = f.minimum(self.product.given.n - column, tile.columns)
        corner = rhs.moved(f, rhs.position(f, (line, column)))
        source = Array(corner.pointer, rhs.dtype, (lines, columns), rhs.strides)
        passed = line - self.first
        panel = f.divide(passed, blocking.slice) * blocking.packed_panels + place
        inside = f.remainder(passed, blocking.slice) * tile.columns
        at = panel * blocking.panel_room + inside
        packing.pack(f, tile, tile.columns, source, f.element(self.packed, tile.type, at))


def multiply(
    f: Function,
    env: Env,
    product: Product,
    blocking: Blocking,
    packed: V,
    span: tuple[V, V],
) -> None:
    """All tiles of some slices, added to what the slices before gave."""
    captured = [*product.given.values, *blocking.values, packed, *span]

    def task(g: Function, inner: Env, number: V, given: list[V]) -> None:
        count = len(product.given.values)
        here = product.rebound(given[:count])
        *divided, target, first, last = given[count:]
        _Task(g, inner, here, Blocking(*divided), target, (first, last)).emit(number)

    is_apart, is_far = _left_strides(f, product)
    room = f.select(is_apart | is_far, _left_bytes(product, blocking.slice), 0)
    env.parallel(f, blocking.blocks * blocking.groups, task, captured, scratch=room)


def _left_bytes(product: Product, slice: V) -> V:
    """What a task takes that packs its part of the left operand."""
    return _left_room(product, slice) * (LIMITS.tiles * product.tile.type.itemsize)


def _left_room(product: Product, slice: V) -> V:
    """The elements of one tile's part."""
    return packing.room(product.tile, product.tile.rows, slice)


def _left_strides(f: Function, product: Product) -> tuple[V, V]:
    """Whether the left operand lies apart both ways; and whether its rows are so far apart that
    they compete for the same lines of the cache, so that it is packed where it is used often.
    """
    down, across = [f.const(stride, I64) for stride in product.lhs.strides]
    if not product.kind.is_at_work:  # it is always packed
        return down.eq(down), down.ne(down)
    is_far = f.maximum(down, across).ge(tiles.FAR_BYTES // product.tile.type.itemsize)
    return down.ne(1) & across.ne(1), is_far


class _Task:
    """Some rows times some panels, under emission."""

    def __init__(
        self,
        f: Function,
        env: Env,
        product: Product,
        blocking: Blocking,
        packed: V,
        span: tuple[V, V],
    ) -> None:
        self.f = f
        self.env = env
        self.product = product
        self.tile = product.tile
        self.blocking = blocking
        self.packed = packed
        self.span = span
        self.left_room: Final = _left_room(product, blocking.slice)

    def emit(self, number: V) -> None:
        f, blocking = self.f, self.blocking
        block, part = f.divide(number, blocking.groups), f.remainder(number, blocking.groups)
        row = blocking.first_row(f, block)
        rows = f.minimum(blocking.first_row(f, block + 1), self.product.given.m) - row
        low = f.divide(blocking.panels * part, blocking.groups)
        high = f.divide(blocking.panels * (part + 1), blocking.groups)
        is_apart, is_far = _left_strides(f, self.product)
        is_packed = is_apart | (is_far & (high - low).ge(LIMITS.often))
        held = f.variable(0, PTR)
        with f.when(is_packed):
            held.set(self.env.workspace(f, _left_bytes(self.product, blocking.slice)))
        room = held.get()
        most = LIMITS.tiles * self.tile.rows * self.tile.columns
        count = most if self.product.kind.is_of_bytes else 1
        apart = f.stack(self.tile.type, count, align=64)
        one = f.stack(self.tile.type)
        f.store(f.const(1.0, self.tile.type), one)
        with f.range(*self.span, blocking.slice) as start:
            depth = f.minimum(self.span[1] - start, blocking.slice)
            with f.when(is_packed):
                self._pack_left(room, row, rows, start, depth)
            with f.range(low, high) as panel:
                right = self._right(panel, start)
                target = self._target(row, rows, panel, start)
                if self.product.kind.is_of_bytes:
                    here = Target(apart, self.tile.columns, rows, target.columns, 0)
                    self._from_packed(room, right, here, depth)
                    self._addup(here, row, panel, start)
                else:
                    self._tiles(room, row, right, target, start, depth, is_packed)
                if self.product.kind.is_at_work:
                    self._add_to_totals(one, block, panel, right, start, depth)
        with f.when(is_packed):
            self.env.free(f, room)
        is_done = self.span[1].eq(self.product.given.k) & blocking.groups.eq(1)
        with f.when(self.product.has_more & is_done):
            self.product.go_on(f, self.env.run, row, row + rows)

    def _add_to_totals(self, one: V, block: V, panel: V, right: Lines, start: V, depth: V) -> None:
        """Sums of a panel's columns: its product with a row of ones. Blocks take turns at this."""
        f, tile, totals = self.f, self.tile, self.product.given.totals
        with f.when(totals.ne(0)), f.when(f.remainder(panel, self.blocking.blocks).eq(block)):
            column = panel * tile.columns
            columns = f.minimum(self.product.given.n - column, tile.columns)
            at = f.element(totals, tile.type, column)
            here = Target(at, tile.columns, 1, columns, start.ne(0).to(I64))
            tiles.multiply(f, tile, Left(one, "columns", 0), right, here, depth)

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
        f, tile, rhs, blocking = self.f, self.tile, self.product.rhs, self.blocking
        deeper = f.const(rhs.strides[0], I64)
        place = panel - blocking.in_place
        number = f.divide(start - self.span[0], blocking.slice) * blocking.packed_panels
        packed = f.element(self.packed, tile.type, (number + place) * blocking.panel_room)
        where = rhs.at(f, start * deeper + panel * tile.columns)
        is_packed = place.ge(0)
        step = f.select(is_packed, f.const(tile.columns, I64), deeper)
        return Lines(f.select(is_packed, packed, where), step)

    def _target(self, row: V, rows: V, panel: V, start: V) -> Target:
        f, result = self.f, self.product.sums
        n = self.product.given.n
        column = panel * self.tile.columns
        corner = result.at(f, result.position(f, (row, column)))
        columns = f.minimum(n - column, self.tile.columns)
        return Target(corner, n, rows, columns, start.ne(0).to(I64))

    def _tiles(
        self, room: V, row: V, right: Lines, target: Target, start: V, depth: V, is_packed: V
    ) -> None:
        """A panel times the rows, read where they lie if they are not packed."""
        f, tile, lhs = self.f, self.tile, self.product.lhs
        if not self.product.kind.is_at_work:
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

    def _addup(self, sums: Target, row: V, panel: V, start: V) -> None:
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
