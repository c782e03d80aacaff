"""What fresh memory costs a large result, and what using old blocks again saves.

A program fills its result, of which the caller keeps the last one. `numpy` is the same with
`np.empty`, `fresh` is Weft's memory without kept blocks, `kept` with them.
"""

from __future__ import annotations

import ctypes
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from weft.compiler.lower.llvm.emit.function import Module
from weft.compiler.lower.llvm.emit.types import I1, I8, I64, PTR, VOID
from weft.compiler.lower.llvm.machine import compile_text, host
from weft.compiler.lower.llvm.support.pool import pool_text
from weft.compiler.lower.llvm.support.stub import stub_text
from weft.runtime.native import Library
from weft.runtime.signatures import Result, Signature
from weft.runtime.stub import Caller
from weft.runtime.threads import Pool

RUNS = 25


def fill_program(bytes: int) -> Library:
    module = Module()
    names = ("run", "arguments", "numbers", "results", "arena")
    f = module.function("fill", I64, [(name, PTR) for name in names])
    result = f.load(f.arguments[3], PTR)
    values = [result, f.const(1, I8), f.const(bytes, I64), f.const(False, I1)]
    f.call("llvm.memset.p0.i64", VOID, values)
    f.ret(f.const(0, I64))
    return Library(compile_text(module.text()), ["fill"])


def milliseconds(function: Callable[[], Any]) -> float:
    held, samples = function(), []
    for _ in range(RUNS):
        start = time.perf_counter()
        held = function()
        samples.append((time.perf_counter() - start) * 1e3)
    del held
    return statistics.median(samples)


def main() -> None:
    triple = host().triple
    caller = Caller(compile_text(stub_text(triple)), Pool(compile_text(pool_text(triple))))
    limit = caller.memory.limit
    for megabytes in (1, 4, 16, 64, 256):
        bytes = megabytes << 20
        library = fill_program(bytes)
        signature = Signature((), (Result(np.dtype(np.uint8), (bytes,)),))
        call = caller.make(library.address("fill"), signature, keep=library)

        def with_numpy(bytes: int = bytes) -> Any:
            array = np.empty(bytes, np.uint8)
            ctypes.memset(array.ctypes.data, 1, bytes)
            return array

        numpy_time = milliseconds(with_numpy)
        caller.memory.limit = 0
        fresh = milliseconds(call)
        caller.memory.limit = limit
        kept = milliseconds(call)
        print(
            f"{megabytes:4} MiB  numpy {numpy_time:7.3f} ms  fresh {fresh:7.3f} ms "
            f"{fresh / numpy_time:5.2f} of numpy  kept {kept:7.3f} ms {kept / numpy_time:5.2f}"
        )


if __name__ == "__main__":
    main()
