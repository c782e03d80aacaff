"""Lists, dicts and records that variables of a loop are: as in Python afterwards, or refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import weft as wf
from weft.compiler.ir.errors import TraceError


@dataclass
class Record:
    w: Any


def one_from_before_changed_after(x: Any, n: Any) -> Any:
    d, p = Record(x), Record(x)
    i = 0
    while i < n:
        p = d
        i += 1
    d.w = 7.0
    return p.w


def one_from_before_changed_by_its_new_name(x: Any, n: Any) -> Any:
    d, p = [x], [x]
    i = 0
    while i < n:
        p = d
        i += 1
    p[0] = 5.0
    return d[0]


def one_from_before_changed_in_the_next_step(x: Any, n: Any) -> Any:
    d, p = [x], [0.0]
    i = 0
    while i < n:
        p[0] += 1.0
        p = d
        i += 1
    return d[0], p[0]


def one_from_before_changed_under_its_old_name(x: Any, n: Any) -> Any:
    d, p = Record(x), Record(0.0)
    i, total = 0, 0.0
    while i < n:
        d.w = d.w + 1.0
        total = total + p.w
        p = d
        i += 1
    return total


def two_variables_become_one(x: Any, n: Any) -> Any:
    a, b = Record(x), Record(2 * x)
    i, total = 0, 0.0
    while i < n:
        a.w = a.w + 1.0
        total = total + b.w
        b = a
        i += 1
    return total


def an_item_of_a_dict(x: Any, n: Any) -> Any:
    d = {"a": Record(x), "b": Record(x)}
    p = d["b"]
    i = 0
    while i < n:
        p = d["a"]
        i += 1
    d["a"].w = 7.0
    return p.w


def swapped(x: Any, n: Any) -> Any:
    a, b = Record(x), Record(0.0)
    i = 0
    while i < n:
        a.w = a.w + 1.0
        a, b = b, a
        i += 1
    return a.w, b.w


def a_new_one_each_step(x: Any, n: Any) -> Any:
    p = Record(x)
    i = 0
    while i < n:
        p.w = p.w + 1.0
        p = Record(2.0 * p.w)
        i += 1
    p.w = p.w + 1.0
    return p.w


def read_only(x: Any, n: Any) -> Any:
    d, p = Record(x), Record(0.0)
    i = 0
    while i < n:
        p = d
        i += 1
    return p.w + d.w


def changed_in_place(x: Any, n: Any) -> Any:
    d = {"a": [x], "b": x}
    same, inner = d, d["a"]
    i = 0
    while i < n:
        d["b"] = d["b"] + 1.0
        i += 1
    same["b"] = same["b"] * 2.0
    return d["b"], inner[0]


def an_array_of_numpys(x: Any, n: Any) -> Any:
    table, p = np.arange(3), np.zeros(3, dtype=int)
    i = 0
    while i < n:
        p = table
        i += 1
    p[0] = 9
    return x + table[0]


REFUSED = [
    one_from_before_changed_after,
    one_from_before_changed_by_its_new_name,
    one_from_before_changed_in_the_next_step,
    one_from_before_changed_under_its_old_name,
    two_variables_become_one,
    an_item_of_a_dict,
    an_array_of_numpys,
]
RIGHT = [swapped, a_new_one_each_step, read_only, changed_in_place]


@pytest.mark.parametrize("program", REFUSED, ids=lambda program: program.__name__)
def test_changes_seen_by_two_names_are_refused(program: Callable[..., Any]) -> None:
    with pytest.raises(TraceError, match="changed|changes|written"):
        wf.jit(program)(1.0, np.int64(3))


@pytest.mark.parametrize("count", [0, 3])
@pytest.mark.parametrize("program", RIGHT, ids=lambda program: program.__name__)
def test_others_are_pythons(program: Callable[..., Any], count: int) -> None:
    np.testing.assert_allclose(wf.jit(program)(1.0, count), program(1.0, count))


@pytest.mark.parametrize("program", REFUSED, ids=lambda program: program.__name__)
def test_loops_of_known_length_are_unrolled_for_it(program: Callable[..., Any]) -> None:
    compiled = wf.jit(lambda x: program(x, 100))
    np.testing.assert_allclose(compiled(1.0), program(1.0, 100))
