"""Forks while other threads compile: the child compiles and runs, whatever they were at."""

from __future__ import annotations

import gc
import os
import signal
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft as wf
from tests.frontends.driver.test_robustness import output, start
from tests.patience import PATIENCE
from weft.frontends.driver.gc_pause import gc_paused
from weft.runtime.forking import fork_lock, unforked

Array = np.ndarray[Any, Any]
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")


def exit_code(work: Callable[[], bool]) -> int:
    """0 if the work in the child of a fork says that all is well; it is killed if it hangs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        signal.alarm(int(PATIENCE) // 4)
        code = 2
        try:
            code = 0 if work() else 1
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def held_by_another(lock: Any, end: threading.Event) -> threading.Thread:
    """A thread that holds a lock until the event comes."""
    begun = threading.Event()

    def hold() -> None:
        with lock:
            begun.set()
            end.wait(PATIENCE)

    thread = threading.Thread(target=hold)
    thread.start()
    assert begun.wait(PATIENCE)
    return thread


def test_a_lock_of_another_thread_is_free_in_the_child() -> None:
    lock, end = fork_lock(), threading.Event()
    thread = held_by_another(lock, end)
    code = exit_code(lambda: bool(lock.acquire(blocking=False)))
    assert not lock.acquire(blocking=False)
    end.set()
    thread.join()
    assert code == 0


def test_a_lock_of_the_thread_that_forks_stays_its_own() -> None:
    lock = fork_lock()

    def released() -> bool:
        lock.release()
        return not lock._is_owned()

    with lock:
        assert exit_code(released) == 0


def test_a_fork_waits_for_what_must_not_be_cut() -> None:
    begun, is_done = threading.Event(), []

    def work() -> None:
        with unforked():
            begun.set()
            threading.Event().wait(0.05)
            is_done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    assert begun.wait(PATIENCE)
    assert exit_code(lambda: bool(is_done)) == 0
    thread.join()


def test_a_fork_waits_for_what_is_inside_of_llvm() -> None:
    from llvmlite.binding import ffi

    begun, is_done = threading.Event(), []

    def work() -> None:
        with ffi.lib._lock:  # as every function of llvmlite does
            begun.set()
            threading.Event().wait(0.05)
            is_done.append(True)

    def is_free() -> bool:
        free = bool(ffi.lib._lock._lock.acquire(blocking=False))
        return free and bool(is_done)

    thread = threading.Thread(target=work)
    thread.start()
    assert begun.wait(PATIENCE)
    assert exit_code(is_free) == 0
    thread.join()
    assert ffi.lib._lock._lock.acquire(timeout=PATIENCE)
    ffi.lib._lock._lock.release()
    with ffi.lib._lock:  # a fork inside of it does not wait for itself
        assert exit_code(lambda: bool(ffi.lib._lock._lock._is_owned())) == 0


def test_a_fork_inside_of_it_does_not_wait_for_itself() -> None:
    with unforked():
        assert exit_code(lambda: True) == 0


def test_the_child_collects_garbage_while_the_parent_compiles() -> None:
    begun, end = threading.Event(), threading.Event()

    def compile_something() -> None:
        with gc_paused():
            begun.set()
            end.wait(PATIENCE)

    thread = threading.Thread(target=compile_something)
    thread.start()
    assert begun.wait(PATIENCE)
    codes = [exit_code(gc.isenabled)]
    with gc_paused():
        codes.append(exit_code(lambda: not gc.isenabled()))
    end.set()
    thread.join()
    assert codes == [0, 0]
    assert gc.isenabled()


def test_a_fork_while_a_function_is_traced() -> None:
    """The child goes on with the trace, and compiles it."""
    children = []

    def function(x: Array) -> Array:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            children.append(os.fork())
        return np.sin(x) + 1

    code = 2
    try:
        code = 0 if np.allclose(wf.jit(function)(np.ones(3)), np.sin(1.0) + 1) else 1
    finally:
        if not children[0]:
            os._exit(code)
    assert code == os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 0


FORKS = """
import itertools, os, signal, threading, warnings
import numpy as np, numpy.testing, weft as wf, weft.numpy

warnings.simplefilter("ignore")
numbers = itertools.count()
x = np.linspace(0, 1, 30_000).reshape(100, 300)
done, shared = threading.Event(), wf.jit(lambda x: np.tanh(x).sum(0))

def check(number):
    f = wf.jit(lambda x: np.sin(x * number) @ (x.T + number), products="generated")
    wanted = np.einsum("ij,kj->ik", np.sin(x * number), x + number)  # NumPy's BLAS may hang
    np.testing.assert_allclose(f(x), wanted, rtol=1e-9)
    y = x[: 3 + number % 90]
    np.testing.assert_allclose(shared(y), np.tanh(y).sum(0), rtol=1e-9)
    e = wf.numpy.asarray(y) * number
    np.testing.assert_allclose(np.asarray(e + e[:1]), y * number + y[:1] * number)

def work():
    while not done.is_set():
        check(next(numbers))

threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
codes = []
for number in range(12):
    child = os.fork()
    if not child:
        signal.alarm(150)
        code = 1
        try:
            check(1000 + number)
            code = 0
        finally:
            os._exit(code)
    codes.append(os.waitpid(child, 0)[1])
    done.wait(0.02 * number)
done.set()
for thread in threads:
    thread.join()
print(codes)
"""


@pytest.mark.slow
def test_children_compile_while_threads_of_the_parent_do() -> None:
    """From the first moment on, when modules are still being imported."""
    assert output(start(FORKS, WEFT_CACHE_DIR="")) == f"{[0] * 12}\n"
