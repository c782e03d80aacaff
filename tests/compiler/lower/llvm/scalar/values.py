"""Values on which elementwise ops are tried: the odd ones of each dtype, and random ones."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from weft.compiler.ir import dtypes
from weft.compiler.ir.dtypes import DType

NDArray = np.ndarray[Any, Any]

INTEGERS = tuple([d for d in dtypes.ALL if d.is_integer])
FLOATS = tuple([d for d in dtypes.ALL if d.is_float])
COMPLEXES = tuple([d for d in dtypes.ALL if d.is_complex])

_WHOLE = (0, 1, 2, 3, 5, 7, 8, 15, 16, 31, 32, 63, 64, 100, -1, -2, -3, -7, -64)


def edges(of: DType) -> NDArray:
    """Zeros, ones, ends of the range and of the subnormals, infinities, NaN; pairs for complex."""
    if of.is_bool:
        return np.array([False, True])
    if of.is_integer:
        low, high = np.iinfo(of.numpy).min, np.iinfo(of.numpy).max
        whole = [number for number in _WHOLE if low <= number <= high]
        return np.array([*whole, low, low + 1, high - 1, high], of.numpy)
    if of.is_complex:
        return from_parts(*crossed(edges(of.real), edges(of.real)))
    limits = ml_dtypes.finfo(of.numpy)  # type: ignore[no-untyped-call]
    least, tiny, largest = limits.smallest_subnormal, limits.tiny, limits.max
    ends = [float(end) for end in (least, least * 3, tiny - least, tiny, largest, largest / 2)]
    inside = [0.0, 0.1, 1 / 3, 0.5, 1.0, 1.0 + float(limits.eps), 1.5, 2.5, 3.0, 7.0, 100.7]
    values = [*inside, *ends, np.inf]
    return np.array([*values, *[-value for value in values], np.nan]).astype(of.numpy)


def random(of: DType, count: int, seed: int = 0) -> NDArray:
    """Random bits, and for floats every second time a number of moderate size."""
    generator = np.random.default_rng(seed)
    if of.is_bool:
        return generator.integers(0, 2, count).astype(np.bool_)
    if of.is_complex:
        return from_parts(random(of.real, count, seed), random(of.real, count, seed + 100))
    made = np.frombuffer(generator.bytes(count * of.itemsize), of.numpy).copy()
    if of.is_float:
        made[::2] = (generator.normal(size=(count + 1) // 2) * 4).astype(of.numpy)
    return made


def crossed(*values: NDArray) -> tuple[NDArray, ...]:
    """All combinations of the values of several arrays, as arrays of one length."""
    return tuple([grid.ravel() for grid in np.meshgrid(*values)])


def operands(of: DType, count: int) -> tuple[NDArray, ...]:
    """Edges crossed with each other, then random values; in a length that no vector divides."""
    found = edges(of)
    if of.is_complex and count > 1:
        found = np.random.default_rng(1).permutation(found)[:50]
    if count == 3:
        found = found[:: 1 + len(found) // 12]
    if count == 1:
        return (np.concatenate([found, random(of, 301)]),)
    return tuple(
        [
            np.concatenate([column, random(of, 301, seed)])
            for seed, column in enumerate(crossed(*[found] * count))
        ]
    )


def from_parts(real: NDArray, imag: NDArray) -> NDArray:
    """Complex numbers of these parts, which a sum would not keep beside infinities."""
    made = np.empty(real.shape, np.result_type(real, np.complex64))
    made.real, made.imag = real, imag
    return made


def same(left: NDArray, right: NDArray, *, signed_zeros: bool = True) -> NDArray:
    """Where two arrays agree; NaNs do, zeros of different signs do not unless told so."""
    if np.iscomplexobj(left):
        real = same(left.real, right.real, signed_zeros=signed_zeros)
        return real & same(left.imag, right.imag, signed_zeros=signed_zeros)
    if not dtypes.dtype(left.dtype).is_float:
        return np.asarray(left == right)
    a, b = left.astype(np.float64), right.astype(np.float64)
    equal = (a == b) & ((np.signbit(a) == np.signbit(b)) | (not signed_zeros))
    return np.asarray(equal | (np.isnan(a) & np.isnan(b)))
