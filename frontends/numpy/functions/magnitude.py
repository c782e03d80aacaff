"""Squares, magnitudes and conjugates of numbers that may be complex or not."""

from __future__ import annotations

from weft.compiler.ir.graph import Value
from weft.compiler.ops.arithmetic import abs_, add, mul
from weft.compiler.ops.conversion import conj, imag, real


def squared_magnitude(value: Value) -> Value:
    """|x| squared, real also for complex x."""
    if not value.type.dtype.is_complex:
        return mul(value, value)
    parts = real(value), imag(value)
    return add(*[mul(part, part) for part in parts])


def magnitude(value: Value) -> Value:
    """|x|, real also for complex x; bools stay."""
    return value if value.type.dtype.is_bool else abs_(value)


def conjugate(value: Value) -> Value:
    """The complex conjugate; real numbers stay."""
    return conj(value) if value.type.dtype.is_complex else value


def real_part(value: Value) -> Value:
    """The real part; real numbers stay."""
    return real(value) if value.type.dtype.is_complex else value
