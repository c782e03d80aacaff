"""Programs that are divided into sections compute what undivided ones do, bit by bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft as wf
from weft.compiler.lower.llvm.program import call_table, module, sections


def layers(x: Any, weights: Any, scale: Any) -> Any:
    """Numbers, rows that are consumed as they are made, loops and branches, over many nodes."""
    total = scale
    for number, w in enumerate(weights):
        h = np.tanh(x @ w)
        x = x + h - np.mean(h, axis=-1, keepdims=True) * total
        if number % 10 == 3:
            total = total + np.sum(h) * 1e-3
            x = wf.fori_loop(0, 3, lambda i, x: np.sin(x) + i * 0.1, x)
        if number % 10 == 7:
            x = wf.cond(total > 0, lambda x: x * 2, lambda x: x, x)
    return np.sum(x * x), total


def arguments(count: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    weights = [rng.standard_normal((32, 32)) * 0.1 for _ in range(count)]
    return rng.standard_normal((16, 32)), weights, np.float64(0.5)


def flat(result: Any) -> list[Any]:
    (value, total), gradients = result
    return [value, total, *gradients]


def differentiated() -> Any:
    """A new function each time, so that nothing is found that was compiled before."""

    def function(x: Any, weights: Any, scale: Any) -> Any:
        return layers(x, weights, scale)

    return wf.jit(wf.value_and_grad(function, argnums=1, has_aux=True))


def test_a_long_program_is_divided_and_computes_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    given = arguments(60)
    divided = differentiated()
    ours = flat(divided(*given))
    assert "@section1(" in divided.lower(*given).llvm
    monkeypatch.setattr(call_table, "LEAST_EQUAL", 1 << 30)
    without_table = differentiated()
    same = flat(without_table(*given))
    text = without_table.lower(*given).llvm
    assert "@section3(" in text and "@rows(" not in text
    for one, other in zip(ours, same, strict=True):
        np.testing.assert_array_equal(one, other)
    monkeypatch.setattr(module, "is_long", lambda program: False)
    whole = differentiated()
    theirs = flat(whole(*given))
    assert "@section" not in whole.lower(*given).llvm
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one, other)


def test_short_programs_are_one_function() -> None:
    given = arguments(4)
    assert "@section" not in differentiated().lower(*given).llvm


def test_numbers_pass_between_sections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sections, "SECTION_NODES", 1)
    monkeypatch.setattr(sections, "LEAST_NODES", 2)

    def function(x: Any, z: Any) -> Any:
        total = np.sum(x * x)
        rotated = np.sum(z) * (1 + 2j)
        y = np.sort(x) * total
        return np.cumsum(y) / total, rotated * total, total, z

    x, z = np.linspace(0.0, 1.0, 50), np.linspace(0, 1, 5) + 1j
    ours = wf.jit(function)(x, z)
    for one, other in zip(ours, function(x, z), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)


def test_more_numbers_pass_than_the_stack_has_room_for() -> None:
    """At 16 bytes each these would take more than a function's frame may."""

    def function(x: Any) -> Any:
        values = [x]
        for number in range(2700):
            values.append(np.sin(values[-1]) + number)
        return np.stack(values)

    ours = wf.jit(function)(np.float64(0.5))
    np.testing.assert_allclose(ours, function(np.float64(0.5)), rtol=1e-12, atol=1e-12)
