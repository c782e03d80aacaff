"""`try` around what only the program can raise: its handler runs where Python's would, or the
statement is refused; it is never passed over in silence.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft as wf

Function = Callable[..., Any]


def divides(a: Any, b: Any) -> Any:
    try:
        r = a / b
    except ZeroDivisionError:
        r = -1.0
    return r


def returns(a: Any, b: Any) -> Any:
    try:
        return a / b
    except (ZeroDivisionError, OverflowError):
        return 0.0


def in_a_loop(a: Any, b: Any) -> Any:
    total, failed = 0.0, 0
    for i in range(40):
        try:
            total += a / (b - i)
        except ZeroDivisionError:
            failed += 1
    return total, failed


def around_a_loop(a: Any, b: Any) -> Any:
    try:
        total = 0.0
        for i in range(3):
            total += a / (b - i)
    except ZeroDivisionError:
        total = -1.0
    return total


def assigned_in_both(a: Any, b: Any) -> Any:
    x = 1.0
    try:
        x = a * 2
        y = x / b
    except ZeroDivisionError:
        y = 5.0
        x = 7.0
    return x, y


def own_exceptions(a: Any, b: Any) -> Any:
    try:
        if a < b:
            raise ValueError("a is too small")
        y = np.sqrt(a - b)
    except ValueError:
        y = 0.0
    return y


def validated(a: Any, b: Any) -> Any:
    if a < b:
        raise ValueError(a, b)
    return a - b


def in_functions(a: Any, b: Any) -> Any:
    try:
        y = validated(a, b)
    except ValueError:
        return -1.0
    if y > 5:
        raise KeyError(y)
    return y


def known(a: Any, b: Any) -> Any:
    try:
        k = int("no number")
    except ValueError:
        k = 3
    return a * k + b


def nested(a: Any, b: Any) -> Any:
    try:
        try:
            r = a / b
        except ValueError:
            r = 3.0
    except ZeroDivisionError:
        r = -1.0
    return r


def inner_handles(a: Any, b: Any) -> Any:
    try:
        try:
            r = a / b
        except ZeroDivisionError:
            r = 3.0
        r = r + 1
    except ValueError:
        r = -1.0
    return r


def passes_on(a: Any, b: Any) -> Any:
    try:
        r = a / b
    except ValueError:
        r = -1.0
    return r


NUMBERS = [
    divides,
    returns,
    in_a_loop,
    around_a_loop,
    assigned_in_both,
    own_exceptions,
    in_functions,
    known,
    nested,
    inner_handles,
    passes_on,
]


def outcome(function: Function, *args: Any) -> Any:
    try:
        result = function(*args)
    except wf.WeftError:
        raise
    except Exception as error:
        return type(error), [float(part) for part in error.args if not isinstance(part, str)]
    return [np.round(np.asarray(part, float), 9).tolist() for part in np.atleast_1d(result)]


@pytest.mark.parametrize("backend", ["reference", "cpu"])
@pytest.mark.parametrize("function", NUMBERS, ids=lambda f: f.__name__)
def test_as_python(function: Function, backend: str) -> None:
    compiled = wf.jit(function, backend=backend)
    for given in ((1.0, 2.0), (1.0, 0.0), (3.0, 1.0), (9.0, 1.0)):
        assert outcome(compiled, *given) == outcome(function, *given)


# --- arrays ---------------------------------------------------------------------------------------


def solves(a: Any) -> Any:
    try:
        x = np.linalg.solve(a, np.ones(2))
    except np.linalg.LinAlgError:
        x = np.zeros(2)
    return x


def factors(a: Any) -> Any:
    try:
        lower = np.linalg.cholesky(a)
    except np.linalg.LinAlgError:
        lower = np.linalg.cholesky(a + 10 * np.eye(2))
    return lower


def adds_until_it_works(a: Any) -> Any:
    jitter = 0.0
    for _ in range(4):
        try:
            lower = np.linalg.cholesky(a + jitter * np.eye(2))
            break
        except np.linalg.LinAlgError:
            jitter = max(10 * jitter, 0.125)
    return lower @ lower.T, jitter


def writes(a: Any) -> Any:
    k = int(a[0, 1])
    for i in range(2):
        try:
            a[i, 0] = 1 / (k - 1 - i)
        except ZeroDivisionError:
            a[i, 0] = 9.0
    return a.sum()


MATRICES = [[[2.0, 1], [1, 3]], [[1.0, 2], [2, 4]], [[1.0, 2], [2, 1]]]


@pytest.mark.parametrize("function", [solves, factors, adds_until_it_works, writes])
def test_arrays_as_python(function: Function) -> None:
    compiled = wf.jit(function)
    for rows in MATRICES:
        mine, theirs = np.array(rows), np.array(rows)
        made, expected = compiled(mine), function(theirs)
        if not isinstance(expected, tuple):
            made, expected = (made,), (expected,)
        for one, other in zip(made, expected, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-7)
        np.testing.assert_array_equal(mine, theirs)


def test_gradients_and_lanes() -> None:
    gradient = wf.grad(lambda a: own_exceptions(a, 0.0))
    assert (gradient(4.0), gradient(-4.0)) == (0.25, 0.0)
    lanes = wf.vmap(lambda a: own_exceptions(a, 0.0))(np.array([4.0, -4.0, 9.0]))
    np.testing.assert_allclose(lanes, [2.0, 0.0, 3.0])


# --- refused --------------------------------------------------------------------------------------


def seen_by_the_handler(a: Any) -> Any:
    x = 1.0
    try:
        x = a * 2
        y = x / a
    except ZeroDivisionError:
        y = 5.0
    return x, y


def one_or_another(a: Any) -> Any:
    try:
        r = 1.0 / a
        if r > 5:
            raise ValueError
    except ZeroDivisionError:
        r = -1.0
    except ValueError:
        r = 99.0
    return r


def asks_for_the_exception(a: Any) -> Any:
    try:
        r = 1.0 / a
    except ZeroDivisionError as error:
        r = float(len(str(error)))
    return r


def grows(a: Any) -> Any:
    out: list[Any] = []
    try:
        out.append(1.0)
        out.append(1.0 / a)
    except ZeroDivisionError:
        pass
    return len(out)


def in_a_finally(a: Any) -> Any:
    r = 0.0
    try:
        r = 1.0 / a
    except ZeroDivisionError:
        r = 2.0
    finally:
        r = r + 1
    return r


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (seen_by_the_handler, "x is changed before"),
        (one_or_another, "which `except` of this statement"),
        (asks_for_the_exception, "an `except` around it would catch"),
        (grows, "is changed before"),
        (in_a_finally, "an `except` around it would catch"),
    ],
)
def test_refused_and_not_passed_over(function: Function, says: str) -> None:
    """Not even by tracing the function as it is, which sees no handler."""
    with pytest.raises(wf.TraceError, match=says):
        wf.jit(function)(2.0)


def test_linear_algebra_that_is_refused() -> None:
    def f(a: Any) -> Any:
        try:
            return np.linalg.solve(a, np.ones(2))
        except np.linalg.LinAlgError:
            return np.ones(2) * 1j

    with pytest.raises(wf.TraceError, match="raises no LinAlgError"):
        wf.jit(f)(np.eye(2) * 1j)


def test_linear_algebra_of_nan() -> None:
    compiled = wf.jit(solves)
    with pytest.raises(wf.EvaluationError, match="NaN or infinity in a `try`"):
        compiled(np.array([[np.nan, 1], [1, 1]]))
    np.testing.assert_array_equal(compiled(np.eye(2)), np.ones(2))


def test_what_the_body_does_is_done_once() -> None:
    log: list[Any] = []

    def f(x: Any, items: Any) -> Any:
        try:
            y = x / (x - 3)
            items.append(y)
        except ZeroDivisionError:
            y = 0.0
        return y

    items: list[Any] = []
    theirs = copy.copy(items)
    with pytest.raises(wf.TraceError, match="is changed by one branch"):
        wf.jit(f)(2.0, items)
    f(2.0, theirs)
    assert (items, log, len(theirs)) == ([], [], 1)
