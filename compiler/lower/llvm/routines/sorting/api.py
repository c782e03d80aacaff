"""sort and top_k in native code: rows are read as keys, sorted by one of the sorts, written back.

A sort of one array moves the keys alone and makes elements of them again. Otherwise records of a
key and its place are sorted, for each key from the last to the first, as each sort keeps the order
of equal keys; the places then say where every operand's elements come from.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from weft.compiler.ir import dims
from weft.compiler.ir.dims import Size
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.graph import Op
from weft.compiler.lower.llvm.emit.arrays import Array, Env, times
from weft.compiler.lower.llvm.emit.function import Function, Operand, V
from weft.compiler.lower.llvm.emit.types import I1, I64, U64
from weft.compiler.lower.llvm.routines import Planned, ScratchOf
from weft.compiler.lower.llvm.routines.common import planning, rows
from weft.compiler.lower.llvm.routines.sorting import keys as order_keys
from weft.compiler.lower.llvm.routines.sorting import selection as selecting
from weft.compiler.lower.llvm.routines.sorting import sorts as sorting
from weft.compiler.lower.llvm.routines.sorting.keys import contiguous_lanes, load_bits, store_bits
from weft.compiler.lower.llvm.target import Target
from weft.compiler.record import record

# Steps that sorting takes per element, for the size of parallel tasks.
_STEPS: Final = 32

# Places of longer rows need more than half a word of a record.
_MOST_PLACES: Final = 1 << 32

# Up to this length rows are sorted as a whole for top_k.
_SHORT: Final = 256


def emit_sort(f: Function, env: Env, op: Op, operands: list[Array], results: list[Array]) -> None:
    """All operands in the stable order of the first of them."""
    num_keys, dtype = op.attributes["num_keys"], operands[0].dtype
    if len(operands) > 1 or dtype.is_complex:
        _sort_records(f, env, op, operands, results, num_keys, op.attributes["descending"])
        return
    plan = _plan_of(op, f.module.target)

    def sort(task: _Task, arrays: list[Array], begin: V, end: V) -> None:
        _ValueSort(task, *arrays).run(begin, end)

    _Run(f, env, op.attributes["axis"], op.attributes["descending"], sort, plan)(operands, results)


def emit_top_k(f: Function, env: Env, op: Op, operands: list[Array], results: list[Array]) -> None:
    """The k first elements of each row, and where they come from."""
    (x,), k = operands, op.attributes["k"]
    length = x.shape[op.attributes["axis"]]
    if not k:
        return
    if _is_sorted_whole(x.dtype, length):
        _sort_records(f, env, op, operands, results, 1, op.attributes["largest"])
    else:
        selecting.select_rows(f, env, op, x, *results)


def _sort_records(
    f: Function,
    env: Env,
    op: Op,
    operands: list[Array],
    results: list[Array],
    num_keys: int,
    descending: bool,
) -> None:
    count = len(operands)

    def sort(task: _Task, arrays: list[Array], begin: V, end: V) -> None:
        _RecordSort(task, arrays[:count], arrays[count:], num_keys).run(begin, end)

    axis = op.attributes["axis"]
    plan = _plan_of(op, f.module.target)
    run, length = _Run(f, env, axis, descending, sort, plan), operands[0].shape[axis]
    if not isinstance(length, V):
        run(operands, results)
        return
    with f.otherwise(length.le(_MOST_PLACES)) as choice:
        run(operands, results)
        choice.otherwise()
        site = env.site(op, "ShapeError", "rows of {0} elements are too long to be sorted")
        env.fail(f, site, [length])


def _is_sorted_whole(dtype: DType, length: Operand | Size) -> bool:
    """Whether rows are sorted as a whole for top_k."""
    return dtype.is_complex or (isinstance(length, int) and length <= _SHORT)


@record
class _SortPlan:
    """How rows of an op are sorted: as keys alone, or as records of a key and its place; the bits
    of each part of the keys; how many rows are sorted at once by the network, and the longest rows
    for that, of many and of few.
    """

    dtype: DType
    has_records: bool
    part_bits: tuple[int, ...]
    length: Size
    lanes: int
    most: tuple[int, int]

    def bytes(self, lanes: int) -> Size:
        """What a task takes that sorts so many rows at once (1: by the radix sort)."""
        padded = dims.floor_divide(self.length + (sorting.BLOCK - 1), sorting.BLOCK) * sorting.BLOCK
        if self.has_records:
            words = max(_words(bits, self.length) for bits in self.part_bits)
            orders = 0 if len(self.part_bits) == 1 else 2
            counters = sorting.counter_bytes(0, 64) if lanes == 1 else 0
            return padded * (8 * lanes) * (2 * words + orders) + counters
        size = order_keys.key_type(self.dtype).itemsize
        if lanes > 1:
            return padded * (size * lanes)
        counters = sorting.counter_bytes(0, order_keys.key_bits(self.dtype))
        return planning.part(self.length * size) * 2 + counters


def _plan_of(op: Op, target: Target) -> _SortPlan:
    operands = [operand.type for operand in op.operands]
    keys = operands[: op.attributes.get("num_keys", 1)]
    has_records = op.name != "sort" or len(operands) > 1 or keys[0].dtype.is_complex
    dtype, length = keys[0].dtype, operands[0].shape[op.attributes["axis"]]
    bits = tuple(bits for key in keys for _, bits in order_keys.part_types(key.dtype))
    lanes = target.lanes(64 if has_records else order_keys.key_type(dtype).bits)
    widest = max(bits) if has_records else order_keys.key_bits(dtype)
    most = sorting.network_most(widest, has_records, target.vector_bytes)
    return _SortPlan(dtype, has_records, bits, length, lanes, most)


def _words(bits: int, length: Operand | Size) -> int:
    """How many words a record has."""
    is_long = isinstance(length, int) and length > _MOST_PLACES
    return 2 if bits > 32 or is_long else 1


@record
class _Run:
    """Runs tasks over all rows, with the faster sort."""

    f: Function
    env: Env
    axis: int
    descending: bool
    sort: Callable[[_Task, list[Array], V, V], None]
    plan: _SortPlan

    def __call__(self, operands: list[Array], results: list[Array]) -> None:
        f, length, lanes = self.f, operands[0].shape[self.axis], self.plan.lanes
        count = rows.row_count(f, operands[0], self.axis)

        def run(width: int) -> None:
            def body(
                g: Function, env: Env, begin: V, end: V, arrays: list[Array], _: list[Operand]
            ) -> None:
                task = _Task(g, env, self.axis, self.descending, width)
                self.sort(task, arrays, begin, end)

            steps = times(f, length, _STEPS)
            every = [*operands, *results]
            bytes = 0 if self.env.scratch is None else self.env.size(self.plan.bytes(width))
            rows.parallel(f, self.env, count, steps, every, [], body, group=width, scratch=bytes)

        network = _uses_network(f, length, count, lanes, self.plan.most)
        choose(f, network, lambda: run(lanes), lambda: run(1))


def _uses_network(
    f: Function, length: Operand, count: Operand, lanes: int, most: tuple[int, int]
) -> bool | V:
    """Whether the network is the faster sort; `most` is the longest row of many, and of few."""
    if lanes == 1:
        return False
    many, few = most
    if not isinstance(length, V) and not few < length <= many:
        return length <= few
    if isinstance(length, V) or isinstance(count, V):
        size, number = f.const(length, I64), f.const(count, I64)
        return size.le(f.select(number.ge(lanes // 2), f.const(many, I64), few))
    return count >= lanes // 2


def choose(
    f: Function, condition: bool | V, then: Callable[[], None], otherwise: Callable[[], None]
) -> None:
    """One of two ways, chosen now if the condition is known."""
    if not isinstance(condition, V):
        (then if condition else otherwise)()
        return
    with f.otherwise(condition) as choice:
        then()
        choice.otherwise()
        otherwise()


# --- what both ways share -----------------------------------------------------------------------


@record
class _Task:
    """The rows of one parallel task; `lanes` rows are sorted at once: 1 is the radix sort."""

    f: Function
    env: Env
    axis: int
    descending: bool
    lanes: int

    def starts(self, arrays: Sequence[Array], row: V, end: V) -> list[list[V]]:
        """Where the rows from `row` on start in each array. Lanes without a row of their own take
        the last row once more, which does no harm.
        """
        f = self.f
        last = end - 1
        places = [f.minimum(row + lane, last) for lane in range(self.lanes)]
        found = [rows.row_starts(f, arrays, self.axis, place) for place in places]
        return [list(of_array) for of_array in zip(*found, strict=True)]


# --- one array ----------------------------------------------------------------------------------


class _ValueSort:
    """Sorts the keys of one array and makes elements of them again."""

    def __init__(self, task: _Task, x: Array, y: Array) -> None:
        self.task = task
        self.f = task.f
        self.x = x
        self.y = y
        self.length = x.shape[task.axis]
        self.type = order_keys.key_type(x.dtype)
        self.lossy = task.f.variable(False, I1) if x.dtype.is_float else None

    def run(self, begin: V, end: V) -> None:
        (self.by_radix if self.task.lanes == 1 else self.by_network)(begin, end)

    def by_radix(self, begin: V, end: V) -> None:
        f, env = self.f, self.task.env
        bits = 0, order_keys.key_bits(self.x.dtype)
        size = f.const(rows.round_up(f, times(f, self.length, self.type.itemsize), 64), I64)
        memory = env.workspace(f, size * 2 + sorting.counter_bytes(*bits))
        other = f.offset(memory, size)
        counters = f.offset(other, size)
        with f.range(begin, end) as row:
            (start,), (target,) = self.task.starts([self.x, self.y], row, end)
            self.read_row(start, memory)
            count = f.const(self.length, I64)
            made = sorting.radix_sort(f, self.type, 1, bits, (memory, other), counters, count)
            self.write_row(target, made)
            self.restore(row, end)
        env.free(f, memory)

    def read_row(self, start: V, keys: V) -> None:
        f, x = self.f, self.x

        def step(i: V, lanes: int) -> None:
            place = rows.along(f, start, i, x.strides[self.task.axis])
            (raw,) = load_bits(f, x, place, lanes)
            f.store(self.key(raw), f.element(keys, self.type, i))

        self.forget()
        lanes = contiguous_lanes(f.module.target, [x], self.task.axis)
        rows.vector_range(f, self.length, lanes, step)

    def write_row(self, target: V, keys: V) -> None:
        f, y = self.f, self.y

        def step(i: V, lanes: int) -> None:
            key = f.load(f.element(keys, self.type, i), self.type.with_lanes(lanes))
            place = rows.along(f, target, i, y.strides[self.task.axis])
            store_bits(f, y, place, [self.element(key)])

        lanes = contiguous_lanes(f.module.target, [y], self.task.axis)
        rows.vector_range(f, self.length, lanes, step)

    def by_network(self, begin: V, end: V) -> None:
        f, env, lanes = self.f, self.task.env, self.task.lanes
        vector = self.type.with_lanes(lanes)
        padded = f.const(rows.round_up(f, self.length, sorting.BLOCK), I64)
        memory = env.workspace(f, padded * (self.type.itemsize * lanes))
        with f.range(begin, end, lanes) as row:
            starts, targets = self.task.starts([self.x, self.y], row, end)
            self.forget()
            with f.range(0, self.length) as i:
                raw = rows.vector_of(f, [self.bits(start, i) for start in starts])
                f.store(self.key(raw), f.element(memory, self.type, i * lanes))
            with f.range(self.length, padded) as i:
                f.store(f.const(-1, vector), f.element(memory, self.type, i * lanes))
            sorting.sort_rows(f, vector, [memory], padded)
            with f.range(0, self.length) as i:
                key = f.load(f.element(memory, self.type, i * lanes), vector)
                for target, raw in zip(targets, rows.lanes_of(f, self.element(key)), strict=True):
                    place = rows.along(f, target, i, self.y.strides[self.task.axis])
                    store_bits(f, self.y, place, [raw])
            self.restore(row, end)
        env.free(f, memory)

    def bits(self, start: V, i: V) -> V:
        return load_bits(self.f, self.x, rows.along(self.f, start, i, self._stride))[0]

    @property
    def _stride(self) -> Operand:
        return self.x.strides[self.task.axis]

    def key(self, raw: V) -> V:
        if self.lossy is not None:
            here = rows.any_lane(self.f, order_keys.is_lossy(self.f, raw, self.x.dtype))
            self.lossy.set(self.lossy.get() | here)
        return order_keys.order_key(self.f, raw, self.x.dtype, self.task.descending)

    def element(self, key: V) -> V:
        return order_keys.from_key(self.f, key, self.x.dtype, self.task.descending)

    def forget(self) -> None:
        if self.lossy is not None:
            self.lossy.set(False)

    def restore(self, row: V, end: V) -> None:
        """Write zeros and NaNs once more, in their order: keys do not keep their bits."""
        if self.lossy is None:
            return
        f = self.f
        with f.when(self.lossy.get()):
            with f.range(row, f.minimum(row + self.task.lanes, end)) as number:
                self.restore_row(*rows.row_starts(f, [self.x, self.y], self.task.axis, number))

    def restore_row(self, start: V, target: V) -> None:
        f, dtype, descending = self.f, self.x.dtype, self.task.descending
        marks = [order_keys.zero_key(dtype, descending), order_keys.nan_key(dtype, descending)]
        places = [f.variable(f.const(0, I64)) for _ in marks]
        with f.range(0, self.length) as i:
            key = order_keys.order_key(f, self.bits(start, i), dtype, descending)
            for mark, place in zip(marks, places, strict=True):
                place.set(place.get() + key.lt(mark).to(I64))
        with f.range(0, self.length) as i:
            raw = self.bits(start, i)
            key = order_keys.order_key(f, raw, dtype, descending)
            for mark, place in zip(marks, places, strict=True):
                with f.when(key.eq(mark)):
                    there = rows.along(f, target, place.get(), self.y.strides[self.task.axis])
                    store_bits(f, self.y, there, [raw])
                    place.set(place.get() + 1)


# --- several arrays -----------------------------------------------------------------------------


@record
class _Part:
    """One of the keys that decide the order: a part of the elements of one operand."""

    array: int
    number: int
    bits: int


class _RecordSort:
    """Finds the order of the rows' places, then moves all operands into it. A result beyond those
    of the operands gets the places themselves; results may be shorter than operands.

    Memory is an array of vectors, a row per lane (or of scalars for one row at a time). Records of
    keys up to 32 bits hold the place in the lower half of the same word; longer keys have a second
    word.
    """

    def __init__(
        self, task: _Task, given: Sequence[Array], made: Sequence[Array], num_keys: int
    ) -> None:
        self.task = task
        self.f = task.f
        self.given = given
        self.made = made
        self.parts = [
            _Part(number, part, bits)
            for number, array in enumerate(given[:num_keys])
            for part, (_, bits) in enumerate(order_keys.part_types(array.dtype))
        ]
        self.length = given[0].shape[task.axis]
        self.vector = U64.with_lanes(0 if task.lanes == 1 else task.lanes)

    def run(self, begin: V, end: V) -> None:
        f, env, lanes = self.f, self.task.env, self.task.lanes
        padded = f.const(rows.round_up(f, self.length, sorting.BLOCK), I64)
        words = max(self.words(part) for part in self.parts)
        orders = 0 if len(self.parts) == 1 else 2
        size = padded * (8 * lanes)
        counters = sorting.counter_bytes(0, 64) if lanes == 1 else 0
        memory = env.workspace(f, size * (2 * words + orders) + counters)
        places = (0, words, 2 * words, 2 * words + orders - 1, 2 * words + orders)
        blocks = [f.offset(memory, size * place) for place in places]
        with f.range(begin, end, lanes) as row:
            starts = self.task.starts([*self.given, *self.made], row, end)
            self.sort_rows(starts, blocks, padded)
        env.free(f, memory)

    def sort_rows(self, starts: list[list[V]], blocks: list[V], padded: V) -> None:
        """Sort by the last key first; each sort keeps the order of the one before."""
        first, second, order, spare, counters = blocks
        known: V | None = None
        for part in reversed(self.parts):
            self.read(part, starts[part.array], known, first, padded)
            records = self.sort(part, (first, second), counters, padded)
            if part is self.parts[0]:
                self.move(part, starts, records, known, padded)
                return
            with self.f.range(0, self.length) as i:
                places = rows.vector_of(self.f, self.places(part, records, known, i, padded))
                self.f.store(places, self.at(order, i))
            known, order, spare = order, spare, order

    def words(self, part: _Part) -> int:
        return _words(part.bits, self.length)

    def read(self, part: _Part, starts: list[V], known: V | None, records: V, padded: V) -> None:
        """Records of the keys in the order known so far."""
        f, array = self.f, self.given[part.array]
        with f.range(0, self.length) as i:
            places = [i] * len(starts)
            if known is not None:
                places = rows.lanes_of(f, f.load(self.at(known, i), self.vector))
            elements = [
                load_bits(f, array, rows.along(f, start, place, array.strides[self.task.axis]))
                for start, place in zip(starts, places, strict=True)
            ]
            parts = [rows.vector_of(f, values) for values in zip(*elements, strict=True)]
            key = order_keys.part_key(f, parts, array.dtype, part.number, self.task.descending)
            place = f.splat(i.bits(U64), self.vector.lanes)
            self.store_record(part, key.to(U64), place, records, i, padded)
        if self.task.lanes > 1:
            greatest = f.const(-1, self.vector)
            with f.range(self.length, padded) as i:
                self.store_record(part, greatest, greatest, records, i, padded)

    def store_record(self, part: _Part, key: V, place: V, records: V, i: V, padded: V) -> None:
        f = self.f
        if self.words(part) == 1:
            f.store((key << 32) | place, self.at(records, i))
            return
        for value, address in zip((key, place), self.pair_at(records, i, padded), strict=True):
            f.store(value, address)

    def at(self, records: V, i: V) -> V:
        return self.f.element(records, U64, i * self.task.lanes)

    def pair_at(self, records: V, i: V, padded: V) -> tuple[V, V]:
        """Where a record of two words is: the radix sort has them side by side, the network in
        planes.
        """
        f = self.f
        if self.task.lanes == 1:
            return f.element(records, U64, i * 2), f.element(records, U64, i * 2 + 1)
        return self.at(records, i), self.at(records, i + padded)

    def sort(self, part: _Part, buffers: tuple[V, V], counters: V, padded: V) -> V:
        f, fields = self.f, self.words(part)
        if self.task.lanes == 1:
            bits = (32, 32 + part.bits) if fields == 1 else (0, part.bits)
            count = f.const(self.length, I64)
            return sorting.radix_sort(f, U64, fields, bits, buffers, counters, count)
        planes = [buffers[0], self.at(buffers[0], padded)][:fields]
        sorting.sort_rows(f, self.vector, planes, padded)
        return buffers[0]

    def places(self, part: _Part, records: V, known: V | None, i: V, padded: V) -> list[V]:
        """Where the i-th elements of the order come from: a record names a place in the order known
        before.
        """
        f, lanes = self.f, self.task.lanes
        if self.words(part) == 1:
            named = f.load(self.at(records, i), self.vector) & 0xFFFFFFFF
        else:
            named = f.load(self.pair_at(records, i, padded)[1], self.vector)
        places = rows.lanes_of(f, named)
        if known is None:
            return places
        return [
            f.load(f.element(known, U64, place * lanes + lane), U64)
            for lane, place in enumerate(places)
        ]

    def move(
        self, part: _Part, starts: list[list[V]], records: V, known: V | None, padded: V
    ) -> None:
        """Write all results."""
        f, axis, count = self.f, self.task.axis, len(self.given)
        with f.range(0, self.made[0].shape[axis]) as i:
            places = self.places(part, records, known, i, padded)
            for (number, y), (lane, place) in itertools.product(
                enumerate(self.made), enumerate(places)
            ):
                bits = [place]
                if number < count:
                    x = self.given[number]
                    source = rows.along(f, starts[number][lane], place, x.strides[axis])
                    bits = load_bits(f, x, source)
                store_bits(
                    f, y, rows.along(f, starts[count + number][lane], i, y.strides[axis]), bits
                )


# --- planning -----------------------------------------------------------------------------------


def _sort_scratch(call: Planned) -> Size:
    """What the sort takes that is chosen, or the larger of both where that is known at run time."""
    op, axis = call.op, call.op.attributes["axis"]
    shape = op.operands[0].type.shape
    plan, length = _plan_of(op, call.target), shape[axis]
    count = dims.product((*shape[:axis], *shape[axis + 1 :]))
    widths = [plan.lanes, 1]
    if plan.lanes == 1:
        widths = [1]
    elif isinstance(length, int) and isinstance(count, int):
        most = plan.most[0] if count >= plan.lanes // 2 else plan.most[1]
        widths = [plan.lanes] if length <= most else [1]
    return planning.largest(
        planning.tasks(
            plan.bytes(width), call.threads, planning.chunks(count, length * _STEPS, width)
        )
        for width in widths
    )


def _top_k_scratch(call: Planned) -> Size:
    op, axis, k = call.op, call.op.attributes["axis"], call.op.attributes["k"]
    x = op.operands[0].type
    if not k:
        return 0
    if _is_sorted_whole(x.dtype, x.shape[axis]):
        return _sort_scratch(call)
    count = dims.product((*x.shape[:axis], *x.shape[axis + 1 :]))
    chunks = planning.chunks(count, x.shape[axis] * selecting.STEPS)
    return planning.tasks(selecting.task_bytes(x.dtype, k), call.threads, chunks)


ROUTINES: Final = {
    "sort": emit_sort,
    "top_k": emit_top_k,
    "searchsorted": selecting.emit_searchsorted,
}
SCRATCH: Final[Mapping[str, ScratchOf]] = {"sort": _sort_scratch, "top_k": _top_k_scratch}
