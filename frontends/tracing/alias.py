"""What an array may be after a branch or loop, where that depends on values.

`if p: w = y` makes an array of `w` that is `y` where `p` holds: a write to one is then seen through
the other there. Here is what such a relation consists of; `Tracer` keeps arrays in agreement.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from weft.compiler.ir.errors import TraceError
from weft.compiler.ir.graph import Value
from weft.compiler.ir.location import Location
from weft.compiler.ops.logic import and_, not_, select

if TYPE_CHECKING:
    from weft.frontends.tracing.trace import Trace, Tracer, TracerView

Stamp: TypeAlias = "tuple[Value, Location | bool]"
Conditions: TypeAlias = "tuple[tuple[Tracer, bool], ...]"


@dataclass(slots=True, eq=False)
class Alias:
    """An array is `path`, a chain of views, of `memory` where all `conditions` are as given; None
    if these are not known any more, as after a loop.

    `seen` is how that memory was when the two were last made to agree.
    """

    memory: Tracer
    path: tuple[TracerView, ...]
    conditions: Conditions | None
    seen: Stamp

    def __post_init__(self) -> None:
        self.memory.held += 1

    def __del__(self) -> None:
        self.memory.held -= 1

    @property
    def leads_back(self) -> bool:
        """Whether a write goes through to the memory."""
        return all(view.put is not None and view.certain for view in self.path)

    def get(self, value: Value) -> Value:
        """What the array is, if it is that, for a value of the memory."""
        with _of_known_place():
            for view in self.path:
                value = view.get(value)
        return value

    def put(self, value: Value, new: Value) -> Value:
        """The value of the memory after the array was written to."""
        bases = [value]
        with _of_known_place():
            for view in self.path[:-1]:
                bases.append(view.get(bases[-1]))
            for view, base in zip(reversed(self.path), reversed(bases), strict=False):
                assert view.put is not None
                new = view.put(base, new)
        return new

    def choose(self, trace: Trace, then: Value, otherwise: Value) -> Value:
        """One of two values, the first where the conditions hold."""
        assert self.conditions is not None
        test = all_of(self.conditions, trace)
        return then if test is None else select(test, then, otherwise)


def all_of(conditions: Conditions, trace: Trace) -> Value | None:
    """Whether all conditions are as given; None if there are none."""
    test: Value | None = None
    for condition, expected in conditions:
        value = trace.read(condition)
        value = value if expected else not_(value)
        test = value if test is None else and_(test, value)
    return test


@contextmanager
def _of_known_place() -> Iterator[None]:
    """The place of a view may be computed by a branch that is over."""
    try:
        yield
    except TraceError as error:
        raise TraceError(
            "this array may be a view of another one that is written to, at a place that is only "
            "known inside of a branch; take a .copy() there",
            location=error.location,
        ) from error


def is_named(memory: Any) -> bool:
    """Whether something else than aliases holds an array, so that it may be read. The caller holds
    it in one variable.
    """
    return sys.getrefcount(memory) > _UNNAMED + int(memory.held)


def _unnamed() -> int:
    """What `is_named` counts for an array that only its caller holds."""

    def count(memory: Any) -> int:
        return sys.getrefcount(memory)

    alone = object()
    return count(alone)


_UNNAMED: Final = _unnamed()


def in_doubt(array: Tracer, line: Location | None) -> TraceError:
    """The error for reading what was perhaps written to."""
    place = f", {array.doubt}" if isinstance(array.doubt, Location) else ""
    return TraceError(
        f"this array may be the same as one that was written to{place}: that depends on a branch "
        "or loop whose condition is only known when the program runs; take a .copy() where the two "
        "part",
        location=line,
    )


def would_change_callers(owner: str, spelling: str) -> str:
    return (
        f"{owner} is written to in place, which would change the caller's array; write {spelling}"
    )


def caller_may_see(owner: str, spelling: str) -> str:
    """Why an array is not written to."""
    return (
        f"this array is written to in place and may be {owner}, depending on a branch or loop "
        "whose condition is only known when the program runs: that would change the caller's "
        f"array; take a .copy() before, or write {spelling}"
    )


def no_way_back(spelling: str) -> str:
    """Why an array is not written to that may be a view which cannot be."""
    return (
        "this array is written to in place and may be a view of another one through which a trace "
        f"cannot write; take a .copy() before, or write {spelling}"
    )


def no_one_number(spelling: str) -> str:
    """Why an array of rank 0 is not written to; those are not followed, as nearly all are numbers,
    which do not change.
    """
    return (
        "this array of rank 0 is written to in place after a branch or loop whose condition is "
        "only known when the program runs gave it other names, or may have done; take a .copy() "
        f"before, or write {spelling}"
    )
