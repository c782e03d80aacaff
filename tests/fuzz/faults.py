"""Faults around right programs: failing files, signals, forks, little memory at random moments.

Each round is a process of its own. Whatever happens, a call gives the right result or raises what
was injected (or MemoryError), and the next call is right; a crash or a hang is a finding.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from time import monotonic
from typing import Any

import numpy as np

from tests.fuzz.checks import Expected
from tests.fuzz.generate import random_case
from tests.fuzz.outcome import Failure, Skipped
from tests.fuzz.pool import ROOT, environment, how_it_ended
from tests.fuzz.tolerance import flat

SECONDS = 150.0  # of a round, beyond which it hangs
ERRORS = (28, 13, 5, 30)  # no space, no permission, input/output, read-only


class Subject:
    """A program that is right when nothing fails, compiled anew by each call of `fresh`."""

    def __init__(self, random: Random) -> None:
        while True:
            case = random_case(random, random.choice(("plain", "flow", "plain")))
            with contextlib.suppress(Skipped, Failure):
                if case is not None:
                    self.case, self.expected = case, Expected(case)
                    self.check(self.fresh())
                    return

    def fresh(self) -> Callable[..., Any]:
        import weft as wf

        return wf.jit(self.case.traced(), **self.case.options)  # type: ignore[no-any-return]

    def check(self, function: Callable[..., Any]) -> None:
        self.expected.compare(flat(function(*self.case.values())), "under a fault")


@contextlib.contextmanager
def failing_files(folder: str, number: int, error: int) -> Iterator[Counter[str]]:
    """The operation of that number on a file in the folder fails; counts those that there were."""
    seen: Counter[str] = Counter()
    active = True

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if not active or not any(isinstance(a, str | os.PathLike) for a in args[:2]):
            return
        if any(
            os.fspath(a).startswith(folder) for a in args[:2] if isinstance(a, str | os.PathLike)
        ):
            seen["operations"] += 1
            if seen["operations"] == number:
                seen[event] += 1
                raise OSError(error, f"injected into {event}")

    sys.addaudithook(hook)
    try:
        yield seen
    finally:
        active = False


def files(random: Random) -> None:
    """Each file operation of the cache in turn fails; programs are right all the same."""
    from weft.frontends.driver import machine_code

    subject = Subject(random)
    for number in range(1, 60):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["WEFT_CACHE_DIR"] = folder
            machine_code.disk.cache_clear()
            with failing_files(folder, number, random.choice(ERRORS)) as seen:
                subject.check(subject.fresh())
                subject.check(subject.fresh())
            subject.check(subject.fresh())
        if seen["operations"] < number:
            if number == 1:
                raise Failure("the cache was not used")
            return


def signals(random: Random) -> None:
    """An interrupt at a random moment of compiling and running leaves everything usable."""
    subject = Subject(random)

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, interrupt)
    for _ in range(30):
        function = subject.fresh()
        try:
            signal.setitimer(signal.ITIMER_REAL, random.uniform(0.0005, 0.12))
            subject.check(function)
            signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            pass
        signal.setitimer(signal.ITIMER_REAL, 0)
        subject.check(function)
        subject.check(subject.fresh())


def forks(random: Random) -> None:
    """A child that is forked while other threads compile can compile."""
    subject = Subject(random)
    others = [Subject(random) for _ in range(2)]
    stop = threading.Event()

    def compile_on(other: Subject) -> None:
        while not stop.is_set():
            other.check(other.fresh())

    threads = [threading.Thread(target=compile_on, args=(o,), daemon=True) for o in others]
    for thread in threads:
        thread.start()
    try:
        for _ in range(8):
            stop.wait(random.uniform(0, 0.1))
            _checked_child(subject)
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _checked_child(subject: Subject) -> None:
    child = os.fork()
    if not child:
        signal.alarm(40)  # ends a child that hangs
        status = 1
        try:
            subject.check(subject.fresh())
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code:
        raise Failure(f"a forked child {how_it_ended(code)}")


def memory(random: Random) -> None:
    """With any limit of memory a call is right or raises MemoryError."""
    subject = Subject(random)
    large = _large_program(random)
    for _ in range(15):
        room = random.choice((0, 1 << 16, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20))
        child = os.fork()
        if not child:
            os._exit(_limited(room, random.choice((subject.check, large)), subject))
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        if code:
            raise Failure(f"with {room} bytes more, the process {how_it_ended(code)}")


def _limited(room: int, check: Callable[..., None], subject: Subject) -> int:
    """The exit status of a child that may use that much more memory."""
    signal.alarm(60)
    function = subject.fresh()
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * os.sysconf("SC_PAGESIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + room, resource.RLIM_INFINITY))
    try:
        check(function)
    except MemoryError:
        pass
    except BaseException:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        traceback.print_exc()
        return 1
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    subject.check(function)
    return 0


def _large_program(random: Random) -> Callable[..., None]:
    """Programs that need room to work in: sorts, transforms, products, loops."""
    import weft as wf

    bodies: list[Callable[..., Any]] = [
        lambda x: np.sort(x, axis=0),
        lambda x: np.argsort(x, axis=1),
        lambda x: np.fft.fft(x, axis=0),
        lambda x: x @ x.T @ x,
        lambda x: np.linalg.solve(x @ x.T + 900 * np.eye(700), x),
        lambda x: wf.grad(lambda y: np.sum(np.tanh(y @ y.T)))(x),
    ]
    body = random.choice(bodies)
    x = np.random.default_rng(0).normal(0, 1, (700, 700))
    function = wf.jit(body)
    wanted = function(x)

    def check(_: Any) -> None:
        if not np.array_equal(function(x), wanted):
            raise Failure("a large program gives another result")

    return check


FAULTS: dict[str, Callable[[Random], None]] = {
    "files": files,
    "signals": signals,
    "forks": forks,
    "memory": memory,
}


def run_faults(seconds: float, seed: int) -> int:
    """Rounds of all faults in turn; 1 if one of them found something."""
    begin, counts, number = monotonic(), Counter[str](), 0
    while monotonic() - begin < seconds or number < len(FAULTS):
        fault = list(FAULTS)[number % len(FAULTS)]
        how = run_round(fault, f"{seed}:{number}")
        counts[f"{fault}: {'held' if how is None else 'failed'}"] += 1
        if how is not None:
            print(f"--- {fault}, --seed {seed}:{number}\n{how}\n", flush=True)
        number += 1
    print("\n".join(f"  {name:28} {count:9}" for name, count in sorted(counts.items())))
    return 1 if any(name.endswith("failed") for name in counts) else 0


def run_round(fault: str, seed: str) -> str | None:
    """What went wrong in a process with this fault, if anything."""
    command = [sys.executable, "-m", "tests.fuzz.faults", "--fault", fault, "--seed", seed]
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "hangs"
    return (
        None if done.returncode == 0 else f"{how_it_ended(done.returncode)}\n{done.stderr[-1500:]}"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fault", choices=list(FAULTS), required=True)
    parser.add_argument("--seed", required=True)
    options = parser.parse_args()
    FAULTS[options.fault](Random(options.seed))


if __name__ == "__main__":
    main()
