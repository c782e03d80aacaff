"""The 16-bit floats: to f32, where all their arithmetic happens, and back with one rounding.

Every op on f16 or bf16 extends its operands to f32, computes there and rounds its result, so that
results do not depend on what was fused. Conversions are integer arithmetic wherever LLVM would call
a library function that no process of ours has, or use an instruction that flushes subnormals.
"""

from __future__ import annotations

from weft.compiler.lower.llvm.emit.function import Function, V
from weft.compiler.lower.llvm.emit.types import BF16, F16, F32, F64, U16, U32, U64, Type


def is_half(type: Type) -> bool:
    """Whether values of this type are f16 or bf16."""
    return type.is_float and type.bits == 16


def widen(f: Function, x: V) -> V:
    """An f16 or bf16 as f32, which is exact; other types stay as they are."""
    if not is_half(x.type):
        return x
    if x.type.element is BF16:
        return (x.bits(U16).to(U32) << 16).bits(F32)
    return x.to(F32) if f.module.target.converts_halves else widen_bits(f, x)


def narrow(f: Function, x: V, type: Type) -> V:
    """An f32 or f64 rounded to the nearest f16 or bf16, to the even one of two equally near."""
    x = _without_tail(f, x).to(F32) if x.type.element is F64 else x
    if type.element is BF16:
        return _narrow_bfloat(f, x)
    return x.to(F16) if f.module.target.converts_halves else narrow_bits(f, x)


def narrow_integer(f: Function, x: V, type: Type) -> V:
    """An integer or bool rounded once to f16 or bf16."""
    if x.type.bits <= 16:
        return narrow(f, x.to(F32), type)
    if type.element is F16:
        # Beyond 65519 all is infinite, so f32 need not hold more than 18 bits.
        x = f.minimum(x, 1 << 17)
        return narrow(f, (f.maximum(x, -(1 << 17)) if x.type.is_signed else x).to(F32), type)
    if x.type.bits == 64:
        x = _without_low_bits(f, x)
    return narrow(f, x.to(F64), type)


def _without_tail(f: Function, x: V) -> V:
    """An f64 rounded to odd at 12 fraction bits: all that is cut off shows in the last bit left.

    A second rounding, to at most 10 fraction bits, then gives what one rounding would: no value is
    moved onto a point half way between two halves, or off it. f32 holds the result exactly, its
    subnormals as far as they matter to bf16; infinities and NaNs stay what they are.
    """
    tail = (1 << 40) - 1
    bits = x.bits(U64)
    return ((bits | ((bits & tail) + tail)) & ~tail).bits(F64)


def _without_low_bits(f: Function, x: V) -> V:
    """A 64-bit integer rounded to odd at a multiple of 2048 where it is too long for f64; the 8
    digits of bf16 then round once, as in `_without_tail`.
    """
    short = (x + (1 << 52)).bits(U64).lt(1 << 53) if x.type.is_signed else x.lt(1 << 53)
    return f.select(short, x, (x | ((x & 2047) + 2047)) & -2048)


def _narrow_bfloat(f: Function, x: V) -> V:
    bits = x.bits(U32)
    rounded = bits + (((bits >> 16) & 1) + 0x7FFF)
    # The carry of a NaN's bits could end in infinity; its upper half is kept, and made quiet.
    kept = f.select(f.is_nan(x), bits | 0x400000, rounded)
    return (kept >> 16).to(U16).bits(BF16)


def widen_bits(f: Function, x: V) -> V:
    """f16 to f32 without instructions for it."""
    bits = x.bits(U16).to(U32)
    magnitude = (bits & 0x7FFF) << 13
    # The product moves the exponent's bias, for subnormals too.
    scaled = (magnitude.bits(F32) * 2.0**112).bits(U32)
    ended = f.select((bits & 0x7C00).eq(0x7C00), scaled | 0x7F800000, scaled)
    return (ended | ((bits & 0x8000) << 16)).bits(F32)


def narrow_bits(f: Function, x: V) -> V:
    """f32 to f16 without instructions for it; after Giesen's float_to_half_fast3_rtne."""
    bits = x.bits(U32)
    magnitude = bits & 0x7FFFFFFF
    # Half a unit to round by (less one for even ones), and the exponent's bias lowered by 112.
    normal = (magnitude + (((magnitude >> 13) & 1) + 0xC8000FFF)) >> 13
    # In a sum with 1/2 the last digit of f32 is that of f16's subnormals.
    small = (f.abs(x) + 0.5).bits(U32) - 0x3F000000
    ended = f.select(f.is_nan(x), f.const(0x7E00, bits.type), f.const(0x7C00, bits.type))
    made = f.select(magnitude.lt(113 << 23), small, normal)
    made = f.select(magnitude.ge(143 << 23), ended, made)
    return (made | ((bits >> 16) & 0x8000)).to(U16).bits(F16)
