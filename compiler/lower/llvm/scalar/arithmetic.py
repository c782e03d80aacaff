"""Arithmetic on one real element, or on lanes of them: signs, extremes, powers of integers, and
what is told by the bits of floats.

Functions take values of one type. Floats are f32 and f64 here; those that also take f16 and bf16 as
they are say so.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from weft.compiler.lower.llvm.emit.function import Function, V
from weft.compiler.lower.llvm.emit.types import BF16, Type, element_type
from weft.compiler.lower.llvm.math.polynomial import any_lane
from weft.compiler.lower.llvm.scalar.halves import is_half


@contextmanager
def exact(f: Function) -> Iterator[None]:
    """Code in which every operation rounds: no product may join a sum."""
    flags, f.flags = f.flags, ""
    try:
        yield
    finally:
        f.flags = flags


def integer_type(x: V, kind: str = "uint") -> Type:
    """The integers as wide as x."""
    return element_type(kind, x.type.bits)


# --- signs --------------------------------------------------------------------------------------


def _sign_mask(x: V) -> int:
    return 1 << (x.type.bits - 1)


def neg(f: Function, x: V) -> V:
    """-x, of all types."""
    if not is_half(x.type):
        return f.neg(x)
    return (x.bits(integer_type(x)) ^ _sign_mask(x)).bits(x.type.element)


def absolute(f: Function, x: V) -> V:
    """|x|, of all types."""
    if not x.type.is_float:
        return f.select(x.lt(0), f.neg(x), x) if x.type.is_signed else x
    if not is_half(x.type):
        return f.abs(x)
    return (x.bits(integer_type(x)) & (_sign_mask(x) - 1)).bits(x.type.element)


def copysign(f: Function, x: V, y: V) -> V:
    """The magnitude of x with the sign of y, of all floats."""
    return f.copysign(x, y)


def sign(f: Function, x: V) -> V:
    """-1, 0 or 1; NaN for NaN."""
    one, zero = f.const(1, x.type), f.const(0, x.type)
    made = f.select(x.gt(0), one, zero)
    if x.type.is_signed or x.type.is_float:
        made = f.select(x.lt(0), f.const(-1, x.type), made)
    return f.select(f.is_nan(x), x, made) if x.type.is_float else made


# --- extremes -----------------------------------------------------------------------------------


def _is_constant(x: V) -> bool:
    return not x.ref.startswith("%")


def maximum(f: Function, x: V, y: V) -> V:
    """The larger one, NaN if either is; true if either is, of bools."""
    return _extreme(f, "gt", x, y)


def minimum(f: Function, x: V, y: V) -> V:
    """The smaller one, NaN if either is; true if both are, of bools."""
    return _extreme(f, "lt", x, y)


def _extreme(f: Function, beats: str, x: V, y: V) -> V:
    if x.type.is_bool:
        return x | y if beats == "gt" else x & y
    if _is_constant(x):
        x, y = y, x  # LLVM sees that a constant is not NaN, and one instruction is left
    made = f.select(f.compare(beats, y, x), y, x)
    return f.select(f.is_nan(y), y, made) if x.type.is_float else made


def clamp(f: Function, low: V, x: V, high: V) -> V:
    """minimum(maximum(x, low), high)."""
    return minimum(f, maximum(f, x, low), high)


# --- powers -------------------------------------------------------------------------------------


def power(f: Function, x: V, y: V) -> V:
    """x ** y of integers, by squaring; a negative exponent gives 0 unless x is 1 or -1."""
    positive = f.maximum(y, 0) if y.type.is_signed else y
    result = _power_by_squaring(f, x, positive)
    if not y.type.is_signed:
        return result
    of_minus_one = f.select((y & 1).eq(0), f.const(1, x.type), f.const(-1, x.type))
    of_unit = f.select(x.eq(-1), of_minus_one, x.eq(1).to(x.type.element))
    return f.select(y.lt(0), of_unit, result)


def _power_by_squaring(f: Function, x: V, y: V) -> V:
    """x ** y for y >= 0, in as many rounds as the longest exponent of a lane has bits."""
    made, base, rest = f.variable(1, x.type), f.variable(x), f.variable(y)
    with f.loop_while() as loop:
        left = rest.get()
        loop.stop_unless(any_lane(f, left.ne(0)))
        factor = base.get()
        made.set(f.select((left & 1).ne(0), made.get() * factor, made.get()))
        base.set(factor * factor)
        rest.set(left >> 1)
    return made.get()


# --- roundings and neighbours -------------------------------------------------------------------


def ceil(f: Function, x: V) -> V:
    """The smallest whole number that is not below x."""
    return f.intrinsic("ceil", x)


def nextafter(f: Function, x: V, y: V) -> V:
    """The float that follows x towards y, of all floats: the bits of a magnitude are in order."""
    bits = integer_type(x, "int")
    mask = _sign_mask(x)
    a, b = x.bits(bits), y.bits(bits)
    size, target = a & (mask - 1), b & (mask - 1)
    # Bits as numbers in the order of the floats: negative ones count downwards from 0.
    place, aim = f.select(a.lt(0), f.neg(size), size), f.select(b.lt(0), f.neg(target), target)
    outwards = place.lt(aim).eq(a.ge(0))
    step = f.select(outwards, f.const(1, a.type), f.const(-1, a.type))
    smallest = (b & -mask) | 1
    moved = f.select(size.eq(0), smallest, a + step)
    same = f.select(place.eq(aim), b if _takes_second(x) else a, moved)
    infinity = _infinity_bits(x)
    nan = f.const(infinity | (infinity >> 1), a.type)
    has_nan = size.gt(infinity) | target.gt(infinity)
    return f.select(has_nan, nan, same).bits(x.type.element)


def _takes_second(x: V) -> bool:
    """Of equal floats the result is the second one, as C says, but in NumPy's f16: of zeros."""
    return not (is_half(x.type) and x.type.element is not BF16)


def _infinity_bits(x: V) -> int:
    fraction = {16: 7 if x.type.element is BF16 else 10, 32: 23, 64: 52}[x.type.bits]
    return ((1 << (x.type.bits - 1 - fraction)) - 1) << fraction
