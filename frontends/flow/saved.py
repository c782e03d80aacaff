"""What a branch or loop body might change beside the variables that its text names: lists, dicts,
attributes of objects and variables of other functions that it can reach.

A part is traced as often as it takes, so everything is put back after each time; changes that were
found become results of the part, or are refused.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any, Final

import numpy as np

from weft.compiler.ir.errors import TraceError
from weft.frontends.flow.scope import UNDEFINED, AttributeSlot, CellSlot, Slot
from weft.frontends.tracing.trace import Tracer, user_line

MOST_LOOKED_AT: Final = 2000  # values
_LIBRARIES: Final = ("weft.", "numpy", "builtins", "functools")


class HiddenWrite(Exception):
    """Attributes and variables that a part has assigned, though its text does not show it."""

    def __init__(self, slots: list[Slot]) -> None:
        super().__init__()
        self.slots = slots


class Saved:
    """What variables held when this was made, and all that can be reached from them."""

    def __init__(self, assigned: Sequence[Slot], read: Sequence[Slot]) -> None:
        self._values = [(slot, slot.get()) for slot in assigned]
        self.containers: list[tuple[str, Any, Any]] = []
        self._arrays: list[np.ndarray[Any, Any]] = []
        self._objects: list[tuple[str, Any, dict[str, Any]]] = []
        self._cells: list[tuple[CellSlot, Any]] = []
        self._look_at([(slot.name, slot.get()) for slot in read])

    def _look_at(self, values: list[tuple[str, Any]]) -> None:
        seen: set[int] = set()
        queue = list(values)
        while queue and len(seen) < MOST_LOOKED_AT:
            name, value = queue.pop(0)
            if id(value) in seen or isinstance(value, Tracer | str | int | float | type(None)):
                continue
            seen.add(id(value))
            if type(value) in (list, dict, set):
                self.containers.append((name, value, value.copy()))
            elif isinstance(value, np.ndarray) and value.flags.writeable:
                self._arrays.append(value)
            elif isinstance(value, FunctionType):
                cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
                slots = [CellSlot(variable, cell) for variable, cell in cells]
                self._cells += [(slot, slot.get()) for slot in slots]
                queue += [(slot.name, slot.get()) for slot in slots]
                continue
            elif has_state(value):
                self._objects.append((name, value, dict(vars(value))))
            queue += _parts(name, value)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """NumPy's arrays of outside are not written to meanwhile."""
        for array in self._arrays:
            array.flags.writeable = False
        try:
            yield
        except ValueError as error:
            if "read-only" not in str(error):
                raise
            raise TraceError(
                "a NumPy array from before is written to inside of a branch or loop of the "
                "program, where its name is not seen; make it with weft.numpy.zeros or "
                "weft.numpy.array",
                location=user_line(),
            ) from error
        finally:
            for array in self._arrays:
                array.flags.writeable = True

    def restore(self) -> None:
        """Put everything back."""
        for slot, value in (*self._values, *self._cells):
            slot.set(value)
        for _, container, content in self.containers:
            refill(container, content)
        for _, owner, content in self._objects:
            refill(vars(owner), content)

    def require_known(self, known: Sequence[Slot]) -> None:
        """Raise `HiddenWrite` if something else was assigned than these places."""
        known = [*known, *[slot for slot, _ in self._values]]
        cells: list[CellType] = [slot.cell for slot in known if isinstance(slot, CellSlot)]
        found: list[Slot] = []
        for slot, value in self._cells:
            if slot.get() is not value and not any(slot.cell is cell for cell in cells):
                found.append(slot)
                cells.append(slot.cell)
        for name, owner, content in self._objects:
            for key in {**content, **vars(owner)}:
                is_same = content.get(key, UNDEFINED) is vars(owner).get(key, UNDEFINED)
                if not is_same and not _is_known(owner, key, known):
                    found.append(AttributeSlot(f"{name}.{key}", owner, key))
        if found:
            raise HiddenWrite(found)

    def altered(self) -> list[tuple[str, Any, Any]]:
        """Name, container and earlier content of those that were changed."""
        return [part for part in self.containers if not _same_items(part[1], part[2])]


def _is_known(owner: Any, attribute: str, known: Sequence[Slot]) -> bool:
    return any(
        isinstance(slot, AttributeSlot) and slot.owner is owner and slot.attribute == attribute
        for slot in known
    )


def has_state(value: Any) -> bool:
    """Whether it is an object of a class that is no library's."""
    is_plain = isinstance(value, type | ModuleType | FunctionType) or not hasattr(value, "__dict__")
    return not is_plain and not type(value).__module__.startswith(_LIBRARIES)


def _parts(name: str, value: Any) -> list[tuple[str, Any]]:
    """What a value holds that can be changed."""
    if isinstance(value, list | tuple | set):
        return [(f"{name}[{number}]", part) for number, part in enumerate(value)]
    if isinstance(value, dict):
        return [(f"{name}[{key!r}]", part) for key, part in value.items()]
    if isinstance(value, MethodType):
        return [(name, value.__func__), (name, value.__self__)]
    if isinstance(value, functools.partial):
        return [(name, value.func), *_parts(name, value.args), *_parts(name, value.keywords)]
    if has_state(value):
        return [(f"{name}.{key}", part) for key, part in vars(value).items()]
    return []


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
