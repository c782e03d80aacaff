"""The memory of results: aligned to 64 bytes, known to NumPy through a memory handler of our own.

Large blocks are used again for later results, because fresh pages are slow. At most `limit` bytes
wait like that, and the system may take their pages whenever it needs them.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from weft.compiler import abi
from weft.runtime import python_api
from weft.runtime.native import Library

_PART_OF_MACHINE: Final = 8  # the limit is this part of the machine's memory
_UNKNOWN_MACHINE: Final = 1 << 31
_LESS: Final = 1 << 13  # bytes by which that block is smaller than those that are kept
_HANDLER_NAME: Final = b"mem_handler"


class _Handler(ctypes.Structure):
    """NumPy's `PyDataMem_Handler`."""

    _fields_ = [
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("context", ctypes.c_void_p),
        ("functions", ctypes.c_void_p * len(abi.MEMORY_HANDLER)),
    ]


class Memory:
    """The allocator of one process, from the object code of `support.stub`."""

    def __init__(self, library: Library) -> None:
        self._state = np.zeros(abi.MEMORY_WORDS, np.int64)
        self._trim = _function(library, abi.MEMORY_TRIM, None, 1)
        self._new = _function(library, abi.MEMORY_NEW, ctypes.c_void_p, 1)
        self._free = _function(library, abi.MEMORY_HANDLER[3], None, 2)
        functions = [library.address(name) for name in abi.MEMORY_HANDLER]
        self._handler = _Handler(b"weft", 1, self.address, (ctypes.c_void_p * 4)(*functions))
        self.capsule: Any = _capsule(self._handler)
        self.limit = _machine_memory() // _PART_OF_MACHINE
        self._teach_malloc()

    def _teach_malloc(self) -> None:
        """Take and give back, untouched, the largest block that is left to malloc: glibc returns
        to the system what is larger than what it was given back so far, so that results of some
        megabytes would have fresh pages in every call, or not, by chance.
        """
        block = self.new(abi.MEMORY_LARGE - _LESS)
        if block is not None:
            self.free(block)

    @property
    def address(self) -> int:
        return int(self._state.ctypes.data)

    @property
    def limit(self) -> int:
        """How many bytes may wait to be used again."""
        return int(self._state[abi.Memory.LIMIT])

    @limit.setter
    def limit(self, bytes: int) -> None:
        self._state[abi.Memory.LIMIT] = bytes
        self.trim(bytes)

    @property
    def kept(self) -> int:
        """How many bytes wait to be used again."""
        return int(self._state[abi.Memory.TOTAL])

    def trim(self, bytes: int = 0) -> None:
        """Give memory back to the system until no more than that waits."""
        self._trim(self.address, bytes)

    def new(self, bytes: int) -> int | None:
        """The address of a block, None if there is no memory; give it back with `free`."""
        found: int | None = self._new(self.address, bytes)
        return found

    def free(self, block: int) -> None:
        self._free(self.address, block, 0)


def _function(library: Library, name: str, result: Any, numbers: int) -> Callable[..., Any]:
    """A native function that is called with the GIL held."""
    kinds = [ctypes.c_void_p, *[ctypes.c_int64] * numbers]
    return ctypes.PYFUNCTYPE(result, *kinds)(library.address(name))


def _capsule(handler: _Handler) -> Any:
    types = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
    new = python_api.function("PyCapsule_New", ctypes.py_object, *types)
    return new(ctypes.addressof(handler), _HANDLER_NAME, None)


def _machine_memory() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return _UNKNOWN_MACHINE
