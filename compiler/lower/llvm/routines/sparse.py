"""Products with compressed matrices in native code.

Where lines are rows of the result, each is summed up in registers, a few vectors of columns at a
time, and rows are shared by threads. Where lines are columns, entries add to rows of the result one
after the other. The order of each sum is that of the entries, for every number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from weft.compiler.ir.graph import Op
from weft.compiler.lower.llvm.arrays import Array, Element, Env, contiguous, plus, product, times
from weft.compiler.lower.llvm.emit import Function, Operand, V
from weft.compiler.lower.llvm.routines import copies, rows, sizes
from weft.compiler.lower.llvm.routines.elements import (
    Cell,
    multiply_add,
    number,
    read,
    splat,
    vector_lanes,
    working,
    write,
)
from weft.compiler.lower.llvm.types import I64

_VECTORS: Final = 4  # vectors of a row that are summed up at once
_ENTRY_STEPS: Final = 4  # steps that an entry takes, for a column


def emit(f: Function, env: Env, op: Op, operands: list[Array], results: list[Array]) -> None:
    """`sparse_dot`, of any dtypes."""
    data, indices, offsets, x = operands
    (result,) = results
    arrays = [data, indices, offsets, _as_matrix(x), _as_matrix(result)]
    failures = _Failures(env, op)
    failures.check_ends(f, offsets, data.shape[0])
    if op.attributes["transposed"]:
        _add_columns(f, env, failures, arrays)
        return
    count = result.shape[0]
    entries = plus(f, sizes.floor_divide(f, data.shape[0], sizes.most(f, count, 1)), 1)
    steps = times(f, times(f, entries, _ENTRY_STEPS), arrays[4].shape[1])

    def body(
        g: Function, inner: Env, begin: V, end: V, there: list[Array], _: list[Operand]
    ) -> None:
        with g.range(begin, end) as line:
            _Rows(g, _Failures(inner, op, failures), there, line).run()

    rows.parallel(f, env, count, steps, arrays, [], body)


def _as_matrix(array: Array) -> Array:
    if len(array.shape) == 2:
        return array
    return Array(array.pointer, array.dtype, (*array.shape, 1), (*array.strides, 1))


class _Failures:
    """What can be wrong with a matrix; nothing outside of arrays is read where something is."""

    def __init__(self, env: Env, op: Op, known: _Failures | None = None) -> None:
        self.env = env
        text = "offsets do not rise from 0 to the number of entries, {0}"
        self.offsets: int = known.offsets if known else env.site(op, "BoundsError", text)
        text = "index {0} is out of range for {1} lines across"
        self.indices: int = known.indices if known else env.site(op, "BoundsError", text)

    def check_ends(self, f: Function, offsets: Array, count: Operand) -> None:
        """The first offset is 0, and the last one the number of entries."""
        total = sizes.value(f, count)
        last = f.mul(sizes.minus(f, offsets.shape[0], 1), sizes.value(f, offsets.strides[0]))
        first, end = _integer(f, offsets, 0), _integer(f, offsets, last)
        with f.when(first.ne(0) | end.ne(total)):
            self.env.fail(f, self.offsets, [total])

    def line(self, f: Function, offsets: Array, line: V, count: Operand) -> tuple[V, V]:
        """The entries of a line, from and to; none where the offsets are wrong."""
        begin = _integer(f, offsets, f.mul(line, offsets.strides[0]))
        end = _integer(f, offsets, f.mul(line + 1, offsets.strides[0]))
        total = sizes.value(f, count)
        bad = begin.lt(0) | end.lt(begin) | end.gt(total)
        with f.when(bad):
            self.env.fail(f, self.offsets, [total])
        return begin, f.select(bad, begin, end)

    @contextmanager
    def index(self, f: Function, indices: Array, entry: V, size: Operand) -> Iterator[V]:
        """Around code that needs the index of an entry, and does not run if it is out of range."""
        index = _integer(f, indices, f.mul(entry, indices.strides[0]))
        limit = sizes.value(f, size)
        with f.otherwise(index.lt(0) | index.ge(limit)) as choice:
            self.env.fail(f, self.indices, [index, limit])
            choice.otherwise()
            yield index


def _integer(f: Function, array: Array, position: Operand) -> V:
    loaded = array.load(f, position)
    assert isinstance(loaded, V)
    return loaded.to(I64)


class _Rows:
    """One row of the result, summed up in registers."""

    def __init__(self, f: Function, failures: _Failures, arrays: list[Array], line: V) -> None:
        self.f = f
        self.failures = failures
        self.data, self.indices, self.offsets, self.x, self.result = arrays
        self.line = line
        self.sums = working(self.result.dtype)

    def run(self) -> None:
        f, x = self.f, self.x
        begin, end = self.failures.line(f, self.offsets, self.line, self.data.shape[0])
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
                self.sum_columns(begin, end, column, vectors, width)
            done = stop

    def sum_columns(self, begin: V, end: V, column: V, vectors: int, lanes: int) -> None:
        f, x = self.f, self.x
        zero = number(f, 0, self.sums, lanes)
        totals = [Cell(f, zero) for _ in range(vectors)]
        with f.range(begin, end) as p:
            with self.failures.index(f, self.indices, p, x.shape[0]) as index:
                factor = read(f, self.data, f.mul(p, self.data.strides[0]), 0, self.sums)
                factor = splat(f, factor, lanes)
                start = f.mul(index, x.strides[0]) + f.mul(column, x.strides[1])
                for piece, total in enumerate(totals):
                    term = read(f, x, start + piece * lanes, lanes, self.sums)
                    total.set(multiply_add(total.get(), factor, term))
        start = f.mul(self.line, self.result.strides[0]) + column
        for piece, total in enumerate(totals):
            write(f, self.result, start + piece * lanes, total.get(), self.sums)


def _add_columns(f: Function, env: Env, failures: _Failures, arrays: list[Array]) -> None:
    """Lines that are columns: their entries add to rows of the result."""
    data, indices, offsets, x, result = arrays
    sums = working(result.dtype)
    # Sums of 16-bit floats are held in f32 until all is added.
    held = result if sums is result.dtype else copies.scratch(f, env, sums, result.shape)
    total = product(f, held.shape)
    flat = contiguous(f, held.pointer, sums, (total,))
    with f.range(0, total) as i:
        write(f, flat, i, number(f, 0, sums), sums)
    with f.range(0, x.shape[0]) as line:
        begin, end = failures.line(f, offsets, line, data.shape[0])
        source = f.mul(line, x.strides[0])
        with f.range(begin, end) as p:
            with failures.index(f, indices, p, result.shape[0]) as index:
                factor = read(f, data, f.mul(p, data.strides[0]), 0, sums)
                target = f.mul(index, held.strides[0])
                _add_row(f, x, source, held, target, factor)
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


ROUTINES: Final = {"sparse_dot": emit}
