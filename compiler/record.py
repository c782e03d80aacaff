"""Records: immutable values with named fields, as frozen dataclasses are, but quick to define.

A frozen dataclass compiles six functions when its module is loaded; Weft has so many of them that
this was a tenth of the time to a first result. A record compiles its `__init__` alone, which then
is three times as fast too, since nothing stops it from writing. That nobody else writes is checked
by mypy, not at run time; classes that users get to see are dataclasses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[T]) -> type[T]:
    """A class with slots for its fields, compared and hashed by their values.

    >>> @record
    ... class Point:
    ...     x: int
    ...     y: int = 0
    >>> Point(1), Point(1) == Point(1, 0), len({Point(1), Point(1, 2), Point(1, 2)})
    (Point(x=1, y=0), True, 2)
    """
    result: Any = dataclass(slots=True, eq=False, repr=False)(cls)
    names = tuple(result.__dataclass_fields__)
    values: Callable[[T], Any] = attrgetter(*names) if names else lambda _: ()

    def __eq__(self: T, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return bool(values(self) == values(other))

    def __hash__(self: T) -> int:
        return hash(values(self))

    for method in (__eq__, __hash__, _show):
        name = "__repr__" if method is _show else method.__name__
        if name not in cls.__dict__ or cls.__dict__[name] is None:
            setattr(result, name, method)
    return result  # type: ignore[no-any-return]


def _show(self: Any) -> str:
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__dataclass_fields__)
    return f"{type(self).__qualname__}({shown})"
