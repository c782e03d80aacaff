"""The call stub's results: arrays and their memory, trees, failures, threads, interrupts."""

from __future__ import annotations

import copy
import ctypes
import functools
import gc
import os
import pickle
import sys
import threading
import time
import tracemalloc
import weakref
from collections import namedtuple
from typing import Any, NoReturn

import numpy as np
import pytest

from tests.runtime import support
from tests.runtime.support import NDArray, address, caller, entry, no_leak_of, view, words
from weft.compiler.abi import MEMORY_KEPT, MEMORY_LARGE, Failed, Run
from weft.compiler.lower.llvm.emit.function import Module
from weft.compiler.lower.llvm.emit.types import F32 as FLOAT
from weft.compiler.lower.llvm.emit.types import I64, PTR, VOID
from weft.compiler.lower.llvm.machine import compile_text
from weft.runtime import threads
from weft.runtime.native import Library
from weft.runtime.signatures import (
    ArrayOf,
    CallOf,
    DictOf,
    Leaf,
    ListOf,
    Output,
    Result,
    Same,
    Signature,
    Symbol,
    TupleOf,
)
from weft.runtime.stub import MISS, Record

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)
Pair = namedtuple("Pair", "left right")
NOTHING = entry(lambda *arguments: None)


def empty(*results: Result, output: Output | None = None, **options: Any) -> Any:
    """A stub without arguments whose program leaves the results as they are."""
    return caller().make(address(NOTHING), Signature((), results, (), output), **options)


@functools.cache
def native() -> Library:
    """Programs in native code: `double` (x of n numbers), `wait` until a word changes, and `spin`,
    which polls until it is stopped.
    """
    module = Module()
    names = ("run", "arguments", "numbers", "results", "arena")

    f = module.function("double", I64, [(name, PTR) for name in names])
    _, arguments, numbers, results, _ = f.arguments
    x, y = f.load(arguments, PTR), f.load(results, PTR)
    with f.range(0, f.load(numbers, I64)) as i:
        f.store(f.load(f.element(x, FLOAT, i), FLOAT) * 2.0, f.element(y, FLOAT, i))
    f.ret(f.const(0, I64))

    f = module.function("wait", I64, [(name, PTR) for name in names])
    word = f.load(f.arguments[1], PTR)
    with f.loop_while() as loop:
        loop.stop_if(f.load(word, I64, suffix="").ne(0))
        f.line('call void asm sideeffect "", "~{memory}"()')
    f.ret(f.const(0, I64))

    f = module.function("spin", I64, [(name, PTR) for name in names])
    run = f.arguments[0]
    with f.loop_while() as loop:
        poll = f.load(f.element(run, I64, Run.POLL), PTR)
        f.call_pointer(poll, VOID, [run])
        loop.stop_if(f.load(f.element(run, I64, Run.STOP), I64).ne(0))
    f.ret(f.const(0, I64))
    return Library(compile_text(module.text()), ["double", "wait", "spin"])


def test_program_fills_its_result() -> None:
    signature = Signature((ArrayOf(F32, ("n",)),), (Result(F32, ("n",)),), (Symbol("n"),))
    double = caller().make(native().address("double"), signature, keep=native())
    for n in (0, 1, 7, 100_000):
        x = np.random.default_rng(n).normal(size=n).astype(np.float32)
        assert np.array_equal(double(x), 2 * x)
    assert double(np.zeros((2, 2), np.float32)) is MISS


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 4), (5, 6, 7), (1,) * 20])
@pytest.mark.parametrize("dtype", [F32, np.dtype(bool), np.dtype(complex), np.dtype("u2")])
def test_result_is_an_ordinary_array(shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    array = empty(Result(dtype, shape))()
    assert type(array) is np.ndarray
    assert (array.shape, array.dtype) == (shape, dtype)
    assert array.flags.owndata and array.flags.c_contiguous and array.flags.writeable
    assert array.flags.aligned and array.base is None
    assert array.ctypes.data % 64 == 0
    assert array.strides == np.empty(shape, dtype).strides or not array.size


def test_sizes_of_results_are_computed() -> None:
    sizes = (("+", ("*", 2, "n"), 1), ("//", "m", 2), ("max", "n", "m"))
    symbols = (Symbol("n"), Symbol("m"))
    signature = Signature((ArrayOf(F32, ("n", "m")),), (Result(F64, sizes),), symbols)
    call = caller().make(address(NOTHING), signature)
    assert call(np.zeros((3, 9), np.float32)).shape == (7, 4, 9)


def test_result_behaves_as_numpy_arrays_do() -> None:
    call = empty(Result(F64, (100, 30)))
    array = call()
    array[...] = np.arange(3000).reshape(100, 30)
    assert np.array_equal(pickle.loads(pickle.dumps(array)), array)
    assert np.array_equal(copy.deepcopy(array), array)
    array.resize(50, 20)
    assert np.array_equal(array.ravel(), np.arange(1000))
    array.resize((40_000,), refcheck=False)
    assert np.array_equal(array[:1000], np.arange(1000)) and not array[1000:].any()
    array.resize((0,), refcheck=False)
    array.resize((10,), refcheck=False)
    array.dtype = np.int32
    part = array[3:7]
    del array
    gc.collect()
    assert part.base is not None and part.shape == (4,)
    restored = call()
    restored.__setstate__(np.ones(5).__reduce__()[2])
    assert np.array_equal(restored, np.ones(5))
    with pytest.raises(ValueError, match="resize"):
        held = call()
        view_of_it = held[:]
        held.resize(3)
        del view_of_it


def test_memory_of_results_is_traced() -> None:
    call = empty(Result(F64, (1000, 100)))
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        held = [call() for _ in range(5)]
        grown = tracemalloc.get_traced_memory()[0] - before
        assert 5 * 800_000 <= grown < 5 * 800_000 + 100_000
        del held
        assert tracemalloc.get_traced_memory()[0] - before < 100_000
    finally:
        tracemalloc.stop()


def trees() -> dict[str, tuple[Output, Any]]:
    """Outputs and what they give, with numbers in the places of results."""
    return {
        "leaf": (Leaf(1), 1),
        "tuple": (TupleOf((Leaf(0), Leaf(1), Leaf(2))), (0, 1, 2)),
        "list": (ListOf((Leaf(2), Leaf(0))), [2, 0]),
        "dict": (DictOf(("b", "a"), (Leaf(0), Leaf(1))), {"b": 0, "a": 1}),
        "none": (Same(None), None),
        "object": (TupleOf((Same("text"), Leaf(0))), ("text", 0)),
        "empty": (TupleOf((TupleOf(()), ListOf(()), DictOf((), ()))), ((), [], {})),
        "call": (CallOf(Pair, (Leaf(0), ListOf((Leaf(1),)))), Pair(0, [1])),
        "nested": (
            DictOf(
                ("x", 3), (ListOf((Leaf(0), TupleOf((Leaf(1),)))), CallOf(Pair, (Leaf(2),) * 2))
            ),
            {"x": [0, (1,)], 3: Pair(2, 2)},
        ),
    }


@pytest.mark.parametrize("name", trees())
def test_trees_of_results(name: str) -> None:
    output, expected = trees()[name]
    call = empty(*[Result(F64, (n,)) for n in (1, 2, 3)], output=output)

    def sizes(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return len(value) - 1
        if isinstance(value, dict):
            return {key: sizes(item) for key, item in value.items()}
        if isinstance(value, Pair):
            return Pair(*map(sizes, value))
        return type(value)(map(sizes, value)) if isinstance(value, list | tuple) else value

    with no_leak_of("text", None, Pair, F64, "x"):
        for _ in range(200):
            value = call()
            assert sizes(value) == expected
            assert type(value) is type(expected) or isinstance(value, np.ndarray)
    if isinstance(expected, dict):
        assert list(value) == list(expected)


def test_output_that_cannot_be_made() -> None:
    def refuse(*items: Any) -> None:
        raise LookupError("not this way")

    output = TupleOf((CallOf(refuse, (Leaf(0),)), CallOf(Pair, (Leaf(1), Leaf(1)))))
    call = empty(Result(F64, ()), Result(F64, ()), output=output)
    with no_leak_of(F64):
        for _ in range(200):
            with pytest.raises(LookupError, match="not this way"):
                call()
    keys = DictOf(([],), (Leaf(0),))
    with pytest.raises(TypeError, match="unhashable"):
        empty(Result(F64, ()), output=keys)()


def test_failure_is_raised_and_leaves_nothing_behind() -> None:
    seen: list[Record] = []

    def fail(run: int, *rest: int) -> None:
        record = (ctypes.c_int64 * 16).from_address(run)
        record[Run.ERROR], record[Run.DETAIL0], record[Run.DETAIL2] = 3, 17, -1

    def on_error(record: Record) -> NoReturn:
        seen.append(record)
        raise IndexError(f"site {record[Run.ERROR] - 1}: {record[Run.DETAIL0]}")

    program = entry(fail)
    signature = Signature((), (Result(F64, (1000,)), Result(F64, ())))
    call = caller().make(address(program), signature, on_error=on_error)
    with no_leak_of(F64, on_error):
        for _ in range(200):
            with pytest.raises(IndexError, match="site 2: 17"):
                call()
    assert seen[0][Run.DETAIL2] == -1
    with pytest.raises(RuntimeError, match="site 2"):
        caller().make(address(program), signature)()


HUGE = 1 << 58


@pytest.mark.parametrize("shape", [(HUGE,), (1 << 40, 1 << 40), (1 << 62, 4, 1 << 62)])
def test_result_that_no_memory_has_room_for(shape: tuple[int, ...]) -> None:
    call = empty(Result(F64, (3,)), Result(F64, shape, "the gradient"))
    with no_leak_of(F64):
        for _ in range(200):
            with pytest.raises(MemoryError, match=r"the gradient, float64\[.*needs .*,.* bytes"):
                call()
    with pytest.raises(MemoryError, match="result 0, float32"):
        caller().call_entry(address(NOTHING), [], [], [Result(F32, shape)])


def test_intermediate_values_that_no_memory_has_room_for() -> None:
    call = empty(Result(F64, ()), arena_bytes=HUGE)
    with pytest.raises(MemoryError, match=f"{HUGE:,} bytes of intermediate"):
        call()
    with pytest.raises(MemoryError, match="intermediate"):
        caller().call_entry(address(NOTHING), [], [], [], arena_bytes=HUGE)


@pytest.mark.parametrize("bytes", [0, 100, 8192, 8193, 1 << 20, 1 << 23])
def test_arena_is_aligned_memory(bytes: int) -> None:
    arenas: list[int] = []

    def use(run: int, data: int, numbers: int, results: int, arena: int) -> None:
        arenas.append(arena)
        ctypes.memset(arena, 255, bytes)

    program = entry(use)
    caller().make(address(program), Signature((), ()), arena_bytes=bytes)()
    caller().call_entry(address(program), [], [], [], arena_bytes=bytes)
    assert all(arena and arena % 64 == 0 for arena in arenas)


def test_arena_of_a_size_that_is_computed() -> None:
    type = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
    size = type(lambda run, numbers: words(numbers, 1)[0])
    signature = Signature((ArrayOf(F32, ("n",)),), (), (Symbol("n"),))

    def use(run: int, data: int, numbers: int, results: int, arena: int) -> None:
        ctypes.memset(arena, 255, words(numbers, 1)[0])

    program = entry(use)
    call = caller().make(address(program), signature, arena_function=address(size))
    for n in (1, 10_000, MEMORY_LARGE + 5):
        assert call(np.zeros(n, np.float32)) == ()


def test_large_blocks_are_used_again() -> None:
    memory = caller().memory
    limit, memory.limit = memory.limit, 1 << 50
    memory.trim()
    assert memory.kept == 0
    call = empty(Result(np.dtype(np.uint8), (MEMORY_LARGE * 4,)))
    first = call()
    first[...] = 7
    place = first.ctypes.data
    del first
    assert memory.kept == MEMORY_LARGE * 4
    second, third = call(), call()
    assert second.ctypes.data == place != third.ctypes.data
    assert memory.kept == 0
    del second, third
    small = empty(Result(np.dtype(np.uint8), (MEMORY_LARGE,)))()
    assert small.ctypes.data != place, "a quarter of a block is not worth the rest"
    try:
        memory.limit = MEMORY_LARGE * 5
        assert memory.kept == MEMORY_LARGE * 4
        held = [call() for _ in range(3)]
        del held
        assert memory.kept == MEMORY_LARGE * 4
        memory.limit = 0
        assert memory.kept == 0
        call()
        assert memory.kept == 0
    finally:
        memory.limit = limit


def test_kept_blocks_are_bounded_in_number() -> None:
    memory = caller().memory
    before = memory.limit
    sizes = [MEMORY_LARGE + 4096 * n for n in range(40)]
    try:
        memory.limit = 1 << 50
        memory.trim()
        for size in sizes:
            empty(Result(np.dtype(np.uint8), (size,)))()
        assert memory.kept == sum(sizes[-MEMORY_KEPT:])
        memory.trim(3 * sizes[-1])
        assert memory.kept == sum(sizes[-3:])
    finally:
        memory.limit = before
        memory.trim()


def test_other_threads_run_meanwhile() -> None:
    """The program waits for a word that only another Python thread writes."""
    signature = Signature((ArrayOf(np.dtype(np.int64), ()),), ())
    wait = caller().make(native().address("wait"), signature, release=True, keep=native())
    word = np.zeros((), np.int64)

    def write() -> None:
        time.sleep(0.05)
        word.fill(1)

    thread = threading.Thread(target=write)
    thread.start()
    assert wait(word) == ()
    thread.join()


def test_threads_call_the_same_stub_at_once() -> None:
    signature = Signature((ArrayOf(F32, ("n",)),), (Result(F32, ("n",)),), (Symbol("n"),))
    program = native().address("double")
    double = caller().make(program, signature, keep=native(), release=True, arena_bytes=100_000)
    wrong: list[int] = []

    def call(seed: int) -> None:
        for step in range(300):
            x = np.full(1 + (seed * 997 + step * 31) % 5000, seed + step, np.float32)
            if not np.array_equal(double(x), 2 * x):
                wrong.append(step)

    workers = [threading.Thread(target=call, args=(seed,)) for seed in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []


def test_arguments_live_as_long_as_the_call() -> None:
    """While the program runs, another thread takes the only reference to its argument away."""
    held: dict[str, Any] = {"x": np.ones(1000, np.float32)}
    gone = weakref.ref(held["x"])
    found: list[bool] = []

    def look(run: int, data: int, *rest: int) -> None:
        held.clear()
        gc.collect()
        found.append(
            gone() is not None and bool(view(words(data, 1)[0], np.ones(1000, "f4")).all())
        )

    program = entry(look)
    signature = Signature((DictOf(("x",), (ArrayOf(F32, (1000,)),)),), ())
    assert caller().make(address(program), signature, release=True)(held) == ()
    assert found == [True]
    assert gone() is None


def threads_of_a_call(**options: Any) -> int:
    found: list[int] = []
    program = entry(lambda run, *rest: found.append(words(run, 1)[0]))
    caller().make(address(program), Signature((), ()), **options)()
    return found[0]


def test_number_of_threads_reaches_the_program() -> None:
    assert threads_of_a_call() == 1
    assert threads_of_a_call(parallel=True) == threads.get_num_threads()
    with threads.threads(3):
        assert threads_of_a_call(parallel=True) == 3
        assert caller().pool.workers >= 2
        assert threads_of_a_call() == 1
    before = threads.get_num_threads()
    try:
        threads.set_num_threads(4)
        assert threads_of_a_call(parallel=True) == 4
        assert caller().pool.workers >= 3
    finally:
        threads.set_num_threads(before)


def test_parallel_region_inside_a_program() -> None:
    visits = np.zeros(1000, np.int64)
    task = support.native().address("count")

    def region(run: int, data: int, *rest: int) -> None:
        support.Parallel(caller().pool.parallel)(run, task, words(data, 1)[0], 1000, 7)

    program = entry(region)
    signature = Signature((ArrayOf(np.dtype(np.int64), (1000,)),), ())
    call = caller().make(address(program), signature, parallel=True, release=True)
    with threads.threads(3):
        for _ in range(50):
            call(visits)
    assert (visits == 50).all()


def test_host_and_program_reach_the_run_record() -> None:
    found: list[list[int]] = []
    program = entry(lambda run, *rest: found.append(words(run, 16)))
    caller().make(address(program), Signature((), ()), host=12345, program=678)()
    caller().call_entry(address(program), [], [], [], host=12345, program=678)
    assert [(record[Run.HOST], record[Run.PROGRAM]) for record in found] == [(12345, 678)] * 2
    assert all(record[Run.POLL] == caller().poll for record in found)


def test_stub_lets_go_of_what_it_kept() -> None:
    class Code:
        """Stands for the library of a program."""

    code = Code()
    gone = weakref.ref(code)
    call = empty(Result(F64, ()), keep=code)
    del code
    call()
    assert gone() is not None
    assert (call.__name__, call.__module__) == ("call", "weft")
    del call
    gc.collect()
    assert gone() is None


def test_entry_can_be_called_without_a_stub() -> None:
    x = np.arange(10, dtype=np.float32)
    entry_address = native().address("double")
    (y,) = caller().call_entry(entry_address, [x], [10], [Result(F32, (10,))], parallel=True)
    assert np.array_equal(y, 2 * x)
    assert y.flags.owndata and y.ctypes.data % 64 == 0
    assert sys.getrefcount(y) == 2


def test_failure_without_a_stub() -> None:
    def fail(run: int, *rest: int) -> None:
        (ctypes.c_int64 * 16).from_address(run)[Run.ERROR] = Failed.ARENA_MEMORY

    program = entry(fail)
    with pytest.raises(MemoryError, match="intermediate"):
        caller().call_entry(address(program), [], [], [])


def test_results_can_die_after_everything_else() -> None:
    code = """
import numpy as np
from tests.runtime.support import address, caller, entry
from weft.runtime.signatures import Result, Signature
nothing = entry(lambda *arguments: None)
def result(n):
    return caller().make(address(nothing), Signature((), (Result(np.dtype(float), (n,)),)))()
np.kept_until_the_end = [result(5), result(1 << 23)]
print("end")
"""
    run = support.python(code)
    assert (run.returncode, run.stdout, run.stderr) == (0, "end\n", "")


INTERRUPT = """
import signal
from tests.runtime.support import caller
from tests.runtime.test_results import native
from weft.runtime.signatures import Signature
def own(*arguments):
    raise LookupError("own")
spin = caller().make(native().address("spin"), Signature((), ()), release=%r)
signal.signal(signal.SIGALRM, %s)
signal.setitimer(signal.ITIMER_REAL, 0.1)
try:
    %s
except BaseException as error:
    print(type(error).__name__)
"""


@pytest.mark.parametrize("release", [True, False])
@pytest.mark.parametrize(
    ("handler", "name"),
    [("signal.default_int_handler", "KeyboardInterrupt"), ("own", "LookupError")],
)
def test_signal_handler_stops_the_program(release: bool, handler: str, name: str) -> None:
    run = support.python(INTERRUPT % (release, handler, "spin()"))
    assert (run.stdout, run.stderr) == (f"{name}\n", "")


def test_signal_handler_stops_an_entry_without_a_stub() -> None:
    call = 'caller().call_entry(native().address("spin"), [], [], [])'
    run = support.python(INTERRUPT % (True, "own", call))
    assert (run.stdout, run.stderr) == ("LookupError\n", "")


def test_handler_that_does_not_raise_lets_the_program_go_on() -> None:
    """Polling from another thread than the main one does nothing either."""
    found: list[list[int]] = []

    def poll(run: int, *rest: int) -> None:
        support.Poll(caller().poll)(run)
        found.append(words(run, 16))

    program = entry(poll)
    call = caller().make(address(program), Signature((), ()))
    call()
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    assert [(record[Run.STOP], record[Run.ERROR]) for record in found] == [(0, 0)] * 2


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_calls_in_the_child_of_a_fork() -> None:
    visits = np.zeros(100, np.int64)

    def region(run: int, data: int, *rest: int) -> None:
        task = support.native().address("count")
        support.Parallel(caller().pool.parallel)(run, task, words(data, 1)[0], 100, 1)

    program = entry(region)
    signature = Signature((ArrayOf(np.dtype(np.int64), (100,)),), (Result(F64, (3,)),))
    call = caller().make(address(program), signature, parallel=True, release=True)
    with threads.threads(2):
        call(visits)
        child = os.fork()
        if not child:
            code = 1
            try:
                result: NDArray = call(visits)
                right = (visits == 2).all() and result.shape == (3,)
                code = 0 if right and caller().pool.workers == 1 else 2
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
    assert status == 0
