"""The native support code, compiled once, and entries and tasks written in Python."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.patience import PATIENCE
from weft.compiler.abi import RUN_WORDS, Run
from weft.compiler.lower.llvm.emit.function import Module
from weft.compiler.lower.llvm.emit.types import I64, PTR, VOID
from weft.compiler.lower.llvm.machine import compile_text, host
from weft.compiler.lower.llvm.support.pool import pool_text
from weft.compiler.lower.llvm.support.stub import stub_text
from weft.runtime.native import Library
from weft.runtime.stub import Caller
from weft.runtime.threads import Pool

ROOT = Path(__file__).parent.parent.parent
NDArray = np.ndarray[Any, Any]
Task = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 2)
Poll = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
Entry = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 5)
Parallel = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 2)


@functools.cache
def pool_code() -> bytes:
    return compile_text(pool_text(host().triple))


@functools.cache
def pool() -> Pool:
    return Pool(pool_code())


@functools.cache
def caller() -> Caller:
    return Caller(compile_text(stub_text(host().triple)), pool())


@functools.cache
def native() -> Library:
    """`count(run, data, begin, end)`, a task that adds 1 to each number of its range."""
    module = Module()
    f = module.function("count", VOID, [("run", PTR), ("data", PTR), ("begin", I64), ("end", I64)])
    _, data, begin, end = f.arguments
    with f.range(begin, end) as i:
        place = f.element(data, I64, i)
        f.store(f.load(place, I64) + 1, place)
    f.ret()
    return Library(compile_text(module.text()), ["count"])


def as_task(function: Callable[[int, int, int, int], None]) -> Any:
    """A Python function as a task of a parallel region."""
    return Task(function)


def as_poll(function: Callable[[int], None]) -> Any:
    return Poll(function)


def address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def run_record(threads: int, of: Pool, **words: int) -> NDArray:
    record = np.zeros(RUN_WORDS, np.int64)
    record[Run.THREADS], record[Run.POOL] = threads, of.address
    for name, value in words.items():
        record[Run[name]] = value
    return record


def parallel(
    of: Pool, task: int, count: int, grain: int = 1, threads: int = 2, data: int = 0, **words: int
) -> NDArray:
    """Call `weft_parallel` with a record of its own, which is returned."""
    of.ensure(threads)
    record = run_record(threads, of, **words)
    Parallel(of.parallel)(record.ctypes.data, task, data, count, grain)
    return record


def counts(of: Pool, length: int, grain: int = 1, threads: int = 2) -> NDArray:
    """How often native code visits each index of a range."""
    visits = np.zeros(length, np.int64)
    task = native().address("count")
    parallel(of, task, length, grain, threads, visits.ctypes.data)
    return visits


def entry(function: Callable[[int, int, int, int, int], Any]) -> Any:
    """A Python function as a program; keep the object for as long as it is called."""

    def call(*arguments: int | None) -> int:
        function(*[argument or 0 for argument in arguments])
        return 0

    return Entry(call)


def words(place: int, count: int) -> list[int]:
    return list((ctypes.c_int64 * count).from_address(place)) if count else []


def view(place: int, like: NDArray) -> NDArray:
    """The memory at an address as an array of the same shape and dtype."""
    memory = memoryview((ctypes.c_char * like.nbytes).from_address(place))
    found: NDArray = np.frombuffer(memory, like.dtype).reshape(like.shape)
    return found


@contextlib.contextmanager
def no_leak_of(*things: Any) -> Iterator[None]:
    """What happens inside, a hundred times or more, leaves the reference counts as they were. A few
    of None and the like belong to the machinery of the test; what other tests left in cycles, which
    may hold many, is collected before.
    """
    gc.collect()
    gc.disable()
    try:
        before = [sys.getrefcount(thing) for thing in things]
        yield
        after = [sys.getrefcount(thing) for thing in things]
    finally:
        gc.enable()
    assert np.abs(np.subtract(after, before)).max() < 50, (before, after)


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", **environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
