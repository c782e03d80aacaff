"""Derivative and batching rules of dot_general and fft: every row of their tables, result dtypes,
symbolic sizes, and how few ops the rules take.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.compiler.ops import rows_contraction, rows_fft
from tests.compiler.ops.sample import Sample
from tests.compiler.transforms import rows
from tests.compiler.transforms.checking import (
    Array,
    check_batch,
    check_jvp,
    check_second_order,
    check_symbolic,
    check_types,
    check_vjp,
    direction,
    gradient,
    inexact,
    symbol,
    trace,
    vjp_region,
)
from weft.compiler.ir.dtypes import c128, f32, f64
from weft.compiler.ir.types import ArrayType
from weft.compiler.ops.contraction import dot_general
from weft.compiler.ops.fft import fft
from weft.compiler.transforms import derive

CHECKS = (check_jvp, check_vjp, check_second_order, check_batch)


# --- dot_general --------------------------------------------------------------------------------


def in_double(row: Sample) -> Sample:
    """The row without a result dtype, which would not hold the widened operands."""
    return replace(row, attributes={k: v for k, v in row.attributes.items() if k != "dtype"})


def test_products_agree_with_differences_and_loops() -> None:
    samples = rows.differentiable(rows_contraction.ROWS)
    rows.check_each(samples, check_types)
    rows.check_each(map(in_double, samples), *CHECKS)


def x(*sizes: int, seed: int = 1) -> Array:
    return direction(ArrayType(f64, sizes), seed)


SYMBOLIC = [
    ((x(3, 4), x(4, 5)), {"lhs_contract": (1,), "rhs_contract": (0,)}),
    (
        (x(3, 4, 5), x(5, 4, 6)),
        {"lhs_contract": (2,), "rhs_contract": (0,), "lhs_batch": (1,), "rhs_batch": (1,)},
    ),
]


@pytest.mark.parametrize(("operands", "attributes"), SYMBOLIC)
def test_products_take_symbolic_sizes(
    operands: tuple[Array, ...], attributes: dict[str, Any]
) -> None:
    check_symbolic(dot_general, operands, attributes)


@pytest.mark.parametrize(("narrow", "wide"), [("f2", "f4"), ("f4", "f8"), ("f4", "c16")])
def test_a_wider_result_has_gradients_in_the_dtype_of_the_operands(narrow: str, wide: str) -> None:
    """What does not fit the operands' dtype on the way must not be lost before the end."""
    lhs, rhs = np.array([[3.0, 4.0]], narrow), np.array([[2.0], [5.0]], narrow)
    large = np.array([[1 + 2.0**-20]], wide)
    attributes = {**rows_contraction.MATMUL, "dtype": wide_name(wide)}
    of_lhs, of_rhs = gradient(dot_general, [lhs, rhs], attributes, [large])
    assert of_lhs.dtype == of_rhs.dtype == np.dtype(narrow)
    np.testing.assert_array_equal(of_lhs, (large.real * rhs.T.astype("f8")).astype(narrow))
    np.testing.assert_array_equal(of_rhs, (lhs.T.astype("f8") * large.real).astype(narrow))


def wide_name(wide: str) -> Any:
    return {"f4": f32, "f8": f64, "c16": c128}[wide]


LAYOUTS: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "x @ w": ((2, 3), (3, 4), {"lhs_contract": (1,), "rhs_contract": (0,)}),
    "x @ w.T": ((2, 3), (4, 3), {"lhs_contract": (1,), "rhs_contract": (1,)}),
    "x.T @ w": ((3, 2), (3, 4), {"lhs_contract": (0,), "rhs_contract": (0,)}),
    "x.T @ w.T": ((3, 2), (4, 3), {"lhs_contract": (0,), "rhs_contract": (1,)}),
    "heads": (
        (5, 2, 3),
        (5, 3, 4),
        {"lhs_contract": (2,), "rhs_contract": (1,), "lhs_batch": (0,), "rhs_batch": (0,)},
    ),
    "vectors": ((3,), (3,), {"lhs_contract": (0,), "rhs_contract": (0,)}),
    "outer": ((3,), (4,), {"lhs_contract": (), "rhs_contract": ()}),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_of_products_are_two_products(layout: str) -> None:
    """No transpose: the order of operands and the contracted axes are chosen to fit."""
    lhs, rhs, attributes = LAYOUTS[layout]
    region = trace(dot_general, [ArrayType(f64, lhs), ArrayType(f64, rhs)], attributes)
    made = vjp_region(region, [True, True], [True])
    assert [op.name for op in made.ops] == ["dot_general"] * 3


def test_a_batched_product_is_one_product() -> None:
    types = [ArrayType(f64, (2, 3)), ArrayType(f64, (3, 4))]
    region = trace(dot_general, types, rows_contraction.MATMUL)
    for marks, names in {
        (True, True): ["dot_general"],
        (True, False): ["dot_general"],
        (False, True): ["dot_general", "transpose"],
    }.items():
        made = derive.TRANSFORMS.batch(region, marks, 5, [True]).region
        assert [op.name for op in made.ops] == names


# --- fft ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_transforms_agree_with_differences_and_loops() -> None:
    rows.check_each(rows.differentiable(rows_fft.ROWS), check_types, *CHECKS)


@pytest.mark.parametrize("length", range(1, 10))
def test_half_spectra_have_the_gradients_of_dense_matrices(length: int) -> None:
    half = length // 2 + 1
    angles = 2 * np.pi * np.outer(np.arange(half), np.arange(length)) / length
    forward = np.exp(-1j * angles)
    spectrum_weights = direction(ArrayType(c128, (half,)), seed=3)
    signal_weights = x(length, seed=4)
    attributes: dict[str, Any] = {"kind": "rfft", "axes": (0,)}
    (of_signal,) = gradient(fft, [x(length)], attributes, [spectrum_weights])
    np.testing.assert_allclose(of_signal, (spectrum_weights @ forward).real, atol=1e-13)

    mirrored = np.array([1 if 2 * k in (0, length) else 2 for k in range(half)])
    backward = mirrored[:, None] * np.exp(1j * angles) / length
    attributes = {"kind": "irfft", "axes": (0,), "last": length}
    spectrum = direction(ArrayType(c128, (half,)), seed=5)
    (of_spectrum,) = gradient(fft, [spectrum], attributes, [signal_weights])
    np.testing.assert_allclose(of_spectrum, backward @ signal_weights, atol=1e-13)


@pytest.mark.parametrize(
    ("operand", "attributes"),
    [
        (x(3, 5) + 0j, {"kind": "fft", "axes": (1,)}),
        (x(3, 5) + 0j, {"kind": "ifft", "axes": (1, 0)}),
        (x(3, 5), {"kind": "rfft", "axes": (1,)}),
        (x(4, 3), {"kind": "rfft", "axes": (1, 0)}),
        (x(4, 3) + 0j, {"kind": "irfft", "axes": (1, 0)}),
        (x(4, 3) + 0j, {"kind": "irfft", "axes": (0,), "last": 2 * symbol(4) - 1}),
    ],
)
def test_transforms_take_symbolic_sizes(operand: Array, attributes: dict[str, Any]) -> None:
    check_symbolic(fft, [operand], attributes)


def test_an_empty_signal_has_a_zero_gradient() -> None:
    attributes = {"kind": "irfft", "axes": (0,)}
    (made,) = gradient(fft, [np.ones(1, complex)], attributes, [np.zeros(0)])
    assert made.tolist() == [0]


def test_the_transpose_of_a_transform_is_a_transform() -> None:
    for kind in ("fft", "ifft"):
        region = trace(fft, [ArrayType(c128, (4,))], {"kind": kind, "axes": (0,)})
        made = vjp_region(region, [True], inexact(region.result_types))
        assert [op.attributes["kind"] for op in made.ops] == [kind, kind]
