"""The variables of the user's function that a branch or loop may change, as places to read, set and
put back.

Branches and bodies are functions that share variables with the user's through cells; a variable
without a value is an empty cell, as in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import CellType
from typing import Any, Final, NamedTuple, Protocol

from weft.compiler.record import record


class Undefined:
    """The value of a variable that has none."""

    def __repr__(self) -> str:
        return "undefined"


UNDEFINED: Final = Undefined()
Part = Callable[..., Any]


class ScopeNames(NamedTuple):
    """What the text of a statement says about variables, and how long it is in nodes of its syntax
    tree; `rewriter` makes it.
    """

    rebound: tuple[str, ...]
    changed: tuple[str, ...]
    live: tuple[str, ...]
    read: tuple[str, ...]
    attributes: tuple[str, ...]
    is_guard: bool
    has_loop: bool
    size: int


class Slot(Protocol):
    """A variable."""

    @property
    def name(self) -> str: ...

    def get(self) -> Any: ...

    def set(self, value: Any) -> None: ...


@record
class CellSlot:
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


@record
class GlobalSlot:
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


@record
class AttributeSlot:
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


class StatementScope:
    """The variables that the parts of one statement share."""

    def __init__(self, parts: Sequence[Part], names: ScopeNames) -> None:
        self.names = names
        self.parts = parts
        self._cells: dict[str, CellType] = {}
        self._globals: dict[str, Any] = {}
        for part in parts:
            code = part.__code__
            self._globals = part.__globals__
            self._cells.update(zip(code.co_freevars, part.__closure__ or (), strict=True))

    def find(self, name: str) -> Slot:
        """The place of a variable."""
        cell = self._cells.get(name)
        return GlobalSlot(name, self._globals) if cell is None else CellSlot(name, cell)

    def variables(self, names: Sequence[str]) -> list[Slot]:
        """The variables of these names that the parts share with the function around them."""
        return [CellSlot(name, self._cells[name]) for name in names if name in self._cells]

    def assigned(self) -> list[Slot]:
        """What the statement may bind: variables, globals, attributes of objects."""
        bound = dict.fromkeys([*self.names.rebound, *self.names.changed])
        found = [self.find(name) for name in bound]
        return found + [slot for name in self.names.attributes for slot in self._attribute(name)]

    def _attribute(self, name: str) -> list[Slot]:
        variable, _, attribute = name.partition(".")
        owner = self.find(variable).get()
        is_object = owner is not UNDEFINED and hasattr(owner, "__dict__")
        return [AttributeSlot(name, owner, attribute)] if is_object else []
