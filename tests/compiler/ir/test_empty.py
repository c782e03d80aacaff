from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft as wf


def masked_sum_of_rows(b: Any, i: Any, j: Any) -> Any:
    part = b[np.ix_(i, j)]
    return part[part > 3].sum(), part.reshape(-1).sum(), (part * 2).sum(0)


@pytest.mark.parametrize("optimise", [True, False])
@pytest.mark.parametrize("shape", [(3, 0), (3, 1), (3, 2)])
@pytest.mark.parametrize("empty", ["columns", "rows", "both"])
def test_no_index_of_an_array_without_elements_is_looked_at(
    shape: tuple[int, int], empty: str, optimise: bool
) -> None:
    b, none = np.full(shape, 4.0), np.array([], int)
    i = none if empty != "columns" else np.array([1, 2])
    j = none if empty != "rows" else np.arange(shape[1])
    f = wf.jit(masked_sum_of_rows, optimise=optimise)
    for made, expected in zip(f(b, i, j), masked_sum_of_rows(b, i, j), strict=True):
        np.testing.assert_array_equal(made, expected)


def test_calls_without_results_that_matter_are_still_made() -> None:
    seen = []

    def noted(x: Any) -> Any:
        seen.append(x.shape)
        return x[:0]

    f = wf.jit(lambda x: wf.callback(noted, wf.spec("f64[0]"), x).sum() + x.sum())
    assert f(np.ones(3)) == 3.0 and seen == [(3,)]


def set_item(x: Any, i: Any) -> Any:
    x = x.copy()
    x[i] = 1.0
    return x


def add_to_item(x: Any, i: Any) -> Any:
    x = x.copy()
    x[i] += 1.0
    return x


def add_at(x: Any, i: Any) -> Any:
    x = x.copy()
    np.add.at(x, i, 1.0)
    return x


def put(x: Any, i: Any) -> Any:
    x = x.copy()
    np.put(x, i, 1.0)
    return x


@pytest.mark.parametrize("size", ["known", "symbolic"])
@pytest.mark.parametrize("write", [set_item, add_to_item, add_at, put])
def test_there_is_no_place_in_an_array_without_elements(write: Any, size: str) -> None:
    specs = None if size == "known" else ["f64[n>=0]", "i64[m>=0]"]
    f = wf.jit(write, specs=specs)
    nothing, none = np.zeros(0), np.zeros(0, int)
    assert f(nothing, none).shape == (0,)
    for run in (write, f):
        with pytest.raises(IndexError):
            run(nothing, np.array([0]))
