"""Kernels that go on with a product's rows while the product runs: the same numbers as without."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft as wf

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(3)


def arrays(m: int, k: int, n: int, dtype: str = "f4") -> tuple[Array, Array, Array]:
    x, w = RNG.standard_normal((m, k)), RNG.standard_normal((k, n)) / np.sqrt(k)
    return x.astype(dtype), w.astype(dtype), RNG.standard_normal(n).astype(dtype)


def gelu(x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(0.797885 * (x + 0.044715 * x**3)))


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def norm(x: Any) -> Any:
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + 1e-5)


FUNCTIONS = {
    "bias and activation": lambda x, w, b: gelu(x @ w + b),
    "scale": lambda x, w, b: (x @ w) * 0.125,
    "cast": lambda x, w, b: (x @ w).astype(np.float64),
    "mask": lambda x, w, b: np.where(b > 0, x @ w, 0),
    "residual": lambda x, w, b: x[:, :1] + np.tanh(x @ w),
    "row sums": lambda x, w, b: (x @ w + b).sum(axis=-1),
    "row maxima": lambda x, w, b: (x @ w).max(axis=-1),
    "softmax": lambda x, w, b: softmax(x @ w + b),
    "layer norm": lambda x, w, b: norm(x @ w) * b,
    "two results": lambda x, w, b: (np.tanh(x @ w), x @ w),
    "also read elsewhere": lambda x, w, b: (np.tanh(x @ w), (x @ w).sum(axis=0)),
    "heads": lambda x, w, b: np.exp((x @ w).reshape(len(x), 8, -1)).sum(axis=-1),
    "transposed": lambda x, w, b: np.tanh((x @ w).T),
    "down columns": lambda x, w, b: np.tanh(x @ w).sum(axis=0),
    "outer rows": lambda x, w, b: np.tanh(x.reshape(2, -1, x.shape[1]) @ w + b),
    "two layers": lambda x, w, b: np.tanh(np.tanh(x @ w + b) @ w.T),
}


def follower_of(f: Any) -> dict[Any, Any]:
    (version,) = f._cache.values()
    found: dict[Any, Any] = version.program.code.plan.order.consumers
    return found


@pytest.mark.parametrize("shape", [(2, 130, 64), (50, 40, 72), (130, 64, 200), (600, 300, 96)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_rows_are_followed(name: str, shape: tuple[int, int, int]) -> None:
    values = arrays(*shape)
    f = wf.jit(FUNCTIONS[name])
    wanted = wf.jit(FUNCTIONS[name], backend="reference")(*values)
    made = []
    for count in (1, 2, 4):
        with wf.threads(count):
            made.append(f(*values))
    for result in made[1:]:
        for one, other in zip(_flat(result), _flat(made[0]), strict=True):
            assert one.tobytes() == other.tobytes()
    for got, want in zip(_flat(made[0]), _flat(wanted), strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-3, atol=2e-4)
    if name != "transposed":  # whose product may be computed as another one
        assert bool(follower_of(f)) == (name != "down columns")


def test_batches_and_sizes_that_the_run_tells() -> None:
    specs = [wf.spec("f32[b>=0, m, k]"), wf.spec("f32[b>=0, k, n]")]
    f = wf.jit(lambda x, y: softmax(x @ y), specs=specs)
    for b, m, k, n in ((1, 70, 40, 50), (9, 33, 20, 40), (3, 1, 50, 60), (2, 200, 100, 300)):
        x = RNG.standard_normal((b, m, k)).astype("f4")
        y = RNG.standard_normal((b, k, n)).astype("f4") / 10
        np.testing.assert_allclose(f(x, y), softmax(x @ y), rtol=1e-3, atol=1e-5)
    assert f(np.ones((0, 3, 9), "f4"), np.ones((0, 9, 9), "f4")).shape == (0, 3, 9)


def test_a_result_takes_the_place_of_the_product() -> None:
    values = arrays(400, 100, 100)
    f = wf.jit(FUNCTIONS["bias and activation"])
    assert f.memory(*values).peak == 0


def test_an_operand_is_not_written_over_while_rows_are_at_work() -> None:
    def step(x: Any, w: Any) -> Any:
        return np.tanh(x @ w) + x, np.tanh(w @ x)

    x, w = RNG.standard_normal((300, 300)).astype("f4"), np.eye(300, k=7, dtype="f4")
    wanted = step(x.copy(), w.copy())
    f = wf.jit(step, donate=0)
    for _ in range(5):
        for got, want in zip(f(x.copy(), w), wanted, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)

    def loop(x: Any, w: Any) -> Any:
        return wf.fori_loop(0, 20, lambda i, c: np.tanh(c @ w) + 0.5 * c, x)

    wanted_end = x
    for _ in range(20):
        wanted_end = np.tanh(wanted_end @ w) + np.float32(0.5) * wanted_end
    np.testing.assert_allclose(wf.jit(loop)(x, w), wanted_end, rtol=1e-3, atol=1e-3)


def test_explain_shows_who_follows() -> None:
    f = wf.jit(FUNCTIONS["bias and activation"])
    f(*arrays(100, 64, 64))
    assert "row by row with it: kernel over 100 x 64" in f.explain()


def _flat(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)
