"""Samples of fft. The oracle multiplies by the matrix of roots of unity, axis by axis.

Single precision rows allow some units in the last place of f32, double ones of f64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.compiler.ops.rows_contraction import normal
from tests.compiler.ops.sample import Array, BadSample, Sample
from weft.compiler.ir.errors import DTypeError, ShapeError
from weft.compiler.ops.fft import fft

COMPLEX = (np.complex64, np.complex128)
FLOAT = (np.float32, np.float64)


def dft(x: Array, axis: int, inverse: bool = False) -> Array:
    """Sums with roots of unity along one axis, in double."""
    length = x.shape[axis]
    if length == 0:
        return x.astype(np.complex128)
    turns = np.outer(np.arange(length), np.arange(length)) % length / length
    roots = np.exp((2j if inverse else -2j) * np.pi * turns)
    sums = np.moveaxis(np.tensordot(x.astype(np.complex128), roots, (axis, 0)), -1, axis)
    return sums / length if inverse else sums


def all_frequencies(half: Array, axis: int, length: int) -> Array:
    """A spectrum with the conjugate half that a real signal's has; what must be real is made so."""
    parts = np.moveaxis(half.astype(np.complex128), axis, 0)
    whole = np.zeros((length, *parts.shape[1:]), np.complex128)
    for frequency in range(length // 2 + 1 if length else 0):
        partner = -frequency % length
        whole[frequency] = parts[frequency]
        whole[partner] = parts[frequency].real if partner == frequency else parts[frequency].conj()
    return np.moveaxis(whole, 0, axis)


def transformed(x: Array, kind: str, axes: tuple[int, ...], last: int | None) -> Array:
    if kind in ("fft", "ifft"):
        for axis in axes:
            x = dft(x, axis, kind == "ifft")
        return x
    *others, halved = axes
    if kind == "rfft":
        for axis in axes:
            x = dft(x, axis)
        return np.take(x, np.arange(x.shape[halved] // 2 + 1), halved)
    for axis in others:
        x = dft(x, axis, inverse=True)
    length = 2 * (x.shape[halved] - 1) if last is None else last
    return dft(all_frequencies(x, halved, length), halved, inverse=True).real


RESULT: dict[str, dict[Any, Any]] = {
    "fft": {},
    "ifft": {},
    "rfft": {np.dtype(np.float32): np.complex64, np.dtype(np.float64): np.complex128},
    "irfft": {np.dtype(np.complex64): np.float32, np.dtype(np.complex128): np.float64},
}


def row(
    x: Array, kind: str, axes: tuple[int, ...], last: int | None = None, name: str = ""
) -> Sample:
    dtype = RESULT[kind].get(x.dtype, x.dtype)
    tolerance = 1e-5 if np.finfo(x.dtype).bits == 32 else 1e-13
    attributes = {"kind": kind, "axes": axes} | ({} if last is None else {"last": last})
    expected = transformed(x, kind, axes, last).astype(dtype)
    return Sample(
        fft,
        (x,),
        expected,
        attributes,
        rtol=tolerance,
        atol=tolerance,
        name=f"{kind} {axes} {name}",
    )


def literal(kind: str, x: Any, expected: Any, dtype: Any, result: Any) -> Sample:
    tolerance = 1e-6 if np.finfo(dtype).bits == 32 else 1e-14
    return Sample(
        fft,
        (np.array(x, dtype),),
        np.array(expected, result),
        {"kind": kind, "axes": (0,)},
        atol=tolerance,
        name=f"G45 {kind}",
    )


def special(kind: str, x: Any, expected: Any, name: str) -> Sample:
    operand, result = np.array(x), np.array(expected)
    return Sample(fft, (operand,), result, {"kind": kind, "axes": (0,)}, name=name)


SPECTRUM = [10, -2 + 2j, -2, -2 - 2j]
CIRCULAR_SPECTRUM = [0, -4 + 4j, 0, -4 - 4j]

GOLDEN = [
    *[literal("fft", [1, 2, 3, 4], SPECTRUM, d, d) for d in COMPLEX],
    *[literal("ifft", SPECTRUM, [1, 2, 3, 4], d, d) for d in COMPLEX],
    *[literal("ifft", CIRCULAR_SPECTRUM, [-2, -2, 2, 2], d, d) for d in COMPLEX],
    *[
        literal("rfft", [1, 2, 3, 4], SPECTRUM[:3], r, c)
        for r, c in zip(FLOAT, COMPLEX, strict=True)
    ],
    *[
        literal("irfft", SPECTRUM[:3], [1, 2, 3, 4], c, r)
        for r, c in zip(FLOAT, COMPLEX, strict=True)
    ],
]

LENGTHS = [
    row(normal((length,), dtype, length), kind, (0,), name=f"length {length}")
    for length in (1, 2, 3, 7, 8, 12)
    for kind, dtypes_of in (("fft", COMPLEX), ("ifft", COMPLEX), ("rfft", FLOAT))
    for dtype in dtypes_of
] + [
    row(normal((length // 2 + 1,), dtype, length), "irfft", (0,), length, name=f"length {length}")
    for length in (1, 2, 3, 7, 8, 12)
    for dtype in COMPLEX
]

AXES = [
    row(normal((3, 4, 5), dtype, 1), kind, axes)
    for axes in ((0,), (1, 2), (2, 0), (0, 1, 2), (2, 1, 0))
    for kind, dtype in (("fft", np.complex128), ("ifft", np.complex64), ("rfft", np.float64))
] + [
    row(normal((3, 4, 5), np.complex128, 2), "irfft", axes, last)
    for axes, last in (((1,), 7), ((1,), None), ((0, 2), 9), ((2, 0), 4), ((0, 1, 2), 8))
]

SHAPES = [
    row(normal((), np.complex64, 3), "fft", (), name="rank 0"),
    row(normal((3,), np.complex64, 3), "ifft", (), name="no axes"),
    row(np.zeros((0,), np.complex64), "fft", (0,), name="length 0"),
    row(np.zeros((0,), np.complex128), "ifft", (0,), name="length 0"),
    special("rfft", np.zeros(0, np.float32), np.zeros(1, np.complex64), "length 0"),
    row(np.ones((1,), np.complex64), "irfft", (0,), 0, name="length 0"),
    row(np.zeros((0, 4), np.complex64), "fft", (1,), name="zero size"),
    row(np.zeros((0, 4), np.float64), "rfft", (1,), name="zero size"),
    row(np.zeros((0, 4), np.complex64), "irfft", (1,), 6, name="zero size"),
    row(np.zeros((4, 0), np.complex64), "fft", (0, 1), name="zero size"),
    row(normal((5, 6), np.complex128, 4)[::-1, ::-2], "fft", (0, 1), name="negative strides"),
    row(normal((5, 6), np.float32, 4)[::-1, ::-2], "rfft", (0, 1), name="negative strides"),
]


NAN = complex(np.nan, np.nan)
EDGE_VALUES = [
    special("fft", [np.nan + 0j], [np.nan + 0j], "NaN"),
    special(
        "rfft",
        np.array([[np.nan, 1.0], [1.0, 1.0]]),
        [[NAN, 2 + 0j], [NAN, 0j]],
        "NaN stays in its row",
    ),
    special("irfft", [1 + 5j, 0j], [0.5, 0.5], "imaginary part of frequency 0 is ignored"),
]

ROWS = GOLDEN + LENGTHS + AXES + SHAPES + EDGE_VALUES


def bad(
    kind: str, type: str, error: Any, match: str, axes: tuple[int, ...] = (0,), **given: Any
) -> BadSample:
    return BadSample(fft, (type,), error, match, {"kind": kind, "axes": axes, **given})


BAD = [
    bad("fft", "f32[4]", DTypeError, "fft takes c64 or c128, got f32"),
    bad("ifft", "i32[4]", DTypeError, "ifft takes c64 or c128, got i32"),
    bad("rfft", "f16[4]", DTypeError, "rfft takes f32 or f64, got f16"),
    bad("rfft", "c64[4]", DTypeError, "rfft takes f32 or f64, got c64"),
    bad("irfft", "f64[4]", DTypeError, "irfft takes c64 or c128, got f64"),
    bad("fft", "c64[4]", ShapeError, "axis 1 is out of range", (1,)),
    bad("fft", "c64[4]", ShapeError, "name an axis twice", (0, 0)),
    bad("rfft", "f32[4]", ShapeError, "rfft needs at least one axis", ()),
    bad("fft", "c64[4]", ShapeError, "`last` is for irfft only", last=4),
    bad("irfft", "c64[4]", ShapeError, "a signal of length 9 has 5 frequencies, got 4", last=9),
    bad("irfft", "c64[0]", ShapeError, "at least one frequency"),
]
