"""fft in native code: which way each axis is transformed.

Short rows, and rows across the last axis, are transformed in lanes, many at once; others one by
one, and very long ones on several threads each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from weft.compiler.ir import dims
from weft.compiler.ir.dims import Size
from weft.compiler.ir.graph import Op
from weft.compiler.ir.index.affine import row_major
from weft.compiler.ir.types import ArrayType
from weft.compiler.lower.llvm.emit.arrays import Array, Env, dot, plus, product, times, unravel
from weft.compiler.lower.llvm.emit.function import Function, Operand, V
from weft.compiler.lower.llvm.emit.memory import iota
from weft.compiler.lower.llvm.emit.types import I64, PTR, Type
from weft.compiler.lower.llvm.routines import Planned, ScratchOf
from weft.compiler.lower.llvm.routines.common import copies, planning, rows, sizes
from weft.compiler.lower.llvm.routines.fourier import roots as fourier_roots
from weft.compiler.lower.llvm.routines.fourier.access import ElementPlace, Group, Row
from weft.compiler.lower.llvm.routines.fourier.kinds import TransformKind, kind_of
from weft.compiler.lower.llvm.routines.fourier.lanes import transform_lanes
from weft.compiler.lower.llvm.routines.fourier.lengths import MOST_TABLED as MOST_TABLED_FACTORS
from weft.compiler.lower.llvm.routines.fourier.lengths import (
    Engine,
    convolution_length,
    is_smooth,
    make_engine,
)
from weft.compiler.lower.llvm.routines.fourier.roots import SplitRoots
from weft.compiler.lower.llvm.routines.fourier.rows import (
    Elements,
    RowPlan,
    lane_roots_bytes,
    pointers_of,
    prepare_scratch,
    shape_of_plan,
    transform,
)
from weft.compiler.lower.llvm.routines.fourier.stages import Complex, Planes
from weft.compiler.record import record

# The longest rows that are transformed in lanes: along the last axis, where they have to be brought
# there, and across it.
_MOST_ALONG: Final = 64
_MOST_ACROSS: Final = 1024

# Rows from this length on are transformed one after the other, each on several threads.
LONG: Final = 1 << 16

# Elementary steps per element of a row, roughly.
STEPS: Final = 16

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
        across = runs_across(self.x, self.y, self.axis, self.lanes)
        if sizes.is_known(length) and is_in_lanes(length, across):
            _Groups(self, int(length), across).emit()
        else:
            _Rows(self).emit()

    def steps(self) -> Operand:
        """Elementary steps per row, roughly."""
        return times(self.f, self.length, STEPS)


def runs_across(x: Array, y: Array, axis: int, lanes: int) -> bool:
    """Whether neighbouring rows have neighbouring elements, enough to fill vectors."""
    last = len(x.shape) - 1
    if axis == last or x.strides[last] != 1 or y.strides[last] != 1:
        return False
    count = x.shape[last]
    return not sizes.is_known(count) or count >= lanes // 2


def is_in_lanes(length: int, across: bool) -> bool:
    """Whether rows are so short that they are transformed in lanes."""
    return length <= (_MOST_ACROSS if across else _MOST_ALONG) and is_smooth(length)


def group_bytes(type: Type, length: int, lanes: int, *, across: bool) -> int:
    """What rows in lanes take: four planes and, where they lie along the last axis, room for a row
    per lane in whole tiles, at most one frequency more than the length.
    """
    staged = 0 if across else -(-(2 * length + 2) // lanes) * lanes * lanes
    return (4 * length * lanes + staged) * type.itemsize


# --- rows in lanes ------------------------------------------------------------------------------


class _Groups:
    """As many rows at once as there are lanes."""

    def __init__(self, transform: _Transform, length: int, across: bool) -> None:
        self.transform = transform
        self.length = length
        self.across = across

    def emit(self) -> None:
        t = self.transform
        room = group_bytes(t.type, self.length, t.lanes, across=self.across)
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
            memory = env.workspace(g, room)
            planes = [g.element(memory, t.type, size * i) for i in range(5)]
            with g.range(begin, end, group) as item:
                places, mask = self.places(g, arrays, item, end, numbers[0])
                self.run(g, places, mask, planes)
            env.free(g, memory)

        arrays = [t.x, t.y]
        rows.parallel(t.f, t.env, count, steps, arrays, [blocks], body, group=group, scratch=room)

    def places(
        self, f: Function, arrays: list[Array], item: V, end: V, blocks: Operand
    ) -> tuple[list[ElementPlace], V | None]:
        """Where the rows of a group are; the mask says which lanes have one."""
        axis, lanes = self.transform.axis, self.transform.lanes
        if not self.across:
            numbers = [f.minimum(item + lane, end - 1) for lane in range(lanes)]
            starts = [rows.row_starts(f, arrays, axis, number) for number in numbers]
            return [
                ElementPlace(array, 0, rows.vector_of(f, [start[i] for start in starts]))
                for i, array in enumerate(arrays)
            ], None
        first = f.mul(f.remainder(item, blocks), lanes)
        index = unravel(f, f.divide(item, blocks), _outer(arrays[0], axis).shape)
        places = [
            ElementPlace(array, plus(f, dot(f, index, _outer(array, axis).strides), first))
            for array in arrays
        ]
        count = arrays[0].shape[-1]
        if sizes.is_known(count) and count % lanes == 0:
            return places, None
        return places, (f.splat(first, lanes) + iota(f, lanes)).lt(
            f.splat(f.const(count, I64), lanes)
        )

    def run(self, f: Function, places: list[ElementPlace], mask: V | None, room: list[V]) -> None:
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


def _load(kind: TransformKind, planes: Planes) -> None:
    """Read rows into planes."""
    kind.use(planes)
    kind.load_ends()
    kind.access.loop(*kind.load_range(), kind.load)


def _store(kind: TransformKind, planes: Planes) -> None:
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
        places = [ElementPlace(array, start) for array, start in zip(arrays, starts, strict=True)]
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


def plane_numbers(
    f: Function, plan: RowPlan, kind: type[TransformKind], *, is_direct: bool
) -> Operand:
    """The size of the planes that a row is brought into, unless it is transformed where it lies."""
    is_in_place = is_direct and kind.has_value and kind.has_put
    return 0 if is_in_place else plan.data_numbers(f)


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

        if sizes.is_known(t.length) and t.length >= LONG:
            whole = f.const(0, I64), f.const(count, I64)
            self.run(f, env, *whole, [t.x, t.y], tools, engine, is_long=True)
        else:
            bytes = self.row_bytes(f, engine)
            rows.parallel(f, env, count, t.steps(), [t.x, t.y], numbers, body, scratch=bytes)
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

    def row_bytes(self, f: Function, engine: Engine) -> Operand:
        """What rows take, one after the other."""
        kind, is_direct = self.transform.kind, engine.is_direct is True
        size = plane_numbers(f, engine.plan, kind, is_direct=is_direct)
        room = plus(f, times(f, size, 2), engine.plan.scratch_numbers(f))
        return times(f, room, self.transform.type.itemsize)

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
        size = plane_numbers(f, plan, kind, is_direct=is_direct)
        memory = env.workspace(f, self.row_bytes(f, engine))
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


# --- planning -----------------------------------------------------------------------------------


def _scratch(call: Planned) -> Size:
    """What the axes take one after the other; nothing is planned unless all lengths are known."""
    op = call.op
    x, y = op.operands[0].type, op.results[0].type
    kind, axes = op.attributes["kind"], op.attributes["axes"]
    lengths = [(y if kind == "irfft" else x).shape[axis] for axis in axes]
    if not axes or not all(isinstance(length, int) and length for length in lengths):
        return 0
    given, made = planning.seen(x, call.strides[0]), planning.seen(y, row_major(y.shape))
    steps = _axis_steps(kind, axes)
    between, held = made, 0 if kind != "irfft" or len(steps) == 1 else _held_bytes(x)
    if kind == "irfft":
        between = planning.seen(x, row_major(x.shape))
    most: Size = 0
    for number, (name, axis) in enumerate(steps):
        source = between if number else given
        target = made if number == len(steps) - 1 else between
        most = dims.maximum(most, _axis_scratch(call, name, source, target, axis))
    return held + most


def _held_bytes(x: ArrayType) -> Size:
    """The spectrum between the axes of an inverse transform to real signals."""
    return planning.array(x.dtype, x.shape)


def _axis_steps(kind: str, axes: Sequence[int]) -> list[tuple[str, int]]:
    """The transforms of an op along one axis each, in order."""
    if kind == "irfft":
        return [*[("ifft", axis) for axis in axes[:-1]], ("irfft", axes[-1])]
    if kind == "rfft":
        return [("rfft", axes[-1]), *[("fft", axis) for axis in axes[:-1]]]
    return [(kind, axis) for axis in axes]


def _axis_scratch(call: Planned, name: str, x: Array, y: Array, axis: int) -> Size:
    """What the transform of all rows along an axis takes."""
    type, threads = x.type, call.threads
    signal = sizes.known(y.shape[axis] if name == "irfft" else x.shape[axis])
    kind, lanes = kind_of(name, signal), call.target.lanes(type.bits)
    length = signal // 2 if kind.is_packed else signal
    across = runs_across(x, y, axis, lanes)
    shape = call.op.operands[0].type.shape
    count = dims.product((*shape[:axis], *shape[axis + 1 :]))
    if is_in_lanes(length, across):
        bytes = group_bytes(type, length, lanes, across=across)
        if across:
            outer = [size for n, size in enumerate(shape[:-1]) if n != axis]
            blocks = dims.floor_divide(shape[-1] + (lanes - 1), lanes)
            tasks = planning.chunks(dims.product((*outer, blocks)), length * STEPS * lanes)
        else:
            tasks = planning.chunks(count, length * STEPS, lanes)
        return planning.tasks(bytes, threads, tasks)
    return _row_scratch(call, type, kind, length, count)


def _row_scratch(
    call: Planned, type: Type, kind: type[TransformKind], length: int, count: Size
) -> Size:
    """What rows take that are transformed one after the other, or on several threads each."""
    f, lanes, item = planning.nowhere(), call.target.lanes(type.bits), type.itemsize
    is_direct = is_smooth(length)
    whole = length if is_direct else convolution_length(length)
    plan = shape_of_plan(f, type, whole, lanes)
    data, work = sizes.known(plan.data_numbers(f)), sizes.known(plan.scratch_numbers(f))
    shared = planning.part(lane_roots_bytes(type, sizes.known(plan.height), lanes, whole))
    factors: Size = 0
    if not is_direct and length > MOST_TABLED_FACTORS:
        shared = shared + planning.part(data * 4 * item)
        factors = planning.part(work * item)
    size = sizes.known(plane_numbers(f, plan, kind, is_direct=is_direct))
    row = (2 * size + work) * item
    if length < LONG:
        rest = planning.tasks(row, call.threads, planning.chunks(count, length * STEPS))
    else:
        buffers = sizes.known(plan.buffer_numbers(f)) * 4 * item
        blocks = -(-max(sizes.known(plan.height), sizes.known(plan.width)) // lanes)
        rest = planning.part(row) + planning.tasks(buffers, call.threads, blocks)
    return shared + dims.maximum(factors, rest)


ROUTINES: Final = {"fft": emit}
SCRATCH: Final[Mapping[str, ScratchOf]] = {"fft": _scratch}
