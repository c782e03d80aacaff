"""Kernels: a fusion group as a loop nest that a target can write down as it is.

Outer loops are independent of each other. Inside a step of them come levels: first what needs no
reduction, then what needs those of the level before, and so on; a level has stages, each a nest of
inner loops that computes, stores and reduces. Arrays are read and written at positions: one index
into memory, counted in elements.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from weft.compiler.ir import dims
from weft.compiler.ir.dims import Size
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.graph import Result, Value
from weft.compiler.ir.index.affine import Guard, Index, Loop
from weft.compiler.ir.index.expression import (
    Apply,
    Choose,
    Combined,
    Expression,
    Position,
    Quotient,
    Ref,
    Resolved,
    Start,
)
from weft.compiler.loops.costs import own_cost
from weft.compiler.loops.group import Reduction
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
    """A scalar argument of the kernel."""

    number: int
    dtype: DType


Source: TypeAlias = "Load | Argument | Expression | Reduction"


@record
class Entry:
    """A value at a place: where it comes from, the loops in which it varies, and its level."""

    ref: Ref
    source: Source
    loops: frozenset[Loop]
    level: int


def computing_cost(entry: Entry) -> int:
    """The additions of an entry that the kernel computes; 0 for what it is given."""
    value = entry.ref.value
    if isinstance(entry.source, Load | Argument) or not isinstance(value, Result):
        return 0
    return own_cost(value.op)


def derived_entry(ref: Ref, source: Source, entries: Mapping[Ref, Entry]) -> Entry:
    """An entry with the loops and the level that follow from what its source reads."""
    reads = list(read_by(source))
    level = max((entries[read].level for read in reads), default=0)
    loops: frozenset[Loop] = frozenset().union(*(entries[read].loops for read in reads))
    match source:
        case Reduction():
            level, loops = level + 1, loops - frozenset(source.over)
        case Load():
            loops |= source.position.loops.union(*(guard.index.loops for guard in source.guards))
        case Choose():
            loops = loops.union(*(guard.index.loops for guard in source.guards))
        case Position() | Quotient():
            loops |= source.index.loops
    return Entry(ref, source, loops, level)


def read_by(source: Source) -> Iterator[Ref]:
    """The entries that a source reads; those of places are of the group, not of the kernel."""
    stack: list[object] = [source]
    while stack:
        item = stack.pop()
        match item:
            case Ref():
                yield item
            case Apply() | Combined():
                yield from item.operands
            case Reduction():
                yield item.body
            case Resolved() | Start():
                yield item.position
            case Choose():
                stack += [item.inside, item.outside]
                stack += [extra for guard in item.guards for _, extra in guard.index.extras]
            case Load():
                stack += [extra for _, extra in item.position.extras]
                stack += [extra for guard in item.guards for _, extra in guard.index.extras]
            case Position() | Quotient():
                stack += [extra for _, extra in item.index.extras]


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
    """A nest of inner loops at a level; without loops it runs once per outer step."""

    level: int
    loops: tuple[Loop, ...]
    writes: list[Write] = field(default_factory=list)
    reductions: list[Entry] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Kernel:
    """A loop nest: see the module's text. One that is `like` another is its nest on other arrays
    and numbers, and speaks of the other's loops and values.
    """

    outer: tuple[Loop, ...]
    entries: dict[Ref, Entry]
    stages: list[Stage]
    arrays: list[tuple[object, bool]]
    arguments: list[Value]
    weight: int
    in_order: bool
    offsets: tuple[int, ...] = ()  # bytes from the start of each array's storage, if not 0
    like: Kernel | None = None

    @property
    def inner(self) -> tuple[Loop, ...]:
        """All loops that are not outer ones."""
        loops: dict[Loop, None] = {}
        for stage in self.stages:
            loops.update(dict.fromkeys(stage.loops))
        return tuple(loops)

    @property
    def levels(self) -> int:
        return 1 + max((stage.level for stage in self.stages), default=0)

    def additions(self, lanes: int) -> Size:
        """The cost of all steps, `lanes` of them at once."""
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
