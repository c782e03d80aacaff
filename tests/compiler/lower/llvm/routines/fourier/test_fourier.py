"""Native Fourier transforms of all kinds and lengths, against the references."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.compiler.lower.llvm.routines.running import (
    Array,
    Native,
    assert_same_bits,
    reference,
    run,
)
from weft.compiler.ir import dtypes
from weft.compiler.lower.llvm.routines.fourier.lengths import convolution_length, is_smooth
from weft.compiler.lower.llvm.routines.fourier.rows import matrix_shape
from weft.compiler.lower.llvm.routines.fourier.stages import factors
from weft.compiler.ops.fft import fft

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


@pytest.mark.parametrize("dynamic", [False, pytest.param(True, marks=pytest.mark.slow)])
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
