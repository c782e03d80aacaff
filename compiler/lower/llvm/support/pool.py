"""The thread pool: `weft_parallel`, and the loop in which a worker waits for work.

A caller with parallel work takes a slot of the pool, opens its gate, rings the bell and starts on
the work itself. Workers that hear the bell pass through the gate as long as it is open and has
tickets, claim pieces of the range, and leave. The caller closes the gate when nothing is left to
claim and waits only for workers that are inside, so work that ends before anyone woke up costs
little more than a serial loop. Several callers have a slot each and share the workers; a caller
without a free slot, and nested parallel work, run serially.

The gate is one 32-bit word, so that entering, leaving and closing are one atomic step each: how
many are inside, how many tickets are left, and whether it is open, taken, and waited at.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from weft.compiler.abi import (
    PARALLEL,
    POOL_INIT,
    POOL_RING,
    POOL_SLOT_WORDS,
    POOL_SLOTS,
    POOL_SPIN,
    POOL_WORDS,
    POOL_WORKER,
    Pool,
    Run,
)
from weft.compiler.lower.llvm.emit import atomics
from weft.compiler.lower.llvm.emit.function import Function, Module, Operand, V
from weft.compiler.lower.llvm.emit.types import I32, I64, PTR, VOID
from weft.compiler.lower.llvm.support import waiting

_INSIDE: Final = 0x0003FF  # workers between entering and leaving
_TICKET: Final = 0x000400  # one more worker may enter
_TICKETS: Final = 0x0FFC00
_OPEN: Final = 0x100000
_TAKEN: Final = 0x200000
_WAITED: Final = 0x400000  # the caller sleeps until the last worker leaves

_POLL_EVERY: Final = 50_000_000  # nanoseconds between polls while a caller sleeps
_PIECES: Final = 2  # a claim is this part of an equal share of what is left
_MISSES: Final = 8  # after so many spins in vain, only every so many-th idle time is spun


class _Slot(IntEnum):
    """Positions of the words of a slot."""

    GATE = 0
    NEXT = 16  # the first unit that nobody has claimed
    RUN = 32
    TASK = 33
    DATA = 34
    COUNT = 35
    GRAIN = 36
    UNITS = 37  # how many grains there are
    SHARES = 38  # a claim is what is left divided by this


def pool_text(triple: str) -> str:
    """LLVM text of the pool for a machine; see `weft.compiler.abi` for what it exports."""
    module = Module()
    waiting.emit_waiting(module)
    _emit_spin(module, triple)
    _emit_init(module)
    _emit_ring(module)
    _emit_work(module)
    _emit_enter(module)
    _emit_worker(module)
    _emit_await(module)
    _emit_shared(module)
    _emit_take(module)
    _emit_parallel(module)
    return module.text()


def _word(f: Function, base: V, position: int) -> V:
    return f.element(base, I64, position)


def _slot(f: Function, pool: V, number: Operand) -> V:
    first = _word(f, pool, Pool.SLOTS)
    return f.element(first, I64, f.const(number, I64) * POOL_SLOT_WORDS)


def _emit_spin(module: Module, triple: str) -> None:
    """weft_pool_spin(word, value, limit): look whether the word still has the value, at most
    `limit` times and once more; whether it changed.
    """
    f = module.function(POOL_SPIN, I64, [("word", PTR), ("value", I32), ("limit", I64)])
    word, value, limit = f.arguments
    looks, changed = f.variable(0, I64), f.variable(0, I64)
    with f.loop_while() as loop:
        changed.set(atomics.load(f, word, I32).ne(value).to(I64))
        loop.stop_if(changed.get().ne(0) | looks.get().ge(limit))
        atomics.pause(f, triple)
        looks.set(looks.get() + 1)
    f.ret(changed.get())


def _emit_init(module: Module) -> None:
    """weft_pool_init(pool): also what makes a pool usable again in the child of a fork, where no
    other thread exists and locks may be held for ever.
    """
    f = module.function(POOL_INIT, VOID, [("pool", PTR)])
    (pool,) = f.arguments
    with f.range(0, POOL_WORDS) as position:
        f.store(f.const(0, I64), f.element(pool, I64, position))
    f.call(waiting.INIT, VOID, [_word(f, pool, Pool.IDLE_QUEUE)])
    f.call(waiting.INIT, VOID, [_word(f, pool, Pool.CALLER_QUEUE)])
    f.ret()


def _emit_ring(module: Module) -> None:
    f = module.function(POOL_RING, VOID, [("pool", PTR)])
    (pool,) = f.arguments
    atomics.update(f, "add", _word(f, pool, Pool.BELL), 1, I32)
    f.call(waiting.WAKE, VOID, [_word(f, pool, Pool.IDLE_QUEUE), f.const(-1, I64)])
    f.ret()


def _emit_work(module: Module) -> None:
    """weft_pool_work(slot): claim and run pieces until none is left.

    Pieces get smaller towards the end, so that few claims suffice and all finish together.
    """
    f = module.function("weft_pool_work", VOID, [("slot", PTR)], internal=True)
    (slot,) = f.arguments
    run = f.load(_word(f, slot, _Slot.RUN), PTR)
    task = f.load(_word(f, slot, _Slot.TASK), PTR)
    data = f.load(_word(f, slot, _Slot.DATA), PTR)
    count = f.load(_word(f, slot, _Slot.COUNT), I64)
    grain = f.load(_word(f, slot, _Slot.GRAIN), I64)
    units = f.load(_word(f, slot, _Slot.UNITS), I64)
    shares = f.load(_word(f, slot, _Slot.SHARES), I64)
    unclaimed = _word(f, slot, _Slot.NEXT)
    with f.loop_while() as loop:
        first = atomics.load(f, unclaimed, I64)
        left = units - first
        loop.stop_unless(left.gt(0))
        last = first + f.maximum(f.divide(left, shares), 1)
        with f.when(atomics.exchange(f, unclaimed, first, last)):
            end = f.minimum(last * grain, count)
            f.call_pointer(task, VOID, [run, data, first * grain, end])
    f.ret()


def _emit_enter(module: Module) -> None:
    """weft_pool_enter(pool): work at each gate that is open; whether there was one."""
    f = module.function("weft_pool_enter", I64, [("pool", PTR)], internal=True)
    (pool,) = f.arguments
    worked = f.variable(0, I64)
    with f.range(0, POOL_SLOTS) as number:
        gate = _slot(f, pool, number)
        seen = atomics.load(f, gate, I32)
        with f.when((seen & _OPEN).ne(0) & (seen & _TICKETS).ne(0)):
            with f.when(atomics.exchange(f, gate, seen, seen + (1 - _TICKET))):
                f.call("weft_pool_work", VOID, [gate])
                before = atomics.update(f, "sub", gate, 1, I32)
                with f.when((before & (_INSIDE | _WAITED)).eq(_WAITED | 1)):
                    queue = _word(f, pool, Pool.CALLER_QUEUE)
                    f.call(waiting.WAKE, VOID, [queue, f.const(-1, I64)])
                worked.set(1)
    f.ret(worked.get())


def _emit_worker(module: Module) -> None:
    """weft_pool_worker(pool): spins only while that has paid lately, and while there are cores to
    spare: a second caller needs one of those that were meant for workers.
    """
    f = module.function(POOL_WORKER, VOID, [("pool", PTR)])
    (pool,) = f.arguments
    bell, sleepers = _word(f, pool, Pool.BELL), _word(f, pool, Pool.SLEEPERS)
    misses = f.variable(0, I64)
    with f.loop_while() as loop:
        heard = atomics.load(f, bell, I32)
        loop.stop_unless(atomics.load(f, _word(f, pool, Pool.CLOSING), I64).eq(0))
        with f.when(f.call("weft_pool_enter", I64, [pool]).eq(0)):
            pays = misses.get().lt(_MISSES) | f.remainder(misses.get(), _MISSES).eq(0)
            limit = f.select(pays, _spin_limit(f, pool), 0)
            rang = f.call(POOL_SPIN, I64, [bell, heard, limit]).ne(0)
            misses.set(f.select(rang, f.const(0, I64), misses.get() + 1))
            with f.when(~rang):
                atomics.update(f, "add", sleepers, 1, I64)
                queue = _word(f, pool, Pool.IDLE_QUEUE)
                f.call(waiting.SLEEP, VOID, [queue, bell, heard, f.const(0, I64)])
                atomics.update(f, "sub", sleepers, 1, I64)
    f.ret()


def _spin_limit(f: Function, pool: V) -> V:
    """How often to look before sleeping: not at all once callers compete for the cores."""
    owners = atomics.load(f, _word(f, pool, Pool.OWNERS), I64)
    return f.select(owners.gt(1), 0, atomics.load(f, _word(f, pool, Pool.SPIN), I64))


def _emit_await(module: Module) -> None:
    """weft_pool_await(pool, slot): wait until nobody is inside a closed gate. Sleeps in short
    pieces, between which the caller looks for interrupts.
    """
    f = module.function("weft_pool_await", VOID, [("pool", PTR), ("slot", PTR)], internal=True)
    pool, gate = f.arguments
    run = f.load(_word(f, gate, _Slot.RUN), PTR)
    poll = f.load(_word(f, run, Run.POLL), PTR)
    with f.loop_while() as loop:
        seen = atomics.load(f, gate, I32)
        loop.stop_if((seen & _INSIDE).eq(0))
        left = f.call(POOL_SPIN, I64, [gate, seen, _spin_limit(f, pool)])
        with f.when(left.eq(0)):
            seen = atomics.update(f, "or", gate, _WAITED, I32)
            with f.when((seen & _INSIDE).ne(0)):
                queue = _word(f, pool, Pool.CALLER_QUEUE)
                nanoseconds = f.const(_POLL_EVERY, I64)
                f.call(waiting.SLEEP, VOID, [queue, gate, seen | _WAITED, nanoseconds])
                with f.when(poll.ne(0)):
                    f.call_pointer(poll, VOID, [run])
    f.ret()


def _emit_shared(module: Module) -> None:
    """weft_pool_shared(pool, slot, run, task, data, count, grain, units, tickets): do the work of a
    taken slot together with as many workers as there are tickets.
    """
    pointers = [("pool", PTR), ("slot", PTR), ("run", PTR), ("task", PTR), ("data", PTR)]
    numbers = [("count", I64), ("grain", I64), ("units", I64), ("tickets", I64)]
    f = module.function("weft_pool_shared", VOID, [*pointers, *numbers], internal=True)
    pool, gate, run, task, data, count, grain, units, tickets = f.arguments
    fields = {_Slot.RUN: run, _Slot.TASK: task, _Slot.DATA: data, _Slot.COUNT: count}
    fields |= {_Slot.GRAIN: grain, _Slot.UNITS: units, _Slot.SHARES: (tickets + 1) * _PIECES}
    for position, value in fields.items():
        f.store(value, _word(f, gate, position))
    atomics.store(f, f.const(0, I64), _word(f, gate, _Slot.NEXT))
    inside, owners = _word(f, run, Run.INSIDE), _word(f, pool, Pool.OWNERS)
    f.store(f.const(1, I64), inside)
    atomics.update(f, "add", owners, 1, I64)
    atomics.store(f, tickets.to(I32) * _TICKET + (_TAKEN | _OPEN), gate)
    # A worker counts itself as a sleeper before it looks at the bell for the last time, so either
    # it is counted here or it sees that the bell rang.
    atomics.update(f, "add", _word(f, pool, Pool.BELL), 1, I32)
    sleepers = atomics.load(f, _word(f, pool, Pool.SLEEPERS), I64)
    with f.when(sleepers.gt(0)):
        queue = _word(f, pool, Pool.IDLE_QUEUE)
        f.call(waiting.WAKE, VOID, [queue, f.minimum(sleepers, tickets)])
    f.call("weft_pool_work", VOID, [gate])
    atomics.update(f, "and", gate, ~(_OPEN | _TICKETS), I32)
    f.call("weft_pool_await", VOID, [pool, gate])
    atomics.update(f, "sub", owners, 1, I64)
    f.store(f.const(0, I64), inside)
    atomics.store(f, f.const(0, I32), gate)
    f.ret()


def _emit_take(module: Module) -> None:
    """weft_pool_take(pool): a free slot, which is taken from now on, or null."""
    f = module.function("weft_pool_take", PTR, [("pool", PTR)], internal=True)
    (pool,) = f.arguments
    found = f.variable(0, PTR)
    number = f.variable(0, I64)
    with f.loop_while() as loop:
        loop.stop_unless(number.get().lt(POOL_SLOTS) & found.get().eq(0))
        gate = _slot(f, pool, number.get())
        with f.when(atomics.exchange(f, gate, f.const(0, I32), _TAKEN)):
            found.set(gate)
        number.set(number.get() + 1)
    f.ret(found.get())


def _emit_parallel(module: Module) -> None:
    parameters = [("run", PTR), ("task", PTR), ("data", PTR), ("count", I64), ("grain", I64)]
    f = module.function(PARALLEL, VOID, parameters)
    run, task, data, count, grain = f.arguments
    step = f.maximum(grain, 1)
    units = f.divide(count, step) + f.remainder(count, step).ne(0).to(I64)
    pool = f.load(_word(f, run, Run.POOL), PTR)
    threads = f.load(_word(f, run, Run.THREADS), I64)
    tickets, slot = f.variable(0, I64), f.variable(0, PTR)
    with f.when(pool.ne(0) & f.load(_word(f, run, Run.INSIDE), I64).eq(0)):
        workers = atomics.load(f, _word(f, pool, Pool.WORKERS), I64)
        tickets.set(f.minimum(f.minimum(threads, units) - 1, workers))
    with f.when(tickets.get().gt(0)):
        slot.set(f.call("weft_pool_take", PTR, [pool]))
    with f.otherwise(slot.get().ne(0)) as choice:
        shared = [pool, slot.get(), run, task, data, count, step, units, tickets.get()]
        f.call("weft_pool_shared", VOID, shared)
        choice.otherwise()
        with f.when(count.gt(0)):
            f.call_pointer(task, VOID, [run, data, f.const(0, I64), count])
    f.ret()
