"""Functions of Python's C API, each with types of its own: those of `ctypes.pythonapi` are shared
by all libraries of a process, and some set other types there than others expect.
"""

from __future__ import annotations

import ctypes
from typing import Any


def function(name: str, result: Any, *arguments: Any) -> Any:
    """A function of Python's, called with the GIL held."""
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


def address(name: str) -> int:
    """Where a function of Python's is."""
    return ctypes.cast(function(name, None), ctypes.c_void_p).value or 0


def capsule_pointer(capsule: Any, name: bytes | None) -> int:
    """The address that a capsule of this name holds."""
    get = function("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    found: int = get(capsule, name)
    return found


def keep_for_ever(value: Any) -> None:
    """Never let an object die, nor what it holds: not when the interpreter ends either, which drops
    modules before it drops the last objects that native code serves.
    """
    function("Py_IncRef", None, ctypes.py_object)(value)
