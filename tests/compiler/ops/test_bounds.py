"""Indices out of range: what gather and scatter say when they run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.compiler.ops.sample import Array
from weft.compiler.ir.build import Builder
from weft.compiler.ir.errors import BoundsError
from weft.compiler.ir.evaluate import evaluate
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ir.types import type_of
from weft.compiler.ops.indexing import gather, scatter


def run(op: OpDef, *operands: Array, **attributes: Any) -> Array:
    builder = Builder()
    results = builder.emit(op, [builder.parameter(type_of(x)) for x in operands], attributes)
    return evaluate(builder.graph("f", results), operands)[0]


@pytest.mark.parametrize("index", [3, -4, 100, np.int64(-(2**63)), np.uint64(2**64 - 1)], ids=str)
def test_raise_names_index_axis_and_size(index: Any) -> None:
    indices = np.array([0, index], np.asarray(index).dtype)
    message = f"index {index} is out of range for axis 1 of size 3"
    with pytest.raises(BoundsError, match=message):
        run(gather, np.zeros((2, 3)), indices, axes=(1,))
    with pytest.raises(BoundsError, match=message):
        run(scatter, np.zeros((2, 3)), np.zeros((2, 2)), indices, axes=(1,), kind="add")


def test_the_first_bad_index_in_row_major_order_is_named() -> None:
    indices = np.array([[0, 1], [7, 9]])
    with pytest.raises(BoundsError, match="index 7 is out of range for axis 0 of size 2"):
        run(gather, np.zeros(2), indices, axes=(0,))


def test_bounds_hold_per_batch_axis_too() -> None:
    with pytest.raises(BoundsError, match="index 5 is out of range for axis 1 of size 3"):
        run(gather, np.zeros((2, 3)), np.array([[0], [5]]), axes=(1,), batch_dims=1)


@pytest.mark.parametrize("mode", ["raise", "clip"])
def test_an_empty_axis_has_nothing_to_read(mode: str) -> None:
    with pytest.raises(BoundsError, match="axis 0 of size 0"):
        run(gather, np.zeros((0, 3)), np.array([0]), axes=(0,), mode=mode)


def test_a_failed_scatter_leaves_its_operand_alone() -> None:
    operand = np.zeros(2)
    with pytest.raises(BoundsError):
        run(scatter, operand, np.ones(2), np.array([0, 2]), axes=(0,), kind="set")
    assert not operand.any()
