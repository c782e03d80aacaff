"""What a function does to its arguments, as data: which arrays it writes to, what lists and dicts
hold afterwards, and which of its results are arrays of the caller.

Calls of compiled functions come through here, so nothing in this file needs the tracer.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from weft.compiler.record import record
from weft.frontends.tracing import tree

KNOWN_CONTAINERS: Final = (dict, list, tuple, deque)
_MISSING: Final = object()


@record
class Given:
    """An array that the caller gave, by its number, or a view of it."""

    number: int
    views: tuple[Callable[[Any], Any], ...] = ()


@record
class Made:
    """A result of the program; `is_python` makes a Python number of it."""

    number: int
    is_python: bool = False


Part: TypeAlias = "Given | Made"


@record
class Written:
    """What a call does beside returning results.

    The array `arguments[k]` ends as the result `first + k` of the program. `output` are the leaves
    of what is returned, in `out_tree`; `after` those of the arguments, in `after_tree`, where lists
    and dicts of the caller were changed, else None.
    """

    arguments: tuple[int, ...]
    first: int
    output: tuple[Part, ...]
    out_tree: tree.TreeDef
    after: tuple[Part, ...] | None
    after_tree: tree.TreeDef

    @property
    def returns_none(self) -> bool:
        """As most functions that write to their arguments."""
        return not self.output and self.out_tree.type is type(None)

    @property
    def places(self) -> dict[int, int]:
        """For the results that are to be written back, the arguments."""
        return {self.first + number: argument for number, argument in enumerate(self.arguments)}

    @property
    def used(self) -> list[int]:
        """The arguments that have to be known in the end."""
        parts = (*self.output, *(self.after or ()))
        given = [part.number for part in parts if isinstance(part, Given)]
        return sorted({*self.arguments, *given})

    def finish(
        self,
        values: Mapping[int, Any] | Sequence[Any],
        containers: tuple[Sequence[Any], Mapping[str, Any]],
        results: Sequence[Any],
        store: Callable[[Any, Any], None],
    ) -> Any:
        """Do it, once a call has given results: `store` writes to an array. What the function
        returns is returned.
        """
        for number, argument in enumerate(self.arguments, self.first):
            store(values[argument], results[number])
        if self.after is not None:
            leaves = [_filled(part, values, results) for part in self.after]
            args, kwargs = tree.unflatten(self.after_tree, leaves)
            for old, new in zip(containers[0], args, strict=True):
                _kept(old, new)
            for name, new in kwargs.items():
                _kept(containers[1][name], new)
        if self.returns_none:
            return None
        return tree.unflatten(
            self.out_tree, [_filled(part, values, results) for part in self.output]
        )


def _filled(part: Part, values: Any, results: Sequence[Any]) -> Any:
    if isinstance(part, Given):
        value = values[part.number]
        for view in part.views:
            value = view(value)
        return value
    result = results[part.number]
    return result.item() if part.is_python and hasattr(result, "flags") else result


def _kept(old: Any, new: Any) -> Any:
    """The container `old` with the content of `new`, where both are of a kind; else `new`."""
    if type(old) is not type(new):
        return new
    if isinstance(old, dict):
        content = {key: _kept(old.get(key, _MISSING), value) for key, value in new.items()}
        if list(content) != list(old) or any(old[key] is not part for key, part in content.items()):
            dict.clear(old)
            dict.update(old, content)
        return old
    if isinstance(old, list | tuple | deque):
        longer = [*old, *[_MISSING] * len(new)]
        items = [_kept(one, two) for one, two in zip(longer, new, strict=False)]
        if len(items) == len(old) and all(map(_is, items, old)):
            return old
        return _refilled(old, items, new)
    if dataclasses.is_dataclass(old) and not isinstance(old, type):
        for field in dataclasses.fields(old):
            before = getattr(old, field.name, _MISSING)
            after = _kept(before, getattr(new, field.name, _MISSING))
            if after is not before and after is not _MISSING:
                setattr(old, field.name, after)
        return old
    return new


def _is(one: Any, other: Any) -> bool:
    return one is other


def _refilled(old: Any, items: list[Any], new: Any) -> Any:
    if isinstance(old, tuple):
        return new
    if isinstance(old, deque):
        old.clear()
        old.extend(items)
    else:
        old[:] = items
    return old
