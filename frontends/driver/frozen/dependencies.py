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

import builtins
import collections
import functools
import itertools
import operator
import sys
import types
from collections.abc import Callable, Mapping
from keyword import iskeyword
from typing import Any, Final

import numpy as np

from weft.compiler.record import record
from weft.frontends.driver.cache.bytecode import Load
from weft.frontends.driver.cache.walk import MOST_VALUES, Walk
from weft.frontends.driver.frozen import impure
from weft.frontends.driver.frozen.guard import Guard
from weft.frontends.driver.frozen.impure import Use
from weft.frontends.driver.frozen.objects import (
    MISSING,
    class_names,
    dict_of,
    has_own_getattribute,
    in_class,
    is_all_users,
    is_data_descriptor,
    is_import,
    is_read_whole,
    is_users_class,
    is_users_module,
    overridden,
)
from weft.frontends.driver.frozen.places import (
    Absent,
    Array,
    Attribute,
    Cell,
    Contents,
    Entry,
    Global,
    Keys,
    Method,
    Never,
    Place,
    content_digest,
)
from weft.frontends.tracing.caller import is_users, is_weft

MOST_PLACES: Final = 2048  # that are asked for before every call, at some 10 ns each
_WEFT: Final = "weft."
_ITERATORS: Final = (
    types.GeneratorType,
    *(type(iter(made())) for made in (list, tuple, str, dict, set)),
    type(iter(range(0))),
    *(enumerate, zip, map, filter, reversed),
    *(itertools.count, itertools.cycle, itertools.chain, itertools.islice, itertools.repeat),
)
# Methods by which Python itself looks at instances, not the user's code on the way of a trace.
_NOT_FOLLOWED: Final = frozenset(
    "__init__ __new__ __post_init__ __repr__ __str__ __eq__ __hash__ __reduce__ __reduce_ex__ "
    "__del__ __getstate__ __setstate__ __init_subclass__ __class_getitem__ __sizeof__ __dir__ "
    "__setattr__ __delattr__".split()
)
# Names with which code finds attributes by other names than those that it has.
_NAMES_AS_TEXT: Final = frozenset(
    "getattr hasattr vars dir attrgetter methodcaller format format_map __dict__ "
    "__getattribute__".split()
)
_SPOILT: Final = itertools.count()
_NAMES_COMPUTED: Final = ("globals", "eval", "exec")


@record
class Unguarded:
    """Something that cannot be guarded, and whether programs that are right may well have it."""

    text: str
    is_common: bool


class TooMany(Exception):
    """There are more values than a walk should take."""


class Dependencies(Walk):
    """Walks over a function and over static arguments, and notes places, what draws or looks at the
    world (`uses`), and what cannot be guarded.
    """

    def __init__(self) -> None:
        super().__init__()
        self.places: list[Place] = []
        self.unguarded: list[Unguarded] = []
        self.uses: list[Use] = []
        self.generators: dict[int, tuple[Any, str, impure.Spot | None]] = {}
        self.codes: list[types.CodeType] = []
        self.is_incomplete = False
        self._known: set[Any] = set()  # the identities of places
        self._names: set[str] = set()
        self._all_names = False
        self._objects: list[tuple[Any, str, set[str]]] = []
        self._spot: impure.Spot | None = None
        self._is_bare = False
        self._is_followed = False
        self._is_fixed = False  # what is read next is data that a library has
        self._code_names: tuple[str, ...] = ()

    def add(self, value: Any, what: str) -> None:
        try:
            super().add(value, what)
            self._follow_attributes()
        except TooMany:
            self._text("and more", id(value))
        except RecursionError:
            self._refuse(f"{what} is nested too deeply")

    def spoil(self) -> None:
        """Let no guard of this hold, and no later state be like it."""
        self._text("spoilt", next(_SPOILT))
        what = "a value that changed while the function was traced"
        self.places = [Never(what, None, None, None)]

    def guard(self) -> Guard:
        """Asks whether all of this is still there."""
        return Guard(self.hexdigest(), self.places)

    # --- what the walk leaves open --------------------------------------------------------------

    def _refuse(self, reason: str) -> None:
        self._unguardable(reason, is_common=True)
        if self._values > MOST_VALUES:
            raise TooMany

    def _unguardable(self, text: str, *, is_common: bool) -> None:
        self.unguarded.append(Unguarded(text, is_common))

    def _place(self, place: Place) -> None:
        if place.identity in self._known:
            return
        self._known.add(place.identity)
        if len(self.places) == MOST_PLACES:
            self._unguardable(f"more than {MOST_PLACES:,} values", is_common=False)
        if len(self.places) <= MOST_PLACES:
            self.places.append(place)
        if place.look is not None:
            self._unguardable(f"all of {place.label}, which is large", is_common=True)

    def _other(self, value: Any, what: str) -> None:
        kind = type(value)
        for kinds, handle in _KINDS:
            if issubclass(kind, kinds):
                handle(self, value, what)
                return
        if impure.is_generator(value):
            self._text("generator", id(value))
            self.generators.setdefault(id(value), (value, _plain(what), self._spot))
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
            self._place(Attribute(f"the array {_plain(what)}", value, "_data", value._data))
            return
        self._text("identity", id(value))
        if kind.__module__.startswith(("weft.frontends.api", "weft.frontends.sparse")):
            for name, part in dict_of(value).items():
                self._value(part, f"{what}.{name}")

    def _method(self, value: types.MethodType, what: str) -> None:
        self._text("method")
        self._value(value.__self__, type(value.__self__).__name__)
        self._value(value.__func__, what)

    def _native(self, value: Any, what: str) -> None:
        """A native function, or a native method of an object, which is what matters."""
        owner = getattr(value, "__self__", None)
        self._text("native", value.__name__)
        if owner is None or issubclass(type(owner), types.ModuleType | type):
            self._text("identity", id(value) if owner is None else id(owner))
        else:
            self._value(owner, what)

    def _constant(self, value: Any, what: str) -> None:
        self._text("constant", type(value), value)

    def _named(self, value: Any, what: str) -> None:
        self._text("named", type(value), id(value))

    def _array(self, value: np.ndarray[Any, Any], what: str) -> None:
        if value.dtype.hasobject:
            self._unguardable(f"{_plain(what)} is an array of Python objects", is_common=True)
            self._text("objects", id(value))
            return
        place = Array(f"the array {_plain(what)}", value)
        self._text("array", value.dtype, value.shape, value.strides)
        self._write("data", content_digest(value))
        self._place(place)
        for name, part in dict_of(value).items():
            if issubclass(type(part), np.ndarray):
                self._place(Attribute(f"{_plain(what)}.{name}", value, name, part))
                self._value(part, f"{what}.{name}")

    def _sequence(self, value: list[Any] | tuple[Any, ...], what: str) -> None:
        if issubclass(type(value), list):
            self._place(Contents(_plain(what), value))
        super()._sequence(value, what)

    def _mapping(self, value: dict[Any, Any], what: str) -> None:
        self._place(Contents(_plain(what), value))
        super()._mapping(value, what)

    def _collection(self, value: Any, what: str) -> None:
        """A subclass of a container, or one of the others."""
        self._text("collection", id(type(value)))
        if issubclass(type(value), dict):
            self._mapping(value, what)
        else:
            if not issubclass(type(value), tuple | frozenset):
                self._place(Contents(_plain(what), value))
            super()._sequence(tuple(value), what)
        if type(value).__module__ not in ("builtins", "collections"):
            self._instance(value, what)

    def _getter(self, value: Any, what: str) -> None:
        """Something that reads attributes by names that it holds."""
        self._text("getter", repr(value))
        self._all_names = True

    def _iterator(self, value: Any, what: str) -> None:
        self._text("iterator", id(value))
        self._unguardable(
            f"{_plain(what)} is {type(value).__name__}, which gives its next value once, while the "
            "function is traced",
            is_common=False,
        )

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
        self._all_names |= not _NAMES_AS_TEXT.isdisjoint(code.co_names)
        if "__globals__" in code.co_names:
            text = f"{function} uses __globals__, which can read any variable"
            self._unguardable(text, is_common=False)
        before, self._code_names = self._code_names, code.co_names
        super()._code(code, names, modules, function)
        self._code_names = before

    def _load(
        self,
        load: Load,
        code: types.CodeType,
        names: Mapping[str, Any],
        modules: Mapping[str, types.ModuleType],
        function: str,
    ) -> None:
        before = self._spot, self._is_bare
        self._spot, self._is_bare = impure.Spot(code, load.place), load.is_bare
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
        if self._spot is None:
            return
        use = impure.use_of(value, rest, self._spot, is_bare=self._is_bare)
        if use is not None:
            self.uses.append(use)

    def _in_cell(self, cell: types.CellType, variable: str, content: Any) -> None:
        if self._is_followed and not is_import(variable, content):
            self._place(Cell(variable, cell, None, content))

    def _in_globals(self, names: Mapping[str, Any], name: str, value: Any) -> None:
        if not is_import(name, value):
            self._place(Global(f"global {name}", names, name, value))

    def _in_module(self, module: types.ModuleType, attribute: str, value: Any, path: str) -> None:
        self._is_fixed = not is_users_module(module)
        if not self._is_fixed and not is_import(attribute, value):
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

    # --- objects --------------------------------------------------------------------------------

    def _instance(self, value: Any, what: str) -> None:
        kind = type(value)
        self._text("instance", id(kind))
        if is_users_class(kind):
            if not is_all_users(kind):  # of which methods of a library may read anything
                self._text("identity", id(value))
            self._objects.append((value, what, set()))
            self._special_methods(kind, _NOT_FOLLOWED)
            return
        held = dict_of(value)
        self._text("identity", id(value))
        if "__qualname__" in held:
            return  # a function by another name, such as NumPy's
        if not held:
            self._unguardable(f"{_plain(what)} is a {kind.__qualname__}", is_common=True)
        for name, part in sorted(held.items(), key=str):
            if issubclass(type(part), _READ_OF_LIBRARY_OBJECTS):
                self._found_attribute(value, name, part, what)

    def _class(self, value: type, what: str) -> None:
        self._text("class", value.__module__, value.__qualname__, id(value))
        if not is_users_class(value):
            return
        self._objects.append((value, value.__name__, set()))
        self._special_methods(value, frozenset())

    def _special_methods(self, kind: type, without: frozenset[str]) -> None:
        """The methods of a class of the user that Python calls by itself."""
        for name in sorted(class_names(kind) - without):
            method = in_class(kind, name)
            if name.startswith("__") and issubclass(type(method), types.FunctionType):
                label = f"{kind.__name__}.{name}"
                self._place(Attribute(label, kind, name, method))
                self._value(method, label)

    def _follow_attributes(self) -> None:
        """Look into objects for the names that code has, until there are no new ones."""
        known = -1
        while known != len(self._names) + len(self._objects) + self._all_names:
            known = len(self._names) + len(self._objects) + self._all_names
            for owner, what, done in self._objects:
                there = dict_of(owner)
                names = set(there) if self._all_names or is_read_whole(owner) else set()
                if self._all_names and there and not issubclass(type(owner), types.FunctionType):
                    keys = frozenset(there)
                    self._place(Keys(f"what {_plain(what)} has", there, None, keys))
                names |= (there.keys() | class_names(owner)) & self._names
                for name in sorted(names - done, key=str):
                    done.add(name)
                    self._attribute(owner, name, there.get(name, MISSING), what)

    def _attribute(self, owner: Any, name: str, held: Any, what: str) -> None:
        """One attribute of an object, as Python finds it."""
        self._text("attribute", name)
        found = in_class(owner if issubclass(type(owner), type) else type(owner), name)
        if issubclass(type(owner), type):
            held = found
        elif found is not MISSING and (held is MISSING or is_data_descriptor(found)):
            self._from_class(owner, name, found, what)
            return
        if held is MISSING or name.startswith("__"):
            return
        if issubclass(type(owner), type) and issubclass(type(held), _DESCRIPTORS):
            self._from_descriptor(owner, name, held, what)
        elif not (issubclass(type(owner), types.ModuleType) and is_import(name, held)):
            self._found_attribute(owner, name, held, what)

    def _from_class(self, owner: Any, name: str, found: Any, what: str) -> None:
        """An attribute that an object has from its class."""
        label = f"{_plain(what)}.{name}"
        if issubclass(type(found), types.FunctionType):
            self._place(Method(label, owner, name, found))
            self._value(found, f"{what}.{name}")
            for kind, method in overridden(type(owner), name):
                self._place(Attribute(f"{kind.__name__}.{name}", kind, name, method))
                self._value(method, f"{kind.__name__}.{name}")
        elif issubclass(type(found), types.MemberDescriptorType):
            value = getattr(owner, name, MISSING)
            if value is not MISSING:
                self._found_attribute(owner, name, value, what)
        elif hasattr(type(found), "__get__"):
            self._from_descriptor(owner, name, found, what)
        elif not name.startswith("__"):
            self._found_attribute(owner, name, found, what)

    def _from_descriptor(self, owner: Any, name: str, found: Any, what: str) -> None:
        """A static or class method, a property, or something like them."""
        label = f"{_plain(what)}.{name}"
        if issubclass(type(found), staticmethod):
            self._found_attribute(owner, name, found.__func__, what)
            return
        if issubclass(type(found), classmethod):
            self._place(Method(label, owner, name, found.__func__))
        elif issubclass(type(found), property | functools.cached_property):
            self.is_incomplete |= issubclass(type(found), functools.cached_property)
            kind = owner if issubclass(type(owner), type) else type(owner)
            self._place(Attribute(label, kind, name, found))
        self._value(found, f"{what}.{name}")

    def _found_attribute(self, owner: Any, name: str, value: Any, what: str) -> None:
        label = f"{_plain(what)}.{name}"
        if issubclass(type(value), types.ModuleType):
            self._module_value(value, name, what)
            return
        if has_own_getattribute(owner) or not name.isidentifier() or iskeyword(name):
            self._place(Entry(label, dict_of(owner), name, value))
        else:
            self._place(Attribute(label, owner, name, value))
        self._value(value, f"{what}.{name}")


_NUMPY: Final = np.__file__.rpartition("__init__")[0]
_READ_OF_LIBRARY_OBJECTS: Final = (
    *(bool, int, float, complex, str, np.ndarray),
    *(types.FunctionType, types.MethodType, functools.partial),
)
_DATA: Final = (list, dict, tuple, set, frozenset, np.ndarray)
_WRAPPERS: Final = (
    property,
    classmethod,
    staticmethod,
    functools.cached_property,
    functools.partialmethod,
    functools._lru_cache_wrapper,
)
_DESCRIPTORS: Final = (*_WRAPPERS[:5], types.MemberDescriptorType, types.GetSetDescriptorType)
_Kinds = tuple[tuple[Any, Callable[[Dependencies, Any, str], None]], ...]
_KINDS: Final[_Kinds] = (
    ((types.MethodType,), Dependencies._method),
    ((types.BuiltinFunctionType, types.MethodWrapperType), Dependencies._native),
    ((np.generic, np.dtype, int, str), Dependencies._constant),
    ((np.ndarray,), Dependencies._array),
    ((types.ModuleType,), Dependencies._module),
    ((operator.attrgetter, operator.methodcaller), Dependencies._getter),
    ((type,), Dependencies._class),
    (_WRAPPERS, Dependencies._wrapper),
    ((list, dict, tuple, set, frozenset, collections.deque), Dependencies._collection),
    (_ITERATORS, Dependencies._iterator),
    ((np.ufunc, types.MethodDescriptorType, types.WrapperDescriptorType), Dependencies._named),
)


def _plain(what: str) -> str:
    """What a value is called in reasons, without who reads it."""
    text = what.partition(", which ")[0]
    return text.removeprefix("the ") if text.startswith("the global ") else text
