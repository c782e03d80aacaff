"""Which ops can be computed block by block."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft as wf
from weft.compiler.passes.blocking.views import BlockView, operand_views, result_view


@pytest.mark.parametrize(
    ("before", "after"),
    [((2, 0), (0,)), ((0,), (3, 0, 2)), ((0, 5), (5, 0)), ((0, 1), (1, 0, 7))],
    ids=str,
)
def test_empty_arrays_have_no_blocks(before: tuple[int, ...], after: tuple[int, ...]) -> None:
    (op,) = wf.parse(
        f"weft 1\ngraph @f(%x: f32{list(before)}) {{\n"
        f"  %0: f32{list(after)} = reshape(%x) {{shape={list(after)}}}\n  return %0\n}}\n"
    ).region.ops
    assert operand_views(op, BlockView(after, tuple(range(len(after))))) is None
    assert result_view(op, 0, BlockView(before, tuple(range(len(before))))) is None


@pytest.mark.parametrize("axis", [0, 1])
def test_a_product_with_an_empty_and_a_full_reader(axis: int) -> None:
    x = np.arange(6.0).reshape(2, 3)

    @wf.jit
    def both(x: Any) -> Any:
        return np.repeat(x @ x.T, 0, axis=axis), np.abs(x @ x.T)

    empty, full = both(x)
    assert empty.shape == ((0, 2) if axis == 0 else (2, 0))
    np.testing.assert_allclose(full, np.abs(x @ x.T))
