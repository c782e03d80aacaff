"""Operands of SciPy's functions: in one floating-point dtype, which is float32 at least."""

from __future__ import annotations

from typing import Any

from weft.compiler.ir import dtypes
from weft.compiler.ir.dtypes import DType
from weft.frontends.numpy.functions.axis_ops import as_value
from weft.frontends.tracing.core import broadcast_shapes, broadcast_value, lift, result_dtype, wrap
from weft.frontends.tracing.trace import ArrayLike


def float_dtype(*operands: ArrayLike) -> DType:
    """The dtype that SciPy computes in: float64 for integers, float32 for half precision."""
    common = result_dtype(*operands)
    if not common.is_inexact:
        return dtypes.f64
    return dtypes.f32 if common.bits == 16 else common


def floats(*operands: ArrayLike) -> list[Any]:
    """The operands as traced arrays of one floating-point dtype."""
    dtype = float_dtype(*operands)
    return [wrap(lift(operand, dtype)) for operand in operands]


def spread(*operands: ArrayLike) -> list[Any]:
    """As `floats`, stretched to one shape."""
    values = [lift(operand) for operand in floats(*operands)]
    target = broadcast_shapes(*[value.type.shape for value in values])
    return [wrap(broadcast_value(value, target)) for value in values]


def traced(operand: ArrayLike) -> Any:
    """The operand as a traced array."""
    return wrap(as_value(operand))
