"""Arrays that count: which are known to, and that none wraps around."""

from __future__ import annotations

import pytest

from tests.compiler.ir.making import graph, number, ops
from weft.compiler.ir import dtypes
from weft.compiler.ir.graph import Value
from weft.compiler.ops.counters import ArrayCounter, counter_of


def counter(dtype: str, length: int, start: int, step: int, *, turned: bool) -> Value:
    counted = ops.iota(dtype=dtypes.named(dtype), shape=(length,), axis=0)
    scaled = ops.mul(number(step, dtype), counted)
    known = number(start, dtype)
    return ops.sub(known, scaled) if turned else ops.add(scaled, known)


@pytest.mark.parametrize(
    ("dtype", "length", "start", "step", "turned", "counts"),
    [
        ("i64", 1000, 3, 2, False, True),
        ("i64", 1000, 999, 1, True, True),
        ("i8", 100, 0, 1, False, True),
        ("i8", 100, 30, 1, False, False),
        ("u8", 100, 50, 1, True, False),
        ("u8", 0, 50, 1, True, True),
    ],
)
def test_ranges_count_where_they_do_not_wrap_around(
    dtype: str, length: int, start: int, step: int, turned: bool, counts: bool
) -> None:
    made = graph({}, lambda: counter(dtype, length, start, step, turned=turned))
    (value,) = made.results
    wanted = ArrayCounter(start, -step if turned else step)
    assert counter_of(value) == (wanted if counts else None)


def test_other_arrays_do_not_count() -> None:
    def write(x: Value, i: Value) -> list[Value]:
        counted = ops.iota(dtype="i64", shape=(9,), axis=0)
        matrix = ops.iota(dtype="i64", shape=(9, 2), axis=0)
        floats = ops.iota(dtype="f32", shape=(9,), axis=0)
        return [x, ops.add(counted, i), matrix, floats, ops.mul(counted, counted)]

    made = graph({"x": "i64[9]", "i": "i64[]"}, write)
    assert [counter_of(value) for value in made.results] == [None] * 5
