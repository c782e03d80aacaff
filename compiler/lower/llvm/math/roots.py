"""Cube roots and lengths: cbrt, rounded nearly always correctly, and hypot, within 1 ulp."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from weft.compiler.lower.llvm.emit.function import Function, V
from weft.compiler.lower.llvm.math.polynomial import by_width, format_of, horner, two_product

_INFINITY: Final = float("inf")

# m ** (-1/3) on [1, 2), to 2**-12 and 2**-9: corrections of third and of second order follow.
_INVERSE_ROOT_DOUBLE: Final = (
    1.541888202164533,
    -0.8099629122520561,
    0.3177589343652541,
    -0.04993730769760075,
)
_INVERSE_ROOT_SINGLE: Final = (1.3881569, -0.48332116, 0.09339713)


def cbrt(f: Function, x: V) -> V:
    """The real cube root, of negative x too.

    |x| is m * 8**q with m in [1, 8); the root of m lies in [1, 2) and 2**q scales it exactly.
    """
    form = format_of(x)
    magnitude = f.abs(x)
    is_subnormal = magnitude.lt(form.least_normal)
    lift = by_width(x, 8, 18)  # brings subnormals among the normal numbers
    raised = f.select(is_subnormal, magnitude * 8.0**lift, magnitude).bits(form.unsigned)
    padding = -form.bias % 3  # makes the biased exponent a multiple of 3 where the true one is
    exponent = (raised >> form.mantissa) + padding
    third = (exponent * 21846) >> 16  # exponent / 3 rounded down, below 2**15
    remainder = exponent - third * 3
    fraction = raised & ((1 << form.mantissa) - 1)
    unit = (fraction | (form.bias << form.mantissa)).bits(x.type)
    m = (fraction | ((remainder + form.bias) << form.mantissa)).bits(x.type)
    offset = form.bias - (form.bias + padding) // 3
    power = third + f.select(is_subnormal, f.const(offset - lift, third.type), offset)
    root = _cbrt_of_significand(f, m, unit, remainder)
    scaled = root * (power << form.mantissa).bits(x.type)
    is_regular = magnitude.gt(0.0) & magnitude.lt(_INFINITY)
    return f.select(is_regular, f.copysign(scaled, x), x)


def _cbrt_of_significand(f: Function, m: V, unit: V, remainder: V) -> V:
    """The root of m = unit * 2**remainder, with unit in [1, 2) and remainder 0, 1 or 2.

    The inverse root needs no division to be refined, and its square is what the last step, Newton's
    for the root itself with a residual of twice the precision, multiplies with.
    """
    scale = f.select(remainder.eq(1), f.const(2.0 ** (-1 / 3), m.type), 2.0 ** (-2 / 3))
    scale = f.select(remainder.eq(0), f.const(1.0, m.type), scale)
    coefficients = by_width(m, _INVERSE_ROOT_SINGLE, _INVERSE_ROOT_DOUBLE)
    guess = horner(f, unit, coefficients) * scale
    gap = f.fma(-(m * guess * guess), guess, 1.0)
    third = f.const(1 / 3, m.type)
    inverse = f.fma(guess * gap, f.fma(gap, 2 / 9, third), guess)
    inverse_square = inverse * inverse
    root = m * inverse_square
    square, square_rest = two_product(f, root, root)
    residual = f.fma(-square_rest, root, f.fma(-square, root, m))
    return f.fma(residual, inverse_square * third, root)


def hypot(f: Function, x: V, y: V) -> V:
    """sqrt(x*x + y*y); infinite if either operand is, even beside NaN.

    Numbers whose squares might overflow or underflow are scaled by a power of two.
    """
    a, b = f.abs(x), f.abs(y)
    is_swapped = b.gt(a)
    large, small = f.select(is_swapped, b, a), f.select(is_swapped, a, b)
    most, shift = by_width(x, (2.0**60, 2.0**76), (2.0**500, 2.0**626))
    is_huge, is_tiny = large.gt(most), large.lt(1 / most)

    def by_size(huge: float, tiny: float) -> V:
        scale = f.select(is_tiny, f.const(tiny, x.type), 1.0)
        return f.select(is_huge, f.const(huge, x.type), scale)

    scale, unscale = by_size(1 / shift, shift), by_size(shift, 1 / shift)
    large, small = large * scale, small * scale
    length = f.sqrt(f.fma(large, large, small * small)) * unscale
    is_infinite = a.eq(_INFINITY) | b.eq(_INFINITY)
    return f.select(is_infinite, f.const(_INFINITY, x.type), length)


FUNCTIONS: Final[Mapping[str, Callable[..., V]]] = {"cbrt": cbrt, "hypot": hypot}
