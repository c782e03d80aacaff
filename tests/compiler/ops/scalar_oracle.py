"""Oracles that work number by number in Python and mpmath, sharing no code with NumPy's kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np

from weft.compiler.ir import dtypes
from weft.compiler.ir.dtypes import DType

Array = np.ndarray[Any, Any]

SIGNED = (dtypes.i8, dtypes.i16, dtypes.i32, dtypes.i64)
UNSIGNED = (dtypes.u8, dtypes.u16, dtypes.u32, dtypes.u64)
INTEGERS = (*SIGNED, *UNSIGNED)
FLOATS = (dtypes.f16, dtypes.bf16, dtypes.f32, dtypes.f64)
COMPLEXES = (dtypes.c64, dtypes.c128)

# The distance from 1 to the next number, which bounds twice the relative error of one rounding.
EPSILON = {
    dtypes.f16: 2.0**-10,
    dtypes.bf16: 2.0**-7,
    dtypes.f32: 2.0**-23,
    dtypes.f64: 2.0**-52,
    dtypes.c64: 2.0**-23,
    dtypes.c128: 2.0**-52,
}


def array(values: Any, dtype: DType) -> Array:
    """An array of this dtype; values out of its range become what a C cast makes of them."""
    with np.errstate(all="ignore"):
        return np.asarray(values).astype(dtype.numpy)


def least(dtype: DType) -> int:
    return -(1 << dtype.bits - 1) if dtype.is_signed else 0


def greatest(dtype: DType) -> int:
    return least(dtype) + (1 << dtype.bits) - 1


def wrap(number: int, dtype: DType) -> int:
    """The number modulo the width of an integer dtype."""
    return (number - least(dtype)) % (1 << dtype.bits) + least(dtype)


def numbers(values: Array) -> list[Any]:
    """The elements in order as Python bools, ints, floats or complex numbers."""
    of = dtypes.dtype(values.dtype)
    flat = values.reshape(-1)
    if of.is_float:
        return [float(number) for number in flat]
    return flat.tolist()


def each(function: Callable[..., Any], *operands: Array, dtype: DType | None = None) -> Array:
    """The function at each place, rounded or wrapped to `dtype` or else the first operand's."""
    result_dtype = dtype or dtypes.dtype(operands[0].dtype)
    stretched = np.broadcast_arrays(*operands)
    results = [function(*row) for row in zip(*map(numbers, stretched), strict=True)]
    if result_dtype.is_integer:
        results = [wrap(int(result), result_dtype) for result in results]
        return np.array(results, result_dtype.numpy).reshape(stretched[0].shape)
    wide = {"bool": bool, "float": np.float64, "complex": np.complex128}[result_dtype.kind]
    return array(np.array(results, wide).reshape(stretched[0].shape), result_dtype)


def precise(function: Callable[..., Any], *operands: Array, dtype: DType | None = None) -> Array:
    """An mpmath function at each place with forty digits, then rounded."""

    def compute(*row: Any) -> Any:
        with mpmath.workdps(40):
            result = function(*[mpmath.mpmathify(number) for number in row])
            return complex(result) if isinstance(row[0], complex) else float(result)

    return each(compute, *operands, dtype=dtype)


def pairs(values: Array) -> tuple[Array, Array]:
    """All ordered pairs of the values, as two arrays."""
    return np.repeat(values, len(values)), np.tile(values, len(values))


def random(dtype: DType, *shape: int, low: float = -4.0, high: float = 4.0) -> Array:
    """The same numbers in every run, spread evenly between low and high; complex in both parts."""
    generator = np.random.default_rng(len(shape) + 7)
    if not dtype.is_complex:
        return array(generator.uniform(low, high, shape), dtype)
    parts = generator.uniform(low, high, (2, *shape))
    return array(parts[0] + 1j * parts[1], dtype)
