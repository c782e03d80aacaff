"""`max`, `min`, `sorted`, comparisons of tuples and lookups in dicts, with traced values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft as wf
from tests.frontends.flow.comparing import as_python

VECTOR = np.array([3.0, 1.0, 2.0, 5.0])
NAN = np.nan


def extremes(x: Any) -> Any:
    return max(x), min(x), max(x[0], x[1]), max(x[1], x[0], 1.5), min([x[0], x[2]]), max(list(x))


def with_keys(x: Any) -> Any:
    place, value = max(enumerate(x), key=lambda pair: pair[1])
    return place, value, min(x[0], x[1], key=abs), max([], default=3), max([3, 4], key=lambda k: -k)


def in_order(x: Any) -> Any:
    ties = sorted([x[0], -x[0], x[1], -x[1]], key=abs, reverse=True)
    return sorted(x), sorted([x[2], x[0], 2.5], reverse=True), sorted(x, key=lambda v: -v), ties


def of_tuples(x: Any) -> Any:
    start: Any = (3.0, 1.0)
    found = 0
    if (x[0], x[1]) != start:
        found += 1
    if [x[0], x[1]] == [3.0, 1.0]:
        found += 2
    if (x[0], "a") == (3.0, "b"):
        found += 4
    if (x[0],) == start:
        found += 8
    if (x[0], x[1]) < (3.0, 2.0):
        found += 16
    if ((x[0], 1), [x[1]]) >= ((3.0, 1), [1.0]):
        found += 32
    return found


def until_tuples_agree(x: Any) -> Any:
    a, b, steps = np.floor(x[0]), np.floor(x[0]) + 6.0, 0
    while (a, b) != (b, a):
        a, b, steps = a + 1.0, b - 1.0, steps + 1
    return steps


@pytest.mark.parametrize("f", [extremes, with_keys, in_order, of_tuples, until_tuples_agree])
@pytest.mark.parametrize(
    "x", [VECTOR, np.array([3.0, 2.0, 2.0, -3.0]), np.array([-0.5, -1.5, 4.0, 4.0])]
)
def test_as_python(f: Callable[..., Any], x: Any) -> None:
    as_python(f, x)


@pytest.mark.parametrize("x", [[NAN, 1.0, 2.0], [1.0, NAN, 2.0], [2.0, 1.0, NAN]])
def test_a_nan_counts_only_if_it_comes_first(x: Any) -> None:
    as_python(lambda x: (max(x), min(x), max(x[0], x[1]), max(x[1], x[0])), np.array(x))


def test_arrays_have_no_order() -> None:
    def largest(x: Any) -> Any:
        return max(x, x + 1.0)

    for function in (largest, wf.jit(largest, control_flow=True)):
        with pytest.raises(ValueError, match="ambiguous"):
            function(VECTOR)


def test_derivative_of_an_extreme() -> None:
    gradient = wf.grad(lambda x: max(x) * min(x[0], x[1]), control_flow=True)(VECTOR)
    np.testing.assert_allclose(gradient, [0.0, 5.0, 0.0, 1.0])


# --- dicts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("i", [0, 5, 2])
def test_a_dict_is_asked_for_a_traced_key(i: int) -> None:
    def looked_up(x: Any, i: Any) -> Any:
        table = {0: x[0], 5: x[1], 2: 3.0}
        return table[i], table.get(i, -1.0), table.get(i + 100, 7.0), i in table, i + 1 in table

    as_python(looked_up, VECTOR, i)


def test_a_key_that_is_missing() -> None:
    lookup = wf.jit(lambda i: {0: 1.0, 5: 2.0}[i], control_flow=True)
    assert lookup(5) == 2.0
    with pytest.raises(LookupError):
        lookup(4)


def test_keys_that_are_no_numbers() -> None:
    with pytest.raises(wf.TraceError, match="a traced key is one number"):
        wf.jit(lambda i: {"a": 1.0}[i], control_flow=True)(1)
