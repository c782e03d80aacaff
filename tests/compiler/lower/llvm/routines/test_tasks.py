"""Routines that are divided among threads: the order of tasks and the number of rows are free."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.compiler.lower.llvm.routines.running import (
    Native,
    assert_same_bits,
    reference,
    run,
)
from weft.compiler.ir import dtypes
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ops import cumulative as cumulative_ops
from weft.compiler.ops import ordering as ordering_ops
from weft.compiler.ops.fft import fft


@pytest.mark.parametrize(
    "definition,shape,attributes",
    [
        (ordering_ops.sort, (400, 70), {"axis": 1}),
        (ordering_ops.sort, (40, 900), {"axis": 1}),
        (cumulative_ops.cumsum, (900, 70), {"axis": 1}),
        (fft, (300, 45), {"kind": "rfft", "axes": (1,)}),
        (fft, (40, 260), {"kind": "rfft", "axes": (0, 1)}),
    ],
)
def test_results_do_not_depend_on_the_order_of_tasks(
    definition: OpDef, shape: tuple[int, ...], attributes: dict[str, Any]
) -> None:
    x = np.random.default_rng(25).standard_normal(shape)
    scattered = Native(definition, ((dtypes.f64, 2),), attributes)
    assert_same_bits(scattered(x), run(definition, [x], attributes, dynamic=True))


@pytest.mark.parametrize(
    "definition,inner,attributes",
    [
        (ordering_ops.sort, 20, {"axis": 1}),
        (ordering_ops.sort, 7, {"axis": 0}),
        (ordering_ops.top_k, 300, {"axis": 1, "k": 3}),
        (cumulative_ops.cumsum, 21, {"axis": 0}),
        (cumulative_ops.cumsum, 21, {"axis": 1}),
        (fft, 30, {"kind": "rfft", "axes": (1,)}),
        (fft, 130, {"kind": "rfft", "axes": (1,)}),
        (fft, 67, {"kind": "rfft", "axes": (0, 1)}),
    ],
)
def test_number_of_rows_may_be_known_later(
    definition: OpDef, inner: int, attributes: dict[str, Any]
) -> None:
    routine = Native(definition, ((dtypes.f64, 2),), attributes, inner)
    for count in (0, 1, 5, 40):
        x = np.random.default_rng(26).standard_normal((count, inner))
        for made, wanted in zip(routine(x), reference(definition, [x], attributes), strict=True):
            np.testing.assert_allclose(made, wanted, rtol=1e-13, atol=1e-13)
