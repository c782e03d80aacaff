"""Squares, magnitudes and conjugates of numbers that may be complex or not."""

from __future__ import annotations

from weft.compiler.ir.build import constant
from weft.compiler.ir.graph import Value
from weft.compiler.ops.arithmetic import abs_, add, mul
from weft.compiler.ops.conversion import conj, imag, real
from weft.compiler.ops.logic import gt, select
from weft.compiler.ops.special import sqrt


def squared_magnitude(value: Value) -> Value:
    """|x| squared, real also for complex x."""
    if not value.type.dtype.is_complex:
        return mul(value, value)
    parts = real(value), imag(value)
    return add(*[mul(part, part) for part in parts])


def root(squares: Value) -> Value:
    """The square root of a sum of squares; where that is 0, the derivative is 0, the least of the
    subgradients, and not the infinite slope of the root.
    """
    if squares.type.dtype.is_complex:  # as NumPy's `std(x, dtype=complex)` has them
        return sqrt(squares)
    is_positive = gt(squares, constant(0, squares.type.dtype))
    return select(is_positive, sqrt(squares), squares)


def magnitude(value: Value) -> Value:
    """|x|, real also for complex x; bools stay."""
    return value if value.type.dtype.is_bool else abs_(value)


def conjugate(value: Value) -> Value:
    """The complex conjugate; real numbers stay."""
    return conj(value) if value.type.dtype.is_complex else value


def real_part(value: Value) -> Value:
    """The real part; real numbers stay."""
    return real(value) if value.type.dtype.is_complex else value
