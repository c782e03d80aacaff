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
