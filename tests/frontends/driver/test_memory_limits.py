"""Address space that runs out: a result or a MemoryError at every limit, and never a crash."""

from __future__ import annotations

import sys

import pytest

from tests.frontends.driver.test_robustness import output, start
from weft.runtime import headroom

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux limits address space")

# Each limit has a process of its own, forked before anything was compiled, or (WARM) after the call
# ran once without a limit. 0: a result; 3: MemoryError.
SWEEP = """
import os, resource, signal, sys, traceback, warnings
import numpy as np, weft as wf, weft.numpy

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
vector, matrix = rng.random(1_000_000), rng.random((900, 900))
images, filters = rng.random((4, 8, 96, 96)), rng.random((16, 8, 3, 3))

def looping(x):
    step = lambda c: (c[0] + 1, np.sin(c[1]) * 1.01)
    return wf.while_loop(lambda c: c[0] < 100, step, (0, x))[1].sum()

def eager(x):
    e = wf.numpy.asarray(x)
    return np.asarray(np.sin(e * 2) + e[::-1])

CASES = {
    "while_loop": (wf.jit(wf.grad(looping)), vector[:50_000]),
    "sort": (wf.jit(np.sort), vector),
    "argsort": (wf.jit(np.argsort), vector),
    "fft": (wf.jit(lambda x: np.fft.fft(x).real), vector),
    "product": (wf.jit(lambda x: x @ x + 1, products="generated"), matrix),
    "blas": (wf.jit(lambda x: x @ x + 1, products="blas"), matrix),
    "solve": (wf.jit(lambda x: np.linalg.solve(x, x)), matrix),
    "svd": (wf.jit(lambda x: np.linalg.svd(x)[1]), matrix[:200, :200].copy()),
    "convolution": (wf.jit(lambda x: wf.conv(x, filters)), images),
    "eager": (eager, vector),
}
f, x = CASES[CASE]
if WARM:
    from weft.frontends.driver.machine_code import caller
    f(x)
    caller().memory.trim(0)
outcomes = []
for limit in LIMITS:
    child = os.fork()
    if not child:
        signal.alarm(150)
        with open("/proc/self/statm") as sizes:
            size = int(sizes.read().split()[0]) * resource.getpagesize() + (limit << 20)
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
        code = 1
        try:
            f(x)
            code = 0
        except MemoryError:
            code = 3
        except BaseException:
            traceback.print_exc(file=sys.stdout)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    outcomes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(*outcomes)
"""
CASES = "while_loop sort argsort fft product blas solve svd convolution eager".split()  # fmt: skip


def check_outcomes(case: str, limits: list[int], *, is_warm: bool, **environment: str) -> list[int]:
    names = f"CASE, WARM, LIMITS = {case!r}, {is_warm}, {limits}\n"
    *tracebacks, codes = output(start(names + SWEEP, **environment)).splitlines()
    outcomes = [int(code) for code in codes.split()]
    told = "\n".join([str(dict(zip(limits, outcomes, strict=True))), *tracebacks])
    assert set(outcomes) <= {0, 3} and outcomes[-1] == 0, told
    return outcomes


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_calls_of_compiled_programs_at_every_limit(case: str) -> None:
    limits = [1, 2, 3, 5, 8, 11, 14, 17, 20, 24, 28, 34, 40, 50, 60, 80, 100, 150, 2000]
    check_outcomes(case, limits, is_warm=True)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_first_calls_at_every_limit(case: str) -> None:
    limits = [4, 120, 150, 155, 160, 180, 190, 195, 200, 205, 230, 260, 300, 400, 4000]
    assert 3 in check_outcomes(case, limits, is_warm=False, WEFT_CACHE_DIR="")


def test_headroom_is_not_asked_for_where_there_is_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(headroom, "is_limited", lambda: False)
    headroom.require(1 << 62, "nothing")
    monkeypatch.setattr(headroom, "is_limited", lambda: True)
    with pytest.raises(MemoryError, match="no memory for nothing"):
        headroom.require(1 << 62, "nothing")
    headroom.require(1 << 16, "nothing")


def test_only_want_of_memory_becomes_a_memory_error(monkeypatch: pytest.MonkeyPatch) -> None:
    @headroom.out_of_memory_is_memory_error
    def fail(error: Exception) -> None:
        raise error

    monkeypatch.setattr(headroom, "require", lambda bytes, what: None)
    monkeypatch.setattr(headroom, "is_limited", lambda: True)
    monkeypatch.setattr(headroom, "is_available", lambda bytes: False)
    for error in (FileNotFoundError("x"), ImportError("no module"), RuntimeError("other")):
        with pytest.raises(type(error)):
            fail(error)
    wants: list[Exception] = [
        OSError(12, "x"),
        ImportError("x.so: failed to map segment from shared object"),
    ]
    for want in wants:
        with pytest.raises(MemoryError):
            fail(want)
