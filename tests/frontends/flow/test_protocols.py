"""Functions that know nothing of traced arrays: of Python's numbers, of `math`, `np.require`."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft as wf
from tests.frontends.flow.comparing import as_python

VECTOR = np.array([0.75, 0.5, 2.0, 3.0])


def complex_numbers(x: Any) -> Any:
    both = complex(x[0], x[1])
    return both, complex(x[0]), complex(0, x[0]), complex(both, both), complex(real=x[1], imag=2)


def infinite_complex(x: Any) -> Any:
    return complex(x[0] / 0.0, x[1])


def mapped(x: Any) -> Any:
    a, b = map(np.asarray, (x, [x[0], 1.0]))
    c, d = map(np.atleast_1d, (x[0], x))
    return a, b, c, d, list(map(float, x)), list(map(lambda v: v * 2, x))


def required(x: Any) -> Any:
    return np.require(x, np.float32, ["C", "W"]), np.require(x), np.fromiter((v for v in x), float)


def indices(x: Any) -> Any:
    k = x.astype(int)
    return np.arange(10)[operator.index(k[3])], x[int(x[2])], [1.0, 2.0, 4.0][int(x[2])]


def tuples_as_operands(x: Any) -> Any:
    y = x[:2].copy()
    y += (1, 2.0)
    return y, x[:2] + (1, 2), (1.0, 2) * x[:2], x[:2] == (0.75, 1)


def python_values(x: Any) -> Any:
    return x[0].item(), x.item(2), x.astype(np.float32).tolist(), x.reshape(2, 2).tolist()


def mathematics(x: Any) -> Any:
    a, b = x[0], x[1]
    return [
        *(math.log(a), math.log(a, 3), math.hypot(a, b), math.hypot(a, b, 2), math.prod([a, b, 2])),
        *(math.dist([a, b], [1.0, 2.0]), math.erf(a), math.erfc(b), math.gamma(a), math.lgamma(b)),
        *(math.floor(a), math.copysign(a, -b), math.degrees(a), math.atan2(a, b), math.fmod(3, a)),
        *(math.isclose(a, 0.75), math.isclose(a, b, abs_tol=0.3), math.isclose(a, math.inf)),
    ]


@pytest.mark.parametrize(
    "f",
    [
        complex_numbers,
        mapped,
        required,
        indices,
        tuples_as_operands,
        python_values,
        mathematics,
    ],
)
def test_as_python(f: Callable[..., Any]) -> None:
    as_python(f, VECTOR, tolerance=1e-14)


def test_an_infinite_part_leaves_the_other() -> None:
    made = wf.jit(infinite_complex, control_flow=True)(VECTOR)
    assert (made.real, made.imag) == (np.inf, 0.5)


def test_a_float_is_no_index() -> None:
    with pytest.raises(TypeError, match="as an integer"):
        wf.jit(lambda x: [1, 2][operator.index(x[0])], control_flow=True)(VECTOR)


CHECKS: Any = (np.testing.assert_allclose, np.testing.assert_array_equal)


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("is_conditional", [False, True])
def test_checks_of_values_are_the_programs(check: Any, is_conditional: bool) -> None:
    def checked(x: Any, y: Any) -> Any:
        check(np.arange(3), [0, 1, 2])
        if not is_conditional or x[0] > 0:
            check(x, y)
        return x * 2.0

    compiled = wf.jit(checked, control_flow=True)
    x = np.array([1.0, np.nan, 2.0])
    for y in (x, x + 1e-12, x + 1.0, np.nan_to_num(x), -x):
        try:
            expected = checked(x, y)
        except AssertionError:
            with pytest.raises(AssertionError, match="(?i)not equal"):
                compiled(x, y)
        else:
            np.testing.assert_array_equal(compiled(x, y), expected)
    np.testing.assert_array_equal(compiled(-x, -x), -2.0 * x)


@pytest.mark.parametrize("check", CHECKS)
def test_shapes_are_compared_at_once(check: Any) -> None:
    for function in (check, wf.jit(lambda x, y: (check(x, y), x)[1], control_flow=True)):
        with pytest.raises(AssertionError, match="mismatch"):
            function(np.ones(3), np.ones(2))


def test_other_checks_of_values_are_refused() -> None:
    def checked(x: Any) -> Any:
        np.testing.assert_array_less(x, x + 1)
        return x

    with pytest.raises(wf.TraceError, match="assert_array_less looks at values"):
        wf.jit(checked, control_flow=True)(VECTOR)


def test_items_are_refused_without_conversion() -> None:
    with pytest.raises(wf.TraceError):
        wf.jit(lambda x: x[0].item(), control_flow=False)(VECTOR)
