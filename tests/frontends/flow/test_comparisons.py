"""Comparisons of tuples, and of names for objects, against Python itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft as wf

Function = Callable[..., Any]


def returns_to_the_start(x: Any, y: Any) -> Any:
    start, k = (x, y), 0
    while True:
        x, y = y, (x * 3 + y) % 7
        k += 1
        if (x, y) == start:
            break
    return k


def counts_down(x: Any, y: Any) -> Any:
    k = 0
    while (x, y) != (0, 0):
        if (x, y) > (2, 1):
            x -= 1
        elif y > 0:
            y -= 1
        else:
            x -= 1
        k += 1
    return k, x, y


def on_the_truth_of_arrays(x: Any, y: Any) -> Any:
    values, k = np.zeros(3) + x, 0
    while values.any() and not (values == y).all():
        values = np.maximum(values - 1, 0)
        k += 1
    return k, values


def on_known_lists(x: Any, y: Any) -> Any:
    stack, total = [1, 2, 3], 0.0
    while stack:
        total += x * stack.pop() - y
    return total


def is_among(x: Any, y: Any) -> Any:
    return (x, y) in [(1, 2), (3, 1)], (x, 1) in {(1, 1), (2, 1)}, x not in (1, y)


@pytest.mark.parametrize(
    "function",
    [returns_to_the_start, counts_down, on_the_truth_of_arrays, on_known_lists, is_among],
    ids=lambda f: f.__name__,
)
def test_as_python(function: Function) -> None:
    compiled = wf.jit(function, backend="reference")
    for numbers in ((1, 2), (3, 4), (3, 1), (2, 0)):
        assert plain(compiled(*numbers)) == plain(function(*numbers))


def plain(results: Any) -> Any:
    """As lists of Python numbers."""
    if isinstance(results, tuple):
        return [plain(part) for part in results]
    return np.asarray(results).tolist()


_NUMBERS = st.integers(0, 2)
_TUPLES = st.recursive(
    _NUMBERS, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=4
).filter(lambda value: isinstance(value, tuple))


def replaced(value: Any, numbers: list[Any]) -> Any:
    """The same with other numbers, one after the other."""
    if isinstance(value, tuple):
        return tuple([replaced(part, numbers) for part in value])
    return numbers.pop(0) if numbers else value


@settings(max_examples=60, deadline=None)
@given(_TUPLES, _TUPLES, st.lists(_NUMBERS, min_size=1, max_size=8), st.integers(0, 8))
def test_tuples_are_compared_as_python_does(
    left: Any, right: Any, numbers: list[int], traced: int
) -> None:
    def f(values: Any) -> Any:
        own = [*values[:traced], *numbers[traced:]]
        one = replaced(left, own)
        other = replaced(right, own)
        results: list[Any] = []
        results += [one == other, one != other, one < other, one <= other]
        results += [one > other, one >= other]
        return results

    try:
        expected = f(numbers)
    except TypeError:  # a tuple and a number have no order
        return
    try:
        made = wf.jit(f, backend="reference")(numbers)
    except wf.TraceError as error:
        assert "have no order" in str(error)
        return
    assert [bool(one) for one in made] == expected


# --- one object, or two ---------------------------------------------------------------------------


def the_first_is_the_argument(x: Any) -> Any:
    xs, n = [x], 0
    for _ in range(40):
        if xs[-1] is x:
            n += 1
        x = x + 1.0
    return n


def what_was_appended_last(x: Any) -> Any:
    xs, n = [x], 0
    for _ in range(40):
        n += xs[-1] is x
        x = x + 1.0
        xs.append(x)
    return n, len(xs)


def the_same_after_a_step(x: Any) -> Any:
    a, b, n = x * 1.0, x * 2.0, 0
    for _ in range(40):
        if a is b:
            n += 1
        b = a
    return n


def never_the_same(x: Any) -> Any:
    a, b, n = x * 1.0, x * 2.0, 0
    for _ in range(40):
        a, b = b, a
        n += a is not b
    return n


def views_are_others(x: Any) -> Any:
    a = x * 1.0
    b, c = a[:], a
    return b is a, c is a, b is not c


def another_name_that_is_set_back(x: Any) -> Any:
    ys: list[Any] = []
    t = ys
    for i in range(40):
        t.append(x * i)
        t = ys
    return np.array(ys).sum(), len(t)


def two_lists_in_turns(x: Any) -> Any:
    ys: list[Any] = []
    zs: list[Any] = []
    t = ys
    for i in range(40):
        t.append(x * i)
        t = ys if i % 2 else zs
    return len(ys), len(zs)


def an_item_by_another_name(x: Any) -> Any:
    d = {"a": x}
    e, s = d, 0.0
    for _ in range(40):
        e["a"] = e["a"] + 1
        s += d["a"].sum()
        e = d
    return s, d["a"]


def two_names_that_swap(x: Any) -> Any:
    d = [x]
    e, s = d, 0.0
    for _ in range(40):
        e[0] = e[0] + 1
        s += d[0].sum()
        e, d = d, e
    return s, d[0], e[0]


def a_list_in_a_list(x: Any) -> Any:
    d = [x]
    e = [d]
    for _ in range(40):
        e[0][0] = e[0][0] + 1
        e = [d]
    return d[0], e[0][0]


NAMES = [
    the_first_is_the_argument,
    what_was_appended_last,
    the_same_after_a_step,
    never_the_same,
    views_are_others,
    another_name_that_is_set_back,
    two_lists_in_turns,
    an_item_by_another_name,
    two_names_that_swap,
    a_list_in_a_list,
]


@pytest.mark.parametrize("function", NAMES, ids=lambda f: f.__name__)
def test_names_for_one_object(function: Function) -> None:
    made = wf.jit(function, backend="reference")(np.ones(3))
    assert plain(made) == plain(function(np.ones(3)))


def by_another_name_while(x: Any) -> Any:
    d, k = [x], 0
    e = d
    while k < x:
        e[0] = e[0] + 1
        e = d
        k += 1
    return d[0], e[0]


def by_another_name_if(x: Any) -> Any:
    d = [x]
    e = d
    if x > 0:
        e[0] = e[0] + 1
        e = [x]
    return d[0], e[0]


def one_array_or_another(x: Any) -> Any:
    a, b = np.ones(2), np.zeros(2)
    a, b = a * x, b * x
    c = a if x > 0 else b
    return c is a


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (by_another_name_while, "use one name for it"),
        (by_another_name_if, "e is changed by one branch"),
        (one_array_or_another, "whether two names are one array"),
    ],
)
def test_refused(function: Function, says: str) -> None:
    with pytest.raises(wf.TraceError, match=says):
        wf.jit(function)(3.0)
