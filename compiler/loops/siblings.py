"""Reductions that share work: which groups that reduce over loops of the same sizes compute in part
what another reduction needs.

Groups are found through an index of the values that they are made of, and where these are read, so
that a reduction is not compared with all others of the program.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias

from weft.compiler.ir.graph import Result, Value
from weft.compiler.ir.index.affine import Loop
from weft.compiler.ir.index.expression import Computed, Ref
from weft.compiler.ir.index.references import references
from weft.compiler.ir.types import Shape
from weft.compiler.loops import maps
from weft.compiler.loops.group import FusionGroup

MOST_SEARCHED: Final = 64  # values that are looked at to find what two reductions share
MOST_CANDIDATES: Final = 64  # groups that a reduction is compared with
NOTHING: Final[Mapping[Ref, Computed]] = MappingProxyType({})

Kind: TypeAlias = "tuple[Shape, Shape]"  # the sizes of kept and of reduced loops


def made_of(refs: Iterable[Ref], entries: Mapping[Ref, Computed] = NOTHING) -> set[Ref]:
    """What values at places are computed from, the first that are found; `entries` are the
    expressions of some of them.
    """
    seen: set[Ref] = set()
    queue = deque(refs)
    while queue and len(seen) < MOST_SEARCHED:
        ref = queue.popleft()
        if ref in seen:
            continue
        seen.add(ref)
        value = ref.value
        if isinstance(value, Result) and value.type.rank and maps.has_map(value.op):
            computed = entries.get(ref) or maps.expression(value.op, value.index, ref.place)
            queue.extend(references(computed))
    return seen


def _signature(ref: Ref, numbers: Mapping[Loop, int]) -> Hashable:
    """What a value at a place has in common with the same one in a loop nest of the same sizes,
    whose loops have the same numbers. What is known only at run time is left out.
    """
    indices = [
        (frozenset([(numbers.get(loop), factor) for loop, factor in index.terms]), index.constant)
        for index in ref.place.indices
    ]
    return ref.value, tuple(indices)


class ReductionIndex:
    """The groups that reduce, by the sizes of their loops and by what they are made of.

    A group is looked at again only if it came to want something new since it was last indexed.
    """

    def __init__(self, is_costly: Callable[[Value], bool]) -> None:
        self.is_costly = is_costly
        self._number: dict[FusionGroup, int] = {}
        self._kind: dict[FusionGroup, Kind] = {}
        self._signatures: dict[FusionGroup, set[Hashable]] = {}
        self._wanted: dict[FusionGroup, set[Ref]] = {}
        self._users: dict[tuple[Kind, Hashable], dict[FusionGroup, None]] = {}
        self._stale: dict[Kind, dict[FusionGroup, None]] = {}

    def add(self, kind: Kind, group: FusionGroup) -> None:
        """A new group that reduces over loops of these sizes."""
        self._number[group] = len(self._number)
        self._kind[group] = kind
        self._signatures[group] = set()
        self.changed(group)

    def changed(self, group: FusionGroup) -> None:
        """A group wants more than before."""
        kind = self._kind.get(group)
        if kind is not None:
            self._stale.setdefault(kind, {})[group] = None

    def candidates(self, kind: Kind, body: Ref, loops: Sequence[Loop]) -> list[FusionGroup]:
        """The groups that may share costly work with a reduction of `body` over these loops, of
        very many the latest, in the order they were added.
        """
        if not self.is_costly(body.value):
            return []  # nor is what it is made of
        self._refresh(kind)
        groups: dict[FusionGroup, None] = {}
        for signature in self._costly(made_of([body]), loops):
            groups.update(self._users.get((kind, signature), {}))
        return sorted(groups, key=self._number.__getitem__)[-MOST_CANDIDATES:]

    def _costly(self, refs: Iterable[Ref], loops: Sequence[Loop]) -> set[Hashable]:
        numbers = {loop: number for number, loop in enumerate(loops)}
        return {_signature(ref, numbers) for ref in refs if self.is_costly(ref.value)}

    def shares(self, body: Ref, group: FusionGroup) -> bool:
        """Whether a candidate wants something costly that a value is made of, at the same place."""
        wanted = self._wanted[group]
        refs = made_of([body], group.entries)
        return any(ref in wanted for ref in refs if self.is_costly(ref.value))

    def _refresh(self, kind: Kind) -> None:
        for group in self._stale.pop(kind, {}):
            self._wanted[group] = made_of(reversed(group.wanted), group.entries)
            loops = (*(group.outer or ()), *group.reduce_loops.get(kind[1], ()))
            signatures = self._costly(self._wanted[group], loops)
            for signature in self._signatures[group] - signatures:
                del self._users[kind, signature][group]
            for signature in signatures - self._signatures[group]:
                self._users.setdefault((kind, signature), {})[group] = None
            self._signatures[group] = signatures
