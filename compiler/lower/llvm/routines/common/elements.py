"""Elements of any dtype in any number of lanes: reading, writing, converting, and arithmetic.

A complex element is a pair of values. Sums of 16-bit floats are made in f32 and those of bools in
bytes, so an element in memory and the same element at work may have different dtypes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from weft.compiler.ir import dtypes
from weft.compiler.ir.dtypes import DType
from weft.compiler.lower.llvm.emit.arrays import Array, Element
from weft.compiler.lower.llvm.emit.function import Function, Operand, V, Variable
from weft.compiler.lower.llvm.emit.types import I1, of_dtype
from weft.compiler.lower.llvm.scalar import halves

# Wide enough for the registers of every machine; LLVM takes it apart where they are narrower.
VECTOR_BYTES: Final = 64


def working(dtype: DType) -> DType:
    """The dtype in which sums of products for a result dtype are made."""
    if dtype in (dtypes.f16, dtypes.bf16):
        return dtypes.f32
    return dtypes.u8 if dtype.is_bool else dtype


def vector_lanes(dtype: DType, bytes: int = VECTOR_BYTES) -> int:
    """How many elements of a working dtype one vector has (of each part, if they are complex)."""
    return bytes // of_dtype(dtype).itemsize


def parts(value: Element) -> tuple[V, ...]:
    return value if isinstance(value, tuple) else (value,)


def of_parts(values: Sequence[V]) -> Element:
    return values[0] if len(values) == 1 else (values[0], values[1])


def map_parts(function: Callable[..., V], *values: Element) -> Element:
    """A function of values, applied to each part of elements."""
    return of_parts([function(*part) for part in zip(*map(parts, values), strict=True)])


# --- memory -------------------------------------------------------------------------------------


def read(f: Function, array: Array, position: Operand, lanes: int, to: DType) -> Element:
    """The element at a position, or as many lanes of consecutive ones, as another dtype."""
    if not lanes:
        return converted(f, array.load(f, position), array.dtype, to)
    address = array.at(f, position)
    if not array.dtype.is_complex:
        return converted(f, f.load(address, array.type.with_lanes(lanes)), array.dtype, to)
    both = f.load(address, array.type.with_lanes(2 * lanes))
    split = [f.shuffle(both, both, range(part, 2 * lanes, 2)) for part in (0, 1)]
    return converted(f, of_parts(split), array.dtype, to)


def write(f: Function, array: Array, position: Operand, made: Element, of: DType) -> None:
    """Store an element, or consecutive ones from lanes, of a working dtype."""
    stored = converted(f, made, of, array.dtype)
    if not isinstance(stored, tuple) or not stored[0].type.lanes:
        array.store(f, position, stored)
        return
    lanes = stored[0].type.lanes
    order = [part * lanes + lane for lane in range(lanes) for part in (0, 1)]
    f.store(f.shuffle(*stored, order), array.at(f, position))


def converted(f: Function, value: Element, source: DType, target: DType) -> Element:
    """An element as another dtype that can hold it, or back from the dtype it is at work in."""
    if source is target:
        return value
    if target.is_complex:
        real = converted(f, parts(value)[0], source.real, target.real)
        assert isinstance(real, V)
        if isinstance(value, tuple):
            imaginary = converted(f, value[1], source.real, target.real)
            assert isinstance(imaginary, V)
            return real, imaginary
        return real, f.const(0, real.type)
    assert isinstance(value, V)
    to = of_dtype(target)
    return halves.narrow(f, value, to) if halves.is_half(to) else halves.widen(f, value).to(to)


class ElementCell:
    """A mutable element on the stack, which LLVM turns into registers."""

    __slots__ = ("_variables",)

    def __init__(self, f: Function, initial: Element) -> None:
        self._variables: list[Variable] = [f.variable(part) for part in parts(initial)]

    def get(self) -> Element:
        return of_parts([variable.get() for variable in self._variables])

    def set(self, value: Element) -> None:
        for variable, part in zip(self._variables, parts(value), strict=True):
            variable.set(part)


# --- arithmetic ---------------------------------------------------------------------------------


def number(f: Function, value: float, dtype: DType, lanes: int = 0) -> Element:
    """A real number as an element."""
    type = of_dtype(dtype).with_lanes(lanes)
    real = f.const(value, type)
    return (real, f.const(0, type)) if dtype.is_complex else real


def splat(f: Function, value: Element, lanes: int) -> Element:
    return map_parts(lambda part: f.splat(part, lanes), value)


def select(f: Function, condition: V, on_true: Element, on_false: Element) -> Element:
    return map_parts(lambda x, y: f.select(condition, x, y), on_true, on_false)


def add(x: Element, y: Element) -> Element:
    return map_parts(lambda a, b: a + b, x, y)


def subtract(x: Element, y: Element) -> Element:
    return map_parts(lambda a, b: a - b, x, y)


def negate(x: Element) -> Element:
    return map_parts(lambda a: -a, x)


def conjugate(x: Element) -> Element:
    return (x[0], -x[1]) if isinstance(x, tuple) else x


def multiply(x: Element, y: Element) -> Element:
    """The product by its formula, as BLAS computes it."""
    if not isinstance(x, tuple) or not isinstance(y, tuple):
        return _real(x) * _real(y)
    return x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0]


def multiply_add(total: Element, x: Element, y: Element) -> Element:
    """total + x * y."""
    if not isinstance(total, tuple):
        return total + _real(x) * _real(y)
    assert isinstance(x, tuple) and isinstance(y, tuple)
    real = (total[0] + x[0] * y[0]) - x[1] * y[1]
    return real, (total[1] + x[0] * y[1]) + x[1] * y[0]


def multiply_subtract(total: Element, x: Element, y: Element) -> Element:
    """total - x * y."""
    if not isinstance(total, tuple):
        return total - _real(x) * _real(y)
    return multiply_add(total, negate(x), y)


def join(total: Element, x: Element, y: Element) -> Element:
    """total or (x and y), of bools in bytes."""
    return _real(total) | (_real(x) & _real(y))


def divide(f: Function, x: Element, y: Element) -> Element:
    """The quotient; of complex numbers by Smith's algorithm, as in NumPy."""
    if not isinstance(x, tuple) or not isinstance(y, tuple):
        return _real(x) / _real(y)
    (a, b), (c, d) = x, y
    wide = f.abs(c).ge(f.abs(d))
    # The divisor with its larger part first; x * conj(y) divided by both in turn.
    first, second = f.select(wide, c, d), f.select(wide, d, c)
    ratio = second / first
    scale = first + second * ratio
    real = f.select(wide, a + b * ratio, a * ratio + b) / scale
    imaginary = f.select(wide, b - a * ratio, b * ratio - a) / scale
    nothing = c.eq(0.0) & d.eq(0.0)
    return f.select(nothing, a / f.abs(c), real), f.select(nothing, b / f.abs(c), imaginary)


def is_zero(x: Element) -> V:
    if isinstance(x, tuple):
        return x[0].eq(0.0) & x[1].eq(0.0)
    return x.eq(0.0)


def is_finite(f: Function, x: Element) -> V:
    """Whether no part is infinite or NaN."""
    one = [(part - part).eq(0.0) for part in parts(x)]
    return one[0] if len(one) == 1 else one[0] & one[1]


def sum_of_lanes(
    f: Function, x: Element, combine: Callable[[Element, Element], Element]
) -> Element:
    """All lanes combined, halves with halves."""
    lanes = parts(x)[0].type.lanes
    while lanes > 1:
        lanes //= 2
        low = map_parts(lambda part, n=lanes: f.shuffle(part, part, range(n)), x)
        high = map_parts(lambda part, n=lanes: f.shuffle(part, part, range(n, 2 * n)), x)
        x = combine(low, high)
    return map_parts(lambda part: f.extract(part, 0), x)


def all_of(f: Function, conditions: Sequence[V]) -> V:
    result = f.const(True, I1) if not conditions else conditions[0]
    for condition in conditions[1:]:
        result = result & condition
    return result


def _real(x: Element) -> V:
    assert isinstance(x, V)
    return x
