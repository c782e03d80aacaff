"""The two sorts: a network for many short rows at once, and a radix sort for one long row.

Both sort unsigned integers, alone or as records of a key and the place it came from. The network
compares whole vectors, a row per lane, so short rows cost no branches; the radix sort counts digits
and passes over the data once per digit, without comparing anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from weft.compiler.lower.llvm.emit.function import Function, V, Variable
from weft.compiler.lower.llvm.emit.types import I64, PTR, U64, VOID, Type
from weft.compiler.lower.llvm.routines.common import rows

# The longest rows that the network sorts faster than the radix sort does, by the bits of keys: as
# few bits take few passes. Measured with vectors of 64 bytes, for keys alone, for records, and for
# too few rows to fill vectors.
_NETWORK_MOST: Final = {64: (8192, 1024, 96), 32: (768, 2048, 48), 16: (1024, 512, 32)}
_NETWORK_MOST_SHORT: Final = (384, 192, 16)

# Bits of a digit of the radix sort: 256 places to write to at once are what caches can follow.
_DIGIT: Final = 8

# The network pads rows to a multiple of this many vectors, which it can hold in registers.
BLOCK: Final = 8

# The shortest networks for blocks in registers, and what merges the halves of blocks.
_NETWORKS: Final = {
    4: ((0, 2), (1, 3), (0, 1), (2, 3), (1, 2)),
    8: (
        *((0, 2), (1, 3), (4, 6), (5, 7)),
        *((0, 4), (1, 5), (2, 6), (3, 7)),
        *((0, 1), (2, 3), (4, 5), (6, 7)),
        *((2, 4), (3, 5)),
        *((1, 4), (3, 6)),
        *((1, 2), (3, 4), (5, 6)),
    ),
}
_MERGES: Final = {
    4: ((0, 2), (1, 3), (0, 1), (2, 3)),
    8: (
        *((0, 4), (1, 5), (2, 6), (3, 7)),
        *((0, 2), (1, 3), (4, 6), (5, 7)),
        *((0, 1), (2, 3), (4, 5), (6, 7)),
    ),
}

Record: TypeAlias = list[V]


# --- the network --------------------------------------------------------------------------------


def network_most(bits: int, with_places: bool, vector_bytes: int) -> tuple[int, int]:
    """The longest rows for the network: of many rows, and of few."""
    keys, records, few = _NETWORK_MOST.get(bits, _NETWORK_MOST_SHORT)
    return (records if with_places else keys) * vector_bytes // 64, few


def sort_rows(f: Function, type: Type, planes: Sequence[V], count: V) -> None:
    """Sort many rows at once, each in a lane: `planes` are arrays of `count` vectors of `type`, a
    multiple of BLOCK. One plane is the keys; a second one tells equal keys apart.
    """
    name = f"sort.network.{type.suffix}.{len(planes)}"
    parameters = [*[(f"plane{i}", PTR) for i in range(len(planes))], ("count", I64)]
    rows.shared(f.module, name, VOID, parameters, lambda g: _build_network(g, type))
    f.call(name, VOID, [*planes, count])


def _build_network(f: Function, type: Type) -> None:
    """Batcher's bitonic sort with every comparison in the same direction: then a row of any length
    is sorted as if it went on with greatest elements, which need not be there.
    """
    *planes, count = f.arguments
    network = _Network(f, type, planes)
    # Records of two words take twice the registers, and LLVM long to look through.
    block = BLOCK // len(planes)
    with f.range(0, count, block) as start:
        network.block(start, block, _NETWORKS[block])
    half = f.variable(f.const(block, I64))
    with f.loop_while() as loop:
        p = half.get()
        loop.stop_unless(p.lt(count))
        network.mirror(p, count)
        step = f.variable(p >> 1)
        with f.loop_while() as inner:
            k = step.get()
            inner.stop_unless(k.ge(block))
            network.merge(k, count)
            step.set(k >> 1)
        with f.range(0, count, block) as start:
            network.block(start, block, _MERGES[block])
        half.set(p << 1)
    f.ret()


class _Network:
    """The comparisons of a network on vectors in memory."""

    def __init__(self, f: Function, type: Type, planes: Sequence[V]) -> None:
        self.f = f
        self.type = type
        self.planes = planes

    def load(self, place: V) -> Record:
        return [self.f.load(address, self.type) for address in self._addresses(place)]

    def store(self, record: Record, place: V) -> None:
        for value, address in zip(record, self._addresses(place), strict=True):
            self.f.store(value, address)

    def _addresses(self, place: V) -> list[V]:
        at = place * self.type.lanes
        return [self.f.element(plane, self.type, at) for plane in self.planes]

    def exchange(self, a: Record, b: Record) -> tuple[Record, Record]:
        """The lesser and the greater of two records, lane by lane."""
        f = self.f
        if len(a) == 1:
            return [f.intrinsic("umin", a[0], b[0])], [f.intrinsic("umax", a[0], b[0])]
        swaps = b[0].lt(a[0]) | (b[0].eq(a[0]) & b[1].lt(a[1]))
        low = [f.select(swaps, y, x) for x, y in zip(a, b, strict=True)]
        return low, [f.select(swaps, x, y) for x, y in zip(a, b, strict=True)]

    def exchange_at(self, first: V, second: V) -> None:
        low, high = self.exchange(self.load(first), self.load(second))
        self.store(low, first)
        self.store(high, second)

    def block(self, start: V, size: int, pairs: Sequence[tuple[int, int]]) -> None:
        """A fixed network on a block, in registers."""
        held = [self.load(start + i) for i in range(size)]
        for i, j in pairs:
            held[i], held[j] = self.exchange(held[i], held[j])
        for i, record in enumerate(held):
            self.store(record, start + i)

    def mirror(self, half: V, count: V) -> None:
        """Compare elements at the same distance from the middle of each block of `2 * half`."""
        f = self.f
        with f.range(0, count - half, half * 2) as start:
            end = start + half * 2
            with f.range(f.maximum(end - count, 0), half) as i:
                self.exchange_at(start + i, end - 1 - i)

    def merge(self, half: V, count: V) -> None:
        """Compare elements `half` apart within each block of `2 * half`."""
        f = self.f
        with f.range(0, count - half, half * 2) as start:
            other = start + half
            with f.range(0, f.minimum(count - other, half)) as i:
                self.exchange_at(start + i, other + i)


# --- radix sort ---------------------------------------------------------------------------------


def counter_bytes(low: int, high: int) -> int:
    """The memory that `radix_sort` counts in."""
    return _digit_count(low, high) * (8 << _DIGIT)


def radix_sort(
    f: Function,
    type: Type,
    fields: int,
    bits: tuple[int, int],
    buffers: tuple[V, V],
    counters: V,
    count: V,
) -> V:
    """Sort `count` records by their first field, equal ones in their order; which of the two
    buffers holds the result. The first one holds the records, each of `fields` values of `type`;
    keys differ only in the bits `low` to `high`.
    """
    low, high = bits
    name = f"sort.radix.{type.suffix}.{fields}.{low}.{high}"
    pointers = [(name, PTR) for name in ("records", "other", "counters")]
    rows.shared(
        f.module,
        name,
        PTR,
        [*pointers, ("count", I64)],
        lambda g: _Radix(g, type, fields, low, _digit_count(low, high)).build(),
    )
    return f.call(name, PTR, [*buffers, counters, count])


def _digit_count(low: int, high: int) -> int:
    return -(-(high - low) // _DIGIT)


class _Radix:
    """Builds one radix sort: counts all digits in one pass, then moves the records digit by digit,
    the least significant first.
    """

    def __init__(self, f: Function, type: Type, fields: int, low: int, digits: int) -> None:
        self.f = f
        self.type = type
        self.fields = fields
        self.low = low
        self.digits = digits
        self.records, self.other, self.counters, self.count = f.arguments

    def build(self) -> None:
        f = self.f
        with f.range(0, self.digits << _DIGIT) as i:
            f.store(f.const(0, I64), f.element(self.counters, I64, i))
        with f.range(0, self.count) as i:
            key = self.field(self.records, i, 0)
            for digit in range(self.digits):
                self.increase(self.counter(key, f.const(digit, I64)))
        held = f.variable(self.records)
        with f.when(self.count.gt(1)), f.range(0, self.digits) as number:
            self.move(held, number)
        f.ret(held.get())

    def field(self, records: V, i: V, number: int) -> V:
        at = self.f.element(records, self.type, i * self.fields + number)
        return self.f.load(at, self.type)

    def counter(self, key: V, number: V) -> V:
        """The address of the count of a key's digit."""
        shift = (number * _DIGIT + self.low).to(self.type)
        digit = ((key >> shift) & ((1 << _DIGIT) - 1)).to(U64)
        return self.f.element(self.counters, I64, digit + (number << _DIGIT))

    def increase(self, address: V) -> V:
        before = self.f.load(address, I64)
        self.f.store(before + 1, address)
        return before

    def move(self, held: Variable, number: V) -> None:
        """One pass by one digit; none if all records have the same."""
        f = self.f
        source = held.get()
        first = self.counter(self.field(source, f.const(0, I64), 0), number)
        with f.when(f.load(first, I64).ne(self.count)):
            self.accumulate(number)
            target = f.select(source.eq(self.records), self.other, self.records)
            with f.range(0, self.count) as i:
                record = [self.field(source, i, field) for field in range(self.fields)]
                place = self.increase(self.counter(record[0], number)) * self.fields
                for field, value in enumerate(record):
                    f.store(value, f.element(target, self.type, place + field))
            held.set(target)

    def accumulate(self, number: V) -> None:
        """Turn the counts of a digit into the places where its records go."""
        f = self.f
        total = f.variable(f.const(0, I64))
        first = number << _DIGIT
        with f.range(first, first + (1 << _DIGIT)) as i:
            address = f.element(self.counters, I64, i)
            here, before = f.load(address, I64), total.get()
            f.store(before, address)
            total.set(before + here)
