"""Text of traced values, which is made when the program runs: it can be printed and logged, and put
together to longer text. Nothing else can be done with it, as it is not known while tracing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NoReturn, TypeAlias

import numpy as np

from weft.compiler.ops import control
from weft.frontends.flow import raising
from weft.frontends.flow.lookups import holds_traced
from weft.frontends.tracing import core
from weft.frontends.tracing.showing import showing
from weft.frontends.tracing.trace import Tracer

Making: TypeAlias = Callable[..., str]
_CONVERSIONS: Final[dict[str, Callable[[Any], Any]]] = {"r": repr, "s": str, "a": ascii}


class TracedText:
    """A text that is made of values when the program runs: what `make` makes of them."""

    __slots__ = ("make", "values")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, make: Making, values: Sequence[Any]) -> None:
        self.make = make
        self.values = tuple(values)

    def __add__(self, other: Any) -> TracedText:
        return TracedText(lambda one, two: one + two, (self, other))

    def __radd__(self, other: Any) -> TracedText:
        return TracedText(lambda one, two: one + two, (other, self))

    def __repr__(self) -> str:
        return "<text of traced values>"

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self._refusal()

    def _refusal(self) -> Exception:
        return core.trace_error(
            "a text of traced values is only known when the program runs: it can be printed, "
            "logged and added to other text, nothing else"
        )

    def _refuse(self, *_: Any) -> Any:
        raise self._refusal()

    __str__ = __format__ = __bool__ = __len__ = __iter__ = __contains__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __getitem__ = __mul__ = _refuse


class _Hole:
    """Where the value of a traced array goes; `is_weak` if it is a Python number."""

    __slots__ = ("is_weak",)

    def __init__(self, is_weak: bool) -> None:
        self.is_weak = is_weak


class _Said:
    """An object that may change: what it said of itself."""

    __slots__ = ("_text", "_representation")

    def __init__(self, value: Any) -> None:
        self._text, self._representation = str(value), repr(value)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return self._representation


class _TypeName(str):
    """The type of a traced value in a message, however it is to be formatted."""

    def __format__(self, _: str) -> str:
        return str(self)


def is_text_of_traced(value: Any) -> bool:
    """Whether the text of a value is only known when the program runs."""
    if isinstance(value, dict):
        return any(map(is_text_of_traced, value.values()))
    if isinstance(value, list | tuple):
        return any(map(is_text_of_traced, value))
    return isinstance(value, TracedText) or holds_traced(value)


def joined(*parts: Any) -> Any:
    """What an f-string makes: strings, and tuples of a value, a conversion and a format."""
    if any(isinstance(part, tuple) and is_text_of_traced(part[2]) for part in parts):
        raise core.trace_error("a format in an f-string depends on traced values")
    said = [
        _formatted(*part) if isinstance(part, tuple) and not is_text_of_traced(part[0]) else part
        for part in parts
    ]
    later = [part for part in said if isinstance(part, tuple)]

    def make(*given: Any) -> str:
        following = iter(given)
        return "".join(
            [
                _formatted(next(following), *part[1:]) if isinstance(part, tuple) else part
                for part in said
            ]
        )

    return _text(make, *[part[0] for part in later])


def _formatted(value: Any, conversion: str, spec: str) -> str:
    return format(_CONVERSIONS[conversion](value) if conversion else value, spec)


def percent(template: Any, values: Any) -> Any:
    """`"..." % values`."""
    return _text(raising.percent, template, values)


def format_of(template: str, *args: Any, **kwargs: Any) -> Any:
    """`"...".format(...)`."""

    def make(given: Any, named: Any) -> str:
        return template.format(*given, **named)

    return _text(make, args, kwargs)


def text_of(plain: Any) -> Callable[..., Any]:
    """`str`, `repr`, `ascii` or `format`."""

    def run(*args: Any, **kwargs: Any) -> Any:
        return plain(*args, **kwargs) if kwargs or not args else _text(plain, *args)

    return run


def _text(make: Making, *values: Any) -> Any:
    if not is_text_of_traced(values):
        return make(*values)
    if showing.get() is not None:  # in the message of an exception
        return make(*[_mapped(value, described) for value in values])
    return TracedText(make, [_kept(value) for value in values])


def printed(*values: Any, **kwargs: Any) -> None:
    """`print(...)`; of traced values when the program runs."""
    call_later(print, values, kwargs)


def call_later(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Call a function for what it does, when the program runs if it gets traced values."""
    if not is_text_of_traced([*args, *kwargs.values()]):
        return function(*args, **kwargs)
    arrays: list[Tracer] = []
    given = _with_holes([_kept(arg) for arg in args], arrays)
    named = {name: _with_holes(value, arrays) for name, value in kwargs.items()}

    def run(*values: Any) -> None:
        following = iter(values)
        function(*_filled(given, following), **_filled(named, following))

    run.__name__ = getattr(function, "__name__", "print")
    control.host_call.emit(*[core.lift(array) for array in arrays], function=run)
    return None


def described(value: Any) -> Any:
    """For messages of exceptions: text with marks where the program raises them, and with types in
    place of traced values where they are raised while tracing.
    """
    if not isinstance(value, TracedText):
        return value
    if showing.get() is not None:
        return value.make(*[_mapped(part, described) for part in value.values])
    try:
        return value.make(*[_mapped(part, _described_leaf) for part in value.values])
    except (TypeError, ValueError):
        return repr(value)


def _described_leaf(leaf: Any) -> Any:
    return _TypeName(leaf.type) if isinstance(leaf, Tracer) else described(leaf)


def _kept(value: Any) -> Any:
    """A value as it is now, whatever is written to it later."""
    return _mapped(value, _kept_leaf)


def _kept_leaf(leaf: Any) -> Any:
    if isinstance(leaf, Tracer):
        return core.wrap(core.lift(leaf), weak=leaf.weak)
    if isinstance(leaf, np.ndarray):
        return leaf.copy()
    return leaf if isinstance(leaf, _KNOWN) else _Said(leaf)


_KNOWN: Final = (str, int, float, complex, type(None), np.generic, TracedText, _Said)


def _with_holes(value: Any, arrays: list[Tracer]) -> Any:
    """A value with holes in place of traced arrays, which are added to a list."""

    def leaf(part: Any) -> Any:
        if isinstance(part, TracedText):
            return TracedText(part.make, [_with_holes(each, arrays) for each in part.values])
        if not isinstance(part, Tracer):
            return part
        arrays.append(part)
        return _Hole(part.weak)

    return _mapped(value, leaf)


def _filled(value: Any, following: Iterator[Any]) -> Any:
    """A value with arrays in its holes, in turn."""

    def leaf(part: Any) -> Any:
        if isinstance(part, TracedText):
            return part.make(*[_filled(each, following) for each in part.values])
        if not isinstance(part, _Hole):
            return part
        array = np.asarray(next(following))
        if array.ndim:
            return array
        return array.item() if part.is_weak else array[()]

    return _mapped(value, leaf)


def _mapped(value: Any, leaf: Callable[[Any], Any]) -> Any:
    """A value with its leaves replaced, in lists, tuples and dicts."""
    if type(value) is dict:
        return {key: _mapped(part, leaf) for key, part in value.items()}
    if isinstance(value, list | tuple):
        parts = [_mapped(part, leaf) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return leaf(value)
