"""Derivative and batching rules of sparse_dot: rows of its table, and what they consist of."""

from __future__ import annotations

import numpy as np
import pytest

from tests.compiler.ops import rows_sparse
from tests.compiler.transforms.checking import (
    Array,
    check_batch,
    check_jvp,
    check_second_order,
    check_types,
    check_vjp,
    rolled,
    trace,
    vjp_region,
)
from weft.compiler.ir.dtypes import c128, f64
from weft.compiler.ir.types import ArrayType, type_of
from weft.compiler.ops.sparse import sparse_dot


def other_lines(operand: Array, number: int) -> Array:
    """Operands of a batch: offsets must rise, others may be rolled."""
    if operand.dtype.kind != "i" or len(operand) != len(rows_sparse.OFFSETS):
        return rolled(operand, number)
    return np.array([0, number, 2, 4, 5 + number, 7]) if number else operand


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("columns", [(), (3,)])
def test_rules(columns: tuple[int, ...], transposed: bool) -> None:
    for dtype in (f64, c128):
        row = rows_sparse.row(dtype, columns, transposed)
        for check in (check_types, check_jvp, check_vjp, check_second_order):
            check(row.op, row.operands, row.attributes)
        check_batch(row.op, row.operands, row.attributes, vary=other_lines)


def test_the_rules_of_edges() -> None:
    for row in rows_sparse.edges():
        for check in (check_types, check_jvp, check_vjp, check_batch):
            check(row.op, row.operands, row.attributes)


def test_the_gradient_of_x_is_the_product_with_the_matrix_transposed() -> None:
    row = rows_sparse.row(f64, (), False)
    region = trace(sparse_dot, [type_of(x) for x in row.operands], row.attributes)
    made = vjp_region(region, [False, False, False, True], [True])
    (product,) = [op for op in made.ops if op.name == "sparse_dot" and op.attributes["transposed"]]
    assert product.results[0].type == ArrayType(f64, np.shape(row.operands[3]))
