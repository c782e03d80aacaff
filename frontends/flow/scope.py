"""The variables of the user's function that a branch or loop may change, as places to read, set and
put back.

Branches and bodies are functions that share variables with the user's through cells; a variable
without a value is an empty cell, as in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CellType, FunctionType, ModuleType
from typing import Any, Final, NamedTuple, Protocol, TypeGuard


class Undefined:
    """The value of a variable that has none."""

    def __repr__(self) -> str:
        return "undefined"


UNDEFINED: Final = Undefined()
Part = Callable[..., Any]


class Names(NamedTuple):
    """What the text of a statement says about variables; `rewriter` makes it."""

    rebound: tuple[str, ...]
    changed: tuple[str, ...]
    live: tuple[str, ...]
    read: tuple[str, ...]
    attributes: tuple[str, ...]
    is_guard: bool
    has_loop: bool


class Place(Protocol):
    """A variable."""

    @property
    def name(self) -> str: ...

    def get(self) -> Any: ...

    def set(self, value: Any) -> None: ...


@dataclass(frozen=True, slots=True)
class CellPlace:
    """A variable of the user's function."""

    name: str
    cell: CellType

    def get(self) -> Any:
        try:
            return self.cell.cell_contents
        except ValueError:
            return UNDEFINED

    def set(self, value: Any) -> None:
        if value is not UNDEFINED:
            self.cell.cell_contents = value
        elif self.get() is not UNDEFINED:
            del self.cell.cell_contents


@dataclass(frozen=True, slots=True)
class GlobalPlace:
    """A global that the user's function declares to be one."""

    name: str
    names: dict[str, Any]

    def get(self) -> Any:
        return self.names.get(self.name, UNDEFINED)

    def set(self, value: Any) -> None:
        if value is UNDEFINED:
            self.names.pop(self.name, None)
        else:
            self.names[self.name] = value


@dataclass(frozen=True, slots=True)
class AttributePlace:
    """An attribute of an object that a variable holds."""

    name: str
    owner: Any
    attribute: str

    def get(self) -> Any:
        return getattr(self.owner, self.attribute, UNDEFINED)

    def set(self, value: Any) -> None:
        if value is not UNDEFINED:
            setattr(self.owner, self.attribute, value)
        elif hasattr(self.owner, self.attribute):
            delattr(self.owner, self.attribute)


class Scope:
    """The variables that the parts of one statement share."""

    def __init__(self, parts: Sequence[Part], names: Names) -> None:
        self.names = names
        self._cells: dict[str, CellType] = {}
        self._globals: dict[str, Any] = {}
        for part in parts:
            code = part.__code__
            self._globals = part.__globals__
            self._cells.update(zip(code.co_freevars, part.__closure__ or (), strict=True))

    def find(self, name: str) -> Place:
        """The place of a variable."""
        cell = self._cells.get(name)
        return GlobalPlace(name, self._globals) if cell is None else CellPlace(name, cell)

    def variables(self, names: Sequence[str]) -> list[Place]:
        """The variables of these names that the parts share with the function around them."""
        return [CellPlace(name, self._cells[name]) for name in names if name in self._cells]

    def assigned(self) -> list[Place]:
        """What the statement may bind: variables, globals, attributes of objects."""
        bound = dict.fromkeys([*self.names.rebound, *self.names.changed])
        found = [self.find(name) for name in bound]
        return found + [place for name in self.names.attributes for place in self._attribute(name)]

    def _attribute(self, name: str) -> list[Place]:
        variable, _, attribute = name.partition(".")
        owner = self.find(variable).get()
        is_object = owner is not UNDEFINED and hasattr(owner, "__dict__")
        return [AttributePlace(name, owner, attribute)] if is_object else []


class AttributeWrite(Exception):
    """Attributes of objects that a part has assigned, though its text does not show it."""

    def __init__(self, places: list[Place]) -> None:
        super().__init__()
        self.places = places


class Saved:
    """What variables, and the lists, dicts and objects among them, held when this was made."""

    def __init__(self, places: Sequence[Place], read: Sequence[Place]) -> None:
        self._values = [(place, place.get()) for place in places]
        held = [(place.name, place.get()) for place in read]
        self.containers = [
            (name, value, value.copy()) for name, value in held if type(value) in (list, dict, set)
        ]
        self._objects = [
            (name, value, dict(vars(value))) for name, value in held if _has_state(value)
        ]

    def restore(self) -> None:
        """Put everything back."""
        for place, value in self._values:
            place.set(value)
        for _, container, content in self.containers:
            refill(container, content)
        for _, owner, content in self._objects:
            refill(vars(owner), content)

    def require_known(self, known: Sequence[Place]) -> None:
        """Raise `AttributeWrite` if an attribute was assigned that is none of these places."""
        names = [(place.owner, place.attribute) for place in known if is_attribute(place)]
        found: list[Place] = []
        for name, owner, content in self._objects:
            for key in {**content, **vars(owner)}:
                is_known = any(owner is other and key == place for other, place in names)
                if content.get(key, UNDEFINED) is not vars(owner).get(key, UNDEFINED):
                    if not is_known:
                        found.append(AttributePlace(f"{name}.{key}", owner, key))
        if found:
            raise AttributeWrite(found)

    def altered(self) -> list[tuple[str, Any, Any]]:
        """Name, container and earlier content of those that were changed."""
        return [part for part in self.containers if not _same_items(part[1], part[2])]


def is_attribute(place: Place) -> TypeGuard[AttributePlace]:
    return isinstance(place, AttributePlace)


def _has_state(value: Any) -> bool:
    """Whether it is an object of a class that is no library's."""
    kind = type(value)
    is_plain = isinstance(value, type | ModuleType | FunctionType) or not hasattr(value, "__dict__")
    return not is_plain and not kind.__module__.startswith(("weft.", "numpy", "builtins"))


def refill(container: Any, content: Any) -> None:
    """Give a list, dict or set other content."""
    if _same_items(container, content):
        return
    container.clear()
    if isinstance(container, list):
        container.extend(content)
    else:
        container.update(content)


def _same_items(one: Any, other: Any) -> bool:
    if len(one) != len(other):
        return False
    if isinstance(one, set):
        return bool(one == other)
    pairs = zip(one, other, strict=True)
    if isinstance(one, dict):
        pairs = zip(one.items(), other.items(), strict=True)
        return all(a[0] == b[0] and a[1] is b[1] for a, b in pairs)
    return all(a is b for a, b in pairs)
