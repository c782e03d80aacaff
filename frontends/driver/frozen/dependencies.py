"""What a trace depends on besides its arguments, as far as it can be told before or after it.

The walk is that of the disk cache (`cache.walk`), which knows what code loads. Where the cache
gives up, this one goes on: into objects, classes and their methods, by the names of attributes that
code has. It is a walk and not an observation of the trace, since nothing in Python tells cheaply
that a global or a plain attribute was read; a walk finds too much rather than too little, which
costs a trace when something changes that did not matter, and is never wrong.

What it cannot find: attributes and globals whose names are computed (`globals()[name]`), what
libraries hold outside of the objects that were given to the function, and names of modules,
builtins and library functions that are bound anew. The first it reports; the others
docs/guarantees.md has.
"""

from __future__ import annotations

import array
import builtins
import collections
import contextvars
import ctypes
import io
import operator
import sys
import types
import weakref
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from weft.frontends.driver.cache.bytecode import NameLoad
from weft.frontends.driver.frozen import impure
from weft.frontends.driver.frozen.attributes import WRAPPERS, Attributes, plain
from weft.frontends.driver.frozen.objects import (
    dict_of,
    is_import,
    is_users_class,
    is_users_module,
    makes_text,
)
from weft.frontends.driver.frozen.places import (
    Absent,
    Attribute,
    BytesOf,
    Called,
    ClosureCell,
    Contents,
    Global,
    GuardedArray,
    content_digest,
    memory_of,
)
from weft.frontends.tracing.caller import is_users, is_weft

_WEFT: Final = "weft."
_HOLDS_FUNCTIONS: Final = tuple(f"weft.frontends.{part}." for part in ("api", "sparse", "regions"))
# Names with which code finds attributes by other names than those that it has.
_NAMES_AS_TEXT: Final = frozenset(
    "getattr hasattr vars dir attrgetter methodcaller format format_map __dict__ "
    "__getattribute__ getmembers getattr_static".split()
)
_WITH_MEMORY: Final = (
    *(bytearray, memoryview, array.array),
    *(ctypes._SimpleCData, ctypes.Array, ctypes.Structure, ctypes.Union),
)
_READS: Final = frozenset("read readline readlines readinto read1 next __next__".split())
_RULES: Final = ("rule", "forward", "backward")  # of custom derivatives, which can be set again
_MODULES_BY_NAME: Final = ({"import_module"}, {"__import__"}, {"sys", "modules"})
_NAMES_COMPUTED: Final = ("globals", "eval", "exec")


class Dependencies(Attributes):
    """Walks over a function and over static arguments, and notes places, what draws or looks at the
    world (`uses`), and what cannot be guarded.
    """

    def _other(self, value: Any, what: str) -> None:
        kind = type(value)
        for kinds, handle in _KINDS:
            if issubclass(kind, kinds):
                handle(self, value, what)
                return
        if impure.is_generator(value):
            self._text("generator", id(value))
            self.generators.setdefault(id(value), (value, plain(what), self._spot))
        elif hasattr(kind, "__next__") and not is_users_class(kind):
            self._iterator(value, what)
        elif issubclass(kind, _WITH_MEMORY):
            self._memory(value, what)
        elif kind.__module__.startswith(_WEFT):
            self._of_weft(value, what)
        else:
            self._instance(value, what)

    def _of_weft(self, value: Any, what: str) -> None:
        if self._weft_object(value, what):
            return
        kind = type(value)
        self._text("weft", kind.__qualname__)
        if kind.__qualname__ == "Array" and kind.__module__.endswith("eager.array"):
            # Writes give it other data, so whether these are the same tells.
            self._write("data", content_digest(value.data))
            label = f"the array {plain(what)}"
            self._place(Attribute(label, value, "_data", value._data))
            family = value._family()  # which writes to a view and its base go through
            self._place(Attribute(label, family, "_version", family._version))
            return
        self._text("identity", id(value))
        if kind.__module__.startswith(_HOLDS_FUNCTIONS):
            for name, part in dict_of(value).items():
                if issubclass(type(part), types.FunctionType):
                    self._found_attribute(value, name, part, what)
                else:
                    self._value(part, f"{what}.{name}")

    def _weft_object(self, value: Any, what: str) -> bool:
        for name in _RULES:
            rule = dict_of(value).get(name)
            if rule is not None:
                self._place(Attribute(f"{plain(what)}.{name}", value, name, rule))
        return super()._weft_object(value, what)

    def _method(self, value: types.MethodType, what: str) -> None:
        self._text("method")
        self._value(value.__self__, type(value.__self__).__name__)
        self._value(value.__func__, what)

    def _native(self, value: Any, what: str) -> None:
        """A native function, or a native method of an object, which is what matters."""
        owner = getattr(value, "__self__", None)
        self._text("native", value.__name__)
        self._use(value)
        if owner is builtins and value.__name__ in _NAMES_COMPUTED:
            text = f"{plain(what)} is {value.__name__}(), which can read any variable"
            self._unguardable(text, is_common=False)
        self._all_names |= owner is builtins and value.__name__ in _NAMES_AS_TEXT
        if owner is None or issubclass(type(owner), types.ModuleType | type):
            self._text("identity", id(value) if owner is None else id(owner))
        else:
            self._value(owner, what)

    def _constant(self, value: Any, what: str) -> None:
        if issubclass(type(value), np.void):
            self._unguardable(f"{plain(what)} is a record, which can change", is_common=False)
        if issubclass(type(value), np.generic):  # NaN have signs
            self._text("constant", type(value), value.dtype.descr)
            self._write("data", value.tobytes())
        else:
            self._text("constant", type(value), value)
        self._own_class(value, what)

    def _named(self, value: Any, what: str) -> None:
        self._text("named", type(value), id(value))
        self._all_names |= value.__name__ in _NAMES_AS_TEXT

    def _array(self, value: np.ndarray[Any, Any], what: str) -> None:
        if value.dtype.hasobject:
            self._unguardable(f"{plain(what)} is an array of Python objects", is_common=True)
            self._text("objects", id(value))
            return
        place = GuardedArray(f"the array {plain(what)}", value)
        self._text("array", value.dtype, value.shape, value.strides)
        self._write("data", content_digest(value))
        self._place(place)
        for name, part in dict_of(value).items():
            if issubclass(type(part), np.ndarray):
                self._place(Attribute(f"{plain(what)}.{name}", value, name, part))
                self._value(part, f"{what}.{name}")
        self._own_class(value, what)

    def _sequence(self, value: list[Any] | tuple[Any, ...], what: str) -> None:
        if issubclass(type(value), list):
            self._place(Contents(plain(what), value))
        super()._sequence(value, what)

    def _mapping(self, value: dict[Any, Any], what: str) -> None:
        self._place(Contents(plain(what), value))
        super()._mapping(value, what)

    def _collection(self, value: Any, what: str) -> None:
        """A subclass of a container, or one of the others."""
        self._text("collection", id(type(value)))
        if issubclass(type(value), dict):
            self._mapping(value, what)
        else:
            if not issubclass(type(value), tuple | frozenset):
                self._place(Contents(plain(what), value))
            super()._sequence(tuple(value), what)
        if type(value).__module__ not in ("builtins", "collections"):
            self._instance(value, what)

    def _getter(self, value: Any, what: str) -> None:
        """Something that reads attributes by names that it holds."""
        self._text("getter", repr(value))
        self._all_names = True

    def _iterator(self, value: Any, what: str) -> None:
        self._text("iterator", id(value))
        if issubclass(type(value), io.IOBase) and _READS.isdisjoint(self._names):
            return  # written to, if anything
        self._unguardable(
            f"{plain(what)} is {type(value).__name__}, which gives its next value once, while the "
            "function is traced",
            is_common=False,
        )

    def _memory(self, value: Any, what: str) -> None:
        """Something that shows its memory as bytes."""
        place = BytesOf(plain(what), value)
        self._text("memory", type(value))
        self._write("data", memory_of(value))
        self._place(place)
        if is_users_class(type(value)):
            self._instance(value, what)

    def _proxy(self, value: types.MappingProxyType[Any, Any], what: str) -> None:
        self._place(Contents(plain(what), value))
        self._text("proxy")
        super()._mapping(dict(value), what)

    def _reference(self, value: weakref.ref[Any], what: str) -> None:
        held = value()
        self._text("reference")
        if not issubclass(type(value), weakref.WeakMethod):  # which makes a new one each time
            self._place(Called(plain(what), value, None, held))
        self._value(held, what)

    def _context(self, value: contextvars.ContextVar[Any], what: str) -> None:
        held = value.get(None)
        self._text("context variable", id(value))
        self._place(Called(plain(what), value.get, (None,), held))
        self._value(held, what)

    def _wrapper(self, value: Any, what: str) -> None:
        """A descriptor or another holder of one function."""
        self._text("wrapper", type(value).__qualname__)
        for name in ("fget", "__func__", "func", "__wrapped__"):
            held = getattr(value, name, None)
            if held is not None:
                self._value(held, what)
                return

    # --- functions ------------------------------------------------------------------------------

    def _library(self, function: types.FunctionType, what: str) -> bool:
        self._use(function)
        if not function.__code__.co_filename.startswith(_NUMPY):
            return False
        self._text("numpy", function.__name__, id(function))
        return True

    def _follows(self, code: types.CodeType) -> bool:
        return is_users(code.co_filename)

    def _function(self, function: types.FunctionType, what: str) -> None:
        before, self._is_followed = self._is_followed, self._follows(function.__code__)
        if self._is_followed:
            self._last_spot = impure.Spot(function.__code__, 0)  # for its defaults
        super()._function(function, what)
        self._is_followed = before

    def _module(self, value: types.ModuleType, what: str) -> None:
        self._module_value(value, what, what)

    def _own_attributes(self, function: types.FunctionType, what: str) -> None:
        for name in ("__defaults__", "__kwdefaults__"):
            held = getattr(function, name)
            if held and self._follows(function.__code__):
                self._place(Attribute(f"the defaults of {function.__name__}", function, name, held))
        if self._follows(function.__code__) and vars(function):
            self._objects.append((function, function.__name__, set()))
        elif is_weft(function.__code__.co_filename) and "__wrapped__" in vars(function):
            self._value(vars(function)["__wrapped__"], what)

    def _code(
        self,
        code: types.CodeType,
        names: Mapping[str, Any],
        modules: Mapping[str, types.ModuleType],
        function: str,
    ) -> None:
        self.codes.append(code)
        self._names.update(code.co_names)
        self._may_miss |= bool(getattr(code, "co_exceptiontable", b""))
        self._makes_text |= makes_text(code)
        self._all_names |= not _NAMES_AS_TEXT.isdisjoint(code.co_names)
        if "__globals__" in code.co_names:
            text = f"{function} uses __globals__, which can read any variable"
            self._unguardable(text, is_common=False)
        if any(each.issubset(code.co_names) for each in _MODULES_BY_NAME):
            self._modules_by_name(code, names, function)
        before, self._code_names = self._code_names, code.co_names
        super()._code(code, names, modules, function)
        self._code_names = before

    def _modules_by_name(
        self, code: types.CodeType, names: Mapping[str, Any], function: str
    ) -> None:
        """The modules that code may get by a text that it has, or by the name of its own."""
        texts = [each for each in code.co_consts if type(each) is str]
        texts += [names["__name__"]] if "__name__" in code.co_names and "__name__" in names else []
        for text in texts:
            module = sys.modules.get(text)
            if module is not None and is_users_module(module):
                self._module_value(module, text, function)
        self._unguardable(f"{function} gets modules by names", is_common=True)

    def _load(
        self,
        load: NameLoad,
        code: types.CodeType,
        names: Mapping[str, Any],
        modules: Mapping[str, types.ModuleType],
        function: str,
    ) -> None:
        before = self._spot, self._is_bare
        self._spot, self._is_bare = impure.Spot(code, load.place), load.is_bare
        self._last_spot = self._spot
        if load.unknown is None:
            super()._load(load, code, names, modules, function)
        elif load.unknown == "IMPORT_NAME":
            module = sys.modules.get(load.attributes[0])
            self.is_incomplete |= module is None
            if module is not None:
                self._module_value(module, load.attributes[0], function)
        elif load.unknown == "LOAD_NAME":
            for name in code.co_names:
                if name in names and not isinstance(names[name], types.ModuleType):
                    self._global(name, (), names, function)
        elif load.unknown == "MATCH_CLASS":
            self._all_names = True
        self._spot, self._is_bare = before

    def _attributes(self, names: tuple[str, ...], function: str) -> None:
        for name in names:
            if name in impure.METHODS:
                self.uses += impure.method_uses(name, self._spot)

    def _read(self, value: Any, rest: tuple[str, ...], what: str, function: str) -> None:
        self._use(value, rest)
        is_fixed, self._is_fixed = self._is_fixed, False
        if is_fixed and issubclass(type(value), _DATA):
            self._text("data of a library", id(value))
            return
        super()._read(value, rest, what, function)

    def _use(self, value: Any, rest: tuple[str, ...] = ()) -> None:
        """Note what is not computed from what was given: draws, clocks, files."""
        spot = self._spot or self._last_spot
        if spot is None:
            return
        use = impure.use_of(value, rest, spot, is_bare=self._is_bare)
        if use is not None:
            self.uses.append(use)

    def _in_cell(self, cell: types.CellType, variable: str, content: Any) -> None:
        if self._is_followed and not is_import(variable, content):
            self._place(ClosureCell(variable, cell, None, content))

    def _in_globals(self, names: Mapping[str, Any], name: str, value: Any) -> None:
        if not is_import(name, value):
            self._place(Global(f"global {name}", names, name, value))

    def _in_module(self, module: types.ModuleType, attribute: str, value: Any, path: str) -> None:
        is_own = is_users_module(module)
        self._is_fixed = not is_own and not issubclass(type(value), types.ModuleType)
        if is_own and not is_import(attribute, value):
            self._place(Attribute(path, module, attribute, value))

    def _global(
        self, name: str, attributes: tuple[str, ...], names: Mapping[str, Any], function: str
    ) -> None:
        if name not in names:
            if name in _NAMES_COMPUTED:
                text = f"{function} uses {name}(), which can read any variable"
                self._unguardable(text, is_common=False)
            if not hasattr(builtins, name):
                self._place(Absent(f"global {name}", names, name, None))
                return
        super()._global(name, attributes, names, function)

    def _path(
        self, module: types.ModuleType, attributes: tuple[str, ...], name: str, function: str
    ) -> None:
        if module is np and attributes[:1] == ("random",):
            _ = np.random  # which is loaded when it is first asked for
        super()._path(module, attributes, name, function)

    def _module_value(self, module: types.ModuleType, name: str, function: str) -> None:
        if is_users_module(module):
            if all(owner is not module for owner, _, _ in self._objects):
                self._objects.append((module, name, set()))
        elif self._spot is not None:
            for attribute in sorted(set(self._code_names) & vars(module).keys()):
                self._use(vars(module)[attribute], self._code_names)

    def _weft_path(self, module: str, attributes: tuple[str, ...], function: str) -> None:
        self._text("weft", module, *attributes)


_NUMPY: Final = np.__file__.rpartition("__init__")[0]
_DATA: Final = (list, dict, tuple, set, frozenset, np.ndarray)
_Kinds = tuple[tuple[Any, Callable[[Dependencies, Any, str], None]], ...]
_KINDS: Final[_Kinds] = (
    ((types.MethodType,), Dependencies._method),
    ((types.BuiltinFunctionType, types.MethodWrapperType), Dependencies._native),
    ((np.generic, np.dtype, int, str), Dependencies._constant),
    ((np.ndarray,), Dependencies._array),
    ((types.ModuleType,), Dependencies._module),
    ((operator.attrgetter, operator.methodcaller), Dependencies._getter),
    ((type,), Dependencies._class),
    (WRAPPERS, Dependencies._wrapper),
    ((types.MappingProxyType,), Dependencies._proxy),
    ((weakref.ref,), Dependencies._reference),
    ((contextvars.ContextVar,), Dependencies._context),
    ((list, dict, tuple, set, frozenset, collections.deque), Dependencies._collection),
    ((np.ufunc, types.MethodDescriptorType, types.WrapperDescriptorType), Dependencies._named),
)
