"""Calls inside of converted functions: the user's own functions are converted too, and builtins
that need the value of what they get have versions for traced values.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import itertools
import operator
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from weft.compiler.ir import dtypes
from weft.compiler.ir.dims import Dim
from weft.compiler.ir.graph import Constant
from weft.compiler.ops import conversion as conversion_ops
from weft.frontends.flow import left, libraries, mathematics, protocols, text
from weft.frontends.flow.classes import maker
from weft.frontends.flow.iteration import Enumerated, SymbolicRange, TracedRange, Zipped
from weft.frontends.flow.logic import and_, or_
from weft.frontends.flow.lookups import get_of, holds_traced
from weft.frontends.flow.ordering import extreme, ordered
from weft.frontends.flow.parts import adopted, is_array, is_traced, truth
from weft.frontends.flow.raising import Suppressing
from weft.frontends.flow.rounding import rounded
from weft.frontends.flow.samples import SAMPLED
from weft.frontends.flow.saved import require_free, require_no_draw
from weft.frontends.flow.visiting import broadcast, ndenumerate, ndindex, nditer
from weft.frontends.numpy.flat import Flat
from weft.frontends.numpy.functions.mapping import vectorize
from weft.frontends.numpy.functions.namespace import BY_NUMPY
from weft.frontends.numpy.keys import with_known
from weft.frontends.numpy.known import born, call_on_memory, plain
from weft.frontends.numpy.masked.array import Selected
from weft.frontends.tracing import core
from weft.frontends.tracing.conversion import Unseen, conversion
from weft.frontends.tracing.trace import Tracer, find_trace, located, user_line

_PLAIN: Final = (types.BuiltinFunctionType, types.BuiltinMethodType)
_ARRAYS: Final = (np.array, np.asarray, np.asanyarray, np.ascontiguousarray)
_LOGGING: Final = ("debug", "info", "warning", "error", "exception", "critical", "log")
_FILLED: Final = (np.zeros, np.ones, np.empty, np.full, np.eye, np.identity)
_SIZED: Final = (np.zeros, np.ones, np.empty, np.full, np.arange)
_FILLED_LIKE: Final = (np.zeros_like, np.ones_like, np.empty_like, np.full_like)
_DEFINED_IN_PYTHON: Final = 1 << 9  # a flag of classes
_FUNCTIONS: Final = (types.FunctionType, types.MethodType, functools.partial)
_TAKING: Final = (
    *(builtins.filter, builtins.map, builtins.sorted, functools.reduce),
    *(itertools.accumulate, itertools.dropwhile, itertools.filterfalse, itertools.groupby),
    *(itertools.starmap, itertools.takewhile),
)
"""What calls the functions that it is given."""


class Calls:
    """What is called in place of functions; `convert` converts those of the user."""

    def __init__(self, convert: Callable[[Any], Any]) -> None:
        self._convert = convert
        self._builtins = {
            **_BUILTINS,
            **{plain: self._taking(plain) for plain in _TAKING},
            builtins.max: extreme(builtins.max, self.call),
            builtins.min: extreme(builtins.min, self.call),
            builtins.sorted: ordered(self.call),
        }

    def call(self, function: Any) -> Any:
        """What is called in place of a function."""
        if find_trace() is None:
            return function
        if function is np.errstate or function is np.seterr:
            return functools.partial(_errors_as, function)
        if isinstance(function, type):
            if issubclass(function, BaseException):
                return functools.partial(_exception, self._class(function))
            return self._class(function)
        if getattr(function, "__module__", None) == "logging" and _is_logging(function):
            return lambda *args, **kwargs: text.call_later(function, args, kwargs)
        require_no_draw(function)
        if libraries.is_scipys(function):
            return functools.partial(self._call_scipy, function)
        if isinstance(function, types.MethodWrapperType):
            require_free(function.__self__)  # __next__
            return function
        if isinstance(function, _PLAIN):
            require_free(getattr(function, "__self__", None))  # send
            if function.__module__ == "math":
                return functools.partial(mathematics.call, function)
            owner, name = getattr(function, "__self__", None), function.__name__
            if isinstance(owner, dict) and name == "get":
                return functools.partial(get_of, owner)
            if isinstance(owner, str) and name == "format":
                return functools.partial(text.format_of, owner)
            return self._builtins.get(function) or self._numpy(function)
        if left.is_numpys(function):
            return self._builtins.get(function) or self._numpy(function)
        if isinstance(function, functools._lru_cache_wrapper):
            return functools.partial(self._call_cached, function)
        code = left.code_of(function)
        if code is not None and left.is_installed(code.co_filename):
            return functools.partial(self._call_library, function)
        return self._convert(function)

    def _class(self, kind: Any) -> Any:
        """What is called in place of a class."""
        known = self._builtins.get(kind)
        if known is not None or not kind.__flags__ & _DEFINED_IN_PYTHON:
            return known or _scalar_type(kind)
        if issubclass(kind, np.generic):
            return _scalar_type(kind)
        if libraries.is_scipys(kind):
            return functools.partial(self._call_scipy, kind)
        code = left.code_of(kind.__init__)
        if code is not None and left.is_installed(code.co_filename):
            return functools.partial(self._call_library, kind)
        return maker(kind, self._convert)

    def _call_library(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """A function or class of an installed library: it is converted if it may see something
        traced, as reading libraries takes a while.
        """
        if not left.may_hold_traced((function, args, kwargs)):
            return function(*args, **kwargs)
        made = maker(function, self._convert) if isinstance(function, type) else None
        made = self._convert(function) if made is None else made
        if made is function:
            args, kwargs = self._callbacks(args, kwargs)
        return made(*args, **kwargs)

    def _call_cached(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """A function with `functools.cache`, which is to keep nothing that is traced."""
        is_traced = left.may_hold_traced((args, kwargs))
        return (self.call(function.__wrapped__) if is_traced else function)(*args, **kwargs)

    def _callbacks(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments for a function that is left alone: what it may call back is converted."""
        given = tuple([self._callback(argument) for argument in args])
        return given, {name: self._callback(argument) for name, argument in kwargs.items()}

    def _callback(self, argument: Any) -> Any:
        return self._convert(argument) if isinstance(argument, _FUNCTIONS) else argument

    def _taking(self, plain: Any) -> Callable[..., Any]:
        """A builtin that takes a function, which is converted."""

        def run(*args: Any, **kwargs: Any) -> Any:
            given = [self.call(argument) if callable(argument) else argument for argument in args]
            return plain(*given, **kwargs)

        return run

    def _call_scipy(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        if isinstance(function, np.ufunc):
            return function(*args, **kwargs)
        args = with_known(args)
        kwargs = {name: with_known(value) for name, value in kwargs.items()}
        if not left.may_hold_traced((args, kwargs)):
            return born(function(*args, **kwargs), (args, kwargs))
        ours = libraries.traced_version(function)
        if ours is not None:
            return ours(*args, **kwargs)
        return self._call_library(function, *args, **kwargs)

    def _numpy(self, function: Any) -> Any:
        owner = getattr(function, "__self__", None)
        if isinstance(owner, np.ndarray):
            return functools.partial(_call_method, function)
        if isinstance(owner, np.ufunc):
            return functools.partial(self._call_numpy, function)
        if type(owner).__module__.startswith("numpy.random"):
            return functools.partial(call_on_memory, function)
        is_builtin = isinstance(function, types.BuiltinMethodType)
        if is_builtin and not isinstance(owner, types.ModuleType | type(None)):
            return function  # a method of an object
        if is_builtin and left.package_of(function) in sys.stdlib_module_names:
            return function  # such as `locals` and `sys._getframe`, which look at who calls
        return functools.partial(self._call_numpy, function)

    def _call_numpy(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        """NumPy's function; arrays of floats that it makes belong to the trace, so that traced
        values can be written to them.
        """
        given_too, kwargs = self._callbacks(args, kwargs)
        given = [a.elements() if isinstance(a, Flat) else a for a in given_too]
        own = protocols.without(function)
        if own is not None:
            return own(*given, **kwargs)
        return born(self._call_traced(function, given, kwargs), (given, kwargs))

    def _call_traced(self, function: Any, given: list[Any], kwargs: dict[str, Any]) -> Any:
        if isinstance(function, types.BuiltinFunctionType) or function in BY_NUMPY:
            wants_ours = function in _ARRAYS and holds_traced(given[:1])
            wants_ours = wants_ours or (function in _SIZED and holds_traced(given[:2]))
            wants_ours = wants_ours or (
                function in _FILLED and _is_inexact(function, given, kwargs)
            )
            is_like = function in _FILLED_LIKE and isinstance(given[0], np.ndarray)
            wants_ours = wants_ours or (is_like and _is_inexact_like(given[0], kwargs))
            if wants_ours and function in BY_NUMPY:
                return located(BY_NUMPY[function], *given, **kwargs)
        held = next((found for arg in given if (found := _traced_in_list(arg)) is not None), None)
        if held is None or any(isinstance(arg, Tracer) for arg in given):
            return function(*given, **kwargs)
        return _call_on_lists(held, function, given, kwargs)


def writable(value: Any, *given: Any) -> Any:
    """An array that something traced can be written to: one of NumPy's becomes one of the trace."""
    if not is_array(value) or not holds_traced(given):
        return value
    held = [value]
    del value
    return adopted(held.pop(), "")


# --- NumPy ----------------------------------------------------------------------------------------


def _call_method(function: Any, *args: Any, **kwargs: Any) -> Any:
    """A method of a NumPy array, which cannot take traced arguments: that of a traced one does."""
    if not holds_traced([*args, *kwargs.values()]):
        return born(function(*plain(args), **plain(kwargs)), (function.__self__, args, kwargs))
    return getattr(core.wrap(core.lift(function.__self__)), function.__name__)(*args, **kwargs)


def _traced_in_list(items: Any) -> Any:
    """Something traced that a list or tuple holds, or None."""
    parts = items if isinstance(items, list | tuple) else ()
    for part in parts:
        found = part if isinstance(part, Tracer) else _traced_in_list(part)
        if found is not None:
            return found
    return None


def _call_on_lists(held: Any, function: Any, given: list[Any], kwargs: Mapping[str, Any]) -> Any:
    """NumPy's function on lists that hold traced values, into which NumPy would not look."""
    owner = getattr(function, "__self__", None)
    ufunc = owner if isinstance(owner, np.ufunc) else function
    if isinstance(ufunc, np.ufunc):
        method = function.__name__ if ufunc is owner else "__call__"
        return held.__array_ufunc__(ufunc, method, *given, **kwargs)
    if function not in BY_NUMPY:
        return function(*given, **kwargs)
    return held.__array_function__(function, (), tuple(given), dict(kwargs))


def _is_inexact(function: Any, given: list[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether an array of one number is of floats; those of ints and bools serve as indices and
    masks, which have to be known.
    """
    places = {np.full: 2, np.eye: 3}
    place = places.get(function, 1)
    dtype = kwargs.get("dtype", given[place] if len(given) > place else None)
    if dtype is None and function is np.full:
        fill = kwargs.get("fill_value", given[1] if len(given) > 1 else 0.0)
        return isinstance(fill, Tracer) or np.asarray(fill).dtype.kind in "fc"
    return np.dtype(dtype).kind in "fc" or np.dtype(dtype).name == "bfloat16"


def _is_inexact_like(prototype: Any, kwargs: Mapping[str, Any]) -> bool:
    return np.dtype(kwargs.get("dtype") or prototype.dtype).kind in "fc"


def _exception(kind: Any, *args: Any, **kwargs: Any) -> Any:
    """An exception, whose message has types in place of traced values."""
    return kind(*[text.described(arg) for arg in args], **kwargs)


def _is_logging(function: Any) -> bool:
    return function.__name__ in _LOGGING and isinstance(
        function, types.FunctionType | types.MethodType
    )


def _scalar_type(function: Any) -> Any:
    if not issubclass(function, np.generic):
        return function

    def convert(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and isinstance(args[0], Tracer):
            return args[0].astype(function)  # type: ignore[attr-defined]
        return function(*args, **kwargs)

    return convert


# --- builtins -------------------------------------------------------------------------------------


def _range(*args: Any) -> Any:
    if not any(is_traced(arg) for arg in args):
        known = [_known(arg) for arg in args]
        if not any(isinstance(arg, Dim) for arg in known):
            return builtins.range(*known)
        return SymbolicRange.of(*known)
    start, stop = (0, args[0]) if len(args) == 1 else args[:2]
    return TracedRange(start, stop, args[2] if len(args) > 2 else 1)


def _known(number: Any) -> Any:
    value = number.value if isinstance(number, Tracer) else number
    return value.array.item() if isinstance(value, Constant) else number


def _errors_as(function: Any, *args: Any, **kwargs: Any) -> Any:
    """What programs make of NaN and infinity is fixed: they do not stop."""
    if "raise" in (*args, *kwargs.values()):
        raise Unseen(
            "NumPy is asked to raise a FloatingPointError, which programs do not: they give NaN or "
            "infinity; test with an `if` and raise, such as `if not np.isfinite(x).all():`",
            location=user_line(),
        )
    return function(*args, **kwargs)


def _is_sequence(part: Any) -> bool:
    ranges = range | TracedRange | SymbolicRange | Zipped | Enumerated
    return isinstance(part, Tracer | Selected | np.ndarray | ranges)


def _enumerate(iterable: Any, start: Any = 0) -> Any:
    known = _is_sequence(iterable)
    return Enumerated(iterable, start) if known else builtins.enumerate(iterable, start)


def _zip(*iterables: Any, strict: bool = False) -> Any:
    known = iterables and all(_is_sequence(part) for part in iterables)
    return Zipped(iterables) if known and not strict else builtins.zip(*iterables, strict=strict)


def _reversed(sequence: Any) -> Any:
    if isinstance(sequence, range | Tracer | Selected | np.ndarray):
        return sequence[::-1]  # type: ignore[index]
    if isinstance(sequence, TracedRange):
        count: Any = sequence.count
        last = sequence.start + (count - 1) * sequence.step
        return TracedRange(last, sequence.start - sequence.step, -sequence.step)
    return builtins.reversed(sequence)


def _int(*args: Any, **kwargs: Any) -> Any:
    if len(args) == 1 and is_traced(args[0]):
        return mathematics.whole(args[0], np.trunc)
    return builtins.int(*args, **kwargs)


def _float(*args: Any) -> Any:
    if len(args) == 1 and is_traced(args[0]):
        return core.wrap(mathematics.real(args[0]), weak=True)
    return builtins.float(*args)


def _complex(*args: Any, **kwargs: Any) -> Any:
    parts = [*args, *kwargs.values()]
    if not any(map(is_traced, parts)):
        return builtins.complex(*args, **kwargs)
    given = dict(zip(("real", "imag"), args, strict=False)) | kwargs
    one, other = [
        core.wrap(core.cast(mathematics.scalar(given.get(name, 0.0)), dtypes.c128))
        for name in ("real", "imag")
    ]
    real = core.lift(one.real - other.imag)  # type: ignore[attr-defined]
    imag = core.lift(one.imag + other.real)  # type: ignore[attr-defined]
    return core.wrap(conversion_ops.complex_(real, imag), weak=True)


def _index(number: Any) -> Any:
    if not is_traced(number):
        return operator.index(number)
    if number.type.shape or not (number.type.dtype.is_integer or number.type.dtype.is_bool):
        raise TypeError(f"{number.type} cannot be interpreted as an integer")
    return _int(number)


def _bool(*args: Any) -> Any:
    if len(args) == 1 and is_traced(args[0]):
        return core.wrap(truth(args[0], "what bool() gets"), weak=True)
    return builtins.bool(*args)


def _pow(base: Any, exp: Any, mod: Any = None) -> Any:
    if mod is None or not any(map(is_traced, (base, exp, mod))):
        return builtins.pow(base, exp, mod)
    raise core.trace_error(
        "pow() with a modulus is not supported for traced ints; write a loop of x * x % m"
    )


def _next(iterator: Any, *default: Any) -> Any:
    require_free(iterator)
    return builtins.next(iterator, *default)


def _is_array(value: Any) -> bool:
    return isinstance(value, Selected) or (isinstance(value, Tracer) and bool(value.type.shape))


def _len(value: Any) -> Any:
    around = conversion.get()
    if around is not None and type(value) is list:
        around.measured.append(id(value))
    return value.shape[0] if isinstance(value, Selected) else builtins.len(value)


def _any(iterable: Any) -> Any:
    if _is_array(iterable):
        return _bool(np.any(iterable))
    items = list(iterable)
    return or_(lambda: False, *[lambda item=item: _bool(item) for item in items])


def _all(iterable: Any) -> Any:
    if _is_array(iterable):
        return _bool(np.all(iterable))
    items = list(iterable)
    return and_(lambda: True, *[lambda item=item: _bool(item) for item in items])


def _sum(iterable: Any, /, start: Any = 0) -> Any:
    if _is_array(iterable):
        return np.sum(iterable, axis=0) + start
    return builtins.sum(iterable, start)


_BUILTINS: Final[Mapping[Any, Callable[..., Any]]] = {
    **SAMPLED,
    contextlib.suppress: Suppressing,
    np.broadcast: broadcast,
    np.ndenumerate: ndenumerate,
    np.ndindex: ndindex,
    np.nditer: nditer,
    np.vectorize: vectorize,
    operator.index: _index,
    builtins.all: _all,
    builtins.any: _any,
    builtins.ascii: text.text_of(builtins.ascii),
    builtins.bool: _bool,
    builtins.complex: _complex,
    builtins.enumerate: _enumerate,
    builtins.float: _float,
    builtins.format: text.text_of(builtins.format),
    builtins.int: _int,
    builtins.len: _len,
    builtins.next: _next,
    builtins.pow: _pow,
    builtins.print: text.printed,
    builtins.range: _range,
    builtins.repr: text.text_of(builtins.repr),
    builtins.reversed: _reversed,
    builtins.round: rounded,
    builtins.str: text.text_of(builtins.str),
    builtins.sum: _sum,
    builtins.zip: _zip,
}
