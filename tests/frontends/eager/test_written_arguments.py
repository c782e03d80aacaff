"""Functions that write to an argument: eager arrays have what was written, as NumPy's do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft.numpy as wnp

WRITES: dict[str, Callable[[Any], Any]] = {
    "put": lambda a: np.put(a, [0, 4], [5.0, 6.0]),
    "place": lambda a: np.place(a, np.asarray(a) > 4, [1.0, 2.0]),
    "putmask": lambda a: np.putmask(a, a > 4, 2.0),
    "copyto": lambda a: np.copyto(a, 2.0),
    "copyto of itself": lambda a: np.copyto(a, a.T),
    "fill_diagonal": lambda a: np.fill_diagonal(a, 7.0),
    "put_along_axis": lambda a: np.put_along_axis(a, np.array([[0], [1], [2]]), 9.0, 1),
    "at": lambda a: np.add.at(a, [0, 0, 2], 1.0),
    "out of a ufunc": lambda a: np.add(a, 1.0, out=a),
    "out by position": lambda a: np.multiply(a, a, a),
    "out with where": lambda a: np.negative(a, out=a, where=np.asarray(a) > 3),
    "out of a reduction": lambda a: np.sum(np.ones((3, 3, 2)), axis=2, out=a),
    "out of a cumulative sum": lambda a: np.cumsum(a, axis=0, out=a),
    "fill": lambda a: a.fill(3.0),
    "sort": lambda a: a.sort(axis=0),
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("is_computed", [False, True])
def test_written_argument_is_that_of_numpy(name: str, is_computed: bool) -> None:
    start = np.array([[3.0, 8.0, 1.0], [4.0, 0.0, 5.0], [7.0, 2.0, 6.0]])
    eager, plain = wnp.asarray(start) * 1.0, start.copy()
    if is_computed:
        eager.block_until_ready()
    later = eager * 2.0  # made before the write, computed after it
    result, expected = WRITES[name](eager), WRITES[name](plain)
    np.testing.assert_array_equal(np.asarray(eager), plain)
    np.testing.assert_array_equal(np.asarray(later), start * 2.0)
    assert (result is eager) == (expected is plain)


def test_arrays_of_numpy_are_written_too() -> None:
    out = np.zeros(3)
    result = np.add(wnp.asarray(np.arange(3.0)) * 1.0, 1.0, out=out)
    assert result is out
    np.testing.assert_array_equal(out, [1.0, 2.0, 3.0])


def test_array_that_was_given_stays() -> None:
    given = np.arange(4.0)
    eager = wnp.asarray(given)
    np.put(eager, [0], 9.0)
    assert given[0] == 0.0 and eager[0] == 9.0
