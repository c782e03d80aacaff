"""Lists that grow in a loop: each step may read them, or write to what it has appended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft as wf

ROLLED, LONGEST_UNROLLED = 40, 512


def last_item(x: Any, n: int) -> Any:
    xs = [x]
    for i in range(n):
        xs.append(np.sin(xs[-1]) + i)
    return np.array(xs)


def item_at_its_number(x: Any, n: int) -> Any:
    xs = [x]
    for i in range(n):
        xs.append(xs[i] * 0.5 + 1)
    return np.array(xs)


def last_item_of_an_object(x: Any, n: int) -> Any:
    class Log:
        def __init__(self) -> None:
            self.seen = [x]

    log = Log()
    for i in range(n):
        log.seen.append(log.seen[-1] * 0.5 + i)
    return np.array(log.seen)


def last_item_in_a_helper(x: Any, n: int) -> Any:
    held = {"xs": [x]}

    def go_on(i: int) -> None:
        held["xs"].append(held["xs"][-1] * 0.5 + i)

    for i in range(n):
        go_on(i)
    return np.array(held["xs"])


def last_three(x: Any, n: int) -> Any:
    xs = [x, x, x]
    for _ in range(n):
        xs.append(sum(xs[-3:]) * 0.3)
    return np.array(xs)


def all_before(x: Any, n: int) -> Any:
    xs = [x]
    for _ in range(n):
        total = 0.0
        for value in xs:
            total = total + value
        xs.append(total * 0.25)
    return np.array(xs)


def as_an_array(x: Any, n: int) -> Any:
    xs = [x]
    for i in range(n):
        xs.append(np.max(np.array(xs)) * 0.9 + i)
    return np.array(xs)


def last_of_another_list(x: Any, n: int) -> Any:
    xs, ys = [x], []
    for i in range(n):
        ys.append(xs[-1])
        xs.append(x * i)
    return np.array(xs), np.array(ys)


def length(x: Any, n: int) -> Any:
    xs: list[Any] = []
    for _ in range(n):
        xs.append(x * len(xs))
    return np.array(xs)


def length_once(x: Any, n: int) -> Any:
    xs: list[Any] = []
    for i in range(n):
        xs.append(x * i)
        if len(xs) == 5:
            x = x * 100
    return np.array(xs), x


def whether_it_is_empty(x: Any, n: int) -> Any:
    xs: list[Any] = []
    for _ in range(n):
        xs.append(x if xs else x * 2)
    return np.array(xs)


def at_the_front(x: Any, n: int) -> Any:
    xs: list[Any] = []
    for i in range(n):
        xs.insert(0, x * i)
    return np.array(xs)


def turned(x: Any, n: int) -> Any:
    xs: list[Any] = []
    for i in range(n):
        xs.append(x * i)
        xs.reverse()
    return np.array(xs)


def the_last_four(x: Any, n: int) -> Any:
    xs: list[Any] = []
    for i in range(n):
        xs.append(x * i)
        if len(xs) > 4:
            xs.pop(0)
    return np.array(xs)


def the_first_four(x: Any, n: int) -> Any:
    xs: list[Any] = []
    for i in range(n):
        if len(xs) < 4:
            xs.append(x * i)
    return np.array(xs)


def one_array_written_to(x: Any, n: int) -> Any:
    one, xs = np.zeros(3), []
    for i in range(n):
        one[0] = x * i
        xs.append(one)
    return np.array(xs)


def one_array_added_to(x: Any, n: int) -> Any:
    one, xs = np.zeros(3) + x, []
    for i in range(n):
        one += i
        xs.append(one)
    return np.array(xs)


def views_of_one_array(x: Any, n: int) -> Any:
    one, xs = np.zeros(3) + x, []
    for i in range(n):
        xs.append(one[:2])
        one[0] = x * i
    return np.array(xs)


def an_array_from_before(x: Any, n: int) -> Any:
    one, xs = np.zeros(3) + x, []
    for _ in range(n):
        xs.append(one)
    xs[0][0] = 5.0
    return np.array(xs), one


READING = [
    last_item, item_at_its_number, last_item_of_an_object, last_item_in_a_helper, last_three,
    all_before, as_an_array, last_of_another_list, length, length_once, whether_it_is_empty,
    at_the_front, turned, the_last_four, the_first_four,
]  # fmt: skip
WRITING = [one_array_written_to, one_array_added_to, views_of_one_array, an_array_from_before]


def assert_as_numpy(function: Callable[..., Any], count: int) -> None:
    made = wf.jit(function, control_flow=True, static_argnames="n")(np.float64(0.3), count)
    expected = function(np.float64(0.3), count)
    pairs = zip(made, expected, strict=True) if isinstance(made, tuple) else [(made, expected)]
    for one, other in pairs:
        np.testing.assert_allclose(one, other)


@pytest.mark.parametrize("function", [*READING, *WRITING])
def test_a_list_that_a_step_depends_on_is_as_in_python(function: Callable[..., Any]) -> None:
    assert_as_numpy(function, ROLLED)


@pytest.mark.parametrize("function", READING)
def test_a_long_loop_that_reads_its_list_is_refused(function: Callable[..., Any]) -> None:
    compiled = wf.jit(function, control_flow=True, static_argnames="n")
    with pytest.raises(wf.TraceError, match="has to become a loop, in which this cannot be done"):
        compiled(np.float64(0.3), LONGEST_UNROLLED + 1)


@pytest.mark.parametrize("function", [one_array_written_to, one_array_added_to])
def test_an_array_that_all_steps_append_stays_one(function: Callable[..., Any]) -> None:
    assert_as_numpy(function, LONGEST_UNROLLED + 1)


def states(x: Any, n: int) -> tuple[list[Any], Any]:
    """The states of a system before each step, and the last one."""
    xs = []
    for i in range(n):
        xs.append(x)
        x = np.sin(x) + i
    return xs, x


@pytest.mark.parametrize("write", ["item", "last", "repeated"])
def test_writes_after_the_loop_are_seen_or_refused(write: str) -> None:
    def function(x: Any) -> Any:
        x = x * 1.0
        if write == "item":
            xs, x = states(x, LONGEST_UNROLLED + 1)
            xs[2][0] = 7.0
        elif write == "last":
            xs = []
            for i in wf.rolled(range(LONGEST_UNROLLED + 1)):
                x = np.sin(x) + i
                xs.append(x)
            x[0] = 7.0
        else:
            xs = []
            for i in wf.rolled(range(LONGEST_UNROLLED + 1)):
                y = x * i
                xs.append(y)
                xs.append(y)
            xs[2][0] = 7.0
        return np.array(xs), x

    compiled = wf.jit(function, control_flow=True)
    x = np.array([0.5, 1.5])
    if write == "item":
        for one, other in zip(compiled(x), function(x), strict=True):
            np.testing.assert_allclose(one, other)
        return
    with pytest.raises(wf.TraceError, match="may be the same as one that was written to"):
        compiled(x)


def test_an_item_read_from_before_the_loop_is_known() -> None:
    def function(x: Any) -> Any:
        xs = [x]
        for i in range(LONGEST_UNROLLED + 1):
            xs.append(xs[0] * i)
        return np.array(xs)

    made = wf.jit(function, control_flow=True)(np.float64(0.3))
    np.testing.assert_allclose(made, function(np.float64(0.3)))
