"""Results do not depend on the number of threads, bit by bit; calls become native by themselves."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import weft as wf
from tests.patience import PATIENCE
from weft.frontends.driver.tiers import Tiered


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


FUNCTIONS = {
    "sum": lambda x: x.sum(),
    "sum of rows": lambda x: x.sum(axis=1),
    "sum of columns": lambda x: x.sum(axis=0),
    "mean": lambda x: x.mean(),
    "mean of columns": lambda x: x.mean(axis=0),
    "variance": lambda x: x.var(axis=0),
    "max": lambda x: x.max(),
    "max of rows": lambda x: x.max(axis=1),
    "max of columns": lambda x: x.max(axis=0),
    "argmax": lambda x: x.argmax(axis=0),
    "fused sum": lambda x: np.sum(np.exp(-x * x) * np.sin(x)),
    "softmax": softmax,
    "softmax of columns": lambda x: softmax(x.T),
    "product of matrices": lambda x: x.T @ x,
    "wide product": lambda x: x @ x.T[:, :70],
    "product with a vector": lambda x: x @ x[0],
    "sort": lambda x: np.sort(x, axis=None),
    "sort of rows": lambda x: np.sort(x, axis=1),
    "fft": lambda x: np.fft.fft(x),
    "fft of columns": lambda x: np.fft.fft(x, axis=0),
    "cumsum": lambda x: np.cumsum(x, axis=0),
    "lookup": lambda x: x[np.arange(50_000) % 700].sum(axis=0),
    "segments": lambda x: np.histogram(x, bins=20, range=(-3, 3))[0],
    "gradient": wf.grad(lambda x: np.sum(softmax(np.tanh(x @ x.T)[:, :99])[:, 0])),
}


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_same_bits_for_any_number_of_threads(name: str, dtype: str) -> None:
    f = wf.jit(FUNCTIONS[name])
    x = np.random.default_rng(0).standard_normal((700, 501)).astype(dtype)
    made = []
    for count in (1, 2, 4):
        with wf.threads(count):
            made += [np.asarray(f(x)) for _ in range(2)]
    for other in made[1:]:
        assert other.tobytes() == made[0].tobytes()
    wanted = np.asarray(wf.jit(FUNCTIONS[name], backend="reference")(x))
    least = 1e-9 if dtype == "f8" else 2e-3
    np.testing.assert_allclose(made[0], wanted, rtol=least, atol=least)


def test_option_of_jit_limits_threads() -> None:
    x = np.random.default_rng(0).standard_normal(300_000)
    wanted = wf.jit(lambda x: np.exp(x).sum())(x)
    for count in (1, 3):
        f = wf.jit(lambda x: np.exp(x).sum(), threads=count)
        for _ in range(3):
            assert f(x) == wanted


def test_number_of_threads_must_make_sense() -> None:
    with pytest.raises(ValueError, match="0 threads"):
        wf.jit(lambda x: x, threads=0)(np.ones(3))


def test_tiered_function_is_right_at_once_and_native_later() -> None:
    f = wf.jit(lambda x: np.sort(np.sin(x)).cumsum(), tiered=True)
    x = np.linspace(0, 9, 1000)
    wanted = np.sort(np.sin(x)).cumsum()
    np.testing.assert_allclose(f(x), wanted)
    (item,) = f._cache.values()
    program = item.program
    assert isinstance(program, Tiered)
    end = time.monotonic() + PATIENCE
    while not program.is_native and time.monotonic() < end:
        np.testing.assert_allclose(f(x), wanted)
    assert program.is_native
    for _ in range(3):
        np.testing.assert_allclose(f(x), wanted)
    assert f._stubs
