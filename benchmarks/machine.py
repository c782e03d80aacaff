"""What this machine can do at most, measured without Weft: the bandwidth of a copy that is larger
than the caches, and fused multiply-adds that never leave registers.
"""

from __future__ import annotations

import ctypes
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

ACCUMULATORS = 12  # enough to hide the latency of two units, few enough for 16 registers
ROUNDS = 4_000_000
COPIED = 1 << 25  # numbers of 8 bytes


@dataclass(frozen=True)
class Peaks:
    """Bytes per second that a copy reads and writes, and flops per second in each precision."""

    copy_bytes: float
    f32_flops: float
    f64_flops: float
    threads: int


def peaks(threads: int) -> Peaks:
    """Both on as many threads as the contenders have; takes a second or two."""
    with ThreadPoolExecutor(threads) as pool:
        copied = copy_bandwidth(pool, threads)
        single, double = (fma_rate(pool, threads, kind) for kind in ("float", "double"))
    return Peaks(copied, single, double, threads)


def copy_bandwidth(pool: ThreadPoolExecutor, threads: int, count: int = COPIED) -> float:
    """Bytes per second, of what is read and what is written, into memory that is there already."""
    import numpy as np

    source, target = np.ones(count), np.zeros(count)
    bounds = [count * i // threads for i in range(threads + 1)]
    parts = [slice(low, high) for low, high in pairwise(bounds)]

    def copy() -> Any:
        return list(pool.map(lambda part: np.copyto(target[part], source[part]), parts))

    return 2 * source.nbytes / _best(copy)


def fma_rate(pool: ThreadPoolExecutor, threads: int, kind: str, rounds: int = ROUNDS) -> float:
    """Flops per second of fused multiply-adds on accumulators in registers."""
    engine, lanes = _fma_program(kind)
    number = ctypes.c_float if kind == "float" else ctypes.c_double
    function = ctypes.CFUNCTYPE(number, ctypes.c_int64, number)(
        engine.get_function_address("multiply_add")
    )

    def work() -> Any:
        return list(pool.map(lambda _: function(rounds, 0.5), range(threads)))

    return 2.0 * lanes * ACCUMULATORS * rounds * threads / _best(work)


def _best(function: Any) -> float:
    function()
    best = float("inf")
    for _ in range(7):
        begin = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - begin)
    return best


def _fma_program(kind: str) -> tuple[Any, int]:
    """A loop of independent multiply-adds, compiled for this machine, and its vector lanes."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features()
    lanes = (64 if features.get("avx512f") else 32) // (4 if kind == "float" else 8)
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features.flatten(), opt=3
    )
    module = llvm.parse_assembly(_fma_text(kind, lanes))
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine, lanes


def _fma_text(kind: str, lanes: int) -> str:
    vector = f"<{lanes} x {kind}>"
    name = f"llvm.fma.v{lanes}f{32 if kind == 'float' else 64}"
    numbers = range(ACCUMULATORS)
    phis = "\n".join(f"  %a{i} = phi {vector} [%x, %entry], [%b{i}, %loop]" for i in numbers)
    steps = "\n".join(
        f"  %b{i} = call {vector} @{name}({vector} %a{i}, {vector} %x, {vector} %x)"
        for i in numbers
    )
    sums = "\n".join(
        f"  %s{i} = fadd {vector} %{'b0' if i == 1 else f's{i - 1}'}, %b{i}" for i in numbers[1:]
    )
    return f"""
declare {vector} @{name}({vector}, {vector}, {vector})
define {kind} @multiply_add(i64 %rounds, {kind} %value) {{
entry:
  %one = insertelement {vector} undef, {kind} %value, i32 0
  %x = shufflevector {vector} %one, {vector} undef, <{lanes} x i32> zeroinitializer
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
{phis}
{steps}
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %rounds
  br i1 %more, label %loop, label %done
done:
{sums}
  %result = extractelement {vector} %s{ACCUMULATORS - 1}, i32 0
  ret {kind} %result
}}
"""
