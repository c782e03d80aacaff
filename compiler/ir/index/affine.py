"""Where loops read and write: affine expressions of loop counters, and places in arrays.

An index is a sum of loop counters times sizes, a constant size, and terms known only at run time,
such as a position that was gathered. A place is an index per axis together with guards: conditions
under which the place exists at all, as for the middle of a padded array.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING, Final, TypeAlias

from weft.compiler.ir import dims
from weft.compiler.ir.dims import Size
from weft.compiler.record import record

if TYPE_CHECKING:
    from weft.compiler.ir.index.expression import Expression

_numbers: Iterator[int] = count()


class Loop:
    """A counter from 0 to `size`; compared by identity."""

    __slots__ = ("size", "number")

    def __init__(self, size: Size) -> None:
        self.size: Final = size
        self.number: Final = next(_numbers)

    def __repr__(self) -> str:
        return f"<loop {self.number}: {self.size}>"


Term: TypeAlias = "tuple[Loop, Size]"
Extra: TypeAlias = "tuple[Size, Expression]"


class Index:
    """A sum of loop counters times sizes, a constant, and run-time terms; compared by value."""

    __slots__ = ("terms", "constant", "extras", "_hash")

    def __init__(
        self, terms: tuple[Term, ...] = (), constant: Size = 0, extras: tuple[Extra, ...] = ()
    ) -> None:
        self.terms: Final = terms
        self.constant: Final = constant
        self.extras: Final = extras
        self._hash = hash((terms, constant, extras))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Index)
            and self._hash == other._hash
            and self.terms == other.terms
            and self.constant == other.constant
            and self.extras == other.extras
        )

    def __hash__(self) -> int:
        return self._hash

    def __add__(self, other: Index | Size) -> Index:
        if not isinstance(other, Index):
            return Index(self.terms, self.constant + other, self.extras)
        if not self.terms and not self.extras and _is_zero(self.constant):
            return other
        return Index(
            _merge(self.terms, other.terms),
            self.constant + other.constant,
            self.extras + other.extras,
        )

    def __mul__(self, factor: Size) -> Index:
        if isinstance(factor, int):
            if factor == 1:
                return self
            if factor == 0:
                return ZERO
        return Index(
            tuple([(loop, size * factor) for loop, size in self.terms]),
            self.constant * factor,
            tuple([(size * factor, extra) for size, extra in self.extras]),
        )

    def factor(self, loop: Loop) -> Size:
        """What the counter of a loop is multiplied by."""
        for term, size in self.terms:
            if term is loop:
                return size
        return 0

    @property
    def loops(self) -> frozenset[Loop]:
        """The loops it depends on, those of run-time terms included."""
        loops = {loop for loop, _ in self.terms}
        for _, extra in self.extras:
            loops |= extra.loops
        return frozenset(loops)

    @property
    def plain_loop(self) -> Loop | None:
        """The loop whose counter it is, if it is nothing else."""
        if len(self.terms) == 1 and not self.extras and _is_zero(self.constant):
            loop, size = self.terms[0]
            if isinstance(size, int) and size == 1:
                return loop
        return None

    def lies_within(self, size: Size) -> bool:
        """Whether it is provably from 0 to below `size` for all counters."""
        if self.extras or (dims.lower(self.constant) or 0) < 0:
            return False
        if dims.lower(self.constant) is None:
            return False
        most: Size = self.constant
        for loop, factor in self.terms:
            least = dims.lower(factor)
            if least is None or least < 0:
                return False
            most = most + factor * (loop.size - 1)
        room = dims.lower(size - most)
        return room is not None and room >= 1

    def __repr__(self) -> str:
        parts = [f"{size}*i{loop.number}" for loop, size in self.terms]
        parts += [f"{size}*({extra})" for size, extra in self.extras]
        if not parts or not _is_zero(self.constant):
            parts.append(str(self.constant))
        return " + ".join(part.removeprefix("1*") for part in parts)


ZERO: Final = Index()


def counter(loop: Loop) -> Index:
    """The counter of a loop; 0 for a loop of one step."""
    return ZERO if isinstance(loop.size, int) and loop.size == 1 else Index(((loop, 1),))


def constant(size: Size) -> Index:
    return Index((), size)


def total(indices: Iterable[Index], strides: Sequence[Size], offset: Size = 0) -> Index:
    """The sum of indices times strides."""
    terms: dict[Loop, Size] = {}
    extras: list[Extra] = []
    for index, stride in zip(indices, strides, strict=True):
        if index is ZERO or _is_zero(stride):
            continue
        for loop, size in index.terms:
            terms[loop] = terms.get(loop, 0) + size * stride
        offset = offset + index.constant * stride
        extras += [(size * stride, extra) for size, extra in index.extras]
    kept = [term for term in terms.items() if not _is_zero(term[1])]
    kept.sort(key=_loop_number)
    return Index(tuple(kept), offset, tuple(extras))


def _loop_number(term: Term) -> int:
    return term[0].number


def row_major(shape: Sequence[Size]) -> tuple[Size, ...]:
    """The strides, in elements, of an array in row-major order."""
    return _row_major(tuple(shape))


@functools.lru_cache(maxsize=1024)
def _row_major(shape: tuple[Size, ...]) -> tuple[Size, ...]:
    strides: list[Size] = []
    step: Size = 1
    for size in reversed(shape):
        strides.append(step)
        step = step * size
    return tuple(reversed(strides))


def _is_zero(size: Size) -> bool:
    return isinstance(size, int) and size == 0


def _merge(left: tuple[Term, ...], right: tuple[Term, ...]) -> tuple[Term, ...]:
    """The terms of a sum, in the order of the loops."""
    if not left or not right:
        return left or right
    sums: dict[Loop, Size] = dict(left)
    for loop, size in right:
        sums[loop] = sums.get(loop, 0) + size
    kept = [(loop, size) for loop, size in sums.items() if not _is_zero(size)]
    return tuple(sorted(kept, key=_loop_number))


@record
class Guard:
    """The condition low <= index < high."""

    index: Index
    low: Size
    high: Size


class Place:
    """An index per axis, and the guards under which it lies inside the array; compared by value."""

    __slots__ = ("indices", "guards", "_hash", "_loops", "_has_extras")

    def __init__(self, indices: tuple[Index, ...], guards: tuple[Guard, ...] = ()) -> None:
        self.indices: Final = indices
        self.guards: Final = guards
        self._hash = hash((indices, guards))
        self._loops: frozenset[Loop] | None = None
        self._has_extras: bool | None = None

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Place)
            and self._hash == other._hash
            and self.indices == other.indices
            and self.guards == other.guards
        )

    def __hash__(self) -> int:
        return self._hash

    @property
    def loops(self) -> frozenset[Loop]:
        if self._loops is None:
            loops: set[Loop] = set()
            for index in self.indices:
                loops |= index.loops
            for guard in self.guards:
                loops |= guard.index.loops
            self._loops = frozenset(loops)
        return self._loops

    @property
    def has_extras(self) -> bool:
        """Whether something is read to find out where it is."""
        if self._has_extras is None:
            guarded = [guard.index for guard in self.guards]
            self._has_extras = any([index.extras for index in (*self.indices, *guarded)])
        return self._has_extras

    def __repr__(self) -> str:
        return f"Place({self.indices!r}, {self.guards!r})"

    def at(self, indices: Iterable[Index]) -> Place:
        """Other indices under the same guards."""
        return Place(tuple(indices), self.guards)

    def guarded(self, guards: Iterable[Guard]) -> Place:
        """The same indices under further guards; those that always hold are left out."""
        added = [guard for guard in guards if not _always_holds(guard) and guard not in self.guards]
        return Place(self.indices, (*self.guards, *added)) if added else self


def _always_holds(guard: Guard) -> bool:
    return (guard.index + guard.low * -1).lies_within(guard.high - guard.low)


def over(loops: Iterable[Loop]) -> Place:
    """The place that loops count through."""
    return Place(tuple([counter(loop) for loop in loops]))


def are_apart(read: Place, written: Place, loops: Iterable[Loop]) -> bool:
    """Whether no step of the loops reads what another one writes: where both go along an axis with
    a loop in the same way, what they have in common is of one step of it.
    """
    together = {
        index.terms[0][0]
        for index, other in zip(read.indices, written.indices, strict=True)
        if index == other
        and len(index.terms) == 1
        and isinstance(index.terms[0][1], int)
        and not index.extras
    }
    return all(loop in together or (isinstance(s := loop.size, int) and s == 1) for loop in loops)
