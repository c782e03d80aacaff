"""Kernels: a group as a loop nest that is ready to be written in any language.

Outer loops are independent of each other. Inside a step of them come levels: first what needs no
reduction, then what needs those of the level before, and so on; a level has stages, each a nest of
inner loops that computes, stores and reduces. Arrays are read and written at positions: one index
into memory, counted in elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from weft.compiler.ir import dims
from weft.compiler.ir.dims import Size
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.graph import Constant, Value
from weft.compiler.ir.index.affine import Guard, Index, Loop, Place, total
from weft.compiler.ir.index.expression import (
    Apply,
    Choose,
    Combined,
    Expression,
    Literal,
    Position,
    Quotient,
    Ref,
    Resolved,
    Start,
)
from weft.compiler.ir.index.references import references
from weft.compiler.loops.costs import own_cost
from weft.compiler.loops.group import FusionGroup, Reduction, Store
from weft.compiler.record import record


@record
class Layout:
    """Where a value's elements lie: in the memory of `storage`, from `offset` on, by strides."""

    storage: object
    offset: Size
    strides: tuple[Size, ...]


@record
class Load:
    """An element of an array."""

    array: int
    position: Index
    guards: tuple[Guard, ...]
    dtype: DType


@record
class Argument:
    """A number that the kernel is given."""

    number: int
    dtype: DType


_TELLING: Final = frozenset((0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, math.inf, -math.inf))

Source: TypeAlias = "Load | Argument | Expression | Reduction"


@record
class Entry:
    """A value at a place: how it is had, the loops it varies in, and its level."""

    ref: Ref
    source: Source
    loops: frozenset[Loop]
    level: int


@record
class Write:
    """An entry that is written to an array."""

    source: Ref
    array: int
    position: Index
    guards: tuple[Guard, ...]
    dtype: DType
    kind: str


@dataclass(eq=False, slots=True)
class Stage:
    """A nest of inner loops at a level; without loops it is done once per outer step."""

    level: int
    loops: tuple[Loop, ...]
    writes: list[Write] = field(default_factory=list)
    reductions: list[Entry] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Kernel:
    """A loop nest: see the module's text."""

    outer: tuple[Loop, ...]
    entries: dict[Ref, Entry]
    stages: list[Stage]
    arrays: list[tuple[object, bool]]
    arguments: list[Value]
    weight: int
    in_order: bool

    @property
    def inner(self) -> tuple[Loop, ...]:
        """All loops that are not outer ones."""
        found: dict[Loop, None] = {}
        for stage in self.stages:
            found.update(dict.fromkeys(stage.loops))
        return tuple(found)

    @property
    def levels(self) -> int:
        return 1 + max((stage.level for stage in self.stages), default=0)

    def additions(self, lanes: int) -> Size:
        """What all steps cost, some lanes at once."""
        steps = dims.product(loop.size for loop in (*self.outer, *self.inner))
        return steps * max(self.weight // max(lanes // 4, 1), 1)

    def indices(self) -> Iterator[Index]:
        """All positions in memory."""
        for entry in self.entries.values():
            if isinstance(entry.source, Load):
                yield entry.source.position
        for stage in self.stages:
            for write in stage.writes:
                yield write.position


LayoutOf = Callable[[Value, bool], "Layout | None"]


def build(group: FusionGroup, layout_of: LayoutOf, order: Mapping[object, int]) -> Kernel:
    """The kernel of a group. `layout_of(value, written)` tells where a value lies (None: it is a
    number that the kernel is given); `order` numbers the ops.
    """
    return _Builder(group, layout_of, order).kernel()


class _Builder:
    def __init__(
        self, group: FusionGroup, layout_of: LayoutOf, order: Mapping[object, int]
    ) -> None:
        self.group = group
        self.layout_of = layout_of
        self.order = order
        self.arrays: dict[object, list[bool]] = {}
        self.arguments: dict[Value, int] = {}
        self.entries: dict[Ref, Entry] = {}

    def kernel(self) -> Kernel:
        group = self.group
        computed = sorted(group.entries, key=lambda ref: self.order[ref.value.op])  # type: ignore[attr-defined]
        for ref in computed:
            self._add(ref)
        for store in group.stores:
            for read in (store.source, *_in_place(store.place)):
                self._add(read)
        outer = _outer_loops(group)
        stages = self._stages(outer)
        numbers = {storage: number for number, storage in enumerate(self.arrays)}
        arrays = [(storage, written[0]) for storage, written in self.arrays.items()]
        assert len(numbers) == len(arrays)
        weight = sum(_cost(entry) for entry in self.entries.values()) + len(group.stores)
        return Kernel(
            outer, self.entries, stages, arrays, list(self.arguments), weight, group.in_order
        )

    def _add(self, ref: Ref) -> None:
        """Add an entry after those it reads; chains of computed ones come in order already, so the
        depth of this recursion is that of loads whose positions are loaded.
        """
        if ref in self.entries:
            return
        computed = self.group.entries.get(ref)
        if computed is None:
            for read in _in_place(ref.place):
                self._add(read)
            source = self._leaf(ref)
            reads = list(_in_place(ref.place)) if isinstance(source, Load) else []
        else:
            source = computed
            reads = list(references(computed))
            for read in reads:
                self._add(read)
        level = max((self.entries[read].level for read in reads), default=0)
        loops: frozenset[Loop] = frozenset()
        if isinstance(source, Reduction):
            level += 1
            loops = ref.loops
        elif isinstance(source, Load):
            loops = ref.loops
        elif not isinstance(source, Argument):
            loops = _dependence(source, self.entries)
        self.entries[ref] = Entry(ref, source, loops, level)

    def _leaf(self, ref: Ref) -> Source:
        value = ref.value
        if isinstance(value, Constant) and not value.type.rank and not _is_passed(value):
            return Literal(value.array, value.type.dtype)
        if isinstance(value, Constant) and not value.type.rank:
            return Argument(self.arguments.setdefault(value, len(self.arguments)), value.type.dtype)
        layout = self.layout_of(value, False)
        if layout is None:
            return Argument(self.arguments.setdefault(value, len(self.arguments)), value.type.dtype)
        array = self._array(layout.storage, written=False)
        position = total(ref.place.indices, layout.strides, layout.offset)
        return Load(array, position, ref.place.guards, value.type.dtype)

    def _array(self, storage: object, *, written: bool) -> int:
        flags = self.arrays.setdefault(storage, [False])
        flags[0] |= written
        return list(self.arrays).index(storage)

    def _stages(self, outer: tuple[Loop, ...]) -> list[Stage]:
        inside = [loop for loop in self.group.loops if loop not in outer]
        inside += [
            loop
            for loops in self.group.reduce_loops.values()
            for loop in loops
            if loop not in inside and loop not in outer
        ]
        stages: dict[tuple[int, tuple[Loop, ...]], Stage] = {}

        def stage(level: int, loops: Iterable[Loop]) -> Stage:
            wanted = set(loops)
            chosen = tuple(loop for loop in inside if loop in wanted)
            return stages.setdefault((level, chosen), Stage(level, chosen))

        for entry in self.entries.values():
            if isinstance(entry.source, Reduction):
                stage(entry.level - 1, entry.source.over).reductions.append(entry)
        for store in self.group.stores:
            layout = self.layout_of(store.target, True)
            assert layout is not None
            reads = [store.source, *_in_place(store.place)]
            level = max(self.entries[read].level for read in reads)
            array = self._array(layout.storage, written=True)
            position = total(store.place.indices, layout.strides, layout.offset)
            dtype = store.target.type.dtype
            write = Write(store.source, array, position, store.place.guards, dtype, store.kind)
            stage(level, store.place.loops | store.source.loops).writes.append(write)
        return sorted(stages.values(), key=lambda s: (s.level, bool(s.writes)))


def _is_passed(value: Constant) -> bool:
    """Whether a number is given to the kernel rather than written into it, so that kernels that
    differ in it only are one. Numbers that make code simpler are written in.
    """
    return value.type.dtype.is_float and float(value.array) not in _TELLING


def _outer_loops(group: FusionGroup) -> tuple[Loop, ...]:
    """The loops whose steps are independent of each other."""
    if group.outer is not None:
        return group.outer
    if not group.in_order:
        return group.loops
    plain = {index.plain_loop for store in group.stores for index in store.place.indices}
    return tuple(loop for loop in group.loops if loop in plain)


def _in_place(place: Place) -> Iterator[Ref]:
    """What the indices and guards of a place read."""
    for index in (*place.indices, *(guard.index for guard in place.guards)):
        for _, extra in index.extras:
            yield from references(extra)


def _dependence(source: Expression, entries: Mapping[Ref, Entry]) -> frozenset[Loop]:
    """The loops in which a computed entry varies."""
    match source:
        case Ref():
            return entries[source].loops
        case Apply() | Combined():
            found: frozenset[Loop] = frozenset()
            for operand in source.operands:
                found |= entries[operand].loops
            return found
        case Choose() | Position() | Resolved() | Start() | Quotient() | Literal():
            return source.loops


def _cost(entry: Entry) -> int:
    if isinstance(entry.source, Load):
        return 1
    value = entry.ref.value
    op = getattr(value, "op", None)
    return own_cost(op) if op is not None else 0


# --- fewer loops --------------------------------------------------------------------------------


def collapse(kernel: Kernel, rows: tuple[Loop, ...] = ()) -> tuple[Kernel, tuple[Loop, ...]]:
    """The kernel with neighbouring loops made one where all positions allow it. Those of `rows`,
    the first of the outer ones, are joined with each other only; which they are then.
    """
    pinned = _pinned(kernel)
    positions = list(kernel.indices())
    merged: dict[Loop, tuple[Loop, Loop]] = {}

    def joined(loops: Sequence[Loop], also: Sequence[Sequence[Loop]]) -> None:
        for first, second in zip(loops, loops[1:], strict=False):
            together = all(
                (first in group) == (second in group)
                and (
                    first not in group or list(group).index(second) == list(group).index(first) + 1
                )
                for group in also
            )
            free = first not in pinned and second not in pinned
            free = free and (first in rows) == (second in rows)
            if free and together and all(_are_joined(p, first, second) for p in positions):
                merged[first] = (first, second)
                return

    groups = [kernel.outer, *[stage.loops for stage in kernel.stages]]
    for loops in groups:
        joined(loops, groups)
        if merged:
            break
    if not merged:
        return kernel, rows
    ((first, second),) = merged.values()
    whole = Loop(first.size * second.size)
    kept = tuple(whole if loop is first else loop for loop in rows if loop is not second)
    return collapse(_substituted(kernel, first, second, whole), kept)


def _are_joined(position: Index, first: Loop, second: Loop) -> bool:
    return position.factor(first) == position.factor(second) * second.size


def _pinned(kernel: Kernel) -> set[Loop]:
    """The loops whose counters are used for more than positions in memory."""
    found: set[Loop] = set()
    for entry in kernel.entries.values():
        source = entry.source
        if isinstance(source, Load):
            for guard in source.guards:
                found |= guard.index.loops
            for _, extra in source.position.extras:
                found |= extra.loops
        elif isinstance(source, Position | Quotient):
            found |= source.index.loops
        elif isinstance(source, Choose):
            for guard in source.guards:
                found |= guard.index.loops
        elif isinstance(source, Reduction) and source.kind.startswith("arg"):
            found |= set(source.over)
    for stage in kernel.stages:
        for write in stage.writes:
            for guard in write.guards:
                found |= guard.index.loops
            for _, extra in write.position.extras:
                found |= extra.loops
    return found


def _substituted(kernel: Kernel, first: Loop, second: Loop, whole: Loop) -> Kernel:
    """The kernel with two loops replaced by one."""

    def index(old: Index) -> Index:
        if old.factor(second) == 0 and old.factor(first) == 0:
            return old
        rest = tuple(term for term in old.terms if term[0] is not first and term[0] is not second)
        return Index(rest, old.constant, old.extras) + Index(((whole, old.factor(second)),))

    def loops(old: Iterable[Loop]) -> tuple[Loop, ...]:
        return tuple(whole if loop is first else loop for loop in old if loop is not second)

    def varying(old: frozenset[Loop]) -> frozenset[Loop]:
        if first not in old and second not in old:
            return old
        return (old - {first, second}) | {whole}

    def source(old: Source) -> Source:
        if isinstance(old, Load):
            return Load(old.array, index(old.position), old.guards, old.dtype)
        if isinstance(old, Reduction):
            return Reduction(old.kind, old.body, loops(old.over), old.op)
        return old

    entries = {
        ref: Entry(ref, source(entry.source), varying(entry.loops), entry.level)
        for ref, entry in kernel.entries.items()
    }
    stages = []
    for stage in kernel.stages:
        writes = [
            Write(w.source, w.array, index(w.position), w.guards, w.dtype, w.kind)
            for w in stage.writes
        ]
        reductions = [entries[entry.ref] for entry in stage.reductions]
        stages.append(Stage(stage.level, loops(stage.loops), writes, reductions))
    return Kernel(
        loops(kernel.outer),
        entries,
        stages,
        kernel.arrays,
        kernel.arguments,
        kernel.weight,
        kernel.in_order,
    )


__all__ = [
    "Argument",
    "Entry",
    "Kernel",
    "Layout",
    "Load",
    "Stage",
    "Store",
    "Write",
    "build",
    "collapse",
]
