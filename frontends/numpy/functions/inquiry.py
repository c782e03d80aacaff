"""Questions that an array's type answers while tracing, and the change of its dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.compiler.ir import dtypes
from weft.compiler.ir.dims import Size
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.types import Shape
from weft.frontends.numpy.functions.axis_ops import as_value
from weft.frontends.numpy.functions.creation import check_device
from weft.frontends.tracing.core import cast, lift, normalize_axes, product, result_dtype, wrap
from weft.frontends.tracing.trace import ArrayLike, Tracer

__all__ = ["astype", "common_type", "ndim", "result_type", "shape", "size"]


def shape(a: ArrayLike) -> Shape:
    """As `numpy.shape`; sizes may be symbolic."""
    return a.type.shape if isinstance(a, Tracer) else as_value(a).type.shape


def ndim(a: ArrayLike) -> int:
    """As `numpy.ndim`."""
    return len(shape(a))


def size(a: ArrayLike, axis: int | Sequence[int] | None = None) -> Size:
    """As `numpy.size`; it may be symbolic."""
    sizes = shape(a)
    return product([sizes[along] for along in normalize_axes(axis, len(sizes))])


def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """As `numpy.result_type`: the dtype by which arrays, scalars and dtypes are joined."""
    return result_dtype(*[_operand(given) for given in arrays_and_dtypes]).numpy


def common_type(*arrays: ArrayLike) -> type[Any]:
    """As `numpy.common_type`: a question about dtypes, answered now."""
    kinds = [np.empty(0, lift(array).type.dtype.numpy) for array in arrays]
    return np.common_type(*kinds)


def astype(
    x: ArrayLike, dtype: object, /, *, copy: bool = True, device: str | None = None
) -> Tracer:
    """As `numpy.astype`; `copy` means nothing in a trace."""
    check_device("astype", device)
    return wrap(cast(lift(x), dtypes.dtype(dtype)))


def _operand(given: Any) -> ArrayLike:
    """An operand to promote by; a dtype becomes an empty array of it."""
    is_dtype = isinstance(given, type | str | np.dtype | DType)
    return np.empty(0, dtypes.dtype(given).numpy) if is_dtype else given
