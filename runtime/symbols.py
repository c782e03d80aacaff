"""Addresses of outside functions that native code calls by name: SciPy's BLAS and LAPACK.

A name is `scipy_blas_dgemm` or `scipy_lapack_dgetrf`: the library, then the routine as Fortran
spells it. All arguments are pointers, integers have 32 bits, and strings have no hidden lengths.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
from typing import Any, Final

_LIBRARIES: Final = {
    "scipy_blas_": "scipy.linalg.cython_blas",
    "scipy_lapack_": "scipy.linalg.cython_lapack",
}


@functools.cache
def address(name: str) -> int:
    """Where the function of that name begins; KeyError if no library has it."""
    for prefix, library in _LIBRARIES.items():
        if name.startswith(prefix):
            return _in_capsule(_capsules(library)[name.removeprefix(prefix)])
    raise KeyError(name)


def _capsules(library: str) -> dict[str, Any]:
    """What a Cython module offers to other native code, by name."""
    found: dict[str, Any] = importlib.import_module(library).__pyx_capi__
    return found


def _in_capsule(capsule: object) -> int:
    read_name = ctypes.pythonapi.PyCapsule_GetName
    read_name.restype, read_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    read_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    read_pointer.restype = ctypes.c_void_p
    read_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    return int(read_pointer(capsule, read_name(capsule)))
