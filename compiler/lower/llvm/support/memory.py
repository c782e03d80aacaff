"""Memory for results and intermediate values, aligned to 64 bytes, as a NumPy memory handler.

A block is what malloc gives, with its address and size noted before its data. Blocks so large that
malloc would return them to the system are kept for a while: fresh pages cost many times what it
takes to fill them (benchmarks/internals/result_memory.py). The system may take the pages of kept
blocks when it needs them. All this runs under the GIL, which is the lock.
"""

from __future__ import annotations

from typing import Final

from weft.compiler.abi import (
    MEMORY_HANDLER,
    MEMORY_KEPT,
    MEMORY_LARGE,
    MEMORY_NEW,
    MEMORY_TRIM,
    KeptBlock,
    Memory,
)
from weft.compiler.lower.llvm.emit.function import Function, Module, Operand, V
from weft.compiler.lower.llvm.emit.types import I1, I8, I32, I64, PTR, VOID
from weft.compiler.lower.llvm.support.python import saturating_product

_NEW, _CALLOC, _REALLOC, _FREE = MEMORY_HANDLER
_RAW: Final = "weft_memory_raw"
_ADVISE: Final = "weft_memory_advise"
_DROP: Final = "weft_memory_drop"
_OLDEST: Final = "weft_memory_oldest"
_BEST: Final = "weft_memory_best"

_ALIGNMENT: Final = 64
_MARGIN: Final = 80  # before and after the data: alignment, and two words
_MOST: Final = 1 << 62  # bytes; more is not even tried
_LAST: Final = (1 << 63) - 1  # later than any time
_PAGE: Final = 4096
_HUGE_PAGES_FROM: Final = 1 << 22  # bytes, as in NumPy
_HUGE_PAGES: Final = {"linux": 14}  # MADV_HUGEPAGE
_MAY_TAKE: Final = {"linux": 8, "darwin": 5}  # MADV_FREE


def emit_memory(module: Module, triple: str) -> None:
    """The allocator; see `weft.compiler.abi` for what it exports."""
    _emit_raw(module, triple)
    _emit_advise(module)
    _emit_drop(module)
    _emit_oldest(module)
    _emit_trim(module)
    _emit_best(module)
    _emit_new(module)
    _emit_free(module, triple)
    _emit_calloc(module)
    _emit_realloc(module)


def _advice(table: dict[str, int], triple: str) -> int:
    """The number by which a system knows a piece of advice; 0: it does not."""
    return next((number for name, number in table.items() if name in triple), 0)


def _kept(f: Function, memory: V, number: Operand) -> V:
    first = f.element(memory, I64, Memory.KEPT)
    return f.element(first, I64, f.const(number, I64) * len(KeptBlock))


def _capacity(f: Function, block: V) -> V:
    return f.load(f.element(block, I64, -2), I64)


def _emit_advise(module: Module) -> None:
    """weft_memory_advise(block, advice): tell the system about the whole pages of a block."""
    f = module.function(_ADVISE, VOID, [("block", PTR), ("advice", I32)], internal=True)
    block, advice = f.arguments
    start = _address(f, block)
    first = (start + (_PAGE - 1)) & -_PAGE
    length = ((start + _capacity(f, block)) & -_PAGE) - first
    f.call("madvise", I32, [f.offset(block, first - start), length, advice])
    f.ret()


def _address(f: Function, pointer: V) -> V:
    return f.instruction(f"ptrtoint ptr {pointer.ref} to i64", I64)


def _emit_raw(module: Module, triple: str) -> None:
    """weft_memory_raw(bytes): a new block, or null."""
    f = module.function(_RAW, PTR, [("bytes", I64)], internal=True)
    (bytes,) = f.arguments
    block = f.variable(0, PTR)
    whole = f.call("malloc", PTR, [bytes + _MARGIN])
    with f.when(whole.ne(0)):
        start = _address(f, whole)
        data = f.offset(whole, ((start + (_MARGIN - 1)) & -_ALIGNMENT) - start)
        f.store(bytes, f.element(data, I64, -2))
        f.store(whole, f.element(data, I64, -1))
        block.set(data)
        advice = _advice(_HUGE_PAGES, triple)
        if advice:
            with f.when(bytes.ge(_HUGE_PAGES_FROM)):
                f.call(_ADVISE, VOID, [data, f.const(advice, I32)])
    f.ret(block.get())


def _emit_drop(module: Module) -> None:
    """weft_memory_drop(memory, kept): give a kept block back to the system."""
    f = module.function(_DROP, VOID, [("memory", PTR), ("kept", PTR)], internal=True)
    memory, kept = f.arguments
    capacity = f.element(kept, I64, KeptBlock.CAPACITY)
    total = f.element(memory, I64, Memory.TOTAL)
    f.store(f.load(total, I64) - f.load(capacity, I64), total)
    f.store(f.const(0, I64), capacity)
    block = f.load(f.element(kept, I64, KeptBlock.ADDRESS), PTR)
    f.call("free", VOID, [f.load(f.element(block, I64, -1), PTR)])
    f.ret()


def _emit_oldest(module: Module) -> None:
    """weft_memory_oldest(memory, empty): the block that has waited longest, where an empty place
    counts as one of the time `empty`.
    """
    f = module.function(_OLDEST, PTR, [("memory", PTR), ("empty", I64)], internal=True)
    memory, empty = f.arguments
    found = f.variable(_kept(f, memory, 0))
    least = f.variable(_LAST, I64)
    with f.range(0, MEMORY_KEPT) as number:
        place = _kept(f, memory, number)
        is_empty = f.load(f.element(place, I64, KeptBlock.CAPACITY), I64).eq(0)
        time = f.load(f.element(place, I64, KeptBlock.TIME), I64)
        time = f.select(is_empty, empty, time)
        is_older = time.lt(least.get())
        found.set(f.select(is_older, place, found.get()))
        least.set(f.select(is_older, time, least.get()))
    f.ret(found.get())


def _emit_trim(module: Module) -> None:
    """weft_memory_trim(memory, limit): drop blocks, the oldest first, until no more than the limit
    is kept.
    """
    f = module.function(MEMORY_TRIM, VOID, [("memory", PTR), ("limit", I64)])
    memory, limit = f.arguments
    with f.loop_while() as loop:
        total = f.load(f.element(memory, I64, Memory.TOTAL), I64)
        loop.stop_unless(total.gt(f.maximum(limit, 0)))
        f.call(_DROP, VOID, [memory, f.call(_OLDEST, PTR, [memory, f.const(_LAST, I64)])])
    f.ret()


def _emit_best(module: Module) -> None:
    """weft_memory_best(memory, bytes): take the smallest kept block that fits and wastes no more
    than a quarter, or null.
    """
    f = module.function(_BEST, PTR, [("memory", PTR), ("bytes", I64)], internal=True)
    memory, bytes = f.arguments
    found, block = f.variable(0, PTR), f.variable(0, PTR)
    least = f.variable(bytes + (bytes >> 2) + 1)
    with f.range(0, MEMORY_KEPT) as number:
        place = _kept(f, memory, number)
        capacity = f.load(f.element(place, I64, KeptBlock.CAPACITY), I64)
        fits = capacity.ge(bytes) & capacity.lt(least.get())
        found.set(f.select(fits, place, found.get()))
        least.set(f.select(fits, capacity, least.get()))
    with f.when(found.get().ne(0)):
        total = f.element(memory, I64, Memory.TOTAL)
        f.store(f.load(total, I64) - least.get(), total)
        f.store(f.const(0, I64), f.element(found.get(), I64, KeptBlock.CAPACITY))
        block.set(f.load(f.element(found.get(), I64, KeptBlock.ADDRESS), PTR))
    f.ret(block.get())


def _emit_new(module: Module) -> None:
    f = module.function(MEMORY_NEW, PTR, [("memory", PTR), ("bytes", I64)])
    memory, bytes = f.arguments
    block = f.variable(0, PTR)
    with f.when(bytes.ge(0) & bytes.le(_MOST)):
        with f.when(bytes.ge(MEMORY_LARGE)):
            block.set(f.call(_BEST, PTR, [memory, bytes]))
        with f.when(block.get().eq(0)):
            block.set(f.call(_RAW, PTR, [bytes]))
        with f.when(block.get().eq(0)):
            f.call(MEMORY_TRIM, VOID, [memory, f.const(0, I64)])
            block.set(f.call(_RAW, PTR, [bytes]))
    f.ret(block.get())


def _emit_free(module: Module, triple: str) -> None:
    """weft_memory_free(memory, block, bytes): keep a large block if the limit allows it at all,
    in the place of older ones.
    """
    f = module.function(_FREE, VOID, [("memory", PTR), ("block", PTR), ("bytes", I64)])
    memory, block, _ = f.arguments
    with f.when(block.ne(0)):
        capacity = _capacity(f, block)
        limit = f.load(f.element(memory, I64, Memory.LIMIT), I64)
        with f.otherwise(capacity.ge(MEMORY_LARGE) & capacity.le(limit)) as choice:
            f.call(MEMORY_TRIM, VOID, [memory, limit - capacity])
            place = f.call(_OLDEST, PTR, [memory, f.const(-1, I64)])
            with f.when(f.load(f.element(place, I64, KeptBlock.CAPACITY), I64).ne(0)):
                f.call(_DROP, VOID, [memory, place])
            clock, total = (f.element(memory, I64, at) for at in (Memory.CLOCK, Memory.TOTAL))
            f.store(f.load(clock, I64) + 1, clock)
            f.store(f.load(total, I64) + capacity, total)
            f.store(block, f.element(place, I64, KeptBlock.ADDRESS))
            f.store(capacity, f.element(place, I64, KeptBlock.CAPACITY))
            f.store(f.load(clock, I64), f.element(place, I64, KeptBlock.TIME))
            advice = _advice(_MAY_TAKE, triple)
            if advice:
                f.call(_ADVISE, VOID, [block, f.const(advice, I32)])
            choice.otherwise()
            f.call("free", VOID, [f.load(f.element(block, I64, -1), PTR)])
    f.ret()


def _emit_calloc(module: Module) -> None:
    f = module.function(_CALLOC, PTR, [("memory", PTR), ("count", I64), ("size", I64)])
    memory, count, size = f.arguments
    bytes = saturating_product(f, count, size)
    block = f.call(MEMORY_NEW, PTR, [memory, bytes])
    with f.when(block.ne(0)):
        zero, no = f.const(0, I8), f.const(False, I1)
        f.call("llvm.memset.p0.i64", VOID, [block, zero, bytes, no])
    f.ret(block)


def _emit_realloc(module: Module) -> None:
    f = module.function(_REALLOC, PTR, [("memory", PTR), ("block", PTR), ("bytes", I64)])
    memory, old, bytes = f.arguments
    block = f.call(MEMORY_NEW, PTR, [memory, bytes])
    with f.when(block.ne(0) & old.ne(0)):
        length = f.minimum(_capacity(f, old), bytes)
        f.call("llvm.memcpy.p0.p0.i64", VOID, [block, old, length, f.const(False, I1)])
        f.call(_FREE, VOID, [memory, old, length])
    f.ret(block)
