"""Exceptions that programs raise, as data: the class, and what it holds, in which values of the run
have their places.

`ExceptionForm.fill` makes the exception of a run. It is raised with a frame of the user's function
at the user's line, as Python would have.
"""

from __future__ import annotations

import builtins
import importlib
import json
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, Final, NoReturn

import numpy as np

from weft.compiler.ir.location import Location
from weft.compiler.record import record

Array = np.ndarray[Any, Any]
_PLAIN: Final = (str, int, float, bool, type(None))


@record
class Place:
    """Where a value of the run stands in what an exception holds; `is_python` makes a Python number
    of it.
    """

    number: int
    is_python: bool

    def fill(self, values: Sequence[Array]) -> Any:
        """The value, as the user's function would have had it."""
        value = values[self.number]
        return value.item() if self.is_python else value[()] if value.ndim == 0 else value


@record
class Shown:
    """A value of the run inside of a text: formatted by a `style` of str.format, or of `%`."""

    place: Place
    style: str

    def fill(self, values: Sequence[Array]) -> str:
        value = self.place.fill(values)
        if self.style.startswith("%"):
            return self.style % (value,)
        return ("{0" + self.style + "}").format(value)


@record
class Text:
    """A text with values of the run in it."""

    parts: tuple[Any, ...]

    def fill(self, values: Sequence[Array]) -> str:
        return "".join(
            [part if isinstance(part, str) else part.fill(values) for part in self.parts]
        )


def filled(form: Any, values: Sequence[Array]) -> Any:
    """What a form stands for in a run: a copy with the values in their places."""
    if isinstance(form, Place | Text):
        return form.fill(values)
    if type(form) in (list, tuple):
        return type(form)([filled(part, values) for part in form])
    if type(form) is dict:
        return {key: filled(part, values) for key, part in form.items()}
    return form


@record
class ExceptionForm:
    """An exception before its run: its class, its arguments, its attributes and its cause."""

    kind: type[BaseException]
    arguments: tuple[Any, ...]
    attributes: dict[str, Any]
    cause: Any = None  # another form, an exception, or False for `from None`

    def __call__(self, values: Sequence[Array]) -> BaseException:
        """The exception with the values of a run."""
        made = self._new(filled(self.arguments, values))
        made.__dict__.update(filled(self.attributes, values))
        if self.cause is False:
            made.__suppress_context__ = True
        elif self.cause is not None:
            is_form = isinstance(self.cause, ExceptionForm)
            made.__cause__ = self.cause(values) if is_form else self.cause
        return made

    def _new(self, arguments: tuple[Any, ...]) -> BaseException:
        """An exception of these arguments, without asking the user's `__init__` again, which may
        take others.
        """
        if isinstance(self.kind.__init__, FunctionType):
            return self.kind.__new__(self.kind, *arguments)
        return self.kind(*arguments)

    def text(self) -> str | None:
        """The form as text, if it has only what text can hold."""
        if self.cause not in (None, False) or named_class(class_name(self.kind)) is not self.kind:
            return None
        try:
            parts = [_data(self.arguments), _data(self.attributes), self.cause is False]
        except TypeError:
            return None
        return json.dumps(parts)


def class_name(kind: type) -> str:
    """By what a class can be found again."""
    plain = kind.__module__ == "builtins"
    return kind.__qualname__ if plain else f"{kind.__module__}:{kind.__qualname__}"


def named_class(name: str) -> Any:
    """The class of a name; None if there is none."""
    module, _, path = name.rpartition(":")
    try:
        found: Any = importlib.import_module(module) if module else builtins
        for part in path.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError):
        return None
    return found


def form_of(name: str, text: str) -> Callable[[Sequence[Array]], BaseException]:
    """The form of a class's name and a text; raises ValueError if there is no such class."""
    kind = named_class(name)
    if not isinstance(kind, type) or not issubclass(kind, BaseException):
        raise ValueError(f"there is no exception {name}")
    arguments, attributes, is_alone = json.loads(text)
    return ExceptionForm(kind, _form(arguments), _form(attributes), False if is_alone else None)


def _data(form: Any) -> Any:
    """A form as JSON: lists say what they are by their first item. TypeError if it cannot be."""
    if isinstance(form, Place):
        return ["value", form.number, form.is_python]
    if isinstance(form, Shown):
        return ["shown", _data(form.place), form.style]
    if isinstance(form, Text):
        return ["text", *map(_data, form.parts)]
    if type(form) in (list, tuple):
        return [type(form).__name__, *map(_data, form)]
    if type(form) is dict and all(type(key) is str for key in form):
        return {key: _data(part) for key, part in form.items()}
    if type(form) in _PLAIN:
        return form
    raise TypeError(f"{type(form)} has no text")


def _form(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _form(part) for key, part in data.items()}
    if not isinstance(data, list):
        return data
    kind, *parts = data
    if kind == "value":
        return Place(*parts)
    if kind == "shown":
        return Shown(_form(parts[0]), parts[1])
    items = [_form(part) for part in parts]
    return Text(tuple(items)) if kind == "text" else tuple(items) if kind == "tuple" else items


# --- the user's line ------------------------------------------------------------------------------


class Raised(Exception):
    """What the evaluator carries an exception of the program in, up to the op's place."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error


def raise_at(error: BaseException, location: Location | None, function: str) -> NoReturn:
    """Raise with a frame of the user's function at the user's line, as tracebacks show it."""
    if location is None:
        raise error
    made = _raise.__code__.replace(
        co_filename=location.file,
        co_name=function,
        co_qualname=function,
        co_firstlineno=location.line - 1,
    )
    FunctionType(made, {"__name__": function})(error)
    raise AssertionError("the frame raises")


def _raise(error: BaseException) -> NoReturn:
    raise error
