"""Maps whose steps run on several threads at once: the same bits for any number of threads, frames
of their own, failures and interrupts as in loops that go step by step.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft as wf
from weft.compiler.ir.graph import Op
from weft.compiler.ir.walk import walk
from weft.compiler.loops.parallel import steps_at_once

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(0)


def plainly(f: Callable[..., Any], **options: Any) -> Any:
    """The function compiled as it is, without passes that would take maps apart."""
    return wf.jit(f, optimise=False, **options)


def scan_of(f: Callable[..., Any], *args: Any) -> Op:
    """The first loop of a function."""
    return next(op for op in walk(wf.trace(f)(*args)) if op.name == "scan")


def same_for_all_threads(f: Callable[..., Any], *args: Any) -> Any:
    """The result of a function, which must have the same bits for any number of threads."""
    compiled = plainly(f)
    made = []
    for count in (1, 2, 4, 4):
        with wf.threads(count):
            result = compiled(*args)
            made.append(result if isinstance(result, tuple) else (result,))
    for other in made[1:]:
        for x, y in zip(made[0], other, strict=True):
            assert np.asarray(x).tobytes() == np.asarray(y).tobytes()
    return made[0] if len(made[0]) > 1 else made[0][0]


# --- which loops ---------------------------------------------------------------------------------


def test_maps_with_enough_work_run_at_once() -> None:
    x = RANDOM.normal(size=(8, 100, 100))
    assert steps_at_once(scan_of(lambda x: wf.map(lambda m: m @ m, x), x)) == 1
    long = RANDOM.normal(size=100_000)
    assert 1000 < (steps_at_once(scan_of(lambda x: wf.map(lambda m: m * 2, x), long)) or 0) < 10_000


def test_other_loops_go_step_by_step() -> None:
    x = RANDOM.normal(size=(8, 100, 100))
    carried = scan_of(lambda x: wf.scan(lambda c, m: (c @ m, c), x[0], x), x)
    assert steps_at_once(carried) is None
    small = scan_of(lambda x: wf.map(lambda m: m @ m, x), x[:, :3, :3])
    assert steps_at_once(small) is None
    # Few steps that are long: each keeps all threads busy by itself.
    huge = np.zeros((3, 2000, 2000))
    assert steps_at_once(scan_of(lambda x: wf.map(lambda m: m @ m, x), huge)) is None
    assert steps_at_once(scan_of(lambda x: wf.map(lambda m: m @ m, x), huge[:1])) is None


def test_calls_of_the_host_stay_in_order() -> None:
    seen: list[float] = []

    def note(m: Array) -> Array:
        seen.append(float(m[0, 0]))
        return m

    def f(x: Any) -> Any:
        return wf.map(lambda m: wf.callback(note, wf.spec("f64[90, 90]"), m) @ m, x)

    x = RANDOM.normal(size=(8, 90, 90))
    assert steps_at_once(scan_of(f, x)) is None
    np.testing.assert_allclose(plainly(f)(x), x @ x)
    assert seen[-8:] == [float(m[0, 0]) for m in x]


# --- results -------------------------------------------------------------------------------------


def test_products_in_a_map() -> None:
    x = RANDOM.normal(size=(9, 64, 64))
    made = same_for_all_threads(lambda x: wf.map(lambda m: np.tanh(m @ m) @ m.T, x), x)
    np.testing.assert_allclose(made, np.tanh(x @ x) @ x.swapaxes(1, 2), rtol=1e-9, atol=1e-9)


def test_steps_keep_their_intermediate_values_apart() -> None:
    def f(x: Any) -> Any:
        def step(row: Any) -> Any:
            s = np.sort(row)[::-1]
            t = np.cumsum(s) * row
            return np.sort(t), (s * t).sum()

        return wf.map(step, x)

    x = RANDOM.normal(size=(50, 3000))
    first, second = same_for_all_threads(f, x)
    s = np.sort(x, axis=1)[:, ::-1]
    t = np.cumsum(s, axis=1) * x
    np.testing.assert_allclose(first, np.sort(t, axis=1), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(second, (s * t).sum(axis=1), rtol=1e-9)


def test_numbers_and_constants_of_all_kinds() -> None:
    table = RANDOM.normal(size=(70, 70))

    def f(x: Any, z: Any, flag: Any, n: Any) -> Any:
        def step(m: Any) -> Any:
            y = wf.cond(flag, lambda: m @ table, lambda: m - 1)
            return y * np.real(z) + np.imag(z) * n, y.sum()

        return wf.map(step, x)

    x = RANDOM.normal(size=(12, 70, 70))
    for flag in (True, False):
        made, sums = same_for_all_threads(f, x, np.complex128(2 + 3j), np.bool_(flag), np.int32(5))
        y = x @ table if flag else x - 1
        np.testing.assert_allclose(made, y * 2 + 15, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(sums, y.sum(axis=(1, 2)), rtol=1e-9)


def test_loops_inside_of_steps() -> None:
    def f(x: Any) -> Any:
        def step(m: Any) -> Any:
            inner = wf.map(lambda row: np.cumsum(np.exp(row)), m)
            end, _ = wf.scan(lambda c, row: (c * 0.5 + row, ()), m[0], inner)
            count, _ = wf.while_loop(
                lambda s: s[1] < 50.0, lambda s: (s[0] + 1, s[1] + 2.5 + abs(m[0, 0])), (0, 0.0)
            )
            return end, inner.sum() + count

        return wf.map(step, x)

    x = RANDOM.normal(size=(10, 40, 60))
    same_for_all_threads(f, x)
    wanted = wf.jit(f, backend="reference")(x)
    for made, value in zip(plainly(f)(x), wanted, strict=True):
        np.testing.assert_allclose(made, value, rtol=1e-9)


def test_backwards_and_without_results_of_their_own() -> None:
    def f(x: Any) -> Any:
        return wf.scan(lambda c, m: ((), m @ m), (), x, reverse=True)[1]

    x = RANDOM.normal(size=(8, 80, 80))
    np.testing.assert_allclose(same_for_all_threads(f, x), x @ x, rtol=1e-9, atol=1e-9)


def test_many_short_steps() -> None:
    x = RANDOM.normal(size=200_000)
    made = same_for_all_threads(lambda x: wf.map(lambda v: np.sin(v) * v + 1, x), x)
    np.testing.assert_allclose(made, np.sin(x) * x + 1, rtol=1e-12)


def test_length_that_the_run_tells() -> None:
    f = plainly(
        lambda x: wf.map(lambda m: np.sort(m @ m.T, axis=1), x), specs=[wf.spec("f64[n>=0, m, m]")]
    )
    for n, m in ((0, 5), (1, 40), (7, 33)):
        x = RANDOM.normal(size=(n, m, m))
        for count in (1, 3):
            with wf.threads(count):
                np.testing.assert_allclose(f(x), np.sort(x @ x.swapaxes(1, 2), axis=2), atol=1e-9)


def test_gradient_of_a_map() -> None:
    def loss(x: Any, w: Any) -> Any:
        return np.sum(wf.map(lambda m: np.tanh(m @ w), x) ** 2)

    x, w = RANDOM.normal(size=(8, 60, 60)), RANDOM.normal(size=(60, 60))
    made = same_for_all_threads(wf.grad(loss, (0, 1)), x, w)
    wanted = wf.jit(wf.grad(loss, (0, 1)), backend="reference")(x, w)
    for new, old in zip(made, wanted, strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-9, atol=1e-9)


def test_many_callers_at_once() -> None:
    f = plainly(lambda x: wf.map(lambda m: np.sort(m @ m, axis=1), x))
    inputs = [RANDOM.normal(size=(8, 50, 50)) for _ in range(6)]
    wanted = [np.sort(x @ x, axis=2) for x in inputs]
    failures: list[BaseException] = []

    def call(number: int) -> None:
        try:
            for _ in range(10):
                np.testing.assert_allclose(f(inputs[number]), wanted[number], atol=1e-9)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(len(inputs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


# --- failures ------------------------------------------------------------------------------------


def test_failure_in_a_step_raises_and_leaves_the_function_usable() -> None:
    f = plainly(lambda x, i: wf.map(lambda s: (s[0] @ s[0])[s[1]], (x, i)))
    x = RANDOM.normal(size=(16, 60, 60))
    good, bad = np.arange(16), np.where(np.arange(16) == 11, 60, 0)
    for _ in range(3):
        with wf.threads(4):
            np.testing.assert_allclose(f(x, good), (x @ x)[np.arange(16), good], atol=1e-9)
            with pytest.raises(wf.BoundsError, match="60"):
                f(x, bad)


def test_interrupt_ends_the_steps() -> None:
    def f(x: Any) -> Any:
        def step(m: Any) -> Any:
            return wf.while_loop(lambda c: c < 1e300, lambda c: c + abs(m[0]), 0.0)

        return wf.map(step, x)

    x = RANDOM.normal(size=(8, 3))
    compiled = plainly(f)
    compiled.lower(x)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs ignore it
    try:
        with pytest.raises(KeyboardInterrupt), wf.threads(2):
            timer.start()
            compiled(x)  # without an interrupt it never ends
        timer.join()
    finally:
        signal.signal(signal.SIGINT, handler)


# --- what users see ------------------------------------------------------------------------------


def test_memory_and_explanation_tell_of_threads() -> None:
    f = plainly(lambda x: wf.map(lambda m: np.sort(m @ m, axis=1) @ m, x))
    x = RANDOM.normal(size=(8, 100, 100))
    f(x)
    memory = f.memory(x)
    with wf.threads(3):
        more = f.memory(x)
    assert more.threads == 3
    assert int(more.workspace) >= 3 * 100 * 100 * 8
    assert int(more.total) - int(more.peak) == int(more.workspace)
    assert f"with {memory.threads} threads" in str(memory)
    assert "8 steps, several at once" in str(f.explain())
