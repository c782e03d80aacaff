"""Functions that are understood: a digest of everything that their trace can depend on.

Tracing is skipped only for these. Every byte code, global, attribute, called function and value in
the closure of a function must be of a kind that is listed here or in `pure_names`; for those the
digest determines what tracing would give. Whatever is not on the lists raises `NotUnderstood` with
a reason, and the function is traced, which costs time and is never wrong.

Why that is enough: a function's trace depends on its code, on what it loads and on its arguments.
Code is hashed whole. A global or a cell is hashed by content, where it is a value without state of
its own; functions are followed; library functions are checked to be the library's. Modules are only
used for the attributes that code reads of them by name, and what these give is hashed. All else
that code holds is computed from such values, and has no attribute on the list that shows more.
"""

from __future__ import annotations

import builtins
import sys
import types
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from typing import Any, Final, NoReturn

import numpy as np

from weft.frontends.driver.cache import bytecode, pure_names
from weft.frontends.driver.cache.bytecode import NameLoad
from weft.frontends.driver.cache.walk import FunctionWalk, is_weft_module
from weft.frontends.tracing.caller import is_weft

MOST_ARRAY_BYTES: Final = 32 << 20
_WEFT: Final = "weft"


class NotUnderstood(Exception):
    """Why a function has to be traced."""


class Digest(FunctionWalk):
    """A hash over values and functions; `add` raises `NotUnderstood` for what is not on the lists.

    >>> one, other = Digest(), Digest()
    >>> one.add(lambda x: x + 1, "f"), other.add(lambda x: x + 2, "f")
    (None, None)
    >>> one.hexdigest() == other.hexdigest()
    False
    """

    def __init__(self) -> None:
        super().__init__()
        self._array_bytes = 0
        self._memory = Overlaps()

    def _refuse(self, reason: str) -> NoReturn:
        raise NotUnderstood(reason)

    def _other(self, value: Any, what: str) -> None:
        """What is known by something else than its exact type."""
        kind = type(value)
        name = pure_names.library_name(value)
        if name is not None:
            self._text("library", name)
        elif issubclass(kind, np.generic) and kind.__module__ == "numpy":
            array = np.asarray(value)
            self._kept.append(array)  # so that no other one takes its place in memory
            self._array(array, what)
            self._text("scalar", kind.__name__)
        elif isinstance(value, np.dtype) and kind.__module__ == "numpy.dtypes":
            if value.hasobject or value.metadata or value.isbuiltin != 1:
                raise NotUnderstood(f"{what} is the dtype {value}")
            self._text("dtype", value.str, value.char)  # C has several types of 64 bits
        elif not (kind.__module__.startswith(_WEFT) and self._weft_object(value, what)):
            raise NotUnderstood(f"{what} is {_a(kind)}")

    def _array(self, value: np.ndarray[Any, Any], what: str) -> None:
        if value.dtype.hasobject:
            raise NotUnderstood(f"{what} is an array of Python objects")
        self._array_bytes += value.nbytes
        if self._array_bytes > MOST_ARRAY_BYTES:
            limit = MOST_ARRAY_BYTES >> 20
            raise NotUnderstood(f"with {what} it holds more than {limit} MiB of arrays")
        super()._array(value, what)
        shared = self._memory.add(value)
        if shared:  # a write to one of them changes the others
            self._text("shared memory", *shared)

    def _weft_object(self, value: Any, what: str) -> bool:
        if not super()._weft_object(value, what):
            return False
        if pure_names.has_own_attributes(value):
            raise NotUnderstood(f"{what} has attributes of its own")
        return True

    # --- functions ------------------------------------------------------------------------------

    def _library(self, function: types.FunctionType, what: str) -> bool:
        library = pure_names.library_name(function)
        if library is not None:
            self._text("library", library)
            return True
        if pure_names.is_numpy(function.__code__.co_filename):
            name = function.__name__
            raise NotUnderstood(f"{what} is numpy.{name}, which is not known to be pure")
        return False

    def _follows(self, code: types.CodeType) -> bool:
        return not is_weft(code.co_filename)

    def _own_attributes(self, function: types.FunctionType, what: str) -> None:
        is_own = is_weft(function.__code__.co_filename)
        for key, item in vars(function).items():
            if is_own and key == "__wrapped__":
                self._value(item, what)
            else:
                raise NotUnderstood(f"{function.__name__} has the attribute {key}")
        if not is_own and getattr(function, "__builtins__", None) is not vars(builtins):
            raise NotUnderstood(f"{function.__name__} has builtins of its own")

    def _unknown(self, load: NameLoad, function: str) -> None:
        if load.unknown == bytecode.VIEW_OF_KEYS:
            raise NotUnderstood(f"{function} holds a view of keys, which sets can be made of")
        raise NotUnderstood(f"{function} uses the byte code {load.unknown}")

    def _attributes(self, names: tuple[str, ...], function: str) -> None:
        for name in names:
            if name not in pure_names.attributes():
                raise NotUnderstood(f"{function} reads the attribute {name}")

    def _weft_path(self, module: str, attributes: tuple[str, ...], function: str) -> None:
        """What is not loaded yet, as parts of this package are when they are first asked for, is
        what its name says.
        """
        for number, attribute in enumerate(attributes):
            path = f"{module}.{attribute}"
            if attribute in pure_names.WEFT_STATE or attribute.startswith("_"):
                raise NotUnderstood(f"{function} uses {path}")
            self._text("weft", module, attribute)
            loaded = vars(sys.modules[module]) if module in sys.modules else {}
            value = loaded.get(attribute)
            if attribute not in loaded:
                module = path
            elif type(value) is types.ModuleType and is_weft_module(value):
                module = value.__name__
            elif _is_own(value, module, attribute):
                self._attributes(attributes[number + 1 :], function)
                return
            else:
                raise NotUnderstood(f"{function} uses {path}")
        if module in sys.modules:
            raise NotUnderstood(f"{function} uses the module {module} as a value")


class Overlaps:
    """The memory of arrays: which of them share some, and where it lies in each."""

    def __init__(self) -> None:
        # Stretches that do not overlap, in order: where they begin and end, and the number and the
        # address of the first array in them.
        self._begins: list[int] = []
        self._ends: list[int] = []
        self._firsts: list[tuple[int, int]] = []
        self._count = 0

    def add(self, array: np.ndarray[Any, Any]) -> list[tuple[int, int]]:
        """The numbers of those before with which an array shares memory, and how far from them it
        begins.
        """
        self._count += 1
        if not array.size:
            return []
        begin, end = np.lib.array_utils.byte_bounds(array)
        low, high = bisect_right(self._ends, begin), bisect_left(self._begins, end)
        shared = self._firsts[low:high]
        self._firsts[low:high] = [*shared[:1]] or [(self._count, begin)]
        self._begins[low:high] = [min([begin, *self._begins[low:high]])]
        self._ends[low:high] = [max([end, *self._ends[low:high]])]
        return [(number, begin - address) for number, address in shared]


def _is_own(value: Any, module: str, name: str) -> bool:
    """Whether a part of this package is what it was defined as."""
    if not isinstance(value, type) and pure_names.has_own_attributes(value):
        return False
    if module == _WEFT:
        homes: Mapping[str, str] = vars(sys.modules[_WEFT])["_HOME"]
        home = sys.modules.get(homes.get(name, ""))
        return home is not None and vars(home).get(name) is value
    if isinstance(value, types.FunctionType):
        return is_weft(value.__code__.co_filename) and value.__name__ == name
    is_class = isinstance(value, type) and value.__module__.startswith(_WEFT + ".")
    return is_class and value.__name__ == name


def _a(kind: type) -> str:
    in_sight = kind.__module__ in ("builtins", "__main__")
    name = kind.__qualname__ if in_sight else f"{kind.__module__}.{kind.__qualname__}"
    return f"an instance of {name}"
