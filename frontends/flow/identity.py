"""Which lists, dicts and NumPy arrays the variables of a branch or loop are afterwards.

Variables are taken apart and put together again. What all ways have left the same object stays that
object. Where it depends on values which one it is there is a new one, and as a trace does not see
who changes a list, a change of it or of what it may be is refused: `Tie` notices.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from weft.compiler.ir.errors import TraceError
from weft.compiler.ir.location import Location
from weft.frontends.flow import objects, state
from weft.frontends.tracing.conversion import conversion
from weft.frontends.tracing.trace import Tracer, user_line


def objects_in(value: Any, is_apart: bool = False) -> list[Any]:
    """The mutable nodes and NumPy arrays of a pytree in a fixed order, None for all else; with
    `is_apart` objects are nodes, too.
    """
    if isinstance(value, Tracer | int | float):
        return [None]
    found: list[Any] = []
    stack = [value]
    while stack:
        part = stack.pop()
        if not objects.is_node(part, is_apart):
            is_array = isinstance(part, np.ndarray) and part.ndim > 0
            found.append(part if is_array else None)
            continue
        found.append(part if _is_mutable(part) else None)
        stack += reversed(objects.level(part, is_apart)[0])
    return found


def with_objects(
    value: Any, kept: Sequence[Any], ways: Sequence[Sequence[Any]], is_apart: bool = False
) -> Any:
    """The pytree with objects from before in place of new ones, where these are given; the others
    may be those that the ways have left.
    """
    if any(one is not None for one in kept):
        value = _with_objects(value, iter(kept), is_apart)
    if any(one is not None for way in ways for one in way):
        _tie(value, kept, ways, is_apart)
    return value


def tie_arrays(value: Any, before: Sequence[Any]) -> None:
    """Remember that traced arrays stand for arrays of NumPy."""
    arrays = [one if isinstance(one, np.ndarray) else None for one in before]
    if any(one is not None for one in arrays):
        _tie(value, [None] * len(arrays), [arrays])


def same_objects(ways: Sequence[Sequence[Any]]) -> list[Any]:
    """The objects that are the same on all ways."""
    return [
        column[0] if all(one is column[0] for one in column) else None
        for column in zip(*ways, strict=True)
    ]


@dataclasses.dataclass(eq=False)
class Tie:
    """A new object that is another one, depending on values."""

    original: Any
    made: Any
    line: Location | None

    def __post_init__(self) -> None:
        self._before = _content(self.original)
        self._after = _content(self.made)

    @property
    def is_named(self) -> bool:
        """Whether somebody else holds the original."""
        return sys.getrefcount(self.original) > _UNNAMED

    def require_unchanged(self) -> None:
        changed = not _is_same(self.original, self._before)
        if not changed and _is_same(self.made, self._after):
            return
        kind = type(self.original).__name__
        raise TraceError(
            f"a {kind} is changed that may be the same as another one: that depends on a branch or "
            "loop whose condition is only known when the program runs; make a copy where the two "
            "part",
            location=self.line,
        )


class Contents:
    """What objects hold at one time, None for those that are none."""

    def __init__(self, objects: Sequence[Any]) -> None:
        self._objects = objects
        self._contents = [None if one is None else _content(one) for one in objects]

    def is_changed(self, number: int) -> bool:
        """Whether one of them holds something else now."""
        one = self._objects[number]
        return one is not None and not _is_same(one, self._contents[number])


@contextmanager
def forgetting_ties() -> Iterator[None]:
    """What is tied together inside does not count if it fails."""
    around = conversion.get()
    count = 0 if around is None else len(around.ties)
    try:
        yield
    except BaseException:
        if around is not None:
            del around.ties[count:]
        raise


@contextmanager
def checked_ties() -> Iterator[None]:
    """What is tied together inside is not changed until the end of it."""
    around = conversion.get()
    count = 0 if around is None else len(around.ties)
    with forgetting_ties():
        yield
    for one in [] if around is None else around.ties[count:]:
        one.require_unchanged()


def drop_ties() -> None:
    """Forget those whose originals nobody else holds, when a statement is over."""
    around = conversion.get()
    while around is not None:
        kept = [one for one in around.ties if one.is_named]
        if len(kept) == len(around.ties):
            return
        around.ties[:] = kept


def _unnamed() -> int:
    one = Tie.__new__(Tie)
    one.original = object()
    return sys.getrefcount(one.original)


_UNNAMED: Final = _unnamed()


def _tie(
    made: Any, kept: Sequence[Any], ways: Sequence[Sequence[Any]], is_apart: bool = False
) -> None:
    """Remember that new objects may be one of those of the ways."""
    around, targets, line = conversion.get(), _targets(made, is_apart), user_line()
    if around is None:
        return
    for way in ways:
        for original, same, target in zip(way, kept, targets, strict=True):
            if same is None and original is not None and original is not target:
                around.ties.append(Tie(original, target, line))


def _with_objects(value: Any, kept: Iterator[Any], is_apart: bool) -> Any:
    original = next(kept)
    if not objects.is_node(value, is_apart):
        return value if original is None else original
    children, put_together = objects.level(value, is_apart)
    new = [_with_objects(child, kept, is_apart) for child in children]
    if any(a is not b for a, b in zip(new, children, strict=True)):
        value = put_together(new)
    if original is None:
        return value
    if state.is_tree(original):
        state.refill(original, value)
    elif dataclasses.is_dataclass(original):
        for one in dataclasses.fields(original):
            object.__setattr__(original, one.name, getattr(value, one.name))
    else:
        state.set_attributes(original, state.attributes_of(value) or {})
    return original


def _targets(value: Any, is_apart: bool) -> list[Any]:
    """As `objects_in`, with all leaves."""
    found: list[Any] = []
    stack = [value]
    while stack:
        part = stack.pop()
        found.append(part)
        if objects.is_node(part, is_apart):
            stack += reversed(objects.level(part, is_apart)[0])
    return found


def _is_mutable(part: Any) -> bool:
    if state.is_tree(part):
        return True
    if dataclasses.is_dataclass(part) and not isinstance(part, type):
        parameters: Any = getattr(type(part), "__dataclass_params__")  # noqa: B009
        return not parameters.frozen
    return objects.is_object(part)


def _content(part: Any) -> Any:
    if isinstance(part, np.ndarray):
        return part.copy()
    if isinstance(part, Tracer):
        return part.memory.peek()
    kind = state.kind_of(part)
    if kind is not None:
        return kind.content(part)
    if dataclasses.is_dataclass(part):
        return {one.name: getattr(part, one.name) for one in dataclasses.fields(part)}
    return state.attributes_of(part) or {}


def _is_same(part: Any, content: Any) -> bool:
    now = _content(part)
    if isinstance(part, np.ndarray):
        return bool(now.tobytes() == content.tobytes())
    if isinstance(part, Tracer):
        return now is content
    kind = state.kind_of(part)
    if kind is not None:
        return kind.is_same(now, content)
    return now.keys() == content.keys() and all(now[name] is content[name] for name in content)
