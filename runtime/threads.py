"""How many threads a call may use, and the pool of native threads that it uses them from.

The number never changes results, only speed. It comes, in this order, from `with threads(n)`,
`set_num_threads(n)`, the environment variable WEFT_NUM_THREADS, and the cores that this process may
use.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from weft.compiler import abi
from weft.runtime import headroom
from weft.runtime.cores import available_cores

if TYPE_CHECKING:
    from weft.runtime.native import Library

SPIN_SECONDS: Final = 50e-6  # about what sleeping and being woken costs
_STOP_SECONDS: Final = 5.0  # how long closing waits for a worker in the middle of a task

# What `threads` has set here; the call stub reads it.
chosen: ContextVar[int] = ContextVar("weft_threads")


class Default:
    """The number of threads where nobody chose one, as a word that native code reads."""

    def __init__(self) -> None:
        self._word = ctypes.c_int64(0)

    @property
    def address(self) -> int:
        """Of a 64-bit word."""
        return ctypes.addressof(self._word)

    def get(self) -> int:
        if not self._word.value:
            self._word.value = default_threads()
        return self._word.value

    def set(self, count: int) -> None:
        self._word.value = count


default: Final = Default()


def default_threads() -> int:
    """WEFT_NUM_THREADS if that is set, else the number of cores that this process may use."""
    text = os.environ.get("WEFT_NUM_THREADS", "").strip()
    if not text:
        return min(available_cores(), abi.MOST_WORKERS + 1)
    try:
        return _checked(int(text))
    except ValueError:
        raise ValueError(
            f"WEFT_NUM_THREADS is {text!r}; it must be a number of threads, 1 or more"
        ) from None


def get_num_threads() -> int:
    """How many threads a call made now may use.

    >>> with threads(3):
    ...     get_num_threads()
    3
    """
    return chosen.get(0) or default.get()


def set_num_threads(count: int | None) -> None:
    """Let calls use so many threads from now on; None: as many as at the start."""
    default.set(default_threads() if count is None else _checked(count))


@contextlib.contextmanager
def threads(count: int) -> Iterator[None]:
    """Let calls inside the `with` block, in this thread or async task, use so many threads."""
    before, count = chosen.get(0), _checked(count)
    try:  # an interrupt may come with any call, so nothing is called between this and the change
        chosen.set(count)
        yield
    finally:
        chosen.set(before)


def _checked(count: int) -> int:
    if isinstance(count, bool) or not isinstance(count, int):
        raise TypeError(f"a number of threads is an int, not {type(count).__name__}")
    if not 1 <= count <= abi.MOST_WORKERS + 1:
        raise ValueError(f"{count} threads: from 1 to {abi.MOST_WORKERS + 1} can be used")
    return count


class Pool:
    """Threads that native code shares its loops with; `code` is what `support.pool` compiles to.

    Workers are Python threads that stay in native code, without the GIL, for as long as they live;
    they start when they are first needed, and again in the child of a fork.
    """

    def __init__(self, code: bytes) -> None:
        from weft.runtime.native import Library  # loads LLVM, which counting threads does not need

        self._library = Library(code, abi.POOL_EXPORTS)
        self._state = _aligned_words(abi.POOL_WORDS)
        self._workers: list[threading.Thread] = []
        self._most = abi.MOST_WORKERS
        self._lock = threading.Lock()
        self._looks = _spin_looks(self._function(abi.POOL_SPIN, 3), self._state)
        self._initialise()
        self._stop = _Stop(self._state, self._workers, self._function(abi.POOL_RING, 1))
        weakref.finalize(self, self._stop)
        _after_fork(self)

    @property
    def address(self) -> int:
        """What belongs into `Run.POOL`."""
        return int(self._state.ctypes.data)

    @property
    def parallel(self) -> int:
        """The address of `weft_parallel`, for linking programs."""
        return self._library.address(abi.PARALLEL)

    @property
    def workers(self) -> int:
        return len(self._workers)

    def ensure(self, threads: int) -> None:
        """Start workers until `threads` can work at once, the caller being one of them; fewer if
        the system allows no more, none in an interpreter that ends, where no thread ever starts.
        """
        if min(threads - 1, self._most) <= len(self._workers) or sys.is_finalizing():
            return
        with self._lock:
            self._state[abi.Pool.CLOSING] = 0
            while len(self._workers) < min(threads - 1, self._most):
                try:
                    self._workers.append(self._start(len(self._workers)))
                except RuntimeError:  # the system allows no more, or the interpreter shuts down
                    self._most = self._state[abi.Pool.MOST] = len(self._workers)
            spare = available_cores() > len(self._workers)
            self._state[abi.Pool.SPIN] = self._looks if spare else 0
            self._state[abi.Pool.WORKERS] = len(self._workers)

    def close(self) -> None:
        """End the workers. Calls still work, on one thread, until `ensure` starts new ones."""
        with self._lock:
            self._stop()

    def reset(self) -> None:
        """Forget the workers, which do not exist in the child of a fork, and what they held."""
        self._lock = threading.Lock()
        self._workers.clear()
        self._initialise()

    def _start(self, number: int) -> threading.Thread:
        worker = self._function(abi.POOL_WORKER, 1)
        # The thread keeps what it runs on alive, should the pool be dropped before it ends.
        thread = threading.Thread(
            target=_park,
            args=(worker, self._state, self._library),
            name=f"weft-worker-{number}",
            daemon=True,
        )
        headroom.start(thread)
        return thread

    def _function(self, name: str, arguments: int) -> Callable[..., int]:
        kinds = [ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64][:arguments]
        return ctypes.CFUNCTYPE(ctypes.c_int64, *kinds)(self._library.address(name))

    def _initialise(self) -> None:
        self._function(abi.POOL_INIT, 1)(self.address)
        self._state[abi.Pool.MOST] = self._most


class _Stop:
    """Ends the workers of a pool. It does not hold the pool, so that it can run when that dies."""

    def __init__(
        self,
        state: np.ndarray[Any, Any],
        workers: list[threading.Thread],
        ring: Callable[..., int],
    ) -> None:
        self.state = state
        self.workers = workers
        self.ring = ring

    def __call__(self) -> None:
        self.state[abi.Pool.WORKERS] = 0
        if not self.workers:
            return
        self.state[abi.Pool.CLOSING] = 1
        self.ring(self.state.ctypes.data)
        for worker in self.workers:
            if worker is not threading.current_thread():
                worker.join(_STOP_SECONDS)
        self.workers.clear()


def _park(worker: Callable[..., int], state: np.ndarray[Any, Any], library: Library) -> None:
    worker(state.ctypes.data)
    del library


def _after_fork(pool: Pool) -> None:
    """Reset the pool in children, as long as it lives."""
    if not hasattr(os, "register_at_fork"):
        return
    held = weakref.ref(pool)

    def reset() -> None:
        found = held()
        if found is not None:
            found.reset()

    os.register_at_fork(after_in_child=reset)


def _spin_looks(spin: Callable[..., int], word: np.ndarray[Any, Any]) -> int:
    """How many looks at memory take as long as a thread may spin: a pause is 10 to 150 cycles."""
    looks = 500
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        spin(word.ctypes.data, 0, looks)
        best = min(best, time.perf_counter() - start)
    return int(SPIN_SECONDS * looks / best)


def _aligned_words(count: int) -> np.ndarray[Any, Any]:
    """Zeros, beginning at a cache line."""
    words = np.zeros(count + 15, np.int64)
    start = -words.ctypes.data // 8 % 16
    return words[start : start + count]


@contextlib.contextmanager
def limited(count: int | None) -> Iterator[None]:
    """`threads(count)`, or nothing for None."""
    if count is None:
        yield
        return
    with threads(count):
        yield


def limiting(function: Callable[..., Any], count: int | None) -> Callable[..., Any]:
    """The function with so many threads in each of its calls; itself for None."""
    if count is None:
        return function

    def call(*args: Any, **kwargs: Any) -> Any:
        before = chosen.get(0)
        try:
            chosen.set(count)
            return function(*args, **kwargs)
        finally:
            chosen.set(before)

    return call
