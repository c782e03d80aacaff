"""What a branch or loop body might change beside the variables that its text names: lists, dicts,
attributes of objects and variables of other functions that it can reach.

A part is traced as often as it takes, so everything is put back after each time; changes that were
found become results of the part, or are refused.
"""

from __future__ import annotations

import functools
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import CodeType, FunctionType, MethodType
from typing import Any, Final

import numpy as np

from weft.compiler.ir.errors import TraceError
from weft.frontends.flow import state
from weft.frontends.flow.left import is_users
from weft.frontends.flow.scope import UNDEFINED, AttributeSlot, CellSlot, GlobalSlot, Part, Slot
from weft.frontends.tracing import core
from weft.frontends.tracing.conversion import conversion
from weft.frontends.tracing.trace import Tracer, user_line

MOST_LOOKED_AT: Final = 20_000  # values
TAKEN: Final = (
    "{} is an iterator from before this branch or loop, which takes from it: how often is only "
    "known when the program runs; make a list of it before, or an array"
)


class HiddenWrite(Exception):
    """Attributes and variables that a part has assigned, though its text does not show it."""

    def __init__(self, slots: list[Slot]) -> None:
        super().__init__()
        self.slots = slots


def is_refused_write(error: BaseException) -> bool:
    """Whether an array was written to while it is kept as it is."""
    return isinstance(error, ValueError) and "read-only" in str(error)


class Saved:
    """What variables held when this was made, and all that parts can reach: from them, and from the
    globals that their text and that of functions which they reach names.
    """

    def __init__(
        self, assigned: Sequence[Slot], read: Sequence[Slot], parts: Sequence[Part]
    ) -> None:
        self._values = [(slot, slot.get()) for slot in assigned]
        self.containers: list[tuple[str, Any, Any]] = []
        self._arrays: list[np.ndarray[Any, Any]] = []
        self._objects: list[tuple[str, Any, dict[str, Any]]] = []
        self._places: list[tuple[CellSlot | GlobalSlot, Any]] = []
        self._iterators: list[tuple[str, Any, list[Any]]] = []
        found = [(slot.name, slot.get()) for slot in read]
        self._look_at(found + [pair for part in parts for pair in self._globals(part)])

    def _look_at(self, values: list[tuple[str, Any]]) -> None:
        seen: set[int] = set()
        queue = deque(values)
        while queue:
            name, value = queue.popleft()
            if isinstance(value, Tracer) or id(value) in seen or state.is_immutable(value):
                continue
            seen.add(id(value))
            if len(seen) > MOST_LOOKED_AT:
                raise core.trace_error(
                    f"this statement can reach more than {MOST_LOOKED_AT:,} Python objects through "
                    f"its variables ({name}), too many to see which of them it changes; use arrays"
                )
            queue += self._note(name, value)

    def _note(self, name: str, value: Any) -> list[tuple[str, Any]]:
        """Take note of a value; what can be reached from it is returned."""
        kind = state.kind_of(value)
        if kind is not None:
            self.containers.append((name, value, kind.content(value)))
        elif isinstance(value, np.ndarray):
            if value.flags.writeable:
                self._arrays.append(value)
        elif state.is_consumed(value):
            self._iterators.append((name, value, state.position(value)))
        attributes = state.attributes_of(value)
        if attributes is not None:
            self._objects.append((name, value, attributes))
        further = [(f"{name}.{key}", part) for key, part in (attributes or {}).items()]
        if isinstance(value, FunctionType):
            return further + self._of_function(name, value)
        return further + parts_of(name, value)

    def _of_function(self, name: str, function: FunctionType) -> list[tuple[str, Any]]:
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        slots = [CellSlot(variable, cell) for variable, cell in cells]
        self._places += [(slot, slot.get()) for slot in slots]
        found = [(slot.name, slot.get()) for slot in slots]
        found += [(f"a default of {name}", part) for part in function.__defaults__ or ()]
        found += [(f"a default of {name}", p) for p in (function.__kwdefaults__ or {}).values()]
        return found + self._globals(function)

    def _globals(self, function: FunctionType | Part) -> list[tuple[str, Any]]:
        """The globals that a function of the user's names."""
        names = function.__globals__
        slots = [GlobalSlot(name, names) for name in _named(function.__code__) if name in names]
        self._places += [(slot, slot.get()) for slot in slots]
        return [(slot.name, slot.get()) for slot in slots]

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """NumPy's arrays of outside are not written to meanwhile."""
        for array in self._arrays:
            array.flags.writeable = False
        kept = [id(iterator) for _, iterator, _ in self._iterators]
        around = conversion.get()
        if around is not None:
            around.kept.append(frozenset(kept))
        try:
            yield
            self._require_iterators()
        except ValueError as error:
            if not is_refused_write(error):
                raise
            raise TraceError(
                "a NumPy array from before is written to inside of a branch or loop of the "
                "program, where its name is not seen; make it with weft.numpy.zeros or "
                "weft.numpy.array",
                location=user_line(),
            ) from error
        finally:
            if around is not None:
                around.kept.pop()
            for array in self._arrays:
                array.flags.writeable = True

    def _require_iterators(self) -> None:
        for name, iterator, before in self._iterators:
            if not state.is_same_position(before, state.position(iterator)):
                raise Consumed(name)

    def restore(self) -> None:
        """Put everything back."""
        for slot, value in (*self._values, *self._places):
            if slot.get() is not value:
                slot.set(value)
        for _, container, content in self.containers:
            kind = state.kind_of(container)
            assert kind is not None
            if not kind.is_same(kind.content(container), content):
                kind.restore(container, content)
        for _, owner, content in self._objects:
            state.set_attributes(owner, content)

    def require_known(self, known: Sequence[Slot]) -> None:
        """Raise `HiddenWrite` if something else was assigned than these places."""
        known = [*known, *[slot for slot, _ in self._values]]
        found: list[Slot] = []
        for slot, value in self._places:
            if slot.get() is not value and not _is_among(slot, [*known, *found]):
                found.append(slot)
        for name, owner, content in self._objects:
            now = state.attributes_of(owner) or {}
            for key in {**content, **now}:
                is_same = content.get(key, UNDEFINED) is now.get(key, UNDEFINED)
                if not is_same and not _is_known(owner, key, known):
                    found.append(AttributeSlot(f"{name}.{key}", owner, key))
        if found:
            raise HiddenWrite(found)

    def holds(self, value: Any) -> bool:
        """Whether a list, dict, object or array is one that the parts can reach."""
        arrays = any(value is one for one in self._arrays)
        return arrays or any(value is one for _, one, _ in (*self.containers, *self._objects))

    def is_changed(self, value: Any) -> bool:
        """Whether one of them was changed."""
        if any(value is one for _, one, _ in self.altered()):
            return True
        contents = [content for _, one, content in self._objects if value is one]
        now = state.attributes_of(value) or {}
        return any(
            content.get(key, UNDEFINED) is not now.get(key, UNDEFINED)
            for content in contents
            for key in {**content, **now}
        )

    def require_unchanged(self, but: Sequence[Slot] = ()) -> None:
        """Raise if anything else was changed."""
        try:
            self.require_known(but)
            found = [name for name, _, _ in self.altered()]
        except HiddenWrite as error:
            found = [slot.name for slot in error.slots]
        if found:
            raise core.trace_error(
                f"{found[0]} is changed by a part of an expression that only runs where a "
                "condition holds, which is only known when the program runs; write an `if` "
                "statement"
            )

    def altered(self) -> list[tuple[str, Any, Any]]:
        """Name, container and earlier content of those that were changed."""
        return [part for part in self.containers if _is_changed(part[1], part[2])]


@contextmanager
def unchanged(parts: Sequence[Part]) -> Iterator[None]:
    """What parts of an expression can reach is not changed by them."""
    written = [part for part in parts if isinstance(part, FunctionType)]
    cells = [
        CellSlot(name, cell)
        for part in written
        for name, cell in zip(part.__code__.co_freevars, part.__closure__ or (), strict=True)
    ]
    saved = Saved((), cells, written)
    try:
        with saved.frozen():
            yield
        saved.require_unchanged()
    finally:
        saved.restore()


def require_free(iterator: Any) -> None:
    """Raise if something would be taken from an iterator from before a branch or loop."""
    around = conversion.get()
    if around is not None and any(id(iterator) in kept for kept in around.kept):
        raise core.trace_error(TAKEN.format("this"))


def require_no_draw(function: Any) -> None:
    """Raise if the one generator of random numbers that all share is asked in a branch or loop."""
    around, owner = conversion.get(), getattr(function, "__self__", None)
    if around is None or not around.kept or owner is None:
        return
    if owner is _shared("random", "_inst") or owner is _shared("numpy.random.mtrand", "_rand"):
        raise core.trace_error(
            "a random number is drawn inside of a branch or loop of the program, once for all "
            "steps; draw before it, or use weft.random with a key"
        )


def _shared(module: str, name: str) -> Any:
    return getattr(sys.modules.get(module), name, UNDEFINED)


class Consumed(TraceError):
    """An iterator from outside was advanced by a branch or loop body, which cannot be undone."""

    def __init__(self, name: str) -> None:
        super().__init__(
            TAKEN.format(name),
            location=user_line(),
        )


def _is_changed(container: Any, content: Any) -> bool:
    kind = state.kind_of(container)
    return kind is not None and not kind.is_same(kind.content(container), content)


def _is_among(slot: CellSlot | GlobalSlot, known: Sequence[Slot]) -> bool:
    if isinstance(slot, CellSlot):
        return any(isinstance(one, CellSlot) and one.cell is slot.cell for one in known)
    return any(
        isinstance(one, GlobalSlot) and one.names is slot.names and one.name == slot.name
        for one in known
    )


def _is_known(owner: Any, attribute: str, known: Sequence[Slot]) -> bool:
    return any(
        isinstance(slot, AttributeSlot) and slot.owner is owner and slot.attribute == attribute
        for slot in known
    )


@functools.lru_cache(maxsize=1024)
def _named(code: CodeType) -> tuple[str, ...]:
    """The names that a function of the user's and those inside of it look up, globals among them;
    attributes of the same names do no harm.
    """
    if not is_users(code):
        return ()
    inner = [name for part in code.co_consts if isinstance(part, CodeType) for name in _named(part)]
    return tuple(dict.fromkeys([*code.co_names, *inner]))


def parts_of(name: str, value: Any) -> list[tuple[str, Any]]:
    """What a value holds that can be changed."""
    if isinstance(value, list | tuple | set | deque):
        return [(f"{name}[{number}]", part) for number, part in enumerate(value)]
    if isinstance(value, dict):
        return [(f"{name}[{key!r}]", part) for key, part in value.items()]
    if isinstance(value, MethodType):
        return [(name, value.__func__), (name, value.__self__)]
    if isinstance(value, functools.partial):
        return [(name, value.func), *parts_of(name, value.args), *parts_of(name, value.keywords)]
    if isinstance(value, memoryview):
        return [(name, value.obj)]
    return []
