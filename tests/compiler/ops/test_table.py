"""Runs every row of the op tables: type rule, verifier, reference against the row's oracle, text
round trip.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tests.compiler.ops
from tests.compiler.ops.sample import BadSample, Sample
from weft.compiler.ir.build import Builder
from weft.compiler.ir.evaluate import evaluate
from weft.compiler.ir.graph import Graph, Value
from weft.compiler.ir.identity import structurally_equal
from weft.compiler.ir.reader import parse_type
from weft.compiler.ir.types import type_of
from weft.compiler.ops import TABLE, control
from weft.compiler.parsing import parse

Array = np.ndarray[Any, Any]

TABLES = [
    importlib.import_module(f"tests.compiler.ops.{module.name}")
    for module in pkgutil.iter_modules(tests.compiler.ops.__path__)
    if module.name.startswith("rows_")
]
ROWS: list[Sample] = [row for table in TABLES for row in table.ROWS]
BAD: list[BadSample] = [row for table in TABLES for row in getattr(table, "BAD", [])]
ROWS_BY_OP = {name: [row for row in ROWS if row.op.name == name] for name in TABLE}


def build(row: Sample) -> Graph:
    builder = Builder()
    operands: list[Value] = [
        builder.parameter(type_of(np.asarray(x)), f"x{i}") for i, x in enumerate(row.operands)
    ]
    return builder.graph("row", builder.emit(row.op, operands, row.attributes))


def assert_same(actual: Array, row: Sample, expected: Any) -> None:
    expected = np.asarray(expected)
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    if actual.dtype == ml_dtypes.bfloat16:
        actual, expected = actual.astype(np.float32), expected.astype(np.float32)
    if actual.dtype.kind in "biu":
        # assert_allclose compares integers as f64, which cannot tell large ones apart.
        np.testing.assert_array_equal(actual, expected)
        return
    np.testing.assert_allclose(actual, expected, rtol=row.rtol, atol=row.atol, equal_nan=True)
    if row.rtol == row.atol == 0 and actual.dtype.kind == "f":
        np.testing.assert_array_equal(
            np.signbit(actual) & (actual == 0), np.signbit(expected) & (expected == 0)
        )


@pytest.mark.parametrize("name", [name for name, op in TABLE.items() if op not in control.OPS])
def test_op_computes_what_its_rows_say(name: str) -> None:
    rows = ROWS_BY_OP[name]
    assert rows, f"{name} has no row in tests/compiler/ops/rows_*.py"
    for row in rows:
        graph = build(row).verify()
        before = [np.array(x) for x in row.operands]
        operands = [np.asarray(x) for x in row.operands]
        results = evaluate(graph, operands)
        expected = row.expected if isinstance(row.expected, tuple) else (row.expected,)
        try:
            assert len(results) == len(expected)
            for result, value in zip(results, expected, strict=True):
                assert_same(result, row, value)
            for operand, original in zip(operands, before, strict=True):
                assert operand.tobytes() == original.tobytes(), "the operand was written to"
            assert structurally_equal(parse(graph.text(), graph.constant_table()), graph)
        except AssertionError as error:
            raise AssertionError(f"{row}: {error}") from error


@pytest.mark.parametrize("row", BAD, ids=str)
def test_type_rule_refuses(row: BadSample) -> None:
    builder = Builder()
    operands = [builder.parameter(parse_type(text)) for text in row.operand_types]
    with pytest.raises(row.error, match=row.match):
        builder.emit(row.op, operands, row.attributes)
