"""Convolution and correlation of sequences: numbers that are not finite, at the ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft as wf

SHORT = np.array([0.0, np.inf, 1.0])
LONG = np.array([1.0, np.nan, 2.0, -np.inf, 3.0, 1.0, 2.0])
PAIRS = [(SHORT, SHORT), (SHORT, LONG), (LONG, SHORT), (LONG, LONG), (SHORT[1:2], LONG)]
FUNCTIONS = [np.convolve, np.correlate]


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_infinities_meet_what_they_meet_in_numpy(function: Callable[..., Any], mode: str) -> None:
    for dtype in (np.float32, np.float64):
        for pair in PAIRS:
            a, v = (x.astype(dtype) for x in pair)
            with np.errstate(invalid="ignore"):
                expected = function(a, v, mode)
            np.testing.assert_array_equal(wf.jit(lambda a, v: function(a, v, mode))(a, v), expected)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_rows_with_and_without_infinities(function: Callable[..., Any]) -> None:
    kernels = np.stack([SHORT, np.array([1.0, 2.0, 3.0])])
    with np.errstate(invalid="ignore"):
        expected = np.stack([function(LONG, kernel, "full") for kernel in kernels])
    batched = wf.vmap(lambda kernel: function(LONG, kernel, "full"))
    np.testing.assert_array_equal(wf.jit(batched)(kernels), expected)


@pytest.mark.parametrize("sizes", [("n>=3", 3), (7, 3)])
def test_derivatives_with_and_without_infinities(sizes: tuple[Any, Any]) -> None:
    def f(a: Any, v: Any) -> Any:
        return np.sum(np.correlate(a, v, "full")[:2] ** 2)

    specs = [wf.spec(f"f64[{size}]") for size in sizes]
    gradient = wf.jit(wf.grad(f, argnums=(0, 1)), specs=specs)
    a = np.arange(1.0, 8.0)
    # Results 0 and 1 are a[0] v[2], and a[0] v[1] + a[1] v[2]: v[0] has no part in them.
    for first in (1.0, np.inf):
        by_a, by_v = gradient(a, np.array([first, 2.0, 3.0]))
        zero, one = a[0] * 3.0, a[0] * 2.0 + a[1] * 3.0
        expected = np.zeros(7)
        expected[:2] = 2 * (zero * 3.0 + one * 2.0), 2 * one * 3.0
        if np.isfinite(first):  # a result without part in f times infinity is NaN otherwise
            np.testing.assert_allclose(by_a, expected, rtol=1e-14)
        np.testing.assert_allclose(
            by_v, [0.0, 2 * one * a[0], 2 * (zero * a[0] + one * a[1])], rtol=1e-14
        )


def test_a_known_kernel_has_no_branch() -> None:
    smooth = wf.jit(lambda x: np.convolve(x, [1.0, 2.0, 1.0], "same"))
    assert "switch" not in str(smooth.lower(LONG).graph)
