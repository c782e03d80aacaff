"""What the vector functions are made of: polynomials, double-word arithmetic, bits of floats.

Everything here relies on exact rounding, so it belongs in functions made with flags="" (as
`define_once` makes them). A pair (high, low) is an unevaluated sum with |low| <= ulp(high) / 2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias, TypeVar

import numpy as np

from weft.compiler.lower.llvm.emit.function import Function, Operand, V
from weft.compiler.lower.llvm.emit.types import F32, F64, I1, I32, I64, PTR, U32, U64, Type
from weft.compiler.record import record

Pair: TypeAlias = tuple[V, V]
_T = TypeVar("_T")


@record
class Format:
    """The layout of a floating-point type."""

    integer: Type  # signed, as wide as the float
    unsigned: Type
    mantissa: int  # stored bits of the mantissa
    bias: int  # of the exponent
    sign: int  # the sign bit, as a number of the integer type

    @property
    def shifter(self) -> float:
        """Adding this rounds to a whole number, which is then in the low bits of the sum."""
        return 1.5 * 2.0**self.mantissa

    @property
    def shifter_bits(self) -> int:
        """The shifter as an integer."""
        return ((self.bias + self.mantissa) << self.mantissa) | (1 << (self.mantissa - 1))

    @property
    def least_normal(self) -> float:
        return 2.0 ** (1 - self.bias)

    @property
    def exponent_mask(self) -> int:
        """The bits of infinity."""
        return (2 * self.bias + 1) << self.mantissa


_SINGLE: Final = Format(I32, U32, 23, 127, -(2**31))
_DOUBLE: Final = Format(I64, U64, 52, 1023, -(2**63))


def format_of(x: V) -> Format:
    """The layout of a value's type."""
    return _DOUBLE if x.type.bits == 64 else _SINGLE


def by_width(x: V, single: _T, double: _T) -> _T:
    """What belongs to the value's precision, such as its coefficients."""
    assert x.type.element in (F32, F64)
    return double if x.type.bits == 64 else single


def define_once(
    f: Function,
    name: str,
    emit: Callable[..., V],
    *operands: V,
    attributes: str = "alwaysinline",
) -> V:
    """Call `weft.<name>.<type>`, which is emitted into the module if it is not there yet.

    Sharing one definition keeps the text small; LLVM inlines it everywhere, unless the attributes
    do not ask for that.
    """
    symbol = f"weft.{name}.{operands[0].type.suffix}"
    if symbol not in f.module.functions:
        parameters = [(f"x{number}", operand.type) for number, operand in enumerate(operands)]
        g = f.module.function(
            symbol, operands[0].type, parameters, internal=True, attributes=attributes, flags=""
        )
        g.ret(emit(g, *g.arguments))
    return f.call(symbol, f.module.functions[symbol].result, operands)


# --- polynomials; coefficients are given from the lowest power up ---


def horner(f: Function, x: V, coefficients: Sequence[Operand]) -> V:
    """A polynomial with the fewest instructions, one after the other."""
    value = f.like(coefficients[-1], x)
    for coefficient in reversed(coefficients[:-1]):
        value = f.fma(value, x, coefficient)
    return value


def by_lane(
    f: Function, condition: V, first: Sequence[float], second: Sequence[float], like: V
) -> list[V]:
    """Coefficients that are the first where the condition holds, else the second: two polynomials
    of a lane's choice cost no more than both, and are one text.
    """
    pairs = zip(first, second, strict=True)
    return [f.select(condition, f.const(a, like.type), b) for a, b in pairs]


def two_chains(f: Function, x: V, square: V, coefficients: Sequence[Operand]) -> V:
    """A polynomial as even plus odd powers: one instruction more than `horner` if the square is at
    hand, half the latency.
    """
    if len(coefficients) < 4:
        return horner(f, x, coefficients)
    even = horner(f, square, coefficients[0::2])
    return f.fma(horner(f, square, coefficients[1::2]), x, even)


def estrin(f: Function, x: V, coefficients: Sequence[Operand]) -> V:
    """A polynomial by pairs of terms: the lowest latency, some more multiplications."""
    terms = [f.like(coefficient, x) for coefficient in coefficients]
    power = x
    while len(terms) > 1:
        odd = terms.pop() if len(terms) % 2 else None
        terms = [f.fma(power, high, low) for low, high in zip(terms[::2], terms[1::2], strict=True)]
        if odd is not None:
            terms.append(odd)
        if len(terms) > 1:
            power = power * power
    return terms[0]


# --- double-word arithmetic ---


def two_sum(f: Function, x: V, y: Operand) -> Pair:
    """x + y exactly."""
    other = f.like(y, x)
    total = x + other
    shadow = total - x
    return total, (x - (total - shadow)) + (other - shadow)


def fast_two_sum(f: Function, x: Operand, y: V) -> Pair:
    """x + y exactly, for |x| >= |y| or x = 0."""
    first = f.like(x, y)
    total = first + y
    return total, y - (total - first)


def two_product(f: Function, x: V, y: Operand) -> Pair:
    """x * y exactly, unless the low part underflows."""
    product = x * y
    return product, f.fma(x, y, -product)


def pair_product(f: Function, x: Pair, y: tuple[Operand, Operand]) -> Pair:
    """The product of two pairs, to about twice the precision."""
    high, low = two_product(f, x[0], y[0])
    low = f.fma(x[0], y[1], f.fma(x[1], y[0], low))
    return fast_two_sum(f, high, low)


def pair_sum(f: Function, x: Pair, y: Pair) -> Pair:
    """The sum of two pairs to twice the precision of the larger one, even if they cancel."""
    high, lost = two_sum(f, x[0], y[0])
    low, lost_low = two_sum(f, x[1], y[1])
    high, low = fast_two_sum(f, high, low + lost)
    return fast_two_sum(f, high, low + lost_low)


def pair_inverse(f: Function, x: V) -> Pair:
    """1 / x to twice the precision, unless it overflows."""
    inverse = 1.0 / x
    return inverse, f.fma(-inverse, x, 1.0) * inverse


def pair_horner(f: Function, x: Pair, coefficients: Sequence[tuple[float, float]]) -> Pair:
    """A polynomial of pairs, as a loop over constant data: for code that runs rarely."""
    numbers = V(f, f"@{f.module.data(np.array(coefficients[::-1], np.float64))}", PTR)

    def coefficient(place: Operand) -> Pair:
        high, low = (f.load(f.element(numbers, F64, place * 2 + part), F64) for part in (0, 1))
        return f.splat(high, x[0].type.lanes), f.splat(low, x[0].type.lanes)

    start = coefficient(f.const(0, I64))
    high, low = f.variable(start[0]), f.variable(start[1])
    with f.range(1, len(coefficients)) as place:
        made = pair_sum(f, pair_product(f, (high.get(), low.get()), x), coefficient(place))
        high.set(made[0])
        low.set(made[1])
    return high.get(), low.get()


def rounded_quotient(f: Function, x: Pair, y: Pair) -> V:
    """The quotient of two pairs, nearly rounded once."""
    inverse = 1 / y[0]
    quotient = x[0] * inverse
    rest = f.fma(-quotient, y[0], x[0]) + f.fma(-quotient, y[1], x[1])
    return f.fma(rest, inverse, quotient)


# --- bits ---


def any_lane(f: Function, condition: V) -> V:
    """Whether a condition holds in some lane, as one i1."""
    if not condition.type.lanes:
        return condition
    return f.intrinsic("vector.reduce.or", condition, result=I1)


def rarely(
    f: Function, condition: V, values: Sequence[V], compute: Callable[[], Sequence[V]]
) -> list[V]:
    """The values, or what `compute` emits in their place if the condition holds in any lane; that
    code is passed by otherwise, and has to give the ordinary lanes what they had.
    """
    held = [f.variable(value) for value in values]
    then, done = f.label("rare"), f.label("join")
    f.branch(any_lane(f, condition), then, done, likely=True)
    f.begin(then)
    for place, value in zip(held, compute(), strict=True):
        place.set(value)
    f.jump(done)
    f.begin(done)
    return [place.get() for place in held]


def rarely_called(
    f: Function,
    name: str,
    condition: V,
    compute: Callable[[Function, V, V], V],
    x: V,
    value: V,
) -> V:
    """The value, or what `compute` makes of x and it if the condition holds in any lane: a function
    of its own, for code that is too long to be inlined. It decides lane by lane what to change.
    """

    def careful() -> list[V]:
        return [define_once(f, name, compute, x, value, attributes="noinline")]

    return rarely(f, condition, [value], careful)[0]


def sign_bit(f: Function, x: V) -> V:
    """The sign of a float as an integer that has no other bit."""
    form = format_of(x)
    return x.bits(form.integer) & form.sign


def with_sign(f: Function, x: V, sign: V) -> V:
    """x with its sign flipped where a sign bit is set."""
    return (x.bits(format_of(x).integer) ^ sign).bits(x.type)


def power_of_two(f: Function, biased: V, like: V) -> V:
    """2 ** (biased - bias) for 0 < biased < 2 * bias + 1; higher bits than the exponent's and
    sign's are dropped.
    """
    return (biased << format_of(like).mantissa).bits(like.type)
