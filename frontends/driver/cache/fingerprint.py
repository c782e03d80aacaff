"""What a function is: a digest of everything that its trace can depend on.

It covers the function's code, defaults and closure, the globals that the code names, and so on
through all Python functions reached. NumPy and other libraries that compute the same whenever asked
are pinned by their version, Weft by its sources. Whatever is not understood has no digest, only a
reason: a program that is compiled again costs time, a wrong one costs trust.
"""

from __future__ import annotations

import abc
import builtins
import dataclasses
import enum
import functools
import importlib
import re
import struct
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from typing import Any, Final

import numpy as np

from weft.frontends.driver.cache import bytecode, purity
from weft.frontends.tracing.caller import is_weft

MOST_ARRAY_BYTES: Final = 32 << 20
MOST_VALUES: Final = 200_000
_WORDS: Final = struct.Struct("<qq")
# Parts of a class that say nothing about what its methods do, or that are told in other ways.
_SKIPPED: Final = frozenset(
    "__dict__ __weakref__ __doc__ __module__ __annotations__ __abstractmethods__ _abc_impl "
    "__parameters__ __orig_bases__ __dataclass_fields__ __dataclass_params__ __match_args__ "
    "__firstlineno__ __static_attributes__ __annotate__ __annotate_func__ "
    "__annotations_cache__".split()
)
_LOOK_UPS: Final = frozenset(("getattr", "hasattr"))
_METACLASSES: Final = (type, abc.ABCMeta, enum.EnumMeta)
# Of Weft's own objects, what a trace can see; the rest is what they remember between calls.
_WEFT_STATE: Final = {
    "ArrayType": ("dtype", "shape"),
    "CompiledFunction": ("function", "signature"),
    "DType": ("name",),
    "Dim": ("terms",),
    "Maximum": ("left", "right"),
    "Quotient": ("numerator", "denominator"),
    "FunctionSignature": ("static_names", "static_numbers"),
    "Symbol": ("name", "lower", "upper"),
    "custom_jvp": ("function", "rule", "name"),
    "custom_vjp": ("function", "forward", "backward", "name"),
}


class NoFingerprint(Exception):
    """Why a function has no digest."""


class Fingerprint:
    """A hash over Python values and functions; `add` raises `NoFingerprint` for what it cannot
    tell.

    >>> one, other = Fingerprint(), Fingerprint()
    >>> one.add(lambda x: x + 1, "f"), other.add(lambda x: x + 2, "f")
    (None, None)
    >>> one.hexdigest() == other.hexdigest()
    False
    """

    def __init__(self) -> None:
        self._hash = blake2b(digest_size=20)
        self._seen: dict[int, int] = {}
        self._kept: list[Any] = []  # so that no id is used twice
        self._classes: dict[type, int] = {}
        self._array_bytes = 0
        self._values = 0
        self._codes: list[tuple[types.CodeType, Mapping[str, Any]]] = []
        self._names: set[str] = set()
        self._strings: set[str] = set()  # that getattr may be given
        self._modules: dict[str, types.ModuleType] = {}  # the user's, of which some parts are used
        self._looked: set[tuple[str, str]] = set()
        self._libraries: dict[str, bool] = {}  # pure ones; True: met elsewhere than as a global

    def add(self, value: Any, what: str) -> None:
        """Take in a value; `what` says in reasons where it is."""
        try:
            self._add(value, what)
        except RecursionError:
            raise NoFingerprint(f"{what} is nested too deeply") from None

    def hexdigest(self) -> str:
        """The digest of all that was added."""
        self._follow_modules()
        self._check_libraries()
        return self._hash.hexdigest()

    # --- values ---------------------------------------------------------------------------------

    def _write(self, tag: str, data: bytes = b"") -> None:
        self._hash.update(_WORDS.pack(len(tag), len(data)))
        self._hash.update(tag.encode())
        self._hash.update(data)

    def _text(self, tag: str, *texts: object) -> None:
        self._write(tag, "\0".join(map(str, texts)).encode("utf-8", "surrogatepass"))

    def _add(self, value: Any, what: str) -> None:
        self._values += 1
        if self._values > MOST_VALUES:
            raise NoFingerprint(f"it depends on more than {MOST_VALUES:,} values")
        kind = type(value)
        immutable = _IMMUTABLE.get(kind)
        if immutable is not None:
            immutable(self, value, what)
            return
        # Whether immutable values are shared is up to the interpreter; of others it is a fact.
        number = self._seen.get(id(value))
        if number is not None:
            self._text("again", number)
            return
        self._seen[id(value)] = len(self._seen)
        self._kept.append(value)
        handler = _HANDLERS.get(kind)
        if handler is not None:
            handler(self, value, what)
        else:
            self._other(value, what)

    def _other(self, value: Any, what: str) -> None:
        """What is known by something else than its exact type."""
        kind = type(value)
        if isinstance(value, type):
            self._class(value, what)
        elif self._is_named(value):
            self._text("named", value.__module__, _name(value))
        elif isinstance(value, np.generic):
            self._array(np.asarray(value), what)
        elif isinstance(value, np.dtype) and not value.hasobject:
            self._text("dtype", value.str if value.isbuiltin == 1 else value.name)
        elif isinstance(value, np.ufunc):
            self._ufunc(value, what)
        elif isinstance(value, enum.Enum):
            self._class(kind, what)
            self._text("member", value.name)
        elif isinstance(value, tuple) and kind.__mro__[1:] == (tuple, object):
            self._class(kind, what)  # a namedtuple
            self._items("fields", value, what)
        elif kind.__module__.startswith("weft.") and kind.__name__ in _WEFT_STATE:
            self._text("weft object", kind.__name__)
            for name in _WEFT_STATE[kind.__name__]:
                self._add(getattr(value, name), what)
        elif kind.__module__ == "typing":
            self._text("typing", repr(value))
        elif dataclasses.is_dataclass(value):
            self._class(kind, what)
            for name, part in _state(value).items():
                self._text("field", name)
                self._add(part, f"{what}.{name}")
        else:
            raise NoFingerprint(f"{what} is {_a(kind)}, which may hold state that changes")

    def _atom(self, value: Any, what: str) -> None:
        self._text(type(value).__name__, value)

    def _string(self, value: str, what: str) -> None:
        self._text("str", value)
        if value.isidentifier():
            self._strings.add(value)

    def _float(self, value: float, what: str) -> None:
        self._write("float", struct.pack("<d", value))

    def _complex(self, value: complex, what: str) -> None:
        self._write("complex", struct.pack("<dd", value.real, value.imag))

    def _bytes(self, value: bytes | bytearray, what: str) -> None:
        self._write("bytes", bytes(value))

    def _sequence(self, value: Iterable[Any], what: str) -> None:
        self._items(type(value).__name__, value, what)

    def _items(self, tag: str, values: Iterable[Any], what: str) -> None:
        held = tuple(values)
        self._text(tag, len(held))
        for number, item in enumerate(held):
            self._add(item, f"{what}[{number}]")

    def _mapping(self, value: Mapping[Any, Any], what: str) -> None:
        """In the order of the keys, which loops over it see."""
        self._text("mapping", type(value).__name__, len(value))
        for key, item in tuple(value.items()):
            self._add(key, f"a key of {what}")
            self._add(item, f"{what}[{key!r}]")

    def _set(self, value: Iterable[Any], what: str) -> None:
        """In no order, as it has none that another process would see too."""
        parts = []
        for item in value:
            part = Fingerprint()
            part.add(item, f"an element of {what}")
            parts.append(part.hexdigest())
        self._text(type(value).__name__, *sorted(parts))

    def _slice(self, value: slice | range, what: str) -> None:
        self._items(type(value).__name__, (value.start, value.stop, value.step), what)

    def _pattern(self, value: re.Pattern[Any], what: str) -> None:
        self._items("pattern", (value.pattern, value.flags), what)

    def _alias(self, value: types.GenericAlias, what: str) -> None:
        self._text("alias", value)

    def _array(self, value: np.ndarray[Any, Any], what: str) -> None:
        if value.dtype.hasobject:
            raise NoFingerprint(f"{what} is an array of Python objects")
        self._array_bytes += value.nbytes
        if self._array_bytes > MOST_ARRAY_BYTES:
            limit = MOST_ARRAY_BYTES >> 20
            raise NoFingerprint(
                f"with {what} it holds more than {limit} MiB of arrays; pass them as arguments"
            )
        self._text("array", value.dtype.str, value.dtype.name, value.shape)
        self._write("data", value.tobytes())

    def _ufunc(self, value: np.ufunc, what: str) -> None:
        """One of NumPy's or SciPy's; others may be made of Python functions."""
        for module in ("numpy", "scipy.special"):
            if getattr(sys.modules.get(module), value.__name__, None) is value:
                self._text("ufunc", module, value.__name__, purity.version(module))
                return
        raise NoFingerprint(f"{what} is a ufunc that is neither NumPy's nor SciPy's")

    def _partial(self, value: functools.partial[Any], what: str) -> None:
        self._text("partial")
        self._add(value.func, what)
        self._add(value.args, f"the arguments of {what}")
        self._add(value.keywords, f"the arguments of {what}")

    def _method(self, value: types.MethodType, what: str) -> None:
        self._text("method")
        self._add(value.__func__, what)
        self._add(value.__self__, f"the object of {what}")

    def _memoized(self, value: Any, what: str) -> None:
        self._text("memoized")
        self._add(value.__wrapped__, what)

    def _builtin(self, value: Any, what: str) -> None:
        if value.__module__ == "builtins" and value.__name__ in purity.BUILTINS:
            self._text("builtin", value.__name__)
        elif self._is_named(value):
            self._text("named", value.__module__, value.__qualname__)
        else:
            raise NoFingerprint(
                f"{what} is {_full_name(value)}, which may give something else later"
            )

    # --- functions ------------------------------------------------------------------------------

    def _function(self, function: types.FunctionType, what: str) -> None:
        code = function.__code__
        if is_weft(code.co_filename):
            self._text("weft", code.co_filename, code.co_qualname)
        elif self._is_named(function):
            self._text("named", function.__module__, function.__qualname__)
            return
        else:
            self._text("function", function.__name__, function.__qualname__)
            self._code(code, function.__globals__, function.__name__)
        name = function.__name__
        self._add(function.__defaults__, f"a default of {name}")
        self._add(function.__kwdefaults__, f"a default of {name}")
        for variable, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                content = cell.cell_contents
            except ValueError:
                self._text("empty cell", variable)
                continue
            self._add(content, f"{variable}, which {name} closes over,")
        for key, item in vars(function).items():
            self._text("attribute", key)
            self._add(item, f"{name}.{key}")

    def _code(self, code: types.CodeType, names: Mapping[str, Any], function: str) -> None:
        """The code itself, with its place in the file, which error messages name."""
        self._codes.append((code, names))
        self._names.update(code.co_names)
        self._text("code", code.co_qualname, code.co_filename, code.co_firstlineno, code.co_flags)
        self._text("counts", code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)
        for variables in (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars):
            self._text("names", *variables)
        for data in (code.co_code, code.co_linetable, code.co_exceptiontable):
            self._write("code", data)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._code(constant, names, constant.co_name)
            else:
                self._add(constant, f"a constant of {function}")
        for name in bytecode.global_names(code):
            self._global(name, names, function)
        for name, level in bytecode.imports(code):
            self._import(name, level, function)

    def _global(self, name: str, names: Mapping[str, Any], function: str) -> None:
        self._text("global", name)
        what = f"the global {name}, which {function} reads,"
        if name in names:
            value = names[name]
            if isinstance(value, types.ModuleType):
                self._module(value, what, as_global=True)
            else:
                self._add(value, what)
        elif hasattr(builtins, name):
            self._add(getattr(builtins, name), f"{name}, which {function} uses,")
        else:
            self._text("missing")

    def _import(self, name: str, level: int, function: str) -> None:
        known = name in sys.modules or purity.is_pure(name)
        if level or not known:
            raise NoFingerprint(f"{function} imports {'.' * level}{name}; import it at the top")
        try:
            importlib.import_module(name)
        except ImportError:
            raise NoFingerprint(f"{function} imports {name}, which cannot be imported") from None
        parts = name.split(".")
        for count in range(len(parts)):
            module = ".".join(parts[: count + 1])
            self._add(sys.modules[module], f"the module {module}, which {function} imports,")

    # --- modules --------------------------------------------------------------------------------

    def _module(self, module: types.ModuleType, what: str, *, as_global: bool = False) -> None:
        name = module.__name__
        self._text("module", name)
        if purity.is_pure(name):
            self._text("version", purity.version(name))
            self._libraries[name] = self._libraries.get(name, False) or not as_global
        elif purity.is_impure(name):
            raise NoFingerprint(
                f"{what} is the module {name}, whose functions may give something new"
            )
        elif "__getattr__" in vars(module):
            raise NoFingerprint(
                f"{what} is the module {name}, which makes its attributes when asked"
            )
        else:
            self._modules.setdefault(name, module)

    def _follow_modules(self) -> None:
        """Take in what any code reached may use of modules that are not pinned by a version: all
        their attributes that are named somewhere.
        """
        while True:
            wanted = [
                (module, name)
                for module in tuple(self._modules)
                for name in sorted(self._names)
                if (module, name) not in self._looked and name in vars(self._modules[module])
            ] + self._patched()
            if self._modules and self._names & _LOOK_UPS:
                module = next(iter(self._modules))
                raise NoFingerprint(f"it uses getattr or hasattr, perhaps on the module {module}")
            if not wanted:
                return
            for module, name in wanted:
                self._looked.add((module, name))
                self._text("of module", module, name)
                holder = self._modules.get(module) or sys.modules[module]
                self.add(vars(holder)[name], f"{module}.{name}")

    def _patched(self) -> list[tuple[str, str]]:
        """Functions of the user that were put into libraries."""
        found = []
        stack = [sys.modules[library] for library in self._libraries if library in sys.modules]
        seen = set(stack)
        while stack:
            module = stack.pop()
            for name in sorted(self._names & vars(module).keys()):
                value = vars(module)[name]
                if isinstance(value, types.ModuleType) and purity.is_pure(value.__name__):
                    if value not in seen:
                        seen.add(value)
                        stack.append(value)
                elif isinstance(value, types.FunctionType) and not _is_library(value):
                    found.append((module.__name__, name))
        return [pair for pair in sorted(found) if pair not in self._looked]

    def _check_libraries(self) -> None:
        """That no code uses the few parts of a pure library that are not pure."""
        for name in sorted(self._names & purity.REFLECTION):
            raise NoFingerprint(f"it uses {name}, through which it may read anything")
        given = self._strings if self._names & _LOOK_UPS else set()
        for library, elsewhere in self._libraries.items():
            for name in sorted((self._names | given) & purity.impure_parts(library)):
                if elsewhere or name in given or self._may_use(library, name):
                    raise NoFingerprint(
                        f"it uses {library}.{name}, which may give something else later"
                    )

    def _may_use(self, library: str, name: str) -> bool:
        return any(
            bytecode.may_read_attribute(code, variable, name)
            for code, names in self._codes
            if name in code.co_names
            for variable in code.co_names
            if getattr(names.get(variable), "__name__", None) == library
        )

    def _is_named(self, value: Any) -> bool:
        """Whether the value is what a pure module has under the value's own name."""
        module, name = getattr(value, "__module__", None), _name(value)
        if not isinstance(module, str) or not isinstance(name, str) or not purity.is_pure(module):
            return False
        found: Any = sys.modules.get(module)
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is not value:
            return False
        if name in purity.impure_parts(module):
            raise NoFingerprint(f"it uses {module}.{name}, which may give something else later")
        self._text("version", purity.version(module))
        return True

    # --- classes --------------------------------------------------------------------------------

    def _class(self, kind: type, what: str) -> None:
        if kind in self._classes:
            self._text("class again", self._classes[kind])
            return
        self._classes[kind] = len(self._classes)
        if type(kind) not in _METACLASSES:
            raise NoFingerprint(
                f"{what} is of {kind.__name__}, a class with a metaclass of its own"
            )
        for base in kind.__mro__:
            if base.__module__ == "builtins":
                self._builtin_class(base, what)
            elif self._is_named(base):
                self._text("class", base.__module__, base.__qualname__)
            else:
                self._own_class(base)

    def _builtin_class(self, kind: type, what: str) -> None:
        is_known = kind.__name__ in purity.BUILTINS or issubclass(kind, BaseException)
        if not is_known:
            raise NoFingerprint(f"{what} is {kind.__name__}, which may give something else later")
        self._text("class", kind.__name__)

    def _own_class(self, kind: type) -> None:
        """The user's class: all that it defines."""
        self._text("own class", kind.__module__, kind.__qualname__)
        if issubclass(kind, enum.Enum):
            for member in kind:
                self._text("member", member.name)
                self._add(member._value_, f"{kind.__name__}.{member.name}")
        self._dataclass_parts(kind)
        for name, part in tuple(vars(kind).items()):
            if name in _SKIPPED or _is_of_enum(kind, name, part) or _is_generated(part):
                continue
            self._text("defines", name)
            self._class_part(part, f"{kind.__name__}.{name}")

    def _dataclass_parts(self, kind: type) -> None:
        if "__dataclass_fields__" not in vars(kind):
            return
        self._text("dataclass", kind.__dataclass_params__)  # type: ignore[attr-defined]
        for field in dataclasses.fields(kind):
            self._text("field", field.name, field.init, field.compare)
            self._add(field.metadata, f"the metadata of {kind.__name__}.{field.name}")
            for default in (field.default, field.default_factory):
                if default is not dataclasses.MISSING:
                    self._add(default, f"the default of {kind.__name__}.{field.name}")

    def _class_part(self, part: Any, what: str) -> None:
        if isinstance(part, staticmethod | classmethod):
            self._text(type(part).__name__)
            self._add(part.__func__, what)
        elif isinstance(part, property):
            for function in (part.fget, part.fset, part.fdel):
                self._add(function, what)
        elif isinstance(part, functools.cached_property):
            self._add(part.func, what)
        elif isinstance(part, types.MemberDescriptorType) or type(part).__name__ == "_tuplegetter":
            self._text("slot")
        else:
            self._add(part, what)


def _is_library(function: types.FunctionType) -> bool:
    """Whether a function is where libraries are defined, whatever it is called."""
    home = function.__globals__.get("__name__", "")
    return purity.is_pure(home) or purity.is_impure(home)


def _is_of_enum(kind: type, name: str, part: Any) -> bool:
    """What the `enum` module puts into a class: members, and its own tables and functions."""
    if not issubclass(kind, enum.Enum):
        return False
    function = getattr(part, "__func__", part)
    code = getattr(function, "__code__", None)
    if code is not None:
        return bool(code.co_filename == enum.__file__)
    return not isinstance(part, property) or type(part) is enum.property


def _is_generated(part: Any) -> bool:
    """Whether it is a function that `dataclass` or `namedtuple` wrote, which their fields tell."""
    function = getattr(part, "__wrapped__", getattr(part, "__func__", part))
    code = getattr(function, "__code__", None)
    made_of = (dataclasses.__file__, "<string>", namedtuple_file())
    is_dunder = getattr(function, "__name__", "").startswith("_")
    return (
        code is not None
        and is_dunder
        and (code.co_filename in made_of or code.co_filename.startswith("<string"))
    )


@functools.cache
def namedtuple_file() -> str:
    import collections

    return str(collections.__file__)


def _state(instance: Any) -> dict[str, Any]:
    """All attributes of a dataclass's instance, also those that are no fields."""
    held = {field.name: getattr(instance, field.name) for field in dataclasses.fields(instance)}
    return held | getattr(instance, "__dict__", {})


def _name(value: Any) -> Any:
    return getattr(value, "__qualname__", None) or getattr(value, "__name__", None)


def _full_name(value: Any) -> str:
    owner = getattr(value, "__self__", None)
    if owner is not None and not isinstance(owner, types.ModuleType):
        return f"a method of {_a(type(owner))}"
    return f"{value.__module__}.{value.__name__}"


def _a(kind: type) -> str:
    name = (
        kind.__qualname__
        if kind.__module__ in ("builtins", "__main__")
        else (f"{kind.__module__}.{kind.__qualname__}")
    )
    return f"an instance of {name}"


_Handler = Callable[[Fingerprint, Any, str], None]
_IMMUTABLE: Final[dict[type, _Handler]] = {
    **dict.fromkeys(
        (type(None), bool, int, type(Ellipsis), type(NotImplemented)), Fingerprint._atom
    ),
    str: Fingerprint._string,
    float: Fingerprint._float,
    complex: Fingerprint._complex,
    bytes: Fingerprint._bytes,
    tuple: Fingerprint._sequence,
    frozenset: Fingerprint._set,
    slice: Fingerprint._slice,
    range: Fingerprint._slice,
    types.GenericAlias: Fingerprint._alias,
}
_HANDLERS: Final[dict[type, _Handler]] = {
    list: Fingerprint._sequence,
    set: Fingerprint._set,
    dict: Fingerprint._mapping,
    types.MappingProxyType: Fingerprint._mapping,
    bytearray: Fingerprint._bytes,
    np.ndarray: Fingerprint._array,
    re.Pattern: Fingerprint._pattern,
    functools.partial: Fingerprint._partial,
    type(functools.cache(len)): Fingerprint._memoized,
    types.FunctionType: Fingerprint._function,
    types.MethodType: Fingerprint._method,
    types.BuiltinFunctionType: Fingerprint._builtin,
    types.ModuleType: Fingerprint._module,
}
