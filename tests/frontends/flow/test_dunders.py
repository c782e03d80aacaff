"""Operators of the user's classes in converted functions run converted methods, as Python asks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft as wf


class Operator:
    def __init__(self, matrix: Any, clip: Any = 1.0) -> None:
        self.matrix, self.clip = matrix, clip

    def __matmul__(self, x: Any) -> Any:
        x = np.asarray(x)
        made = self.matrix @ x
        if made.sum() > self.clip:
            made = made * 0.5
        return made

    def __rmul__(self, factor: Any) -> Any:
        if factor > 2:
            factor = 2.0
        return Operator(factor * self.matrix, self.clip)

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, Operator):
            return NotImplemented
        return Operator(self.matrix + other.matrix, self.clip)

    def __pow__(self, n: int) -> Any:
        made = self
        for _ in range(n - 1):
            made = Operator(made.matrix @ self.matrix)
        return made


class Refined(Operator):
    def __radd__(self, other: Any) -> Any:
        return Operator(other.matrix - self.matrix)


def applied(x: Any) -> Any:
    return Operator(np.eye(2) * x[0]) @ x


def from_the_right(x: Any) -> Any:
    return (3.0 * Operator(np.eye(2) * x[0])).matrix @ x


def added(x: Any) -> Any:
    one, other = Operator(np.eye(2) * x[0]), Operator(np.ones((2, 2)))
    return (one + other + other) @ x


def refined_first(x: Any) -> Any:
    return (Operator(np.eye(2) * x[0]) + Refined(np.ones((2, 2)))) @ x


def to_a_power(x: Any) -> Any:
    return (Operator(np.eye(2) * x[0]) ** 3) @ x


@pytest.mark.parametrize("x", [[0.1, 0.2], [2.0, 3.0]], ids=["small", "large"])
@pytest.mark.parametrize("program", [applied, from_the_right, added, refined_first, to_a_power])
def test_operators_are_pythons(program: Any, x: list[float]) -> None:
    given = np.array(x)
    np.testing.assert_allclose(wf.jit(program)(given), program(given))


def test_what_is_not_implemented_is_pythons_error() -> None:
    def wrong(x: Any) -> Any:
        return (Operator(x) + "text") @ x

    with pytest.raises(TypeError, match="unsupported operand"):
        wf.jit(wrong, control_flow=True)(np.ones(2))


def test_places_of_ops_are_the_users() -> None:
    def program(x: Any) -> Any:
        y = x + 1.0
        return y * x

    text = wf.trace(program)(1.0).text(locations=True)
    assert "x + 1.0" in text and "y * x" in text
