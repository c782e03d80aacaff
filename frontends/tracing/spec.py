"""Specs: types that stand for arguments when a function is traced without data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.compiler.ir.dims import Dim, Size
from weft.compiler.ir.dtypes import dtype as as_dtype
from weft.compiler.ir.reader import parse_type
from weft.compiler.ir.types import ArrayType, type_of


def spec(text_or_array: Any, dtype: Any = None) -> ArrayType:
    """The type of an argument, from text, from an array, or from a shape and dtype.

    A name in the shape is a symbolic size: one program serves all its values. The same name in two
    specs is the same size. Symbolic sizes are at least 1 unless a bound says otherwise.

    >>> spec("f32[n, 784]")
    f32[n, 784]
    >>> spec("float64[n>=8, 2*n]")
    f64[n, 2*n]
    >>> spec((3, 4), "f32")
    f32[3, 4]
    """
    if isinstance(text_or_array, ArrayType):
        return text_or_array
    if isinstance(text_or_array, str):
        return parse_type(text_or_array)
    if dtype is not None:
        return ArrayType(as_dtype(dtype), _shape(text_or_array))
    return type_of(np.asarray(text_or_array))


def _shape(sizes: Size | Sequence[Size]) -> tuple[Size, ...]:
    return (sizes,) if isinstance(sizes, int | Dim) else tuple(sizes)
