"""What a call of a compiled program costs beside the program itself.

The program here does nothing, so all of the time is the call: taking the arguments apart, making
the results, returning. Shown with the ratios to an empty Python function and to `np.tanh` of an 8 x
8 array, which does some arithmetic besides.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import weft as wf
from weft.compiler.lower.llvm.emit.function import Module
from weft.compiler.lower.llvm.emit.types import I64, PTR
from weft.compiler.lower.llvm.machine import compile_text, host
from weft.compiler.lower.llvm.support.pool import pool_text
from weft.compiler.lower.llvm.support.stub import stub_text
from weft.runtime.native import Library
from weft.runtime.signatures import (
    ArrayOf,
    DictOf,
    HeldArray,
    Leaf,
    NumberOf,
    Result,
    Signature,
    Symbol,
)
from weft.runtime.stub import Caller
from weft.runtime.threads import Pool

F32 = np.dtype(np.float32)
TIMES, RUNS = 2_000, 150


def empty_program() -> Library:
    module = Module()
    names = ("run", "arguments", "numbers", "results", "arena")
    f = module.function("empty", I64, [(name, PTR) for name in names])
    f.ret(f.const(0, I64))
    return Library(compile_text(module.text()), ["empty"])


def nanoseconds(function: Callable[..., Any], *arguments: Any) -> float:
    """The time of one call, the best of many runs: other processes only ever add to it."""
    samples = []
    for _ in range(RUNS):
        start = time.perf_counter_ns()
        for _ in range(TIMES):
            function(*arguments)
        samples.append((time.perf_counter_ns() - start) / TIMES)
    return min(samples)


def python_function(*arguments: Any) -> None:
    """Takes the arguments and returns."""


def main() -> None:
    triple = host().triple
    caller = Caller(compile_text(stub_text(triple)), Pool(compile_text(pool_text(triple))))
    library = empty_program()
    entry = library.address("empty")
    x = np.ones((8, 8), np.float32)
    fixed, scalar = ArrayOf(F32, (8, 8)), Result(F32, ())
    sized = ArrayOf(F32, ("n", 8))
    parameters = {f"w{i}": x for i in range(20)}
    tree = DictOf(tuple(parameters), (fixed,) * 20)
    out = DictOf(tuple(parameters), tuple(Leaf(i) for i in range(20)))
    one = Signature((fixed, fixed), (scalar,))
    wide, swapped, other = np.ones((16, 16), np.float32)[::2, ::2], x.astype(">f4"), x.copy()
    copied = ArrayOf(F32, (8, 8), copied=1 << 16)
    copying = Signature((copied, copied), (scalar,))
    given = ArrayOf(F32, (8, 8), copied=1 << 16, donated=True)
    donating = Signature((given, copied), (Result(F32, (8, 8), written_over=0),))
    holding = Signature((HeldArray(wf.Array, "_data", "data", fixed), fixed), (scalar,))
    named = Signature((fixed, fixed), (scalar,), names=(None, "y"), keyword_only=1)
    cases: list[tuple[str, Callable[..., Any], tuple[Any, ...]]] = [
        ("empty Python function", python_function, (x, x)),
        ("np.tanh", np.tanh, (x,)),
        ("two arrays to a scalar", caller.make(entry, one), (x, x)),
        ("the same, without the GIL", caller.make(entry, one, release=True), (x, x)),
        ("the same, parallel", caller.make(entry, one, parallel=True), (x, x)),
        (
            "the same, 64 KiB arena",
            caller.make(entry, one, arena_bytes=1 << 16),
            (x, x),
        ),
        (
            "symbolic sizes",
            caller.make(entry, Signature((sized, sized), (Result(F32, ("n", 8)),), (Symbol("n"),))),
            (x, x),
        ),
        (
            "array and number to array",
            caller.make(entry, Signature((fixed, NumberOf(float, F32)), (Result(F32, (8, 8)),))),
            (x, 0.5),
        ),
        (
            "dict of 20 arrays to itself",
            caller.make(entry, Signature((tree,), (Result(F32, (8, 8)),) * 20, (), out)),
            (parameters,),
        ),
        ("two strided arrays, copied", caller.make(entry, copying), (wide, wide)),
        ("one in the other byte order", caller.make(entry, copying), (swapped, x)),
        ("a donated array", caller.make(entry, donating), (x, other)),
        ("a weft.Array", caller.make(entry, holding), (wf.Array(x), x)),
        ("by keyword", partial(caller.make(entry, named), y=x), (x,)),
        ("a miss", caller.make(entry, one), (x, 1)),
    ]
    times = {name: nanoseconds(function, *arguments) for name, function, arguments in cases}
    for name, time_of_call in times.items():
        python = time_of_call / times["empty Python function"]
        tanh = time_of_call / times["np.tanh"]
        print(f"{name:30} {time_of_call:7.0f} ns {python:6.2f} x Python {tanh:6.2f} x np.tanh")


if __name__ == "__main__":
    main()
