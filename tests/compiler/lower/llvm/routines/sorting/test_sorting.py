"""Native sort, top_k and searchsorted, bit for bit as the references, whatever the keys."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.compiler.lower.llvm.routines.running import (
    UNHURRIED,
    assert_same_bits,
    compiled,
    edged,
    reference,
    run,
)
from weft.compiler.ir import dtypes
from weft.compiler.ir.dtypes import DType
from weft.compiler.ops import ordering as ordering_ops

LENGTHS = (0, 1, 2, 7, 8, 9, 40, 65, 97, 300, 1100, 5000)


# --- sort ---------------------------------------------------------------------------------------

# Every dtype, one way quickly and the other way among the slow tests.
BOTH_WAYS = [
    pytest.param(of, way, marks=[pytest.mark.slow] if (i % 2 == 0) == way else [])
    for i, of in enumerate(dtypes.ALL)
    for way in (False, True)
]


@pytest.mark.parametrize("of,descending", BOTH_WAYS)
def test_sort_of_one_array_keeps_all_bits(of: DType, descending: bool) -> None:
    sort = compiled(ordering_ops.sort, ((of, 2),), axis=1, descending=descending)
    rng = np.random.default_rng(7)
    for length in LENGTHS:
        for count in (1, 3, 21) if length < 1000 else (2,):
            x = edged(rng, (count, length), of)
            expected = reference(ordering_ops.sort, [x], sort.attributes)
            assert_same_bits(sort(x), expected)


@pytest.mark.parametrize(
    "of", [dtypes.f64, dtypes.f32, dtypes.i64, dtypes.u16, dtypes.c128], ids=str
)
def test_sort_of_several_arrays_is_stable(of: DType) -> None:
    kinds = ((of, 2), (dtypes.i64, 2), (dtypes.c64, 2), (dtypes.bool_, 2))
    sort = compiled(ordering_ops.sort, kinds, axis=0, descending=False)
    rng = np.random.default_rng(8)
    for length in LENGTHS:
        shape = (length, 3 if length > 1000 else 11)
        payload = [edged(rng, shape, kind) for kind, _ in kinds[1:]]
        payload[0] = np.arange(math.prod(shape)).reshape(shape)
        arrays = [edged(rng, shape, of), *payload]
        assert_same_bits(sort(*arrays), reference(ordering_ops.sort, arrays, sort.attributes))


@pytest.mark.parametrize("descending", [False, True])
def test_sort_by_several_keys(descending: bool) -> None:
    kinds = ((dtypes.u8, 2), (dtypes.f32, 2), (dtypes.i64, 2), (dtypes.i32, 2))
    sort = compiled(ordering_ops.sort, kinds, axis=1, num_keys=3, descending=descending)
    rng = np.random.default_rng(9)
    for length in LENGTHS:
        shape = (5, length)
        arrays = [rng.integers(0, 3, shape).astype(kind.numpy) for kind, _ in kinds[:3]]
        arrays.append(np.arange(math.prod(shape), dtype=np.int32).reshape(shape))
        arrays[1][rng.random(shape) < 0.2] = math.nan
        assert_same_bits(sort(*arrays), reference(ordering_ops.sort, arrays, sort.attributes))


@pytest.mark.parametrize("shape", [(3, 64), (20, 65), (2, 1500)], ids=str)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("with_places", [False, True])
def test_sort_of_known_sizes(shape: tuple[int, int], axis: int, with_places: bool) -> None:
    rng = np.random.default_rng(10)
    arrays = [edged(rng, shape, dtypes.f32)]
    if with_places:
        arrays.append(np.arange(math.prod(shape)).reshape(shape))
    attributes = {"axis": axis, "descending": with_places}
    expected = reference(ordering_ops.sort, arrays, attributes)
    assert_same_bits(run(ordering_ops.sort, arrays, attributes), expected)


def test_sort_of_arrays_with_odd_strides() -> None:
    rng = np.random.default_rng(11)
    x = edged(rng, (6, 8, 10), dtypes.f64)[::-2, :, ::-1].transpose(2, 0, 1)
    places = np.broadcast_to(np.arange(8), x.shape)
    attributes = {"axis": 1, "num_keys": 2, "descending": True}
    arrays = [x, places[:, :, ::-1]]
    expected = reference(ordering_ops.sort, arrays, attributes)
    for dynamic in (False, True):
        assert_same_bits(run(ordering_ops.sort, arrays, attributes, dynamic), expected)


@settings(max_examples=60, **UNHURRIED)
@given(
    st.lists(st.floats(width=32, allow_nan=True) | st.sampled_from([0.0, -0.0, 1.0]), max_size=200),
    st.integers(1, 3),
)
def test_sort_of_drawn_floats(values: list[float], count: int) -> None:
    kinds = ((dtypes.f32, 2), (dtypes.i64, 2))
    sort = compiled(ordering_ops.sort, kinds, axis=1, num_keys=1)
    x = np.array([values] * count, np.float32).reshape(count, len(values))
    places = np.broadcast_to(np.arange(len(values)), x.shape)
    assert_same_bits(sort(x, places), reference(ordering_ops.sort, [x, places], sort.attributes))


# --- top_k and searchsorted ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "of", [dtypes.f64, dtypes.bf16, dtypes.i32, dtypes.bool_, dtypes.c64], ids=str
)
@pytest.mark.parametrize("k,largest", [(1, True), (5, False), (40, True)])
def test_top_k_keeps_the_first_of_equals(of: DType, k: int, largest: bool) -> None:
    native_top_k = compiled(ordering_ops.top_k, ((of, 2),), k=k, axis=1, largest=largest)
    rng = np.random.default_rng(12)
    for length in (k, k + 1, 100, 3000):
        if length >= k:
            x = edged(rng, (4, length), of)
            expected = reference(ordering_ops.top_k, [x], native_top_k.attributes)
            assert_same_bits(native_top_k(x), expected)


@pytest.mark.parametrize("k", [2, 50])
@pytest.mark.parametrize("order", [1, -1])
def test_top_k_of_rows_in_order(k: int, order: int) -> None:
    native_top_k = compiled(ordering_ops.top_k, ((dtypes.i32, 2),), k=k, axis=0, largest=True)
    x = np.repeat(np.arange(4000, dtype=np.int32)[:, None] // 3, 2, axis=1)[::order]
    assert_same_bits(native_top_k(x), reference(ordering_ops.top_k, [x], native_top_k.attributes))


@pytest.mark.parametrize("shape,k,axis", [((30, 50), 7, 1), ((700, 3), 5, 0), ((9, 2), 0, 0)])
def test_top_k_of_known_sizes(shape: tuple[int, int], k: int, axis: int) -> None:
    x = edged(np.random.default_rng(13), shape, dtypes.f32)
    attributes = {"k": k, "axis": axis}
    expected = reference(ordering_ops.top_k, [x], attributes)
    assert_same_bits(run(ordering_ops.top_k, [x], attributes), expected)


@pytest.mark.parametrize("of,right", BOTH_WAYS)
def test_searchsorted_finds_places_among_equals(of: DType, right: bool) -> None:
    side = "right" if right else "left"
    search = compiled(ordering_ops.searchsorted, ((of, 2), (of, 3)), side=side, batch_dims=1)
    rng = np.random.default_rng(14)
    for length in (0, 1, 2, 3, 8, 100):
        table = edged(rng, (3, length), of)
        (table,) = reference(ordering_ops.sort, [table], {"axis": 1})
        values = edged(rng, (3, 5, 7), of)
        values[:, :, :2] = table[:, None, :2] if length > 1 else values[:, :, :2]
        expected = reference(ordering_ops.searchsorted, [table, values], search.attributes)
        assert_same_bits(search(table[:, ::1], values), expected)
        turned = np.asfortranarray(values)
        assert_same_bits(search(np.asfortranarray(table), turned), expected)
