"""What a compiled function knows of Python's whole numbers whose values its traces need: for which
kinds of arguments, and for how many values it was compiled.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Collection
from typing import Any, Final

from weft.compiler.ir.errors import RetraceWarning
from weft.frontends.tracing.arguments import Call
from weft.frontends.tracing.caller import Locator

MOST_VALUES: Final = 16  # that a function is compiled for without a word


class FixedNumbers:
    """The leaves that have to be known, by kinds of arguments. `find` looks for what an earlier
    process found out.
    """

    def __init__(self, name: str, find: Callable[[Call], Collection[int]]) -> None:
        self._name = name
        self._find = find
        self._known: dict[Any, frozenset[int]] = {}
        self._versions: Counter[Any] = Counter()

    def of(self, call: Call) -> Call:
        """The call, with the values of those leaves in its structure that have to be known."""
        while call.whole_numbers:
            key = call.key
            if key not in self._known:
                found = frozenset(self._find(call))
                self._known[key] = found.intersection(call.whole_numbers)
            if not self._known[key]:
                break
            call = call.with_fixed(self._known[key])
        return call

    def learn(self, call: Call, needed: Callable[[], frozenset[int]]) -> bool:
        """Whether a call that could not be traced can be with the values of some leaves, which are
        remembered; one alone is tried at once.
        """
        numbers = call.whole_numbers
        if not numbers:
            return False
        self._known[call.key] = frozenset(numbers) if len(numbers) == 1 else needed()
        return bool(self._known[call.key])

    def forget(self, call: Call) -> None:
        """It could not."""
        self._known[call.key] = frozenset()

    def positions(self, call: Call) -> frozenset[int]:
        """What is known of a kind of arguments."""
        return self._known.get(call.key, frozenset())

    def count(self, call: Call) -> None:
        """Take note of a new version, and warn when there are many for other values only."""
        numbers = [name for name, value in call.fixed if type(value) is not str]
        if not numbers:
            return
        kinds = tuple([leaf.kind for leaf in call.leaves]), tuple(numbers)
        self._versions[kinds] += 1
        if self._versions[kinds] == MOST_VALUES + 1:
            _warn(
                f"{self._name} was compiled for {MOST_VALUES + 1} values of {', '.join(numbers)}, "
                "which its trace needs to know (see explain()): each other value takes another "
                "trace and compilation. Let shapes depend on the shapes of arrays, or call it with "
                "few values"
            )


def _warn(message: str) -> None:
    frame = Locator().frame()
    if frame is None:
        warnings.warn(message, RetraceWarning, stacklevel=2)
        return
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    file, module = frame.f_code.co_filename, frame.f_globals.get("__name__")
    warnings.warn_explicit(message, RetraceWarning, file, frame.f_lineno, module, registry)
