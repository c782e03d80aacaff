"""Slices with traced bounds against NumPy: what is read, computed, written and returned, for all
bounds, with derivatives and batched.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import optree
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft as wf

RANDOM = np.random.default_rng(5)
SIZE = 7
X, Y, A = RANDOM.normal(size=SIZE) + 3, RANDOM.normal(size=SIZE), RANDOM.normal(size=(SIZE, SIZE))

Function = Callable[..., Any]

READ: dict[str, Function] = {
    "head": lambda x, y, a, i, j: x[:i],
    "tail": lambda x, y, a, i, j: x[i:],
    "middle": lambda x, y, a, i, j: x[i:j],
    "steps": lambda x, y, a, i, j: x[i:j:2],
    "backwards": lambda x, y, a, i, j: x[i - 1 :: -1],
    "backwards_to": lambda x, y, a, i, j: x[i:j:-2],
    "block": lambda x, y, a, i, j: a[i:, :j],
    "row": lambda x, y, a, i, j: a[2, i:],
    "new_axis": lambda x, y, a, i, j: x[None, i:, None] * a[:1, :1, None],
    "inner_slice": lambda x, y, a, i, j: x[i:][1:-1],
    "inner_traced": lambda x, y, a, i, j: x[i:][:j],
    "inner_backwards": lambda x, y, a, i, j: x[i:j][::-1],
    "steps_backwards": lambda x, y, a, i, j: x[1:i:2][::-1],
    "steps_of_steps": lambda x, y, a, i, j: x[i::2][1::2],
    "last": lambda x, y, a, i, j: x[:i][-1],
    "element": lambda x, y, a, i, j: x[i:][j],
    "elements": lambda x, y, a, i, j: x[i:][np.array([0, -1, 0])],
    "mask_of_slice": lambda x, y, a, i, j: y[i:][y[i:] > 0],
    "rows_of_mask": lambda x, y, a, i, j: a[y > 0][:, i:],
    "transposed": lambda x, y, a, i, j: a[i:, :j].T,
}
COMPUTED: dict[str, Function] = {
    "sum": lambda x, y, a, i, j: x[i:j].sum(),
    "mean": lambda x, y, a, i, j: np.log(x[: i + 1]).mean(),
    "norm": lambda x, y, a, i, j: np.linalg.norm(x[i:j]),
    "product": lambda x, y, a, i, j: np.prod(x[i:j]),
    "elements": lambda x, y, a, i, j: np.sqrt(x[i:]) / x[i:] - 1,
    "shifted": lambda x, y, a, i, j: x[1:i] - y[: i - 1],
    "from_both_ends": lambda x, y, a, i, j: x[i:] + y[: SIZE - i],
    "compared_sizes": lambda x, y, a, i, j: x[i:] * y[:j],
    "plain": lambda x, y, a, i, j: x[:i] + y[:3],
    "of_size_one": lambda x, y, a, i, j: x[:i] + y[3:4],
    "dot": lambda x, y, a, i, j: x[:i] @ y[:i][::-1],
    "matrix_vector": lambda x, y, a, i, j: a[i:, :j] @ x[:j],
    "vector_matrix": lambda x, y, a, i, j: x[i:] @ a[i:],
    "matrices": lambda x, y, a, i, j: a[i:, j:] @ a[j:, :i],
    "outer": lambda x, y, a, i, j: np.outer(x[:i], y[j:]),
    "along_rows": lambda x, y, a, i, j: a[i:, j:].sum(0) * y[j:],
    "along_columns": lambda x, y, a, i, j: (a[i:, j:] ** 2).mean(axis=1, keepdims=True),
    "largest": lambda x, y, a, i, j: a[:, i:].max(axis=0),
    "sorted": lambda x, y, a, i, j: np.sort(y[i:j]),
    "running": lambda x, y, a, i, j: np.cumsum(y[i:j]),
    "differences": lambda x, y, a, i, j: np.diff(y[i:j]),
    "joined": lambda x, y, a, i, j: np.concatenate([x[:i], y[j:], x[:2]]),
    "chosen": lambda x, y, a, i, j: np.where(y[i:] > 0, x[i:], 0.0),
}
NUMBERS: dict[str, Function] = {
    "places": lambda x, y, a, i, j: np.searchsorted(np.sort(y)[i:j], x - 3, side="right"),
    "places_of": lambda x, y, a, i, j: np.searchsorted(np.sort(y), x[i:j] - 3),
    "bins": lambda x, y, a, i, j: np.digitize(x[i:], np.array([2.0, 3.0, 4.0])),
    "members": lambda x, y, a, i, j: np.isin(np.round(x[i:]), np.array([2.0, 3.0])),
    "between": lambda x, y, a, i, j: np.interp(x[i:], np.arange(5.0), y[:5]),
    "order": lambda x, y, a, i, j: np.argsort(y[i:j]),
    "shape": lambda x, y, a, i, j: (np.shape(a[i:, :j])[0], a[i:, :j].size, x[i::2].shape[0]),
    "flags": lambda x, y, a, i, j: ((y[i:j] > 0).any(), (y[i:j] > 0).all()),
    "counts": lambda x, y, a, i, j: np.count_nonzero(y[i:j] > 0),
    "integers": lambda x, y, a, i, j: np.round(10 * y).astype(np.int32)[i:j].sum(),
    "half": lambda x, y, a, i, j: x.astype(np.float32)[i:j] * 2,
}


def writing(write: Callable[..., None]) -> Function:
    def function(x: Any, y: Any, a: Any, i: Any, j: Any) -> Any:
        x, a = x.copy(), a.copy()
        write(x, y, a, i, j)
        return x, a

    return function


def _number(x: Any, y: Any, a: Any, i: Any, j: Any) -> None:
    x[i:j] = 0
    a[i:, j:] = 1.0


def _elements(x: Any, y: Any, a: Any, i: Any, j: Any) -> None:
    x[:i] = y[:i]
    a[i:, 2] = y[i:]
    a[3, j:] = a[2, j:]


def _in_place(x: Any, y: Any, a: Any, i: Any, j: Any) -> None:
    x[i:] += y[i:]
    a[i + 1 :, 2] -= a[i + 1 :, 1] * x[2]
    a[i:, j:] -= np.outer(x[i:], y[j:])


def _of_known_size(x: Any, y: Any, a: Any, i: Any, j: Any) -> None:
    x[:i] = y[:2]


def _of_other_size(x: Any, y: Any, a: Any, i: Any, j: Any) -> None:
    x[i:] = y[:j]


def _backwards(x: Any, y: Any, a: Any, i: Any, j: Any) -> None:
    x[::-1][:i] = y[:i]
    x[j:i:-1] *= 2


def _steps(x: Any, y: Any, a: Any, i: Any, j: Any) -> None:
    x[i::2] = 5.0
    x[1:j:3] = y[1:j:3]


def _through_a_view(x: Any, y: Any, a: Any, i: Any, j: Any) -> None:
    view, column = x[i:], a[:, 1][j:]
    x[2:4] = -1.0
    view *= 2.0
    view[1:] += 1.0
    column[...] = view.sum()


def _out(x: Any, y: Any, a: Any, i: Any, j: Any) -> None:
    np.add(y[:i], 1, out=x[:i])


WRITTEN = {
    write.__name__: writing(write)
    for write in (
        _number,
        _elements,
        _in_place,
        _of_known_size,
        _of_other_size,
        _backwards,
        _steps,
        _through_a_view,
        _out,
    )
}
ALL = {**READ, **{f"{name}_of": f for name, f in COMPUTED.items()}, **NUMBERS, **WRITTEN}
_COMPILED = {name: wf.jit(function) for name, function in ALL.items()}


def outcome(function: Function, *arguments: Any) -> Any:
    """What a function gives; None for an error."""
    try:
        with np.errstate(all="ignore"):
            return function(*arguments)
    except (IndexError, ValueError):
        return None


def assert_same(made: Any, wanted: Any) -> None:
    assert (made is None) == (wanted is None)
    ours, theirs = optree.tree_leaves(made), optree.tree_leaves(wanted)
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        other = np.asarray(other)
        assert (np.asarray(one).dtype, np.shape(one)) == (other.dtype, other.shape)
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value")
@pytest.mark.parametrize("name", _COMPILED)
def test_as_numpy(name: str) -> None:
    """Bounds from both ends, beyond them, and in the wrong order."""
    for i, j in [(0, 0), (1, 5), (5, 1), (3, 3), (7, 7), (2, 9), (-3, 6), (-9, -1), (4, 2), (6, 7)]:
        assert_same(outcome(_COMPILED[name], X, Y, A, i, j), outcome(ALL[name], X, Y, A, i, j))


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(_COMPILED)), st.integers(-10, 10), st.integers(-10, 10))
@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value")
def test_any_bounds(name: str, i: int, j: int) -> None:
    assert_same(outcome(_COMPILED[name], X, Y, A, i, j), outcome(ALL[name], X, Y, A, i, j))


def loss_of(function: Function) -> Function:
    def loss(x: Any, y: Any, a: Any, i: Any, j: Any) -> Any:
        made = function(x, y, a, i, j)
        parts = made if isinstance(made, tuple) else (made,)
        return sum(np.sum(np.sin(part)) for part in parts)

    return loss


DIFFERENTIATED = {**READ, **{f"{name}_of": f for name, f in COMPUTED.items()}, **WRITTEN}


@pytest.mark.parametrize("name", DIFFERENTIATED)
@pytest.mark.parametrize(("i", "j"), [(2, 5), (0, 3), (4, 4)])
def test_derivatives(name: str, i: int, j: int) -> None:
    """Against differences; in reverse and forwards."""
    loss, step = loss_of(DIFFERENTIATED[name]), 1e-6
    if outcome(loss, X, Y, A, i, j) is None:
        assert outcome(wf.jit(loss), X, Y, A, i, j) is None
        return
    made = wf.jit(wf.grad(loss, (0, 1, 2)))(X, Y, A, i, j)
    arrays = [X, Y, A]
    for number, array in enumerate(arrays):
        wanted = np.zeros(array.size)
        for place in range(array.size):
            ends = []
            for sign in (1, -1):
                moved = [part.copy() for part in arrays]
                moved[number].reshape(-1)[place] += sign * step
                ends.append(loss(*moved, i, j))
            wanted[place] = (ends[0] - ends[1]) / (2 * step)
        np.testing.assert_allclose(made[number].reshape(-1), wanted, atol=2e-5)
    tangents = tuple([np.cos(np.arange(part.size)).reshape(part.shape) for part in arrays])
    along = wf.jvp(lambda x, y, a: loss(x, y, a, i, j), (X, Y, A), tangents)[1]
    products = [np.sum(g * t) for g, t in zip(made, tangents, strict=True)]
    np.testing.assert_allclose(along, np.sum(products), rtol=1e-9, atol=1e-9)


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value")
@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_lanes_with_bounds_of_their_own(name: str) -> None:
    loss = loss_of(DIFFERENTIATED[name])
    pairs = [(0, 3), (2, 5), (4, 4), (1, 1), (6, 7), (3, 0)]
    possible = [pair for pair in pairs if outcome(loss, X, Y, A, *pair) is not None]
    bounds = np.array(possible)
    made = wf.vmap(loss, in_axes=(None, None, None, 0, 0))(X, Y, A, bounds[:, 0], bounds[:, 1])
    np.testing.assert_allclose(made, [loss(X, Y, A, *pair) for pair in possible], rtol=1e-11)


def test_no_derivative_comes_from_what_was_not_chosen() -> None:
    """Not even where the slope there is infinite, or nothing is chosen at all."""
    x = np.array([0.0, 0.0, 2.0, 3.0])

    def loss(x: Any, c: Any, i: Any) -> Any:
        return np.log(x[i:] * c).sum() + np.sqrt(x[i:]).sum() + (c / x[i:]).sum()

    made = wf.jit(wf.grad(loss, (0, 1)))
    for i in (2, 3, 4):
        by_x, by_c = made(x, 2.0, i)
        own = x[i:]
        wanted = np.zeros(4)
        wanted[i:] = 1 / own + 0.5 / np.sqrt(own) - 2 / own**2
        np.testing.assert_allclose(by_x, wanted)
        np.testing.assert_allclose(by_c, len(own) / 2 + (1 / own).sum())


def test_symbolic_sizes() -> None:
    graph = wf.trace(lambda x, i: (x[:i] * 2).sum() + x[i:].max())(
        wf.spec("f64[n]"), wf.spec("i64[]")
    )
    for size in (3, 6):
        x = RANDOM.normal(size=size)
        (made,) = wf.evaluate(graph, [x, np.array(2)])
        np.testing.assert_allclose(made, x[:2].sum() * 2 + x[2:].max())


def test_bounds_of_any_integer_dtype() -> None:
    cut = wf.jit(lambda x, i: x[:i])
    for dtype in (np.int8, np.int32, np.uint8, np.uint64):
        assert_same(cut(X, np.array(3, dtype)), X[:3])


def test_a_step_has_to_be_known() -> None:
    with pytest.raises(wf.TraceError, match="step of a slice"):
        wf.jit(lambda x, k: x[::k])(X, np.int64(2))
    with pytest.raises(wf.TraceError, match="integer"):
        wf.jit(lambda x, k: x[:k])(X, 2.5)


def test_branches_and_loops_carry_them() -> None:
    def carried(x: Any, i: Any) -> Any:
        part = wf.cond(i > 3, lambda: x[:i], lambda: x[: i + 1] * 2)
        return wf.fori_loop(0, 4, lambda _, p: p * 0.5 + 1, part)

    for i in (2, 5):
        wanted = X[:i] if i > 3 else X[: i + 1] * 2
        for _ in range(4):
            wanted = wanted * 0.5 + 1
        assert_same(wf.jit(carried)(X, i), wanted)
