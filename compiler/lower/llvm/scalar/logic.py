"""Questions about elements and their bits: comparisons, shifts, selection."""

from __future__ import annotations

import math
from collections.abc import Callable

from weft.compiler.lower.llvm.emit.arrays import Element
from weft.compiler.lower.llvm.emit.function import Function, V
from weft.compiler.lower.llvm.emit.types import U16, element_type
from weft.compiler.lower.llvm.scalar.halves import is_half


def is_nan(f: Function, x: V) -> V:
    return f.is_nan(x)


def is_finite(f: Function, x: V) -> V:
    return f.abs(x).lt(math.inf)


def compare(how: str) -> Callable[[Function, V, V], V]:
    """The comparison of this name (eq, ne, lt, le, gt, ge)."""

    def rule(f: Function, x: V, y: V) -> V:
        return f.compare(how, x, y)

    return rule


def bitwise(instruction: str) -> Callable[[Function, V, V], V]:
    """The LLVM instruction `and`, `or` or `xor`."""

    def rule(f: Function, x: V, y: V) -> V:
        return f.binary(instruction, x, y)

    return rule


def invert(f: Function, x: V) -> V:
    return ~x


def shift_left(f: Function, x: V, count: V) -> V:
    """x << count; 0 for a count outside of the width."""
    return f.select(_is_within(count), x << count, f.const(0, x.type))


def shift_right(f: Function, x: V, count: V) -> V:
    """x >> count, keeping the sign; for a count outside of the width only the sign is left."""
    if x.type.is_signed:
        return x >> f.select(_is_within(count), count, f.const(x.type.bits - 1, x.type))
    return f.select(_is_within(count), x >> count, f.const(0, x.type))


def _is_within(count: V) -> V:
    """Whether a shift by `count` is defined; a negative one is large as an unsigned number."""
    return count.bits(element_type("uint", count.type.bits)).lt(count.type.bits)


def population_count(f: Function, x: V) -> V:
    return f.intrinsic("ctpop", x)


def select(f: Function, pred: V, on_true: Element, on_false: Element) -> Element:
    """One of two elements of any dtype."""
    if isinstance(on_true, tuple):
        assert isinstance(on_false, tuple)
        real, imag = (f.select(pred, *parts) for parts in zip(on_true, on_false, strict=True))
        return real, imag
    assert isinstance(on_false, V)
    if not is_half(on_true.type):
        return f.select(pred, on_true, on_false)
    # LLVM would choose between bfloats one by one.
    return f.select(pred, on_true.bits(U16), on_false.bits(U16)).bits(on_true.type.element)
