"""How a generated product is divided: rows in blocks, columns in panels, sums in slices.

The right operand is packed into panels as wide as a tile, unless it lies in rows and is used few
times. Tasks are blocks of rows, or, where there are too few of these, blocks of rows times groups
of panels.
"""

from __future__ import annotations

from typing import Final

from weft.compiler.abi import Run
from weft.compiler.lower.llvm.emit.arrays import Array, Env, FusedConsumer
from weft.compiler.lower.llvm.emit.function import Function, V
from weft.compiler.lower.llvm.emit.types import I64
from weft.compiler.lower.llvm.routines.common.elements import read, vector_lanes, write
from weft.compiler.lower.llvm.routines.gemm import packing, tiles
from weft.compiler.lower.llvm.routines.gemm.kinds import ProductKind
from weft.compiler.lower.llvm.routines.gemm.tiles import ProductTile
from weft.compiler.lower.llvm.target import Target
from weft.compiler.record import record


@record
class BlockingLimits:
    """The sizes at which one way of dividing a product gives way to another; unless said otherwise
    they were measured on one AVX2 and one AVX-512 machine.
    """

    least_slice: int = 128  # terms of a sum that are multiplied at a time, at least and at most
    most_slice: int = 512
    most_bytes: int = 256  # of products of bytes, so that their sums stay below 2**24
    panel_part: int = 16  # of the second cache that a panel of so many terms takes at most
    tiles: int = 4  # tiles below each other in a block of rows, at most
    stack_bytes: int = 1 << 15  # of panels that need no memory from the heap
    even_rows: int = 4  # of which blocks are multiples that are not multiples of tiles
    tasks: int = 8  # per thread that a product is divided into where blocks do not fit
    task_steps: int = 1 << 16  # multiplications that a task has at least
    few_rows: int = 192  # up to which a right operand in rows that are near is read where it lies
    often: int = 6  # panels for which packing a left operand pays then
    last_cache_part: int = 4  # of the last cache that packed slices may take


LIMITS: Final = BlockingLimits()


@record
class Arguments:
    """What a product's function is given and its tasks know, in this order: the arrays, who goes on
    with rows that are done and the number of the first, where sums of the right operand's columns
    go (or null), the sizes, element strides of both operands, and where sums are made.
    """

    lhs: V
    rhs: V
    result: V
    task: V
    data: V
    totals: V
    first: V
    m: V
    n: V
    k: V
    lhs_row: V
    lhs_column: V
    rhs_row: V
    rhs_column: V
    sums: V

    @property
    def values(self) -> tuple[V, ...]:
        return tuple(getattr(self, name) for name in Arguments.__match_args__)


@record
class Product:
    """A product under emission."""

    kind: ProductKind
    machine: Target
    given: Arguments

    def rebound(self, values: list[V]) -> Product:
        """The same product, as another function knows what it was given."""
        return Product(self.kind, self.machine, Arguments(*values))

    @property
    def tile(self) -> ProductTile:
        return self.kind.tile(self.machine)

    @property
    def most_slice(self) -> int:
        return most_slice(self.kind, self.machine)

    def slice(self, f: Function) -> V:
        """The terms that are multiplied at a time, so that all slices are about as long."""
        k = self.given.k
        each = up(f, k, f.maximum(up(f, k, self.most_slice), 1))
        return (each + (self.tile.lanes - 1)) & -self.tile.lanes

    @property
    def lhs(self) -> Array:
        given = self.given
        strides = (given.lhs_row, given.lhs_column)
        return Array(given.lhs, self.kind.operands, (given.m, given.k), strides)

    @property
    def rhs(self) -> Array:
        given = self.given
        strides = (given.rhs_row, given.rhs_column)
        return Array(given.rhs, self.kind.operands, (given.k, given.n), strides)

    @property
    def result(self) -> Array:
        given = self.given
        return Array(given.result, self.kind.result, (given.m, given.n), (given.n, 1))

    @property
    def sums(self) -> Array:
        """Where the sums are made: in the result, or in memory of their own."""
        given = self.given
        return Array(given.sums, self.kind.sums, (given.m, given.n), (given.n, 1))

    def go_on(self, f: Function, run: V, row: V, end: V) -> None:
        """Do what is left to do with rows whose sums are done."""
        given = self.given
        if self.kind.is_narrowed:
            _narrow(f, self.sums, self.result, row * given.n, end * given.n)
        follower = FusedConsumer(given.task, given.data, given.first)
        with f.when(follower.task.ne(0)):
            follower.call(f, run, row, end)

    @property
    def has_more(self) -> V:
        """Whether there is something left to do then."""
        task = self.given.task
        return task.eq(task) if self.kind.is_narrowed else task.ne(0)


def most_slice(kind: ProductKind, machine: Target) -> int:
    """The terms that are multiplied at a time, at most: panels are read from the second cache, and
    the more terms, the less often sums go to memory and back.
    """
    tile = kind.tile(machine)
    fitting = machine.caches.second // LIMITS.panel_part // (tile.columns * tile.type.itemsize)
    most = LIMITS.most_bytes if kind.is_of_bytes else LIMITS.most_slice
    return max(min(fitting, most), LIMITS.least_slice) & -tile.lanes


def _narrow(f: Function, source: Array, target: Array, begin: V, end: V) -> None:
    """Elements of row-major arrays from one dtype to another."""
    lanes = vector_lanes(source.dtype)
    middle = begin + ((end - begin) & -lanes)
    for low, high, width in ((begin, middle, lanes), (middle, end, 0)):
        with f.range(low, high, max(width, 1)) as place:
            value = read(f, source, place, width, source.dtype)
            write(f, target, place, value, source.dtype)


@record
class Blocking:
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
        return tuple(getattr(self, name) for name in Blocking.__match_args__)

    @property
    def packed_panels(self) -> V:
        return self.panels - self.in_place

    def first_row(self, f: Function, block: V) -> V:
        """Where a block starts; the last one ends with the rows."""
        return f.divide(self.units * block, self.blocks) * self.unit


def blocking_of(f: Function, env: Env, product: Product) -> Blocking:
    """How the product is divided."""
    tile = product.tile
    depth = product.slice(f)
    panels = up(f, product.given.n, tile.columns)
    in_place = _read_in_place(f, product)
    panel_room = packing.room(tile, tile.columns, depth)
    blocks, units, unit, groups = _blocks(f, env, product, panels)
    return Blocking(blocks, units, unit, groups, panels, in_place, panel_room, depth)


def up(f: Function, size: V, step: V | int) -> V:
    """`size / step` rounded up."""
    return f.divide(size + f.sub(f.const(step, I64), 1), step)


def _read_in_place(f: Function, product: Product) -> V:
    """How many panels are read where they lie: all that are full, where the right operand fits the
    second cache or is used by few rows, by very few where its own rows are far apart.
    """
    if not product.kind.is_at_work:
        return f.const(0, I64)
    tile, given, second = product.tile, product.given, product.machine.caches.second
    apart = f.maximum(given.rhs_row, -given.rhs_row) * tile.type.itemsize
    # Rows that are a power of two apart find room in one of as many lines of the cache.
    has_room = ((apart & -apart) * product.slice(f)).le(second)
    is_small = (given.n * given.k * tile.type.itemsize).le(second)
    is_near = apart.le(tiles.FAR_BYTES) & has_room & (is_small | given.m.le(LIMITS.few_rows))
    wanted = given.rhs_column.eq(1) & (is_near | given.m.le(LIMITS.tiles * tile.rows))
    return f.select(wanted, f.divide(given.n, tile.columns), 0)


def _blocks(f: Function, env: Env, product: Product, panels: V) -> tuple[V, V, V, V]:
    """How many blocks of rows there are, the units and rows of a unit that they are divided at,
    and how many groups the panels form: so that all threads have the same to do, but no more
    tasks than pay.
    """
    m, n, k = product.given.m, product.given.n, product.given.k
    tile = product.tile
    threads = f.load(f.element(env.run, I64, int(Run.THREADS)), I64)
    affordable = f.maximum(f.divide(m * n * k, LIMITS.task_steps), 1)
    workers = f.maximum(f.minimum(threads, affordable), 1)
    whole, fine = [up(f, up(f, m, unit), workers) * unit for unit in (tile.rows, LIMITS.even_rows)]
    # Whole tiles are worth a little waiting.
    is_fine = (fine * 64).lt(whole * 63)
    unit = f.select(is_fine, f.const(LIMITS.even_rows, I64), tile.rows)
    units = up(f, m, unit)
    # A twentieth of the time may be lost to threads that wait.
    is_even = (f.minimum(whole, fine) * workers * 20).le(m * 21)
    # Rows can be followed only by who has all of their columns.
    is_followed = product.has_more & units.ge(workers)
    most = LIMITS.tiles * tile.rows
    alone, shared = up(f, m, most), up(f, m, workers * most) * workers
    blocks = f.select(is_even | is_followed, shared, alone)
    affordable = f.maximum(f.divide(affordable, f.maximum(blocks, 1)), 1)
    several = f.minimum(
        f.minimum(up(f, workers * LIMITS.tasks, f.maximum(blocks, 1)), panels), affordable
    )
    groups = f.select(is_even | is_followed, 1, f.maximum(several, 1))
    return blocks, units, unit, groups
