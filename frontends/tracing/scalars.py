"""What may be used as an array without being one of ours: Python's numbers, and which of NumPy's
arrays mean more than their elements.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from weft.compiler.ir.dtypes import DType, bool_, c128, f64, i64

Scalar: TypeAlias = bool | int | float | complex


def scalar_dtype(scalar: Scalar) -> DType:
    """The dtype of a Python scalar on its own."""
    if isinstance(scalar, bool):
        return bool_
    if isinstance(scalar, int):
        return i64
    return f64 if isinstance(scalar, float) else c128


def lost_meaning(array: np.ndarray[Any, Any] | np.generic) -> str | None:
    """What an array of a class of its own would lose if its elements alone were used."""
    if not isinstance(array, np.ndarray) or type(array) in (np.ndarray, np.memmap):
        return None
    if isinstance(array, np.ma.MaskedArray):
        return "is a masked array, whose mask would be lost: pass x.filled(v), or x.data and x.mask"
    if isinstance(array, np.matrix):
        return "is a numpy.matrix, whose * is a matrix product: pass np.asarray(x), write x @ y"
    kind = type(array).__name__
    return f"is a {kind}, and what {kind} adds to arrays would be lost: pass np.asarray(x)"
