"""sinh, cosh and tanh, from the reduction of the exponential: x = n * log(2) + r."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from weft.compiler.lower.llvm.emit.function import Function, V
from weft.compiler.lower.llvm.math.exponential import (
    LOG2_E,
    LOG2_E_REST_SINGLE,
    beyond,
    reduced,
    whole_part,
)
from weft.compiler.lower.llvm.math.polynomial import (
    Pair,
    by_width,
    fast_two_sum,
    format_of,
    horner,
    power_of_two,
    rarely,
    sign_bit,
    with_sign,
)

# (cosh(r) - 1) / r ** 2 in powers of r ** 2: absolute errors of cosh(r) 2 ** -33.2, 2 ** -58.0.
_COSH_SINGLE: Final = (0.5, 0.041666459292173386, 0.0013935426250100136)
_COSH_DOUBLE: Final = (
    0.5000000000000013,
    0.04166666666651047,
    0.0013888888948355386,
    2.480148850683681e-05,
    2.763180986032928e-07,
)
# (sinh(r) / r - 1) / r ** 2: relative errors of sinh(r) 2 ** -34.3, 2 ** -61.7.
_SINH_SINGLE: Final = (0.1666666716337204, 0.00833317544311285, 0.0001997412327909842)
_SINH_DOUBLE: Final = (
    0.16666666666666677,
    0.008333333333321386,
    0.00019841269886814724,
    2.7557243455013146e-06,
    2.5109318832919488e-08,
)
# 2 * (2 ** r - 1) / r for |r| <= 1/2: absolute error of 2 ** r 2 ** -28.3.
_POWER_SINGLE: Final = (
    1.3862944,
    0.48045295,
    0.1110072,
    0.019237012,
    0.0026781613,
    0.00030652943,
)
# b and a in powers of r ** 2, where 2 ** r is (a + r * b / 4) / (a - r * b / 4): relative error
# 2 ** -57.5. They might be multiplied by any number; with this one least is lost by rounding.
_POWER_DOUBLE: Final = (
    (3784.652269326738, 50.50417999211091, 0.05773598965479651),
    (2730.049530223423, 145.7361087545395, 0.625),
)
# (tanh(x) / x - 1) / x ** 2 as a quotient of polynomials of x ** 2, up to the bound: relative
# errors of tanh(x) 2 ** -27.7, 2 ** -60.5.
_TANH_NEAR: Final = 0.625
_TANH_NEAR_SINGLE: Final = ((-0.82383335, -0.0038099878), (2.4715018, 1.0))
_TANH_NEAR_DOUBLE: Final = (
    (-1614.6876822502084, -99.28772299535038, -0.9643991793843792),
    (4844.063046750626, 2235.4883876862286, 112.81167837808327, 1.0),
)


class _Halves(NamedTuple):
    """cosh(x) = c * (1 + coshm1) + s * (r + sinh_rest) and sinh(x) = s * (1 + coshm1) + ..., where
    c + lost and s - lost are cosh and sinh of n * log(2), less by a factor that is 1 unless x is
    extreme.
    """

    extreme: V
    c: V
    s: V
    lost: V
    r: V
    coshm1: V
    sinh_rest: V


_EXTRA: Final = 4  # how many powers of two are left out where they would overflow


def _halves(f: Function, away: V) -> _Halves:
    """The parts of cosh and sinh of |x|."""
    form = format_of(away)
    bound, most = by_width(away, (86.0, 91.0), (707.0, 712.0))
    extreme = beyond(f, away, bound, bound)
    up = f.const(form.bias - 1, form.integer.with_lanes(away.type.lanes))

    def careful() -> list[V]:
        huge = away.ge(bound)
        first = f.select(huge, up - _EXTRA, up)
        # The other power counts for nothing there; it only has to be a normal number.
        return [f.minimum(away, most), first, f.select(huge, up + 60, up)]

    y, first, second = rarely(f, extreme, [away, up, up], careful)
    n, r, low = reduced(f, y)
    rising = power_of_two(f, first + n, away)
    c, lost = fast_two_sum(f, rising, power_of_two(f, second - n, away))
    square = r * r
    even = square * horner(f, square, by_width(r, _COSH_SINGLE, _COSH_DOUBLE))
    odd = f.fma(square * r, horner(f, square, by_width(r, _SINH_SINGLE, _SINH_DOUBLE)), low)
    return _Halves(extreme, c, (rising - c) + rising, lost, r, even, odd)


def _sum(f: Function, halves: _Halves, away: V, main: V, other: V, lost: V) -> V:
    """main * (1 + coshm1) + lost + other * (r + sinh_rest)."""
    high = f.fma(other, halves.r, main)
    low = f.fma(other, halves.r, main - high) + f.fma(-lost, halves.r, lost)
    value = high + f.fma(main, halves.coshm1, f.fma(other, halves.sinh_rest, low))

    def unscaled() -> list[V]:
        huge = away.ge(by_width(away, 86.0, 707.0))
        return [f.select(huge, value * 2.0**_EXTRA, value)]

    return rarely(f, halves.extreme, [value], unscaled)[0]


def sinh(f: Function, x: V) -> V:
    """The hyperbolic sine."""
    away = f.abs(x)
    halves = _halves(f, away)
    value = _sum(f, halves, away, halves.s, halves.c, -halves.lost)
    return with_sign(f, value, sign_bit(f, x))


def cosh(f: Function, x: V) -> V:
    """The hyperbolic cosine."""
    away = f.abs(x)
    halves = _halves(f, away)
    return _sum(f, halves, away, halves.c, halves.s, halves.lost)


def tanh(f: Function, x: V) -> V:
    """The hyperbolic tangent: x + x**3 * p(x**2) / q(x**2) near 0, further out 1 - t + t * v /
    (v + 2), where e ** (2 * x) is 2 ** n * (1 + c), t is 2 ** (1 - n) and v is 2 * c + t.

    Both forms add something small to a number that is exact, with a division that they share. As
    1 + c and not the whole power is divided by, little is lost by rounding.
    """
    away = f.minimum(f.abs(x), by_width(x, 9.25, 20.0))  # from where on it is 1
    n, bits = whole_part(f, away, 2 * LOG2_E)
    r = f.fma(away, 2 * LOG2_E, -n)
    if x.type.bits == 32:  # where the constant's own rounding counts
        r = f.fma(away, 2 * LOG2_E_REST_SINGLE, r)
    t = power_of_two(f, format_of(x).bias + 1 - bits, x)
    far_over, far_under = by_width(x, _tanh_far_single, _tanh_far_double)(f, r, t)
    square = away * away
    over, under = (horner(f, square, c) for c in by_width(x, _TANH_NEAR_SINGLE, _TANH_NEAR_DOUBLE))
    is_near = away.lt(_TANH_NEAR)
    quotient = f.select(is_near, over, far_over) / f.select(is_near, under, far_under)
    scale = f.select(is_near, away * square, t)
    return f.copysign(f.fma(quotient, scale, f.select(is_near, away, 1.0 - t)), x)


def _tanh_far_single(f: Function, r: V, t: V) -> Pair:
    """v and v + 2, where v is 2 * (2 ** r - 1) + t."""
    v = f.fma(r, horner(f, r, _POWER_SINGLE), t)
    return v, v + 2.0


def _tanh_far_double(f: Function, r: V, t: V) -> Pair:
    """The same times the denominator of the quotient that 2 ** r is: half the coefficients."""
    square = r * r
    over, under = (horner(f, square, c) for c in _POWER_DOUBLE)
    climb = r * over
    scale = f.fma(climb, -0.25, under)
    v = f.fma(t, scale, climb)
    return v, v + (scale + scale)


FUNCTIONS: Final[Mapping[str, Callable[..., V]]] = {"sinh": sinh, "cosh": cosh, "tanh": tanh}
