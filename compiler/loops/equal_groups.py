"""Equal groups: fusion groups that are one kernel on other arrays, told before it is built.

A deep model has the same layer many times. Its groups differ in nothing but the arrays that they
read and write, so one kernel is built for all of them. Groups that gather, pad or choose are built
one by one: these are equal only if their text is, which the schedule finds out.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence

from weft.compiler.ir.dims import Size
from weft.compiler.ir.graph import Constant, Op, Value
from weft.compiler.ir.index.affine import Loop, Place
from weft.compiler.ir.index.expression import Apply, Combined, Computed, Reduction, Ref
from weft.compiler.loops.group import FusionGroup
from weft.compiler.loops.kernel import Kernel, Layout
from weft.compiler.record import record

LayoutOf = Callable[[Value, bool], "Layout | None"]


class GroupSignature:
    """What determines a group's kernel but for its arrays and numbers, which are listed in the
    order in which the group meets them. Whoever compares many numbers their keys: that is `form`.
    """

    __slots__ = ("key", "form", "loops", "values", "storages", "starts", "numbers")

    def __init__(self) -> None:
        self.key: Hashable = None
        self.form = -1
        self.loops: dict[Loop, int] = {}
        self.values: list[Value] = []
        self.storages: list[object] = []
        self.starts: list[int] = []  # bytes from the start of each storage
        self.numbers: dict[object, int] = {}  # of values and storages


class _NotPlain(Exception):
    """A group that is built on its own."""


IsLiteral = Callable[[Constant], bool]


def signature(
    group: FusionGroup, layout_of: LayoutOf, order: Mapping[Op, int], is_literal: IsLiteral
) -> GroupSignature | None:
    """The signature of a group; None for one that is built on its own. The arguments are those of
    `build_kernels.build`; `is_literal` says which constants are written into a kernel.
    """
    try:
        return _Signer(group, layout_of, is_literal).sign(order)
    except _NotPlain:
        return None


class _Signer:
    def __init__(self, group: FusionGroup, layout_of: LayoutOf, is_literal: IsLiteral) -> None:
        self.group = group
        self.layout_of = layout_of
        self.is_literal = is_literal
        self.result = GroupSignature()
        self.places: dict[Place, int] = {}
        self.refs: dict[Ref, tuple[int, int]] = {}
        self.accesses: list[list[tuple[Size, tuple[Size, ...], int]]] = []
        self.parts: list[Hashable] = []

    def sign(self, order: Mapping[Op, int]) -> GroupSignature:
        group, result = self.group, self.result
        inner = [loop for loops in group.reduce_loops.values() for loop in loops]
        loops = list(dict.fromkeys((*group.loops, *inner)))
        result.loops = number = {loop: n for n, loop in enumerate(loops)}
        parts, entries = self.parts, group.entries
        parts += [
            tuple([loop.size for loop in loops]),
            tuple(sorted(number.values(), key=lambda n: loops[n].number)),
            len(group.loops),
            None if group.outer is None else tuple([number[loop] for loop in group.outer]),
            tuple([(sizes, len(each)) for sizes, each in group.reduce_loops.items()]),
            group.in_order,
        ]
        for ref in sorted(entries, key=lambda ref: order[ref.value.op]):  # type: ignore[attr-defined]
            reads, rest = self._computed(entries[ref])
            parts.append((*map(self._ref, (ref, *reads)), rest))
        for store in group.stores:
            place_key, target = self._place(store.place), store.target
            array = self._access(target, store.place, is_written=True)
            source = self._ref(store.source)
            parts.append((source, array, target.type.dtype, place_key, store.kind))
        parts += map(self._arrays, range(len(self.accesses)))
        result.key = tuple(parts)
        return result

    def _computed(self, source: Computed) -> tuple[Sequence[Ref], Hashable]:
        """What an entry reads, and what it makes of that."""
        match source:
            case Apply():
                return source.operands, (*_kind(source.op), source.number)
            case Combined():
                return source.operands, (*_kind(source.op), source.kind)
            case Reduction():
                over = [self.result.loops[loop] for loop in source.over]
                return (source.body,), (*_kind(source.op), source.kind, tuple(over))
            case Ref():
                return (source,), None
            case _:
                raise _NotPlain

    def _ref(self, ref: Ref) -> tuple[int, int]:
        known = self.refs.get(ref)
        if known is not None:
            return known
        value = ref.value
        numbers = self.result.numbers
        number = numbers.get(value)
        if number is None:
            number = numbers[value] = len(self.result.values)
            self.result.values.append(value)
            self.parts.append(value.type)
        if ref not in self.group.entries:
            self._leaf(value, ref.place)
        key = self.refs[ref] = number, self._place(ref.place)
        return key

    def _leaf(self, value: Value, place: Place) -> None:
        """Note where an array is read, or a number that the group does not compute."""
        if value.type.rank:
            self.parts.append(self._access(value, place, is_written=False))
        elif isinstance(value, Constant) and self.is_literal(value):
            self.parts.append(value.digest)

    def _access(self, value: Value, place: Place, *, is_written: bool) -> int:
        """Note the position of an access; returns the number of the array's storage."""
        layout = self.layout_of(value, is_written)
        assert layout is not None
        numbers, storage = self.result.numbers, layout.storage
        number = numbers.get(storage)
        if number is None:
            number = numbers[storage] = len(self.accesses)
            self.result.storages.append(storage)
            self.accesses.append([])
        start = layout.offset
        for index, stride in zip(place.indices, layout.strides, strict=True):
            if index.constant != 0:
                start = start + index.constant * stride
        self.accesses[number].append((start, layout.strides, value.type.dtype.itemsize))
        return number

    def _arrays(self, number: int) -> Hashable:
        """The positions of all accesses to a storage: where the first of them is does not matter,
        as kernels are given addresses, but for storages whose positions `rebase` leaves as they
        are.
        """
        accesses = self.accesses[number]
        first, _, itemsize = accesses[0]
        if not isinstance(first, int) or not all([_is_plain(*each, itemsize) for each in accesses]):
            self.result.starts.append(0)
            return tuple(accesses)
        self.result.starts.append(first * itemsize)
        return itemsize, tuple([(start - first, strides) for start, strides, _ in accesses])

    def _place(self, place: Place) -> int:
        """The number of a place. What is added to its counters is part of the accesses."""
        number = self.places.get(place)
        if number is not None:
            return number
        if place.guards:
            raise _NotPlain
        loops, indices = self.result.loops, []
        for index in place.indices:
            if index.extras:
                raise _NotPlain
            terms = []
            for loop, factor in index.terms:
                if not isinstance(factor, int) or factor < 0:
                    raise _NotPlain
                terms.append((loops[loop], factor))
            indices.append(tuple(terms))
        self.parts.append(tuple(indices))
        number = self.places[place] = len(self.places)
        return number


def _kind(op: Op) -> tuple[Hashable, ...]:
    return op.definition, tuple(op.attributes.values())


def _is_plain(start: Size, strides: tuple[Size, ...], size: int, itemsize: int) -> bool:
    if not isinstance(start, int) or start < 0 or size != itemsize:
        return False
    return all([isinstance(stride, int) and stride >= 0 for stride in strides])


@record
class Template:
    """A kernel that was built, and where its arrays and arguments are found in other groups of the
    same signature: by number of storage and of value.
    """

    kernel: Kernel
    arrays: tuple[int, ...]
    arguments: tuple[int, ...]
    starts: tuple[int, ...]

    @classmethod
    def of(cls, kernel: Kernel, signed: GroupSignature) -> Template:
        arrays = [signed.numbers[storage] for storage, _ in kernel.arrays]
        arguments = [signed.numbers[value] for value in kernel.arguments]
        starts = [signed.starts[number] for number in arrays]
        return cls(kernel, tuple(arrays), tuple(arguments), tuple(starts))

    def on(self, signed: GroupSignature) -> Kernel:
        """The same kernel on the arrays and numbers of another group."""
        kernel = self.kernel
        arrays = [
            (signed.storages[number], written)
            for number, (_, written) in zip(self.arrays, kernel.arrays, strict=True)
        ]
        moves = [
            signed.starts[number] - start
            for number, start in zip(self.arrays, self.starts, strict=True)
        ]
        offsets = kernel.offsets
        if any(moves):
            before = offsets or (0,) * len(moves)
            offsets = tuple([old + move for old, move in zip(before, moves, strict=True)])
        return Kernel(
            kernel.outer,
            kernel.entries,
            kernel.stages,
            arrays,
            [signed.values[number] for number in self.arguments],
            kernel.weight,
            kernel.in_order,
            offsets if any(offsets) else (),
            like=kernel,
        )
