"""What records say to the loop program agrees with their references: index maps, views, pieces,
rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.compiler.ops.sample import Array, Sample
from tests.compiler.ops.test_table import ROWS, build
from weft.compiler.ir.graph import Constant, Op, Value
from weft.compiler.ir.index.affine import Guard, Index, Place, constant, row_major
from weft.compiler.ir.index.expression import (
    Choose,
    Expression,
    Literal,
    Position,
    Quotient,
    Ref,
    Resolved,
    Start,
)
from weft.compiler.ir.opdef import Trait
from weft.compiler.loops.maps import is_view
from weft.compiler.ops import TABLE


class Reader:
    """Expressions of elements, evaluated on the operands of a sample."""

    def __init__(self, op: Op, arrays: list[Array]) -> None:
        self.arrays: dict[Value, Array] = dict(zip(op.operands, arrays, strict=True))

    def element(self, expression: Expression) -> Any:
        match expression:
            case Ref():
                at = tuple(self.index(index) for index in expression.place.indices)
                array = self._array(expression.value)
                assert all(0 <= i < size for i, size in zip(at, array.shape, strict=True))
                return array[at]
            case Literal():
                return expression.array[()]
            case Position():
                return np.asarray(self.index(expression.index)).astype(expression.dtype.numpy)
            case Choose():
                inside = all(map(self._holds, expression.guards))
                return self.element(expression.inside if inside else expression.outside)
            case _:
                raise AssertionError(f"{expression} is no element of these ops")

    def index(self, index: Index) -> int:
        assert not index.terms, "no loops were given"
        extras = [int(size) * self._number(extra) for size, extra in index.extras]
        return int(index.constant) + sum(extras)

    def _holds(self, guard: Guard) -> bool:
        return int(guard.low) <= self.index(guard.index) < int(guard.high)

    def _number(self, extra: Expression) -> int:
        match extra:
            case Quotient():
                return self.index(extra.index) // int(extra.divisor)
            case Start():
                return int(np.clip(int(self.element(extra.position)), 0, int(extra.limit)))
            case Resolved():
                number, size = int(self.element(extra.position)), int(extra.size)
                number += size if number < 0 else 0
                return int(np.clip(number, 0, size - 1)) if extra.mode == "clip" else number
            case _:
                raise AssertionError(f"{extra} is no part of an index")

    def _array(self, value: Value) -> Array:
        return np.asarray(value.array) if isinstance(value, Constant) else self.arrays[value]


def places(shape: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], Place]]:
    for at in product(*map(range, shape)):
        yield at, Place(tuple([constant(i) for i in at]))


def samples(name: str) -> Iterator[tuple[Sample, Op, list[Array]]]:
    for row in ROWS:
        if row.op.name == name and np.size(row.expected) < 500:
            yield row, build(row).ops[0], [np.asarray(x) for x in row.operands]


@pytest.mark.parametrize("name", [name for name, op in TABLE.items() if op.index_map is not None])
def test_index_map_finds_the_elements_of_the_result(name: str) -> None:
    index_map = TABLE[name].index_map
    assert index_map is not None
    count = 0
    for row, op, arrays in samples(name):
        if any(not isinstance(size, int) for size in op.result.type.shape):
            continue
        reader, expected = Reader(op, arrays), np.asarray(row.expected)
        for at, place in places(expected.shape):
            found = reader.element(index_map(op, 0, place))
            assert np.array_equal(found, expected[at], equal_nan=expected.dtype.kind in "fc"), row
            count += 1
    assert count, f"{name} has no sample with elements"


@pytest.mark.parametrize("name", [name for name, op in TABLE.items() if op.view is not None])
def test_view_reads_the_result_from_the_operands_array(name: str) -> None:
    view = TABLE[name].view
    assert view is not None
    count = 0
    for row, op, (x,) in samples(name):
        if not is_view(op):
            continue
        offset, strides = view.strides(op, 0, row_major(x.shape))
        flat, expected = np.ascontiguousarray(x).reshape(-1), np.asarray(row.expected)
        for at, _ in places(expected.shape):
            index = int(offset) + sum(i * int(s) for i, s in zip(at, strides, strict=True))
            assert np.array_equal(
                flat[index], expected[at], equal_nan=expected.dtype.kind in "fc"
            ), row
            count += 1
    assert count, f"{name} has no sample that is a view"


@pytest.mark.parametrize("name", ["concatenate", "dynamic_update_slice"])
def test_pieces_are_the_whole_result(name: str) -> None:
    writes = TABLE[name].memory.writes
    assert writes is not None and writes.combine is None
    for row, op, arrays in samples(name):
        expected = np.asarray(row.expected)
        reader = Reader(op, arrays)
        result = np.zeros_like(expected) if writes.base is None else np.array(arrays[writes.base])
        for operand, target in writes.pieces(op):
            for at, place in places(tuple(int(size) for size in operand.type.shape)):
                goal = tuple([reader.index(index) for index in target(place).indices])
                result[goal] = reader.arrays[operand][at]
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("name", [name for name, op in TABLE.items() if op.consumers is not None])
def test_rows_and_terms_are_the_work(name: str) -> None:
    contract, work = TABLE[name].consumers, TABLE[name].work
    assert contract is not None and work is not None
    for row in ROWS:
        if row.op.name == name:
            op = build(row).ops[0]
            rows, columns, terms = contract.rows(op)
            assert rows * columns == op.results[0].type.size
            assert work(op) == rows * columns * terms


def test_reductions_name_their_combiner() -> None:
    for op in TABLE.values():
        assert (op.combiner is not None) == (Trait.REDUCTION in op.traits)
