"""Fourier transforms of single rows, held as planes, in vectors all the same.

A row of height * width elements is a matrix: its columns are transformed with neighbours in lanes,
multiplied by roots of unity, and then its rows, with neighbours in lanes again. All of it stays in
near caches, which one long transform would not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from weft.compiler.lower.llvm.emit import memory
from weft.compiler.lower.llvm.emit.arrays import Array, Env, plus, times
from weft.compiler.lower.llvm.emit.function import Function, Operand, V
from weft.compiler.lower.llvm.emit.memory import iota
from weft.compiler.lower.llvm.emit.types import F64, I64, PTR, VOID, Type
from weft.compiler.lower.llvm.routines.common import rows, sizes
from weft.compiler.lower.llvm.routines.fourier import roots as fourier_roots
from weft.compiler.lower.llvm.routines.fourier.lanes import transform_lanes
from weft.compiler.lower.llvm.routines.fourier.roots import SplitRoots
from weft.compiler.lower.llvm.routines.fourier.stages import Complex, Planes, factors, multiply
from weft.compiler.record import record

# Up to this length the roots between columns and rows are a table in the code.
_MOST_TABLED: Final = 4096


@record
class RowPlan:
    """What transforms of rows of one length share. `between` has the roots between columns and
    rows: all of them, or those of the lanes, which roots of `split` then multiply.
    """

    type: Type
    lanes: int
    height: Operand
    width: Operand
    column_roots: V
    row_roots: V
    between: Planes
    split: SplitRoots | None = None
    memory: tuple[V, ...] = ()

    @property
    def operands(self) -> list[Operand]:
        """All that a function needs to know of the plan."""
        pointers = [self.column_roots, self.row_roots, *self.between.pointers]
        split = [] if self.split is None else self.split.operands
        return [self.height, self.width, *pointers, *split]

    def rebound(self, operands: Sequence[Operand]) -> RowPlan:
        """The plan with operands as another function knows them."""
        height, width, columns, along, real, imaginary, *split = operands
        pointers = [x for x in (columns, along, real, imaginary) if isinstance(x, V)]
        found = None
        if split:
            low, high, shift = split
            assert isinstance(low, V) and isinstance(high, V)
            found = SplitRoots(low, high, shift)
        roots, between = pointers[:2], Planes(*pointers[2:])
        return RowPlan(self.type, self.lanes, height, width, roots[0], roots[1], between, found)

    def padded(self, f: Function) -> Operand:
        """The width in whole vectors."""
        return rows.round_up(f, self.width, self.lanes)

    def pitch(self, f: Function) -> Operand:
        """How many numbers apart the rows of the matrix lie between the two steps: an odd number of
        vectors, as powers of two would share few places of the cache.
        """
        padded = self.padded(f)
        return padded | self.lanes if isinstance(padded, V) else int(padded) | self.lanes

    def data_numbers(self, f: Function) -> Operand:
        """The size of each plane of a row: vectors at its end may reach over it."""
        return rows.round_up(f, plus(f, times(f, self.height, self.width), self.lanes), 64)

    def matrix_numbers(self, f: Function) -> Operand:
        """The size of both planes of the matrix between the two steps."""
        return times(f, times(f, rows.round_up(f, self.height, self.lanes), self.pitch(f)), 2)

    def buffer_numbers(self, f: Function) -> Operand:
        """The size of one of the four planes of transforms in lanes."""
        return times(f, sizes.most(f, self.height, self.padded(f)), self.lanes)

    def scratch_numbers(self, f: Function) -> Operand:
        """All that `transform` works in."""
        return plus(f, self.matrix_numbers(f), times(f, self.buffer_numbers(f), 4))


# --- plans --------------------------------------------------------------------------------------


def plan_rows(f: Function, env: Env, type: Type, length: Operand) -> RowPlan:
    """The plan of a length whose prime factors are small; `memory` is to be given back."""
    if sizes.is_known(length):
        return _plan_now(f, env, type, int(length))
    return _plan_later(f, env, type, f.const(length, I64))


def _plan_now(f: Function, env: Env, type: Type, length: int) -> RowPlan:
    lanes = f.module.target.lanes(type.bits)
    height, width = matrix_shape(length, lanes)
    column_roots, row_roots = (
        fourier_roots.interleaved(f, fourier_roots.roots_of_unity(np.arange(n), n), type)
        for n in (height, width)
    )
    if length <= _MOST_TABLED:
        pitch = (-(-width // lanes) | 1) * lanes
        numbers = np.outer(np.arange(height), np.arange(pitch))
        table = fourier_roots.roots_of_unity(numbers, length)
        between = Planes(*fourier_roots.planar(f, table, type))
        return RowPlan(type, lanes, height, width, column_roots, row_roots, between)
    split, memory = fourier_roots.split_roots(f, env, length)
    between = _lane_roots(f, env, type, height, split)
    held = (*memory, between.real)
    return RowPlan(type, lanes, height, width, column_roots, row_roots, between, split, held)


def _plan_later(f: Function, env: Env, type: Type, length: V) -> RowPlan:
    lanes = f.module.target.lanes(type.bits)
    name = rows.shared(f.module, "fft.height", I64, [("length", I64)], _build_height)
    height = f.call(name, I64, [length])
    width = f.divide(length, height)
    tables = []
    for size in (height, width):
        tables.append(env.workspace(f, size * (2 * type.itemsize)))
        fourier_roots.fill(f, type, tables[-1], size, 1, size)
    split, memory = fourier_roots.split_roots(f, env, length)
    between = _lane_roots(f, env, type, height, split)
    held = (*tables, *memory, between.real)
    return RowPlan(type, lanes, height, width, tables[0], tables[1], between, split, held)


def _lane_roots(f: Function, env: Env, type: Type, height: Operand, split: SplitRoots) -> Planes:
    """For each number k up to the height, the roots of k times the number of each lane."""
    lanes = f.module.target.lanes(type.bits)
    size = times(f, height, lanes)
    memory = env.workspace(f, _lane_root_bytes(f, type, height, lanes))
    result = Planes(memory, f.element(memory, type, size))
    with f.range(0, height) as k:
        value = split.lanes(f, type.with_lanes(lanes), f.const(0, I64), k)
        result.store(f, value, k * lanes)
    return result


def _lane_root_bytes(f: Function, type: Type, height: Operand, lanes: int) -> Operand:
    return times(f, times(f, height, lanes), 2 * type.itemsize)


def lane_roots_bytes(type: Type, height: int, lanes: int, length: int) -> int:
    """What the roots of a known length take at run time: long ones have no table of all."""
    return 0 if length <= _MOST_TABLED else height * lanes * 2 * type.itemsize


def shape_of_plan(f: Function, type: Type, length: int, lanes: int) -> RowPlan:
    """The plan of a known length without its roots, for its sizes."""
    height, width = matrix_shape(length, lanes)
    nowhere = V(f, "null", PTR)
    return RowPlan(type, lanes, height, width, nowhere, nowhere, Planes(nowhere, nowhere))


def matrix_shape(length: int, lanes: int) -> tuple[int, int]:
    """The factors of a length that make the cheapest matrix: lanes are filled, and long transforms
    leave the nearest cache.
    """

    def cost(height: int) -> float:
        width = length // height
        columns, along = -(-width // lanes), -(-height // lanes)
        stages = columns * _stage_cost(height) + along * _stage_cost(width)
        return stages * (1 + max(height, width) / 2048)

    low = [n for n in range(1, math.isqrt(length) + 1) if length % n == 0]
    height = min([*low, *[length // n for n in low]], key=cost)
    return height, length // height


def _stage_cost(length: int) -> float:
    """Roughly the time of a transform in lanes; reading and writing count like one more stage."""
    return length * (1 + sum(1 + 0.15 * radix for radix in factors(length)))


def _build_height(f: Function) -> None:
    """The greatest factor of a length that is at most its square root."""
    (length,) = f.arguments
    found = f.variable(f.sqrt(length.to(F64)).to(I64))
    with f.loop_while() as loop:
        height = found.get()
        loop.stop_if(height.le(1))
        loop.stop_if(f.remainder(length, height).eq(0))
        found.set(height - 1)
    f.ret(f.maximum(found.get(), 1))


# --- transforms ---------------------------------------------------------------------------------


def prepare_scratch(f: Function, plan: RowPlan, scratch: V) -> None:
    """Clear what `transform` reads but never writes: subnormal numbers there would be slow."""
    if sizes.is_known(plan.height) and plan.height % plan.lanes == 0:
        return
    half = sizes.floor_divide(f, plan.matrix_numbers(f), 2)
    vector = plan.type.with_lanes(plan.lanes)
    first = times(f, plan.height, plan.pitch(f))
    for plane in range(2):
        begin = f.element(scratch, plan.type, times(f, half, plane))
        with f.range(first, half, plan.lanes) as i:
            f.store(f.const(0.0, vector), f.element(begin, plan.type, i))


class Elements:
    """The elements of a row where they come from and go to, if that is not planes."""

    arrays: list[Array]
    operands: list[Operand]

    def rebound(self, f: Function, arrays: list[Array], operands: list[Operand]) -> Elements:
        """The same in another function."""
        raise NotImplementedError

    def value(self, number: V, lanes: int, mask: V | None) -> Complex:
        """Consecutive elements, from a number on."""
        raise NotImplementedError

    def put(self, number: V, value: Complex, mask: V | None) -> None:
        raise NotImplementedError


def transform(
    f: Function,
    plan: RowPlan,
    source: Planes | Elements,
    target: Planes | Elements,
    scratch: V,
    env: Env | None = None,
) -> None:
    """Transform a row; source and target may be the same planes. With `env`, columns and then rows
    run on several threads at once.
    """
    half = sizes.floor_divide(f, plan.matrix_numbers(f), 2)
    matrix = Planes(scratch, f.element(scratch, plan.type, half))
    buffers = f.element(scratch, plan.type, plan.matrix_numbers(f))
    _run_step(f, plan, _Columns, source, matrix, buffers, env)
    _run_step(f, plan, _Rows, target, matrix, buffers, env)


def _run_step(
    f: Function,
    plan: RowPlan,
    step: type[_Step],
    outer: Planes | Elements,
    matrix: Planes,
    buffers: V,
    env: Env | None,
) -> None:
    count = sizes.ceil_divide(f, step.size(plan), plan.lanes)
    if env is not None:
        _run_parallel(f, env, plan, step, outer, matrix, count)
        return
    begin, end = f.const(0, I64), f.const(count, I64)
    if isinstance(outer, Elements):
        step(f, plan, outer, matrix, buffers).run(begin, end)
    else:
        _call(f, plan, step, [*outer.pointers, *matrix.pointers, buffers, begin, end])


def _run_parallel(
    f: Function,
    env: Env,
    plan: RowPlan,
    step: type[_Step],
    outer: Planes | Elements,
    matrix: Planes,
    count: Operand,
) -> None:
    arrays = outer.arrays if isinstance(outer, Elements) else []
    own = outer.operands if isinstance(outer, Elements) else [*outer.pointers]
    numbers = [*matrix.pointers, *plan.operands, *own]
    middle = 2 + len(plan.operands)

    def body(
        g: Function, inner: Env, begin: V, end: V, there: list[Array], given: list[Operand]
    ) -> None:
        held = Planes(*pointers_of(given[:2]))
        bound = plan.rebound(given[2:middle])
        buffers = inner.workspace(g, buffer_bytes(g, bound))
        if isinstance(outer, Elements):
            outside = outer.rebound(g, there, given[middle:])
            step(g, bound, outside, held, buffers).run(begin, end)
        else:
            pointers = pointers_of(given[middle:])
            _call(g, bound, step, [*pointers, *held.pointers, buffers, begin, end])
        inner.free(g, buffers)

    steps = times(f, step.other_size(plan), plan.lanes * 4)
    bytes = buffer_bytes(f, plan)
    rows.parallel(f, env, count, steps, arrays, numbers, body, scratch=bytes)


def buffer_bytes(f: Function, plan: RowPlan) -> Operand:
    """What a task of a step takes."""
    return times(f, plan.buffer_numbers(f), 4 * plan.type.itemsize)


def pointers_of(operands: Sequence[Operand]) -> list[V]:
    """Operands that are values."""
    found = [x for x in operands if isinstance(x, V)]
    assert len(found) == len(operands)
    return found


def _call(f: Function, plan: RowPlan, step: type[_Step], given: Sequence[V]) -> None:
    """Call the function of a step on planes, which is built once for a plan; `given` are the planes
    of the row and of the matrix, the buffers, and the first and last block.
    """
    operands = plan.operands
    values = [x for x in operands if isinstance(x, V)]
    shape = [x for x in operands[:2] if sizes.is_known(x)]
    suffix = ".".join(map(str, [plan.type.suffix, *shape]))
    every = [*given, *values]

    def build(g: Function) -> None:
        arguments = list(g.arguments)
        there = iter(arguments[len(given) :])
        bound = plan.rebound([next(there) if isinstance(x, V) else x for x in operands])
        row, matrix = Planes(*arguments[:2]), Planes(*arguments[2:4])
        buffers, begin, end = arguments[4:7]
        step(g, bound, row, matrix, buffers).run(begin, end)
        g.ret()

    parameters = [(f"x{i}", value.type) for i, value in enumerate(every)]
    name = rows.shared(f.module, f"fft.{step.name}.{suffix}", VOID, parameters, build)
    f.call(name, VOID, every)


class _Step:
    """One of the two steps, on blocks of as many columns or rows as there are lanes."""

    name = ""

    def __init__(
        self, f: Function, plan: RowPlan, outer: Planes | Elements, matrix: Planes, buffers: V
    ) -> None:
        self.f = f
        self.plan = plan
        self.lanes = plan.lanes
        self.vector = plan.type.with_lanes(plan.lanes)
        self.outer = outer
        self.matrix = matrix
        size = plan.buffer_numbers(f)
        planes = [f.element(buffers, plan.type, times(f, size, i)) for i in range(4)]
        self.first, self.second = Planes(*planes[:2]), Planes(*planes[2:])
        self.pitch = plan.pitch(f)

    @staticmethod
    def size(plan: RowPlan) -> Operand:
        """How many transforms there are."""
        raise NotImplementedError

    @staticmethod
    def other_size(plan: RowPlan) -> Operand:
        """How long they are."""
        raise NotImplementedError

    def run(self, begin: V, end: V) -> None:
        with self.f.range(begin, end) as block:
            self.block(block * self.lanes)

    def block(self, first: V) -> None:
        raise NotImplementedError

    def mask(self, first: V) -> V | None:
        """Which lanes of a block are there."""
        f, size = self.f, self.size(self.plan)
        if sizes.is_known(size) and size % self.lanes == 0:
            return None
        left = f.splat(f.const(sizes.minus(f, size, first), I64), self.lanes)
        return iota(f, self.lanes).lt(left)


class _Columns(_Step):
    """Transforms columns of the row into the matrix."""

    name = "columns"

    @staticmethod
    def size(plan: RowPlan) -> Operand:
        return plan.width

    @staticmethod
    def other_size(plan: RowPlan) -> Operand:
        return plan.height

    def block(self, first: V) -> None:
        f = self.f
        made = self.transformed(first)
        self.matrix.store(f, made.load(f, self.vector, 0), first)
        with f.range(1, self.plan.height) as k:
            value = made.load(f, self.vector, k * self.lanes)
            place = rows.along(f, first, k, self.pitch)
            self.matrix.store(f, multiply(value, self.root(k, first, place)), place)

    def transformed(self, first: V) -> Planes:
        f, plan, outer = self.f, self.plan, self.outer
        stride: Operand = self.lanes
        if isinstance(outer, Elements):
            mask = self.mask(first)
            with f.range(0, plan.height) as j:
                value = outer.value(rows.along(f, first, j, plan.width), self.lanes, mask)
                self.first.store(f, value, j * self.lanes)
            source, buffers = self.first, (self.second, self.first)
        else:
            source = Planes(*[f.element(x, plan.type, first) for x in outer.pointers])
            stride, buffers = plan.width, (self.first, self.second)
        return transform_lanes(
            f, self.vector, source, stride, buffers, plan.height, plan.column_roots
        )

    def root(self, k: V, first: V, place: V) -> Complex:
        """The roots of k times the number of each column."""
        f, plan = self.f, self.plan
        if plan.split is None:
            return plan.between.load(f, self.vector, place)
        one = [part.to(plan.type) for part in plan.split.root(f, k * first)]
        real, imaginary = (f.splat(part, self.lanes) for part in one)
        return multiply((real, imaginary), plan.between.load(f, self.vector, k * self.lanes))


class _Rows(_Step):
    """Transforms rows of the matrix into columns of the row, which is the order of frequencies."""

    name = "rows"

    @staticmethod
    def size(plan: RowPlan) -> Operand:
        return plan.height

    @staticmethod
    def other_size(plan: RowPlan) -> Operand:
        return plan.width

    def block(self, first: V) -> None:
        f, plan = self.f, self.plan
        with f.range(0, plan.padded(f), self.lanes) as column:
            self.turn_tile(first, column)
        buffers = self.second, self.first
        made = transform_lanes(
            f, self.vector, self.first, self.lanes, buffers, plan.width, plan.row_roots
        )
        mask = self.mask(first)
        with f.range(0, plan.width) as k:
            value = made.load(f, self.vector, k * self.lanes)
            self.put(rows.along(f, first, k, plan.height), value, mask)

    def turn_tile(self, row: V, column: V) -> None:
        """Lanes that run along rows of the matrix become lanes that run across them."""
        f, lanes = self.f, self.lanes
        for source, target in zip(self.matrix.pointers, self.first.pointers, strict=True):
            places = [rows.along(f, column, row + i, self.pitch) for i in range(lanes)]
            held = [f.load(f.element(source, self.vector, place), self.vector) for place in places]
            for i, value in enumerate(rows.transposed(f, held)):
                f.store(value, f.element(target, self.vector, (column + i) * lanes))

    def put(self, number: V, value: Complex, mask: V | None) -> None:
        f, outer = self.f, self.outer
        if isinstance(outer, Elements):
            outer.put(number, value, mask)
            return
        for part, pointer in zip(value, outer.pointers, strict=True):
            memory.store(f, pointer, part, memory.Address(number, 1), self.lanes, mask)
