"""What converted control flow refuses: each message names the variable, the user's line, and what
to do.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft as wf
from tests.frontends.checking import Function

REFUSALS: dict[str, tuple[Function, tuple[Any, ...], tuple[str, ...], str]] = {}
VECTOR = np.arange(4.0)


def refused(*given: Any, says: tuple[str, ...], at: str) -> Callable[[Function], Function]:
    """Register a function that is refused with words, at the line that has this text."""

    def register(function: Function) -> Function:
        REFUSALS[function.__name__] = function, given, says, at
        return function

    return register


@refused(1.0, says=("y has no value", "one branch", "before the `if`"), at="return y")
def assigned_by_one_branch(x: Any) -> Any:
    if x > 0:
        y = x
    return y


@refused(1.0, 3, says=("y has no value", "no step", "before the loop"), at="return y + 1")
def assigned_only_in_a_loop(x: Any, n: Any) -> Any:
    for _ in range(n):
        y = x
    return y + 1


@refused(VECTOR, 3, says=("x is f64[4]", "f64[8] after it", "shape"), at="range(n)")
def the_shape_changes(x: Any, n: Any) -> Any:
    for _ in range(n):
        x = np.concatenate([x, x])
    return x


@refused(VECTOR, 3, says=("y is f32[4]", "f64[4] after it", ".astype('float32')"), at="range(n)")
def the_dtype_changes(x: Any, n: Any) -> Any:
    y = np.zeros(4, np.float32)
    for _ in range(n):
        y = y + x
    return y


@refused(1.0, 3, says=("best is None", "f64[] after it"), at="range(n)")
def none_becomes_a_number(x: Any, n: Any) -> Any:
    best = None
    for _ in range(n):
        if best is None or x > best:
            best = x
    return best


@refused(VECTOR, says=("y is f64[4]", "f64[2]", "agree"), at="x[0] > 0")
def shapes_differ_between_branches(x: Any) -> Any:
    if x[0] > 0:
        y = x
    else:
        y = x[:2]
    return y


@refused(1.0, says=("kind is 'a'", "'b'", "only arrays and numbers"), at="x > 0")
def a_string_depends_on_the_condition(x: Any) -> Any:
    if x > 0:
        kind = "a"
    else:
        kind = "b"
    return x if kind == "a" else -x


@refused(1.0, says=("returns (f64[], the number 1)", "and f64[]", "same structure"), at="x > 0")
def structures_that_differ_are_returned(x: Any) -> Any:
    if x > 0:
        return x, 1
    return x


@refused(1.0, says=("returns f64[]", "None"), at="x > 0")
def nothing_is_returned_on_one_way(x: Any) -> Any:
    if x > 0:
        return x


@refused(1.0, 3, says=("xs grows", "number of steps", "x[i] = v"), at="range(n)")
def a_list_grows_for_unknown_steps(x: Any, n: Any) -> Any:
    xs: list[Any] = []
    for i in range(n):
        xs.append(x * i)
    return xs


@refused(1.0, says=("xs is changed by one branch",), at="x > 0")
def a_list_grows_in_a_branch(x: Any) -> Any:
    xs = [x]
    if x > 0:
        xs.append(x)
    return xs


@refused(VECTOR, says=("bool[4]", "ambiguous", "x.any()", "np.where"), at="if x > 0")
def the_truth_of_an_array(x: Any) -> Any:
    if x > 0:
        return x
    return -x


@refused(np.ones(1000), says=("1000 steps", "reshape", "wf.unrolled"), at="x.reshape(i, -1)")
def a_long_loop_that_cannot_be_one(x: Any) -> Any:
    total = 0.0
    for i in range(1000):
        total = total + x.reshape(i, -1)[0, 0]
    return total


@refused(1.0, says=("generator",), at="def a_generator")
def a_generator(x: Any) -> Any:
    yield x


@refused(1.0, 5, says=("range(...)", "`for` statement"), at="[x * i for i in range(n)]")
def a_traced_range_in_a_comprehension(x: Any, n: Any) -> Any:
    return [x * i for i in range(n)]


@refused(1.0, 5, says=("steps while it was traced",), at="while True")
def a_loop_without_end(x: Any, n: Any) -> Any:
    while True:
        x = x
    return x


@pytest.mark.parametrize("name", REFUSALS)
def test_refused_with_the_variable_the_line_and_what_to_do(name: str) -> None:
    function, given, says, at = REFUSALS[name]
    with pytest.raises(wf.TraceError) as caught:
        wf.jit(function, control_flow=True)(*given)
    message = str(caught.value)
    for words in says:
        assert words in message
    assert caught.value.location is not None
    assert caught.value.location.file == __file__
    lines, first = inspect.getsourcelines(function)
    line = lines[caught.value.location.line - first]
    assert at in line or line.strip().startswith("@")


def test_the_function_works_after_a_refusal() -> None:
    compiled = wf.jit(assigned_by_one_branch, control_flow=True)
    with pytest.raises(wf.TraceError):
        compiled(1.0)
    with pytest.raises(wf.TraceError):
        compiled(1.0)
    assert wf.jit(lambda x: x if x > 0 else -x, control_flow=True)(-2.0) == 2.0


def test_functions_without_source_are_refused_by_name() -> None:
    names: dict[str, Any] = {}
    exec("def unwritten(x):\n    return x if x > 0 else -x", names)
    with pytest.raises(wf.TraceError, match="control flow of unwritten cannot be converted"):
        wf.jit(names["unwritten"], control_flow=True)(1.0)


def test_tracebacks_show_the_users_lines() -> None:
    def multiply(x: Any) -> Any:
        if x.sum() > 0:
            for _ in range(30):
                x = x @ np.ones((5, 5))
        return x

    with pytest.raises(wf.ShapeError) as caught:
        wf.jit(multiply, control_flow=True)(np.ones(4))
    entries = [entry for entry in caught.traceback if str(entry.path) == __file__]
    names = [entry.frame.code.raw.co_name for entry in entries]
    texts = [str(entry.statement).strip() for entry in entries]
    assert names[1:] == ["multiply"] * (len(names) - 1)
    assert texts[-1] == "x = x @ np.ones((5, 5))"


def test_ops_have_the_users_lines() -> None:
    def clip(x: Any) -> Any:
        if x > 1:
            y = x * 0.5
        else:
            y = x + 1
        return y

    graph = wf.trace(clip, control_flow=True)(1.0)
    found = {
        op.name: op.location.expression
        for region in graph.regions()
        for op in region.ops
        if op.location is not None
    }
    assert found == {"gt": "x > 1", "switch": "x > 1", "mul": "x * 0.5", "add": "x + 1"}


def test_a_refusal_without_the_option_names_it() -> None:
    with pytest.raises(wf.TraceError, match="without control_flow=False"):
        wf.jit(lambda x: x if x > 0 else -x, control_flow=False)(1.0)


def test_partial_functions_and_callable_objects() -> None:
    class Gate:
        def __init__(self, limit: float) -> None:
            self.limit = limit

        def __call__(self, x: Any) -> Any:
            return x if x > self.limit else self.limit

    def scaled(factor: Any, x: Any) -> Any:
        return factor * x if x > 0 else x

    assert wf.jit(Gate(2.0), control_flow=True)(1.0) == 2.0
    assert wf.jit(functools.partial(scaled, 3.0), control_flow=True)(2.0) == 6.0


def test_a_window_outside_of_its_axis_is_an_error_when_it_runs() -> None:
    window = wf.jit(lambda x, i: x[i : i + 2])
    assert window(VECTOR, 2).tolist() == [2.0, 3.0]
    for place in (3, -1):
        with pytest.raises(wf.BoundsError):
            window(VECTOR, place)
    assert window(VECTOR, 0).tolist() == [0.0, 1.0]
