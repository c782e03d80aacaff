"""Objects and classes: which of their attributes a function can see, by the names that its code
has; and what a walk notes of them, or leaves open.
"""

from __future__ import annotations

import enum
import functools
import itertools
import operator
import types
from keyword import iskeyword
from typing import Any, Final

import numpy as np

from weft.compiler.record import record
from weft.frontends.driver.cache.walk import MOST_VALUES, FunctionWalk
from weft.frontends.driver.frozen import impure
from weft.frontends.driver.frozen.guard import Guard
from weft.frontends.driver.frozen.impure import Use
from weft.frontends.driver.frozen.objects import (
    MISSING,
    class_names,
    data_names,
    dict_of,
    has_own_getattribute,
    in_class,
    is_all_users,
    is_data_descriptor,
    is_import,
    is_read_whole,
    is_users_class,
    overridden,
    users_classes,
)
from weft.frontends.driver.frozen.places import (
    Attribute,
    ClassKeys,
    DictEntry,
    GuardedPlace,
    Keys,
    Method,
    Never,
    Unset,
)

MOST_PLACES: Final = 2048  # that are asked for before every call, at some 10 ns each
# Methods by which Python itself looks at instances, not the user's code on the way of a trace.
_NOT_FOLLOWED: Final = frozenset(
    "__init__ __new__ __post_init__ __repr__ __str__ __reduce__ __reduce_ex__ "
    "__del__ __getstate__ __setstate__ __init_subclass__ __class_getitem__ __sizeof__ __dir__ "
    "__setattr__ __delattr__".split()
)
# But code asks for them by these names, or where it makes text.
_TEXT: Final = frozenset(("__str__", "__repr__"))
_ASKED_FOR_BY: Final = {
    "copy": frozenset(("__reduce__", "__reduce_ex__", "__getstate__", "__setstate__")),
    "deepcopy": frozenset(("__reduce__", "__reduce_ex__", "__getstate__", "__setstate__")),
    "replace": frozenset(("__post_init__",)),
    "getsizeof": frozenset(("__sizeof__",)),
}
_SPOILT: Final = itertools.count()
# Names with which code reads attributes that are hidden by others.
_REACH_FURTHER: Final = frozenset(("super", "type", "__class__"))
# Classes of the standard library whose instances hold what the user puts there.
_HOLDERS: Final = frozenset(
    (
        ("types", "SimpleNamespace"),
        ("argparse", "Namespace"),
        ("collections", "UserDict"),
        ("collections", "UserList"),
        ("collections", "ChainMap"),
        ("weakref", "WeakKeyDictionary"),
        ("weakref", "WeakValueDictionary"),
        ("_thread", "_local"),
    )
)
_READ_OF_LIBRARY_OBJECTS: Final = (
    *(bool, int, float, complex, str, tuple, np.ndarray),
    *(types.FunctionType, types.MethodType, functools.partial),
)
_FIXED: Final = (type, types.ModuleType, types.BuiltinFunctionType, np.ufunc, np.dtype)
WRAPPERS: Final = (
    property,
    classmethod,
    staticmethod,
    functools.cached_property,
    functools.partialmethod,
    functools._lru_cache_wrapper,
)
_DESCRIPTORS: Final = (*WRAPPERS[:5], types.MemberDescriptorType, types.GetSetDescriptorType)


@record
class Unguarded:
    """Something that cannot be guarded, and whether programs that are right may well have it."""

    text: str
    is_common: bool


class TooMany(Exception):
    """There are more values than a walk should take."""


class Attributes(FunctionWalk):
    """The part of `Dependencies` that looks into objects."""

    def __init__(self) -> None:
        super().__init__()
        self.places: list[GuardedPlace] = []
        self.unguarded: list[Unguarded] = []
        self.uses: list[Use] = []
        self.generators: dict[int, tuple[Any, str, impure.Spot | None]] = {}
        self.codes: list[types.CodeType] = []
        self.is_incomplete = False
        self._known: set[Any] = set()  # the identities of places
        self._names: set[str] = set()
        self._all_names = False
        self._makes_text = False
        self._may_miss = False  # code catches exceptions, as that there is no such attribute
        self._objects: list[tuple[Any, str, set[str]]] = []
        self._spot: impure.Spot | None = None
        self._last_spot: impure.Spot | None = None  # in code that was walked over before
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
            self._unguardable(f"more than {MOST_VALUES:,} values", is_common=False)

    def _too_deep(self, what: str) -> None:
        self._unguardable(f"{what} is nested too deeply", is_common=False)

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

    def _place(self, place: GuardedPlace) -> None:
        if place.identity in self._known:
            return
        self._known.add(place.identity)
        if len(self.places) == MOST_PLACES:
            self._unguardable(f"more than {MOST_PLACES:,} values", is_common=False)
        if len(self.places) <= MOST_PLACES:
            self.places.append(place)
        if place.look is not None:
            self._unguardable(f"all of {place.label}, which is large", is_common=True)

    def _own_class(self, value: Any, what: str) -> None:
        """An array, number or string of a class that the user made."""
        if is_users_class(type(value)):
            self._text("class", id(type(value)))
            self._objects.append((value, what, set()))
            self._special_methods(type(value), _NOT_FOLLOWED)

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
        if "__qualname__" in held or kind.__module__.startswith("_cython"):
            return  # a function by another name, such as NumPy's
        is_holder = (kind.__module__, kind.__qualname__) in _HOLDERS
        if is_holder:
            self._place(Keys(f"what {plain(what)} has", held, None, frozenset(held)))
        elif not held:
            self._unguardable(f"{plain(what)} is a {kind.__qualname__}", is_common=True)
        for name, part in sorted(held.items(), key=str):
            if is_holder or issubclass(type(part), _READ_OF_LIBRARY_OBJECTS):
                self._found_attribute(value, name, part, what)
            elif part is not None and not issubclass(type(part), _FIXED):
                text = f"{plain(what)}.{name} is a {type(part).__qualname__} of a library's object"
                self._unguardable(text, is_common=True)

    def _class(self, value: type, what: str) -> None:
        self._text("class", value.__module__, value.__qualname__, id(value))
        self._all_names |= value in (operator.attrgetter, operator.methodcaller)
        if not is_users_class(value):
            return
        if issubclass(value, enum.Enum):
            for member in value:
                self._objects.append((member, f"{value.__name__}.{member.name}", set()))
        self._objects.append((value, value.__name__, set()))
        self._special_methods(value, frozenset())
        if is_users_class(type(value)):
            self._value(type(value), f"the class of {value.__name__}")

    def _special_methods(self, kind: type, without: frozenset[str]) -> None:
        """The methods of a class of the user that Python calls by itself."""
        for name in sorted(class_names(kind) - without):
            method = in_class(kind, name)
            is_of_class = issubclass(type(method), classmethod)  # as `__init_subclass__` is
            if is_of_class or issubclass(type(method), staticmethod):  # as `__new__` is
                method = method.__func__
            if name.startswith("__") and issubclass(type(method), types.FunctionType):
                label = f"{kind.__name__}.{name}"
                place = Method if is_of_class else Attribute
                self._place(place(label, kind, name, method))
                self._value(method, label)
                for each, behind in overridden(kind, name):
                    self._place(DictEntry(f"{each.__name__}.{name}", vars(each), name, behind))
                    self._value(behind, f"{each.__name__}.{name}")

    def _follow_attributes(self) -> None:
        """Look into objects for the names that code has, until there are no new ones."""
        known: tuple[int, ...] = ()
        while known != (now := self._extent()):
            known = now
            for owner, what, done in self._objects:
                there = dict_of(owner)
                names = set(there) if self._all_names or is_read_whole(owner) else set()
                names |= data_names(owner) if self._all_names else set()
                names |= getattr(type(owner), "__dataclass_fields__", {}).keys()
                if self._all_names or self._may_miss or "__getattr__" in class_names(owner):
                    self._keys_of(owner, there, what)
                names |= (there.keys() | class_names(owner)) & self._names
                for name in sorted(names - done, key=str):
                    done.add(name)
                    self._attribute(owner, name, there.get(name, MISSING), what)
                    self._behind(owner, name, what)
                self._asked_methods(owner, done)

    def _asked_methods(self, owner: Any, done: set[str]) -> None:
        """Methods that Python calls for code that copies objects or makes text of them."""
        asked = set(_TEXT) if self._makes_text else set()
        for name in _ASKED_FOR_BY.keys() & self._names:
            asked |= _ASKED_FOR_BY[name]
        asked -= done
        if asked and is_users_class(type(owner)):
            done |= asked
            self._special_methods(type(owner), _NOT_FOLLOWED - asked)

    def _extent(self) -> tuple[int, ...]:
        """What grows while attributes are followed."""
        flags = self._all_names, self._may_miss, self._makes_text
        return len(self._names), len(self._objects), *flags

    def _keys_of(self, owner: Any, there: dict[str, Any], what: str) -> None:
        """Which attributes an object and its classes have, where code can go on without one."""
        if not issubclass(type(owner), type) and getattr(owner, "__dict__", None) is there:
            self._place(Keys(f"what {plain(what)} has", there, None, frozenset(there)))
        for kind in users_classes(owner):
            self._place(ClassKeys(f"what {kind.__name__} has", kind, None, frozenset(vars(kind))))

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

    def _behind(self, owner: Any, name: str, what: str) -> None:
        """What a name stands for further up, which `super()` and `type(x)` reach."""
        if name.startswith("__") or _REACH_FURTHER.isdisjoint(self._names):
            return
        for kind in users_classes(owner):
            found = vars(kind).get(name, MISSING)
            if found is not MISSING and not issubclass(type(found), types.MemberDescriptorType):
                self._place(DictEntry(f"{kind.__name__}.{name}", vars(kind), name, found))
                self._value(found, f"{kind.__name__}.{name}")

    def _from_class(self, owner: Any, name: str, found: Any, what: str) -> None:
        """An attribute that an object has from its class."""
        label = f"{plain(what)}.{name}"
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
            elif self._all_names or self._may_miss:
                self._place(Unset(label, owner, name, None))
        elif hasattr(type(found), "__get__"):
            self._from_descriptor(owner, name, found, what)
        elif not name.startswith("__"):
            self._found_attribute(owner, name, found, what)

    def _from_descriptor(self, owner: Any, name: str, found: Any, what: str) -> None:
        """A static or class method, a property, or something like them."""
        label = f"{plain(what)}.{name}"
        if issubclass(type(found), staticmethod):
            self._found_attribute(owner, name, found.__func__, what)
            return
        if issubclass(type(found), classmethod):
            self._place(Method(label, owner, name, found.__func__))
        elif issubclass(type(found), property | functools.cached_property):
            self.is_incomplete |= issubclass(type(found), functools.cached_property)
            kind = owner if issubclass(type(owner), type) else type(owner)
            self._place(Attribute(label, kind, name, found))
        else:
            kinds = owner if issubclass(type(owner), type) else type(owner)
            home = next((kind for kind in kinds.__mro__ if name in vars(kind)), None)
            if home is not None:
                self._place(DictEntry(label, vars(home), name, found))
        self._value(found, f"{what}.{name}")

    def _found_attribute(self, owner: Any, name: str, value: Any, what: str) -> None:
        label = f"{plain(what)}.{name}"
        if issubclass(type(value), types.ModuleType):
            self._module_value(value, name, what)
            return
        if has_own_getattribute(owner) or not name.isidentifier() or iskeyword(name):
            self._place(DictEntry(label, dict_of(owner), name, value))
        else:
            self._place(Attribute(label, owner, name, value))
        self._value(value, f"{what}.{name}")


def plain(what: str) -> str:
    """What a value is called in reasons, without who reads it."""
    text = what.partition(", which ")[0]
    return text.removeprefix("the ") if text.startswith("the global ") else text
