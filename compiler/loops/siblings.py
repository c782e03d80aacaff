"""Reductions that share work: which groups that reduce over loops of the same sizes compute in part
what another reduction needs.

Groups are found through an index of the values that they are made of, so that a reduction is not
compared with all others of the program.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from weft.compiler.ir.graph import Result, Value
from weft.compiler.ir.index.expression import Ref
from weft.compiler.ir.index.references import references
from weft.compiler.ir.types import Shape
from weft.compiler.loops import maps
from weft.compiler.loops.group import FusionGroup

MOST_SEARCHED: Final = 64  # values that are looked at to find what two reductions share

Kind: TypeAlias = "tuple[Shape, Shape]"  # the sizes of kept and of reduced loops


def made_of(refs: Iterable[Ref]) -> set[Ref]:
    """What values at places are computed from, the first that are found."""
    seen: set[Ref] = set()
    queue = deque(refs)
    while queue and len(seen) < MOST_SEARCHED:
        ref = queue.popleft()
        if ref in seen:
            continue
        seen.add(ref)
        value = ref.value
        if isinstance(value, Result) and maps.has_map(value.op) and value.type.rank:
            queue.extend(references(maps.expression(value.op, value.index, ref.place)))
    return seen


def _values_behind(value: Value) -> list[Value]:
    """The values that one is computed from, wherever they are read: no fewer than `made_of` has."""
    seen: dict[Value, None] = {value: None}
    queue = deque(seen)
    while queue and len(seen) < MOST_SEARCHED:
        item = queue.popleft()
        if isinstance(item, Result) and item.type.rank and maps.has_map(item.op):
            for operand in item.op.operands:
                if operand not in seen:
                    seen[operand] = None
                    queue.append(operand)
    return list(seen)


class ReductionIndex:
    """The groups that reduce, by the sizes of their loops and by what they are made of.

    A group is looked at again only if it came to want something new since it was last indexed.
    """

    def __init__(self, is_costly: Callable[[Value], bool]) -> None:
        self.is_costly = is_costly
        self._number: dict[FusionGroup, int] = {}
        self._kind: dict[FusionGroup, Kind] = {}
        self._values: dict[FusionGroup, set[Value]] = {}
        self._wanted: dict[FusionGroup, set[Ref]] = {}
        self._users: dict[tuple[Kind, Value], dict[FusionGroup, None]] = {}
        self._stale: dict[Kind, dict[FusionGroup, None]] = {}

    def add(self, kind: Kind, group: FusionGroup) -> None:
        """A new group that reduces over loops of these sizes."""
        self._number[group] = len(self._number)
        self._kind[group] = kind
        self._values[group] = set()
        self.changed(group)

    def changed(self, group: FusionGroup) -> None:
        """A group wants more than before."""
        kind = self._kind.get(group)
        if kind is not None:
            self._stale.setdefault(kind, {})[group] = None

    def candidates(self, kind: Kind, body: Ref) -> list[FusionGroup]:
        """The groups that may share costly work with a reduction, in the order they were added."""
        self._refresh(kind)
        found: dict[FusionGroup, None] = {}
        for value in _values_behind(body.value):
            if self.is_costly(value):
                found.update(self._users.get((kind, value), {}))
        return sorted(found, key=self._number.__getitem__)

    def shares(self, body: Ref, group: FusionGroup) -> bool:
        """Whether a candidate wants something costly that a value is made of, at the same place."""
        wanted = self._wanted[group]
        return any(ref in wanted for ref in made_of([body]) if self.is_costly(ref.value))

    def _refresh(self, kind: Kind) -> None:
        for group in self._stale.pop(kind, {}):
            self._wanted[group] = made_of(reversed(group.wanted))
            values = {ref.value for ref in self._wanted[group] if self.is_costly(ref.value)}
            for value in self._values[group] - values:
                del self._users[kind, value][group]
            for value in values - self._values[group]:
                self._users.setdefault((kind, value), {})[group] = None
            self._values[group] = values
