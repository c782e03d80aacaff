"""The lists, dicts, records and NumPy arrays of variables that a loop carries from step to step.

Each step is traced on new ones that stand for those of before. What a step leaves as it was given
stays the object from before the loop. What is another object from outside at the end of a step is
tied to that: neither may change afterwards, and where the next step might see it, not in the loop.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from weft.compiler.ir.errors import TraceError
from weft.frontends.flow.identity import Contents, objects_in, tie_arrays, with_objects
from weft.frontends.flow.saved import Saved
from weft.frontends.flow.variables import State, Taken
from weft.frontends.tracing.trace import user_line


class CarriedObjects:
    """By the names of variables: what a step was given, and what it has left."""

    def __init__(self) -> None:
        self._given: dict[str, list[Any]] = {}
        self._contents: dict[str, Contents] = {}
        self._ends: dict[str, tuple[Any, ...]] = {}
        self._same: dict[str, list[bool]] = {}

    def enter(self, name: str, given: Any, entry: Any, is_apart: bool) -> None:
        """A step is given a value in place of the one from before the loop."""
        objects, before = objects_in(given, is_apart), objects_in(entry, is_apart)
        self._given[name] = objects
        self._contents[name] = Contents(objects)
        if len(before) == len(objects):
            tie_arrays(given, before)

    def leave(self, name: str, state: State) -> None:
        """The step has left a value."""
        ends, given = state.objects if isinstance(state, Taken) else (), self._given.get(name, [])
        self._ends[name] = ends if len(ends) == len(given) else ()
        pairs = zip(given, self._ends[name], strict=False)
        self._same[name] = [one is not None and one is end for one, end in pairs]

    def require_followed(self, saved: Saved) -> None:
        """Raise if a step would see a change of an object that has another name as well: one from
        before the loop, or of two variables.
        """
        holders: defaultdict[int, list[tuple[str, int]]] = defaultdict(list)
        for name, ends in self._ends.items():
            for number, end in enumerate(ends):
                if end is not None:
                    holders[id(end)].append((name, number))
        for places in holders.values():
            name, number = places[0]
            end = self._ends[name][number]
            is_outer = saved.holds(end)
            if len(places) == 1 and not is_outer:
                continue
            if (is_outer and saved.is_changed(end)) or any(map(self._is_changed, places)):
                raise TraceError(
                    f"{name} is a {type(end).__name__} that has another name as well after a step "
                    "of this loop, and it is changed in a step; make a copy where the two part",
                    location=user_line(),
                )

    def _is_changed(self, place: tuple[str, int]) -> bool:
        name, number = place
        return self._contents[name].is_changed(number)

    def after(self, name: str, value: Any, entry: Any, is_apart: bool) -> Any:
        """The value of a variable after the loop, with objects from before where they are kept."""
        ends, before = self._ends.get(name, ()), objects_in(entry, is_apart)
        kept = [None] * len(ends)
        if len(before) == len(ends):
            pairs = zip(before, self._same.get(name, []), strict=True)
            kept = [one if is_same else None for one, is_same in pairs]
        ways = [way for way in (before, ends) if len(way) == len(kept)]
        return with_objects(value, kept, ways, is_apart)
