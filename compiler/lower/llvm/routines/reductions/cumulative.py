"""Cumulative ops in native code: an accumulator goes along each row and is written at each step.

Rows run beside each other in the lanes of vectors, so that their steps, which depend on each other
within a row, overlap; the order within a row is always that of the reference. Along an axis that is
not the last one, whole blocks of the last axis go together, as memory lies.

Sums and products are held in double precision for f32, in f32 for f16 and bf16.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Final

from weft.compiler.ir import dtypes
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.graph import Op
from weft.compiler.lower.llvm import math, scalar
from weft.compiler.lower.llvm.emit.arrays import Array, Element, Env, dot, product, times, unravel
from weft.compiler.lower.llvm.emit.function import Function, Operand, V
from weft.compiler.lower.llvm.emit.types import I64, Type, of_dtype
from weft.compiler.lower.llvm.routines.common import elements, rows, sizes
from weft.compiler.record import record

# How many neighbours on the last axis go along an earlier axis together: their accumulators, of at
# most 16 bytes each, stay in the nearest cache.
_BLOCK: Final = 256

State = tuple[V, ...]


# --- accumulators -------------------------------------------------------------------------------


@record
class CumulativeState:
    """What goes along a row; `dtype` is what elements are made before they are given to it."""

    dtype: DType
    parts: int
    steps: int = 4

    def begin(self, f: Function, given: Sequence[Element]) -> State:
        """The state after the first elements."""
        raise NotImplementedError

    def step(self, f: Function, state: State, given: Sequence[Element]) -> State:
        """The state after the next elements."""
        raise NotImplementedError

    def value(self, f: Function, state: State) -> Element:
        """What is written."""
        return elements.of_parts(state)

    @property
    def type(self) -> Type:
        return of_dtype(self.dtype)


@record
class _Fold(CumulativeState):
    """A reduction of all elements so far, the first one to begin with."""

    kind: str = "sum"

    def begin(self, f: Function, given: Sequence[Element]) -> State:
        return elements.parts(given[0])

    def step(self, f: Function, state: State, given: Sequence[Element]) -> State:
        total = elements.of_parts(state)
        return elements.parts(scalar.combine(f, self.kind, total, given[0], self.dtype))


class _LogSumExp(CumulativeState):
    """The largest element m and the sum of e ** (x - m), which cannot overflow."""

    def begin(self, f: Function, given: Sequence[Element]) -> State:
        (x,) = elements.parts(given[0])
        return x, f.const(1.0, x.type)

    def step(self, f: Function, state: State, given: Sequence[Element]) -> State:
        (largest, total), (x,) = state, elements.parts(given[0])
        grows = x.gt(largest)
        low, high = f.select(grows, largest, x), f.select(grows, x, largest)
        share = math.call(f, "exp", self.distance(f, low, high))
        return high, f.select(grows, total * share + 1.0, total + share)

    @staticmethod
    def distance(f: Function, x: V, y: V) -> V:
        """x - y, and 0 where both are the same infinity."""
        return f.select(x.eq(y), f.const(0.0, x.type), x - y)

    def value(self, f: Function, state: State) -> Element:
        largest, total = state
        return largest + math.call(f, "log", total)


class _Recurrence(CumulativeState):
    """z = factor * z + x, from 0."""

    def begin(self, f: Function, given: Sequence[Element]) -> State:
        zeros = [f.const(0.0, part.type) for part in elements.parts(given[0])]
        return self.step(f, tuple(zeros), given)

    def step(self, f: Function, state: State, given: Sequence[Element]) -> State:
        factor, x = given
        product = elements.multiply(factor, elements.of_parts(state))
        return elements.parts(elements.add(product, x))


def _accumulator(name: str, dtype: DType) -> CumulativeState:
    wide = _WIDER.get(dtype, elements.working(dtype))
    parts = 2 if dtype.is_complex else 1
    match name:
        case "cumsum" | "cumprod":
            return _Fold(wide, parts, kind=name.removeprefix("cum"))
        case "cumlogsumexp":
            return _LogSumExp(elements.working(dtype), 2, 60)
        case "linear_recurrence":
            return _Recurrence(wide, parts)
    return _Fold(elements.working(dtype), 1, kind=name.removeprefix("cum"))


_WIDER: Final = {dtypes.f32: dtypes.f64, dtypes.c64: dtypes.c128}


# --- rows ---------------------------------------------------------------------------------------


def emit(f: Function, env: Env, op: Op, operands: list[Array], results: list[Array]) -> None:
    """Any of the cumulative ops."""
    axis, (result,) = op.attributes["axis"], results
    arrays = [*operands, result]
    if op.attributes["reverse"]:
        arrays = [_reversed(f, array, axis) for array in arrays]
    made = _accumulator(op.name, result.dtype)
    last = len(result.shape) - 1
    is_inner = axis == last or any(array.strides[last] != 1 for array in arrays)
    # Every row has a first element once there is any.
    with f.when(f.const(result.shape[axis], I64).gt(0)):
        (_run_rows if is_inner else _run_blocks)(f, env, made, arrays, axis)


def _reversed(f: Function, array: Array, axis: int) -> Array:
    """The array read from the end of an axis."""
    stride = array.strides[axis]
    last = times(f, sizes.minus(f, array.shape[axis], 1), stride)
    strides = (*array.strides[:axis], sizes.minus(f, 0, stride), *array.strides[axis + 1 :])
    return Array(array.at(f, last), array.dtype, array.shape, strides)


def _run_rows(f: Function, env: Env, made: CumulativeState, arrays: list[Array], axis: int) -> None:
    lanes = f.module.target.lanes(made.type.bits)
    length = arrays[0].shape[axis]

    def body(
        g: Function, inner: Env, begin: V, end: V, there: list[Array], _: list[Operand]
    ) -> None:
        def step(row: V, width: int) -> None:
            places = [row + lane if lane else row for lane in range(max(width, 1))]
            starts = [rows.row_starts(g, there, axis, place) for place in places]
            is_alone = not width and isinstance(made, _LogSumExp)
            walk = _LogSumExpWalk if is_alone else _Walk
            walk(g, made, there, axis, starts).run()

        rows.vector_range(g, end, lanes, step, begin)

    count = rows.row_count(f, arrays[0], axis)
    steps = times(f, length, made.steps)
    rows.parallel(f, env, count, steps, arrays, [], body, group=lanes)


class _Walk:
    """Rows that go along an axis together, each in a lane; `starts` has the positions of their
    first elements, by row and array.
    """

    def __init__(
        self,
        f: Function,
        made: CumulativeState,
        arrays: list[Array],
        axis: int,
        starts: list[list[V]],
    ) -> None:
        self.f = f
        self.made = made
        self.arrays = arrays
        self.axis = axis
        self.starts = starts

    def run(self) -> None:
        f, made = self.f, self.made
        length = self.arrays[0].shape[self.axis]
        first = f.const(0, I64)
        state = made.begin(f, self.read(first))
        self.write(first, state)
        held = [f.variable(part) for part in state]
        with f.range(1, length) as i:
            state = made.step(f, tuple(variable.get() for variable in held), self.read(i))
            for variable, part in zip(held, state, strict=True):
                variable.set(part)
            self.write(i, state)

    def read(self, i: V) -> list[Element]:
        return [self.element(number, i) for number in range(len(self.arrays) - 1)]

    def element(self, number: int, i: V) -> Element:
        """An element of each row, in lanes."""
        f, array = self.f, self.arrays[number]
        stride = array.strides[self.axis]
        loaded = [
            elements.parts(array.load(f, rows.along(f, start[number], i, stride)))
            for start in self.starts
        ]
        vectors = [rows.vector_of(f, values) for values in zip(*loaded, strict=True)]
        return elements.converted(f, elements.of_parts(vectors), array.dtype, self.made.dtype)

    def write(self, i: V, state: State) -> None:
        self.write_value(i, self.made.value(self.f, state))

    def write_value(self, i: V, value: Element) -> None:
        f, result = self.f, self.arrays[-1]
        made = elements.converted(f, value, self.made.dtype, result.dtype)
        lanes = zip(*[rows.lanes_of(f, part) for part in elements.parts(made)], strict=True)
        for start, parts in zip(self.starts, lanes, strict=True):
            place = rows.along(f, start[-1], i, result.strides[self.axis])
            result.store(f, place, elements.of_parts(parts))


class _LogSumExpWalk(_Walk):
    """One row of cumlogsumexp: what depends on the element before is kept apart from exponentials
    and logarithms, which are computed in lanes for a block of elements at a time.
    """

    def run(self) -> None:
        f, kind = self.f, self.made.type
        length = self.arrays[0].shape[self.axis]
        largest, total = f.variable(-inf, kind), f.variable(0.0, kind)
        shares, decays, peaks, totals = (f.stack(kind, _BLOCK, align=64) for _ in range(4))
        with f.range(0, length, _BLOCK) as first:
            count = f.minimum(sizes.minus(f, length, first), _BLOCK)
            with f.range(0, count) as i:
                (x,) = elements.parts(self.element(0, first + i))
                before = largest.get()
                peak = f.select(x.gt(before), x, before)
                largest.set(peak)
                f.store(_LogSumExp.distance(f, x, peak), f.element(shares, kind, i))
                f.store(_LogSumExp.distance(f, before, peak), f.element(decays, kind, i))
                f.store(peak, f.element(peaks, kind, i))
            for held in (shares, decays):
                self.map(count, held, held, lambda x, _: math.call(f, "exp", x))
            with f.range(0, count) as i:
                share, decay = (f.load(f.element(x, kind, i), kind) for x in (shares, decays))
                total.set(total.get() * decay + share)
                f.store(total.get(), f.element(totals, kind, i))
            self.map(count, totals, peaks, lambda x, peak: peak + math.call(f, "log", x))
            with f.range(0, count) as i:
                self.write_value(first + i, f.load(f.element(totals, kind, i), kind))

    def map(self, count: V, held: V, other: V, function: Callable[[V, V], V]) -> None:
        """Each number of a block as a function of it and of another block's."""
        f, kind = self.f, self.made.type

        def step(i: V, lanes: int) -> None:
            x, y = (f.load(f.element(z, kind, i), kind.with_lanes(lanes)) for z in (held, other))
            f.store(function(x, y), f.element(held, kind, i))

        rows.vector_range(f, count, f.module.target.lanes(kind.bits), step)


# --- blocks of the last axis --------------------------------------------------------------------


def _run_blocks(
    f: Function, env: Env, made: CumulativeState, arrays: list[Array], axis: int
) -> None:
    *_, inner = arrays[0].shape
    blocks = sizes.ceil_divide(f, inner, _BLOCK)
    count = times(f, product(f, _outer(arrays[0], axis).shape), blocks)
    steps = times(f, arrays[0].shape[axis], made.steps * _BLOCK)

    def body(
        g: Function, inner_env: Env, begin: V, end: V, there: list[Array], numbers: list[Operand]
    ) -> None:
        with g.range(begin, end) as item:
            first = g.mul(g.remainder(item, numbers[0]), _BLOCK)
            outer = g.divide(item, numbers[0])
            index = unravel(g, outer, _outer(there[0], axis).shape)
            starts = [dot(g, index, _outer(array, axis).strides) + first for array in there]
            width = g.minimum(sizes.minus(g, there[0].shape[-1], first), _BLOCK)
            _BlockWalk(g, made, there, axis, starts, width).run()

    rows.parallel(f, env, count, steps, arrays, [blocks], body)


def _outer(array: Array, axis: int) -> Array:
    """The array without its last axis and another one."""
    return array.without(len(array.shape) - 1).without(axis)


class _BlockWalk:
    """Neighbours on the last axis that go along another axis together; their accumulators are in
    memory.
    """

    def __init__(
        self,
        f: Function,
        made: CumulativeState,
        arrays: list[Array],
        axis: int,
        starts: list[V],
        width: V,
    ) -> None:
        self.f = f
        self.made = made
        self.arrays = arrays
        self.axis = axis
        self.starts = starts
        self.width = width
        self.lanes = f.module.target.lanes(made.type.bits)
        self.memory = f.stack(made.type, made.parts * _BLOCK, align=64)

    def run(self) -> None:
        f = self.f
        zero = f.const(0, I64)
        rows.vector_range(f, self.width, self.lanes, lambda j, lanes: self.begin(zero, j, lanes))
        with f.range(1, self.arrays[0].shape[self.axis]) as i:
            rows.vector_range(f, self.width, self.lanes, lambda j, lanes: self.step(i, j, lanes))

    def begin(self, i: V, j: V, lanes: int) -> None:
        self.finish(i, j, self.made.begin(self.f, self.read(i, j, lanes)))

    def step(self, i: V, j: V, lanes: int) -> None:
        f, made = self.f, self.made
        kind = made.type.with_lanes(lanes)
        state = tuple(f.load(self.at(part, j), kind) for part in range(made.parts))
        self.finish(i, j, made.step(f, state, self.read(i, j, lanes)))

    def finish(self, i: V, j: V, state: State) -> None:
        f, result = self.f, self.arrays[-1]
        for number, part in enumerate(state):
            f.store(part, self.at(number, j))
        place = rows.along(f, self.starts[-1] + j, i, result.strides[self.axis])
        elements.write(f, result, place, self.made.value(f, state), self.made.dtype)

    def at(self, part: int, j: V) -> V:
        return self.f.element(self.memory, self.made.type, j + part * _BLOCK)

    def read(self, i: V, j: V, lanes: int) -> list[Element]:
        f = self.f
        return [
            elements.read(
                f,
                array,
                rows.along(f, start + j, i, array.strides[self.axis]),
                lanes,
                self.made.dtype,
            )
            for array, start in zip(self.arrays[:-1], self.starts, strict=False)
        ]


ROUTINES: Final = {
    name: emit
    for name in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp", "linear_recurrence")
}
