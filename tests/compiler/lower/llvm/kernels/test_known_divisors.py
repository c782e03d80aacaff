"""Division in loops by numbers that are known: no division in the code, and the same bits."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import weft as wf

SHORT = [3.0, 9.0, -72.0, 12.0, 10.0, 0.75, 1e3, 7e-3 * 2**60, 5.0 * 2**-30, float(2**19 - 1)]
LONG = {"f8": float(2**48 - 59), "f4": float(2**20 - 3)}
DIGITS = {"f8": 53, "f4": 24}


def divided(divisors: list[float]) -> Any:
    """Quotients of what the step before was given, so that steps wait for each other."""

    def step(carry: Any, x: Any) -> Any:
        return x, tuple([carry / x.dtype.type(d) for d in divisors])

    return lambda start, xs: wf.scan(step, start, xs)[1]


def near_middles(divisor: float, dtype: str, random: np.random.Generator) -> list[float]:
    """Numbers whose quotients lie as close to the middle of two floats as they can."""
    found = []
    for whole in random.integers(1 << (DIGITS[dtype] - 1), 1 << DIGITS[dtype], 300):
        middle = Fraction(2 * int(whole) + 1, 1 << DIGITS[dtype])
        found.append(float(middle * Fraction(divisor)))
    return found


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_quotients_have_the_same_bits(dtype: str) -> None:
    random = np.random.default_rng(0)
    divisors = [float(np.dtype(dtype).type(d)) for d in [*SHORT, LONG[dtype]]]
    numbers = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 30.0, 1e30, -1e-20]
    for divisor in divisors:
        numbers += near_middles(divisor, dtype, random)
    xs = np.concatenate([numbers, random.standard_normal(3000)]).astype(dtype)
    f = wf.jit(divided(divisors))
    made = f(xs[0], np.roll(xs, -1))
    for divisor, quotients in zip(divisors, made, strict=True):
        with np.errstate(all="ignore"):
            wanted = xs / np.dtype(dtype).type(divisor)
        is_nan = np.isnan(wanted)
        np.testing.assert_array_equal(np.isnan(quotients), is_nan)
        assert np.asarray(quotients)[~is_nan].tobytes() == wanted[~is_nan].tobytes(), divisor


def test_what_is_short_is_multiplied_and_what_is_long_divided() -> None:
    xs = np.ones(5)
    text = wf.jit(divided([9.0])).lower(np.zeros(()), xs).llvm
    assert not re.search(r"fdiv (contract )?double", text)
    text = wf.jit(divided([0.1])).lower(np.zeros(()), xs).llvm
    assert re.search(r"fdiv (contract )?double", text)
