"""Native routines of contractions, convolutions, windows and linear algebra.

The rows of the op tables have oracles of their own; drawn cases are compared with the references.
Sums are compared with a tolerance of some units in the last place of the dtype they are made in,
times the length of the sum's terms, which are of about 1.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.compiler.lower import harness
from tests.compiler.ops import rows_contraction, rows_convolution, rows_linalg, rows_window
from tests.compiler.ops.rows_linalg import positive
from tests.compiler.ops.sample import Sample
from weft.compiler.abi import BLAS_THREADS, PARALLEL
from weft.compiler.ir import dtypes
from weft.compiler.ir.build import Builder
from weft.compiler.ir.evaluate import evaluate
from weft.compiler.ir.graph import Graph, Op, Result
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ir.types import type_of
from weft.compiler.lower.llvm.emit.arrays import Env
from weft.compiler.lower.llvm.emit.function import Function, Module, Operand, V
from weft.compiler.lower.llvm.emit.types import I64, PTR, VOID
from weft.compiler.lower.llvm.machine import compile_text
from weft.compiler.lower.llvm.routines.convolution import api as convolution
from weft.compiler.lower.llvm.routines.convolution import entry as convolution_phases
from weft.compiler.lower.llvm.routines.gemm import contraction, gemm
from weft.compiler.lower.llvm.routines.gemm.kinds import KINDS
from weft.compiler.lower.llvm.routines.linalg import api as linalg
from weft.compiler.lower.llvm.routines.reductions import windows
from weft.compiler.ops.contraction import dot_general
from weft.compiler.ops.convolution import convolution as convolution_op
from weft.compiler.ops.linalg import cholesky, eigh, lu, qr, slogdet, solve, svd, triangular_solve
from weft.compiler.ops.window import reduce_window, window_argmax
from weft.runtime import symbols
from weft.runtime.native import Library

Array = np.ndarray[Any, Any]

ROUTINES = {
    **contraction.ROUTINES,
    **convolution.ROUTINES,
    **windows.ROUTINES,
    **linalg.ROUTINES,
}
ROWS: list[Sample] = [
    *rows_contraction.ROWS,
    *rows_convolution.ROWS,
    *rows_window.ROWS,
    *rows_linalg.ROWS,
]
LAPACK = {
    "sdcz": ("potrf", "getrf", "getrs", "geqrf", "gesdd"),
    "sd": ("orgqr", "syevd"),
    "cz": ("ungqr", "heevd"),
}
FLOATS = (np.float32, np.float64, np.complex64, np.complex128)
HALVES = (np.float16, ml_dtypes.bfloat16)
INTEGERS = (np.int8, np.uint8, np.int32, np.int64, np.uint64)
UNHURRIED: dict[str, Any] = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow],
}


@functools.cache
def imports() -> dict[str, int]:
    names = [f"scipy_blas_{letter}{name}" for letter in "sdcz" for name in ("gemm", "trsm")]
    for letters, routines in LAPACK.items():
        names += [f"scipy_lapack_{letter}{name}" for letter in letters for name in routines]
    return {name: symbols.address(name) for name in (*names, BLAS_THREADS)}


def build(op: OpDef, operands: Sequence[Array], attributes: dict[str, Any]) -> tuple[Graph, Op]:
    builder = Builder()
    parameters = [builder.parameter(type_of(x), f"x{i}") for i, x in enumerate(operands)]
    results = builder.emit(op, parameters, attributes)
    first = results[0]
    assert isinstance(first, Result)
    return builder.graph("row", results), first.op


def native(
    op: OpDef, operands: Sequence[Array], attributes: dict[str, Any], dynamic: bool
) -> list[Array]:
    _, node = build(op, operands, attributes)
    linked = {**imports(), **GUARD.imports}
    made = harness.run_routine(ROUTINES[op.name], node, operands, dynamic=dynamic, imports=linked)
    GUARD.check()
    return made


def reference(op: OpDef, operands: Sequence[Array], attributes: dict[str, Any]) -> list[Array]:
    graph, _ = build(op, operands, attributes)
    return evaluate(graph, operands)


def assert_close(got: Array, want: Array, tolerance: float = 0.0, name: str = "") -> None:
    assert got.dtype == want.dtype and got.shape == want.shape, name
    if got.dtype.kind in "biu":
        np.testing.assert_array_equal(got, want, name)
        return
    if got.dtype == ml_dtypes.bfloat16:
        got, want = got.astype(np.float32), want.astype(np.float32)
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance, err_msg=name)


def unit(dtype: Any) -> float:
    """The distance from 1 to the next number of a dtype; 0 for integers."""
    if dtype is ml_dtypes.bfloat16:
        return 2.0**-7
    return float(np.finfo(dtype).eps) if dtypes.dtype(dtype).is_inexact else 0.0


def numbers(shape: Sequence[int], dtype: Any, seed: int) -> Array:
    """Random numbers of about 1; integers all over their range."""
    generator = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.asarray(generator.random(shape) < 0.3)
    if kind in "iu":
        limits = np.iinfo(dtype)
        drawn = generator.integers(limits.min, limits.max, shape, dtype, endpoint=True)
        return np.asarray(drawn)
    made = generator.normal(size=shape)
    whole = made + 1j * generator.normal(size=shape) if kind == "c" else made
    return np.asarray(whole, dtype)


def relaid(x: Array, how: str) -> Array:
    """The same elements in another place: reversed, apart from each other, or by columns."""
    if x.ndim == 0:
        return x
    if how == "reversed":
        every = (slice(None, None, -1),) * x.ndim
        return x[every].copy()[every]
    if how == "apart":
        room = np.zeros([2 * n + 1 for n in x.shape], x.dtype)
        view = room[(slice(1, None, 2),) * x.ndim]
        view[...] = x
        return view
    return np.asfortranarray(x) if how == "by columns" else x


# --- memory -------------------------------------------------------------------------------------


class Guard:
    """Memory with marked margins: what routines write to outside of theirs is noticed."""

    MARGIN = 4096
    MARK = 0x5A

    def __init__(self) -> None:
        self.held: dict[int, tuple[Array, int, int]] = {}
        self.results: list[int] = []
        kinds = (
            ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64),
            ctypes.CFUNCTYPE(None, ctypes.c_void_p),
        )
        self.functions = kinds[0](self.take), kinds[1](self.give_back)
        self.faults: list[str] = []

    @property
    def imports(self) -> dict[str, int]:
        names = ("guard_take", "guard_give_back")
        addresses = [ctypes.cast(function, ctypes.c_void_p).value for function in self.functions]
        return {name: at for name, at in zip(names, addresses, strict=True) if at is not None}

    def take(self, size: int) -> int:
        room = np.full(size + 2 * self.MARGIN + 64, self.MARK, np.uint8)
        start = self.MARGIN + -(room.ctypes.data + self.MARGIN) % 64
        room[start : start + size] = 0xA5
        at = room.ctypes.data + start
        self.held[at] = (room, start, size)
        return at

    def give_back(self, at: int | None) -> None:
        if at is None:
            return
        room, start, size = self.held.pop(at)
        outside = np.concatenate([room[:start], room[start + size :]])
        if (outside != self.MARK).any():
            self.faults.append(f"written outside of {size} bytes")

    def result(self, shape: Sequence[int], of: np.dtype[Any]) -> Array:
        at = self.take(math.prod(shape) * of.itemsize)
        self.results.append(at)
        room, start, size = self.held[at]
        return room[start : start + size].view(of).reshape(shape)

    def check(self) -> None:
        for at in self.results:
            self.give_back(at)
        self.results.clear()
        left, self.held = list(self.held.values()), {}
        assert not left, f"workspace was not given back: {[size for _, _, size in left]} bytes"
        assert not self.faults, self.faults


GUARD = Guard()


@pytest.fixture(autouse=True)
def _guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    def workspace(self: Env, f: Function, bytes: Operand) -> V:
        return f.call("guard_take", PTR, [f.const(bytes, I64)])

    def free(self: Env, f: Function, pointer: V) -> None:
        f.call("guard_give_back", VOID, [pointer])

    monkeypatch.setattr(Env, "workspace", workspace)
    monkeypatch.setattr(Env, "free", free)
    monkeypatch.setattr(harness, "_garbage", GUARD.result)


# --- rows ---------------------------------------------------------------------------------------


def check_row(row: Sample, dynamic: bool) -> None:
    operands = [np.asarray(x) for x in row.operands]
    made = native(row.op, operands, row.attributes, dynamic)
    expected = row.expected if isinstance(row.expected, tuple) else (row.expected,)
    for got, want in zip(made, expected, strict=True):
        assert_close(got, np.asarray(want), max(row.rtol, row.atol), str(row))


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("name", ROUTINES)
def test_some_rows_of_each_op(name: str, dynamic: bool) -> None:
    rows = [row for row in ROWS if row.op.name == name]
    for row in rows[dynamic :: max(len(rows) // 4, 1)]:
        check_row(row, dynamic)


@pytest.mark.slow
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_rows(row: Sample, dynamic: bool) -> None:
    check_row(row, dynamic)


MATMUL: dict[str, Any] = {"lhs_contract": (1,), "rhs_contract": (0,)}

# --- drawn cases --------------------------------------------------------------------------------


def tolerance(dtype: Any, terms: int) -> float:
    """Of a sum of random terms of about 1, made in f32 for the 16-bit floats and rounded once."""
    made_in = np.float32 if dtype in HALVES else dtype
    return 2 * unit(dtype) + 8 * unit(made_in) * (1 + math.sqrt(terms))


@dataclass(frozen=True)
class Case:
    """An op on arrays; `terms` is the length of its sums."""

    op: OpDef
    operands: list[Array]
    attributes: dict[str, Any]
    terms: int

    def check(self, dynamic: bool) -> None:
        made = native(self.op, self.operands, self.attributes, dynamic)
        wanted = reference(self.op, self.operands, self.attributes)
        if self.op in (eigh, svd):
            made, wanted = [invariants(self.op, results) for results in (made, wanted)]
        for got, want in zip(made, wanted, strict=True):
            assert_close(got, want, tolerance(got.dtype.type, self.terms))


def invariants(op: OpDef, results: list[Array]) -> list[Array]:
    """What does not depend on the signs of vectors, which rounding decides: the values, the product
    that is the matrix again, and products of vectors with each other.
    """
    u, s, vh = results if op is svd else (results[1], results[0], _adjoint(results[1]))
    least = s.shape[-1]
    matrix = (u[..., :least] * s[..., None, :]) @ vh[..., :least, :]
    return [s, matrix, _adjoint(u) @ u, vh @ _adjoint(vh)]


def _adjoint(a: Array) -> Array:
    return a.swapaxes(-1, -2).conj()


SIZES = st.one_of(st.integers(0, 5), st.sampled_from((1, 8, 15, 16, 17, 33)))
LAID = st.sampled_from(("plain", "plain", "reversed", "apart", "by columns"))
SEEDS = st.integers(0, 1 << 20)


@st.composite
def matrix_products(draw: st.DrawFn) -> Case:
    """Matrices of all sizes, some of them in a batch, of which one operand may be repeated."""
    dtype = draw(st.sampled_from((*FLOATS, *HALVES, *INTEGERS, np.bool_)))
    rows, columns, depth = draw(SIZES), draw(SIZES), draw(SIZES | st.just(70))
    batch: tuple[int, ...] = draw(st.sampled_from(((), (), (3,), (2, 3))))
    lhs = relaid(numbers((*batch, rows, depth), dtype, draw(SEEDS)), draw(LAID))
    rhs = relaid(numbers((*batch, depth, columns), dtype, draw(SEEDS)), draw(LAID))
    is_repeated = draw(st.booleans())
    if batch and is_repeated:
        rhs = np.broadcast_to(rhs[:1], rhs.shape)
    into = draw(st.sampled_from((None, None, *dtypes.ALL)))
    promoted = None if into is None else dtypes.promote(dtypes.dtype(dtype), into)
    if promoted is not None and promoted.is_inexact and dtype in INTEGERS:
        # Small enough that sums are of about the size of their terms.
        lhs, rhs = lhs % 7, rhs % 7
    n = len(batch)
    axes = {"lhs_batch": tuple(range(n)), "rhs_batch": tuple(range(n))}
    attributes: dict[str, Any] = {"lhs_contract": (n + 1,), "rhs_contract": (n,), **axes}
    return Case(dot_general, [lhs, rhs], {**attributes, "dtype": promoted}, 36 * depth)


@st.composite
def contractions(draw: st.DrawFn) -> Case:
    """Several axes of each kind, in any order."""
    counts = [draw(st.integers(0, 2)) for _ in range(4)]
    sizes = [[draw(st.sampled_from((1, 2, 3, 4))) for _ in range(count)] for count in counts]
    batch, contracted, left, right = sizes
    orders = [draw(st.permutations(range(len(batch + contracted + own)))) for own in (left, right)]
    arrays: list[Array] = []
    attributes: dict[str, Any] = {}
    dtype = draw(st.sampled_from((np.float32, np.complex128, np.int32)))
    for name, own, order in zip(("lhs", "rhs"), (left, right), orders, strict=True):
        plain = numbers(batch + contracted + own, dtype, draw(SEEDS))
        arrays.append(relaid(plain.transpose(order).copy(), draw(LAID)))
        places = [order.index(axis) for axis in range(len(batch + contracted))]
        attributes[f"{name}_batch"] = tuple(places[: len(batch)])
        attributes[f"{name}_contract"] = tuple(places[len(batch) :])
    return Case(dot_general, arrays, attributes, math.prod(contracted))


@st.composite
def spatial(draw: st.DrawFn, rank: int, names: Sequence[str]) -> dict[str, Any]:
    """Strides, dilations and padding for a number of axes."""
    few = st.tuples(*[st.sampled_from((1, 1, 1, 2, 3))] * rank)
    edges = st.tuples(*[st.tuples(st.integers(-2, 3), st.integers(-1, 3))] * rank)
    return {"padding": draw(edges), **{name: draw(few) for name in names}}


@st.composite
def convolutions(draw: st.DrawFn) -> Case:
    dtype = draw(st.sampled_from((*FLOATS, *HALVES, np.int8, np.int64)))
    rank, groups = draw(st.integers(0, 3)), draw(st.sampled_from((1, 1, 2, 3)))
    size = st.sampled_from((1, 2, 3, 5, 9, 20) if rank < 3 else (1, 3, 4))
    signal = [draw(size) for _ in range(rank)]
    taps = [draw(st.sampled_from((1, 2, 3))) for _ in range(rank)]
    channels, outputs = draw(st.integers(0, 4)), groups * draw(st.integers(0, 5))
    lhs = numbers((draw(st.integers(0, 3)), groups * channels, *signal), dtype, draw(SEEDS))
    rhs = numbers((outputs, channels, *taps), dtype, draw(SEEDS))
    attributes = draw(spatial(rank, ("strides", "lhs_dilation", "rhs_dilation")))
    operands = [relaid(lhs, draw(LAID)), relaid(rhs, draw(LAID))]
    terms = channels * math.prod(taps)
    return Case(convolution_op, operands, {"groups": groups, **attributes}, terms)


@st.composite
def pools(draw: st.DrawFn) -> Case:
    kind = draw(st.sampled_from(("sum", "prod", "max", "min", "argmax")))
    ordered = (np.float32, np.float64, *HALVES, np.int8, np.uint64)
    others = FLOATS[2:] if kind in ("sum", "prod") else (np.bool_,)
    dtype = draw(st.sampled_from((*ordered, *others)))
    rank = draw(st.integers(0, 3))
    shape = [draw(st.sampled_from((0, 1, 2, 3, 5))) for _ in range(rank)]
    shape[-1:] = [draw(st.sampled_from((1, 7, 20, 70)))] if rank else []
    x = numbers(shape, dtype, draw(SEEDS))
    if x.size and np.dtype(dtype).kind == "f" and draw(st.booleans()):
        x.reshape(-1)[:: draw(st.integers(2, 9))] = draw(st.sampled_from((np.nan, -np.inf, 0.0)))
    attributes = draw(spatial(rank, ("strides", "base_dilation", "window_dilation")))
    attributes["window"] = tuple(draw(st.integers(1, 3)) for _ in range(rank))
    if rank:
        last = (*attributes["window"][:-1], draw(st.integers(1, 7)))
        attributes["window"] = last
    op = window_argmax if kind == "argmax" else reduce_window
    given = attributes if kind == "argmax" else {"kind": kind, **attributes}
    # Products of n numbers are n roundings off.
    terms = math.prod(attributes["window"]) ** (2 if kind == "prod" else 1)
    return Case(op, [relaid(x, draw(LAID))], given, terms)


@st.composite
def systems(draw: st.DrawFn) -> Case:
    """Matrices of moderate condition, alone and in batches, for each op of linear algebra."""
    op = draw(st.sampled_from((cholesky, triangular_solve, solve, lu, slogdet, qr, eigh, svd)))
    dtype, seed = draw(st.sampled_from(FLOATS)), draw(SEEDS)
    rows = columns = draw(st.sampled_from((0, 1, 2, 3, 4, 5, 8, 16, 17, 30)))
    if op in (lu, qr, svd):
        columns = draw(st.sampled_from((rows, 0, 1, 3, 7, 20)))
    batch: tuple[int, ...] = draw(st.sampled_from(((), (1,), (5,), (2, 3), (0,), (33,))))
    a = numbers((*batch, rows, columns), dtype, seed) / (rows + 1)
    a += (1 + np.arange(columns)) * np.eye(rows, columns)
    if op in (cholesky, eigh):
        a = a + a.conj().swapaxes(-1, -2)
    if len(batch) == 1 and draw(st.booleans()):
        a = np.broadcast_to(a[:1], (*batch[:1], rows, columns)) if batch[0] else a
    else:
        a = relaid(a, draw(LAID))
    operands = [a.astype(dtype, copy=False)]
    attributes: dict[str, bool] = {}
    if op in (solve, triangular_solve):
        lines = draw(st.sampled_from((0, 1, 2, 6, 20)))
        if op is triangular_solve:
            attributes = {name: draw(st.booleans()) for name in rows_linalg.FLAGS}
        shape = (rows, lines) if attributes.get("left_side", True) else (lines, rows)
        operands.append(relaid(numbers((*batch, *shape), dtype, seed + 1), draw(LAID)))
    if op in (qr, svd):
        attributes = {"full": draw(st.booleans())}
    return Case(op, operands, attributes, 100 * (rows + columns) ** 2)


FAMILIES = {
    "matrix products": matrix_products(),
    "contractions": contractions(),
    "convolutions": convolutions(),
    "pools": pools(),
    "systems": systems(),
}


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=12, **UNHURRIED)
@given(data=st.data(), dynamic=st.booleans())
def test_drawn_cases(family: str, data: st.DataObject, dynamic: bool) -> None:
    data.draw(FAMILIES[family]).check(dynamic)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=300, **UNHURRIED)
@given(data=st.data(), dynamic=st.booleans())
def test_many_drawn_cases(family: str, data: st.DataObject, dynamic: bool) -> None:
    data.draw(FAMILIES[family]).check(dynamic)


# --- linear algebra -----------------------------------------------------------------------------
@pytest.mark.parametrize("size", [3, 7, 16, 24])
@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
class TestHopelessMatrices:
    """One matrix of a batch has no answer; the others do."""

    def batch(self, size: int, dtype: Any) -> Array:
        return np.stack([positive(size, dtype, seed) for seed in range(6)])

    def only_third_is_lost(self, op: OpDef, a: Array) -> None:
        for made in native(op, [a], {}, dynamic=False):
            lost = np.isnan(made).reshape(6, -1)
            assert lost[2].all() and not np.delete(lost, 2, 0).any(), op.name

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_not_finite(self, size: int, dtype: Any, bad: float) -> None:
        a = self.batch(size, dtype)
        a[2, size - 1, 0] = bad
        for op in (cholesky, eigh, svd):
            self.only_third_is_lost(op, a)

    def test_not_positive_definite(self, size: int, dtype: Any) -> None:
        a = self.batch(size, dtype)
        a[2, size - 1, size - 1] = -1
        self.only_third_is_lost(cholesky, a)

    def test_singular(self, size: int, dtype: Any) -> None:
        a = self.batch(size, dtype)
        a[2, :, 1] = 0
        sign, logarithm = native(slogdet, [a], {}, dynamic=False)
        assert sign[2] == 0 and logarithm[2] == -np.inf
        assert np.isfinite(np.delete(logarithm, 2)).all() and np.delete(sign, 2).all()
        for lines in (1, 3):
            x = native(solve, [a, numbers((6, size, lines), dtype, 1)], {}, dynamic=False)[0]
            assert not np.isfinite(x[2]).all() and np.isfinite(np.delete(x, 2, 0)).all()
        packed = native(lu, [a], {}, dynamic=False)[0]
        assert np.isfinite(packed).all()


# --- parallel loops, outside functions ----------------------------------------------------------


def link_in_pieces(
    module: Module, name: str, imported: dict[str, int] | None = None
) -> tuple[Library, int]:
    """Like `harness.link`, but `weft_parallel` runs the smallest pieces, the last ones first."""
    parameters = [("run", PTR), ("task", PTR), ("data", PTR), ("count", I64), ("grain", I64)]
    f = module.function(PARALLEL, VOID, parameters)
    run, task, data, count, grain = f.arguments
    pieces = f.divide(count + grain - 1, grain)
    with f.range(0, pieces) as number:
        begin = (pieces - 1 - number) * grain
        end = f.minimum(begin + grain, count)
        f.call_pointer(task, VOID, [run, data, begin, end])
    f.ret()
    for kind in reversed(KINDS.values()):
        if any(module.outside(export) for export in kind.exports(module.target)):
            gemm.define(module, kind)
    for dtype in convolution_phases.DTYPES:
        if module.outside(convolution_phases.symbol(dtype)):
            convolution_phases.define(module, dtype)
    library = Library(compile_text(module.text()), [name], imported)
    return library, library.address(name)


LARGE: dict[str, Case] = {
    "matrix and vector": Case(
        dot_general, [numbers((700, 300), np.float32, 1), numbers((300,), np.float32, 2)], MATMUL, 1
    ),
    "turned matrix and vector": Case(
        dot_general,
        [numbers((300, 700), np.float32, 1).T, numbers((300,), np.float32, 2)],
        MATMUL,
        1,
    ),
    "panels": Case(
        dot_general, [numbers((90, 80), np.int32, 1), numbers((80, 200), np.int32, 2)], MATMUL, 1
    ),
    "batch": Case(
        dot_general,
        [numbers((50, 20, 30), np.float64, 1), numbers((50, 30, 20), np.float64, 2)],
        {"lhs_contract": (2,), "rhs_contract": (1,), "lhs_batch": (0,), "rhs_batch": (0,)},
        1,
    ),
    "convolution": Case(
        convolution_op,
        [numbers((2, 8, 20, 21), np.float32, 1), numbers((16, 4, 3, 3), np.float32, 2)],
        rows_convolution.attributes_of(2, groups=2, padding=((1, 1), (1, 2))),
        1,
    ),
    "pool": Case(
        reduce_window,
        [numbers((40, 30, 50), np.float32, 1)],
        {"kind": "sum", **rows_window.attributes_of((2, 3, 3))},
        1,
    ),
    "solve": Case(
        solve, [numbers((3000, 3, 3), np.float32, 1), numbers((3000, 3, 2), np.float32, 2)], {}, 1
    ),
}


@pytest.mark.parametrize("name", LARGE)
def test_results_do_not_depend_on_how_loops_are_shared(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = LARGE[name]
    whole = native(case.op, case.operands, case.attributes, dynamic=False)
    monkeypatch.setattr(harness, "link", link_in_pieces)
    pieces = native(case.op, case.operands, case.attributes, dynamic=False)
    assert [x.tobytes() for x in whole] == [x.tobytes() for x in pieces]


def test_products_larger_than_any_block() -> None:
    """Rows, columns and terms beyond what fits a panel, by BLAS and without."""
    for dtype in (np.float32, np.complex64, np.int16, np.float16):
        lhs, rhs = numbers((37, 1100), dtype, 1), numbers((1100, 70), dtype, 2)
        for left in (lhs, np.asfortranarray(lhs), relaid(lhs, "reversed")):
            Case(dot_general, [left, rhs], MATMUL, 1100).check(dynamic=False)


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("padding", [((-1, 0),), ((0, -1),), ((-2, -1),), ((-1, 0), (0, -2))])
def test_windows_of_one_element_may_crop(
    padding: tuple[tuple[int, int], ...], dynamic: bool
) -> None:
    """The first element of such a product is not the first of the signal."""
    rank = len(padding)
    lhs = numbers((2, 4, *[5] * rank), np.float32, 1)
    rhs = numbers((6, 2, *[1] * rank), np.float32, 2)
    attributes = rows_convolution.attributes_of(rank, padding=padding, groups=2)
    for left in (lhs, relaid(lhs, "reversed")):
        Case(convolution_op, [left, rhs], attributes, 2).check(dynamic)


def test_symbols_have_addresses() -> None:
    assert symbols.address("scipy_blas_dgemm") == symbols.address("scipy_blas_dgemm") != 0
    for name in ("scipy_blas_nothing", "scipy_lapack_nothing", "cblas_dgemm"):
        with pytest.raises(KeyError):
            symbols.address(name)
