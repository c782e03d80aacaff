"""What compiled functions leave behind once they are dropped: no objects of ours, no code."""

from __future__ import annotations

import ctypes
import gc
import mmap
import platform
import threading
from collections import Counter
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
import pytest

import weft as wf
from weft.compiler.lower.llvm.machine import compile_text
from weft.frontends.driver.dispatch import CACHE_SIZE, MOST_REASONS

numbers = map(float, count(1))  # so that no two functions are the same


def tiny() -> None:
    k = next(numbers)
    f = wf.jit(lambda x, scale=1.0: np.sin(x) * k + scale, donate="x")
    f(np.ones(8))
    f(np.ones(16)[::2], scale=2.0)


def large() -> None:
    k = next(numbers)

    def layers(x: Any) -> Any:
        for number in range(70):
            x = np.tanh(x @ x) * k + number
        return x

    wf.jit(layers)(np.ones((8, 8)))


def gradient() -> None:
    k = next(numbers)

    def loss(p: Any) -> Any:
        return wf.scan(lambda c, row: (np.sin(c) * k + row, None), p["a"], p["b"])[0].sum()

    wf.jit(wf.value_and_grad(loss))({"a": np.ones(4), "b": np.ones((5, 4))})


def threads() -> None:
    k = next(numbers)
    f = wf.jit(lambda x: np.sin(x) * k + 1)
    workers = [threading.Thread(target=f, args=(np.ones(200_000),)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def constants() -> None:
    table = np.full(3000, next(numbers))
    wf.jit(lambda x: x * table)(np.ones(3000))


def failing() -> None:
    k = next(numbers)
    f = wf.jit(lambda x, i: x[i] * k)
    for wrong in (9, np.array(7)):
        with pytest.raises(wf.BoundsError):
            f(np.ones(4), wrong)


def on_reference() -> None:
    k = next(numbers)
    f = wf.jit(lambda x: wf.fence(x) * k, backend="reference")
    f(np.ones(3))


def left() -> Counter[str]:
    """Objects by their type, those that make up programs, and what holds code. LLVM's tools are
    used again: there are as many as ever were at work at the same time.
    """
    gc.collect()
    gc.collect()
    kinds = (type(thing) for thing in gc.get_objects())
    own = ("weft.runtime", "weft.compiler.loops", "weft.compiler.lower", "weft.frontends.driver")
    graph = "weft.compiler.ir.graph"
    return Counter(
        f"{kind.__module__}.{kind.__qualname__}"
        for kind in kinds
        if kind is mmap.mmap
        or (str(kind.__module__).startswith((*own, graph)) and kind.__name__ != "_Tools")
    )


@pytest.mark.parametrize("work", [tiny, large, gradient, threads, constants, failing, on_reference])
def test_dropped_functions_leave_nothing(work: Callable[[], None]) -> None:
    for _ in range(2):
        work()
    before = left()
    for _ in range(4):
        work()
    assert left() - before == Counter()


def test_versions_that_are_dropped_leave_nothing() -> None:
    f = wf.jit(lambda x: x * 2 + 1, backend="reference")
    for size in range(CACHE_SIZE + 20):
        f(np.ones(size))
    before = left()
    for size in range(CACHE_SIZE + 20, CACHE_SIZE + 60):
        f(np.ones(size))
    assert left() - before == Counter()
    assert len(f._cache) == CACHE_SIZE and f._reasons.maxlen == MOST_REASONS
    assert f._states.keys() == {key for key, _ in f._cache}


class _Heap(ctypes.Structure):
    """What glibc's `mallinfo2` tells."""

    _fields_ = [(name, ctypes.c_size_t) for name in "abcdefghij"]


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other libraries do not tell")
def test_compiling_takes_little_of_the_heap_for_ever() -> None:
    """llvmlite keeps some memory of each column of passes; ours are used again."""
    info = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if info is None:
        pytest.skip("this glibc does not tell")
    info.restype = _Heap
    text = "define i64 @f(i64 %x) {\n  %y = add i64 %x, 1\n  ret i64 %y\n}\n"

    def taken(times: int) -> int:
        for _ in range(times):
            compile_text(text)
        gc.collect()
        found = info()
        return int(found.h + found.e)

    before = taken(20)
    assert (taken(60) - before) / 60 < 4000
