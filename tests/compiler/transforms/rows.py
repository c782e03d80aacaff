"""Rows of the op tables for chosen checks, where `tables.check_rows` would ask too much: ops whose
attributes hold sizes cannot have those of the operands replaced by symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tests.compiler.ops.sample import Sample
from tests.compiler.transforms.checking import Array, tame


def differentiable(rows: Iterable[Sample]) -> list[Sample]:
    """The rows with a floating-point operand, one of those that differ in values or width only:
    checks widen operands, and take the values as they come.
    """
    found: dict[object, Sample] = {}
    for row in rows:
        arrays = tame(row.operands)
        if any(is_inexact(array) for array in arrays):
            types = [(array.dtype.kind, array.shape) for array in arrays]
            found.setdefault((row.op.name, repr(types), repr(row.attributes)), row)
    return list(found.values())


def is_inexact(array: Array) -> bool:
    return array.dtype.kind in "fc"


def check_each(rows: Iterable[Sample], *checks: Callable[..., Any]) -> None:
    """Apply checks to the op, operands and attributes of each row; a failure names the row."""
    for row in rows:
        for check in checks:
            try:
                check(row.op, row.operands, row.attributes)
            except Exception as error:
                raise AssertionError(f"{check.__name__} of {row}: {error}") from error
