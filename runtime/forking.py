"""Forks in the middle of work: what other threads were at does not hang the child.

Of the threads of a process only the one that forks is there in the child. A lock that another one
held would be held for ever, so locks of `fork_lock` are free in the child. LLVM's own locks cannot
be set right there, and modules seldom: a fork waits until no thread is inside of LLVM, by the lock
of llvmlite and `unforked`, or imports a module of those that compile.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

_PACKAGES: Final = ("weft", "llvmlite", "numpy", "scipy")  # imported while a program is compiled

_SECONDS: Final = 0.1  # after which a fork looks again, should nobody have told it to

_locks: Final[weakref.WeakSet[Any]] = weakref.WeakSet()
_inside: Final[dict[object, int]] = {}  # the thread of each `unforked` under way
_changed: Final = threading.Condition()  # its lock is held in the moment of a fork
_is_forking: list[bool] = []  # one element for a fork under way
_held: Final[list[Any]] = []  # the lock of llvmlite, while that fork has it


def fork_lock() -> Any:
    """A re-entrant lock that is free in the child of a fork, unless the forking thread has it."""
    lock = threading.RLock()
    _locks.add(lock)
    return lock


@contextmanager
def unforked() -> Iterator[None]:
    """Work that is never cut by a fork of another thread, which waits for its end."""
    work, thread = object(), threading.get_ident()
    try:
        with _changed:
            _inside[work] = thread
        yield
    finally:
        if work in _inside:  # first of all, as an interrupt may come with any call
            del _inside[work]
        with _changed:
            _changed.notify_all()


def _before() -> None:
    _changed.acquire()
    _is_forking.append(True)
    thread = threading.get_ident()
    while any(other != thread for other in list(_inside.values())):
        _changed.wait(_SECONDS)
    for name in _imports_of_others():
        if name.partition(".")[0] in (*_PACKAGES, *sys.stdlib_module_names):
            with suppress(Exception):  # the thread that imports it sees that as well
                importlib.import_module(name)
    lock = _llvm_lock()
    if lock is not None:
        lock.acquire()
        _held.append(lock)


def _imports_of_others() -> list[str]:
    """The modules that other threads are importing now."""
    thread = threading.get_ident()
    locks = [(name, reference()) for name, reference in list(_module_locks().items())]
    return [name for name, lock in locks if getattr(lock, "owner", None) not in (None, thread)]


def _module_locks() -> dict[str, Any]:
    """Python's locks of modules that are being imported, by name, as weak references."""
    found: dict[str, Any] = getattr(sys.modules["importlib._bootstrap"], "_module_locks", {})
    return found


def _drop_imports_of_others() -> None:
    """Let the child import anew what began to be imported after the fork had waited."""
    for name in _imports_of_others():
        del _module_locks()[name]
        if getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False):
            del sys.modules[name]


def _after() -> None:
    while _held:
        _held.pop().release()
    if _is_forking:
        _is_forking.pop()
        _changed.release()


def _in_child() -> None:
    _after()
    _drop_imports_of_others()
    for lock in (*_locks, _llvm_lock()):
        if lock is not None and not lock._is_owned():
            lock._at_fork_reinit()


def _llvm_lock() -> Any:
    """The lock around all of llvmlite's functions, if they are loaded."""
    ffi = sys.modules.get("llvmlite.binding.ffi")
    return getattr(getattr(getattr(ffi, "lib", None), "_lock", None), "_lock", None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_in_child)
