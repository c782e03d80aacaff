"""Routines work in as much memory as they say beforehand: they ask the heap for none, and write to
nothing outside of it.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from tests.compiler.lower import harness
from tests.compiler.lower.llvm.routines.guarding import build, imports
from tests.compiler.ops.rows_convolution import attributes_of
from weft.compiler.ir import dims, dtypes
from weft.compiler.ir.build import Builder
from weft.compiler.ir.dims import Size
from weft.compiler.ir.graph import Op, Result
from weft.compiler.ir.types import ArrayType
from weft.compiler.lower.llvm import routines
from weft.compiler.lower.llvm.emit import workspace
from weft.compiler.lower.llvm.routines import Planned, scratch_bytes
from weft.compiler.lower.llvm.target import host
from weft.compiler.ops import TABLE

Array = np.ndarray[Any, Any]
Case = tuple[str, list[Array], dict[str, Any]]


def numbers(*shape: int, of: str = "float64") -> Array:
    made = np.random.default_rng(11).standard_normal(shape)
    return made.astype(of)


def symmetric(*shape: int) -> Array:
    x = numbers(*shape)
    return np.asarray(x + np.swapaxes(x, -1, -2) + 8 * np.eye(shape[-1]))


SORT = {"num_keys": 1, "descending": False}
CASES: list[Case] = [
    ("sort", [numbers(5, 4000, of="float32")], {"axis": 1, **SORT}),
    ("sort", [numbers(40, 100)], {"axis": 1, **SORT}),
    ("sort", [numbers(20, 700), numbers(20, 700)], {"axis": 0, **SORT}),
    ("sort", [numbers(20, 60), numbers(20, 60)], {"axis": 1, "num_keys": 2, "descending": True}),
    ("top_k", [numbers(7, 5000)], {"k": 20, "axis": 1, "largest": True}),
    ("top_k", [numbers(7, 5000)], {"k": 300, "axis": 1, "largest": False}),
    ("top_k", [numbers(7, 200)], {"k": 5, "axis": 1, "largest": True}),
    ("cholesky", [symmetric(3, 20, 20)], {}),
    ("solve", [symmetric(6, 20, 20), numbers(6, 20, 3)], {}),
    ("solve", [symmetric(30, 30), numbers(30, 1)], {}),
    ("lu", [numbers(4, 30, 20)], {}),
    ("slogdet", [symmetric(5, 40, 40)], {}),
    ("qr", [numbers(3, 40, 18)], {"full": False}),
    ("eigh", [symmetric(2, 25, 25)], {}),
    ("svd", [numbers(3, 18, 30)], {"full": True}),
    (
        "triangular_solve",
        [symmetric(20, 20).T[::-1, ::-1], numbers(20, 30)],
        {
            "lower": True,
            "transpose": False,
            "conjugate": False,
            "unit_diagonal": False,
            "left_side": True,
        },
    ),
]
MATRICES = {"lhs_contract": (1,), "rhs_contract": (0,)}
HALF = "float16"
CASES += [
    ("dot_general", [numbers(200, 300), numbers(300, 250)], MATRICES),
    ("dot_general", [numbers(200, 300), numbers(250, 300).T], MATRICES),
    ("dot_general", [numbers(90, 300, of=HALF), numbers(300, 170, of=HALF)], MATRICES),
    ("dot_general", [numbers(700, 900, of="int8"), numbers(900, 600, of="int8")], MATRICES),
    ("dot_general", [numbers(70, 80, of="int64"), numbers(80, 90, of="int64")], MATRICES),
    ("dot_general", [numbers(3, 4000, of="float32"), numbers(4000, 900, of="float32")], MATRICES),
    ("dot_general", [numbers(1000, 900).T, numbers(1000, 1)], MATRICES),
    ("dot_general", [numbers(1, 900), numbers(900, 700)], MATRICES),
    ("dot_general", [numbers(300, 400)[:, ::2], numbers(200, 1)[::-1]], MATRICES),
    (
        "dot_general",
        [numbers(30, 40, 50).transpose(0, 2, 1), numbers(40, 30, 60)],
        {"lhs_contract": (0, 2), "rhs_contract": (1, 0)},
    ),
    (
        "dot_general",
        [numbers(3, 90, 80), numbers(3, 80, 100)],
        {"lhs_contract": (2,), "rhs_contract": (1,), "lhs_batch": (0,), "rhs_batch": (0,)},
    ),
    (
        "dot_general",
        [numbers(12, 90, 300, of="float32"), numbers(12, 300, 170, of="float32")],
        {"lhs_contract": (2,), "rhs_contract": (1,), "lhs_batch": (0,), "rhs_batch": (0,)},
    ),
]
COMPLEX = "complex128"
for shape, kind, axes in (
    ((5, 48), "fft", (1,)),
    ((40, 30), "ifft", (0,)),
    ((6, 1000), "fft", (1,)),
    ((3, 10_007), "fft", (1,)),
    ((2, 30_000), "fft", (1,)),
    ((1, 70_000), "fft", (1,)),
    ((40, 37, 24), "fft", (0, 1, 2)),
    ((20, 30, 17), "irfft", (0, 1, 2)),
):
    CASES.append(("fft", [numbers(*shape, of=COMPLEX)], {"kind": kind, "axes": axes}))
CASES.append(("fft", [numbers(6, 40, 90)], {"kind": "rfft", "axes": (1, 2)}))
WINDOW = {
    "kind": "sum",
    "window": (3, 3),
    "padding": ((1, 1), (0, 0)),
    "strides": (1, 2),
    "base_dilation": (1, 1),
    "window_dilation": (1, 1),
}
CASES.append(("reduce_window", [numbers(30, 80)[:, ::2]], WINDOW))
ENTRIES = [
    numbers(6, of=HALF),
    np.array([0, 2, 1, 4, 3, 3]),
    np.array([0, 2, 4, 6]),
    numbers(3, 7, of=HALF),
]
CASES.append(("sparse_dot", ENTRIES, {"transposed": True, "size": 5}))


def convolution_of(lhs: tuple[int, ...], rhs: tuple[int, ...], of: str, **options: Any) -> Case:
    attributes = {"groups": 1, **attributes_of(len(lhs) - 2, **options)}
    return "convolution", [numbers(*lhs, of=of), numbers(*rhs, of=of)], attributes


SAME = ((1, 1), (1, 1))
CASES += [
    convolution_of((3, 20, 18, 17), (40, 20, 3, 3), "float32", padding=SAME),
    convolution_of((2, 20, 18, 17), (40, 20, 3, 3), "float64", padding=SAME),
    convolution_of((2, 3, 20, 22), (30, 3, 5, 5), "float32", strides=(2, 2)),
    convolution_of((2, 8, 9, 10), (12, 8, 4, 4), "float32", lhs_dilation=(2, 2)),
    convolution_of((4, 24, 14, 14), (24, 1, 3, 3), "float32", groups=24),
    # The sizes of gradients of filters.
    convolution_of((20, 6, 20, 21), (24, 6, 18, 19), "float32"),
    convolution_of((6, 6, 20, 21), (24, 6, 18, 18), HALF),
]
# Points, and what is written out for its dtype: other sizes are not planned like this.
KNOWN_SIZES = [
    convolution_of((3, 32, 9, 9), (48, 32, 1, 1), HALF),
    convolution_of((12, 32, 9, 9), (48, 32, 1, 1), HALF),
    convolution_of((4, 20, 18, 17), (40, 20, 3, 3), "int32", padding=SAME),
    convolution_of((1, 20, 38, 37), (40, 20, 3, 3), "int8", strides=(2, 2)),
    convolution_of((3, 6, 18, 17), (8, 3, 3, 3), COMPLEX, groups=2),
]
CASES += KNOWN_SIZES
# LAPACK says at run time how much it wants for these.
ASK_THE_HEAP = ("svd",)
KNOWN_LENGTHS = ("fft",)


def operation(case: Case) -> Op:
    name, operands, attributes = case
    return build(TABLE[name], operands, attributes)[1]


_NO_MEMORY = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)(lambda *_: None)


@pytest.mark.parametrize("threads", [pytest.param(1, marks=pytest.mark.slow), 3])
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("case", CASES, ids=[f"{case[0]}{n}" for n, case in enumerate(CASES)])
def test_planned_memory_is_all_that_a_routine_takes(
    monkeypatch: pytest.MonkeyPatch, case: Case, dynamic: bool, threads: int
) -> None:
    name, operands, _ = case
    if (name in KNOWN_LENGTHS or any(case is other for other in KNOWN_SIZES)) and dynamic:
        pytest.skip("lengths that are known only at run time are not planned")
    op = operation(case)
    emit = routines.routine(name)
    expected = harness.run_routine(emit, op, operands, dynamic=dynamic, imports=imports())
    linked = imports()
    if name not in ASK_THE_HEAP:
        monkeypatch.setattr(workspace, "ALLOCATE", "test_allocate")
        linked = linked | {"test_allocate": ctypes.cast(_NO_MEMORY, ctypes.c_void_p).value or 0}
    made = harness.run_routine(
        emit, op, operands, dynamic=dynamic, imports=linked, planned=True, threads=threads
    )
    for want, got in zip(expected, made, strict=True):
        np.testing.assert_array_equal(want, got)


def symbolic(
    name: str, shapes: list[tuple[Size, ...]], attributes: dict[str, Any], of: str = "f64"
) -> Op:
    builder = Builder()
    types = [ArrayType(dtypes.named(of), shape) for shape in shapes]
    parameters = [builder.parameter(type, f"x{n}") for n, type in enumerate(types)]
    first = builder.emit(TABLE[name], parameters, attributes)[0]
    assert isinstance(first, Result)
    return first.op


def planned(op: Op, threads: Size) -> Size:
    strides = [tuple([0] * operand.type.rank) for operand in op.operands]
    return scratch_bytes(Planned(op, strides, host(), threads))


@pytest.mark.parametrize("shape", [(1, 700, 900), (60, 1, 70), (500, 400, 2000), (90, 33, 5000)])
@pytest.mark.parametrize("of", ["f32", "f16", "i8"])
def test_products_of_symbols_cover_those_of_numbers(shape: tuple[int, int, int], of: str) -> None:
    def product(sizes: tuple[Size, Size, Size], threads: Size) -> Size:
        m, n, k = sizes
        op = symbolic("dot_general", [(m, k), (k, n)], MATRICES, of)
        return scratch_bytes(Planned(op, [(k, 1), (n, 1)], host(), threads))

    names = ("m", "n", "k")
    bound = product((dims.symbol("m"), dims.symbol("n"), dims.symbol("k")), dims.symbol("t"))
    for threads in (1, 8):
        exact = product(shape, threads)
        assert isinstance(exact, int)
        values = dict(zip(names, shape, strict=True)) | {"t": threads}
        assert exact <= dims.evaluate(bound, values)


@pytest.mark.parametrize(
    "name,shape,attributes",
    [
        ("sort", (6, 3000), {"axis": 1, **SORT}),
        ("top_k", (6, 3000), {"k": 2, "axis": 1, "largest": True}),
        ("eigh", (4, 30, 30), {}),
        ("qr", (3, 30, 20), {"full": False}),
    ],
)
def test_sizes_of_symbols_cover_those_of_numbers(
    name: str, shape: tuple[int, ...], attributes: dict[str, Any]
) -> None:
    """A program that serves all sizes sets aside at least what each of them needs."""
    symbols: dict[int, Size] = {size: dims.symbol(f"n{size}", lower=2) for size in shape}
    op = symbolic(name, [tuple(symbols[size] for size in shape)], attributes)
    values = {f"n{size}": size for size in shape}
    for threads in (1, 2, 64):
        bound = dims.evaluate(planned(op, dims.symbol("t")), values | {"t": threads})
        exact = planned(symbolic(name, [shape], attributes), threads)
        assert isinstance(exact, int)
        assert 0 < exact <= bound


def test_memory_of_tasks_grows_with_threads_up_to_the_tasks() -> None:
    op = symbolic("sort", [(4, 100_000)], {"axis": 1, **SORT})
    one, two, many = [planned(op, threads) for threads in (1, 2, 100)]
    assert isinstance(one, int) and isinstance(two, int) and isinstance(many, int)
    assert one < two <= 2 * one
    assert many <= 4 * one


def test_ops_that_ask_the_heap_plan_nothing() -> None:
    op = symbolic("cumsum", [(4, 100)], {"axis": 1, "reverse": False})
    assert planned(op, 1) == 0
