"""`x[mask]` with a traced mask, and the places where one is true, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import optree
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft as wf

RANDOM = np.random.default_rng(3)
X, Y = RANDOM.normal(size=17), RANDOM.normal(size=17)
ROWS, LABELS = RANDOM.normal(size=(17, 3)), RANDOM.integers(0, 3, 17)
IMAGE = RANDOM.normal(size=(4, 5))

Function = Callable[..., Any]


def assert_same(made: Any, wanted: Any) -> None:
    ours, theirs = optree.tree_leaves(made), optree.tree_leaves(wanted)
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        other = np.asarray(other)
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def reductions(x: Any) -> Any:
    s = x[x > 0]
    sums = s.sum(), s.mean(), s.prod(), np.sum(s**2), s @ s, np.add.reduce(s), np.linalg.norm(s)
    extremes = s.max(), s.min(), np.ptp(s), s.argmax(), s.argmin(), s.any(), s.all()
    return sums, extremes, s.var(ddof=1), s.std(), s.size, s.shape[0], np.count_nonzero(s > 1)


def order(x: Any) -> Any:
    s = x[x > 0]
    middle = np.median(s), np.percentile(s, 30), np.quantile(s, [0.2, 0.8])
    return middle, np.sort(s)[0], np.sort(s)[-2], np.cumsum(s)[-1], s[0], s[-1], s[2]


def writes(x: Any, y: Any) -> Any:
    made, mask, cut = np.zeros_like(x), x > 0, x.copy()
    made[mask] = y[mask]
    made[~mask] = -1.0
    made[mask] += x[mask] * 2
    made[made > 1] *= 0.5
    cut[cut < 0] = 0
    return made, cut


def classes(rows: Any, labels: Any) -> Any:
    made = []
    for k in range(3):
        own = rows[labels == k]
        apart = own - own.mean(axis=0)
        made += [own.var(axis=0), apart.T @ apart / (own.shape[0] - 1), own.sum(axis=1).max()]
        made += [own[:, 1].sum(), (own @ np.ones(3)).mean(), np.linalg.norm(own, axis=1).sum()]
    return made


def columns(image: Any) -> Any:
    s = image[:, image[0] > 0]
    return s.sum(axis=1), (s - s.mean(axis=1, keepdims=True)).std(), s.sum(axis=0).max()


def matrices(image: Any) -> Any:
    made = np.zeros_like(image)
    r, c = np.where(image > 0)
    made[r, c] = image[r, c] ** 2
    made[image < 0] = 1
    return made, r.max(), c.sum(), image[image > 0].sum(), np.argwhere(image > 0)[:, 1].max()


def places(x: Any) -> Any:
    i, made = np.where(x > 0)[0], np.zeros_like(x)
    made[i] = x[i] * 2
    made[np.nonzero(x < 0)] = 7
    return made, i[0], i[-1], i.size, x[np.flatnonzero(x > 0)].mean()


def parts(rows: Any, x: Any) -> Any:
    rows, mask = rows.copy(), x > 0
    rows[mask, 0] = x[mask]
    rows[mask, 1:] = 0
    rows[~mask] = rows[~mask] * 2
    return rows, rows[mask, 0].sum()


def again(x: Any, y: Any) -> Any:
    s = x[x > -1]
    return s[y[x > -1] > 0].sum(), np.where(s > 0, s, 0).sum(), np.clip(s, -0.5, 0.5).mean()


def counting(x: Any, labels: Any) -> Any:
    made, chosen = np.zeros(3 + 0 * x.shape[0]) + 0 * x[:3], labels[x > 0]
    np.add.at(made, chosen, x[x > 0])
    histogram, _ = np.histogram(x[x > 0], bins=4, range=(0, 2))
    return made, np.bincount(chosen, minlength=3), histogram


def without_nan(x: Any) -> Any:
    holed = x.copy()
    holed[3] = np.nan
    s = holed[~np.isnan(holed)]
    return s.mean(), s.std(), np.median(s), (s / s.max()).sum()


TABLE: list[tuple[Function, tuple[Any, ...]]] = [
    (reductions, (X,)),
    (order, (X,)),
    (writes, (X, Y)),
    (classes, (ROWS, LABELS)),
    (columns, (IMAGE,)),
    (matrices, (IMAGE,)),
    (places, (X,)),
    (parts, (ROWS, X)),
    (again, (X, Y)),
    (counting, (X, LABELS)),
    (without_nan, (X,)),
]


@pytest.mark.parametrize(("function", "arguments"), TABLE, ids=[f.__name__ for f, _ in TABLE])
def test_as_numpy(function: Function, arguments: tuple[Any, ...]) -> None:
    assert_same(wf.jit(function)(*arguments), function(*arguments))


def _rms(x: Any) -> Any:
    return np.sqrt(np.sum(x[x > 0] ** 2)), x[x > 0].size, x[x > 0].any()


@settings(max_examples=30)
@given(st.lists(st.sampled_from([-2.0, -1.0, 0.0, 1.0, 3.0]), min_size=1, max_size=6))
def test_any_number_of_elements(numbers: list[float]) -> None:
    """None of them, all of them, and what lies between."""
    x = np.array(numbers + [0.0] * (6 - len(numbers)))
    assert_same(_COMPILED(x), _rms(x))


_COMPILED = wf.jit(_rms)


def test_numbers_of_one_element_and_integers() -> None:
    x = np.array([3, -1, 4, -1, 5])

    def function(x: Any) -> Any:
        return x[x > 0].sum(), x[x > 0].max(), x[x < 0].min(), x[x == 4].mean()

    assert_same(wf.jit(function)(x), function(x))


def test_gradients_ignore_what_was_not_chosen() -> None:
    """Where the logarithm of an element would be NaN, it is not chosen."""

    def loss(x: Any) -> Any:
        s = x[x > 0.1]
        return np.log(s).sum() + np.sqrt(s).std() + np.median(s) + s.max() + (s / s.mean()).var()

    made, step = wf.jit(wf.grad(loss))(X), 1e-6
    steps = step * np.eye(X.size)
    wanted = [(loss(X + d) - loss(X - d)) / (2 * step) for d in steps]
    np.testing.assert_allclose(made, wanted, atol=1e-6)
    made = wf.grad(lambda a, x: np.sqrt(x[x > 0.1] - a).sum())(0.05, X)
    np.testing.assert_allclose(made, -0.5 * np.sum((X[X > 0.1] - 0.05) ** -0.5), rtol=1e-12)


def test_batched() -> None:
    made = wf.vmap(lambda row: row[row > 0].mean())(IMAGE)
    np.testing.assert_allclose(made, [row[row > 0].mean() for row in IMAGE])


def test_builtins_where_control_flow_is_converted() -> None:
    def average(x: Any) -> Any:
        s = x[x > 0]
        if len(s) == 0:
            return 0.0, 0.0, False
        return sum(s) / len(s), max(s) - min(s), any(s > 1)

    compiled = wf.jit(average, control_flow=True)
    assert_same(compiled(X), average(X))
    assert_same(compiled(-abs(X)), (0.0, 0.0, False))


def of_another_number(x: Any, y: Any) -> Any:
    """Masks of which it is not plain that they choose equally many."""
    return x[x > 0] + y[: x.shape[0]][x > 0], x[x > 0] * x[x <= np.inf][:1], x[x > x.max()] + x[:1]


def side_by_side(x: Any) -> Any:
    s = x[x > 0]
    parts = s[:3], s[1:-1], s[::-1], s[::2], np.diff(s), s[1:] - s[:-1]
    return parts, np.concatenate([s, x]), np.append(s, 1.0), np.hstack([x, s, s])


def returned(x: Any, image: Any) -> Any:
    rows = image[image[:, 0] > 0]
    found = np.nonzero(image > 0), np.argwhere(image > 0), np.flatnonzero(x > 0), np.where(x > 9)
    return x[x > 0], x[x > 9], rows, rows * 2, rows[:, 1:], image[:, image[0] > 0], found


def distinct(x: Any, labels: Any) -> Any:
    values = np.unique(np.round(x)), np.unique(labels, True, True, True), np.unique(x[x > 0] > 1)
    sets = np.union1d(labels, 2), np.intersect1d(labels, labels[:4], return_indices=True)
    return values, sets, np.setdiff1d(labels, 1), np.setxor1d(labels, labels[:2])


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (of_another_number, (X, Y)),
        (side_by_side, (X,)),
        (returned, (X, IMAGE)),
        (distinct, (X, LABELS)),
    ],
)
def test_their_true_size_is_returned(function: Function, arguments: tuple[Any, ...]) -> None:
    assert_same(wf.jit(function)(*arguments), function(*arguments))


def test_numbers_of_elements_that_differ_are_an_error() -> None:
    combined = wf.jit(lambda x: x[x > 0] + x[x < 0])
    assert_same(combined(np.array([1.0, -2.0])), np.array([-1.0]))
    with pytest.raises(ValueError, match="size"):
        combined(np.array([1.0, -2.0, 3.0, -4.0, 5.0]))


def test_written_to_by_as_many_numbers() -> None:
    def fill(x: Any) -> Any:
        made = x.copy()
        made[x > 0] = np.array([7.0, 8.0, 9.0])
        return made

    filled, x = wf.jit(fill), np.array([1.0, -1.0, 2.0, 3.0])
    assert_same(filled(x), fill(x))
    with pytest.raises(ValueError, match="size"):
        filled(np.array([1.0, -1.0, -2.0, 3.0]))


REFUSED: list[tuple[Function, str]] = [
    (lambda x: x[x > 0].reshape(1, -1), "weft.numpy.compress"),
    (lambda x: [v for v in x[x > 0]], "a `for` over all elements"),
    (lambda x: len(x[x > 0]), "size of it"),
    (lambda x: x[x > 0].tolist(), "tolist"),
    (lambda x: np.asarray(x[x > 0].__array__()), "a NumPy array"),
]


@pytest.mark.parametrize(("function", "says"), REFUSED)
def test_what_needs_the_number_of_elements_is_refused(function: Function, says: str) -> None:
    with pytest.raises(wf.TraceError, match=says):
        wf.jit(function, control_flow=False)(X)


def test_one_of_a_batch_is_refused() -> None:
    with pytest.raises(wf.ShapeError, match="cannot be one of a batch"):
        wf.vmap(lambda row: row[row > 0])(IMAGE)


def test_an_element_that_is_not_there_is_an_error() -> None:
    third = wf.jit(lambda x: x[x > 0][2])
    assert third(np.array([1.0, -1.0, 2.0, 3.0])) == 3.0
    with pytest.raises(IndexError, match="index 2 is out of bounds for an axis of size 2"):
        third(np.array([1.0, -1.0, 2.0, -3.0]))


def test_arrays_outside_of_jit_have_the_elements() -> None:
    x = wf.numpy.asarray(X)
    for function in (lambda a: a[a > 0], np.unique, np.flatnonzero, lambda a: np.where(a > 0)[0]):
        np.testing.assert_array_equal(np.asarray(function(x)), function(X))
