"""What Python's objects are made of, found without running code of theirs, and which of it the user
wrote.
"""

from __future__ import annotations

import builtins
import opcode
import sys
import threading
import types
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from weft.frontends.tracing.caller import is_users

MISSING: Final = object()


def overridden(kind: type, name: str) -> list[tuple[type, types.FunctionType]]:
    """The methods of a name that stand behind the first one, which `super()` reaches."""
    there = [(each, vars(each).get(name)) for each in users_classes(kind)]
    return [(each, held) for each, held in there if type(held) is types.FunctionType][1:]


def dict_of(value: Any) -> dict[str, Any]:
    if issubclass(type(value), type):
        return {}
    if issubclass(type(value), threading.local):
        own: dict[str, Any] = value.__dict__  # of this thread
        return own
    try:
        held = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return held if issubclass(type(held), dict) else {}


def users_classes(value: Any) -> Iterable[type]:
    """The classes of an object, or those that a class inherits, which the user wrote."""
    kind = value if issubclass(type(value), type) else type(value)
    return [each for each in kind.__mro__ if is_users_class(each)]


def class_names(value: Any) -> set[str]:
    return {name for each in users_classes(value) for name in vars(each)}


def data_names(value: Any) -> set[str]:
    """The names in the user's classes that stand for data, slots included."""
    kinds = users_classes(value)
    held = {name: part for kind in kinds for name, part in vars(kind).items() if name[:2] != "__"}
    return {name for name, part in held.items() if not hasattr(type(part), "__get__")} | {
        name for name, part in held.items() if type(part) is types.MemberDescriptorType
    }


def makes_text(code: types.CodeType) -> bool:
    """Whether code may ask objects for their text."""
    if not _TEXT.isdisjoint(code.co_names) or not _FORMATS.isdisjoint(code.co_code[::2]):
        return True
    return any(type(constant) is str and "%" in constant for constant in code.co_consts)


_TEXT: Final = frozenset("str repr ascii format format_map".split())
_FORMATS: Final = frozenset(
    opcode.opmap[name]
    for name in "FORMAT_VALUE FORMAT_SIMPLE FORMAT_WITH_SPEC CONVERT_VALUE".split()
    if name in opcode.opmap
)


def in_class(kind: type, name: str) -> Any:
    for each in kind.__mro__:
        if name in vars(each):
            return vars(each)[name]
    return MISSING


def is_data_descriptor(found: Any) -> bool:
    return hasattr(type(found), "__set__")


def has_own_getattribute(value: Any) -> bool:
    """Whether asking an object for an attribute runs code of the user."""
    if issubclass(type(value), types.ModuleType | type):
        return False
    return any("__getattribute__" in vars(kind) for kind in users_classes(value))


def is_read_whole(value: Any) -> bool:
    """Whether all attributes of an object are read by others than code of the user: by whoever
    takes a dataclass for a tree of arrays, or by the methods of a library.
    """
    kind = type(value)
    if issubclass(type(value), type | types.ModuleType | types.FunctionType):
        return False
    return hasattr(kind, "__dataclass_fields__") or not is_all_users(kind)


def is_all_users(kind: type) -> bool:
    """Whether the user wrote a class and all that it inherits."""
    return all(is_users_class(each) for each in kind.__mro__ if each is not object)


def is_import(name: str, value: Any) -> bool:
    """Whether a name stands for a module of a library, or for its function or class that is called
    so: such names are not guarded, so that functions that use nothing else cost nothing more.
    """
    if issubclass(type(value), types.ModuleType):
        return not is_users_module(value)
    if not issubclass(type(value), _NAMED) or value.__name__ != name:
        return False
    if issubclass(type(value), types.BuiltinFunctionType):
        return issubclass(type(value.__self__), types.ModuleType | None)
    if issubclass(type(value), types.FunctionType):
        return not is_users(value.__code__.co_filename)
    return not issubclass(type(value), type) or not is_users_class(value)


_NAMED: Final = (types.FunctionType, types.BuiltinFunctionType, np.ufunc, type)


def is_users_class(kind: type) -> bool:
    """Whether the user wrote a class."""
    # Functions that Cython makes are of a class in a module that nobody wrote.
    if not kind.__flags__ & _HEAP_TYPE or kind.__module__.startswith("_cython"):
        return False
    module = sys.modules.get(kind.__module__)
    if module in (builtins, types):  # what is made without a module of its own says so too
        return vars(module).get(kind.__name__) is not kind
    return module is None or is_users_module(module)


_HEAP_TYPE: Final = 1 << 9


def is_users_module(module: types.ModuleType) -> bool:
    """Whether the user wrote a module."""
    file = getattr(module, "__file__", None)
    if isinstance(file, str):
        return is_users(file)
    name = module.__name__
    is_made = getattr(module, "__spec__", None) is None or name == "__main__"
    return is_made and name not in sys.builtin_module_names
