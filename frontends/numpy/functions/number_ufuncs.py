"""Ufuncs about how numbers are made up: exponent and mantissa, spacing, common divisors."""

from __future__ import annotations

import math
from typing import NamedTuple

from weft.compiler.ir import dtypes
from weft.compiler.ir.build import constant
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.graph import Value
from weft.compiler.ops.arithmetic import abs_, add, clamp, floor_divide, mul, nextafter, sub
from weft.compiler.ops.arithmetic import remainder as remainder_of
from weft.compiler.ops.conversion import bitcast, stop_gradient
from weft.compiler.ops.logic import and_, eq, gt, is_finite, lt, ne, not_, or_, select, shift_left
from weft.compiler.ops.logic import shift_right as shift_right_of
from weft.compiler.ops.reduction import reduce_any
from weft.frontends.numpy.functions.loops import repeat_while
from weft.frontends.tracing.core import broadcast_shapes, broadcast_together, broadcast_value, cast


class _Layout(NamedTuple):
    """How a float is laid out: bits of the fraction, bits of the exponent, and its bias."""

    fraction: int
    exponent: int
    bias: int


_LAYOUTS = {
    dtypes.f16: _Layout(10, 5, 15),
    dtypes.bf16: _Layout(7, 8, 127),
    dtypes.f32: _Layout(23, 8, 127),
    dtypes.f64: _Layout(52, 11, 1023),
}


def _integers_of(dtype: DType) -> DType:
    return dtypes.BY_NAME[f"i{dtype.bits}"]


def _power_of_two(exponent: Value, dtype: DType) -> Value:
    """2 to an exponent for which that is a normal number."""
    layout, whole = _LAYOUTS[dtype], _integers_of(dtype)
    biased = add(cast(exponent, whole), constant(layout.bias, whole))
    return bitcast(shift_left(biased, constant(layout.fraction, whole)), dtype=dtype)


# --- exponent and mantissa ----------------------------------------------------------------------


def ldexp(x: Value, exponent: Value) -> Value:
    """x times 2 to an exponent, rounded once.

    By three factors, as one alone may not be a float. Those that make x smaller leave so many bits
    that only the last one rounds, unless the result is 0 anyway.
    """
    dtype, whole = x.type.dtype, exponent.type.dtype
    if dtype is dtypes.f16:
        # Three factors would not be enough; in f32 nothing rounds that is not 0 in f16.
        return cast(ldexp(cast(x, dtypes.f32), exponent), dtype)
    layout = _LAYOUTS[dtype]
    highest, lowest = layout.bias, -(layout.bias - 1)
    step = lowest + layout.fraction + 1
    limit = constant(3 * highest, whole)
    left = clamp(constant(-3 * highest, whole), exponent, limit)
    low, high = constant(lowest, whole), constant(highest, whole)
    for _ in range(2):
        shrink = select(lt(left, low), constant(step, whole), constant(0, whole))
        part = select(gt(left, high), high, shrink)
        x, left = mul(*_together(x, _power_of_two(part, dtype))), sub(left, part)
    return mul(*_together(x, _power_of_two(clamp(low, left, high), dtype)))


def _together(*values: Value) -> list[Value]:
    return broadcast_together(values)


def frexp(x: Value) -> tuple[Value, Value]:
    """The mantissa in [1/2, 1) and the exponent of 2; 0 and what is not finite have exponent 0."""
    dtype = x.type.dtype
    layout, whole = _LAYOUTS[dtype], _integers_of(dtype)
    grow = layout.fraction + 2
    least = constant(math.ldexp(1.0, 1 - layout.bias), dtype)
    is_small = lt(abs_(x), least)
    # Numbers below the normal ones are brought up first, so that their exponent is written out.
    scaled = select(is_small, mul(x, constant(math.ldexp(1.0, grow), dtype)), x)
    bits = bitcast(stop_gradient(scaled), dtype=whole)
    field = and_(
        shift_right_of(bits, constant(layout.fraction, whole)),
        constant((1 << layout.exponent) - 1, whole),
    )
    exponent = sub(field, constant(layout.bias - 1, whole))
    has_one = and_(is_finite(x), ne(x, constant(0, dtype)))
    zero = constant(0, whole)
    exponent = select(has_one, exponent, zero)
    # In two factors: 2 to the opposite of the largest exponent is below the normal numbers.
    half = shift_right_of(exponent, constant(1, whole))
    mantissa = mul(scaled, _power_of_two(sub(zero, half), dtype))
    mantissa = mul(mantissa, _power_of_two(sub(half, exponent), dtype))
    full_exponent = cast(exponent, dtypes.i32)
    shifted = sub(full_exponent, constant(grow, dtypes.i32))
    return (
        select(has_one, mantissa, x),
        select(and_(has_one, is_small), shifted, full_exponent),
    )


def spacing(x: Value) -> Value:
    """The distance to the next float away from 0, with the sign of x; NaN if x is not finite."""
    dtype = x.type.dtype
    outward = select(
        lt(x, constant(0, dtype)), constant(-math.inf, dtype), constant(math.inf, dtype)
    )
    step = sub(nextafter(x, outward), x)
    return select(is_finite(x), step, constant(math.nan, dtype))


# --- common divisors ----------------------------------------------------------------------------


def gcd(x: Value, y: Value) -> Value:
    """The greatest common divisor, by Euclid's algorithm on all elements at once."""
    dtype = x.type.dtype
    unsigned = dtypes.BY_NAME[f"u{dtype.bits}"]
    zero = constant(0, unsigned)
    first, second = [cast(_size(v), unsigned) for v in broadcast_all(x, y)]

    def is_unfinished(_: Value, divisor: Value) -> Value:
        return reduce_any(ne(divisor, zero), axes=tuple(range(divisor.type.rank)))

    def step(number: Value, divisor: Value) -> tuple[Value, Value]:
        is_done = eq(divisor, zero)
        rest = remainder_of(number, select(is_done, constant(1, unsigned), divisor))
        return select(is_done, number, divisor), select(is_done, zero, rest)

    found, _ = repeat_while(is_unfinished, step, first, second)
    return cast(found, dtype)


def lcm(x: Value, y: Value) -> Value:
    """The least common multiple, 0 if either is 0."""
    x, y = [_size(v) for v in broadcast_all(x, y)]
    zero = constant(0, x.type.dtype)
    is_zero = or_(eq(x, zero), eq(y, zero))
    divisor = gcd(x, y)
    safe = select(is_zero, constant(1, x.type.dtype), divisor)
    unsigned = dtypes.BY_NAME[f"u{x.type.dtype.bits}"]
    share = floor_divide(cast(x, unsigned), cast(safe, unsigned))
    made = cast(mul(share, cast(y, unsigned)), x.type.dtype)
    return select(not_(is_zero), made, zero)


def broadcast_all(x: Value, y: Value) -> list[Value]:
    """Both stretched to their common shape, numbers too, as a loop carries them."""
    target = broadcast_shapes(x.type.shape, y.type.shape)
    return [broadcast_value(value, target) for value in (x, y)]


def _size(x: Value) -> Value:
    return abs_(x) if x.type.dtype.is_signed else x
