"""Arrays of sizes that only the run tells, in Python's statements: attributes, lists, branches,
loops, questions about classes; as Python has it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import optree
import pytest

import weft as wf

X, Y = np.cos(np.arange(30.0)), np.sin(np.arange(30.0))
A = np.random.default_rng(0).normal(size=(30, 30))

Function = Callable[..., Any]


class Box:
    def __init__(self, x: Any) -> None:
        self.x, self.pushed = x.copy(), 0

    def push(self, i: Any, v: Any) -> None:
        self.x[:i] += v
        self.pushed += 1


def attributes(x: Any, y: Any, a: Any, i: Any) -> Any:
    box = Box(x)
    box.push(i, 2.0)
    box.push(i + 1, y[: i + 1])
    return box.x, box.pushed


def questions(x: Any, y: Any, a: Any, i: Any) -> Any:
    part = x[:i]
    kinds = isinstance(part, np.ndarray), isinstance(part, float), type(part) is np.ndarray
    return kinds, hasattr(part, "shape"), hasattr(part, "append"), np.isscalar(part), np.ndim(part)


def argument(x: Any, y: Any, a: Any, i: Any) -> Any:
    x[:i] += 1
    return x.sum()


def matrix_rows(x: Any, y: Any, a: Any, i: Any) -> Any:
    total = 0.0
    for k, row in enumerate(a[:i]):
        total += k * row[k]
    return total


def equality(x: Any, y: Any, a: Any, i: Any) -> Any:
    same = np.array_equal(x[:i], x[:i]), np.array_equal(x[:i], y[:i]), np.array_equal(x[:i], x[:3])
    return same, np.allclose(x[:i], x[:i] + 1e-12), (x[:i] == y[:i]).all()


def view_in_loop(x: Any, y: Any, a: Any, i: Any) -> Any:
    x = x.copy()
    view = x[i:]
    for k in range(20):
        x[k] = x[k] + view.sum() * 0.01
    return x, view.sum()


def exchanged(x: Any, y: Any, a: Any, i: Any) -> Any:
    x = x.copy()
    x[:i], x[30 - i :] = x[30 - i :].copy(), x[:i].copy()
    x[1 : i + 1] = x[:i]
    return x


def compiled_inside(x: Any, y: Any, a: Any, i: Any) -> Any:
    double = wf.jit(lambda x, i: x[:i] * 2)
    return double(x, i).sum() + double(x, i + 1)[0]


def one_or_the_other(x: Any, y: Any, a: Any, i: Any) -> Any:
    if i > 5:
        part = x[:i]
    else:
        part = x[i:]
    return part.sum(), part


def carried(x: Any, y: Any, a: Any, i: Any) -> Any:
    part = x[:i]
    while part.sum() > 0.1:
        part = part * 0.5
    return part


def in_a_list(x: Any, y: Any, a: Any, i: Any) -> Any:
    parts = [x[:i], x[i:]]
    lengths = len(parts[0]) + len(parts[1])
    return np.concatenate(parts), sum(part.sum() for part in parts), lengths


def windows(x: Any, y: Any, a: Any, i: Any) -> Any:
    made = np.zeros(30)
    for k in range(30):
        part = x[max(k - i, 0) : k + 1]
        made[k] = part[-1] - part[0] + len(part)
    return made


def masks_and_slices(x: Any, y: Any, a: Any, i: Any) -> Any:
    chosen = x[x > 0]
    places = np.where(x[:i] > 0)[0], np.flatnonzero(x[:i] < 0), np.nonzero(x[i:] > 0.5)
    return chosen[:i], chosen[i:].sum(), chosen[chosen > 0.5], len(chosen[:i]), places


def written_twice(x: Any, y: Any, a: Any, i: Any) -> Any:
    x = x.copy()
    x[i:][x[i:] < 0] = 0
    x[:i][::2] *= 3
    return x


def builtin_functions(x: Any, y: Any, a: Any, i: Any) -> Any:
    part = x[: i + 1]
    return max(part), min(part), sum(part), any(part > 0.5), all(part > -2), len(part)


def shortened(x: Any, y: Any, a: Any, i: Any) -> Any:
    while len(x[:i]) > 3:
        i -= 1
    return i


def pairs(x: Any, y: Any, a: Any, i: Any) -> Any:
    total = 0.0
    for one, other in zip(x[:i], y[i:], strict=False):
        total += one * other
    for k in range(len(y[i:])):
        total += y[i:][k]
    return total


FUNCTIONS = [
    pairs,
    attributes,
    questions,
    argument,
    matrix_rows,
    equality,
    view_in_loop,
    exchanged,
    compiled_inside,
    one_or_the_other,
    carried,
    in_a_list,
    windows,
    masks_and_slices,
    written_twice,
    builtin_functions,
    shortened,
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_as_python(function: Function) -> None:
    compiled = wf.jit(function)
    for i in (7, 3, 12, 0):
        made = optree.tree_leaves(compiled(X.copy(), Y, A, i))
        wanted = optree.tree_leaves(function(X.copy(), Y, A, i))
        assert len(made) == len(wanted)
        for one, other in zip(made, wanted, strict=True):
            assert (np.shape(one), np.asarray(one).dtype) == (
                np.shape(other),
                np.asarray(other).dtype,
            )
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("function", [pairs, matrix_rows, windows, view_in_loop, exchanged])
def test_lanes_that_end_at_different_steps(function: Function) -> None:
    numbers = np.array([7, 3, 12, 1, 29])
    made = optree.tree_leaves(wf.vmap(function, in_axes=(None, None, None, 0))(X, Y, A, numbers))
    for lane, i in enumerate(numbers):
        wanted = optree.tree_leaves(function(X.copy(), Y, A, int(i)))
        for one, other in zip(made, wanted, strict=True):
            np.testing.assert_allclose(one[lane], other, rtol=1e-12, atol=1e-12)


def to_the_end(x: Any, i: Any) -> Any:
    total = 0.0
    for k in range(30 - i):
        total += x[i + k]
    return total


def if_it_is_there(x: Any, i: Any) -> Any:
    made = np.zeros(30)
    if i < 30:
        made[i] = x[i]
    return made.sum()


@pytest.mark.parametrize(
    ("function", "slopes"), [(to_the_end, [23, 1, 18, 0]), (if_it_is_there, [1, 1, 1, 0])]
)
def test_lanes_that_do_not_run_have_no_index_out_of_range(function: Function, slopes: Any) -> None:
    numbers = np.array([7, 29, 12, 30])
    made = wf.vmap(function, in_axes=(None, 0))(X, numbers)
    np.testing.assert_allclose(made, [function(X, int(i)) for i in numbers])
    gradients = wf.vmap(wf.grad(function), in_axes=(None, 0))(X, numbers)
    np.testing.assert_array_equal(gradients.sum(axis=1), slopes)
    with pytest.raises(wf.BoundsError):
        wf.vmap(lambda x, i: x[i], in_axes=(None, 0))(X, numbers)
