"""Which axes are which after a reshape."""

from __future__ import annotations

import pytest

from weft.compiler.ir import dims
from weft.compiler.ir.axes import matching_axes
from weft.compiler.ir.dims import Size

N = dims.symbol("n")


@pytest.mark.parametrize(
    ("shape", "target", "runs"),
    (
        ((6, 4), (2, 3, 4), [([0], [0, 1]), ([1], [2])]),
        ((2, 3, 4), (6, 2, 2), [([0, 1], [0]), ([2], [1, 2])]),
        ((4, 6), (6, 4), [([0, 1], [0, 1])]),
        ((N, 6), (N, 2, 3), [([0], [0]), ([1], [1, 2])]),
        ((N, 2), (2 * N,), [([0, 1], [0])]),
        ((), (), []),
    ),
)
def test_runs_are_as_short_as_possible(
    shape: tuple[Size, ...], target: tuple[Size, ...], runs: list[tuple[list[int], list[int]]]
) -> None:
    assert matching_axes(shape, target) == runs
