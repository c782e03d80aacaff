"""Arrays of a few elements in loops: kernels over them are written out, so registers hold them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import weft as wf
from weft.compiler.loops.schedule import InlineLimits
from weft.compiler.lower.llvm import machine as driver

QUICK = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
START, RATES = np.array([1.0, 1.0, 1.0]), np.array([10.0, 28.0, 8 / 3])


def lorenz(state: Any, rates: Any) -> Any:
    """Steps of Runge and Kutta, and the states on the way."""

    def slope(s: Any) -> Any:
        bent = s[0] * (rates[1] - s[2]) - s[1]
        return np.stack((rates[0] * (s[1] - s[0]), bent, s[0] * s[1] - rates[2] * s[2]))

    def step(s: Any, _: Any) -> Any:
        a = slope(s)
        b = slope(s + 0.005 * a)
        c = slope(s + 0.005 * b)
        d = slope(s + 0.01 * c)
        return s + 0.01 / 6 * (a + 2 * b + 2 * c + d), s

    return wf.scan(step, state, None, length=30)


def entry_of(f: Any, *arguments: Any) -> str:
    """The entry after LLVM's passes."""
    with driver.optimised(f.lower(*arguments).llvm, driver.host()) as (module, _):
        return str(module.get_function("entry"))


def assert_as_reference(function: Callable[..., Any], *arguments: Any) -> None:
    wanted = wf.jit(function, backend="reference")(*arguments)
    for got, want in zip(wf.jit(function)(*arguments), wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)


def test_a_carried_array_is_in_registers() -> None:
    f = wf.jit(lorenz)
    text = entry_of(f, START, RATES)
    assert not f.lower(START, RATES).kernels
    assert "alloca" not in text
    assert text.count("phi double") == 3


def test_values_and_gradients() -> None:
    assert_as_reference(lorenz, START, RATES)

    def loss(state: Any, rates: Any) -> Any:
        return np.sum(lorenz(state, rates)[0] ** 2)

    assert_as_reference(wf.grad(loss, (0, 1)), START, RATES)


def test_functions_that_vectors_do_at_once_are_called() -> None:
    def waves(x: Any) -> Any:
        return wf.scan(lambda c, _: (np.sin(c) + x, None), x, None, length=9)[0]

    f = wf.jit(waves)
    assert "call void @kernel" in f.lower(np.ones(6)).llvm
    np.testing.assert_allclose(f(np.ones(6)), wf.jit(waves, backend="reference")(np.ones(6)))


@pytest.mark.slow
def test_text_is_bounded() -> None:
    def long(x: Any) -> Any:
        def step(c: Any, _: Any) -> Any:
            for number in wf.unrolled(range(400)):
                c = wf.fence(c[::-1] * 0.5 + x * (number % 3))
            return c, None

        return (wf.scan(step, x, None, length=2)[0],)

    x = np.arange(8.0)
    text = wf.jit(long).lower(x).llvm
    written = InlineLimits().cost_of_program
    assert "call void @kernel" in text
    assert text.count(" fmul ") < written
    assert_as_reference(long, x)


# --- any steps ----------------------------------------------------------------------------------

STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "turned": lambda c, x: c[::-1] + x,
    "rolled": lambda c, x: np.concatenate((c[1:], c[:1])) - x,
    "padded": lambda c, x: np.pad(c, (1, 2))[: c.shape[0]] + x,
    "summed": lambda c, x: c * 0.5 + np.sum(c * x),
    "extreme": lambda c, x: np.where(c == np.max(c), x, c),
    "centred": lambda c, x: (c - np.mean(c)) / (1.0 + np.sum((c - np.mean(c)) ** 2)) + x,
    "place": lambda c, x: c + np.argmin(c) * 0.125,
    "gathered": lambda c, x: c[np.argmax(c * x)] + x,
    "written": lambda c, x: c.at[np.argmax(x)].set(0.5),
    "outer": lambda c, x: np.sum(c[:, None] * x[None, :], axis=0) * 0.25,
    "product": lambda c, x: (c[:, None] * x) @ c * 0.125,
    "sorted": lambda c, x: np.sort(c) * 0.5 + x,
    "running": lambda c, x: np.cumsum(c) * 0.25,
    "sine": lambda c, x: np.sin(c) + x,
    "branch": lambda c, x: wf.cond(c[0] > 0, lambda a: a - x, lambda a: a * 0.5 + x, c),
    "loop": lambda c, x: wf.scan(lambda d, _: (d[::-1] * 0.5 + x, None), c, None, length=2)[0],
}


@QUICK
@given(
    st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=5),
    st.integers(1, 9),
    st.integers(0, 4),
    st.integers(0, 1000),
)
def test_any_steps(names: list[str], size: int, length: int, seed: int) -> None:
    def run(state: Any, xs: Any) -> Any:
        def step(carry: Any, x: Any) -> Any:
            c, before = carry
            for name in names:
                c = STEPS[name](c, x)
            return (c, c - before), (c * 2.0, before, c > before)

        (c, before), kept = wf.scan(step, (state, state * 0.5), xs)
        return c, before, *kept

    numbers = np.random.default_rng(seed)
    assert_as_reference(run, numbers.normal(size=size), numbers.normal(size=(length, size)))


@QUICK
@given(
    st.sampled_from(["f4", "i4", "u1", "i8", "c8", "c16", "f2", "?"]),
    st.integers(1, 8),
    st.integers(0, 1000),
)
def test_dtypes(dtype: str, size: int, seed: int) -> None:
    def run(state: Any) -> Any:
        def step(carry: Any) -> Any:
            c, count = carry
            turned = np.concatenate((c[::-1][1:], c[-1:]))
            return np.where(count % 2 == 0, turned, c | turned if dtype == "?" else c + turned), (
                count + 1
            )

        return wf.while_loop(lambda carry: carry[1] < 5, step, (state, 0))[:1]

    numbers = np.random.default_rng(seed)
    assert_as_reference(run, numbers.integers(0, 3, size).astype(dtype))


@pytest.mark.parametrize("shape", [(2, 2), (1, 3), (2, 1, 3), (2, 4)])
def test_more_axes(shape: tuple[int, ...]) -> None:
    def run(state: Any) -> Any:
        def step(c: Any, _: Any) -> Any:
            total = np.sum(c, axis=-1, keepdims=True)
            return c * 0.5 + total * 0.25 - np.max(c, axis=0), np.sum(c)

        return wf.scan(step, state, None, length=4)

    assert_as_reference(run, np.random.default_rng(0).normal(size=shape))
