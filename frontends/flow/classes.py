"""Classes inside of converted functions: instances are made by an `__init__` and a `__new__` that
are converted, and properties are computed by converted functions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType, MethodType, ModuleType
from typing import Any, Final

import numpy as np

from weft.frontends.tracing.trace import Tracer, find_trace

Convert = Callable[[Any], Any]

_AFTER_INIT: Final = "__post_init__"
_PLAIN: Final = (Tracer, ModuleType, np.ndarray, np.generic)


def maker(kind: Any, convert: Convert) -> Any:
    """What is called in place of a class: the class itself if there is nothing to convert."""
    if type(kind).__call__ != type.__call__:
        return kind
    new, init = kind.__new__, kind.__init__
    if convert(new) is new and convert(init) is init and _after_init(kind, convert) is None:
        return kind
    return functools.partial(_instance, kind, convert)


def _instance(kind: Any, convert: Convert, /, *args: Any, **kwargs: Any) -> Any:
    new = kind.__new__
    is_plain = new is object.__new__ and isinstance(kind.__init__, FunctionType)
    made = new(kind) if is_plain else convert(new)(kind, *args, **kwargs)
    if not isinstance(made, kind):
        return made
    own: Any = type(made)
    after = _after_init(own, convert)
    held = getattr(made, "__dict__", None) if after is not None else None
    if held is not None:  # an `__init__` that was made for a dataclass has no text, but calls this
        held[_AFTER_INIT] = MethodType(after, made)
    try:
        convert(own.__init__)(made, *args, **kwargs)
    finally:
        if held is not None:
            held.pop(_AFTER_INIT, None)
    return made


def _after_init(kind: Any, convert: Convert) -> Any:
    """What the `__init__` of a dataclass calls at its end, if it is converted."""
    after = getattr(kind, _AFTER_INIT, None)
    if not isinstance(after, FunctionType) or not hasattr(kind, "__dataclass_fields__"):
        return None
    made = convert(after)
    return None if made is after else made


def attributes(convert: Convert) -> Callable[[Any, str], Any]:
    """`owner.name`, for properties by converted functions."""

    def attribute(owner: Any, name: str) -> Any:
        if isinstance(owner, _PLAIN) or find_trace() is None:
            return getattr(owner, name)
        kind = type(owner)
        member = _member(kind, name)
        if type(member) is property:
            made = _converted(member.fget, kind, convert)
            return getattr(owner, name) if made is None else made(owner)
        if type(member) is functools.cached_property and name not in owner.__dict__:
            made = _converted(member.func, kind, convert)
            if made is not None:
                owner.__dict__[name] = made(owner)
        return getattr(owner, name)

    return attribute


def _member(kind: type, name: str) -> Any:
    for each in kind.__mro__:
        if name in each.__dict__:
            return each.__dict__[name]
    return None


def _converted(function: Any, kind: Any, convert: Convert) -> Any:
    """A getter, if it is converted and nothing else has a say in what attributes give."""
    if kind.__getattribute__ is not object.__getattribute__ or hasattr(kind, "__getattr__"):
        return None
    made = convert(function)
    return None if made is function else made
