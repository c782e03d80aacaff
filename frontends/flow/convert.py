"""Functions with their control flow converted: found in the user's source, rewritten, compiled once
per function, and given the globals, defaults and closure of the original.
"""

from __future__ import annotations

import ast
import copy
import functools
import re
import types
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, Final

from weft.compiler.ir.errors import TraceError
from weft.compiler.ir.location import Location
from weft.frontends.flow.block import AROUND
from weft.frontends.flow.identity import checked_ties
from weft.frontends.flow.left import why_file_is_left, why_generator
from weft.frontends.flow.operators import operators
from weft.frontends.flow.raising import in_order
from weft.frontends.flow.rewriter import RUNTIME, rewritten
from weft.frontends.flow.source import FUTURE_FLAGS, NoSource, function_node, place_of
from weft.frontends.tracing.caller import is_weft
from weft.frontends.tracing.conversion import Conversion, conversion

_UNBOUND: Final = re.compile(r"variable '(\w+)'")


def converted(function: Any) -> Any:
    """The function with its control flow converted, if it is the user's; others as they are."""
    if isinstance(function, types.MethodType):
        made = converted(function.__func__)
        same = made is function.__func__
        return function if same else types.MethodType(made, function.__self__)
    if isinstance(function, functools.partial):
        made = converted(function.func)
        same = made is function.func
        return function if same else functools.partial(made, *function.args, **function.keywords)
    if isinstance(function, types.FunctionType):
        return _converted_function(function)
    call = None if isinstance(function, type) else _method(function, "__call__")
    if isinstance(call, types.FunctionType):
        made = converted(call)
        return function if made is call else types.MethodType(made, function)
    return function


_RUNTIME_CELL: Final = types.CellType(operators(converted))


def _method(instance: Any, name: str) -> Any:
    return getattr(type(instance), name, None)


def call_converted(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call a function with its control flow converted, and that of functions it calls."""
    here = conversion.get()
    token = conversion.set(here or Conversion(converted, why_plain=_why_plain))
    try:
        with ExitStack() as stack:
            if here is None:
                stack.enter_context(checked_ties())
                stack.enter_context(in_order())
            return converted(function)(*args, **kwargs)
    except NameError as error:
        raise _explained(error) from error
    finally:
        conversion.reset(token)


def _why_plain(frame: types.FrameType | None) -> str:
    """For messages: why the function that runs in a frame, or called Weft there, was not converted,
    if it was not.
    """
    while frame is not None and is_weft(frame.f_code.co_filename):
        frame = frame.f_back
    state = conversion.get()
    if frame is None or state is None:
        return ""
    code = frame.f_code
    if RUNTIME in code.co_freevars or id(code) in _CODES:
        return ""
    reason = state.left.get(code) or why_file_is_left(code.co_filename) or why_generator(code)
    reason = reason or "it was called by code that is left alone"
    return f"; the control flow of {code.co_name} was not converted, as {reason}"


def _explained(error: NameError) -> Exception:
    """A variable without a value, with the reason if control flow took it away."""
    state = conversion.get()
    found = _UNBOUND.search(str(error))
    reason = state.undefined.get(found[1]) if state is not None and found is not None else None
    if reason is None or found is None:
        return error
    return TraceError(f"{found[1]} has no value here: {reason}", location=place_of(error))


def require_source(function: Any) -> None:
    """Raise a clear error if a function that is to be converted cannot be."""
    while isinstance(function, functools.partial | types.MethodType):
        function = getattr(function, "func", None) or function.__func__  # type: ignore[union-attr]
    if not isinstance(function, types.FunctionType):
        return
    if why_file_is_left(function.__code__.co_filename):
        return
    try:
        if RUNTIME not in function.__code__.co_freevars:
            function_node(function.__code__, function.__globals__)
    except NoSource as reason:
        code = function.__code__
        raise TraceError(
            f"the control flow of {function.__name__} cannot be converted: {reason}",
            location=Location(code.co_filename, code.co_firstlineno),
        ) from None


def _converted_function(function: types.FunctionType) -> types.FunctionType:
    code = function.__code__
    if RUNTIME in code.co_freevars or why_file_is_left(code.co_filename):
        return function
    state = conversion.get()
    if state is None:
        return _made(function)
    known = state.made.get(id(function))
    if known is None or known[1] is not code or known[2] is not function.__defaults__:
        known = function, code, function.__defaults__, _made(function)
        state.made[id(function)] = known
    result: types.FunctionType = known[3]
    return result


def _made(function: types.FunctionType) -> types.FunctionType:
    code = function.__code__
    try:
        made = _Key(code, function.__globals__).compiled()
    except NoSource as reason:
        state = conversion.get()
        if state is not None:
            state.left[code] = str(reason)
        return function
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    closure = tuple(_RUNTIME_CELL if n == RUNTIME else cells[n] for n in made.co_freevars)
    result = types.FunctionType(
        made, function.__globals__, function.__name__, function.__defaults__, closure
    )
    result.__kwdefaults__ = function.__kwdefaults__
    result.__qualname__ = function.__qualname__
    result.__doc__ = function.__doc__
    return result


class _Key:
    """A code object together with its file, which equal code may not share; the globals are for
    finding the text only.
    """

    __slots__ = ("code", "names")

    def __init__(self, code: types.CodeType, names: Mapping[str, Any]) -> None:
        self.code = code
        self.names = names

    def __hash__(self) -> int:
        return hash((self.code, self.code.co_filename))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Key):
            return False
        return self.code == other.code and self.code.co_filename == other.code.co_filename

    def compiled(self) -> types.CodeType:
        return _compiled(self)


@functools.lru_cache(maxsize=1024)
def _compiled(key: _Key) -> types.CodeType:
    """The code of a function with its control flow converted."""
    code = key.code
    node, owner = function_node(code, key.names)
    made = rewritten(copy.deepcopy(node))
    if isinstance(made, ast.Lambda):
        inner: ast.stmt = ast.Expr(made)
    else:
        inner = made
    parameters = [ast.arg(name) for name in (*code.co_freevars, RUNTIME)]
    body = [inner]
    if isinstance(made, ast.FunctionDef) and made.name not in code.co_freevars:
        # Its own name, in a recursion, is what the module has by that name.
        body.insert(0, ast.Global([made.name]))
    around: ast.stmt = ast.FunctionDef(
        name=AROUND,
        args=ast.arguments(
            posonlyargs=[], args=parameters, kwonlyargs=[], kw_defaults=[], defaults=[]
        ),
        body=body,
        decorator_list=[],
        **_TYPE_PARAMETERS,
    )
    if owner:  # for names such as __x, which classes change
        around = ast.ClassDef(
            name=owner, bases=[], keywords=[], body=[around], decorator_list=[], **_TYPE_PARAMETERS
        )
    module = ast.Module([ast.copy_location(around, node)], [])
    ast.fix_missing_locations(module)
    whole = compile(
        module, code.co_filename, "exec", code.co_flags & FUTURE_FLAGS, dont_inherit=True
    )
    return _renamed(_inner(whole, [owner] * bool(owner) + [AROUND, code.co_name]), code)


_TYPE_PARAMETERS: Final[dict[str, Any]] = (
    {"type_params": []} if "type_params" in ast.FunctionDef._fields else {}
)


_CODES: Final[dict[int, types.CodeType]] = {}
"""All converted code, by identity."""


def _inner(code: types.CodeType, path: list[str]) -> types.CodeType:
    for name in path:
        code = next(
            part
            for part in code.co_consts
            if isinstance(part, types.CodeType) and part.co_name == name
        )
    return code


def _renamed(made: types.CodeType, code: types.CodeType) -> types.CodeType:
    """The code with names as in the user's source, as tracebacks show them."""
    constants = tuple(
        _renamed(part, code if part.co_name.startswith("weft_part_") else part)
        if isinstance(part, types.CodeType)
        else part
        for part in made.co_consts
    )
    result = made.replace(
        co_consts=constants, co_name=code.co_name, co_qualname=_plain(code.co_qualname)
    )
    _CODES[id(result)] = result
    return result


def _plain(name: str) -> str:
    return name.removeprefix(f"{AROUND}.<locals>.")
