"""What a compiled function does about values that its trace freezes: it guards those that it can,
and says which it cannot.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Final

from weft.compiler.ir.errors import ArgumentError, FrozenValueError, FrozenValueWarning
from weft.compiler.ir.location import Location
from weft.frontends.driver.frozen.attributes import Unguarded
from weft.frontends.driver.frozen.counting import (
    changes_each_time,
    is_count,
    is_from_elsewhere,
    is_read,
)
from weft.frontends.driver.frozen.dependencies import Dependencies
from weft.frontends.driver.frozen.guard import Guard
from weft.frontends.driver.frozen.impure import Finding, Observation
from weft.frontends.driver.frozen.objects import is_users_class
from weft.frontends.driver.frozen.places import GuardedPlace
from weft.frontends.tracing.arguments import Call
from weft.frontends.tracing.caller import caller_location

MODES: Final = ("strict", "warn", "off")
_MOST_TOLD: Final = 3


class Watch:
    """Guards the values that traces of one function freeze, and tells of the others, once."""

    def __init__(self, function: Callable[..., Any], name: str, mode: str) -> None:
        if mode not in MODES:
            raise ArgumentError(f"check is {mode!r}; it can be {', '.join(MODES)}")
        self._function = function
        self._name = name
        self._mode = mode
        self._has_told = False

    @property
    def is_strict(self) -> bool:
        """Whether the user wants errors where others are warned."""
        return self._mode == "strict"

    def look(self, call: Call) -> Dependencies:
        """What a trace for a call depends on besides its arrays, as it is now."""
        found = Dependencies()
        if self._mode == "off":
            return found
        try:
            found.add(self._function, "the function")
            for argument_key, value in call.static:
                found.add(value, f"the static argument {argument_key}")
            for kind in _classes(call):
                found.add(kind, kind.__name__)
        except Exception as error:  # looking at a user's object can run the user's code
            found.unguarded.append(Unguarded(f"looking at it raised {error!r}", is_common=False))
        if not found.guard().check():
            found.places = [place for place in found.places if _holds(place)]
        return found

    def traced(self, before: Dependencies, call: Call, trace: Callable[[], object]) -> Dependencies:
        """What a trace depends on, after it; raises or warns of what it froze."""
        if self._mode == "off":
            trace()
            return before
        observation = Observation(before.uses, list(before.generators.values()))
        with observation.running():
            trace()
        after = self._after(before, call)
        self._tell(observation.findings, after.unguarded)
        return after

    def found(self, now: Dependencies) -> None:
        """Raise or warn of what no guard can tell, where the trace is another process's."""
        self._tell((), now.unguarded)

    def after_run(self, guard: Guard) -> Guard:
        """The guard without what the program itself changes, by the functions that it calls back,
        which may well log or count.
        """
        if guard.check():
            return guard
        return Guard(guard.state, [place for place in guard.places if _holds(place)])

    def changed_late(self, guard: Guard) -> None:
        """Warn of large arrays whose change was not seen at once."""
        late = [label for label, look in guard.looks if look.found and look.calls > 2]
        if late:
            self._warn(
                f"{self._name}: {late[0]} was changed in place after {self._name} was traced. "
                "It is too large to be compared before each call, so earlier calls may have used "
                "the old values; pass it as an argument",
                caller_location(),
            )

    def _after(self, before: Dependencies, call: Call) -> Dependencies:
        """What tracing itself changes: where it found one value and left another, the latter is
        what the next trace would find, except for counters and logs, which each trace changes.
        """
        if before.guard().check() and not before.is_incomplete:
            return before
        changed = {place.identity: place for place in before.places if not _holds(place)}
        after = self.look(call)
        if any(is_from_elsewhere(place, after.codes) for place in changed.values()):
            after.spoil()
            return after
        kept = []
        for place in after.places:
            old = changed.get(place.identity)
            if old is None or not changes_each_time(old, place):
                kept.append(place)
            elif is_count(old, place) and is_read(place, after.codes):
                text = f"{place.label}, which tracing changes"
                after.unguarded.append(Unguarded(text, is_common=False))
        after.places = kept
        return after

    def _tell(self, findings: Sequence[Finding], unguarded: Sequence[Unguarded]) -> None:
        strict = self._mode == "strict"
        texts = {finding.text: finding.location for finding in findings}
        for each in unguarded:
            if strict or not each.is_common:
                texts[f"no guard can tell whether this changes: {each.text}"] = None
        if not texts or (self._has_told and not strict):
            return
        self._has_told = True
        place = next((at for at in texts.values() if at is not None), None) or self._place()
        told = "; ".join(list(texts)[:_MOST_TOLD])
        message = f"{self._name}: frozen in all calls: {told}"
        if strict:
            raise FrozenValueError(message, location=place)
        self._warn(message, place)

    def _warn(self, message: str, place: Location | None) -> None:
        if place is None:
            warnings.warn(message, FrozenValueWarning, stacklevel=2)
        else:
            text = f"{message}\n  {place}"
            warnings.warn_explicit(text, FrozenValueWarning, place.file, place.line)

    def _place(self) -> Location | None:
        """Where the function is defined."""
        function: Any = self._function
        function = getattr(function, "__func__", getattr(function, "__wrapped__", function))
        code = getattr(function, "__code__", None)
        return None if code is None else Location(code.co_filename, code.co_firstlineno)


def _classes(call: Call) -> list[type]:
    """The user's classes among the nodes of the arguments."""
    kinds = {part.type for path in call.treedef.accessors() for part in path}
    return sorted(filter(is_users_class, kinds), key=lambda kind: kind.__qualname__)


def _holds(place: GuardedPlace) -> bool:
    return Guard("", [place]).check()
