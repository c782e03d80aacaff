"""Routines of contractions, convolutions, windows and linear algebra as functions of arrays, in
memory with marked margins, and cases of them that are compared with the references.

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
from hypothesis import HealthCheck
from hypothesis import strategies as st

from tests.compiler.lower import harness
from weft.compiler.abi import BLAS_THREADS, PARALLEL
from weft.compiler.ir import dtypes
from weft.compiler.ir.build import Builder
from weft.compiler.ir.evaluate import evaluate
from weft.compiler.ir.graph import Graph, Op, Result
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ir.types import type_of
from weft.compiler.lower.llvm.emit.function import Module
from weft.compiler.lower.llvm.emit.types import I64, PTR, VOID
from weft.compiler.lower.llvm.machine import compile_text
from weft.compiler.lower.llvm.routines.convolution import api as convolution
from weft.compiler.lower.llvm.routines.convolution import entry as convolution_phases
from weft.compiler.lower.llvm.routines.gemm import contraction, gemm
from weft.compiler.lower.llvm.routines.gemm.kinds import KINDS
from weft.compiler.lower.llvm.routines.linalg import api as linalg
from weft.compiler.lower.llvm.routines.reductions import windows
from weft.compiler.ops.linalg import eigh, svd
from weft.runtime import symbols
from weft.runtime.native import Library

Array = np.ndarray[Any, Any]

ROUTINES = {
    **contraction.ROUTINES,
    **convolution.ROUTINES,
    **windows.ROUTINES,
    **linalg.ROUTINES,
}
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


# --- cases ---------------------------------------------------------------------------------------

MATMUL: dict[str, Any] = {"lhs_contract": (1,), "rhs_contract": (0,)}


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
def spatial(draw: st.DrawFn, rank: int, names: Sequence[str]) -> dict[str, Any]:
    """Strides, dilations and padding for a number of axes."""
    few = st.tuples(*[st.sampled_from((1, 1, 1, 2, 3))] * rank)
    edges = st.tuples(*[st.tuples(st.integers(-2, 3), st.integers(-1, 3))] * rank)
    return {"padding": draw(edges), **{name: draw(few) for name in names}}


# --- parallel loops ------------------------------------------------------------------------------


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
    imported = (imported or {}) | harness.shared_mathematics(module)
    library = Library(compile_text(module.text()), [name], imported)
    return library, library.address(name)


def assert_same_in_pieces(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bits whether loops run as a whole or in the smallest pieces, the last ones first."""
    whole = native(case.op, case.operands, case.attributes, dynamic=False)
    monkeypatch.setattr(harness, "link", link_in_pieces)
    pieces = native(case.op, case.operands, case.attributes, dynamic=False)
    assert [x.tobytes() for x in whole] == [x.tobytes() for x in pieces]
