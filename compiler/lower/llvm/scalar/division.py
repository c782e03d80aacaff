"""Division with a whole quotient, and what it leaves: of integers without traps, of floats exactly.

A library's fmod is a call for each lane, so this one is made of exact steps on all lanes.
"""

from __future__ import annotations

import math
import struct
from fractions import Fraction
from typing import Final

import numpy as np

from weft.compiler.lower.llvm.emit.function import Function, V
from weft.compiler.lower.llvm.emit.types import F32, F64
from weft.compiler.lower.llvm.math.polynomial import (
    any_lane,
    define_once,
    format_of,
    power_of_two,
)
from weft.compiler.lower.llvm.scalar.arithmetic import exact

# --- by a number that is known ---------------------------------------------------------------

# Digits of a divisor beyond which the product with its reciprocal might be rounded otherwise.
_MOST_DIGITS: Final = {32: 20, 64: 48}
_FARTHEST: Final = {32: 2.0**40, 64: 2.0**300}


def divide(f: Function, x: V, y: V) -> V:
    """x / y. By a short number that is known it is x times its reciprocal in two parts, which is
    rounded to the same bits and had in half of the time.

    The parts together are off by less than 2 ** -(2 * p - 2) of the quotient, for p digits. The
    quotient of a number of p digits by one of n is no closer to the middle of two floats than
    2 ** -(p + 1 + n) of itself, so it is on the same side of it. That holds as long as all
    products are normal numbers: quotients below 2 ** -900, of f32 2 ** -90, may be one unit off.
    """
    divisor = _short_number(y)
    if divisor is None:
        return f.divide(x, y)
    inverse = 1 / Fraction(divisor)
    numpy = np.float32 if y.type.bits == 32 else np.float64
    first = numpy(float(inverse))
    if abs(Fraction(float(first))) > abs(
        inverse
    ):  # parts of one sign: infinities stay what they are
        first = np.nextafter(first, numpy(0))
    second = numpy(float(inverse - Fraction(float(first))))
    return f.fma(x, float(first), x * float(second))


def _short_number(y: V) -> float | None:
    """The number that a scalar is known to be, if it has few digits and is no power of two."""
    if y.type.lanes or y.type.bits not in _MOST_DIGITS or not y.ref.startswith("0x"):
        return None
    (number,) = struct.unpack("<d", struct.pack("<Q", int(y.ref, 16)))
    if not 1 / _FARTHEST[y.type.bits] < abs(number) < _FARTHEST[y.type.bits]:
        return None
    whole = abs(int(math.frexp(number)[0] * 2**53))
    digits = (whole // (whole & -whole)).bit_length()
    return number if 1 < digits <= _MOST_DIGITS[y.type.bits] else None


# --- integers -----------------------------------------------------------------------------------


def _quotient(f: Function, x: V, y: V) -> V:
    """x / y towards zero, 0 for y = 0; the least integer over -1 wraps."""
    is_zero = y.eq(0)
    if not x.type.is_signed:
        divisor = f.select(is_zero, f.const(1, y.type), y)
        return f.select(is_zero, f.const(0, x.type), _divide(f, x, divisor))
    is_minus_one = y.eq(-1)
    divisor = f.select(is_zero | is_minus_one, f.const(1, y.type), y)
    made = f.select(is_minus_one, f.neg(x), _divide(f, x, divisor))
    return f.select(is_zero, f.const(0, x.type), made)


def _divide(f: Function, x: V, y: V) -> V:
    """x / y towards zero where neither traps; lanes of up to 32 bits divide as floats.

    No machine divides vectors of integers. A float of more than twice as many digits is exact: a
    quotient that is not whole is 1 / y or more away from the next whole number, which is more than
    one part in x.
    """
    if not x.type.lanes or x.type.bits > 32 or not y.ref.startswith("%"):
        return f.divide(x, y)
    wide = F64 if x.type.bits == 32 else F32
    whole = f.divide(x.to(wide), y.to(wide))
    to = "fptosi" if x.type.is_signed else "fptoui"
    return f.instruction(f"{to} {whole.type.text} {whole.ref} to {x.type.text}", x.type)


def _is_uneven(f: Function, rest: V, y: V) -> V:
    """Whether a rest is on the other side of zero than the divisor."""
    return rest.ne(0) & (rest ^ y).lt(0)


def _integer_floor_divide(f: Function, x: V, y: V) -> V:
    quotient = _quotient(f, x, y)
    if not x.type.is_signed:
        return quotient
    lower = quotient - 1
    is_lower = _is_uneven(f, x - quotient * y, y) & y.ne(0)
    return f.select(is_lower, lower, quotient)


def _integer_fmod(f: Function, x: V, y: V) -> V:
    rest = x - _quotient(f, x, y) * y
    return f.select(y.eq(0), f.const(0, x.type), rest)


def _integer_remainder(f: Function, x: V, y: V) -> V:
    rest = _integer_fmod(f, x, y)
    return f.select(_is_uneven(f, rest, y), rest + y, rest) if x.type.is_signed else rest


# --- floats -------------------------------------------------------------------------------------


def fmod(f: Function, x: V, y: V) -> V:
    """What division rounded towards zero leaves, with the sign of x; 0 for integers with y = 0."""
    if not x.type.is_float:
        return _integer_fmod(f, x, y)
    return define_once(f, "fmod", _emit_fmod, x, y, attributes="")


def floor_divide(f: Function, x: V, y: V) -> V:
    """The quotient rounded down; 0 for integers with y = 0. Of floats after NumPy's divmod."""
    if not x.type.is_float:
        return _integer_floor_divide(f, x, y)
    with exact(f):
        rest = fmod(f, x, y)
        whole = f.divide(x - rest, y)
        whole = f.select(_is_across(f, rest, y), whole - 1.0, whole)
        # The quotient is whole but for its own rounding, which may end on either side.
        down = f.floor(whole)
        down = f.select((whole - down).gt(0.5), down + 1.0, down)
        plain = f.divide(x, y)
        down = f.select(whole.eq(0), f.copysign(f.const(0.0, x.type), plain), down)
        return f.select(y.eq(0), plain, down)


def remainder(f: Function, x: V, y: V) -> V:
    """What `floor_divide` leaves, with the sign of y; 0 for integers with y = 0."""
    if not x.type.is_float:
        return _integer_remainder(f, x, y)
    with exact(f):
        rest = fmod(f, x, y)
        made = f.select(_is_across(f, rest, y), rest + y, rest)
        return f.select(rest.eq(0), f.copysign(f.const(0.0, x.type), y), made)


def _is_across(f: Function, rest: V, y: V) -> V:
    """Whether a rest that is not 0 has another sign than the divisor."""
    return rest.ne(0) & (rest.lt(0) ^ y.lt(0))


def _emit_fmod(f: Function, x: V, y: V) -> V:
    """fmod(x, y) by long division: x = a * 2**i and y = b * 2**j with a and b in [1, 2), and
    a * 2**(i - j) is divided by b some digits at a time.
    """
    form = format_of(x)
    size, divisor = f.abs(x), f.abs(y)
    significand, exponent = _decomposed(f, size)
    short, shift = _decomposed(f, divisor)
    is_undefined = ~size.lt(math.inf) | ~divisor.gt(0.0)
    is_all = size.lt(divisor) | divisor.eq(math.inf)
    digits = f.select(is_undefined | is_all, f.const(0, exponent.type), exponent - shift)
    left, rest = f.variable(digits), f.variable(significand)
    with f.loop_while() as loop:
        more = left.get()
        now = f.minimum(more, form.mantissa - 3)
        left.set(more - now)
        rest.set(_reduced(f, rest.get() * power_of_two(f, now + form.bias, x), short))
        loop.stop_unless(any_lane(f, (more - now).gt(0)))
    made = f.select(is_all, size, _scaled(f, rest.get(), shift))
    made = f.select(is_undefined, f.const(math.nan, x.type), made)
    return f.copysign(made, x)


def _decomposed(f: Function, x: V) -> tuple[V, V]:
    """A float above 0 as a number in [1, 2) and the exponent field that goes with it, which for
    subnormals is below 1.
    """
    form = format_of(x)
    is_subnormal = x.lt(form.least_normal)
    bits = f.select(is_subnormal, x * 2.0**form.mantissa, x).bits(form.integer)
    field = bits >> form.mantissa
    fraction = bits & ((1 << form.mantissa) - 1)
    significand = (fraction | (form.bias << form.mantissa)).bits(x.type.element)
    return significand, f.select(is_subnormal, field - form.mantissa, field)


def _reduced(f: Function, x: V, y: V) -> V:
    """x modulo y for a y in [1, 2) and a quotient that is far from filling a float.

    The quotient is off by less than 1 before it is cut, so the rest is above -y and below 2 * y; as
    a multiple of the last digit of y it is a float, so that the fused product and sum are exact.
    """
    quotient = f.trunc(f.divide(x, y))
    rest = f.fma(f.neg(quotient), y, x)
    rest = f.select(rest.lt(0.0), rest + y, rest)
    return f.select(rest.ge(y), rest - y, rest)


def _scaled(f: Function, x: V, field: V) -> V:
    """x times the power of two of an exponent field that may be below 1; both products are exact,
    as x has no digit that subnormals lack.
    """
    form = format_of(x)
    is_subnormal = field.lt(1)
    power = power_of_two(f, f.select(is_subnormal, field + form.mantissa, field), x)
    made = x * power
    return f.select(is_subnormal, made * 2.0**-form.mantissa, made)
