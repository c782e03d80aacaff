"""The arguments of a call, taken apart: which are arrays, of which types, and which are static.

Calls of compiled functions come through here, so nothing in this file needs the tracer.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Final

import numpy as np

from weft.compiler.ir.dtypes import is_supported
from weft.compiler.ir.errors import ArgumentError
from weft.compiler.ir.types import ArrayType, type_of
from weft.compiler.record import record
from weft.frontends.tracing import tree
from weft.frontends.tracing.caller import caller_location
from weft.frontends.tracing.scalars import lost_meaning, scalar_dtype


@record
class ArgumentLeaf:
    """One array argument: its name, its type, and whether it came as a Python number; of rank 0,
    whether it is a scalar of NumPy and no array, if that is known.
    """

    name: str
    type: ArrayType
    weak: bool = False
    is_scalar: bool | None = None

    @property
    def kind(self) -> tuple[ArrayType, bool, bool | None]:
        """What a trace depends on."""
        return self.type, self.weak, self.is_scalar


_NO_ARRAY: Final = ArrayType(scalar_dtype(False))  # of leaves that are no arrays


@record
class Call:
    """The arguments of a call, taken apart: arrays in `values` (described by `leaves`), static
    arguments in `static`, and in `fixed`, by name, leaves that belong to the structure: texts, and
    Python's whole numbers whose values a trace needs.
    """

    leaves: tuple[ArgumentLeaf, ...]
    values: tuple[Any, ...]
    treedef: tree.TreeDef
    static: tuple[tuple[int | str, Any], ...]
    fixed: tuple[tuple[str, Any], ...] = ()

    @property
    def whole_numbers(self) -> tuple[int, ...]:
        """Which leaves are ints and bools of Python."""
        return tuple([n for n, value in enumerate(self.values) if type(value) in (int, bool)])

    def with_fixed(self, positions: Collection[int]) -> Call:
        """The call with the values of some leaves as a part of its structure."""
        if not positions:
            return self
        treedef = tree.with_fixed(self.treedef, self.values, positions)
        fixed = [(self.leaves[n].name, self.values[n]) for n in sorted(positions)]
        leaves = [leaf for n, leaf in enumerate(self.leaves) if n not in positions]
        values = [value for n, value in enumerate(self.values) if n not in positions]
        return Call(tuple(leaves), tuple(values), treedef, self.static, (*self.fixed, *fixed))

    @property
    def keywords(self) -> tuple[str, ...]:
        """The names of the arguments that were given by name, static ones or others."""
        static = [name for name, _ in self.static if isinstance(name, str)]
        return *static, *self.treedef.child(1).entries()

    @property
    def objects(self) -> tuple[Any, ...]:
        """The static arguments that may be equal to others and yet hold something else."""
        return tuple([value for _, value in self.static if not tree.is_plain(value)])

    @property
    def orders(self) -> tuple[Any, ...]:
        """The order of keys in dicts."""
        return tree.key_orders(self.treedef)

    @property
    def key(self) -> tuple[Any, ...]:
        """What a trace depends on."""
        kinds = tuple([leaf.kind for leaf in self.leaves])
        static = tuple(
            [(argument_key, tree.distinct_key(value)) for argument_key, value in self.static]
        )
        fixed = tuple([(name, tree.distinct_key(value)) for name, value in self.fixed])
        return self.treedef, kinds, static, self.orders, fixed


class FunctionSignature:
    """The parameters of a Python function: which are static, and what the others are called."""

    def __init__(
        self,
        function: Callable[..., Any],
        static_argnums: int | Iterable[int] = (),
        static_argnames: str | Iterable[str] = (),
    ) -> None:
        self.name = function_name(function)
        self.names = parameter_names(function)
        self.keywords = keyword_names(function)
        self._parameters = frozenset((*self.names, *self.keywords))
        numbers = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
        names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
        self._check_known(names, numbers)
        self.static_names = {
            *names,
            *(self.names[n] for n in numbers if abs(n) <= len(self.names) - (n >= 0)),
        }
        self.static_numbers = {*numbers, *(self.names.index(n) for n in names if n in self.names)}

    @property
    def static_key(self) -> tuple[Any, ...]:
        """Which parameters are static, in an order that is the same in every process."""
        return tuple(sorted(self.static_names)), tuple(sorted(self.static_numbers))

    def _check_known(self, names: tuple[str, ...], numbers: tuple[int, ...]) -> None:
        for name in names:
            self.require_known("static_argnames", name)
        for number in numbers:
            if not isinstance(number, int):
                raise ArgumentError(f"static_argnums: {number!r} is no position")

    def require_known(self, option: str, name: str) -> None:
        """Raise ArgumentError if it is known that there is no such argument."""
        known = [*self.names, *self.keywords]
        if known and name not in known:
            raise ArgumentError(f"{option}: {self.name} has no argument {name!r}; it has {known}")

    def take_apart(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Call:
        """Separate arrays from static arguments; raises ArgumentError for what is neither."""
        static: list[tuple[int | str, Any]] = []
        dynamic_args: list[Any] = list(args)
        for number, arg in enumerate(args):
            if number in self.static_numbers or number - len(args) in self.static_numbers:
                static.append((number, _hashable(arg, self.argument_name(number))))
                dynamic_args[number] = None
        dynamic_kwargs = {name: kwargs[name] for name in self._in_order(kwargs)}
        for name in sorted(kwargs):
            if name in self.static_names:
                static.append((name, _hashable(kwargs[name], name)))
                del dynamic_kwargs[name]
        values, paths, treedef = tree.flatten_with_names((tuple(dynamic_args), dynamic_kwargs))
        texts = [n for n, value in enumerate(values) if type(value) is str]
        leaves = [
            ArgumentLeaf(self._name(path), _NO_ARRAY) if n in texts else self._leaf(path, value)
            for n, (path, value) in enumerate(zip(paths, values, strict=True))
        ]
        call = Call(tuple(leaves), tuple(values), treedef, tuple(static))
        return call.with_fixed(texts)

    def has_order(self, names: Iterable[str]) -> bool:
        """Whether a function sees in which order it was given these keywords."""
        return sum(name not in self._parameters for name in names) > 1

    def _in_order(self, names: Iterable[str]) -> list[str]:
        """Names of keywords, those of parameters in an order of their own."""
        known = sorted(self._parameters.intersection(names))
        return known + [name for name in names if name not in self._parameters]

    def argument_name(self, number: int) -> str:
        return self.names[number] if number < len(self.names) else f"args.{number}"

    def _leaf(self, path: str, value: Any) -> ArgumentLeaf:
        return describe_leaf(self._name(path), value, self.name)

    def _name(self, path: str) -> str:
        """The name of a leaf that is at a path in the tuple of positional and other arguments."""
        group, _, rest = path.partition(".")
        if group == "0":
            number, _, inner = rest.partition(".")
            rest = ".".join(part for part in (self.argument_name(int(number)), inner) if part)
        return rest


def describe_leaf(name: str, value: Any, function: str) -> ArgumentLeaf:
    """The name and type of an argument; raises ArgumentError if it is no array, number or spec."""
    if isinstance(value, ArrayType):
        return ArgumentLeaf(name, value)
    if isinstance(value, bool | int | float | complex) and not isinstance(value, np.generic):
        if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
            raise ArgumentError(
                f"the argument {name} of {function} is an int of more than 64 bits "
                f"({short(value)}); pass a float, or make it static: "
                f'static_argnames=("{name.split(".")[0]}",)',
                location=caller_location(),
            )
        return ArgumentLeaf(name, ArrayType(scalar_dtype(value)), weak=True)
    if not isinstance(value, np.ndarray | np.generic):
        if _is_tracer(value):
            return ArgumentLeaf(name, value.type, value.weak)
        if hasattr(value, "__array__"):
            value = np.asarray(value)
    if isinstance(value, np.ndarray | np.generic):
        lost = lost_meaning(value)
        if lost is not None:
            raise ArgumentError(
                f"the argument {name} of {function} {lost}", location=caller_location()
            )
        if is_supported(value.dtype):
            is_scalar = None if value.ndim else isinstance(value, np.generic)
            return ArgumentLeaf(name, type_of(value), is_scalar=is_scalar)
        raise ArgumentError(
            f"the argument {name} of {function} has dtype {value.dtype}, which is not supported",
            location=caller_location(),
        )
    raise ArgumentError(
        f"the argument {name} of {function} is a {type(value).__name__} ({short(value)}), not an "
        "array, a number or a pytree of them; if it is an option, make it static: "
        f'static_argnames=("{name.split(".")[0]}",)',
        location=caller_location(),
    )


def _is_tracer(value: Any) -> bool:
    """Whether it is a traced array; there are none before the tracer is loaded."""
    trace = sys.modules.get("weft.frontends.tracing.trace")
    return trace is not None and isinstance(value, trace.Tracer)


def function_name(function: Callable[..., Any]) -> str:
    """A name for a graph: the function's, in letters that the text form allows."""
    name = getattr(function, "__name__", type(function).__name__)
    return re.sub(r"\W", "", name) or "function"


def parameter_names(function: Callable[..., Any]) -> list[str]:
    """The names of a function's positional parameters."""
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return _names_of_kinds(function, positional)


def keyword_names(function: Callable[..., Any]) -> list[str]:
    """The names of a function's keyword-only parameters."""
    return _names_of_kinds(function, (inspect.Parameter.KEYWORD_ONLY,))


def _names_of_kinds(function: Callable[..., Any], kinds: tuple[Any, ...]) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [parameter.name for parameter in parameters if parameter.kind in kinds]


def _hashable(value: Any, name: str) -> Any:
    try:
        hash(value)
    except TypeError:
        raise ArgumentError(
            f"the static argument {name} is a {type(value).__name__}, which cannot be hashed; "
            "use a tuple or another immutable value",
            location=caller_location(),
        ) from None
    return value


def short(value: Any) -> str:
    """A value as messages show it."""
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
