"""Sleeping until a word in memory changes, on a mutex and a condition of POSIX threads.

A Linux futex was measured too: it is no faster here (docs/decisions/threads.md), and this runs on
every POSIX system. A queue is where threads sleep: 32 words, the mutex in the first half and the
condition in the second, both with room to spare on all systems.
"""

from __future__ import annotations

from typing import Final

from weft.compiler.lower.llvm.emit import atomics
from weft.compiler.lower.llvm.emit.function import Function, Module, V
from weft.compiler.lower.llvm.emit.types import I32, I64, PTR, VOID

QUEUE_WORDS: Final = 32
INIT: Final = "weft_queue_init"
SLEEP: Final = "weft_queue_sleep"
WAKE: Final = "weft_queue_wake"

_SECOND: Final = 1_000_000_000  # in nanoseconds
_CLOCK_REALTIME: Final = 0


def emit_waiting(module: Module) -> None:
    _emit_init(module)
    _emit_sleep(module)
    _emit_wake(module)


def _parts(f: Function, queue: V) -> tuple[V, V]:
    """The mutex and the condition."""
    return queue, f.element(queue, I64, QUEUE_WORDS // 2)


def _emit_init(module: Module) -> None:
    """weft_queue_init(queue): make it usable, whatever its memory held; nobody may sleep in it."""
    f = module.function(INIT, VOID, [("queue", PTR)], internal=True)
    mutex, condition = _parts(f, f.arguments[0])
    f.call("pthread_mutex_init", I32, [mutex, f.const(0, PTR)])
    f.call("pthread_cond_init", I32, [condition, f.const(0, PTR)])
    f.ret()


def _emit_sleep(module: Module) -> None:
    """weft_queue_sleep(queue, word, value, nanoseconds): sleep if the word has the value, until
    woken or for that long (0: without end). May return early.
    """
    parameters = [("queue", PTR), ("word", PTR), ("value", I32), ("nanoseconds", I64)]
    f = module.function(SLEEP, VOID, parameters, internal=True)
    queue, word, value, nanoseconds = f.arguments
    mutex, condition = _parts(f, queue)
    until = f.stack(I64, 2, align=8)
    f.call("pthread_mutex_lock", I32, [mutex])
    with f.when(atomics.load(f, word, I32).eq(value)):
        with f.otherwise(nanoseconds.eq(0)) as choice:
            f.call("pthread_cond_wait", I32, [condition, mutex])
            choice.otherwise()
            f.call("clock_gettime", I32, [f.const(_CLOCK_REALTIME, I32), until])
            seconds, rest = until, f.element(until, I64, 1)
            total = f.load(rest, I64) + nanoseconds
            f.store(f.load(seconds, I64) + f.divide(total, _SECOND), seconds)
            f.store(f.remainder(total, _SECOND), rest)
            f.call("pthread_cond_timedwait", I32, [condition, mutex, until])
    f.call("pthread_mutex_unlock", I32, [mutex])
    f.ret()


def _emit_wake(module: Module) -> None:
    """weft_queue_wake(queue, count): wake so many sleepers, or all if the count is negative. Call
    it after the word has changed.
    """
    f = module.function(WAKE, VOID, [("queue", PTR), ("count", I64)], internal=True)
    queue, count = f.arguments
    mutex, condition = _parts(f, queue)
    # Whoever saw the old value holds the mutex until it sleeps, so it cannot miss the signal.
    f.call("pthread_mutex_lock", I32, [mutex])
    f.call("pthread_mutex_unlock", I32, [mutex])
    with f.otherwise(count.lt(0)) as choice:
        f.call("pthread_cond_broadcast", I32, [condition])
        choice.otherwise()
        with f.range(0, count):
            f.call("pthread_cond_signal", I32, [condition])
    f.ret()
