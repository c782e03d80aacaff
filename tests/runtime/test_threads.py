"""The thread pool: exact cover of ranges, many callers, nesting, fork, shutdown, thread counts."""

from __future__ import annotations

import contextvars
import gc
import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from tests.patience import PATIENCE
from tests.runtime import support
from tests.runtime.support import address, as_poll, as_task, counts, parallel
from weft.compiler.abi import MOST_WORKERS, POOL_SLOTS, Run
from weft.runtime import headroom, threads
from weft.runtime.cores import available_cores
from weft.runtime.threads import Pool


def ranges(count: int, grain: int, threads: int) -> list[tuple[int, int, int]]:
    """Begin, end and thread of each piece that a region hands to its task."""
    pieces: list[tuple[int, int, int]] = []

    @as_task
    def task(run: int, data: int, begin: int, end: int) -> None:
        pieces.append((begin, end, threading.get_ident()))

    parallel(support.pool(), address(task), count, grain, threads)
    return sorted(pieces)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize(
    ("count", "grain"), [(1, 1), (2, 1), (7, 1), (1000, 1), (1000, 7), (64, 64), (65, 64), (3, 100)]
)
def test_pieces_cover_the_range_once_in_whole_grains(count: int, grain: int, threads: int) -> None:
    pieces = ranges(count, grain, threads)
    assert [begin for begin, _, _ in pieces] == [0, *[end for _, end, _ in pieces[:-1]]]
    assert pieces[-1][1] == count
    assert all((end - begin) % grain == 0 for begin, end, _ in pieces[:-1])
    assert all(begin < end for begin, end, _ in pieces)


@pytest.mark.parametrize("count", [0, -3])
def test_empty_range_calls_nothing(count: int) -> None:
    assert ranges(count, 1, 4) == []


def test_grain_of_zero_is_one() -> None:
    assert ranges(3, 0, 1) == [(0, 3, threading.get_ident())]


def test_one_thread_is_the_caller() -> None:
    assert {thread for _, _, thread in ranges(100, 1, 1)} == {threading.get_ident()}


def test_no_more_threads_than_allowed() -> None:
    support.pool().ensure(6)
    for _ in range(20):
        assert len({thread for _, _, thread in ranges(200, 1, 3)}) <= 3


def test_both_threads_work() -> None:
    """Each of two tasks waits for the other, which only ends if they run at the same time."""
    meeting = threading.Barrier(2)

    @as_task
    def task(run: int, data: int, begin: int, end: int) -> None:
        meeting.wait(PATIENCE)

    parallel(support.pool(), address(task), 2, 1, 2)
    assert not meeting.broken


def test_stress_of_short_regions() -> None:
    rng = np.random.default_rng(0)
    for _ in range(3000):
        length, grain = int(rng.integers(1, 400)), int(rng.integers(1, 40))
        assert (counts(support.pool(), length, grain, int(rng.integers(1, 5))) == 1).all()


@pytest.mark.parametrize("callers", [4, POOL_SLOTS + 4])
def test_many_callers_at_once(callers: int) -> None:
    failures: list[int] = []
    # Here: threads that ask for these first, all at once, would make several, and drop some in use.
    pool, _ = support.pool(), support.native()

    def call(seed: int) -> None:
        for step in range(100):
            length = 1 + (seed * 31 + step * 17) % 500
            if not (counts(pool, length, 3, 3) == 1).all():
                failures.append(length)

    workers = [threading.Thread(target=call, args=(seed,)) for seed in range(callers)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert failures == []


def test_nested_region_runs_in_the_task_that_starts_it() -> None:
    inner: list[tuple[bool, int, int]] = []

    @as_task
    def task(run: int, data: int, begin: int, end: int) -> None:
        here = threading.get_ident()

        @as_task
        def nested(run: int, data: int, begin: int, end: int) -> None:
            inner.append((threading.get_ident() == here, begin, end))

        for _ in range(begin, end):
            support.Parallel(support.pool().parallel)(run, address(nested), None, 10, 1)

    record = parallel(support.pool(), address(task), 8, 1, 2)
    assert inner == [(True, 0, 10)] * 8
    assert record[Run.INSIDE] == 0


def test_waiting_caller_looks_for_interrupts() -> None:
    polls: list[int] = []
    started, polled = threading.Event(), threading.Event()
    caller = threading.get_ident()

    @as_poll
    def poll(run: int) -> None:
        polls.append(run)
        polled.set()

    @as_task
    def task(run: int, data: int, begin: int, end: int) -> None:
        if threading.get_ident() == caller:
            started.wait(PATIENCE)  # so that the other task is a worker's
            return
        started.set()
        polled.wait(PATIENCE)

    record = parallel(support.pool(), address(task), 2, 1, 2, POLL=address(poll))
    assert polls
    assert set(polls) == {record.ctypes.data}


def test_closed_pool_still_computes_and_starts_again() -> None:
    pool = Pool(support.pool_code())
    assert (counts(pool, 100, 1, 3) == 1).all()
    assert pool.workers == 2
    names = {thread.name for thread in threading.enumerate()}
    assert {"weft-worker-0", "weft-worker-1"} <= names
    pool.close()
    assert pool.workers == 0
    record = support.run_record(3, pool)
    visits = np.zeros(50, np.int64)
    task = support.native().address("count")
    support.Parallel(pool.parallel)(record.ctypes.data, task, visits.ctypes.data, 50, 1)
    assert (visits == 1).all()
    assert (counts(pool, 100, 1, 2) == 1).all()
    assert pool.workers == 1
    pool.close()


def test_pool_can_close_while_others_use_it() -> None:
    pool = Pool(support.pool_code())
    failures: list[int] = []

    def call() -> None:
        for step in range(300):
            if not (counts(pool, 100 + step, 1, 2) == 1).all():
                failures.append(step)

    worker = threading.Thread(target=call)
    worker.start()
    while worker.is_alive():
        pool.close()
    worker.join()
    pool.close()
    assert failures == []


def test_workers_end_with_their_pool() -> None:
    before = set(threading.enumerate())
    pool = Pool(support.pool_code())
    pool.ensure(3)
    started = set(threading.enumerate()) - before
    assert len(started) == 2
    del pool
    gc.collect()
    assert not any(thread.is_alive() for thread in started)


def test_as_many_workers_as_the_system_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Pool(support.pool_code())
    pool.ensure(2)

    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        assert (counts(pool, 100, 1, 4) == 1).all()
    assert (counts(pool, 100, 1, 4) == 1).all()
    assert pool.workers == 1
    pool.close()


def wait_for(child: int) -> int:
    """The status of a child, which is killed if it hangs."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return status
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return -1


def exit_code_of_child() -> int:
    """Fork; the child uses the pool and says whether all went well."""
    child = os.fork()
    if not child:
        code = 1
        try:
            alone = support.pool().workers == 0
            right = all((counts(support.pool(), n, 2, 3) == 1).all() for n in range(1, 60))
            code = 0 if alone and right and support.pool().workers == 2 else 2
        finally:
            os._exit(code)
    return wait_for(child)


def test_no_worker_is_started_that_there_is_no_memory_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would end before Python hears of it, which waits for that."""
    monkeypatch.setattr(headroom, "is_limited", lambda: True)
    monkeypatch.setattr(headroom, "is_available", lambda bytes: bytes < headroom.THREAD_BYTES)
    pool = Pool(support.pool_code())
    pool.ensure(2)
    assert pool.workers == 0
    monkeypatch.setattr(headroom, "is_available", lambda bytes: True)
    ready = Pool(support.pool_code())
    ready.ensure(2)
    assert ready.workers == 1
    ready.close()


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_child_of_a_fork_has_a_pool_of_its_own() -> None:
    assert (counts(support.pool(), 100, 1, 3) == 1).all()
    assert exit_code_of_child() == 0
    assert (counts(support.pool(), 100, 1, 3) == 1).all()


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_fork_in_the_middle_of_a_region_of_another_thread() -> None:
    stop = threading.Event()

    def keep_busy() -> None:
        while not stop.is_set():
            counts(support.pool(), 20_000, 10, 2)

    busy = [threading.Thread(target=keep_busy) for _ in range(2)]
    for thread in busy:
        thread.start()
    try:
        assert [exit_code_of_child() for _ in range(10)] == [0] * 10
    finally:
        stop.set()
        for thread in busy:
            thread.join()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_soak_of_callers_forks_and_closing() -> None:
    """Callers of all kinds during a hundred forks, after each of which the pool closes."""
    stop = threading.Event()
    failures: list[int] = []

    def call(seed: int) -> None:
        rng = np.random.default_rng(seed)
        while not stop.is_set():
            length, grain = int(rng.integers(1, 5000)), int(rng.integers(1, 100))
            if not (counts(support.pool(), length, grain, int(rng.integers(1, 6))) == 1).all():
                failures.append(length)

    callers = [threading.Thread(target=call, args=(seed,)) for seed in range(6)]
    for caller in callers:
        caller.start()
    children = []
    try:
        for _ in range(100):
            children.append(exit_code_of_child())
            support.pool().close()
    finally:
        stop.set()
        for caller in callers:
            caller.join()
    assert failures == []
    assert children == [0] * 100


def test_interpreter_ends_while_a_daemon_thread_computes() -> None:
    code = """
import threading
from tests.runtime.support import counts, pool
computing = threading.Event()
def forever():
    while True:
        counts(pool(), 1000, 1, 2)
        computing.set()
threading.Thread(target=forever, daemon=True).start()
computing.wait()
print("end")
"""
    run = support.python(code)
    assert (run.returncode, run.stdout, run.stderr) == (0, "end\n", "")


def test_number_of_threads_is_chosen_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WEFT_NUM_THREADS", raising=False)
    assert threads.default_threads() == available_cores()
    monkeypatch.setenv("WEFT_NUM_THREADS", "3")
    assert threads.default_threads() == 3
    before = threads.get_num_threads()
    try:
        threads.set_num_threads(5)
        assert threads.get_num_threads() == 5
        with threads.threads(2):
            assert threads.get_num_threads() == 2
            with threads.threads(4):
                assert threads.get_num_threads() == 4
            assert threads.get_num_threads() == 2
            assert contextvars.Context().run(threads.get_num_threads) == 5
        threads.set_num_threads(None)
        assert threads.get_num_threads() == 3
    finally:
        threads.set_num_threads(before)


@pytest.mark.parametrize("text", ["zero", "0", "-2", "1.5", str(MOST_WORKERS + 2)])
def test_bad_number_in_the_environment(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_NUM_THREADS", text)
    with pytest.raises(ValueError, match="WEFT_NUM_THREADS"):
        threads.default_threads()


def test_bad_number_of_threads() -> None:
    with pytest.raises(ValueError, match="0 threads"):
        threads.set_num_threads(0)
    with pytest.raises(TypeError, match="not float"):
        threads.set_num_threads(2.0)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not bool"), threads.threads(True):
        pass


def machine(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_limits_of_control_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)
    second = {"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/cpu.max": "350000 100000\n"}
    assert available_cores(machine(tmp_path / "outer", second)) == 3
    second["sys/fs/cgroup/a/b/cpu.max"] = "50000 100000\n"
    assert available_cores(machine(tmp_path / "inner", second)) == 1
    unlimited = {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"}
    assert available_cores(machine(tmp_path / "unlimited", unlimited)) == 64
    first = {
        "proc/self/cgroup": "3:cpu,cpuacct:/docker/x\n2:memory:/docker/x\n",
        "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "200000\n",
        "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
    }
    assert available_cores(machine(tmp_path / "first", first)) == 2
    first["sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us"] = "-1\n"
    assert available_cores(machine(tmp_path / "no quota", first)) == 64
    assert available_cores(tmp_path / "nothing") == 64
