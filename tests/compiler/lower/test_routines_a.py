"""Native routines of orderings, cumulative ops and Fourier transforms.

The rows of the op tables have oracles of their own; other cases are compared with the references.
Most code is compiled once for sizes that are known at run time and then run on many arrays.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.compiler.lower.harness import run_routine
from tests.compiler.ops import rows_cumulative, rows_fft, rows_ordering
from tests.compiler.ops.sample import Sample
from tests.compiler.ops.test_table import assert_same
from weft.compiler.abi import PARALLEL, RUN_WORDS
from weft.compiler.ir import dtypes
from weft.compiler.ir.build import Builder
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.evaluate import evaluate
from weft.compiler.ir.graph import Graph, Op, Result
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ir.types import ArrayType, type_of
from weft.compiler.lower.llvm.emit import arrays as native
from weft.compiler.lower.llvm.emit.function import Module
from weft.compiler.lower.llvm.emit.types import I64, PTR, VOID
from weft.compiler.lower.llvm.machine import compile_text
from weft.compiler.lower.llvm.routines.fourier import api as fourier
from weft.compiler.lower.llvm.routines.fourier.lengths import convolution_length, is_smooth
from weft.compiler.lower.llvm.routines.fourier.rows import matrix_shape
from weft.compiler.lower.llvm.routines.fourier.stages import factors
from weft.compiler.lower.llvm.routines.reductions import cumulative
from weft.compiler.lower.llvm.routines.sorting import api as ordering
from weft.compiler.ops import cumulative as cumulative_ops
from weft.compiler.ops import ordering as ordering_ops
from weft.compiler.ops.fft import fft
from weft.runtime.native import Library

Array = np.ndarray[Any, Any]

ROUTINES = {**ordering.ROUTINES, **cumulative.ROUTINES, **fourier.ROUTINES}
ROWS: list[Sample] = [*rows_ordering.ROWS, *rows_cumulative.ROWS, *rows_fft.ROWS]
UNHURRIED: dict[str, Any] = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}


# --- running ------------------------------------------------------------------------------------


def make_op(definition: OpDef, types: Sequence[ArrayType], attributes: dict[str, Any]) -> Graph:
    builder = Builder()
    operands = [builder.parameter(type, f"x{i}") for i, type in enumerate(types)]
    return builder.graph("op", builder.emit(definition, operands, attributes))


def only_op(graph: Graph) -> Op:
    value = graph.results[0]
    assert isinstance(value, Result)
    return value.op


def reference(
    definition: OpDef, arrays: Sequence[Array], attributes: dict[str, Any]
) -> list[Array]:
    graph = make_op(definition, [type_of(x) for x in arrays], attributes)
    return evaluate(graph, list(arrays))


def run(
    definition: OpDef, arrays: Sequence[Array], attributes: dict[str, Any], dynamic: bool = False
) -> list[Array]:
    graph = make_op(definition, [type_of(x) for x in arrays], attributes)
    return run_routine(ROUTINES[definition.name], only_op(graph), arrays, dynamic=dynamic)


class Native:
    """A routine compiled for arrays of any sizes and strides, of given dtypes and ranks; if `inner`
    is given, it is the length of the operands' last axis, whose elements are side by side.

    Parallel tasks get one step each, the last one first, so nothing may depend on their order.
    """

    def __init__(
        self,
        definition: OpDef,
        kinds: Sequence[tuple[DType, int]],
        attributes: dict[str, Any],
        inner: int | None = None,
    ) -> None:
        self.definition = definition
        self.attributes = attributes
        # Sizes are not read from the op: any that its type rule accepts will do.
        types = [ArrayType(d, [*[64] * (rank - 1), inner or 64]) for d, rank in kinds]
        graph = make_op(definition, types, attributes)
        every = [*types, *[result.type for result in graph.results]]
        module = Module()
        pointers = [(f"p{i}", PTR) for i in range(len(every))]
        f = module.function("routine", VOID, [("run", PTR), ("numbers", PTR), *pointers])
        run, table, *addresses = f.arguments
        env = native.Env(module, run, "routine", [])
        made, place = [], 0
        for pointer, type in zip(addresses, every, strict=True):
            rank = type.rank
            held: list[Any] = [
                f.load(f.element(table, I64, place + i), I64) for i in range(2 * rank)
            ]
            if inner is not None:
                held[rank - 1], held[2 * rank - 1] = int(type.shape[-1]), 1
            place += 2 * rank
            made.append(native.Array(pointer, type.dtype, tuple(held[:rank]), tuple(held[rank:])))
        ROUTINES[definition.name](f, env, only_op(graph), made[: len(kinds)], made[len(kinds) :])
        f.ret()
        step_by_step(module)
        self.library = Library(compile_text(module.text()), ["routine"])
        arguments = [ctypes.c_void_p] * (2 + len(every))
        self.call = ctypes.CFUNCTYPE(None, *arguments)(self.library.address("routine"))

    def __call__(self, *arrays: Array) -> list[Array]:
        graph = make_op(self.definition, [type_of(x) for x in arrays], self.attributes)
        results = [garbage([int(s) for s in r.type.shape], r.type.dtype) for r in graph.results]
        every = [*arrays, *results]
        numbers = [[*x.shape, *[s // x.itemsize for s in x.strides]] for x in every]
        table = np.array([n for of_array in numbers for n in of_array] or [0], np.int64)
        record = np.zeros(RUN_WORDS, np.int64)
        self.call(record.ctypes.data, table.ctypes.data, *[x.ctypes.data for x in every])
        assert not record[1]
        return results


def step_by_step(module: Module) -> None:
    """A `weft_parallel` that runs single steps from the last to the first."""
    parameters = [("run", PTR), ("task", PTR), ("data", PTR), ("count", I64), ("grain", I64)]
    f = module.function(PARALLEL, VOID, parameters)
    run, task, data, count, _ = f.arguments
    with f.range(0, count) as i:
        at = count - 1 - i
        f.call_pointer(task, VOID, [run, data, at, at + 1])
    f.ret()


def garbage(shape: Sequence[int], of: DType) -> Array:
    made = np.empty(shape, of.numpy)
    made.reshape(-1).view(np.uint8)[:] = 0xA5
    return made


@functools.cache
def compiled(definition: OpDef, kinds: tuple[tuple[DType, int], ...], **attributes: Any) -> Native:
    return Native(definition, kinds, attributes)


def bits_of(x: Array) -> Array:
    """The bytes of an array: NaNs and zeros are told apart."""
    return np.ascontiguousarray(x).view(np.uint8)


def assert_same_bits(made: Sequence[Array], expected: Sequence[Array]) -> None:
    assert len(made) == len(expected)
    for x, y in zip(made, expected, strict=True):
        assert x.dtype == y.dtype and x.shape == y.shape
        np.testing.assert_array_equal(bits_of(x), bits_of(np.asarray(y)))


# --- the rows of the op tables ------------------------------------------------------------------


def check_row(row: Sample, dynamic: bool) -> None:
    arrays = [np.asarray(x) for x in row.operands]
    made = run(row.op, arrays, row.attributes, dynamic)
    expected = row.expected if isinstance(row.expected, tuple) else (row.expected,)
    for result, value in zip(made, expected, strict=True):
        assert_same(result, row, value)


@pytest.mark.parametrize("row", ROWS[::20], ids=str)
def test_routine_computes_what_some_rows_say(row: Sample) -> None:
    check_row(row, dynamic=False)


@pytest.mark.slow
@pytest.mark.parametrize("dynamic", [False, True])
def test_routine_computes_what_all_rows_say(dynamic: bool) -> None:
    for row in ROWS:
        try:
            check_row(row, dynamic)
        except AssertionError as error:
            raise AssertionError(f"{row}\n{error}") from None


# --- sort ---------------------------------------------------------------------------------------

LENGTHS = (0, 1, 2, 7, 8, 9, 40, 65, 97, 300, 1100, 5000)


def edged(rng: np.random.Generator, shape: Sequence[int], of: DType) -> Any:
    """Random numbers with ties and, where there are any, zeros of both signs, infinities and NaNs
    with different bits.
    """
    if of.is_bool:
        return rng.integers(0, 2, shape) == 1
    if of.is_complex:
        parts = [edged(rng, shape, of.real) for _ in range(2)]
        made = np.empty(shape, of.numpy)
        made.real, made.imag = parts
        return made
    if of.is_integer:
        info = np.iinfo(of.numpy)
        wide = rng.integers(info.min, info.max, shape, of.numpy, endpoint=True)
        return np.where(rng.random(shape) < 0.5, wide, rng.integers(0, 4, shape, of.numpy))
    values = np.where(
        rng.random(shape) < 0.5, rng.standard_normal(shape), rng.integers(-2, 3, shape)
    )
    special = rng.choice([0.0, -0.0, math.inf, -math.inf, math.nan, -math.nan], shape)
    return np.where(rng.random(shape) < 0.2, special, values).astype(of.numpy)


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


# --- cumulative ---------------------------------------------------------------------------------

SHAPES = ((0, 3, 2), (3, 0, 2), (2, 3, 0), (1, 1, 1), (5, 9, 3), (2, 4, 300), (17, 2, 20))
FOLDS = ("cumsum", "cumprod", "cummax", "cummin")


def accepted(name: str) -> list[DType]:
    found = []
    for of in dtypes.ALL:
        is_right = of.is_inexact if name == "linear_recurrence" else not of.is_bool
        if name in ("cummax", "cummin"):
            is_right = not of.is_complex
        if name == "cumlogsumexp":
            is_right = of.is_float
        if is_right:
            found.append(of)
    return found


@pytest.mark.parametrize("name", FOLDS)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_cumulative_op_of_integers_and_doubles_is_exact(name: str, axis: int) -> None:
    """In order and in double precision, as the reference computes it, so to the last bit."""
    definition = getattr(cumulative_ops, name)
    rng = np.random.default_rng(15)
    for of in (dtypes.f32 if axis else dtypes.f64, (dtypes.i8, dtypes.u64, dtypes.i32)[axis]):
        step = compiled(definition, ((of, 3),), axis=axis, reverse=bool(axis % 2))
        for shape in SHAPES:
            x = edged(rng, shape, of)
            expected = reference(definition, [x], step.attributes)
            np.testing.assert_array_equal(step(x)[0], expected[0])


def test_cumulative_sum_keeps_the_sign_of_zeros() -> None:
    for name in ("cumsum", "cumprod"):
        step = compiled(getattr(cumulative_ops, name), ((dtypes.f64, 2),), axis=1, reverse=False)
        for count in (1, 20):
            x = np.array([[-0.0, -0.0, 0.0, -0.0]] * count)
            assert_same_bits(step(x), reference(step.definition, [x], step.attributes))


def gentle(rng: np.random.Generator, shape: Sequence[int], of: DType) -> Any:
    """Numbers whose products neither grow nor vanish fast, some of them infinite."""
    if not of.is_inexact:
        return edged(rng, shape, of)
    made = rng.uniform(0.5, 1.5, shape) * rng.choice([-1, 1], shape)
    if of.is_complex:
        made = made + 0.5j * rng.standard_normal(shape)
    return made.astype(of.numpy)


def assert_close(made: Array, expected: Array, of: DType, steps: int) -> None:
    """Within some roundings per step of what is summed up, relative to the largest result."""
    wide = np.complex128 if of.is_complex else np.float64
    if not of.is_inexact:
        np.testing.assert_array_equal(made, expected)
        return
    digits = {16: 2.0**-7 if of is dtypes.bf16 else 2.0**-10, 32: 2.0**-23}
    unit = digits.get(of.real.bits, 2.0**-52)
    x, y = made.astype(wide), expected.astype(wide)
    finite = np.abs(y[np.isfinite(y)])
    largest = float(finite.max()) if finite.size else 0.0
    np.testing.assert_allclose(x, y, rtol=4 * unit, atol=4 * unit * max(steps, 1) * largest)


@pytest.mark.parametrize("name", [*FOLDS[:3], "cumlogsumexp", "linear_recurrence"])
def test_cumulative_op_of_every_dtype(name: str) -> None:
    definition = getattr(cumulative_ops, name)
    rng = np.random.default_rng(16)
    count = 2 if name == "linear_recurrence" else 1
    for number, of in enumerate(accepted(name)):
        attributes = {"axis": 1, "reverse": bool(number % 2)}
        arrays = [gentle(rng, (2, 6, 11), of) for _ in range(count)]
        expected = reference(definition, arrays, attributes)
        made = run(definition, arrays, attributes, dynamic=number % 3 == 0)
        assert_close(made[0], expected[0], of, 6)


@pytest.mark.parametrize("name", [*FOLDS, "cumlogsumexp", "linear_recurrence"])
@pytest.mark.parametrize("shape,axis", [((5, 300), 0), ((3, 4, 21), 1), ((20, 7), 1), ((9,), 0)])
def test_cumulative_op_of_known_sizes(name: str, shape: tuple[int, ...], axis: int) -> None:
    definition = getattr(cumulative_ops, name)
    rng = np.random.default_rng(17)
    arrays = [gentle(rng, shape, dtypes.f64) for _ in range(1 + (name == "linear_recurrence"))]
    attributes = {"axis": axis, "reverse": axis == 0}
    expected = reference(definition, arrays, attributes)
    assert_close(run(definition, arrays, attributes)[0], expected[0], dtypes.f64, shape[axis])


def test_cumulative_op_of_arrays_with_odd_strides() -> None:
    rng = np.random.default_rng(18)
    x = rng.standard_normal((6, 5, 9))[::-2, :, ::-1]
    factor = np.broadcast_to(rng.standard_normal((5, 1)), x.shape)
    for axis in range(3):
        attributes = {"axis": axis, "reverse": True}
        definition = cumulative_ops.linear_recurrence
        expected = reference(definition, [factor, x], attributes)
        made = run(definition, [factor, x], attributes, dynamic=axis == 1)
        assert_close(made[0], expected[0], dtypes.f64, 9)


@pytest.mark.parametrize("of", [dtypes.f64, dtypes.f32, dtypes.f16], ids=str)
def test_cumlogsumexp_at_the_limits(of: DType) -> None:
    inf, nan = math.inf, math.nan
    rows = [
        [-inf, -inf, 1.0, -inf, 2.0],
        [1.0, inf, inf, -inf, 3.0],
        [-inf, inf, 0.0, nan, 1.0],
        [0.0, -0.0, 1000.0, -1000.0, 1001.0],
    ]
    step = compiled(cumulative_ops.cumlogsumexp, ((of, 2),), axis=1, reverse=False)
    x = np.array(rows, of.numpy)
    for y in (x, np.repeat(x, 5, axis=0)):
        (expected,) = reference(cumulative_ops.cumlogsumexp, [y], step.attributes)
        np.testing.assert_allclose(step(y)[0], expected, rtol=4 * np.finfo(of.numpy).eps)


def test_long_cumlogsumexp_does_not_lose_digits() -> None:
    x = np.full((1, 20_000), 700.0)
    (made,) = run(cumulative_ops.cumlogsumexp, [x], {"axis": 1, "reverse": False})
    np.testing.assert_allclose(made[0], 700 + np.log(np.arange(1, 20_001)), rtol=4e-16)


# --- fft ----------------------------------------------------------------------------------------

KINDS = ("fft", "ifft", "rfft", "irfft")


def signal(rng: np.random.Generator, kind: str, shape: Sequence[int], single: bool) -> Any:
    """An operand for a kind: real for rfft, half a spectrum along the last axis for irfft."""
    real = rng.standard_normal(shape)
    if kind == "rfft":
        return real.astype(np.float32 if single else np.float64)
    made = real + 1j * rng.standard_normal(shape)
    if kind == "irfft":
        made = made[..., : shape[-1] // 2 + 1]
    return made.astype(np.complex64 if single else np.complex128)


def fft_attributes(kind: str, axes: Sequence[int], shape: Sequence[int]) -> dict[str, Any]:
    last = {"last": shape[axes[-1]]} if kind == "irfft" else {}
    return {"kind": kind, "axes": tuple(axes), **last}


def assert_transformed(made: Array, expected: Array) -> None:
    """Errors of a few roundings, relative to the norm of the result: it is sums of all elements."""
    assert made.dtype == expected.dtype and made.shape == expected.shape
    unit = 2e-15 if made.real.dtype == np.float64 else 1e-6
    error = np.linalg.norm((made - expected).ravel())
    assert error <= unit * np.linalg.norm(expected.ravel())


def check_fft(kind: str, shape: Sequence[int], axes: Sequence[int], single: bool) -> None:
    x = signal(np.random.default_rng(19), kind, shape, single)
    attributes = fft_attributes(kind, axes, shape)
    expected = reference(fft, [x], attributes)
    assert_transformed(run(fft, [x], attributes)[0], expected[0])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [1, 30, 97, 128, 142, 1001])
def test_fft_of_known_lengths(kind: str, length: int) -> None:
    check_fft(kind, (3, length), (1,), single=length == 128)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("single", [False, True])
def test_fft_of_many_known_lengths(kind: str, single: bool) -> None:
    for length in (*range(1, 40), 61, 66, 67, 128, 331, 1000, 1025, 4099, 8198, 10007, 16384):
        check_fft(kind, (9, length), (1,), single)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [1 << 16, 131074, 70_000])
def test_fft_of_one_long_row(kind: str, length: int) -> None:
    check_fft(kind, (1, length), (1,), single=False)


@pytest.mark.parametrize("kind", KINDS)
def test_fft_of_any_length(kind: str) -> None:
    """One piece of code; the length is known at run time."""
    first = dtypes.f64 if kind == "rfft" else dtypes.c128
    lengths = (1, 2, 3, 4, 7, 16, 30, 61, 64, 67, 77, 127, 500, 1009, 2 * 211)
    rng = np.random.default_rng(20)
    transform = Native(fft, ((first, 2),), {"kind": kind, "axes": (1,)})
    for length in lengths:
        x = signal(rng, kind, (2, length), single=False)
        transform.attributes = fft_attributes(kind, (1,), (2, length))
        expected = reference(fft, [x], transform.attributes)
        assert_transformed(transform(x)[0], expected[0])


@pytest.mark.parametrize("kind", KINDS)
def test_fft_over_several_axes(kind: str) -> None:
    check_fft(kind, (6, 5, 20), (1, 0, 2), single=False)


@pytest.mark.parametrize("shape,axis", [((30, 20), 0), ((12, 3), 0), ((2, 7, 16), 1)])
def test_fft_across_the_last_axis(shape: tuple[int, ...], axis: int) -> None:
    for kind in ("fft", "rfft"):
        check_fft(kind, shape, (axis,), single=kind == "rfft")


@pytest.mark.parametrize("length", [20, 150])
def test_fft_of_arrays_with_odd_strides(length: int) -> None:
    rng = np.random.default_rng(21)
    x = signal(rng, "fft", (2 * length, 9), single=False)[::-2, ::2].T
    for kind, y in (("fft", x), ("rfft", x.real), ("irfft", x[:, : length // 2 + 1])):
        attributes = fft_attributes(kind, (1,), (5, length))
        expected = reference(fft, [y], attributes)
        assert_transformed(run(fft, [y], attributes)[0], expected[0])


def test_fft_over_no_axis_is_a_copy() -> None:
    x = signal(np.random.default_rng(22), "fft", (3, 4), single=False)
    assert_same_bits(run(fft, [x.T], {"kind": "ifft", "axes": ()}), [x.T.copy()])


@pytest.mark.parametrize("dynamic", [False, True])
def test_fft_of_nothing(dynamic: bool) -> None:
    for kind, shape, axes in (
        ("fft", (0, 3), (0,)),
        ("rfft", (3, 0), (1,)),
        ("irfft", (3, 1), (1,)),
    ):
        x = np.zeros(shape, np.float64 if kind == "rfft" else np.complex128)
        attributes = {"kind": kind, "axes": axes}
        expected = reference(fft, [x], attributes)
        assert_same_bits(run(fft, [x], attributes, dynamic), expected)


@pytest.mark.parametrize("length", [16, 200])
def test_nan_stays_in_its_row(length: int) -> None:
    for kind in KINDS:
        x = signal(np.random.default_rng(23), kind, (20, length), single=False)
        x[3] = math.nan
        (made,) = run(fft, [x], fft_attributes(kind, (1,), (20, length)))
        assert np.isnan(made[3]).all()
        assert np.isfinite(np.delete(made, 3, axis=0)).all()


def test_rfft_of_even_lengths_ignores_what_must_be_real() -> None:
    x = signal(np.random.default_rng(24), "irfft", (2, 256), single=False)
    attributes = fft_attributes("irfft", (1,), (2, 256))
    changed = x.copy()
    changed[:, 0].imag, changed[:, -1].imag = 1e300, math.inf
    assert_same_bits(run(fft, [changed], attributes), run(fft, [x], attributes))


@given(st.integers(1, 5000))
def test_factors_make_the_length(length: int) -> None:
    assert math.prod(factors(length)) == length
    assert math.prod(matrix_shape(length, 8)) == length
    whole = convolution_length(length)
    assert whole >= 2 * length - 1 and is_smooth(whole)


# --- threads ------------------------------------------------------------------------------------


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
