"""Python's whole numbers whose values a trace needs: for a shape, a number of rows, a text.

They are traced like other arguments at first, so that one program serves all values. Where that is
refused, the trace is made once more with their values: all of them, and then as few as possible.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from weft.frontends.tracing.conversion import is_refusal

T = TypeVar("T")


def numbers_among(values: Sequence[Any]) -> list[int]:
    """Which values are ints and bools of Python."""
    return [number for number, value in enumerate(values) if type(value) in (int, bool)]


def with_values(values: Sequence[Any], trace: Callable[[frozenset[int]], T]) -> T:
    """What `trace` makes, which is told whose values are to be known: of none, or of those whole
    numbers among the values without which it is refused.
    """
    try:
        return trace(frozenset())
    except Exception as error:
        found = fewest(numbers_among(values), trace) if is_refusal(error) else None
        if found is None:
            raise
    return found[1]


def fewest(
    candidates: Sequence[int], trace: Callable[[frozenset[int]], T]
) -> tuple[frozenset[int], T] | None:
    """A smallest set of candidates with whose values something can be traced, and what that gives;
    None if it cannot with all of them.
    """
    best = _attempt(frozenset(candidates), trace) if candidates else None
    for candidate in candidates:
        if best is not None and len(best[0]) > 1:
            best = _attempt(best[0] - {candidate}, trace) or best
    return best


def _attempt(
    known: frozenset[int], trace: Callable[[frozenset[int]], T]
) -> tuple[frozenset[int], T] | None:
    try:
        return known, trace(known)
    except Exception:
        return None
