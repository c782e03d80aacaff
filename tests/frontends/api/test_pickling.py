"""Compiled functions are pickled and copied as functions are: by name, or by what made them."""

from __future__ import annotations

import copy
import functools
import pickle
from typing import Any

import numpy as np
import pytest

import weft as wf


@wf.jit
def doubled(x: Any) -> Any:
    return 2.0 * x


def power(x: Any, n: int = 2) -> Any:
    return x**n


def halved(x: Any) -> Any:
    while np.sum(x) > 1.0:
        x = x / 2.0
    return x


class Scaled:
    def __init__(self, scale: float) -> None:
        self.scale = scale

    def __call__(self, x: Any) -> Any:
        return x * self.scale

    def method(self, x: Any) -> Any:
        return x + self.scale


X = np.arange(3.0)


def copies(function: Any) -> list[Any]:
    copied = [copy.copy(function), copy.deepcopy(function)]
    return [*copied, *[pickle.loads(pickle.dumps(function, protocol)) for protocol in range(2, 6)]]


def test_decorated_functions_go_by_their_names() -> None:
    doubled(X)
    assert all(each is doubled for each in copies(doubled))


@pytest.mark.parametrize("is_called", [False, True])
def test_others_by_function_and_options(is_called: bool) -> None:
    f = wf.jit(power, static_argnames="n", donate=0, threads=1)
    if is_called:
        f(X.copy(), n=3)
    for each in copies(f):
        assert each is not f and each.function is power
        np.testing.assert_array_equal(each(X.copy(), n=3), X**3)
        assert each.explain_cache().count("\n") == 0


@pytest.mark.parametrize(
    "function",
    [functools.partial(power, n=3), Scaled(3.0), Scaled(3.0).method, np.sin],
    ids=["partial", "object", "method", "ufunc"],
)
def test_callables_of_all_kinds(function: Any) -> None:
    for each in copies(wf.jit(function)):
        np.testing.assert_allclose(each(X), function(X), rtol=1e-15)


def test_control_flow_is_converted_again() -> None:
    for each in copies(wf.jit(halved, control_flow=True)):
        np.testing.assert_array_equal(each(np.ones(4)), np.full(4, 0.25))


def test_in_containers_and_with_specs() -> None:
    f = wf.jit(power, specs=(wf.spec("f64[n]"),))
    again = copy.deepcopy({"f": [f, f]})["f"]
    assert again[0] is again[1]
    np.testing.assert_array_equal(again[0](X), X**2)
    np.testing.assert_array_equal(again[0](np.ones(7)), np.ones(7))


def test_functions_without_a_name_cannot_be_pickled() -> None:
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(wf.jit(lambda x: x))
