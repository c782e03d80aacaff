"""How NumPy compares numbers that no primitive does: complex ones, by their real parts first, and
signed with unsigned 64-bit integers, for which there is no common dtype.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from weft.compiler.ir import dtypes
from weft.compiler.ir.build import constant
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.graph import Value
from weft.compiler.ops.arithmetic import maximum, minimum
from weft.compiler.ops.conversion import imag, real
from weft.compiler.ops.logic import and_, eq, ge, gt, is_nan, le, lt, ne, not_, or_, select
from weft.frontends.tracing.core import cast, full, lift
from weft.frontends.tracing.trace import ArrayLike, Tracer

Compare = Callable[[Value, Value], Value]

_TURNED: Final = {eq: eq, ne: ne, lt: gt, gt: lt, le: ge, ge: le}
"""The comparison that holds for (y, x) where the other holds for (x, y)."""

_STRICT: Final = {lt: lt, le: lt, gt: gt, ge: gt}


def comparison(op: Any) -> Compare:
    """A comparison of any two operands that NumPy compares."""

    def compare(x: Value, y: Value) -> Value:
        if x.type.dtype is not y.type.dtype:
            is_turned = not x.type.dtype.is_signed
            return _mixed(_TURNED[op], y, x) if is_turned else _mixed(op, x, y)
        if x.type.dtype.is_complex and op in _STRICT:
            return _complex(op, x, y)
        result: Value = op(x, y)
        return result

    return compare


def _mixed(op: Any, x: Value, y: Value) -> Value:
    """Signed x against unsigned y: a negative x is less than any y."""
    is_below = lt(x, constant(0, x.type.dtype))
    same_sign: Value = op(cast(x, y.type.dtype), y)
    return or_(is_below, same_sign) if op in (lt, le, ne) else and_(not_(is_below), same_sign)


def _complex(op: Any, x: Value, y: Value) -> Value:
    first, second = real(x), real(y)
    by_real = and_(_STRICT[op](first, second), not_(or_(is_nan(x), is_nan(y))))
    return or_(by_real, and_(eq(first, second), op(imag(x), imag(y))))


def extreme(op: Any, *, ignores_nan: bool = False) -> Compare:
    """The larger or smaller of two; NaN where one is, or the other one with `ignores_nan`."""
    wins = comparison({maximum: ge, minimum: le}[op])

    def choose(x: Value, y: Value) -> Value:
        if x.type.dtype.is_complex:
            return select(or_(is_nan(y if ignores_nan else x), wins(x, y)), x, y)
        if ignores_nan and x.type.dtype.is_float:
            return select(is_nan(x), y, select(is_nan(y), x, op(x, y)))
        result: Value = op(x, y)
        return result

    return choose


# --- Python integers, which the other dtype may not hold ------------------------------------------

_ANSWERS: Final[Mapping[np.ufunc, Callable[[int, int], bool]]] = MappingProxyType(
    {
        np.equal: operator.eq,
        np.not_equal: operator.ne,
        np.less: operator.lt,
        np.less_equal: operator.le,
        np.greater: operator.gt,
        np.greater_equal: operator.ge,
    }
)


def exact_keys(
    ufunc: np.ufunc, operands: Sequence[ArrayLike], keys: tuple[Any, ...]
) -> tuple[Any, ...]:
    """What to promote by, with which a traced Python int is compared with integers as it is."""
    others = [key for key in keys if not isinstance(key, type)]
    if ufunc not in _ANSWERS or not others or others[0].kind not in "iu":
        return keys
    wide = dtypes.i64.numpy
    is_traced = [isinstance(operand, Tracer) for operand in operands]
    return tuple([wide if k is int and t else k for k, t in zip(keys, is_traced, strict=True)])


def foregone(
    ufunc: np.ufunc, operands: Sequence[ArrayLike], inputs: Sequence[DType]
) -> Value | None:
    """The answer, the same for all elements, if a Python int is beyond what the other can be."""
    if ufunc not in _ANSWERS:
        return None
    for index, (operand, dtype) in enumerate(zip(operands, inputs, strict=True)):
        if isinstance(operand, int) and dtype.is_integer and not _fits(operand, dtype):
            answer = _ANSWERS[ufunc](*((operand, 0) if index == 0 else (0, operand)))
            return full(lift(operands[1 - index]).type.shape, answer, dtypes.bool_)
    return None


def _fits(number: int, dtype: DType) -> bool:
    limits = np.iinfo(dtype.numpy)
    return int(limits.min) <= number <= int(limits.max)
