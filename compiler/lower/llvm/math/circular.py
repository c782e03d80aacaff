"""sin, cos and tan over the full range: x = n * pi/2 + r with |r| just above pi/4 at most.

Up to a large bound n is subtracted in three parts (Cody and Waite), of which the first is exact
with a fused multiplication. Beyond it, rarely, each lane is multiplied by as many bits of 2/pi as
count (Payne and Hanek), in integers, by functions that all programs share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import numpy as np

from weft.compiler.lower.llvm import linkage
from weft.compiler.lower.llvm.emit.function import Function, Module, V
from weft.compiler.lower.llvm.emit.types import F32, F64, I64, PTR, U64, VOID, element_type
from weft.compiler.lower.llvm.math.exponential import whole_part
from weft.compiler.lower.llvm.math.polynomial import (
    Pair,
    by_width,
    fast_two_sum,
    format_of,
    horner,
    pair_product,
    power_of_two,
    rarely,
    rounded_quotient,
    sign_bit,
    two_product,
    two_sum,
    with_sign,
)

FAR_ANGLES: Final = {F32: linkage.math("far_angles_f32"), F64: linkage.math("far_angles_f64")}
_FAR_ANGLE: Final = "weft.far_angle"
# (sin(r) / r - 1) / r ** 2 in powers of r ** 2: absolute errors of sin(r) / r below 2 ** -27.8 and
# 2 ** -57.9 for r ** 2 up to 0.63 and 0.62.
_SIN_SINGLE: Final = (-0.16666653752326965, 0.008332101628184319, -0.00019506846729200333)
_SIN_DOUBLE: Final = (
    -0.1666666666666663,
    0.008333333333321796,
    -0.00019841269829292183,
    2.7557313506556303e-06,
    -2.5050728176348157e-08,
    1.589501201698685e-10,
)
# (cos(r) - 1 + r ** 2 / 2) / r ** 4: absolute errors of cos(r) below 2 ** -33.1 and 2 ** -64.
_COS_SINGLE: Final = (0.04166664555668831, -0.00138873013202101, 2.443066841806285e-05)
_COS_DOUBLE: Final = (
    0.041666666666666595,
    -0.0013888888888873303,
    2.4801587288947127e-05,
    -2.755731419190517e-07,
    2.087570073932312e-09,
    -1.1358446510620668e-11,
)
_TWO_OVER_PI_SINGLE: Final = 0.6366197466850281
_TWO_OVER_PI: Final = 0.6366197723675814
# pi/2 in three parts.
_QUARTER_SINGLE: Final = (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15)
_QUARTER_DOUBLE: Final = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
# Where the three parts give out: n is then off by too much, or they are too few bits.
_BOUND_SINGLE: Final = 2.0**17
_BOUND_DOUBLE: Final = 2.0**30
# 2/pi in words of 64 bits after the binary point, with one of zeros ahead.
_BITS_OF_TWO_OVER_PI: Final = np.array(
    [
        0x0000000000000000,
        0xA2F9836E4E441529,
        0xFC2757D1F534DDC0,
        0xDB6295993C439041,
        0xFE5163ABDEBBC561,
        0xB7246E3A424DD2E0,
        0x06492EEA09D1921C,
        0xFE1DEB1CB129A73E,
        0xE88235F52EBB4484,
        0xE99C7026B45F7E41,
        0x3991D639835339F4,
        0x9C845F8BBDF9283B,
        0x1FF897FFDE05980F,
        0xEF2F118B5A0A6D1F,
        0x6D367ECF27CB09B7,
        0x4F463F669E5FEA2D,
        0x7527BAC7EBE5F17B,
        0x3D0739F78A5292EA,
        0x6BFB5FB11F8D5D08,
        0x56033046FC7B6BAB,
    ],
    np.uint64,
)
_U128: Final = element_type("uint", 128)


class _Angle(NamedTuple):
    """|x| = n * pi/2 + r + low."""

    n: V  # an integer of which the last two bits count
    r: V
    low: V


def _angle(f: Function, away: V) -> _Angle:
    """The reduction of |x|."""
    n, bits = whole_part(f, away, by_width(away, _TWO_OVER_PI_SINGLE, _TWO_OVER_PI))
    first, second, third = by_width(away, _QUARTER_SINGLE, _QUARTER_DOUBLE)
    product, rounding = two_product(f, n, second)
    r, lost = two_sum(f, f.fma(n, -first, away), -product)
    quick = _Angle(bits, r, lost - f.fma(n, third, rounding))
    is_far = ~away.lt(_bound(away))
    return _Angle(*rarely(f, is_far, quick, lambda: _far_angles(f, away, quick)))


def _bound(x: V) -> float:
    return by_width(x, _BOUND_SINGLE, _BOUND_DOUBLE)


def _far_angles(f: Function, away: V, quick: _Angle) -> list[V]:
    """The reductions with those lanes done one by one that are not below the bound."""
    values = [away, *quick]
    places = [f.stack(value.type, align=64) for value in values]
    for value, place in zip(values, places, strict=True):
        f.store(value, place)
    lanes = f.const(max(away.type.lanes, 1), I64)
    f.call(FAR_ANGLES[away.type.element], VOID, [*places, lanes], attributes=" cold")
    return [f.load(place, value.type) for value, place in zip(quick, places[1:], strict=True)]


def define_far_angles(module: Module) -> None:
    """The functions (x, n, r, low, lanes) that reduce those of the lanes that are not below the
    bound. They are shared: to compile them took a third of the time of a program with a sine.
    """
    _define_far_angle(module)
    for element, name in FAR_ANGLES.items():
        f = module.function(
            name, VOID, [("x", PTR), ("n", PTR), ("r", PTR), ("low", PTR), ("lanes", I64)]
        )
        items, *places, lanes = f.arguments
        triple = f.stack(F64, 3)
        with f.range(0, lanes) as lane:
            x = f.load(f.element(items, element, lane), element)
            with f.when(~x.lt(_bound(x))):
                f.call(_FAR_ANGLE, VOID, [x.to(F64), triple])
                r, low, n = (
                    f.load(f.element(triple, F64, i), t) for i, t in enumerate((F64, F64, I64))
                )
                high = r.to(element)
                rest = ((r - high.to(F64)) + low).to(element)
                reduced = (n.to(format_of(x).integer), high, rest)
                for value, place in zip(reduced, places, strict=True):
                    f.store(value, f.element(place, value.type, lane))
        f.ret()


def _define_far_angle(module: Module) -> None:
    """The function (x, out) that writes r, low and n of a large f64 x >= 0; NaN for infinity."""
    f = module.function(_FAR_ANGLE, VOID, [("x", F64), ("out", PTR)], internal=True, flags="")
    x, out = f.arguments
    n, fraction = _turn(f, x)
    negative = fraction.bits(element_type("int", 128)).lt(0)
    size = f.select(negative, f.binary("sub", 0, fraction), fraction)
    zeros = f.call("llvm.ctlz.i128", _U128, [size, f.const(False, negative.type)])
    first = size << zeros
    # The leading 53 bits and the next 53 are doubles that add up to the fraction.
    high = (first >> 75).to(U64).to(F64) * 2.0**-53
    low = ((first >> 22).to(U64) & (2**53 - 1)).to(F64) * 2.0**-106
    r, rest = pair_product(f, fast_two_sum(f, high, low), _QUARTER_DOUBLE[:2])
    scale = power_of_two(f, 1023 - zeros.to(I64), x)
    sign = f.select(negative, -scale, scale) * f.select(
        x.lt(float("inf")), f.const(1.0, F64), x - x
    )
    f.store(r * sign, out)
    f.store(rest * sign, f.element(out, F64, 1))
    f.store((n + negative.to(U64)).bits(I64), f.element(out, F64, 2))
    f.ret()


def _turn(f: Function, x: V) -> tuple[V, V]:
    """x / (pi/2) without multiples of 4: its whole part and 128 bits of the fraction.

    x = m * 2 ** e with a whole m, so bits of 2/pi worth more than 2 ** (1 - e) give multiples of 4.
    """
    bits = x.bits(I64)
    e = ((bits >> 52) & 0x7FF) - 1075
    m = ((bits & (2**52 - 1)) | 2**52).bits(U64).to(_U128)
    start = f.minimum(f.const(1033, I64), e + 62)  # e - 2 bits to pass by, after 64 zeros
    table = V(f, f"@{f.module.data(_BITS_OF_TWO_OVER_PI)}", PTR)
    at = f.element(table, U64, start >> 6)
    words = [f.load(f.element(at, U64, i), U64).to(_U128) for i in range(4)]
    shift = (start & 63).bits(U64).to(_U128)
    window = [(((a << 64) | b) << shift) >> 64 for a, b in zip(words, words[1:], strict=False)]
    third = m * window[2]
    second = m * window[1] + (third >> 64)
    first = m * window[0] + (second >> 64)
    top = (first << 64) | (second & (2**64 - 1))
    fraction = (top << 2) | ((third >> 62) & 3)
    return (top >> 126).to(U64), fraction


def _is_odd(f: Function, n: V) -> V:
    return (n & 1).ne(0)


def _half_turn(f: Function, n: V, x: V) -> V:
    """The sign bit that n brings: set in the second half of a turn."""
    return (n << (x.type.bits - 2)) & format_of(x).sign


def _either(f: Function, angle: _Angle, odd: V) -> V:
    """cos(r + low) where odd, else sin(r + low), by one polynomial whose coefficients differ."""
    r = angle.r
    square = r * r
    sines = by_width(r, _SIN_SINGLE, _SIN_DOUBLE)
    cosines = by_width(r, _COS_SINGLE, _COS_DOUBLE)
    picked = [f.select(odd, f.const(c, r.type), s) for c, s in zip(cosines, sines, strict=True)]
    high, rest = _cosine_start(f, angle, square)
    factor = square * f.select(odd, square, r)
    rest = f.fma(factor, horner(f, square, picked), f.select(odd, rest, angle.low))
    return f.select(odd, high, r) + rest


def sin(f: Function, x: V) -> V:
    """The sine."""
    angle = _angle(f, f.abs(x))
    value = _either(f, angle, _is_odd(f, angle.n))
    return with_sign(f, value, _half_turn(f, angle.n, x) ^ sign_bit(f, x))


def cos(f: Function, x: V) -> V:
    """The cosine."""
    angle = _angle(f, f.abs(x))
    value = _either(f, angle, ~_is_odd(f, angle.n))
    return with_sign(f, value, _half_turn(f, angle.n + 1, x))


def tan(f: Function, x: V) -> V:
    """The tangent: the quotient of sine and cosine, or of -cosine and sine."""
    angle = _angle(f, f.abs(x))
    odd = _is_odd(f, angle.n)
    sine, cosine = _sine(f, angle), _cosine(f, angle)
    over = f.select(odd, cosine[0], sine[0]), f.select(odd, cosine[1], sine[1])
    under = f.select(odd, sine[0], cosine[0]), f.select(odd, sine[1], cosine[1])
    value = rounded_quotient(f, fast_two_sum(f, *over), fast_two_sum(f, *under))
    return with_sign(f, value, (angle.n << (x.type.bits - 1)) ^ sign_bit(f, x))


def _sine(f: Function, angle: _Angle) -> Pair:
    """sin(r + low) as r and the rest."""
    square = angle.r * angle.r
    curve = horner(f, square, by_width(square, _SIN_SINGLE, _SIN_DOUBLE))
    low = f.fma(square * -0.5, angle.low, angle.low)
    return angle.r, f.fma(square * angle.r, curve, low)


def _cosine(f: Function, angle: _Angle) -> Pair:
    """cos(r + low) as 1 - r ** 2 / 2 rounded and the rest."""
    square = angle.r * angle.r
    curve = horner(f, square, by_width(square, _COS_SINGLE, _COS_DOUBLE))
    high, rest = _cosine_start(f, angle, square)
    return high, f.fma(square * square, curve, rest)


def _cosine_start(f: Function, angle: _Angle, square: V) -> Pair:
    """1 - (r + low) ** 2 / 2, given r ** 2 rounded."""
    high, lost = fast_two_sum(f, 1, square * -0.5)
    rounding = f.fma(angle.r, angle.r, -square)
    return high, f.fma(angle.r, -angle.low, f.fma(rounding, -0.5, lost))


FUNCTIONS: Final[Mapping[str, Callable[..., V]]] = {"sin": sin, "cos": cos, "tan": tan}
