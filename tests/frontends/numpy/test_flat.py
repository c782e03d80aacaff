"""`x.flat` and `x.shape = ...` of traced arrays, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft as wf

MATRIX = np.arange(6.0).reshape(2, 3) + 0.5
KEYS: dict[str, Any] = {
    "number": 3,
    "negative": -1,
    "slice": slice(1, 5, 2),
    "all": slice(None),
    "places": [4, 0, 4],
    "mask": np.array([True, False, True, True, False, False]),
}


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("is_view", [False, True])
def test_elements_are_read(key: str, is_view: bool) -> None:
    def read(x: Any) -> Any:
        return (x.T if is_view else x).flat[KEYS[key]]

    np.testing.assert_array_equal(wf.jit(read)(MATRIX), read(MATRIX))


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("is_view", [False, True])
@pytest.mark.parametrize("new", [7.0, [1.0], [8.0, 9.0], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]])
def test_elements_are_written(key: str, is_view: bool, new: Any) -> None:
    def written(x: Any) -> Any:
        y = x.copy()
        z = y.T if is_view else y
        z.flat[KEYS[key]] = new
        return y

    if isinstance(KEYS[key], int) and np.ndim(new):
        with pytest.raises(ValueError):
            written(MATRIX)
        if len(new) > 1:
            with pytest.raises(wf.TraceError):
                wf.jit(written)(MATRIX)
        return
    np.testing.assert_array_equal(wf.jit(written)(MATRIX), written(MATRIX))


def test_what_is_read_is_a_copy() -> None:
    def written(x: Any) -> Any:
        y = x.copy()
        part = y.flat[1:]
        part[0] = 100.0
        return y, part

    for made, expected in zip(wf.jit(written)(MATRIX), written(MATRIX), strict=True):
        np.testing.assert_array_equal(made, expected)


def test_all_elements_are_set() -> None:
    def written(x: Any) -> Any:
        y = x.copy()
        y.flat = [1.0, 2.0]
        return y

    np.testing.assert_array_equal(wf.jit(written)(MATRIX), written(MATRIX))


def test_functions_comparisons_and_length() -> None:
    def read(x: Any) -> Any:
        return np.sum(x.flat), x.flat > 2.0, len(x.flat), x.flat.copy(), x.flat.base

    for made, expected in zip(wf.jit(read)(MATRIX), read(MATRIX), strict=True):
        np.testing.assert_array_equal(made, expected)


def test_an_iterator_is_used_once() -> None:
    def twice(x: Any) -> Any:
        elements = x.flat
        return sum(elements) + sum(elements)

    with pytest.raises(wf.TraceError, match=r"write x\.flat again"):
        wf.jit(twice)(MATRIX)


def test_derivative() -> None:
    def loss(x: Any) -> Any:
        y = x * 2.0
        y.flat[1::2] = 0.0
        return sum(v * v for v in y.flat)

    expected = np.where(np.arange(6).reshape(2, 3) % 2, 0.0, 8.0 * MATRIX)
    np.testing.assert_allclose(wf.grad(loss)(MATRIX), expected)


# --- x.shape = ... --------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(3, 2), -1, (1, 6, 1), (2, -1)])
def test_all_names_see_a_new_shape(shape: Any) -> None:
    def reshaped(x: Any) -> Any:
        y = x * 1.0
        row, other = y[0], y
        y.shape = shape
        row[1] = 50.0
        y[0] += 1.0
        return y, other, row

    for made, expected in zip(wf.jit(reshaped)(MATRIX), reshaped(MATRIX), strict=True):
        np.testing.assert_array_equal(made, expected)


def test_a_view_with_a_new_shape_stays_a_view() -> None:
    def reshaped(x: Any) -> Any:
        y = x * 1.0
        part = y[:1]
        part.shape = (3,)
        part[1] = 50.0
        y[0, 0] = 3.0
        return y, part

    for made, expected in zip(wf.jit(reshaped)(MATRIX), reshaped(MATRIX), strict=True):
        np.testing.assert_array_equal(made, expected)


def test_a_view_that_would_have_to_be_copied() -> None:
    def reshaped(x: Any) -> Any:
        y = (x * 1.0).T
        y.shape = (6,)
        return y

    for function in (reshaped, wf.jit(reshaped)):
        with pytest.raises(AttributeError, match=r"(?i)incompatible shape"):
            function(MATRIX)


def test_an_argument_keeps_its_shape() -> None:
    def reshaped(x: Any) -> Any:
        x.shape = (6,)
        return x

    with pytest.raises(wf.TraceError, match=r"x\.reshape"):
        wf.jit(reshaped)(MATRIX)


def test_shapes_do_not_depend_on_values() -> None:
    def reshaped(x: Any, p: Any) -> Any:
        y = x * 1.0
        if p > 0:
            y.shape = (6,)
        return y.sum()

    with pytest.raises(wf.TraceError, match="branch or loop"):
        wf.jit(reshaped, control_flow=True)(MATRIX, 1.0)
