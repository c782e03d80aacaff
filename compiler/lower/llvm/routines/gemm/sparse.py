"""Products with compressed matrices in native code.

Where lines are rows of the result, each is summed up in registers, a few vectors of columns at a
time, and rows are shared by threads. Where lines are columns, entries add to rows of the result one
after the other. The order of each sum is that of the entries, for every number of threads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from weft.compiler.ir import dtypes
from weft.compiler.ir.dims import Size
from weft.compiler.ir.graph import Op
from weft.compiler.lower.llvm.emit.arrays import (
    Array,
    Element,
    Env,
    contiguous,
    plus,
    product,
    times,
)
from weft.compiler.lower.llvm.emit.function import Function, Operand, V
from weft.compiler.lower.llvm.emit.types import I1, I64
from weft.compiler.lower.llvm.routines import Planned, ScratchOf
from weft.compiler.lower.llvm.routines.common import copies, planning, rows, sizes
from weft.compiler.lower.llvm.routines.common.elements import (
    ElementCell,
    multiply_add,
    number,
    read,
    splat,
    vector_lanes,
    working,
    write,
)

_VECTORS: Final = 4  # vectors of a row that are summed up at once
_ENTRY_STEPS: Final = 4  # steps that an entry takes, for a column


def emit(f: Function, env: Env, op: Op, operands: list[Array], results: list[Array]) -> None:
    """`sparse_dot`, of any dtypes."""
    data, indices, offsets, x = operands
    (result,) = results
    arrays = [data, indices, offsets, _as_matrix(x), _as_matrix(result)]
    checks = _Checks(env, op)
    checks.ends(f, offsets, data.shape[0])
    if op.attributes["transposed"]:
        _add_columns(f, env, checks, arrays)
        return
    count = result.shape[0]
    entries = plus(f, sizes.floor_divide(f, data.shape[0], sizes.most(f, count, 1)), 1)
    steps = times(f, times(f, entries, _ENTRY_STEPS), arrays[4].shape[1])

    def body(
        g: Function, inner: Env, begin: V, end: V, there: list[Array], _: list[Operand]
    ) -> None:
        _sum_rows(g, _Checks(inner, op, checks), there, begin, end)

    rows.parallel(f, env, count, steps, arrays, [], body)


def _as_matrix(array: Array) -> Array:
    if len(array.shape) == 2:
        return array
    return Array(array.pointer, array.dtype, (*array.shape, 1), (*array.strides, 1))


class _Checks:
    """What can be wrong with a matrix; nothing outside of arrays is read where something is.

    Indices are checked many at a time, before they are used: sums have no branches then.
    """

    def __init__(self, env: Env, op: Op, known: _Checks | None = None) -> None:
        self.env = env
        text = "offsets do not rise from 0 to the number of entries, {0}"
        self.of_offsets: int = known.of_offsets if known else env.site(op, "BoundsError", text)
        text = "index {0} is out of range for {1} lines across"
        self.of_indices: int = known.of_indices if known else env.site(op, "BoundsError", text)

    def ends(self, f: Function, offsets: Array, count: Operand) -> None:
        """The first offset is 0, and the last one the number of entries."""
        total = sizes.value(f, count)
        last = f.mul(sizes.minus(f, offsets.shape[0], 1), sizes.value(f, offsets.strides[0]))
        first, end = _integer(f, offsets, 0), _integer(f, offsets, last)
        with f.when(first.ne(0) | end.ne(total)):
            self.env.fail(f, self.of_offsets, [total])

    def lines(
        self, f: Function, offsets: Array, begin: V, end: V, low: Operand, high: Operand
    ) -> tuple[V, V]:
        """The entries of some lines, from and to; none if they are not from `low` to `high`."""
        first, last = (
            _integer(f, offsets, f.mul(line, offsets.strides[0])) for line in (begin, end)
        )
        least, most = sizes.value(f, low), sizes.value(f, high)
        bad = first.lt(least) | last.lt(first) | last.gt(most)
        with f.when(bad):
            self.env.fail(f, self.of_offsets, [most])
        return f.select(bad, least, first), f.select(bad, least, last)

    def indices(self, f: Function, indices: Array, first: V, last: V, size: Operand) -> V:
        """Whether the indices of some entries are in range."""
        limit = sizes.value(f, size)
        lanes = vector_lanes(dtypes.i64) if indices.strides[0] == 1 else 1
        bad = f.variable(False, I1)

        def step(p: V, width: int) -> None:
            place = f.mul(p, indices.strides[0])
            found = read(f, indices, place, width, dtypes.i64)
            assert isinstance(found, V)
            is_bad = found.lt(0) | found.ge(f.splat(limit, width) if width else limit)
            with f.when(rows.any_lane(f, is_bad)):
                bad.set(True)

        rows.vector_range(f, last, lanes, step, first)
        with f.when(bad.get()):
            self._name_index(f, indices, first, last, limit)
        return bad.get()

    def _name_index(self, f: Function, indices: Array, first: V, last: V, limit: V) -> None:
        with f.range(first, last) as p:
            index = _integer(f, indices, f.mul(p, indices.strides[0]))
            with f.when(index.lt(0) | index.ge(limit)):
                self.env.fail(f, self.of_indices, [index, limit])


def _integer(f: Function, array: Array, position: Operand) -> V:
    loaded = array.load(f, position)
    assert isinstance(loaded, V)
    return loaded.to(I64)


def _sum_rows(f: Function, checks: _Checks, arrays: list[Array], begin: V, end: V) -> None:
    """Rows `begin` to `end` of the result."""
    data, indices, offsets, x, _ = arrays
    first, last = checks.lines(f, offsets, begin, end, 0, data.shape[0])
    with f.otherwise(checks.indices(f, indices, first, last, x.shape[0])) as choice:
        choice.otherwise()
        with f.range(begin, end) as line:
            entries = checks.lines(f, offsets, line, line + 1, first, last)
            _Row(f, arrays, line, *entries).run()


class _Row:
    """One row of the result, summed up in registers."""

    def __init__(self, f: Function, arrays: list[Array], line: V, begin: V, end: V) -> None:
        self.f = f
        self.data, self.indices, _, self.x, self.result = arrays
        self.line = line
        self.begin = begin
        self.end = end
        self.sums = working(self.result.dtype)

    def run(self) -> None:
        f, x = self.f, self.x
        columns = x.shape[1]
        lanes = vector_lanes(self.sums)
        done: Operand = 0
        is_one_piece = sizes.is_known(x.strides[1]) and x.strides[1] == 1 and columns != 1
        widths = ((_VECTORS, lanes), (2, lanes), (1, lanes), (1, 0)) if is_one_piece else ((1, 0),)
        for vectors, width in widths:
            step = vectors * max(width, 1)
            whole = sizes.floor_divide(f, sizes.minus(f, columns, done), step)
            stop = plus(f, done, times(f, whole, step))
            if sizes.is_known(stop) and stop == done:
                continue
            with f.range(done, stop, step) as column:
                self.sum_columns(column, vectors, width)
            done = stop

    def sum_columns(self, column: V, vectors: int, lanes: int) -> None:
        f, x = self.f, self.x
        totals = [ElementCell(f, number(f, 0, self.sums, lanes)) for _ in range(vectors)]
        with f.range(self.begin, self.end) as p:
            index = _integer(f, self.indices, f.mul(p, self.indices.strides[0]))
            factor = read(f, self.data, f.mul(p, self.data.strides[0]), 0, self.sums)
            factor = splat(f, factor, lanes)
            start = f.mul(index, x.strides[0]) + f.mul(column, x.strides[1])
            for piece, total in enumerate(totals):
                term = read(f, x, start + piece * lanes, lanes, self.sums)
                total.set(multiply_add(total.get(), factor, term))
        start = f.mul(self.line, self.result.strides[0]) + column
        for piece, total in enumerate(totals):
            write(f, self.result, start + piece * lanes, total.get(), self.sums)


def _add_columns(f: Function, env: Env, checks: _Checks, arrays: list[Array]) -> None:
    """Lines that are columns: their entries add to rows of the result."""
    data, indices, offsets, x, result = arrays
    sums = working(result.dtype)
    # Sums of 16-bit floats are held in f32 until all is added.
    held = result if sums is result.dtype else copies.scratch(f, env, sums, result.shape)
    total = product(f, held.shape)
    flat = contiguous(f, held.pointer, sums, (total,))
    with f.range(0, total) as i:
        write(f, flat, i, number(f, 0, sums), sums)
    everything = f.const(0, I64), sizes.value(f, data.shape[0])
    with f.otherwise(checks.indices(f, indices, *everything, result.shape[0])) as choice:
        choice.otherwise()
        with f.range(0, x.shape[0]) as line:
            begin, end = checks.lines(f, offsets, line, line + 1, *everything)
            source = f.mul(line, x.strides[0])
            with f.range(begin, end) as p:
                index = _integer(f, indices, f.mul(p, indices.strides[0]))
                factor = read(f, data, f.mul(p, data.strides[0]), 0, sums)
                _add_row(f, x, source, held, f.mul(index, held.strides[0]), factor)
    if held is not result:
        with f.range(0, total) as i:
            write(f, result, i, read(f, flat, i, 0, sums), sums)
        env.free(f, held.pointer)


def _add_row(f: Function, x: Array, source: V, held: Array, target: V, factor: Element) -> None:
    """Add a row of x, times a factor, to one of sums."""
    lanes = vector_lanes(held.dtype) if x.strides[1] == 1 and x.shape[1] != 1 else 1

    def step(column: V, width: int) -> None:
        place = target + column
        term = read(f, x, source + f.mul(column, x.strides[1]), width, held.dtype)
        before = read(f, held, place, width, held.dtype)
        write(f, held, place, multiply_add(before, splat(f, factor, width), term), held.dtype)

    rows.vector_range(f, x.shape[1], lanes, step)


def _scratch(call: Planned) -> Size:
    """Sums of 16-bit floats, where entries add to rows of the result."""
    result = call.op.results[0].type
    sums = working(result.dtype)
    is_held = call.op.attributes["transposed"] and sums is not result.dtype
    return planning.array(sums, result.shape) if is_held else 0


ROUTINES: Final = {"sparse_dot": emit}
SCRATCH: Final[Mapping[str, ScratchOf]] = {"sparse_dot": _scratch}
