"""A matrix times a vector: sums along rows where these lie in one piece, else many rows at once.

Where columns lie in one piece, long strips of rows are summed up in the cache, a few columns at a
time, so that memory is read in its order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from weft.compiler.ir.dtypes import DType
from weft.compiler.lower.llvm.arrays import Array, Element, Env, contiguous
from weft.compiler.lower.llvm.emit import Function, Operand, V
from weft.compiler.lower.llvm.routines import copies, rows, sizes
from weft.compiler.lower.llvm.routines.elements import (
    Cell,
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
from weft.compiler.lower.llvm.types import I64, PTR, VOID, of_dtype

_ROW_VECTORS: Final = 4  # vectors of partial sums of a row
_COLUMN_VECTORS: Final = 4  # vectors of neighbouring rows that are summed at once
_STRIP: Final = 256  # neighbouring rows whose sums are held in the cache
_STRIP_COLUMNS: Final = 4  # columns that are added to a strip at a time


class _Maker:
    """Emits the loops for one combination of dtypes."""

    def __init__(self, result: DType) -> None:
        self.sums: Final = working(result)
        self.lanes: Final = vector_lanes(self.sums)
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
        depth = sizes.value(f, matrix.shape[1])
        several, whole = depth & -(self.lanes * _ROW_VECTORS), depth & -self.lanes
        with f.range(begin, end) as at:
            row = matrix.moved(f, f.mul(at, matrix.strides[0]))
            totals = [Cell(f, self.zero(f, self.lanes)) for _ in range(_ROW_VECTORS)]
            self._accumulate(f, row, vector, totals, f.const(0, I64), several)
            self._accumulate(f, row, vector, totals[:1], several, whole)
            total = self._with_rest(f, row, vector, totals[0].get(), depth)
            for cell in totals[1:]:
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
        self, f: Function, row: Array, vector: Array, totals: list[Cell], begin: V, end: V
    ) -> None:
        with f.range(begin, end, self.lanes * len(totals)) as k:
            for piece, total in enumerate(totals):
                place = k + piece * self.lanes
                x, y = [read(f, array, place, self.lanes, self.sums) for array in (row, vector)]
                total.set(self.add(total.get(), x, y))

    # --- columns in one piece ---

    def down_columns(
        self, f: Function, matrix: Array, vector: Array, result: Array, begin: V, end: V
    ) -> None:
        """Rows `begin` to `end`: whole strips, then as many at a time as vectors hold."""
        first = begin
        if not self.sums.is_complex:
            first = begin + ((end - begin) & -_STRIP)
            with f.range(begin, first, _STRIP) as row:
                self._strip(f, matrix, vector, result, row)
        for vectors, lanes in ((_COLUMN_VECTORS, self.lanes), (1, self.lanes), (1, 0)):
            step = vectors * max(lanes, 1)
            last = first + f.mul(f.divide(end - first, step), step)
            with f.range(first, last, step) as row:
                self._columns(f, matrix, vector, result, row, vectors, lanes)
            first = last

    def _strip(self, f: Function, matrix: Array, vector: Array, result: Array, row: V) -> None:
        type = of_dtype(self.sums)
        held = contiguous(f, f.stack(type, _STRIP, align=64), self.sums, (_STRIP,))
        with f.range(0, _STRIP, self.lanes) as place:
            write(f, held, place, self.zero(f, self.lanes), self.sums)
        start = matrix.moved(f, f.mul(row, matrix.strides[0]))
        depth = sizes.value(f, matrix.shape[1])
        whole = depth & -_STRIP_COLUMNS
        for begin, end, count in ((f.const(0, I64), whole, _STRIP_COLUMNS), (whole, depth, 1)):
            with f.range(begin, end, count) as k:
                self._add_columns(f, start, vector, held, [k + n for n in range(count)])
        with f.range(0, _STRIP, self.lanes) as place:
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
        with f.range(0, _STRIP, self.lanes) as place:
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
        totals = [Cell(f, self.zero(f, lanes)) for _ in range(vectors)]
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
    form = _known_form(matrix)
    name = f"product.{form}.{'.'.join(kind.name for kind in kinds)}"
    names = ("run", "matrix", "vector", "result")
    numbers = ("down", "across", "step", "rows", "depth")
    parameters = [(name, PTR) for name in names] + [(name, I64) for name in numbers]
    rows.shared(f.module, name, VOID, parameters, lambda g: _build(g, form, *kinds))
    pointers = [env.run, matrix.pointer, vector.pointer, result.pointer]
    given = (*matrix.strides, *vector.strides, *matrix.shape)
    f.call(name, VOID, [*pointers, *[sizes.value(f, x) for x in given]])


def _known_form(matrix: Array) -> str:
    """The loops that the strides ask for; "any" if these are not known yet."""
    for form, stride in (("rows", matrix.strides[1]), ("columns", matrix.strides[0])):
        if sizes.is_known(stride) and stride == 1:
            return form
    return "elements" if sizes.all_known(matrix.strides) else "any"


def _build(f: Function, form: str, matrix_of: DType, vector_of: DType, result_of: DType) -> None:
    run, x, y, z, down, across, step, count, depth = f.arguments
    env = Env(f.module, run, f.name, [])
    matrix = Array(x, matrix_of, (count, depth), (down, across))
    vector = Array(y, vector_of, (depth,), (step,))
    result = Array(z, result_of, (count,), (1,))
    maker = _Maker(result_of)
    f.attributes = "noinline nounwind"
    workspace = None
    if form in ("rows", "any"):
        vector, workspace = _in_one_piece(f, env, vector, across.eq(1))

    def chunk(
        g: Function, inner: Env, begin: V, end: V, arrays: list[Array], _: list[Operand]
    ) -> None:
        x, y, z = arrays
        if form != "any":
            maker.forms[form](g, x, y, z, begin, end)
            return
        with g.otherwise(g.compare("eq", x.strides[1], 1)) as choice:
            maker.along_rows(g, x, y, z, begin, end)
            choice.otherwise()
            with g.otherwise(g.compare("eq", x.strides[0], 1)) as other:
                maker.down_columns(g, x, y, z, begin, end)
                other.otherwise()
                maker.by_elements(g, x, y, z, begin, end)

    group = _STRIP if form in ("columns", "any") else maker.lanes * _COLUMN_VECTORS
    rows.parallel(f, env, count, depth, [matrix, vector, result], [], chunk, group=group)
    if workspace is not None:
        env.free(f, workspace)
    f.ret()


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
