"""The precision in which NumPy references compute: floats in double, rounded once at the end.

A reference is the oracle of every backend. NumPy's own f32 kernels are some ulps off and differ
from CPU to CPU; f16 and bf16 lose digits in long sums. Integers and bools stay as they are, so that
they wrap as they should.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeAlias

import numpy as np

from weft.compiler.ir.dtypes import c128, dtype, f64

Array: TypeAlias = np.ndarray[Any, Any]


def widen(array: Array) -> Array:
    """The array in f64 or c128 if it holds floats or complex numbers, else itself."""
    of = dtype(array.dtype)
    if of.is_float:
        return array.astype(f64.numpy, copy=False)
    return array.astype(c128.numpy, copy=False) if of.is_complex else array


def in_double(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function on widened arrays; the evaluator rounds its result to the declared dtype."""

    @wraps(function)
    def compute(*arrays: Array, **attributes: Any) -> Any:
        return function(*[widen(array) for array in arrays], **attributes)

    return compute
