"""Loops over triangles, rows of sparse matrices and chosen elements: as Python runs them, and each
one loop of the program, however long.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import optree
import pytest

import weft as wf

SIZE = 40
RANDOM = np.random.default_rng(2)
X = RANDOM.normal(size=SIZE)
A = RANDOM.normal(size=(SIZE, SIZE)) + 9 * np.eye(SIZE)
LOWER, POSITIVE = np.tril(A), A @ A.T
DECAY = np.exp(-np.arange(SIZE) / 5.0)
STARTS = np.concatenate([[0], np.cumsum(RANDOM.integers(0, 5, SIZE))])
COLUMNS = RANDOM.integers(0, SIZE, STARTS[-1])
ENTRIES = RANDOM.normal(size=STARTS[-1])

Function = Callable[..., Any]


def substitution(a: Any, b: Any) -> Any:
    x = np.zeros(len(b))
    for i in range(len(b)):
        x[i] = (b[i] - a[i, :i] @ x[:i]) / a[i, i]
    return x


def back_substitution(a: Any, b: Any) -> Any:
    n = len(b)
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - np.dot(a[i, i + 1 :], x[i + 1 :])) / a[i, i]
    return x


def triangular_product(a: Any, x: Any) -> Any:
    y = np.empty_like(x)
    for i in range(a.shape[0]):
        y[i] = np.sum(a[i, : i + 1] * x[: i + 1])
    return y


def cholesky(a: Any) -> Any:
    n = a.shape[0]
    made = np.zeros_like(a)
    for j in range(n):
        made[j, j] = np.sqrt(a[j, j] - made[j, :j] @ made[j, :j])
        made[j + 1 :, j] = (a[j + 1 :, j] - made[j + 1 :, :j] @ made[j, :j]) / made[j, j]
    return made


def cholesky_by_elements(a: Any) -> Any:
    n = a.shape[0]
    made = np.zeros_like(a)
    for j in range(n):
        made[j, j] = np.sqrt(a[j, j] - made[j, :j] @ made[j, :j])
        for i in range(j + 1, n):
            made[i, j] = (a[i, j] - made[i, :j] @ made[j, :j]) / made[j, j]
    return made


def elimination(a: Any) -> Any:
    a = a.copy()
    for k in range(a.shape[0]):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a


def reflections(a: Any) -> Any:
    a = a.copy()
    for k in range(a.shape[0] - 1):
        v = a[k:, k].copy()
        v[0] += np.sign(v[0]) * np.linalg.norm(v)
        v /= np.linalg.norm(v)
        a[k:, k:] -= 2 * np.outer(v, v @ a[k:, k:])
    return a


def recursion(r: Any) -> Any:
    n = len(r) - 1
    a, error = np.zeros(n + 1), r[0]
    a[0] = 1
    for i in range(1, n + 1):
        k = -(r[i] + np.dot(a[1:i], r[i - 1 : 0 : -1])) / error
        a[1:i] = a[1:i] + k * a[i - 1 : 0 : -1]
        a[i] = k
        error *= 1 - k * k
    return a, error


def convolution(x: Any, y: Any) -> Any:
    made = np.zeros(len(x))
    for i in range(len(x)):
        made[i] = x[: i + 1] @ y[i::-1]
    return made


def rank_update(c: Any, a: Any) -> Any:
    c = c.copy()
    for i in range(a.shape[0]):
        c[i, : i + 1] *= 1.2
        for k in range(a.shape[1]):
            c[i, : i + 1] += 1.5 * a[i, k] * a[: i + 1, k]
    return c


def triangle(a: Any) -> Any:
    total = 0.0
    for i in range(len(a)):
        for j in range(i):
            total += a[i, j] * a[j, i:].sum()
    return total


def moving_windows(x: Any) -> Any:
    n, made, middles = len(x), np.zeros(len(x)), np.zeros(len(x))
    for i in range(n):
        made[i] = np.mean(x[max(0, i - 3) : min(n, i + 4)])
        middles[i] = np.median(x[max(0, i - 2) : i + 3])
    return made, middles


def selection_sort(x: Any) -> Any:
    x = x.copy()
    for i in range(len(x)):
        j = i + np.argmin(x[i:])
        x[i], x[j] = x[j], x[i]
    return x


def insertion_sort(x: Any) -> Any:
    x = x.copy()
    for i in range(1, len(x)):
        key = x[i]
        j = np.searchsorted(x[:i], key)
        x[j + 1 : i + 1] = x[j:i].copy()
        x[j] = key
    return x


def folding(s: Any) -> Any:
    n = len(s)
    table = np.zeros((n, n))
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            best = max(table[i, j - 1], table[i + 1, j])
            table[i, j] = max(best, np.max(table[i, i:j] + table[i + 1 : j + 1, j]))
    return table


def sparse_rows(starts: Any, columns: Any, entries: Any, x: Any) -> Any:
    n = len(starts) - 1
    made, sums = np.zeros(n), np.zeros(n)
    for i in range(n):
        for k in range(starts[i], starts[i + 1]):
            made[i] += entries[k] * x[columns[k]]
        own = slice(starts[i], starts[i + 1])
        sums[i] = entries[own] @ x[columns[own]]
    return made, sums


def over_chosen(x: Any) -> Any:
    total = 0.0
    for v in x[x > 0]:
        total += v * v
    for i in np.nonzero(x < 0)[0]:
        total -= x[i]
    for k, v in enumerate(x[x > 0.5]):
        total += k * v
    return total


def how_many(x: Any) -> Any:
    found = np.where(x > 1.0)[0]
    if len(found) == 0:
        return -1.0, 0
    if found.size > 3:
        return x[found].sum(), len(x[found])
    return x[found[0]], 1


def until_it_is_enough(x: Any) -> Any:
    i = 0
    while i < len(x) and np.sum(np.abs(x[:i])) < 5.0:
        i += 1
    return i, x[:i]


def new_arrays(x: Any) -> Any:
    total, made = 0.0, np.zeros(len(x))
    for i in range(len(x)):
        y, k = np.zeros(i + 1), np.arange(i)
        for j in range(i):
            y[j] = x[j] * x[i - j]
        total += y.sum() + (k * x[:i]).sum() + np.full((2, i), 3.0).sum() + x[np.arange(1, i)].sum()
        made[i] = np.dot(np.ones(i), x[:i])
    return total, made


PROGRAMS: list[tuple[Function, tuple[Any, ...]]] = [
    (substitution, (LOWER, X)),
    (back_substitution, (LOWER.T.copy(), X)),
    (triangular_product, (LOWER, X)),
    (cholesky, (POSITIVE,)),
    (cholesky_by_elements, (POSITIVE,)),
    (elimination, (A,)),
    (reflections, (A,)),
    (recursion, (DECAY,)),
    (convolution, (X, DECAY)),
    (rank_update, (POSITIVE, A)),
    (triangle, (A,)),
    (moving_windows, (X,)),
    (selection_sort, (X,)),
    (insertion_sort, (X,)),
    (folding, (X,)),
    (new_arrays, (X,)),
    (sparse_rows, (STARTS, COLUMNS, ENTRIES, X)),
    (over_chosen, (X,)),
    (how_many, (X,)),
    (how_many, (0.1 * X,)),
    (until_it_is_enough, (X,)),
]


@pytest.mark.parametrize(("function", "arguments"), PROGRAMS)
def test_as_python(function: Function, arguments: tuple[Any, ...]) -> None:
    made, wanted = wf.jit(function, control_flow=True)(*arguments), function(*arguments)
    ours, theirs = optree.tree_leaves(made), optree.tree_leaves(wanted)
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        assert np.shape(one) == np.shape(other)
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("function", "arguments"), PROGRAMS[:17])
def test_one_loop_however_long(function: Function, arguments: tuple[Any, ...]) -> None:
    graph = wf.trace(function, control_flow=True)(*arguments)
    assert sum(op.name in ("scan", "while") for op in graph.ops) <= 3
    assert len(str(graph).splitlines()) < 120


DIFFERENTIATED = PROGRAMS[:12]


@pytest.mark.parametrize(("function", "arguments"), DIFFERENTIATED)
def test_derivatives(function: Function, arguments: tuple[Any, ...]) -> None:
    def loss(*parts: Any) -> Any:
        made = function(*parts)
        return sum(np.sum(part**2) for part in (made if isinstance(made, tuple) else (made,)))

    places = tuple(range(len(arguments)))
    made = wf.jit(wf.grad(loss, places, control_flow=True))(*arguments)
    along = [RANDOM.normal(size=part.shape) for part in arguments]
    step = 1e-6
    ends = [
        loss(*[part + sign * step * d for part, d in zip(arguments, along, strict=True)])
        for sign in (1, -1)
    ]
    wanted = (ends[0] - ends[1]) / (2 * step)
    product = sum(np.sum(g * d) for g, d in zip(made, along, strict=True))
    np.testing.assert_allclose(product, wanted, rtol=2e-5, atol=1e-4)


@pytest.mark.parametrize(("function", "arguments"), PROGRAMS[:16])
def test_batched(function: Function, arguments: tuple[Any, ...]) -> None:
    several = [np.stack([part, part * 1.25]) for part in arguments]
    made = optree.tree_leaves(wf.vmap(function, control_flow=True)(*several))
    for lane in range(2):
        wanted = optree.tree_leaves(function(*[part[lane] for part in several]))
        for one, other in zip(made, wanted, strict=True):
            np.testing.assert_allclose(one[lane], other, rtol=1e-8, atol=1e-8)


def symbolic_substitution(a: Any, b: Any) -> Any:
    n = b.shape[0]
    x, y = np.zeros_like(b), np.zeros_like(b)
    for i in range(n):
        x[i] = (b[i] - a[i, :i] @ x[:i]) / a[i, i]
    for i in range(n - 1, -1, -2):
        y[i:] += x[i:] * b[i]
    return x, y


def symbolic_elimination(a: Any, b: Any) -> Any:
    a, n = a.copy(), a.shape[0]
    for k in range(n):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a, np.unique(b), b[b > 0]


@pytest.mark.parametrize("function", [symbolic_substitution, symbolic_elimination])
def test_symbolic_sizes(function: Function) -> None:
    """One version for all sizes, in native code."""
    compiled = wf.jit(function, specs=(wf.spec("f64[n, n]"), wf.spec("f64[n]")))
    for size in (1, 2, 7, 40):
        a, b = A[:size, :size].copy(), X[:size].copy()
        for one, other in zip(compiled(a, b), function(a, b), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
