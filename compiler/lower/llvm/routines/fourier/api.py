"""fft in native code: which way each axis is transformed.

Short rows, and rows across the last axis, are transformed in lanes, many at once; others one by
one, and very long ones on several threads each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from weft.compiler.ir.graph import Op
from weft.compiler.lower.llvm.emit.arrays import Array, Env, dot, plus, product, times, unravel
from weft.compiler.lower.llvm.emit.function import Function, Operand, V
from weft.compiler.lower.llvm.emit.memory import iota
from weft.compiler.lower.llvm.emit.types import I64, PTR, Type
from weft.compiler.lower.llvm.routines.common import copies, rows, sizes
from weft.compiler.lower.llvm.routines.fourier import roots as fourier_roots
from weft.compiler.lower.llvm.routines.fourier.access import Group, Place, Row
from weft.compiler.lower.llvm.routines.fourier.kinds import Kind, kind_of
from weft.compiler.lower.llvm.routines.fourier.lanes import transform_lanes
from weft.compiler.lower.llvm.routines.fourier.lengths import Engine, is_smooth, make_engine
from weft.compiler.lower.llvm.routines.fourier.roots import SplitRoots
from weft.compiler.lower.llvm.routines.fourier.rows import (
    Elements,
    pointers_of,
    prepare_scratch,
    transform,
)
from weft.compiler.lower.llvm.routines.fourier.stages import Complex, Planes
from weft.compiler.record import record

# The longest rows that are transformed in lanes: along the last axis, where they have to be brought
# there, and across it.
_MOST_ALONG: Final = 64
_MOST_ACROSS: Final = 1024

# Rows from this length on are transformed one after the other, each on several threads.
_LONG: Final = 1 << 16

# Up to this length the roots that real signals need are a table in the code.
_MOST_TABLED: Final = 8192


def emit(f: Function, env: Env, op: Op, operands: list[Array], results: list[Array]) -> None:
    """Transform along each axis in turn; all but the first happen within the result."""
    (x,), (y,) = operands, results
    kind, axes = op.attributes["kind"], op.attributes["axes"]
    if not axes:
        copies.copy(f, env, x, y)
    elif kind == "irfft":
        _emit_inverse_real(f, env, x, y, axes)
    else:
        first, others = (axes[-1], axes[:-1]) if kind == "rfft" else (axes[0], axes[1:])
        _emit_axis(f, env, kind, x, y, first)
        for axis in others:
            _emit_axis(f, env, "fft" if kind == "rfft" else kind, y, y, axis)


def _emit_inverse_real(f: Function, env: Env, x: Array, y: Array, axes: Sequence[int]) -> None:
    held: Array | None = None
    for axis in axes[:-1]:
        held = held or copies.scratch(f, env, x.dtype, x.shape)
        _emit_axis(f, env, "ifft", x, held, axis)
        x = held
    _emit_axis(f, env, "irfft", x, y, axes[-1])
    if held is not None:
        env.free(f, held.pointer)


def _emit_axis(f: Function, env: Env, name: str, x: Array, y: Array, axis: int) -> None:
    signal = y.shape[axis] if name == "irfft" else x.shape[axis]
    if not sizes.is_known(signal):
        with f.otherwise(f.const(signal, I64).gt(0)) as choice:
            _Transform(f, env, name, x, y, axis, signal).emit()
            choice.otherwise()
            _clear(f, y)
    elif signal:
        _Transform(f, env, name, x, y, axis, signal).emit()
    else:
        _clear(f, y)


def _clear(f: Function, y: Array) -> None:
    """The transform of nothing: a real signal without elements still has one frequency."""
    parts = 2 if y.dtype.is_complex else 1
    with f.range(0, times(f, product(f, y.shape), parts)) as i:
        f.store(f.const(0.0, y.type), f.element(y.pointer, y.type, i))


class _Transform:
    """The transform of all rows along one axis."""

    def __init__(
        self, f: Function, env: Env, name: str, x: Array, y: Array, axis: int, signal: Operand
    ) -> None:
        self.f = f
        self.env = env
        self.x = x
        self.y = y
        self.axis = axis
        self.signal = signal
        self.type: Type = x.type
        self.lanes = f.module.target.lanes(self.type.bits)
        self.kind = kind_of(name, signal)
        self.length = sizes.floor_divide(f, signal, 2) if self.kind.is_packed else signal

    def emit(self) -> None:
        length = self.length
        across = self.runs_across()
        most = _MOST_ACROSS if across else _MOST_ALONG
        if sizes.is_known(length) and length <= most and is_smooth(length):
            _Groups(self, int(length), across).emit()
        else:
            _Rows(self).emit()

    def runs_across(self) -> bool:
        """Whether neighbouring rows have neighbouring elements, enough to fill vectors."""
        last = len(self.x.shape) - 1
        if self.axis == last or self.x.strides[last] != 1 or self.y.strides[last] != 1:
            return False
        count = self.x.shape[last]
        return not sizes.is_known(count) or count >= self.lanes // 2

    def steps(self) -> Operand:
        """Elementary steps per row, roughly."""
        return times(self.f, self.length, 16)


# --- rows in lanes ------------------------------------------------------------------------------


class _Groups:
    """As many rows at once as there are lanes."""

    def __init__(self, transform: _Transform, length: int, across: bool) -> None:
        self.transform = transform
        self.length = length
        self.across = across

    def emit(self) -> None:
        t = self.transform
        if self.across:
            blocks = sizes.ceil_divide(t.f, t.x.shape[-1], t.lanes)
            count = times(t.f, product(t.f, _outer(t.x, t.axis).shape), blocks)
            steps, group = times(t.f, t.steps(), t.lanes), 1
        else:
            blocks, count = 1, rows.row_count(t.f, t.x, t.axis)
            steps, group = t.steps(), t.lanes

        def body(
            g: Function, env: Env, begin: V, end: V, arrays: list[Array], numbers: list[Operand]
        ) -> None:
            size = self.length * t.lanes
            memory = env.workspace(g, (4 * size + self.staging_numbers()) * t.type.itemsize)
            planes = [g.element(memory, t.type, size * i) for i in range(5)]
            with g.range(begin, end, group) as item:
                places, mask = self.places(g, arrays, item, end, numbers[0])
                self.run(g, places, mask, planes)
            env.free(g, memory)

        rows.parallel(t.f, t.env, count, steps, [t.x, t.y], [blocks], body, group=group)

    def staging_numbers(self) -> int:
        """Room for a row per lane, in whole tiles: at most one frequency more than the length."""
        lanes = self.transform.lanes
        return 0 if self.across else -(-(2 * self.length + 2) // lanes) * lanes * lanes

    def places(
        self, f: Function, arrays: list[Array], item: V, end: V, blocks: Operand
    ) -> tuple[list[Place], V | None]:
        """Where the rows of a group are; the mask says which lanes have one."""
        axis, lanes = self.transform.axis, self.transform.lanes
        if not self.across:
            numbers = [f.minimum(item + lane, end - 1) for lane in range(lanes)]
            starts = [rows.row_starts(f, arrays, axis, number) for number in numbers]
            return [
                Place(array, 0, rows.vector_of(f, [start[i] for start in starts]))
                for i, array in enumerate(arrays)
            ], None
        first = f.mul(f.remainder(item, blocks), lanes)
        index = unravel(f, f.divide(item, blocks), _outer(arrays[0], axis).shape)
        places = [
            Place(array, plus(f, dot(f, index, _outer(array, axis).strides), first))
            for array in arrays
        ]
        count = arrays[0].shape[-1]
        if sizes.is_known(count) and count % lanes == 0:
            return places, None
        return places, (f.splat(first, lanes) + iota(f, lanes)).lt(
            f.splat(f.const(count, I64), lanes)
        )

    def run(self, f: Function, places: list[Place], mask: V | None, room: list[V]) -> None:
        t, roots = self.transform, None
        first, second, staging = Planes(*room[:2]), Planes(*room[2:4]), room[4]
        if t.kind.is_packed:
            roots = self.table(f, 2 * self.length)
        access = Group(f, t.type, t.axis, places, first, t.lanes, staging, roots)
        kind = t.kind(access, t.signal)
        access.stage()
        with access.masked(mask):
            _load(kind, first)
        vector, buffers = t.type.with_lanes(t.lanes), (second, first)
        table = self.table(f, self.length)
        made = transform_lanes(f, vector, first, t.lanes, buffers, self.length, table)
        with access.masked(mask):
            _store(kind, made)
        access.unstage()

    def table(self, f: Function, signal: int) -> V:
        """As many roots of a length as the transform is long."""
        values = fourier_roots.roots_of_unity(np.arange(self.length), signal)
        return fourier_roots.interleaved(f, values, self.transform.type)


def _outer(array: Array, axis: int) -> Array:
    """The array without its last axis and another one."""
    return array.without(len(array.shape) - 1).without(axis)


def _load(kind: Kind, planes: Planes) -> None:
    """Read rows into planes."""
    kind.use(planes)
    kind.load_ends()
    kind.access.loop(*kind.load_range(), kind.load)


def _store(kind: Kind, planes: Planes) -> None:
    """Write rows from planes."""
    kind.use(planes)
    kind.store_ends()
    kind.access.loop(*kind.store_range(), kind.store)


# --- row by row ---------------------------------------------------------------------------------


@record
class _Tools:
    """What the elements of a row need besides the row: the length of the signal, and roots."""

    signal: Operand
    roots: Planes | None = None
    split: SplitRoots | None = None

    @property
    def operands(self) -> list[Operand]:
        roots = [] if self.roots is None else list(self.roots.pointers)
        split = [] if self.split is None else self.split.operands
        return [self.signal, *roots, *split]

    def rebound(self, operands: Sequence[Operand]) -> _Tools:
        signal, *rest = operands
        roots = None if self.roots is None else Planes(*pointers_of(rest[:2]))
        split = None
        if self.split is not None:
            low, high = pointers_of(rest[2:4])
            split = SplitRoots(low, high, rest[4])
        return _Tools(signal, roots, split)


class _RowElements(Elements):
    """The elements of a row of the source and of the target."""

    def __init__(
        self,
        f: Function,
        transform: _Transform,
        arrays: list[Array],
        starts: Sequence[Operand],
        tools: _Tools,
    ) -> None:
        t = transform
        places = [Place(array, start) for array, start in zip(arrays, starts, strict=True)]
        nowhere = V(f, "null", PTR)
        access = Row(
            f,
            t.type,
            t.axis,
            places,
            Planes(nowhere, nowhere),
            t.lanes,
            tools.roots,
            tools.split,
        )
        self.transform = transform
        self.tools = tools
        self.arrays = arrays
        self.operands = [*starts, *tools.operands]
        self.kind = t.kind(access, tools.signal)

    def rebound(self, f: Function, arrays: list[Array], operands: list[Operand]) -> _RowElements:
        tools = self.tools.rebound(operands[2:])
        return _RowElements(f, self.transform, arrays, operands[:2], tools)

    def value(self, number: V, lanes: int, mask: V | None) -> Complex:
        with self.kind.access.masked(mask):
            return self.kind.turned(self.kind.value(number, lanes))

    def put(self, number: V, value: Complex, mask: V | None) -> None:
        with self.kind.access.masked(mask):
            self.kind.put(number, self.kind.turned(value))


class _Rows:
    """One row after the other."""

    def __init__(self, transform: _Transform) -> None:
        self.transform = transform

    def emit(self) -> None:
        t = self.transform
        f, env = t.f, t.env
        engine = make_engine(f, env, t.type, t.length)
        tools = _Tools(t.signal, *self.roots())
        count = rows.row_count(f, t.x, t.axis)
        numbers = [*tools.operands, *engine.operands]
        middle = len(tools.operands)

        def body(
            g: Function, inner: Env, begin: V, end: V, arrays: list[Array], given: list[Operand]
        ) -> None:
            held = tools.rebound(given[:middle]), engine.rebound(given[middle:])
            self.run(g, inner, begin, end, arrays, *held, is_long=False)

        if sizes.is_known(t.length) and t.length >= _LONG:
            whole = f.const(0, I64), f.const(count, I64)
            self.run(f, env, *whole, [t.x, t.y], tools, engine, is_long=True)
        else:
            rows.parallel(f, env, count, t.steps(), [t.x, t.y], numbers, body)
        for memory in engine.memory:
            env.free(f, memory)

    def roots(self) -> tuple[Planes | None, SplitRoots | None]:
        """The roots that real signals need."""
        t = self.transform
        if not t.kind.is_packed:
            return None, None
        assert sizes.is_known(t.signal)
        signal = int(t.signal)
        is_short = signal <= _MOST_TABLED
        count = signal // 2 if is_short else t.lanes
        table = fourier_roots.roots_of_unity(np.arange(count), signal)
        planes = Planes(*fourier_roots.planar(t.f, table, t.type))
        if is_short:
            return planes, None
        return planes, fourier_roots.split_roots(t.f, t.env, signal)[0]

    def run(
        self,
        f: Function,
        env: Env,
        begin: V,
        end: V,
        arrays: list[Array],
        tools: _Tools,
        engine: Engine,
        *,
        is_long: bool,
    ) -> None:
        t, plan, kind = self.transform, engine.plan, self.transform.kind
        is_direct = engine.is_direct is True
        needs_planes = not (is_direct and kind.has_value and kind.has_put)
        size = plan.data_numbers(f) if needs_planes else 0
        room = plus(f, times(f, size, 2), plan.scratch_numbers(f))
        memory = env.workspace(f, times(f, room, t.type.itemsize))
        planes = Planes(memory, f.element(memory, t.type, size))
        scratch = f.element(memory, t.type, times(f, size, 2))
        prepare_scratch(f, plan, scratch)
        shared = env if is_long else None
        with f.range(begin, end) as row:
            starts = rows.row_starts(f, arrays, t.axis, row)
            elements = _RowElements(f, t, arrays, starts, tools)
            source = elements if is_direct and kind.has_value else planes
            target = elements if is_direct and kind.has_put else planes
            if source is planes:
                self.run_pass(f, elements, planes, shared, is_load=True)
            if is_direct:
                transform(f, plan, source, target, scratch, shared)
            else:
                engine.run(f, planes, scratch, shared)
            if target is planes:
                self.run_pass(f, elements, planes, shared, is_load=False)
        env.free(f, memory)

    def run_pass(
        self, f: Function, elements: _RowElements, planes: Planes, env: Env | None, is_load: bool
    ) -> None:
        """Read a row into planes or write it from them."""
        if env is None:
            (_load if is_load else _store)(elements.kind, planes)
            return
        kind = elements.kind
        kind.use(planes)
        (kind.load_ends if is_load else kind.store_ends)()
        begin, end = kind.load_range() if is_load else kind.store_range()

        def body(
            g: Function, _: Env, first: V, last: V, arrays: list[Array], given: list[Operand]
        ) -> None:
            there = elements.rebound(g, arrays, given[3:]).kind
            there.use(Planes(*pointers_of(given[:2])))
            low, high = plus(g, given[2], first), plus(g, given[2], last)
            there.access.loop(low, high, there.load if is_load else there.store)

        numbers = [*planes.pointers, begin, *elements.operands]
        count, lanes = sizes.minus(f, end, begin), self.transform.lanes
        rows.parallel(f, env, count, 4, elements.arrays, numbers, body, group=lanes)


ROUTINES: Final = {"fft": emit}
