"""Values that tracing itself changes: counters and logs of traces, which do no harm, and counters
that the result depends on, which do.

A function that counts its traces, or logs them, changes what it found; to trace it again for that
would never end. A value that it made once, as a memo, is what the next trace would find as well.
"""

from __future__ import annotations

import dis
import types
from collections.abc import Iterator, Sequence
from typing import Any, Final

from weft.frontends.driver.frozen.places import (
    Attribute,
    ClosureCell,
    Contents,
    Global,
    GuardedArray,
    GuardedPlace,
)

_NUMBERS: Final = (bool, int, float, complex)
_LOADS: Final = ("LOAD_GLOBAL", "LOAD_DEREF", "LOAD_ATTR", "LOAD_NAME")
_WRITES: Final = frozenset("append appendleft extend add update insert".split())


def changes_each_time(before: GuardedPlace, after: GuardedPlace) -> bool:
    """Whether what changed in a place is a count or a log, and not something made once."""
    if isinstance(after, Contents | GuardedArray):
        return True
    return isinstance(before.expected, _NUMBERS) and isinstance(after.expected, _NUMBERS)


def is_count(before: GuardedPlace, after: GuardedPlace) -> bool:
    """Whether a number became another one."""
    if isinstance(after, GuardedArray):
        return True
    if not isinstance(after, Contents) or not isinstance(before, Contents):
        return isinstance(after.expected, _NUMBERS)
    then = dict(zip(before.keys or range(len(before.expected)), before.expected, strict=True))
    now = zip(after.keys or range(len(after.expected)), after.expected, strict=True)
    changed = [(then[key], value) for key, value in now if then.get(key, value) is not value]
    return any(isinstance(a, _NUMBERS) and isinstance(b, _NUMBERS) for a, b in changed)


def is_from_elsewhere(place: GuardedPlace, codes: Sequence[types.CodeType]) -> bool:
    """Whether a variable changed that no code of the function stores to: another thread did. Which
    value the trace found is not known then.
    """
    if not isinstance(place, Global | ClosureCell):
        return False
    name = _name(place)
    return not any(
        each.argval == name and each.opname.startswith(("STORE_", "DELETE_"))
        for code in codes
        for each in dis.get_instructions(code)
    )


def is_read(place: GuardedPlace, codes: Sequence[types.CodeType]) -> bool:
    """Whether code has more statements with a value than those that change it."""
    holds = isinstance(place, Contents | GuardedArray)
    name = _name(place)
    return sum(_reads(name, code, holds) for code in codes) > 0


def _name(place: GuardedPlace) -> str:
    """The variable or attribute that a place is known by."""
    if isinstance(place, Global | Attribute):
        return str(place.key)
    if isinstance(place, ClosureCell):
        return place.label
    return place.label.partition("[")[0].rpartition(" ")[2].rpartition(".")[2]


def _reads(name: str, code: types.CodeType, holds: bool) -> int:
    """How often code loads a value by a name, less how often it stores there; of something that
    `holds` others, less the stores to what it holds.
    """
    loads = stores = 0
    for instruction, following in _pairs(code):
        if instruction.argval == name and instruction.opname in (*_LOADS, "LOAD_METHOD"):
            loads += not (holds and following is not None and following.argval in _WRITES)
        elif instruction.argval == name and instruction.opname.startswith("STORE_"):
            stores += 1
        elif holds and instruction.opname == "STORE_SUBSCR":
            stores += 1
    return loads - stores if loads else 0


def _pairs(code: types.CodeType) -> Iterator[tuple[Any, Any]]:
    instructions = [each for each in dis.get_instructions(code) if each.opname != "CACHE"]
    yield from zip(instructions, [*instructions[1:], None], strict=True)
