"""Runs the checks of `checking` over rows of the op tables, each only as often as it can differ.

Types are checked for every row, differences for every row in double. What depends on the structure
of a rule and not on numbers (transposes, second order, batching, symbolic sizes) is checked once
per operand shapes and attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from tests.compiler.ops.sample import Sample
from tests.compiler.transforms import checking
from weft.compiler.ir.dtypes import dtype, f64


def rows_by_op(*tables: ModuleType) -> dict[str, list[Sample]]:
    """The rows of op tables under the names of their ops."""
    found: dict[str, list[Sample]] = {}
    for table in tables:
        for row in table.ROWS:
            found.setdefault(row.op.name, []).append(row)
    return found


def check_rows(rows: Sequence[Sample], *, atol: float = 0.0) -> int:
    """All checks over the rows of one op; returns how many tangents were compared."""
    compared, seen = 0, set()
    for row in rows:
        try:
            checking.check_types(row.op, row.operands, row.attributes)
            if not _is_double(row):
                continue
            compared += checking.check_jvp(row.op, row.operands, row.attributes, atol=atol)
            if _structure(row) not in seen:
                seen.add(_structure(row))
                _check_structure(row, atol)
        except AssertionError as error:
            raise AssertionError(f"{row} {row.attributes}: {error}") from error
    return compared


def _check_structure(row: Sample, atol: float) -> None:
    checking.check_vjp(row.op, row.operands, row.attributes)
    checking.check_second_order(row.op, row.operands, row.attributes, atol=atol)
    checking.check_batch(row.op, row.operands, row.attributes)
    checking.check_symbolic(row.op, row.operands, row.attributes)


def _is_double(row: Sample) -> bool:
    """Whether no operand is of a float narrower than double, which would repeat another row."""
    kinds = [dtype(np.asarray(x).dtype) for x in row.operands]
    return all(kind.real is f64 or not kind.is_inexact for kind in kinds)


def _structure(row: Sample) -> Any:
    shapes = [(np.asarray(x).dtype.kind, np.shape(x)) for x in row.operands]
    return repr((shapes, row.attributes))
