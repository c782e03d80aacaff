"""`raise` and `assert` under traced conditions, against Python running the same function: the same
exception, of the same line, whatever runs the program.
"""

from __future__ import annotations

import contextlib
import re
import traceback
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft as wf
from tests.frontends.flow.raising_programs import (
    PROGRAMS,
    Function,
    checked,
    ordered,
    require_positive,
)

CASES = [(name, number) for name, (_, inputs) in PROGRAMS.items() for number in range(len(inputs))]


def outcome(function: Function, *args: Any) -> Any:
    """What a call returns or raises, and at which line."""
    try:
        return np.asarray(function(*args)).tolist()
    except wf.WeftError:
        raise
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        shown = [repr(part) for part in (error.args, vars(error), error.__suppress_context__)]
        place = frame.filename, frame.lineno, frame.name, frame.line
        return type(error), str(error), shown, place


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize(("name", "number"), CASES)
def test_raises_as_python(name: str, number: int, backend: str) -> None:
    function, inputs = PROGRAMS[name]
    given = [np.asarray(x, float) if not isinstance(x, float) else x for x in inputs]
    expected = outcome(function, given[number])
    compiled = wf.jit(function, control_flow=True, backend=backend)
    for _ in range(2):  # through Python, and through the stub
        assert outcome(compiled, given[number]) == expected
    works = [x for x in given if isinstance(outcome(function, x), list | float)]
    for other in works:
        assert outcome(compiled, other) == outcome(function, other)


@pytest.mark.parametrize(("name", "number"), CASES)
def test_any_lane(name: str, number: int) -> None:
    function, inputs = PROGRAMS[name]
    given = [np.asarray(x, float) for x in inputs]
    lane = given[number]
    good = [x for x in given if x.shape == lane.shape and is_fine(function, x)][:1]
    lanes = np.stack([*good, lane, lane])
    expected = outcome(lambda: [function(one) for one in lanes])
    for backend in ("cpu", "reference"):
        made = wf.jit(wf.vmap(function, control_flow=True), backend=backend)
        found = outcome(made, lanes)
        if isinstance(expected, list):
            np.testing.assert_allclose(found, expected, rtol=1e-12)
        else:
            assert found[0] is expected[0] and found[3] == expected[3]


def is_fine(function: Function, x: Any) -> bool:
    return isinstance(outcome(function, x), list | float)


@pytest.mark.parametrize(("name", "number"), CASES)
def test_gradients_raise_as_the_function(name: str, number: int) -> None:
    function, inputs = PROGRAMS[name]
    given = np.asarray(inputs[number], float)
    expected = outcome(function, given)

    def total(x: Any) -> Any:
        return np.sum(function(x))

    for of in (wf.grad, wf.value_and_grad, lambda f, **k: wf.grad(wf.checkpoint(f), **k)):
        made = wf.jit(of(total, control_flow=True))
        if isinstance(expected, list | float):
            made(given)
        else:
            assert outcome(made, given)[0] is expected[0]


def test_arguments_and_results_stay_as_they_are() -> None:
    x = np.arange(4.0) + 4
    step = wf.jit(checked, control_flow=True)
    for _ in range(2):
        with pytest.raises(ValueError):
            step(x)
    np.testing.assert_array_equal(x, np.arange(4.0) + 4)
    np.testing.assert_array_equal(step(np.arange(4.0)), 2 * np.arange(4.0))


def test_inside_of_other_functions() -> None:
    inner = wf.jit(checked, control_flow=True)
    outer = wf.jit(lambda x: inner(x).sum() + wf.grad(lambda y: inner(y).sum())(x).sum())
    assert outer(np.arange(4.0)) == 20
    assert outcome(outer, np.arange(4.0) + 4) == outcome(checked, np.arange(4.0) + 4)


def test_in_a_scan_of_arrays() -> None:
    def body(total: Any, x: Any) -> Any:
        require_positive(x, "x")
        return total + x, total

    @wf.control_flow
    def summed(xs: Any) -> Any:
        return wf.scan(body, 0.0, xs)[0]

    for function in (wf.jit(summed), wf.jit(wf.vmap(lambda x: summed(x)))):
        xs = np.ones(30) if function.__name__ == "summed" else np.ones((2, 30))
        np.testing.assert_allclose(function(xs), 30.0)
        xs[..., 7] = -1.0
        xs[..., 9] = -2.0
        with pytest.raises(ValueError, match="x = -1 is not positive"):
            function(xs)


def test_exceptions_whose_class_has_no_name() -> None:
    class Local(Exception):
        pass

    def f(x: Any) -> Any:
        if x > 0:
            raise Local(x, object) from ValueError("cause")
        return x

    compiled = wf.jit(f, control_flow=True)
    assert compiled(-1.0) == -1
    with pytest.raises(Local) as caught:
        compiled(1.0)
    assert caught.value.args == (1.0, object)
    assert isinstance(caught.value.__cause__, ValueError)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(-2, 5), st.sampled_from("rlw")), max_size=4),
    st.lists(st.integers(-3, 6), min_size=4, max_size=4),
)
def test_the_first_that_fails_in_the_order_of_the_program(checks: Any, values: Any) -> None:
    f = ordered(checks)
    given = np.array(values, float)
    expected = outcome(f, given)
    assert outcome(wf.jit(f, control_flow=True, backend="reference"), given) == expected


# --- refused ------------------------------------------------------------------------------------


def refused(function: Function, *args: Any) -> str:
    with pytest.raises(wf.TraceError) as caught:
        wf.jit(function, control_flow=True)(*args)
    return str(caught.value)


def test_other_handlers_are_no_matter() -> None:
    def f(x: Any) -> Any:
        try:
            if x < 0:
                raise ValueError("negative")
        except KeyError:
            return 0.0
        finally:
            pass
        return x

    compiled = wf.jit(f, control_flow=True)
    assert compiled(1.0) == 1
    with pytest.raises(ValueError, match="negative"):
        compiled(-1.0)


def test_floating_point_errors() -> None:
    def f(x: Any) -> Any:
        with np.errstate(divide="raise"):
            return 1 / x

    assert "NumPy is asked to raise" in refused(f, np.ones(2))


def test_a_function_that_always_raises() -> None:
    def f(x: Any) -> Any:
        if x < 0:
            raise ValueError("negative")
        raise KeyError("not negative")

    assert "raises whatever its arguments are" in refused(f, 1.0)


def test_a_loop_whose_first_step_raises() -> None:
    def f(x: Any) -> Any:
        while x < 10:
            raise ValueError(x)
        return x

    assert "the first step of this loop raises" in refused(f, 1.0)


def test_messages_that_were_formatted_before() -> None:
    def f(x: Any) -> Any:
        message = f"bad {x}"
        if x < 0:
            raise ValueError(message)
        return x

    compiled = wf.jit(f, control_flow=True)
    assert compiled(1.0) == 1.0
    with pytest.raises(ValueError, match=r"^bad -2\.0"):
        compiled(-2.0)


def test_what_cannot_be_traced_is_no_exception_of_the_program() -> None:
    """An `except` around it does not take our word for an exception of the user's."""

    def first(x: Any, n: int) -> Any:
        y = x
        try:
            y = x * len([0.0] * n)
        except Exception:
            y = -1.0
        return y

    def second(x: Any, n: int) -> Any:
        y = np.zeros(2)
        try:
            if x > 0:
                y[0] = x  # which is first noticed when the branch is traced
        except:  # noqa: E722
            y[1] = 7.0
        return y

    held = np.zeros(2, dtype=int)

    def third(x: Any) -> Any:
        y = x
        if x > 0:
            try:
                held[0] = 1
            except Exception:
                y = -1.0
        return y

    with pytest.raises(wf.TraceError, match="NumPy array from before is written to"):
        wf.trace(third, control_flow=True)(1.0)
    with pytest.raises(wf.TraceError, match="needs the value of"):
        wf.trace(first, control_flow=True)(1.0, 3)
    assert np.array_equal(wf.jit(second, control_flow=True)(1.0, 3), [1.0, 0.0])

    def shapes(x: Any) -> Any:
        try:
            return x + np.ones(3)
        except ValueError:
            return x * 2

    assert np.array_equal(wf.jit(shapes, control_flow=True)(np.ones(2)), [2.0, 2.0])


def test_suppress_is_an_except_that_does_nothing() -> None:
    def refused(x: Any, n: int) -> Any:
        y = x
        with contextlib.suppress(Exception):
            y = x * len([0.0] * n)
        return y

    def raised(x: Any) -> Any:
        y = x
        with contextlib.suppress(ZeroDivisionError):
            y = 1 / x
        return y

    def known(x: Any) -> Any:
        y = x
        with contextlib.suppress(KeyError):
            y = {"a": x}["b"]
        return y + 1

    with pytest.raises(wf.TraceError, match="needs the value of"):
        wf.trace(refused, control_flow=True)(1.0, 3)
    with pytest.raises(wf.TraceError, match="which an `except` around it would catch"):
        wf.trace(raised, control_flow=True)(1.0)
    assert wf.jit(known, control_flow=True, backend="reference")(1.0) == 2.0


def test_leaving_a_finally_by_a_jump_is_not_converted() -> None:
    def drops(x: Any) -> Any:
        try:
            if x > 0:
                raise ValueError("positive")
        finally:
            return x * 2  # noqa: B012

    with pytest.raises(wf.TraceError, match="leaves a `finally` by a jump"):
        wf.trace(drops, control_flow=True)(1.0)


def test_what_python_raises_of_known_values_is_raised_where_the_condition_holds() -> None:
    known, numbers = {"a": 1.0}, [1.0, 2.0]

    def branch(x: Any) -> Any:
        y = x
        if x > 1:
            y = known["b"]
        elif x > 0:
            y = numbers[5]
        elif x < -1:
            y = x * (numbers[0] // 0.0)
        return y

    def either(x: Any) -> Any:
        if x > 0:
            raise TypeError("positive")
        return numbers[5]

    with pytest.raises(wf.TraceError, match="raises whatever its arguments are"):
        wf.trace(either, control_flow=True)(1.0)

    def expression(x: Any) -> Any:
        return (x > 1 and known["b"] > 0) or (int("z") if x > 0 else x < -1)

    for function in (branch, expression):
        compiled = wf.jit(function, control_flow=True, backend="reference")
        for x in (2.0, 0.5, -0.5, -2.0):
            try:
                wanted = function(x)
            except (LookupError, ArithmeticError, ValueError) as error:
                with pytest.raises(type(error), match=re.escape(str(error))):
                    compiled(x)
            else:
                assert compiled(x) == wanted
