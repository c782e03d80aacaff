"""Interrupts at any point: nothing stays in force, and the next call is right."""

from __future__ import annotations

import ctypes
import functools
import gc
import operator
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np
import pytest

import weft as wf
from weft.compiler.ir.ambient import active
from weft.frontends.driver import gc_pause
from weft.frontends.tracing.conversion import conversion
from weft.runtime import forking, python_api, threads

X = np.linspace(0.1, 2.0, 7)
WATCHED = (  # where something is put in force, or taken back
    "/compiler/ir/ambient.py",
    "/compiler/passes/running.py",
    "/frontends/driver/gc_pause.py",
    "/frontends/driver/dispatch.py",
    "/frontends/flow/convert.py",
    "/frontends/regions/closures.py",
    "/frontends/tracing/function.py",
    "/runtime/forking.py",
    "/runtime/threads.py",
)


class Interrupt:
    """Raises KeyboardInterrupt at one of the points, counted from 1, where Python lets signals in:
    as a function begins or goes on, and as a builtin returns; of the watched files only.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.points = 0

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_code.co_filename
        if event in ("call", "c_return") and (name.endswith(WATCHED) or "contextlib" in name):
            self.points += 1
            if self.points == self.number:
                raise KeyboardInterrupt


@contextmanager
def interrupted(number: int) -> Iterator[Interrupt]:
    interrupt = Interrupt(number)
    sys.setprofile(interrupt)
    try:
        yield interrupt
    finally:
        sys.setprofile(None)


def loss(x: Any) -> Any:
    total = np.sum(np.tanh(x) * x)
    if total > 0:
        total = total * 2
    return total


SUBJECTS: dict[str, Callable[[], Callable[[Any], Any]]] = {
    "jit": lambda: wf.jit(lambda x: np.sum(np.tanh(x) * x) * 2, backend="reference"),
    "native": lambda: wf.jit(lambda x: np.sum(np.tanh(x) * x) * 2, threads=1),
    "control flow": lambda: wf.jit(loss, control_flow=True, backend="reference"),
    "gradient": lambda: wf.value_and_grad(lambda x: np.sum(np.tanh(x) * x) * 2),
    "eager": lambda: lambda x: np.sum(np.tanh(wf.numpy.asarray(x)) * x) * 2,
}


def _check(function: Callable[[Any], Any]) -> None:
    result = function(X)
    value = result[0] if isinstance(result, tuple) else result
    np.testing.assert_allclose(value, 2 * np.sum(np.tanh(X) * X), rtol=1e-12)


@pytest.mark.parametrize("subject", SUBJECTS)
def test_interrupts_leave_nothing_in_force(subject: str) -> None:
    make = SUBJECTS[subject]
    _check(make())
    with interrupted(0) as counting:
        _check(make())
    assert counting.points > 10
    kept: list[BaseException] = []  # as the last error of a notebook is
    for number in range(1, counting.points + 1, max(1, counting.points // 60)):
        function = make()
        try:
            with interrupted(number):
                function(X)
        except KeyboardInterrupt as error:
            kept.append(error)
        assert active.get() is None
        assert conversion.get() is None
        assert threads.chosen.get(0) == 0
        _check(function)
    assert kept
    kept.clear()
    gc.collect()
    assert gc.isenabled()
    assert not gc_pause._pausing
    assert not forking._inside


# --- between the kernels of a program -------------------------------------------------------------

LARGE = 1 << 18  # elements of which a kernel asks afterwards whether to stop


def chain(x: Any, length: int) -> list[Any]:
    made = []
    for _ in range(length):
        x = wf.fence(np.sin(x) + 0.5)
        made.append(x)
    return made


def straight(*arrays: Any) -> Any:
    return [wf.fence(np.sin(x) + number) for number, x in enumerate(arrays)]


def unlike(*arrays: Any) -> Any:
    """Kernels that are not alike, and products between them."""
    made = [np.sin(arrays[0]), np.cos(arrays[1]) * 3, arrays[2] ** 3, np.sort(arrays[3])]
    return [wf.fence(x) for x in made] + [wf.fence(np.exp(x)) for x in arrays[4:]]


def after_loop(*arrays: Any) -> Any:
    first = wf.while_loop(lambda c: c[0] < 1000, lambda c: (c[0] + 1, np.sin(c[1])), (0, arrays[0]))
    return [first[1], *straight(*arrays[1:])]


def interrupt_and_call(function: Callable[..., Any], *arguments: Any) -> None:
    """Call a builtin while a signal waits that arrived just before: nothing in Python runs in
    between that could see it.
    """
    arrive = python_api.function("PyErr_SetInterruptEx", ctypes.c_int, ctypes.c_int)
    calls = functools.partial(arrive, signal.SIGINT), functools.partial(function, *arguments)
    list(map(operator.methodcaller("__call__"), calls))


@pytest.mark.parametrize("count", [6, 80], ids=["short", "in sections"])
@pytest.mark.parametrize("function", [straight, unlike, after_loop])
@pytest.mark.parametrize("threads", [1, 2])
def test_interrupt_ends_a_program_between_its_kernels(
    function: Callable[..., Any], count: int, threads: int
) -> None:
    """Results are written over arguments, which shows what ran: nothing after the first kernel that
    is long.
    """
    f = wf.jit(function, donate=range(count), threads=threads)
    f(*[np.full(LARGE, 0.25) for _ in range(count)])
    (stub,) = f._stubs
    arrays = [np.full(LARGE, 0.25) for _ in range(count)]
    with pytest.raises(KeyboardInterrupt):
        interrupt_and_call(stub, *arrays)
    written = [not (array == 0.25).all() for array in arrays]
    assert sum(written) <= 2, f"{sum(written)} of {count} kernels ran"
    wanted = function(*[np.full(LARGE, 0.25) for _ in range(3)], *[np.full(3, 0.25)])
    made = f(*[np.full(LARGE, 0.25) for _ in range(count)])
    np.testing.assert_allclose(np.asarray(made[0]), np.asarray(wanted[0]), rtol=1e-12)


def test_programs_of_small_kernels_do_not_ask() -> None:
    f = wf.jit(lambda x: chain(x, 100))
    assert f.lower(np.ones(1000)).loops.schedule.polls == {}
    for size in (LARGE, 4 * LARGE):
        g = wf.jit(lambda x: chain(x, 5))
        polls = g.lower(np.ones(size)).loops.schedule.polls
        assert len(polls) == 4  # at the end it is too late to ask


def test_programs_of_unknown_sizes_ask_where_these_are_large() -> None:
    f = wf.jit(lambda x: chain(x, 9), specs=(wf.spec("f64[n]"),))
    x = np.full(LARGE, 0.25)
    expected = f(x)
    (stub,) = f._stubs
    with pytest.raises(KeyboardInterrupt):
        interrupt_and_call(stub, x)
    asked = f.lower(x).loops.schedule.polls.values()
    assert len(asked) == 2 and all(not isinstance(work, int) for work in asked)
    np.testing.assert_array_equal(f(x)[-1], expected[-1])
