"""Compiled functions among threads, forks, interrupts, damaged caches, failures and large results:
the right result or a clear exception, and a process that goes on working.
"""

from __future__ import annotations

import gc
import os
import platform
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft as wf
from tests.patience import PATIENCE

Array = np.ndarray[Any, Any]
ROOT = Path(__file__).parents[3]


def start(program: str, **environment: str) -> subprocess.Popen[str]:
    """Another Python process that runs a program."""
    variables = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", **environment}
    return subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=variables,
        cwd=ROOT,
    )


def output(process: subprocess.Popen[str], seconds: float = PATIENCE) -> str:
    try:
        out, err = process.communicate(timeout=seconds)
    finally:
        process.kill()
    assert process.returncode == 0, f"{process.returncode}\n{out}\n{err}"
    return out


def at_once(tasks: list[Callable[[], None]]) -> None:
    """Run tasks in threads that start together; raises what one of them raised."""
    gate = threading.Barrier(len(tasks))
    failures: list[BaseException] = []

    def run(task: Callable[[], None]) -> None:
        try:
            gate.wait()
            task()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


# --- threads ------------------------------------------------------------------------------------


def mixed(x: Any, w: Any) -> Any:
    """A product, a kernel, a reduction, a sort and a loop."""
    y = np.tanh(x @ w)
    total = wf.fori_loop(0, 5, lambda i, carry: carry + y[i].sum() * 0, np.sum(y))
    return np.sort(y, axis=1), y.max(axis=0), total


def test_threads_call_one_function() -> None:
    f, reference = wf.jit(mixed), wf.jit(mixed, backend="reference")
    random = np.random.default_rng(0)
    x, w = random.standard_normal((300, 64)), random.standard_normal((64, 64))
    inputs = [x * factor for factor in range(8)]
    wanted = [f(item, w) for item in inputs]
    for made, exact in zip(wanted[3], reference(inputs[3], w), strict=True):
        np.testing.assert_allclose(made, exact, rtol=1e-10, atol=1e-10)

    def task(number: int) -> Callable[[], None]:
        def run() -> None:
            for _ in range(20):
                for made, exact in zip(f(inputs[number], w), wanted[number], strict=True):
                    np.testing.assert_array_equal(made, exact)

        return run

    at_once([task(number) for number in range(8)])


def test_threads_compile_and_call_the_same_and_other_functions() -> None:
    shared = wf.jit(lambda x: np.sort(x * 2).cumsum())

    def task(number: int) -> Callable[[], None]:
        def run() -> None:
            own = wf.jit(lambda x: (x + number).sum(axis=0) / 2)
            for size in (3, 17, 1000):
                x = np.arange(float(size * 2)).reshape(size, 2)
                np.testing.assert_allclose(own(x), (x + number).sum(axis=0) / 2)
                np.testing.assert_allclose(shared(x[:, 0]), np.sort(x[:, 0] * 2).cumsum())

        return run

    at_once([task(number) for number in range(8)])


def test_threads_limit_themselves_independently() -> None:
    f = wf.jit(lambda x: np.exp(x).sum())
    x = np.linspace(0, 1, 200_000)
    wanted = f(x)

    def task(number: int) -> Callable[[], None]:
        def run() -> None:
            with wf.threads(1 + number % 3):
                for _ in range(10):
                    assert f(x) == wanted

        return run

    at_once([task(number) for number in range(6)])


FORKS = """
import os, threading
import numpy as np, weft as wf

f = wf.jit(lambda x: np.sort(np.sin(x)) + np.exp(x).sum())
x = np.linspace(0, 1, 300_000)
wanted = f(x)
done = threading.Event()

def work():
    while not done.is_set():
        np.testing.assert_array_equal(f(x), wanted)

threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
for number in range(6):
    child = os.fork()
    if not child:
        good = (f(x) == wanted).all()
        other = wf.jit(lambda x: x * 2 + number)
        good = good and (other(x) == x * 2 + number).all()
        os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0
done.set()
for thread in threads:
    thread.join()
np.testing.assert_array_equal(f(x), wanted)
print("done")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_fork_in_the_middle_of_calls_of_other_threads() -> None:
    assert output(start(f"import warnings; warnings.simplefilter('ignore')\n{FORKS}")) == "done\n"


# --- the cache on disk --------------------------------------------------------------------------

COMPILES = """
import numpy as np, weft as wf
from weft.frontends.driver.machine_code import disk
for size in (5, 40, 129):
    x = np.arange(float(size))
    f = wf.jit(lambda x: np.sort(np.sin(x))[::-1] + np.cumsum(x) * size)
    np.testing.assert_allclose(f(x), np.sort(np.sin(x))[::-1] + np.cumsum(x) * size)
print(disk().info().hits, disk().info().misses)
"""


def test_two_processes_share_a_cache(tmp_path: Path) -> None:
    both = [start(COMPILES, WEFT_CACHE_DIR=str(tmp_path)) for _ in range(2)]
    for process in both:
        output(process)
    hits, misses = map(int, output(start(COMPILES, WEFT_CACHE_DIR=str(tmp_path))).split())
    assert misses == 0
    assert hits >= 3


def test_damaged_cache_is_compiled_again(tmp_path: Path) -> None:
    output(start(COMPILES, WEFT_CACHE_DIR=str(tmp_path)))
    entries = sorted(tmp_path.rglob("*.entry"))
    assert len(entries) >= 3
    for number, entry in enumerate(entries):
        data = bytearray(entry.read_bytes())
        data[len(data) // 2] ^= 4 * (number % 3 == 0)
        kept = [len(data), len(data) // 2, 0][number % 3]
        entry.write_bytes(data[:kept])
    hits, misses = map(int, output(start(COMPILES, WEFT_CACHE_DIR=str(tmp_path))).split())
    assert hits == 0
    assert misses >= 3
    hits, misses = map(int, output(start(COMPILES, WEFT_CACHE_DIR=str(tmp_path))).split())
    assert hits >= 3
    assert misses == 0


# --- interrupts ---------------------------------------------------------------------------------

INTERRUPTED = """
import signal, sys, threading, time
import numpy as np, weft as wf

signal.signal(signal.SIGINT, signal.default_int_handler)  # shells' background jobs ignore it

def looping(x, n):
    return wf.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, BODY), (0, x))[1]

def scanning(x, n):
    row = wf.scan(lambda c, _: (BODY_OF_SCAN, None), x, None, length=LENGTH)[0]
    return row

f = wf.jit(FUNCTION)
x = np.linspace(0, 1, SIZE) if SIZE else 0.5
f(x, 3) if FUNCTION is looping else f.trace(x, 3)
try:
    print("ready", flush=True)
    f(x, 10**15)
except KeyboardInterrupt:
    print("stopped", flush=True)
g = wf.jit(looping)
np.testing.assert_array_equal(g(x, 3), g(x, 3))
if FUNCTION is looping:
    f(x, 3)
print("works", flush=True)
"""


@pytest.mark.parametrize("size", [0, 100, 100_000], ids=["numbers", "short", "parallel"])
@pytest.mark.parametrize("function", ["looping", "scanning"])
def test_interrupt_ends_a_long_loop(function: str, size: int) -> None:
    length = 10**12
    body = "np.sin(c[1]) + 0.5"
    program = (
        INTERRUPTED.replace("BODY_OF_SCAN", body.replace("c[1]", "c"))
        .replace("BODY", body)
        .replace("LENGTH", str(length))
        .replace("FUNCTION", function)
        .replace("SIZE", str(size))
    )
    with start(program) as process:
        hanging = threading.Timer(PATIENCE, process.kill)
        hanging.start()
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            time.sleep(1.5 if function == "scanning" else 0.5)  # most likely the loop runs then
            process.send_signal(signal.SIGINT)
            assert process.stdout.readline() == "stopped\n"  # the loop itself would never end
            assert output(process) == "works\n"
        finally:
            hanging.cancel()
            process.kill()


# --- memory -------------------------------------------------------------------------------------


def test_result_too_large_for_memory() -> None:
    f = wf.jit(lambda x: np.broadcast_to(x[:, None, None], (x.shape[0], 1 << 24, 1 << 24)) + 1)
    for _ in range(2):
        with pytest.raises(MemoryError, match=r"no memory for result 0, float64\[3, 16777216"):
            f(np.ones(3))
    small = wf.jit(lambda x: x + 1)
    np.testing.assert_array_equal(small(np.ones(3)), np.full(3, 2.0))


def test_intermediate_values_too_large_for_memory() -> None:
    def large(x: Any) -> Any:
        wide = wf.fence(np.broadcast_to(x[:, None, None], (3, 1 << 24, 1 << 22)) + 1)
        return wide[:, 0, 0], np.sort(wide, axis=1)[:, 0, 0]

    f = wf.jit(large)
    for _ in range(2):
        with pytest.raises(MemoryError, match="bytes of intermediate values"):
            f(np.ones(3))


def resident() -> int:
    """The bytes of memory that the process has now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="the system does not tell")
def test_functions_that_are_dropped_free_their_memory() -> None:
    def one(number: int) -> None:
        table = np.full(200_000, float(number))
        f = wf.jit(lambda x: np.sin(x) * table[:10] + table.sum())
        f(np.ones(10))
        f(np.ones(10))

    for number in range(15):
        one(number)
    gc.collect()
    before = resident()
    for number in range(60):
        one(number)
    gc.collect()
    # 60 tables alone are 92 MiB, and the code of a function with its library about one.
    assert resident() - before < 40 << 20


def test_dropped_function_is_collected() -> None:
    f = wf.jit(lambda x: x + 1)
    f(np.ones(3))
    f(np.ones(3))
    held = weakref.ref(f)
    del f
    gc.collect()
    assert held() is None


_FAULTS = """
import resource, numpy as np, weft as wf
f = wf.jit(lambda x: [x + i for i in range(6)])
x = np.ones((400, 1000), np.float32)
for _ in range(5):
    made = f(x)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    made = f(x)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other libraries keep memory else")
def test_results_of_some_megabytes_have_no_fresh_pages() -> None:
    """In a process of its own, since malloc keeps more once it was given large blocks back."""
    command = [sys.executable, "-c", _FAULTS]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(ran.stdout) < 1000  # six results have 2400 pages
