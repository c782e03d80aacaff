"""Every routine computes what the rows of the op tables say, which have oracles of their own."""

from __future__ import annotations

import numpy as np
import pytest

from tests.compiler.lower.llvm.routines.guarding import ROUTINES, assert_close, native
from tests.compiler.lower.llvm.routines.running import run
from tests.compiler.ops import (
    rows_contraction,
    rows_convolution,
    rows_cumulative,
    rows_fft,
    rows_linalg,
    rows_ordering,
    rows_window,
)
from tests.compiler.ops.sample import Sample
from tests.compiler.ops.test_table import assert_same

EXACT_ROWS: list[Sample] = [*rows_ordering.ROWS, *rows_cumulative.ROWS, *rows_fft.ROWS]
ROWS: list[Sample] = [
    *rows_contraction.ROWS,
    *rows_convolution.ROWS,
    *rows_window.ROWS,
    *rows_linalg.ROWS,
]


# --- orderings, cumulative ops and Fourier transforms --------------------------------------------


def check_exact_row(row: Sample, dynamic: bool) -> None:
    arrays = [np.asarray(x) for x in row.operands]
    made = run(row.op, arrays, row.attributes, dynamic)
    expected = row.expected if isinstance(row.expected, tuple) else (row.expected,)
    for result, value in zip(made, expected, strict=True):
        assert_same(result, row, value)


@pytest.mark.parametrize("row", EXACT_ROWS[::20], ids=str)
def test_routine_computes_what_some_rows_say(row: Sample) -> None:
    check_exact_row(row, dynamic=False)


@pytest.mark.slow
@pytest.mark.parametrize("dynamic", [False, True])
def test_routine_computes_what_all_rows_say(dynamic: bool) -> None:
    for row in EXACT_ROWS:
        try:
            check_exact_row(row, dynamic)
        except AssertionError as error:
            raise AssertionError(f"{row}\n{error}") from None


# --- contractions, convolutions, windows and linear algebra -------------------------------------


def check_row(row: Sample, dynamic: bool) -> None:
    operands = [np.asarray(x) for x in row.operands]
    made = native(row.op, operands, row.attributes, dynamic)
    expected = row.expected if isinstance(row.expected, tuple) else (row.expected,)
    for got, want in zip(made, expected, strict=True):
        assert_close(got, np.asarray(want), max(row.rtol, row.atol), str(row))


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("name", ROUTINES)
@pytest.mark.usefixtures("guarded")
def test_some_rows_of_each_op(name: str, dynamic: bool) -> None:
    rows = [row for row in ROWS if row.op.name == name]
    for row in rows[dynamic :: max(len(rows) // 3, 1)]:
        check_row(row, dynamic)


@pytest.mark.slow
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("row", ROWS, ids=str)
@pytest.mark.usefixtures("guarded")
def test_rows(row: Sample, dynamic: bool) -> None:
    check_row(row, dynamic)
