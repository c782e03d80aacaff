"""top_k and searchsorted in native code: what an order is asked without sorting everything.

The k first elements of a row are kept while it is read once; almost all others are turned away by
one comparison of whole vectors with the last that is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from weft.compiler.ir import dtypes
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.graph import Op
from weft.compiler.lower.llvm.emit import memory
from weft.compiler.lower.llvm.emit.arrays import Array, Env, dot, product, times, unravel
from weft.compiler.lower.llvm.emit.function import Function, Operand, V
from weft.compiler.lower.llvm.emit.types import I1, I64, PTR, U64, VOID, Type
from weft.compiler.lower.llvm.routines.common import rows, sizes
from weft.compiler.lower.llvm.routines.sorting import keys as order_keys
from weft.compiler.lower.llvm.routines.sorting import sorts as sorting
from weft.compiler.lower.llvm.routines.sorting.keys import contiguous_lanes, load_bits, store_bits

# Up to this k the elements kept are in order all the time, each new one put in its place.
_MOST_INSERTED: Final = 32

# Steps that selecting takes per element, for the size of parallel tasks.
STEPS: Final = 4


def select_rows(f: Function, env: Env, op: Op, x: Array, values: Array, indices: Array) -> None:
    """The k first elements of each row in the order, of a real dtype."""
    k, axis = op.attributes["k"], op.attributes["axis"]
    selection = _Inserting if k <= _MOST_INSERTED else _Collecting

    def body(
        g: Function, inner: Env, begin: V, end: V, arrays: list[Array], _: list[Operand]
    ) -> None:
        selection(g, inner, op, arrays).run(begin, end)

    count, steps = rows.row_count(f, x, axis), times(f, x.shape[axis], STEPS)
    bytes = task_bytes(x.dtype, k)
    rows.parallel(f, env, count, steps, [x, values, indices], [], body, scratch=bytes)


def task_bytes(dtype: DType, k: int) -> int:
    """What the rows of a task take, one after the other."""
    if k <= _MOST_INSERTED:
        return k * 16
    return 2 * _capacity(k) + sorting.counter_bytes(0, order_keys.key_bits(dtype))


def _collected(k: int) -> int:
    """How many elements are collected before they are sorted."""
    return max(4 * k, 1024)


def _capacity(k: int) -> int:
    """Bytes of a buffer: a whole vector may be offered to one that is nearly full."""
    return (_collected(k) + 64) * 16


class _Selection:
    """Reads a row and keeps its first elements; how is up to the kinds below."""

    def __init__(self, f: Function, env: Env, op: Op, arrays: list[Array]) -> None:
        self.f = f
        self.env = env
        self.k: int = op.attributes["k"]
        self.axis: int = op.attributes["axis"]
        self.descending: bool = op.attributes["largest"]
        self.x, self.values, self.indices = arrays
        self.length = self.x.shape[self.axis]
        self.type = self.key_type(self.x.dtype)
        self.memory = V(f, "", PTR)
        self.limit = f.variable(0, self.type)

    def key_type(self, dtype: DType) -> Type:
        return order_keys.key_type(dtype)

    def begin_row(self, start: V) -> Operand:
        """Keep the first elements; how many were read."""
        raise NotImplementedError

    def offer(self, key: V, place: V) -> None:
        """Keep an element if it is before the limit."""
        raise NotImplementedError

    def offered(self) -> None:
        """Called after some elements were offered."""

    def end_row(self) -> Callable[[V], V]:
        """The place of each of the elements that are kept, by its number."""
        raise NotImplementedError

    def run(self, begin: V, end: V) -> None:
        f = self.f
        self.memory = self.env.workspace(f, task_bytes(self.x.dtype, self.k))
        with f.range(begin, end) as row:
            arrays = self.x, self.values, self.indices
            start, *targets = rows.row_starts(f, arrays, self.axis, row)
            read = self.begin_row(start)
            lanes = contiguous_lanes(f.module.target, [self.x], self.axis)
            rows.vector_range(
                f, self.length, lanes, lambda i, width: self.scan(start, i, width), read
            )
            self.write(start, targets, self.end_row())
        self.env.free(f, self.memory)

    def load_key(self, start: V, i: V, lanes: int) -> V:
        place = rows.along(self.f, start, i, self.x.strides[self.axis])
        (raw,) = load_bits(self.f, self.x, place, lanes)
        return order_keys.order_key(self.f, raw, self.x.dtype, self.descending).to(self.type)

    def scan(self, start: V, i: V, lanes: int) -> None:
        f = self.f
        key = self.load_key(start, i, lanes)
        before = key.lt(f.splat(self.limit.get(), lanes))
        with f.when(rows.any_lane(f, before)):
            if not lanes:
                self.offer(key, i)
            else:
                held = f.stack(self.type.with_lanes(lanes), align=64)
                f.store(key, held)
                with f.range(0, lanes) as lane:
                    one = f.load(f.element(held, self.type, lane), self.type)
                    self.offer(one, i + lane)
            self.offered()

    def write(self, start: V, targets: Sequence[V], place_of: Callable[[V], V]) -> None:
        f, axis = self.f, self.axis
        with f.range(0, self.k) as j:
            place = place_of(j)
            source = rows.along(f, start, place, self.x.strides[axis])
            to = [
                rows.along(f, target, j, array.strides[axis])
                for target, array in zip(targets, (self.values, self.indices), strict=True)
            ]
            store_bits(f, self.values, to[0], load_bits(f, self.x, source))
            store_bits(f, self.indices, to[1], [place.bits(U64)])


class _Inserting(_Selection):
    """For small k: the elements kept are always in order."""

    @property
    def places(self) -> V:
        return self.f.offset(self.memory, self.k * 8)

    def begin_row(self, start: V) -> Operand:
        f = self.f
        with f.range(0, self.k) as i:
            self.insert(self.load_key(start, i, 0), i, i)
        self.limit.set(f.load(f.element(self.memory, self.type, self.k - 1), self.type))
        return self.k

    def offer(self, key: V, place: V) -> None:
        f = self.f
        with f.when(key.lt(self.limit.get())):
            last = f.const(self.k - 1, I64)
            self.insert(key, place, last)
            self.limit.set(f.load(f.element(self.memory, self.type, last), self.type))

    def insert(self, key: V, place: V, last: V) -> None:
        """Put an element in its place, after its equals, and move those after it up to `last`."""
        name = f"select.insert.{self.type.suffix}"
        given = [self.memory, self.places, key, place, last]
        parameters = [(f"x{i}", value.type) for i, value in enumerate(given)]
        rows.shared(self.f.module, name, VOID, parameters, _build_insert)
        self.f.call(name, VOID, given)

    def end_row(self) -> Callable[[V], V]:
        return lambda j: self.f.load(self.f.element(self.places, I64, j), I64)


def _build_insert(f: Function) -> None:
    keys, places, key, place, last = f.arguments
    at = f.variable(last)
    with f.loop_while() as loop:
        j = at.get()
        loop.stop_unless(j.gt(0))
        before = f.load(f.element(keys, key.type, j - 1), key.type)
        loop.stop_unless(before.gt(key))
        f.store(before, f.element(keys, key.type, j))
        f.store(f.load(f.element(places, I64, j - 1), I64), f.element(places, I64, j))
        at.set(j - 1)
    f.store(key, f.element(keys, key.type, at.get()))
    f.store(place, f.element(places, I64, at.get()))
    f.ret()


class _Collecting(_Selection):
    """For large k: elements are collected, and sorted each time that there are too many."""

    def __init__(self, f: Function, env: Env, op: Op, arrays: list[Array]) -> None:
        super().__init__(f, env, op, arrays)
        self.bits = 0, order_keys.key_bits(self.x.dtype)
        self.most = _collected(self.k)
        self.held = f.variable(V(f, "null", PTR))
        self.count = f.variable(0, I64)

    def key_type(self, dtype: DType) -> Type:
        return U64

    def begin_row(self, start: V) -> Operand:
        f = self.f
        read = sizes.least(f, self.most, self.length)
        self.held.set(self.memory)
        with f.range(0, read) as i:
            self.append(self.load_key(start, i, 0), i, i)
        self.count.set(read)
        self.shorten()
        return read

    def append(self, key: V, place: V, at: V) -> None:
        f = self.f
        record = f.element(self.held.get(), U64, at * 2)
        f.store(key, record)
        f.store(place, f.element(record, U64, 1))

    def offer(self, key: V, place: V) -> None:
        count = self.count.get()
        self.append(key, place, count)
        self.count.set(count + key.lt(self.limit.get()).to(I64))

    def offered(self) -> None:
        with self.f.when(self.count.get().gt(self.most)):
            self.shorten()

    def shorten(self) -> None:
        """Keep the first k."""
        f = self.f
        held = self.held.get()
        size = _capacity(self.k)
        other = f.select(held.eq(self.memory), f.offset(self.memory, size), self.memory)
        counters = f.offset(self.memory, 2 * size)
        made = sorting.radix_sort(f, U64, 2, self.bits, (held, other), counters, self.count.get())
        self.held.set(made)
        self.count.set(self.k)
        self.limit.set(f.load(f.element(made, U64, 2 * self.k - 2), U64))

    def end_row(self) -> Callable[[V], V]:
        self.shorten()
        held = self.held.get()
        return lambda j: self.f.load(self.f.element(held, I64, j * 2 + 1), I64)


# --- searchsorted -------------------------------------------------------------------------------


def emit_searchsorted(
    f: Function, env: Env, op: Op, operands: list[Array], results: list[Array]
) -> None:
    """Where each value belongs in its row of the table, by binary search."""
    table, values = operands
    batch_dims, right = op.attributes["batch_dims"], op.attributes["side"] == "right"
    lanes = f.module.target.lanes(64)

    def body(
        g: Function, inner: Env, begin: V, end: V, arrays: list[Array], _: list[Operand]
    ) -> None:
        search = _Search(g, arrays, batch_dims, right)
        with g.range(begin, end, lanes) as first:
            search.run([g.minimum(first + i, end - 1) for i in range(lanes)])

    count = product(f, values.shape)
    rows.parallel(f, env, count, 64, [table, values, *results], [], body, group=lanes)


class _Search:
    """Binary searches, one per lane, in rows of one length: without branches, which nothing could
    foresee.
    """

    def __init__(self, f: Function, arrays: list[Array], batch_dims: int, right: bool) -> None:
        self.f = f
        self.table, self.values, self.result = arrays
        self.batch_dims = batch_dims
        self.right = right

    def run(self, queries: Sequence[V]) -> None:
        f, lanes = self.f, len(queries)
        places = [unravel(f, query, self.values.shape) for query in queries]
        starts = [dot(f, place[: self.batch_dims], self.table.strides[:-1]) for place in places]
        start = rows.vector_of(f, starts)
        positions = [dot(f, place, self.values.strides) for place in places]
        value = self.keys(self.values, rows.vector_of(f, positions))
        base = f.variable(0, start.type)
        left = f.variable(self.table.shape[-1], I64)
        stride = f.splat(f.const(self.table.strides[-1], I64), lanes)
        with f.loop_while() as loop:
            size = left.get()
            loop.stop_unless(size.gt(0))
            half = f.maximum(size >> 1, 1)
            here = base.get()
            further = here + f.splat(half, lanes)
            element = self.keys(self.table, start + (further - 1) * stride)
            base.set(f.select(self.precedes(element, value), further, here))
            left.set(f.select(size.eq(1), f.const(0, I64), size - half))
        for query, found in zip(queries, rows.lanes_of(f, base.get()), strict=True):
            self.result.store(f, query, found)

    def keys(self, array: Array, positions: V) -> list[V]:
        """What is compared: floats themselves, as that takes the fewest steps, else keys."""
        f, dtype, lanes = self.f, array.dtype, positions.type.lanes
        address = memory.Address(0, varying=positions)
        # Vectors of small floats are more than some machines can move about.
        held = dtypes.u16 if dtype.is_float and dtype.bits == 16 else dtype
        found = memory.load(f, array.pointer, held, address, lanes, None)
        values = list(found) if isinstance(found, tuple) else [found]
        if self.compares_floats:
            return values
        raw = [x.bits(order_keys.raw_type(dtype)) for x in values]
        return [
            order_keys.part_key(f, raw, dtype, part, descending=False)
            for part in range(order_keys.key_count(dtype))
        ]

    @property
    def compares_floats(self) -> bool:
        return self.table.dtype.name in ("f32", "f64")

    def precedes(self, element: list[V], value: list[V]) -> V:
        """Whether an element of the table lies before the place of a value."""
        f = self.f
        if not self.compares_floats:
            return ~_is_before(f, value, element) if self.right else _is_before(f, element, value)
        (x,), (y,) = element, value
        if self.right:
            return x.le(y) | f.is_nan(y)
        return x.lt(y) | (x.eq(x) & f.is_nan(y))


def _is_before(f: Function, x: list[V], y: list[V]) -> V:
    """Whether keys come before others, the first ones first."""
    before = f.const(False, I1.with_lanes(x[0].type.lanes))
    for a, b in zip(reversed(x), reversed(y), strict=True):
        before = a.lt(b) | (a.eq(b) & before)
    return before
