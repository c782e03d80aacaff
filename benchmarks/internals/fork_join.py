"""What it costs to share a loop between two threads, and what is safe: Weft's pool, Numba's layers,
libgomp.

Each contender runs in processes of its own. The table says how many microseconds a region of two
tasks takes on two threads beyond the same loop on one, the best and the median of many runs: with
empty tasks (what sharing costs) and with tasks of 20 us each (-20 is ideal), right after another
region and after a pause of 100 us. The checks try callers in several threads at once, a region
inside a region, and a region in the child of a fork.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

TIMES = 50  # regions in one run
RUNS = 100
CONTENDERS = ("weft", "numba workqueue", "numba omp", "libgomp")
CHECKS = ("threads", "nested", "fork")
Region = Callable[[int, int, int, int], None]  # (threads, times, work, pause), in loop rounds


def weft_region() -> tuple[Region, Callable[[], None]]:
    """Weft's `weft_parallel`, called in a native loop; and a region inside a region."""
    from weft.compiler.abi import PARALLEL, RUN_WORDS, Run
    from weft.compiler.lower.llvm.machine import compile_text, host
    from weft.compiler.lower.llvm.support.pool import pool_text
    from weft.runtime.native import Library
    from weft.runtime.threads import Pool

    pool = Pool(compile_text(pool_text(host().triple)))
    library = Library(
        compile_text(_native_text(PARALLEL)), ["many", "nested"], {PARALLEL: pool.parallel}
    )
    pool.ensure(2)
    return _calls(library, RUN_WORDS, lambda record: _set(record, Run.POOL, pool.address))


def gomp_region() -> tuple[Region, Callable[[], None]]:
    """The same native loop over libgomp's `GOMP_parallel`, with one share per thread."""
    from weft.compiler.abi import RUN_WORDS
    from weft.compiler.lower.llvm.machine import compile_text
    from weft.runtime.native import Library

    declared = "declare void @gomp_loop(ptr, ptr, ptr, i64, i64)"
    gomp = ctypes.CDLL(ctypes.util.find_library("gomp"))
    imports = {
        name: ctypes.cast(getattr(gomp, name), ctypes.c_void_p).value or 0
        for name in ("GOMP_parallel", "omp_get_thread_num", "omp_get_num_threads")
    }
    library = Library(
        compile_text(_native_text("gomp_loop").replace(declared, "") + _GOMP_LOOP),
        ["many", "nested"],
        imports,
    )
    return _calls(library, RUN_WORDS, lambda record: None)


def numba_region(layer: str) -> tuple[Region, Callable[[], None]]:
    """Numba's prange with one of its threading layers."""
    os.environ["NUMBA_THREADING_LAYER"] = layer
    import numba

    numba.set_num_threads(2)

    @numba.njit(nogil=True)
    def busy(rounds: int, x: float) -> float:
        for _ in range(rounds):
            x = np.sqrt(x + 1.0)
        return x

    @numba.njit(parallel=True, nogil=True)
    def region(out: Any, work: int) -> None:
        for i in numba.prange(2):
            out[i * 16] = busy(work, out[i * 16])

    @numba.njit(nogil=True)
    def many(out: Any, times: int, work: int, pause: int) -> None:
        for _ in range(times):
            region(out, work)
            out[31] = busy(pause, out[31])

    @numba.njit(parallel=True, nogil=True)
    def outer(out: Any) -> None:
        for i in numba.prange(4):
            region(out[i * 32 : i * 32 + 32], 1)

    def call(threads: int, times: int, work: int, pause: int) -> None:
        numba.set_num_threads(threads)
        many(np.zeros(32), times, work, pause)

    return call, lambda: outer(np.zeros(128))


def _set(record: np.ndarray[Any, Any], position: int, value: int) -> None:
    record[position] = value


def _native_text(parallel: str) -> str:
    """many(run, data, times, work, pause) and nested(run, data, ...): loops over a region whose two
    tasks take square roots `work` times.
    """
    from weft.compiler.lower.llvm.emit.function import Function, Module, V
    from weft.compiler.lower.llvm.emit.types import F64, I64, PTR, VOID

    module = Module()

    def busy(f: Function, place: V, rounds: V) -> None:
        value = f.variable(f.load(place, F64))
        with f.range(0, rounds):
            value.set(f.sqrt(value.get() + 1.0))
        f.store(value.get(), place)

    task = [("run", PTR), ("data", PTR), ("begin", I64), ("end", I64)]
    f = module.function("step", VOID, task)
    _, data, begin, end = f.arguments
    with f.range(begin, end) as i:
        busy(f, f.element(data, F64, i * 16), f.load(f.element(data, I64, 31), I64))
    f.ret()
    f = module.function("outer", VOID, task)
    run, data, begin, end = f.arguments
    with f.range(begin, end):
        f.call(parallel, VOID, [run, V(f, "@step", PTR), data, f.const(2, I64), f.const(1, I64)])
    f.ret()
    numbers = [("times", I64), ("work", I64), ("pause", I64)]
    for name, body in (("many", "@step"), ("nested", "@outer")):
        f = module.function(name, VOID, [("run", PTR), ("data", PTR), *numbers])
        run, data, times, work, pause = f.arguments
        f.store(work, f.element(data, I64, 31))
        with f.range(0, times):
            f.call(parallel, VOID, [run, V(f, body, PTR), data, f.const(2, I64), f.const(1, I64)])
            busy(f, f.element(data, F64, 30), pause)
        f.ret()
    return module.text()


# The loop over libgomp: a thread takes an equal share of the range.
_GOMP_LOOP = """
declare void @GOMP_parallel(ptr, ptr, i32, i32)
declare i32 @omp_get_thread_num()
declare i32 @omp_get_num_threads()
define internal void @share(ptr %job) {
  %id32 = call i32 @omp_get_thread_num()
  %all32 = call i32 @omp_get_num_threads()
  %id = zext i32 %id32 to i64
  %all = zext i32 %all32 to i64
  %run = load ptr, ptr %job
  %p1 = getelementptr i64, ptr %job, i64 1
  %task = load ptr, ptr %p1
  %p2 = getelementptr i64, ptr %job, i64 2
  %data = load ptr, ptr %p2
  %p3 = getelementptr i64, ptr %job, i64 3
  %count = load i64, ptr %p3
  %low = mul i64 %id, %count
  %begin = udiv i64 %low, %all
  %id1 = add i64 %id, 1
  %high = mul i64 %id1, %count
  %end = udiv i64 %high, %all
  call void %task(ptr %run, ptr %data, i64 %begin, i64 %end)
  ret void
}
define void @gomp_loop(ptr %run, ptr %task, ptr %data, i64 %count, i64 %grain) {
  %job = alloca [4 x i64]
  store ptr %run, ptr %job
  %p1 = getelementptr i64, ptr %job, i64 1
  store ptr %task, ptr %p1
  %p2 = getelementptr i64, ptr %job, i64 2
  store ptr %data, ptr %p2
  %p3 = getelementptr i64, ptr %job, i64 3
  store i64 %count, ptr %p3
  %threads64 = load i64, ptr %run
  %threads = trunc i64 %threads64 to i32
  call void @GOMP_parallel(ptr @share, ptr %job, i32 %threads, i32 0)
  ret void
}
"""


def _calls(library: Any, words: int, prepare: Any) -> tuple[Region, Callable[[], None]]:
    kinds = [ctypes.c_void_p] * 2 + [ctypes.c_int64] * 3

    def call(threads: int, times: int, work: int, pause: int, name: str = "many") -> None:
        record, data = np.zeros(words, np.int64), np.zeros(32)
        record[0] = threads
        prepare(record)
        ctypes.CFUNCTYPE(None, *kinds)(library.address(name))(
            record.ctypes.data, data.ctypes.data, times, work, pause
        )

    return call, lambda: call(2, 100, 1, 0, "nested")


def contender(name: str) -> tuple[Region, Callable[[], None]]:
    if name == "weft":
        return weft_region()
    return gomp_region() if name == "libgomp" else numba_region(name.split()[1])


def samples(region: Region, threads: int, work: int, pause: int) -> np.ndarray[Any, Any]:
    """Seconds for one region, of many short runs: other processes disturb some of them."""
    region(threads, 2, work, pause)
    taken = []
    for _ in range(RUNS):
        start = time.perf_counter()
        region(threads, TIMES, work, pause)
        taken.append((time.perf_counter() - start) / TIMES)
    return np.array(taken)


def measure(name: str) -> None:
    region, _ = contender(name)
    rounds_of_one_us = 1_000 / samples(region, 1, 0, 1_000).min() * 1e-6
    work, pause = int(rounds_of_one_us * 20), int(rounds_of_one_us * 100)
    cells = []
    for load, gap in ((0, 0), (0, pause), (work, 0), (work, pause)):
        both, alone = samples(region, 2, load, gap), samples(region, 1, load, gap)
        for statistic in (np.min, np.median):
            extra = (statistic(both) - statistic(alone)) * 1e6
            cells.append(f"{extra:7.1f}")
    print(f"{name:16}", *[" ".join(cells[i : i + 2]) for i in range(0, 8, 2)], sep=" | ")


def check(name: str, what: str) -> None:
    """Ends without a crash or a hang if this is safe."""
    region, nested = contender(name)
    region(2, 10, 1, 0)
    if what == "nested":
        nested()
    elif what == "threads":
        workers = [threading.Thread(target=region, args=(2, 2_000, 50, 0)) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    else:
        child = os.fork()
        if not child:
            region(2, 10, 1, 0)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status:
            sys.exit(f"child ended with {status}")


def _verdict(name: str, what: str) -> str:
    command = [sys.executable, __file__, name, what]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return "hangs"
    lines = (run.stderr.strip() or f"ended with {run.returncode}").splitlines()
    return "ok" if run.returncode == 0 else lines[-1][:60]


if __name__ == "__main__":
    if len(sys.argv) == 3:
        check(sys.argv[1], sys.argv[2])
    elif len(sys.argv) == 2:
        measure(sys.argv[1])
    else:
        heads = ("empty", "empty, pause", "2 x 20 us", "2 x 20 us, pause")
        print(f"{'best, median':16}", *[f"{head:15}" for head in heads], sep=" | ")
        for each in CONTENDERS:
            subprocess.run([sys.executable, __file__, each], check=False)
        for each in CONTENDERS:
            print(f"{each:16}", "; ".join(f"{what}: {_verdict(each, what)}" for what in CHECKS))
