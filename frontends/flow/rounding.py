"""`round` of traced numbers: as Python rounds, which is right in all decimal digits where NumPy's
`round`, a product and a quotient, is one unit off now and then.
"""

from __future__ import annotations

import builtins
import operator
from typing import Any, Final

import numpy as np

from weft.compiler.ir import dtypes
from weft.compiler.ir.build import constant
from weft.compiler.ir.graph import Value
from weft.compiler.ops.arithmetic import abs_, add, div, floor, mul, round_, sub
from weft.compiler.ops.conversion import rounded as rounded_product
from weft.compiler.ops.logic import and_, eq, ge, gt, ne, select
from weft.frontends.flow.mathematics import whole
from weft.frontends.flow.parts import is_traced
from weft.frontends.tracing import core

_MOST_DIGITS: Final = 22  # 10 to that is a float
_SPLITTER: Final = 2.0**27 + 1
_ALL_WHOLE: Final = 2.0**53


def rounded(number: Any, ndigits: Any = None) -> Any:
    """As `round`."""
    if not is_traced(number):
        return builtins.round(number, ndigits)
    if ndigits is None:
        return whole(number, np.rint)
    if core.python_type(number) is None:
        return np.round(number, ndigits)
    digits = operator.index(ndigits)
    value = core.lift(number)
    if not value.type.dtype.is_inexact:
        return _of_int(value, digits)
    if value.type.dtype.is_complex:
        raise TypeError("type complex doesn't define __round__ method")
    if abs(digits) > _MOST_DIGITS:
        raise core.trace_error(f"round() to {digits} digits is not supported for traced numbers")
    return core.wrap(_of_float(value, digits), weak=True)


def _of_int(value: Value, digits: int) -> Any:
    if digits < 0:
        raise core.trace_error("round() of a traced int to tens is not supported; use floats")
    return core.wrap(core.cast(value, dtypes.i64), weak=True)


def _of_float(x: Value, digits: int) -> Value:
    """To the nearest of decimals, ties to even: what decides is how far a float is from the middle
    between two, to which the error of the product or quotient belongs.
    """
    power = 10.0 ** abs(digits)
    scale = _constant(power)
    if digits >= 0:
        scaled, error = _product(x, power)
        result = div(_to_even(scaled, error), scale)
    else:
        scaled = div(x, scale)
        product, error = _product(scaled, power)
        result = mul(_to_even(scaled, sub(sub(x, product), error)), scale)
    return select(ge(abs_(scaled), _constant(_ALL_WHOLE)), x, result)


def _to_even(value: Value, error: Value) -> Value:
    """The whole number next to a sum of a float and an error."""
    nearest, below = round_(value), floor(value)
    is_middle = eq(abs_(sub(value, nearest)), _constant(0.5))
    above = add(below, _constant(1.0))
    decided = select(gt(error, _constant(0.0)), above, below)
    return select(and_(is_middle, ne(error, _constant(0.0))), decided, nearest)


def _product(x: Value, factor: float) -> tuple[Value, Value]:
    """The product with a known number, and what was lost when it was rounded (Dekker)."""
    product = rounded_product(mul(x, _constant(factor)))
    big = factor * _SPLITTER
    high = big - (big - factor)
    low = factor - high
    wide = rounded_product(mul(x, _constant(_SPLITTER)))
    x_high = sub(wide, sub(wide, x))
    x_low = sub(x, x_high)
    error = sub(mul(x_high, _constant(high)), product)
    error = add(error, mul(x_high, _constant(low)))
    error = add(error, mul(x_low, _constant(high)))
    return product, add(error, mul(x_low, _constant(low)))


def _constant(number: float) -> Value:
    return constant(number, dtypes.f64)
