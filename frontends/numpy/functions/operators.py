"""Python's operators on traced arrays: NumPy's ufuncs, and on Python numbers alone what Python
means by them. `True + True` is 2, `1 / 0` an error, and what is made of Python numbers is one.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import product
from typing import Any, Final

import numpy as np

from weft.compiler.ir import dtypes
from weft.compiler.ir.build import constant
from weft.compiler.ir.errors import ArgumentError
from weft.compiler.ir.graph import Constant, Result, Value
from weft.compiler.ops.arithmetic import abs_, floor, minimum, mul, neg, pow_
from weft.compiler.ops.conversion import cast as cast_op
from weft.compiler.ops.conversion import imag, real
from weft.compiler.ops.logic import and_, eq, ge, is_finite, le, lt, ne, not_, or_, xor
from weft.frontends.numpy.functions.ufuncs import apply_ufunc, emitter
from weft.frontends.tracing.core import (
    NUMBER_DTYPES,
    cast,
    is_weak,
    lift,
    number_types,
    python_type,
    trace_error,
    with_types,
    wrap,
)
from weft.frontends.tracing.intervals import (
    Interval,
    differences,
    fits,
    interval,
    products,
    sums,
)
from weft.frontends.tracing.requirements import raised, require
from weft.frontends.tracing.trace import ArrayLike, Tracer

_PYTHON: Final[Mapping[np.ufunc, Callable[..., Any]]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.true_divide: operator.truediv,
    np.floor_divide: operator.floordiv,
    np.remainder: operator.mod,
    np.divmod: divmod,
    np.power: operator.pow,
    np.negative: operator.neg,
    np.positive: operator.pos,
    np.absolute: abs,
    np.invert: operator.invert,
    np.bitwise_and: operator.and_,
    np.bitwise_or: operator.or_,
    np.bitwise_xor: operator.xor,
    np.left_shift: operator.lshift,
    np.right_shift: operator.rshift,
    np.less: operator.lt,
    np.less_equal: operator.le,
    np.greater: operator.gt,
    np.greater_equal: operator.ge,
    np.equal: operator.eq,
    np.not_equal: operator.ne,
}
_DIVISIONS: Final = (np.true_divide, np.floor_divide, np.remainder, np.divmod)
_COMPARISONS: Final = (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal)
_SMALL: Final = 1 << 20
_LIMIT: Final = float(1 << 63) * (1 - 2.0**-40)


def apply_operator(ufunc: np.ufunc, *operands: ArrayLike) -> Any:
    """A Python operator: as the ufunc, but on Python numbers alone as Python has it."""
    kinds = tuple([python_type(operand) for operand in operands])
    if None in kinds or _compares_long_ints(ufunc, operands):
        result = apply_ufunc(ufunc, *operands)
        if isinstance(result, Tracer) and is_weak(*operands):
            result.weak = True
        return result
    return _on_numbers(ufunc, operands, kinds)  # type: ignore[arg-type]


def is_list_of_another(ufunc: np.ufunc, array: Tracer, other: Any) -> bool:
    """Whether an operator is one of Python's lists: numbers know none, and a product with an
    integer repeats it, which needs its value.
    """
    if not isinstance(other, list | tuple) or array.type.shape:
        return False
    repeats = ufunc is np.multiply and array.type.dtype.is_integer
    return repeats or python_type(array) is not None


def _compares_long_ints(ufunc: np.ufunc, operands: Sequence[ArrayLike]) -> bool:
    """Whether a number is compared with an int that no traced one can be."""
    is_long = any(isinstance(one, int) and not fits((one, one)) for one in operands)
    return is_long and ufunc in _COMPARISONS


def _on_numbers(ufunc: np.ufunc, operands: Sequence[ArrayLike], kinds: tuple[type, ...]) -> Any:
    types = [number_types(operand) for operand in operands]
    if any(len(several) > 1 for several in types):
        return _of_several_types(ufunc, operands, kinds, types)
    return _of_types(ufunc, operands, kinds)


def _of_several_types(
    ufunc: np.ufunc,
    operands: Sequence[ArrayLike],
    kinds: tuple[type, ...],
    types: Sequence[frozenset[type]],
) -> Any:
    """On numbers of which values decide the type: computed in the widest, with a note of all that
    the result may be.
    """
    result = _of_types(ufunc, operands, kinds)
    possible = set()
    for combination in product(*types):
        with contextlib.suppress(TypeError):
            possible.add(_result_type(ufunc, combination))
    for part in result if isinstance(result, tuple) else (result,):
        with_types(part, frozenset(possible))
    return result


def _of_types(ufunc: np.ufunc, operands: Sequence[ArrayLike], kinds: tuple[type, ...]) -> Any:
    made = _result_type(ufunc, kinds)
    common = _common_type(kinds, made)
    values = [_lifted(operand, common) for operand in operands]
    if ufunc in _DIVISIONS:
        _require_divisor(ufunc, kinds, values[1])
    if ufunc is np.power:
        return _power(kinds, values, common)
    emit: Any = emitter(ufunc)
    if made is common is int:
        emit = _OF_INTS.get(ufunc, emit)
    return _numbers(emit(*values), made)


def _numbers(computed: Value | tuple[Value, ...], made: type) -> Any:
    if isinstance(computed, tuple):
        return tuple([wrap(cast(value, NUMBER_DTYPES[made]), weak=True) for value in computed])
    return wrap(cast(computed, NUMBER_DTYPES[made]), weak=True)


@lru_cache(maxsize=1024)
def _result_type(ufunc: np.ufunc, kinds: tuple[type, ...]) -> type:
    """What Python makes of numbers of these types; raises what Python raises."""
    if ufunc is np.invert and kinds == (bool,):
        return int  # as Python does, with a warning
    made = _PYTHON[ufunc](*[kind(1) for kind in kinds])
    return type(made[0]) if isinstance(made, tuple) else type(made)


def _common_type(kinds: tuple[type, ...], made: type) -> type:
    """The type in which Python computes."""
    order = list(NUMBER_DTYPES)
    widest = max(kinds, key=order.index)
    return made if order.index(made) > order.index(widest) else widest


def _lifted(operand: ArrayLike, common: type) -> Value:
    if isinstance(operand, int) and common is int and not fits((operand, operand)):
        raise trace_error(
            f"the int {operand} has more than 64 bits, which a program cannot compute with: use a "
            "float, or make the values that it is used with static"
        )
    return lift(operand, NUMBER_DTYPES[common])


def _require_divisor(ufunc: np.ufunc, kinds: tuple[type, ...], divisor: Value) -> None:
    if _is_not_zero(divisor):
        return
    error = raised(_PYTHON[ufunc], kinds[0](1), kinds[1](0))
    require(ne(divisor, _number(divisor, 0)), error)


def _is_not_zero(value: Value) -> bool:
    if isinstance(value, Constant):
        return bool(value.array != 0)
    if value.type.dtype.is_float and isinstance(value, Result) and value.op.definition is cast_op:
        (value,) = value.op.operands
    low, high = interval(value) if value.type.dtype.is_integer else (0, 0)
    return low > 0 or high < 0


# --- ints -----------------------------------------------------------------------------------------


def _within_64_bits(ufunc: np.ufunc, x: Value, y: Value) -> Value:
    emit: Any = emitter(ufunc)
    result: Value = emit(x, y)
    ends, other = interval(x), interval(y)
    if fits(_REACHES[ufunc](ends, other)) or isinstance(result, Constant):
        return result
    if ufunc is np.multiply:
        require(_is_moderate(mul(_as_float(x), _as_float(y))), _too_large())
        return result
    if not any(max(map(abs, one)) <= _SMALL for one in (ends, other)):
        require(_keeps_sign(ufunc, x, y, result), _too_large())
    return result


def _keeps_sign(ufunc: np.ufunc, x: Value, y: Value, result: Value) -> Value:
    """Whether a sum or difference has not run over: its sign is possible."""
    other = y if ufunc is np.add else not_(y)
    return ge(and_(xor(x, result), xor(other, result)), _number(x, 0))


def _shift(ufunc: np.ufunc, x: Value, count: Value) -> Value:
    if interval(count)[0] < 0:
        require(ge(count, _number(count, 0)), raised(operator.lshift, 1, -1))
    emit: Any = emitter(ufunc)
    result: Value = emit(x, count)
    low, high = interval(count)
    if ufunc is np.left_shift and not (
        0 <= low and high < 64 and fits(products(interval(x), (1, 1 << high)))
    ):
        require(_is_moderate(mul(_as_float(x), _power_of_two(count))), _too_large())
    return result


def _power_of_two(count: Value) -> Value:
    return pow_(_number_of(2.0), minimum(_as_float(count), _number_of(1000.0)))


def _is_moderate(size: Value) -> Value:
    return lt(abs_(size), _number_of(_LIMIT))


def _too_large() -> Exception:
    return ArgumentError(
        "an int of this program has more than 64 bits; Python's ints have no limit, those of a "
        "program do: use floats, or make the int static (static_argnames=...)"
    )


_REACHES: Final[Mapping[np.ufunc, Callable[..., Interval]]] = {
    np.add: sums,
    np.subtract: differences,
    np.multiply: products,
}
_OF_INTS: Final[Mapping[np.ufunc, Callable[..., Value]]] = {
    **{ufunc: partial(_within_64_bits, ufunc) for ufunc in _REACHES},
    **{ufunc: partial(_shift, ufunc) for ufunc in (np.left_shift, np.right_shift)},
}
"""What Python computes without a limit, as far as 64 bits go."""


# --- powers ---------------------------------------------------------------------------------------


def _power(kinds: tuple[type, ...], values: list[Value], common: type) -> Tracer:
    if common is int:
        x, y = values
        low, high = interval(y)
        if high >= 0:
            return wrap(_power_of_ints(x, y, low, high), weak=True)
        values = [cast(value, dtypes.f64) for value in values]
        common = float
    emit: Any = emitter(np.power)
    result: Value = emit(*values)
    if common is float:
        _require_real(values[0], values[1], result)
    else:
        _require_complex(values[0], values[1])
    return wrap(result, weak=True)


def _power_of_ints(x: Value, y: Value, low: int, high: int) -> Value:
    """An int to an int that is not negative: which type the other ones have, a float, has to be
    known while tracing.
    """
    if low < 0:
        if isinstance(y, Result) and y.op.definition is neg:
            operator.index(wrap(y))  # type: ignore[arg-type]
        require(ge(y, _number(y, 0)), _NEGATIVE_POWER)
    emit: Any = emitter(np.power)
    result: Value = emit(x, y)
    base = max(map(abs, interval(x)))
    if base > 1 and not (0 <= high < 64 and base**high < 1 << 63):
        require(_is_moderate(pow_(abs_(_as_float(x)), _as_float(y))), _too_large())
    return result


_NEGATIVE_POWER: Final = ArgumentError(
    "an int to a negative power is a float in Python, and to others an int: write the base as a "
    "float, or make the exponent static (static_argnames=...)"
)
_COMPLEX_POWER: Final = ArgumentError(
    "a negative float to a power that is no whole number is complex in Python, and others are "
    "floats: write complex(x) ** y, or abs(x) ** y"
)


def _require_real(x: Value, y: Value, result: Value) -> None:
    zero = _number_of(0.0)
    exponent = y.array.item() if isinstance(y, Constant) else None
    if exponent is None or exponent < 0:
        require(or_(ne(x, zero), ge(y, zero)), raised(operator.pow, 0.0, -1.0))
    is_whole = exponent is not None and (exponent % 1 == 0 or exponent in (np.inf, -np.inf))
    is_positive = isinstance(x, Constant) and x.array > 0
    if not is_whole and not is_positive:
        require(or_(not_(lt(x, zero)), eq(floor(y), y)), _COMPLEX_POWER)
    if exponent is None or not -1 <= exponent <= 1:
        require(
            or_(is_finite(result), not_(and_(is_finite(x), is_finite(y)))),
            raised(operator.pow, 10.0, 1000.0),
        )


def _require_complex(x: Value, y: Value) -> None:
    zero = _number_of(0.0)
    require(
        or_(ne(x, _number(x, 0)), and_(eq(imag(y), zero), le(zero, real(y)))),
        raised(operator.pow, 0j, -1),
    )


def _number(like: Value, number: Any) -> Value:
    return constant(number, like.type.dtype)


def _number_of(number: float) -> Value:
    return constant(number, dtypes.f64)


def _as_float(value: Value) -> Value:
    return cast(value, dtypes.f64)
