"""Lists and dicts that a loop of the program carries from step to step: each step has new ones in
their place, so that nothing else may be a name for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft.compiler.record import record
from weft.frontends.flow import state
from weft.frontends.flow.identity import objects_in
from weft.frontends.flow.saved import Saved
from weft.frontends.flow.scope import UNDEFINED, Slot
from weft.frontends.tracing import core


@record
class Held:
    """What a variable held before a loop, to be looked at as one."""

    name: str
    value: Any

    def get(self) -> Any:
        return self.value

    def set(self, value: Any) -> None:
        raise AssertionError("it is only looked at")


@record
class Renewed:
    """A container that stands for another one in a step, and what was in it at the start."""

    slot: Slot
    original: Any
    made: Any
    content: Any

    @property
    def is_changed(self) -> bool:
        kind = state.kind_of(self.made)
        return kind is not None and not kind.is_same(kind.content(self.made), self.content)


def renewed(slot: Slot, before: Sequence[Any]) -> list[Renewed]:
    """The containers of a variable, which were others before the loop."""
    made = objects_in(slot.get())
    originals = before if len(before) == len(made) else [None] * len(made)
    pairs = zip(originals, made, strict=True)
    kinds = [(one, two, state.kind_of(two)) for one, two in pairs if two is not None]
    return [Renewed(slot, one, two, kind.content(two)) for one, two, kind in kinds if kind]


def require_own(
    containers: Sequence[Renewed],
    carried: Sequence[Slot],
    entry: Sequence[Any],
    others: Sequence[Slot],
) -> None:
    """Raise if a step has changed a container that its variable does not hold any more, or that
    another variable holds as well: these would not see it.
    """
    changed = [one for one in containers if one.is_changed]
    if not changed:
        return
    ends = {id(part) for slot in carried for part in objects_in(slot.get())}
    before = [Held(slot.name, value) for slot, value in zip(carried, entry, strict=True)]
    names = {slot.name for slot in carried}
    roots: list[Slot] = [*before, *[slot for slot in others if slot.name not in names]]
    for one in changed:
        if id(one.made) not in ends:
            raise _has_two_names(one.slot.name)
        for root in roots:
            if root.name != one.slot.name and _reaches(root, one.original):
                raise _has_two_names(one.slot.name, root.name)


def _reaches(root: Slot, container: Any) -> bool:
    if container is None or root.get() is UNDEFINED:
        return False
    return any(found is container for _, found, _ in Saved((), [root], ()).containers)


def _has_two_names(name: str, other: str = "") -> Exception:
    also = f", which {other} holds as well" if other else ", which it does not hold at the end"
    return core.trace_error(
        f"a list or dict of {name} is changed in a step of this loop{also}; use one name for it, "
        "or unroll the loop: for ... in wf.unrolled(...)"
    )
