"""The walk over everything that a function's trace can depend on, with a hash over what it meets.

It starts at a function and follows its code, what that loads, and what it holds: globals by name,
closure cells, defaults, functions called, and the values in all of these. Two go this way.
`understood.Digest` refuses whatever is not on its lists, so that its hash tells all that tracing
could see, in any process. `frozen.dependencies.Dependencies` goes on where it does not know
something, and notes the places in which values were found, so that changes are noticed within one
process.
"""

from __future__ import annotations

import builtins
import functools
import struct
import sys
import types
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Final

import numpy as np

from weft.frontends.driver.cache import bytecode

MOST_VALUES: Final = 200_000
_WORDS: Final = struct.Struct("<qq")
_WEFT: Final = "weft"
# Of the package's own objects, what a trace can see; the rest is what they remember between calls.
_WEFT_OBJECTS: Final = {
    "weft.compiler.ir.types.ArrayType": ("dtype", "shape"),
    "weft.compiler.ir.dtypes.DType": ("name",),
    "weft.compiler.ir.dims.Dim": ("terms",),
    "weft.compiler.ir.dims.Maximum": ("left", "right"),
    "weft.compiler.ir.dims.Quotient": ("numerator", "denominator"),
    "weft.compiler.ir.dims.Symbol": ("name", "lower", "upper"),
    "weft.frontends.api.jit.CompiledFunction": ("function", "signature"),
    "weft.frontends.tracing.arguments.FunctionSignature": ("name", "names", "static_key"),
    "weft.frontends.api.custom.custom_jvp": ("function", "rule", "name"),
    "weft.frontends.api.custom.custom_vjp": ("function", "forward", "backward", "name"),
}


class FunctionWalk:
    """Goes over values and functions, and hashes them. Whoever goes this way says what to do where
    the walk does not know how to go on (`_refuse`, `_other`), which functions' code to follow, and
    may note where values were found.
    """

    def __init__(self) -> None:
        self._hash = blake2b(digest_size=20)
        self._seen: dict[int, int] = {}
        self._kept: list[Any] = []  # so that no id is used twice
        self._values = 0

    def add(self, value: Any, what: str) -> None:
        """Take in a value; `what` says in reasons where it is."""
        try:
            self._value(value, what)
        except RecursionError:
            self._too_deep(what)

    def hexdigest(self) -> str:
        """The digest of all that was added."""
        return self._hash.hexdigest()

    # --- what differs between walks ---------------------------------------------------------------

    def _too_deep(self, what: str) -> None:
        self._refuse(f"{what} is nested too deeply")

    def _refuse(self, reason: str) -> None:
        """There is something that the walk cannot look into."""
        raise NotImplementedError

    def _other(self, value: Any, what: str) -> None:
        """Something of none of the kinds below."""
        raise NotImplementedError

    def _library(self, function: types.FunctionType, what: str) -> bool:
        """Whether a function is one that needs no look inside; it has been taken in then."""
        raise NotImplementedError

    def _follows(self, code: types.CodeType) -> bool:
        """Whether to go into the code of a function, and not only into what it holds."""
        raise NotImplementedError

    def _own_attributes(self, function: types.FunctionType, what: str) -> None:
        """The attributes that were set on a function."""
        raise NotImplementedError

    def _attributes(self, names: tuple[str, ...], function: str) -> None:
        """Attributes that code reads of something that is no module."""
        raise NotImplementedError

    def _weft_path(self, module: str, attributes: tuple[str, ...], function: str) -> None:
        """What code reads of a module of this package."""
        raise NotImplementedError

    def _unknown(self, load: bytecode.NameLoad, function: str) -> None:
        """A byte code that may read something else."""
        raise NotImplementedError

    def _module_value(self, module: types.ModuleType, name: str, function: str) -> None:
        """A module that is not only asked for attributes."""
        self._refuse(f"{function} uses the module {name} as a value")

    def _in_cell(self, cell: types.CellType, variable: str, content: Any) -> None:
        """A value was found in a cell,"""

    def _in_globals(self, names: Mapping[str, Any], name: str, value: Any) -> None:
        """in the globals of a function,"""

    def _in_module(self, module: types.ModuleType, attribute: str, value: Any, path: str) -> None:
        """or in a module."""

    def _read(self, value: Any, rest: tuple[str, ...], what: str, function: str) -> None:
        """Code loads a value and reads attributes of it at once."""
        self._value(value, what)
        self._attributes(rest, function)

    # --- values ---------------------------------------------------------------------------------

    def _write(self, tag: str, data: bytes = b"") -> None:
        self._hash.update(_WORDS.pack(len(tag), len(data)))
        self._hash.update(tag.encode())
        self._hash.update(data)

    def _text(self, tag: str, *texts: object) -> None:
        self._write(tag, "\0".join(map(str, texts)).encode("utf-8", "surrogatepass"))

    def _value(self, value: Any, what: str) -> None:
        self._values += 1
        if self._values > MOST_VALUES:
            self._refuse(f"it depends on more than {MOST_VALUES:,} values")
            return
        kind = type(value)
        immutable = _IMMUTABLE.get(kind)
        if immutable is not None:
            getattr(self, immutable)(value, what)
            return
        # Whether immutable values are shared is up to the interpreter; of others it is a fact.
        number = self._seen.get(id(value))
        if number is not None:
            self._text("again", number)
            return
        self._seen[id(value)] = len(self._seen)
        self._kept.append(value)
        getattr(self, _HANDLERS.get(kind, "_other"))(value, what)

    def _weft_object(self, value: Any, what: str) -> bool:
        """Take in an object of this package; False for one of unknown kind."""
        kind = type(value)
        name = f"{kind.__module__}.{kind.__name__}"
        if name not in _WEFT_OBJECTS:
            return False
        self._text("weft object", name)
        for part in _WEFT_OBJECTS[name]:
            self._value(getattr(value, part), what)
        return True

    def _atom(self, value: Any, what: str) -> None:
        self._text(type(value).__name__, value)

    def _float(self, value: float, what: str) -> None:
        self._write("float", struct.pack("<d", value))
        self._not_a_number(value)

    def _complex(self, value: complex, what: str) -> None:
        self._write("complex", struct.pack("<dd", value.real, value.imag))
        self._not_a_number(value)

    def _not_a_number(self, value: complex) -> None:
        """Of NaN it matters whether it is the same object: containers find nothing else."""
        if value != value:
            self._text("again", self._seen.setdefault(id(value), len(self._seen)))
            self._kept.append(value)

    def _bytes(self, value: bytes, what: str) -> None:
        self._write("bytes", value)

    def _sequence(self, value: list[Any] | tuple[Any, ...], what: str) -> None:
        held = tuple(value)
        self._text(type(value).__name__, len(held))
        for number, item in enumerate(held):
            self._value(item, f"{what}[{number}]")

    def _mapping(self, value: dict[Any, Any], what: str) -> None:
        """In the order of the keys, which loops over it see."""
        held = tuple(value.items())
        self._text("dict", len(held))
        for key, item in held:
            self._value(key, f"a key of {what}")
            self._value(item, f"{what}[{key!r}]")

    def _slice(self, value: slice | range, what: str) -> None:
        self._text(type(value).__name__)
        self._sequence((value.start, value.stop, value.step), what)

    def _array(self, value: np.ndarray[Any, Any], what: str) -> None:
        self._value(value.dtype, what)
        flags = value.flags
        self._text("array", value.shape, value.strides, flags.writeable, flags.aligned)
        self._write("data", value.tobytes())

    def _partial(self, value: functools.partial[Any], what: str) -> None:
        if vars(value):
            self._refuse(f"{what} has attributes of its own")
        self._text("partial")
        self._value(value.func, what)
        self._value(value.args, f"the arguments of {what}")
        self._value(value.keywords, f"the arguments of {what}")

    # --- functions ------------------------------------------------------------------------------

    def _function(self, function: types.FunctionType, what: str) -> None:
        if self._library(function, what):
            return
        name, code = function.__name__, function.__code__
        self._own_attributes(function, what)
        closure = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
        modules = self._cells(closure, name)
        self._value(function.__defaults__, f"a default of {name}")
        self._value(function.__kwdefaults__, f"a default of {name}")
        if not self._follows(code):
            if modules:
                self._refuse(f"{what} holds a module")
            place = code.co_filename, code.co_firstlineno
            self._text("not followed", *place, code.co_qualname)
            return
        self._text("function", name, function.__qualname__)
        self._code(code, function.__globals__, modules, name)

    def _cells(self, closure: Mapping[str, Any], name: str) -> dict[str, types.ModuleType]:
        """Take in what a function closes over; returns the modules among it, of which code may read
        attributes.
        """
        modules: dict[str, types.ModuleType] = {}
        for variable, cell in closure.items():
            self._text("cell", variable)
            try:
                content = cell.cell_contents
            except ValueError:
                self._text("empty")
                continue
            self._in_cell(cell, variable, content)
            if type(content) is types.ModuleType:
                modules[variable] = content
            else:
                self._value(content, f"{variable}, which {name} closes over,")
        return modules

    def _code(
        self,
        code: types.CodeType,
        names: Mapping[str, Any],
        modules: Mapping[str, types.ModuleType],
        function: str,
    ) -> None:
        """The code itself, with its place in the file, which error messages name, and what it
        loads.
        """
        self._text("code", code.co_qualname, code.co_filename, code.co_firstlineno, code.co_flags)
        self._text("counts", code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)
        for variables in (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars):
            self._text("names", *variables)
        for data in (code.co_code, code.co_linetable, code.co_exceptiontable):
            self._write("code", data)
        modules = {name: module for name, module in modules.items() if name in code.co_freevars}
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._code(constant, names, modules, constant.co_name)
            else:
                self._value(constant, f"a constant of {function}")
        for load in bytecode.loads(code):
            self._load(load, code, names, modules, function)

    def _load(
        self,
        load: bytecode.NameLoad,
        code: types.CodeType,
        names: Mapping[str, Any],
        modules: Mapping[str, types.ModuleType],
        function: str,
    ) -> None:
        if load.unknown is not None:
            self._unknown(load, function)
        elif load.variable is not None and load.is_global:
            self._global(load.variable, load.attributes, names, function)
        elif load.variable is not None and load.variable in modules:
            self._path(modules[load.variable], load.attributes, load.variable, function)
        else:
            self._attributes(load.attributes, function)

    def _global(
        self, name: str, attributes: tuple[str, ...], names: Mapping[str, Any], function: str
    ) -> None:
        self._text("global", name)
        value: Any
        if name in names:
            value = names[name]
            self._in_globals(names, name, value)
        elif name in _BUILTINS:
            value = _BUILTINS[name]
        else:
            self._refuse(f"there is no global {name}, which {function} reads")
            return
        if type(value) is types.ModuleType:
            self._path(value, attributes, name, function)
        else:
            self._read(value, attributes, f"the global {name}, which {function} reads,", function)

    def _path(
        self, module: types.ModuleType, attributes: tuple[str, ...], name: str, function: str
    ) -> None:
        """What code reads of a module, by name and at once."""
        for number, attribute in enumerate(attributes):
            if is_weft_module(module):
                self._weft_path(module.__name__, attributes[number:], function)
                return
            path = f"{name}.{attribute}"
            self._text("attribute", attribute)
            if attribute not in vars(module):
                self._refuse(f"the module {module.__name__} has no {attribute} of its own")
                return
            value = vars(module)[attribute]
            self._in_module(module, attribute, value, path)
            if type(value) is not types.ModuleType:
                rest = attributes[number + 1 :]
                self._read(value, rest, f"{path}, which {function} reads,", function)
                return
            module, name = value, path
        self._module_value(module, name, function)


def is_weft_module(module: types.ModuleType) -> bool:
    """Whether it is one of this package, and not only of its name."""
    name = module.__name__
    return name.partition(".")[0] == _WEFT and sys.modules.get(name) is module


_BUILTINS: Final = vars(builtins)
_IMMUTABLE: Final[dict[type, str]] = {
    **dict.fromkeys((type(None), bool, int, str, type(Ellipsis), type(NotImplemented)), "_atom"),
    float: "_float",
    complex: "_complex",
    bytes: "_bytes",
    tuple: "_sequence",
    slice: "_slice",
    range: "_slice",
}
_HANDLERS: Final[dict[type, str]] = {
    list: "_sequence",
    dict: "_mapping",
    np.ndarray: "_array",
    functools.partial: "_partial",
    types.FunctionType: "_function",
}
