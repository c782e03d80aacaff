"""A matrix times a vector: sums along rows where these lie in one piece, else many rows at once.

Where columns lie in one piece, strips of rows are summed up in the cache, a few columns at a time,
so that memory is read in its order. The longer strips are, the better: a large matrix is divided
into parts of its columns, whose sums are added up at the end. Parts depend on the sizes alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from weft.compiler.abi import Run
from weft.compiler.ir.dtypes import DType
from weft.compiler.lower.llvm.emit.arrays import Array, Element, Env, contiguous
from weft.compiler.lower.llvm.emit.function import Function, Operand, V
from weft.compiler.lower.llvm.emit.scratch import Scratch
from weft.compiler.lower.llvm.emit.types import I64, PTR, VOID, of_dtype
from weft.compiler.lower.llvm.routines.common import copies, rows, sizes
from weft.compiler.lower.llvm.routines.common.elements import (
    VECTOR_BYTES,
    ElementCell,
    add,
    join,
    multiply_add,
    number,
    read,
    select,
    splat,
    sum_of_lanes,
    vector_lanes,
    working,
    write,
)
from weft.compiler.lower.llvm.target import Target
from weft.compiler.record import record

_ROWS: Final = 8  # rows that are summed at once, where vectors are as wide as can be
_ROW_VECTORS: Final = 4  # vectors of partial sums of a row alone
_COLUMN_VECTORS: Final = 4  # vectors of neighbouring rows that are summed at once
_STRIP: Final = 256  # neighbouring rows of which strips are multiples
_STRIP_BYTES: Final = 1 << 14  # of sums that are held in the cache
_STRIP_COLUMNS: Final = 4  # columns that are added to a strip at a time
PART_COLUMNS: Final = 256  # columns of a part, at least
PART_SIZE: Final = 1 << 18  # elements of a part, at least


class _Maker:
    """Emits the loops for one combination of dtypes."""

    def __init__(self, result: DType, target: Target) -> None:
        self.sums: Final = working(result)
        self.lanes: Final = vector_lanes(self.sums)
        is_narrow = target.vector_bytes < VECTOR_BYTES or self.sums.is_complex
        self.rows: Final = _ROWS // 2 if is_narrow else _ROWS
        self.longest: Final = max(_STRIP_BYTES // self.sums.itemsize, _STRIP)
        self.add: Final[Callable[[Element, Element, Element], Element]] = (
            join if result.is_bool else multiply_add
        )
        self.combine: Final[Callable[[Element, Element], Element]] = (
            _either if result.is_bool else add
        )
        self.forms: Final[Mapping[str, Form]] = {
            "rows": self.along_rows,
            "columns": self.down_columns,
            "elements": self.by_elements,
        }

    def zero(self, f: Function, lanes: int) -> Element:
        return number(f, 0, self.sums, lanes)

    # --- rows in one piece ---

    def along_rows(
        self, f: Function, matrix: Array, vector: Array, result: Array, begin: V, end: V
    ) -> None:
        """Rows `begin` to `end`: each in several vectors of partial sums, unless it is short."""
        depth = sizes.value(f, matrix.shape[1])
        with f.otherwise(depth.lt(self.lanes)) as choice:
            self.by_elements(f, matrix, vector, result, begin, end)
            choice.otherwise()
            self._along_long_rows(f, matrix, vector, result, begin, end)

    def _along_long_rows(
        self, f: Function, matrix: Array, vector: Array, result: Array, begin: V, end: V
    ) -> None:
        """Several rows at a time, whose sums are a vector each: memory is read in several places at
        once. The last rows have several vectors each, as does a matrix of few rows. Which rows are
        the last does not depend on how rows are divided among threads, in multiples of several.
        """
        middle = begin + ((end - begin) & -self.rows)
        for first, last, count, vectors in (
            (begin, middle, self.rows, 1),
            (middle, end, 1, _ROW_VECTORS),
        ):
            with f.range(first, last, count) as at:
                numbers = [at + n for n in range(count)]
                self._sum_rows(f, matrix, vector, result, numbers, vectors)

    def _sum_rows(
        self,
        f: Function,
        matrix: Array,
        vector: Array,
        result: Array,
        numbers: Sequence[V],
        vectors: int,
    ) -> None:
        depth = sizes.value(f, matrix.shape[1])
        done, whole = f.const(0, I64), depth & -self.lanes
        rows = [matrix.moved(f, f.mul(at, matrix.strides[0])) for at in numbers]
        totals = [
            [ElementCell(f, self.zero(f, self.lanes)) for _ in range(vectors)] for _ in numbers
        ]
        if vectors > 1:
            done = depth & -(self.lanes * vectors)
            self._accumulate(f, rows, vector, totals, f.const(0, I64), done)
        self._accumulate(f, rows, vector, [cells[:1] for cells in totals], done, whole)
        for at, row, cells in zip(numbers, rows, totals, strict=True):
            total = self._with_rest(f, row, vector, cells[0].get(), depth)
            for cell in cells[1:]:
                total = self.combine(total, cell.get())
            write(f, result, at, sum_of_lanes(f, total, self.combine), self.sums)

    def _with_rest(
        self, f: Function, row: Array, vector: Array, total: Element, depth: V
    ) -> Element:
        """What whole vectors left of a row: the row's last vector, without what was counted."""
        numbers = f.lanes_const(list(range(self.lanes)), I64)
        left = depth & (self.lanes - 1)
        is_new = numbers.ge(f.splat(f.sub(self.lanes, left), self.lanes))
        zero = self.zero(f, self.lanes)
        place = depth - self.lanes
        terms = [read(f, array, place, self.lanes, self.sums) for array in (row, vector)]
        return self.add(total, *[select(f, is_new, term, zero) for term in terms])

    def _accumulate(
        self,
        f: Function,
        rows: Sequence[Array],
        vector: Array,
        totals: Sequence[Sequence[ElementCell]],
        begin: V,
        end: V,
    ) -> None:
        pieces = range(len(totals[0]))
        with f.range(begin, end, self.lanes * len(pieces)) as k:
            for piece in pieces:
                place = k + piece * self.lanes
                y = read(f, vector, place, self.lanes, self.sums)
                for row, cells in zip(rows, totals, strict=True):
                    x = read(f, row, place, self.lanes, self.sums)
                    cells[piece].set(self.add(cells[piece].get(), x, y))

    # --- columns in one piece ---

    def down_columns(
        self, f: Function, matrix: Array, vector: Array, result: Array, begin: V, end: V
    ) -> None:
        """Rows `begin` to `end`: strips if there are many, else as many at a time as vectors hold;
        the last vector may have rows that were summed up already, to the same sums.
        """
        width = end - begin
        first, some = begin, _COLUMN_VECTORS * self.lanes
        if not self.sums.is_complex:
            first = begin + f.select(width.gt(some), width & -self.lanes, 0)
            with f.range(begin, first, self.longest) as row:
                long = f.minimum(first - row, self.longest)
                self._strip(f, matrix, vector, result, row, long)
        middle = first + f.mul(f.divide(end - first, some), some)
        with f.range(first, middle, some) as row:
            self._columns(f, matrix, vector, result, row, _COLUMN_VECTORS, self.lanes)
        is_short = width.lt(self.lanes)
        with f.range(middle, f.select(is_short, middle, end), self.lanes) as row:
            inside = f.minimum(row, end - self.lanes)
            self._columns(f, matrix, vector, result, inside, 1, self.lanes)
        with f.range(f.select(is_short, begin, end), end) as row:
            self._columns(f, matrix, vector, result, row, 1, 0)

    def _strip(
        self, f: Function, matrix: Array, vector: Array, result: Array, row: V, long: V
    ) -> None:
        room = f.stack(of_dtype(self.sums), self.longest, align=64)
        held = contiguous(f, room, self.sums, (long,))
        with f.range(0, long, self.lanes) as place:
            write(f, held, place, self.zero(f, self.lanes), self.sums)
        start = matrix.moved(f, f.mul(row, matrix.strides[0]))
        depth = sizes.value(f, matrix.shape[1])
        whole = depth & -_STRIP_COLUMNS
        for begin, end, count in ((f.const(0, I64), whole, _STRIP_COLUMNS), (whole, depth, 1)):
            with f.range(begin, end, count) as k:
                self._add_columns(f, start, vector, held, [k + n for n in range(count)])
        with f.range(0, long, self.lanes) as place:
            made = read(f, held, place, self.lanes, self.sums)
            write(f, result, row + place, made, self.sums)

    def _add_columns(
        self, f: Function, start: Array, vector: Array, held: Array, columns: list[V]
    ) -> None:
        """Add columns of a strip, each times its factor."""
        factors = [
            splat(f, read(f, vector, f.mul(k, vector.strides[0]), 0, self.sums), self.lanes)
            for k in columns
        ]
        with f.range(0, held.shape[0], self.lanes) as place:
            total = read(f, held, place, self.lanes, self.sums)
            for k, x in zip(columns, factors, strict=True):
                there = f.mul(k, start.strides[1]) + place
                total = self.add(total, read(f, start, there, self.lanes, self.sums), x)
            write(f, held, place, total, self.sums)

    def _columns(
        self,
        f: Function,
        matrix: Array,
        vector: Array,
        result: Array,
        row: V,
        vectors: int,
        lanes: int,
    ) -> None:
        totals = [ElementCell(f, self.zero(f, lanes)) for _ in range(vectors)]
        start = matrix.moved(f, f.mul(row, matrix.strides[0]))
        with f.range(0, matrix.shape[1]) as k:
            x = splat(f, read(f, vector, f.mul(k, vector.strides[0]), 0, self.sums), lanes)
            for n, total in enumerate(totals):
                place = f.mul(k, matrix.strides[1]) + n * lanes
                total.set(self.add(total.get(), read(f, start, place, lanes, self.sums), x))
        for n, total in enumerate(totals):
            write(f, result, row + n * lanes, total.get(), self.sums)

    # --- anything ---

    def by_elements(
        self, f: Function, matrix: Array, vector: Array, result: Array, begin: V, end: V
    ) -> None:
        with f.range(begin, end) as row:
            self._columns(f, matrix, vector, result, row, 1, 0)


Form: TypeAlias = Callable[[Function, Array, Array, Array, V, V], None]


def multiply_vector(f: Function, env: Env, matrix: Array, vector: Array, result: Array) -> None:
    """A matrix [m, k] times a vector [k] into a result of m neighbouring elements."""
    kinds = (matrix.dtype, vector.dtype, result.dtype)
    form = known_form(matrix)
    name = f"product.{form}.{'.'.join(kind.name for kind in kinds)}"
    names = ("run", "scratch", "matrix", "vector", "result")
    numbers = ("down", "across", "step", "rows", "depth")
    parameters = [(name, PTR) for name in names] + [(name, I64) for name in numbers]
    rows.shared(f.module, name, VOID, parameters, lambda g: _build(g, form, *kinds))
    scratch = (env.scratch or Scratch.none(f)).record
    pointers = [env.run, scratch, matrix.pointer, vector.pointer, result.pointer]
    given = (*matrix.strides, *vector.strides, *matrix.shape)
    f.call(name, VOID, [*pointers, *[sizes.value(f, x) for x in given]])


def known_form(matrix: Array) -> str:
    """The loops that the strides ask for; "any" if these are not known yet."""
    for form, stride in (("rows", matrix.strides[1]), ("columns", matrix.strides[0])):
        if sizes.is_known(stride) and stride == 1:
            return form
    return "elements" if sizes.all_known(matrix.strides) else "any"


def _build(f: Function, form: str, matrix_of: DType, vector_of: DType, result_of: DType) -> None:
    run, scratch, x, y, z = f.arguments[:-5]
    down, across, step, count, depth = f.arguments[-5:]
    env = Env(f.module, run, f.name, [], scratch=Scratch(scratch))
    matrix = Array(x, matrix_of, (count, depth), (down, across))
    vector = Array(y, vector_of, (depth,), (step,))
    result = Array(z, result_of, (count,), (1,))
    maker = _Maker(result_of, f.module.target)
    f.attributes = "noinline nounwind"
    workspace = None
    if form in ("rows", "any"):
        vector, workspace = _in_one_piece(f, env, vector, across.eq(1))

    division = _divided(f, env, maker, matrix, result, form)
    sums = f.variable(result.pointer)
    with f.when(division.parts.gt(1)):
        sums.set(env.workspace(f, division.parts * count * result.dtype.itemsize))

    def chunk(
        g: Function, inner: Env, begin: V, end: V, arrays: list[Array], numbers: list[Operand]
    ) -> None:
        here = _Division(*[sizes.value(g, x) for x in numbers])
        with g.range(begin, end) as item:
            x, y, z, first, last = here.item(g, item, arrays)
            _by_form(g, maker, form, x, y, z, first, last)

    made = Array(sums.get(), result_of, (count,), (1,))
    steps = division.rows * division.columns
    items = division.parts * division.strips
    rows.parallel(f, env, items, steps, [matrix, vector, made], division.values, chunk)
    with f.when(division.parts.gt(1)):
        _add_parts(f, maker, division.parts, made, result)
        env.free(f, sums.get())
    if workspace is not None:
        env.free(f, workspace)
    f.ret()


def _by_form(
    f: Function, maker: _Maker, form: str, x: Array, y: Array, z: Array, begin: V, end: V
) -> None:
    """Rows `begin` to `end` in a form, or in the one that strides ask for."""
    if form != "any":
        maker.forms[form](f, x, y, z, begin, end)
        return
    with f.otherwise(f.compare("eq", x.strides[1], 1)) as choice:
        maker.along_rows(f, x, y, z, begin, end)
        choice.otherwise()
        with f.otherwise(f.compare("eq", x.strides[0], 1)) as other:
            maker.down_columns(f, x, y, z, begin, end)
            other.otherwise()
            maker.by_elements(f, x, y, z, begin, end)


@record
class _Division:
    """How the work is divided: the rows and columns of an item, the strips of rows of all items of
    a part, and the parts.
    """

    rows: V
    columns: V
    strips: V
    parts: V

    @property
    def values(self) -> list[V]:
        return [self.rows, self.columns, self.strips, self.parts]

    def item(
        self, f: Function, number: V, arrays: Sequence[Array]
    ) -> tuple[Array, Array, Array, V, V]:
        """The part of a matrix, the part of the vector, the sums of this part, and the rows."""
        matrix, vector, sums = arrays
        count, depth = [sizes.value(f, size) for size in matrix.shape]
        part, strip = f.divide(number, self.strips), f.remainder(number, self.strips)
        column, row = part * self.columns, strip * self.rows
        fewer = f.minimum(self.columns, depth - column)
        start = matrix.at(f, f.mul(column, matrix.strides[1]))
        some = Array(start, matrix.dtype, (count, fewer), matrix.strides)
        factors = vector.moved(f, f.mul(column, vector.strides[0]))
        last = f.minimum(row + self.rows, count)
        return some, factors, sums.moved(f, part * count), row, last


def _divided(
    f: Function, env: Env, maker: _Maker, matrix: Array, result: Array, form: str
) -> _Division:
    """Parts where columns lie in one piece and the sums of parts are as good as the result; strips
    as long as they can be, unless there are fewer items than threads could use.
    """
    count, depth = [sizes.value(f, size) for size in matrix.shape]
    usual = f.const(maker.lanes * _COLUMN_VECTORS, I64)
    if form not in ("columns", "any"):
        return _Division(usual, depth, _up(f, count, usual), f.const(1, I64))
    in_columns = sizes.equal(f, matrix.strides[0], 1) & f.compare("ne", matrix.strides[1], 1)
    columns = depth
    if result.dtype is maker.sums and result.dtype.is_float:
        least = f.maximum(_up(f, f.const(PART_SIZE, I64), f.maximum(count, 1)), PART_COLUMNS)
        columns = f.select(in_columns, f.minimum(least, depth), depth)
    parts = f.maximum(_up(f, depth, f.maximum(columns, 1)), 1)
    threads = f.load(f.element(env.run, I64, int(Run.THREADS)), I64)
    even = _up(f, _up(f, count, f.maximum(threads, 1)), _STRIP) * _STRIP
    wanted = f.select(parts.gt(1), f.const(maker.longest, I64), even)
    long = f.maximum(f.minimum(wanted, maker.longest), _STRIP)
    lines = f.select(in_columns, long, usual)
    return _Division(lines, columns, _up(f, count, lines), parts)


def _up(f: Function, size: V, step: V | int) -> V:
    return f.divide(size + f.sub(f.const(step, I64), 1), step)


def _add_parts(f: Function, maker: _Maker, parts: V, sums: Array, result: Array) -> None:
    """Add up the sums of all parts, in their order."""
    count = sizes.value(f, result.shape[0])

    def step(place: V, lanes: int) -> None:
        total = ElementCell(f, read(f, sums, place, lanes, maker.sums))
        with f.range(1, parts) as part:
            more = read(f, sums, part * count + place, lanes, maker.sums)
            total.set(maker.combine(total.get(), more))
        write(f, result, place, total.get(), maker.sums)

    rows.vector_range(f, count, maker.lanes, step)


def _in_one_piece(f: Function, env: Env, vector: Array, is_needed: V) -> tuple[Array, V]:
    """The vector, copied if it is needed in one piece and is not; and the workspace, or null."""
    pointer, step = f.variable(vector.pointer), f.variable(vector.strides[0], I64)
    workspace = f.variable(0, PTR)
    with f.when(is_needed & step.get().ne(1)):
        packed = copies.scratch(f, env, vector.dtype, vector.shape)
        copies.copy_here(f, vector, packed)
        workspace.set(packed.pointer)
        pointer.set(packed.pointer)
        step.set(1)
    return Array(pointer.get(), vector.dtype, vector.shape, (step.get(),)), workspace.get()


def _either(x: Element, y: Element) -> Element:
    assert isinstance(x, V) and isinstance(y, V)
    return x | y
