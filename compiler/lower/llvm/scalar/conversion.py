"""From one dtype to another, element by element."""

from __future__ import annotations

from typing import Final

from weft.compiler.ir.dtypes import DType
from weft.compiler.lower.llvm.emit.arrays import Element
from weft.compiler.lower.llvm.emit.function import Function, V
from weft.compiler.lower.llvm.emit.types import F64, I64, Type, of_dtype
from weft.compiler.lower.llvm.math.polynomial import format_of
from weft.compiler.lower.llvm.scalar.halves import is_half, narrow, narrow_integer, widen

_BEYOND: Final = -(1 << 63)  # what x86 makes of a float that no integer is near


def cast(f: Function, x: Element, *, dtype: DType) -> Element:
    """An element in another dtype; complex to real drops the imaginary part."""
    target = of_dtype(dtype)
    if isinstance(x, tuple):
        real, imag = x
        if dtype.is_complex:
            return convert(f, real, target), convert(f, imag, target)
        return real.ne(0) | imag.ne(0) if dtype.is_bool else convert(f, real, target)
    if dtype.is_complex:
        made = convert(f, x, target)
        return made, f.const(0.0, made.type)
    return convert(f, x, target)


def convert(f: Function, x: V, type: Type) -> V:
    """A real element as another type, rounded once; out of range floats become any integer."""
    if x.type.element is type:
        return x
    if not is_half(type):
        wide = widen(f, x)
        return _truncated(f, wide, type) if _is_whole(x, type) else wide.to(type)
    if x.type.is_float:
        return narrow(f, widen(f, x), type)
    return narrow_integer(f, x, type)


def _is_whole(x: V, type: Type) -> bool:
    """Whether floats become integers."""
    return x.type.is_float and not type.is_float and not type.is_bool


def _truncated(f: Function, x: V, type: Type) -> V:
    """A float as an integer, towards zero; beyond the range, and of NaN, an end of it.

    LLVM's own conversion with ends is done lane by lane, and the one without them is undefined
    there. A number of its own is compared once, where the machine says that it is beyond: loops
    that count or look up what floats say convert one in every step.
    """
    if x.type is F64 and type is I64 and f.module.target.triple.startswith("x86_64"):
        pair = f.insert(f.const(0.0, F64.with_lanes(2)), 0, x)
        made = f.variable(f.call("llvm.x86.sse2.cvttsd2si64", I64, [pair]))
        with f.when(made.get().eq(_BEYOND), seldom=True):
            made.set(_between_ends(f, x, type))
        return made.get()
    return _between_ends(f, x, type)


def _between_ends(f: Function, x: V, type: Type) -> V:
    low, high = _ends(x, type)
    x = f.select(x.gt(low), x, f.const(low, x.type))
    x = f.select(x.lt(high), x, f.const(high, x.type))
    target = type.with_lanes(x.type.lanes)
    to = "fptosi" if type.is_signed else "fptoui"
    return f.instruction(f"{to} {x.type.text} {x.ref} to {target.text}", target)


def _ends(x: V, type: Type) -> tuple[float, float]:
    """The least and the greatest integer of a type among the floats like x."""
    bits = type.bits - 1 if type.is_signed else type.bits
    digits = min(format_of(x).mantissa + 1, bits)
    return (-(2.0**bits) if type.is_signed else 0.0), 2.0**bits - 2.0 ** (bits - digits)


def bitcast(f: Function, x: V, *, dtype: DType) -> V:
    """The bits as another real dtype of the same width."""
    return x.bits(of_dtype(dtype))
