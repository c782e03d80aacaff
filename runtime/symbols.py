"""Addresses of outside functions that native code calls by name: SciPy's BLAS and LAPACK.

A name is `scipy_blas_dgemm` or `scipy_lapack_dgetrf`: the library, then the routine as Fortran
spells it. All arguments are pointers, integers have 32 bits, and strings have no hidden lengths.
`scipy_openblas_threads` is memory: where programs agree on the threads of that BLAS.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import os
import sys
from typing import Any, Final

from weft.compiler.abi import BLAS_THREADS, LIBRARIES, BlasThreads
from weft.runtime import headroom, python_api
from weft.runtime.cores import available_cores

_MODULES: Final = {"blas": "scipy.linalg.cython_blas", "lapack": "scipy.linalg.cython_lapack"}
# OpenBLAS's functions for its number of threads, as SciPy's own builds call them, and others.
_THREADS: Final = (
    "scipy_openblas_{}_num_threads",
    "openblas_{}_num_threads",
    "scipy_openblas_{}_num_threads64_",
    "openblas_{}_num_threads64_",
)


@functools.cache
def address(name: str) -> int:
    """Where the function of that name begins; KeyError if no library has it."""
    if name == BLAS_THREADS:
        return ctypes.addressof(_blas_threads())
    for library, prefix in LIBRARIES.items():
        if name.startswith(prefix):
            return _in_capsule(_capsules(_MODULES[library])[name.removeprefix(prefix)])
    raise KeyError(name)


def _capsules(library: str) -> dict[str, Any]:
    """What a Cython module offers to other native code, by name."""
    if library not in sys.modules:
        bytes = headroom.BLAS_BYTES + available_cores() * headroom.BLAS_THREAD_BYTES
        headroom.require(bytes, library)
    found: dict[str, Any] = importlib.import_module(library).__pyx_capi__
    return found


def _in_capsule(capsule: object) -> int:
    read_name = python_api.function("PyCapsule_GetName", ctypes.c_char_p, ctypes.py_object)
    return python_api.capsule_pointer(capsule, read_name(capsule))


@functools.cache
def _blas_threads() -> ctypes.Array[ctypes.c_int64]:
    """The words of `BlasThreads`; other libraries than OpenBLAS keep threads of their own."""
    words = (ctypes.c_int64 * len(BlasThreads))()
    python_api.keep_for_ever(words)
    _capsules(_MODULES["blas"])
    library = sys.modules[_MODULES["blas"]]
    handle = ctypes.CDLL(library.__file__)  # finds what the libraries behind it have, too
    for name in _THREADS:
        pair = [getattr(handle, name.format(verb), None) for verb in ("get", "set")]
        if None not in pair:
            words[BlasThreads.GET], words[BlasThreads.SET] = map(_address, pair)
            break
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=functools.partial(_forget_users, words))
    return words


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _forget_users(words: ctypes.Array[ctypes.c_int64]) -> None:
    """In the child of a fork, where those who were at work do not exist."""
    words[BlasThreads.LOCK] = words[BlasThreads.USERS] = 0
