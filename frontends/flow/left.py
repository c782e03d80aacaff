"""What is left alone: functions that are not converted, and why, for messages and for the page that
lists them (docs/control_flow.md).
"""

from __future__ import annotations

import functools
import os
import sysconfig
from collections import deque
from types import BuiltinMethodType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final

import numpy as np

from weft.frontends.flow import state
from weft.frontends.tracing.caller import is_weft
from weft.frontends.tracing.trace import Tracer

GENERATOR_FLAGS: Final = 0x20 | 0x80 | 0x200  # generator, coroutine, asynchronous generator
TEST_FRAMEWORKS: Final = frozenset(
    "_pytest pytest pluggy xdist hypothesis nose nose2 coverage".split()
)
OTHER_COMPILERS: Final = frozenset(
    "jax jaxlib torch tensorflow numba llvmlite sympy pytensor autograd onnx optree".split()
)
TOOLS: Final = frozenset(
    "IPython ipykernel jupyter_client traitlets rich tqdm matplotlib cloudpickle dill".split()
)

_MOST_LOOKED_AT: Final = 1_000  # values
_DEEPEST: Final = 4
_NUMPY: Final = os.path.dirname(os.path.abspath(np.__file__)) + os.sep
_STANDARD: Final = tuple(
    {
        os.path.abspath(path) + os.sep
        for name in ("stdlib", "platstdlib")
        if (path := sysconfig.get_paths().get(name))
    }
)
_INSTALLED: Final = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))


def installed_package(file: str) -> str:
    """The installed package that a source file is of; "" if it is of none."""
    for folder in _INSTALLED:
        _, found, rest = file.rpartition(folder)
        if found:
            return rest.partition(os.sep)[0].removesuffix(".py")
    return ""


@functools.cache
def why_file_is_left(file: str) -> str:
    """Why the functions of a file are not converted; "" if they are."""
    if is_weft(file):
        return "it is Weft's own"
    if file.startswith("<frozen "):
        return "it is part of Python"
    path = os.path.abspath(file)
    if path.startswith(_NUMPY):
        return "it is NumPy's own"
    package = installed_package(path)
    if package in TEST_FRAMEWORKS | OTHER_COMPILERS | TOOLS:
        return f"functions of {package} are left alone"
    if not package and path.startswith(_STANDARD):
        return "functions of Python's standard library are left alone"
    return ""


def why_generator(code: CodeType) -> str:
    """Why a function is not converted that gives its results one by one; "" for others."""
    if code.co_flags & GENERATOR_FLAGS:
        return "it is a generator or a coroutine, which runs in pieces; return a list"
    return ""


def is_users(code: CodeType) -> bool:
    """Whether the user wrote a function, in no library that is installed."""
    return not why_file_is_left(code.co_filename) and not is_installed(code.co_filename)


@functools.cache
def is_installed(file: str) -> bool:
    """Whether a source file is of a library, which is converted where it gets traced values."""
    return not is_weft(file) and bool(installed_package(os.path.abspath(file)))


def is_numpys(function: Any) -> bool:
    """Whether a function or an object that can be called is NumPy's own, whatever it calls itself:
    wrappers take on the names of what they wrap, and names of other packages begin alike.
    """
    if isinstance(function, np.ufunc):
        return True
    if isinstance(function, MethodType):
        function = function.__func__
    if isinstance(function, FunctionType):
        return function.__code__.co_filename.startswith(_NUMPY)
    return package_of(function) == "numpy"


def code_of(function: Any) -> CodeType | None:
    """The code that runs when something is called, if it is Python's."""
    if isinstance(function, functools.partial):
        return code_of(function.func)
    if isinstance(function, MethodType):
        function = function.__func__
    elif not isinstance(function, FunctionType | type):
        kind: Any = type(function)
        function = kind.__call__ if callable(function) else None
    return function.__code__ if isinstance(function, FunctionType) else None


def may_hold_traced(values: Any) -> bool:
    """Whether there may be something traced among values and what they hold: there is, there are
    functions or iterators, which may hold anything, or there is too much to look at.
    """
    queue = deque([(values, 0)])
    for _ in range(_MOST_LOOKED_AT):
        if not queue:
            return False
        value, depth = queue.popleft()
        if state.is_immutable(value) or isinstance(value, type | ModuleType):
            continue
        parts = _held(value)
        if parts is None or (parts and depth > _DEEPEST):
            return True
        queue += [(part, depth + 1) for part in parts]
    return True


def _held(value: Any) -> list[Any] | None:
    """What a value holds; None if it is traced, or may hold anything."""
    if isinstance(value, np.ndarray):
        return None if value.dtype.hasobject else []
    if isinstance(value, tuple | list | set | frozenset | deque):
        return list(value)
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, functools.partial):
        return [value.func, value.args, value.keywords]
    if isinstance(value, MethodType | BuiltinMethodType):
        return [value.__self__, getattr(value, "__func__", None)]
    if isinstance(value, FunctionType):
        return [] if is_installed(value.__code__.co_filename) else None
    if isinstance(value, Tracer):
        return None
    held = state.attributes_of(value)
    return None if held is None else list(held.values())


def package_of(thing: Any) -> str:
    """The name of the package that something says it is of."""
    owner = getattr(thing, "__self__", None)
    named = owner.__name__ if isinstance(owner, ModuleType) else getattr(thing, "__module__", None)
    return (named if isinstance(named, str) else "").partition(".")[0]
