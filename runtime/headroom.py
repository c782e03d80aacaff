"""Memory that must be there before libraries run that abort the process where there is none.

LLVM ends the process when its own allocation fails, and OpenBLAS when it cannot start its threads.
Where the system limits a process's address space (`ulimit -v`), a piece as large as what they may
need is mapped and given back before they run. Where there is no limit, nothing is done.
"""

from __future__ import annotations

import errno
import mmap
import opcode
import threading
import traceback
from collections.abc import Callable
from functools import wraps
from typing import Any, Final, TypeVar

LLVM_BYTES: Final = 32 << 20  # also for the modules of Weft that compiling imports: 10 MiB
LLVM_LIBRARY_BYTES: Final = 160 << 20  # llvmlite's library; 120 MiB were measured
LLVM_BYTES_OF_TEXT: Final = 100  # for each character of a module; 35 were measured
BLAS_BYTES: Final = 128 << 20  # OpenBLAS maps its buffers when it is loaded
BLAS_THREAD_BYTES: Final = 48 << 20  # and a buffer and a stack for each of its threads
THREAD_BYTES: Final = 24 << 20  # its stack, and what Python makes before it runs anything
LOADING_BYTES: Final = 256 << 20  # more than the libraries themselves, and a thread's stack, take
# What the loader of libraries, llvmlite and Python say.
_SIGNS: Final = ("map segment", "allocate memory", "load shared object", "start new thread")
_IMPORT_NAME: Final = opcode.opmap["IMPORT_NAME"]

T = TypeVar("T")


def require(bytes: int, what: str) -> None:
    """Raise MemoryError if address space is limited and so many bytes cannot be had."""
    if is_limited() and not is_available(bytes):
        raise MemoryError(
            f"there is no memory for {what}: it may need {bytes:,} bytes of address space"
        )


def is_limited() -> bool:
    """Whether this process's address space, or its data, has a limit."""
    try:
        import resource
    except ImportError:  # not on Windows
        return False
    limits = resource.RLIMIT_AS, resource.RLIMIT_DATA
    return any(resource.getrlimit(limit)[0] != resource.RLIM_INFINITY for limit in limits)


def is_available(bytes: int) -> bool:
    """Whether so many bytes of memory can be mapped now."""
    try:
        mmap.mmap(-1, bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except (OSError, MemoryError):
        return False
    return True


def start(thread: threading.Thread) -> None:
    """Start a thread; RuntimeError where it cannot be had. One that Python has no memory for once
    the system has made it never tells, and Python would wait for it for ever.
    """
    if is_limited() and not is_available(THREAD_BYTES):
        raise RuntimeError("can't start new thread: there is no memory for it")
    thread.start()


def out_of_memory_is_memory_error(function: Callable[..., T]) -> Callable[..., T]:
    """The function with MemoryError in place of what Python raises where a module or library cannot
    be loaded or a thread cannot be started because address space is used up.
    """

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> T:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            if not _is_want_of_memory(error):
                raise
            raise MemoryError(f"there is no memory to compile: {error}") from error

    return call


def _is_want_of_memory(error: Exception) -> bool:
    if isinstance(error, OSError) and error.errno == errno.ENOMEM:
        return True
    is_sign = isinstance(error, (OSError, ImportError, RuntimeError)) and any(
        sign in str(error) for sign in _SIGNS
    )
    return (is_sign or _is_of_an_import(error)) and is_limited() and not is_available(LOADING_BYTES)


def _is_of_an_import(error: Exception) -> bool:
    """Whether an import failed. Where there is no memory, Python's parser calls correct modules
    syntax errors, and the loader raises ValueError or SystemError.
    """
    frames = traceback.walk_tb(error.__traceback__)
    codes = [(frame.f_code.co_code, frame.f_lasti) for frame, _ in frames]
    return any(code[last] == _IMPORT_NAME for code, last in codes)
