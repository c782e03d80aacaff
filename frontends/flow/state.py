"""What can change about a Python value, by kinds: how it is noted, compared and put back.

Branches and loop bodies are traced as often as it takes, so what they change has to be known. Kinds
that cannot be put back, such as iterators, must not be changed by them.
"""

from __future__ import annotations

import collections
import functools
import pickle
import sys
import types
import warnings
from array import array
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np

from weft.frontends.flow.scope import UNDEFINED
from weft.frontends.flow.visiting import NDIter

_LIBRARIES: Final = ("weft", "numpy", "builtins", "functools")
_IMMUTABLE: Final = (
    str,
    bytes,
    int,
    float,
    complex,
    type(None),
    slice,
    range,
    np.dtype,
    np.generic,
)


class StateKind(NamedTuple):
    """A kind of value: its content, whether two contents are the same, and how to set it."""

    content: Callable[[Any], Any]
    is_same: Callable[[Any, Any], bool]
    restore: Callable[[Any, Any], None]


def kind_of(value: Any) -> StateKind | None:
    """How to note the content of a container, buffer or generator of random numbers."""
    kind: Any = type(value)
    return _kind_of_type(kind)


@functools.lru_cache(maxsize=1024)
def _kind_of_type(of: Any) -> StateKind | None:
    for base, kind in _KINDS:
        if issubclass(of, base):
            return kind
    return _DRAWS if any(f"{b.__module__}.{b.__name__}" in _DRAWING for b in of.__mro__) else None


def is_immutable(value: Any) -> bool:
    """Whether nothing about a value can change, as is plain from its type."""
    return isinstance(value, _IMMUTABLE)


def attributes_of(value: Any) -> dict[str, Any] | None:
    """The attributes of an object of a class that is no library's, those in slots included; None
    for all other values.
    """
    if isinstance(value, type | types.ModuleType | types.MethodType | functools.partial):
        return None
    module = type(value).__module__
    if isinstance(value, types.FunctionType):
        return dict(vars(value)) if vars(value) else None
    if module.partition(".")[0] in _LIBRARIES:
        return None
    held = getattr(value, "__dict__", None)
    found = dict(held) if isinstance(held, dict) else {}
    slots = _slots(value)
    if held is None and (not slots or module.partition(".")[0] in sys.stdlib_module_names):
        return None
    for name, member in slots:
        content = _slot(member, value)
        if content is not UNDEFINED:
            found[name] = content
    return found


def has_attributes(value: Any) -> bool:
    """Whether attributes of an object can be assigned to and put back."""
    return hasattr(value, "__dict__") or bool(_slots(value))


def set_attributes(value: Any, content: dict[str, Any]) -> None:
    """Give an object the attributes that it had, whatever its class does when they are set."""
    slots = dict(_slots(value))
    for name, member in slots.items():
        if name in content:
            member.__set__(value, content[name])
        elif _slot(member, value) is not UNDEFINED:
            member.__delete__(value)
    held = getattr(value, "__dict__", None)
    if isinstance(held, dict):
        refill(held, {name: part for name, part in content.items() if name not in slots})


def refill(container: Any, content: Any) -> None:
    """Give a list, dict or other container other content."""
    kind = kind_of(container)
    assert kind is not None
    if not kind.is_same(kind.content(container), kind.content(content)):
        kind.restore(container, kind.content(content))


def is_tree(value: Any) -> bool:
    """Whether branches and loops see into a container, so that what it holds can be a result."""
    return type(value) in _TREES


def is_consumed(value: Any) -> bool:
    """Whether it is an iterator or generator that is no object of the user's: what was taken from
    it cannot be put back.
    """
    if isinstance(value, types.GeneratorType):
        return True
    kinds = ("builtins", "itertools")
    return isinstance(value, Iterator) and type(value).__module__ in kinds


def position(iterator: Any) -> list[Any]:
    """How far an iterator or generator has come, as a list of things to compare by identity."""
    if isinstance(iterator, types.GeneratorType):
        frame = iterator.gi_frame
        if frame is None:
            return [None]
        return [frame.f_lasti, iterator.gi_yieldfrom, *frame.f_locals.values()]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # itertools: from Python 3.12 on
            reduced = iterator.__reduce__()
    except TypeError:
        return []
    return list(_flat(reduced))


def is_same_position(one: list[Any], other: list[Any]) -> bool:
    """Whether nothing was taken in between."""
    if len(one) != len(other):
        return False
    return all(
        a is b or (is_immutable(a) and type(a) is type(b) and bool(a == b))
        for a, b in zip(one, other, strict=True)
    )


def _flat(reduced: Any) -> Iterator[Any]:
    for part in reduced:
        if is_consumed(part):
            yield from position(part)
        elif isinstance(part, tuple):
            yield from _flat(part)
        else:
            yield part


@functools.lru_cache(maxsize=1024)
def _slots_of_type(kind: Any) -> tuple[tuple[str, Any], ...]:
    """The attributes in slots by name, in all classes that a class is made of."""
    return tuple(
        (name, member)
        for base in kind.__mro__
        for name, member in vars(base).items()
        if isinstance(member, types.MemberDescriptorType)
        and isinstance(base.__dict__.get("__slots__"), str | tuple | list | dict)
        and name not in ("__dict__", "__weakref__")
    )


def _slots(value: Any) -> tuple[tuple[str, Any], ...]:
    kind: Any = type(value)
    return _slots_of_type(kind)


def _slot(member: Any, value: Any) -> Any:
    try:
        return member.__get__(value)
    except AttributeError:
        return UNDEFINED


def _same_parts(one: Any, other: Any) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))


def _same_items(one: dict[Any, Any], other: dict[Any, Any]) -> bool:
    pairs = zip(one.items(), other.items(), strict=True)
    return len(one) == len(other) and all(a[0] == b[0] and a[1] is b[1] for a, b in pairs)


def _set_list(value: list[Any], content: list[Any]) -> None:
    list.__setitem__(value, slice(None), content)


def _set_deque(value: collections.deque[Any], content: list[Any]) -> None:
    collections.deque.clear(value)
    collections.deque.extend(value, content)


def _set_dict(value: dict[Any, Any], content: dict[Any, Any]) -> None:
    base: Any = collections.OrderedDict if isinstance(value, collections.OrderedDict) else dict
    base.clear(value)
    for key, part in content.items():
        base.__setitem__(value, key, part)


def _set_set(value: set[Any], content: set[Any]) -> None:
    set.clear(value)
    set.update(value, content)


def _set_bytes(value: bytearray, content: bytes) -> None:
    value[:] = content


def _set_array(value: array[Any], content: bytes) -> None:
    del value[:]
    value.frombytes(content)


def _equal(one: Any, other: Any) -> bool:
    return bool(one == other)


def _draws(value: Any) -> bytes:
    if hasattr(value, "bit_generator"):
        return pickle.dumps(value.bit_generator.state)
    state = value.getstate() if hasattr(value, "getstate") else value.get_state(legacy=False)
    return pickle.dumps(state)


def _set_draws(value: Any, content: bytes) -> None:
    state = pickle.loads(content)
    if hasattr(value, "bit_generator"):
        value.bit_generator.state = state
    elif hasattr(value, "setstate"):
        value.setstate(state)
    else:
        value.set_state(state)


_DRAWING: Final = (
    "numpy.random.mtrand.RandomState",
    "numpy.random._generator.Generator",
    "random.Random",
)
"""By name, so that nothing is loaded for it."""
_DRAWS: Final = StateKind(_draws, _equal, _set_draws)
_TREES: Final = (
    list,
    dict,
    collections.OrderedDict,
    collections.defaultdict,
    collections.deque,
)
_KINDS: Final[tuple[tuple[type, StateKind], ...]] = (
    (list, StateKind(lambda value: list.__getitem__(value, slice(None)), _same_parts, _set_list)),
    (dict, StateKind(dict, _same_items, _set_dict)),
    (set, StateKind(set, _equal, _set_set)),
    (collections.deque, StateKind(list, _same_parts, _set_deque)),
    (bytearray, StateKind(bytes, _equal, _set_bytes)),
    (array, StateKind(lambda value: value.tobytes(), _equal, _set_array)),
    (NDIter, StateKind(lambda value: value.position, _equal, NDIter.move_to)),
)
