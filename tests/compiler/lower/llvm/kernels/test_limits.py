"""Loops that end where a mask does: the same values as the reference, for all bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft as wf

ROWS, COLUMNS = 23, 70
RANDOM = np.random.default_rng(8)
X, A = RANDOM.normal(size=COLUMNS), RANDOM.normal(size=(ROWS, COLUMNS))
FAR = 2**62

Function = Callable[..., Any]


def _between(size: int, low: Any, high: Any) -> Any:
    places = wf.numpy.arange(size)
    return (places >= low) & (places < high)


def sums(x: Any, a: Any, low: Any, high: Any) -> Any:
    chosen = _between(COLUMNS, low, high)
    total = np.where(chosen, x, 0.0).sum(), np.where(chosen, x, 0.0) @ np.where(chosen, x, 0.0)
    return total, np.where(chosen, a * x, 0.0).sum(axis=1), np.where(chosen, -a, 0.0).sum()


def extremes(x: Any, a: Any, low: Any, high: Any) -> Any:
    chosen = _between(COLUMNS, low, high)
    whole = np.where(chosen, x, -np.inf).max(), np.where(chosen, x, np.inf).min()
    return whole, np.where(chosen, a, -np.inf).max(axis=1), np.prod(np.where(chosen, x, 1.0))


def flags(x: Any, a: Any, low: Any, high: Any) -> Any:
    chosen = _between(COLUMNS, low, high)
    return (chosen & (x > 1.5)).any(), np.where(chosen, x > -9, True).all(), chosen.sum()


def other_neutral(x: Any, a: Any, low: Any, high: Any) -> Any:
    """What is not chosen counts here."""
    chosen = _between(COLUMNS, low, high)
    return np.where(chosen, x, 1.0).sum(), np.where(chosen, x, 0.0).max(), (chosen * x).sum()


def only_columns(x: Any, a: Any, low: Any, high: Any) -> Any:
    """Sums over rows, of which each is whole or not at all."""
    rows = _between(ROWS, low, high)[:, None]
    return np.where(rows, a, 0.0).sum(axis=0), np.where(rows, a, 0.0).sum(axis=1)


def updates(x: Any, a: Any, low: Any, high: Any) -> Any:
    def step(k: Any, carry: Any) -> Any:
        x, a = carry
        columns, rows = _between(COLUMNS, low + k, high), _between(ROWS, k, high - k)
        x = np.where(columns, 2 * x + 1, x)
        a = np.where(rows[:, None] & columns, a - x, a)
        a = np.where(rows[:, None], a, a + 1)
        return np.where(~columns, x, 0.5 * x), a

    return wf.fori_loop(0, 5, step, (x, a))


def scattered(x: Any, a: Any, low: Any, high: Any) -> Any:
    def step(k: Any, carry: Any) -> Any:
        return carry.at[k].add(np.where(_between(COLUMNS, low, high + k), x, 0.0))

    return wf.fori_loop(0, ROWS, step, a)


FUNCTIONS = [sums, extremes, flags, other_neutral, only_columns, updates, scattered]
_COMPILED = {function: wf.jit(function) for function in FUNCTIONS}
_GRAPHS = {function: wf.trace(function)(X, A, 3, 9) for function in FUNCTIONS}


def check(function: Function, low: int, high: int) -> None:
    import optree

    x, a = X.copy(), A.copy()
    made = optree.tree_leaves(_COMPILED[function](x, a, low, high))
    wanted = wf.evaluate(_GRAPHS[function], [x, a, np.array(low), np.array(high)])
    for one, other in zip(made, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_as_the_reference(function: Function) -> None:
    bounds = [(0, 70), (0, 0), (5, 66), (66, 5), (-3, 7), (69, 70), (64, 90), (-FAR, FAR), (FAR, 3)]
    for low, high in bounds:
        check(function, low, high)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(FUNCTIONS), st.integers(-5, 80), st.integers(-5, 80))
def test_any_bounds(function: Function, low: int, high: int) -> None:
    check(function, low, high)


def test_what_lies_beyond_is_not_read() -> None:
    """Not even NaN there reaches a sum: the mask chooses, whether the loop ends early or not."""
    x, a = X.copy(), A.copy()
    x[40:], a[:, 40:] = np.nan, np.inf
    made = _COMPILED[sums](x, a, 3, 40)
    assert all(np.isfinite(part).all() for part in (*made[0], *made[1:]))
