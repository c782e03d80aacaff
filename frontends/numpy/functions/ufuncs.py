"""NumPy's universal functions: one table from a ufunc to the ops that compute it.

NumPy itself says which dtypes a ufunc computes in and returns (`resolve_dtypes`), so an entry only
says how the function is computed once its operands have one dtype and one shape.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from weft.compiler.ir import dtypes
from weft.compiler.ir.build import constant
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.errors import DTypeError
from weft.compiler.ir.graph import Constant, Value
from weft.compiler.ops.arithmetic import (
    abs_,
    add,
    ceil,
    copysign,
    div,
    floor,
    floor_divide,
    fmod,
    hypot,
    maximum,
    minimum,
    mul,
    neg,
    nextafter,
    pow_,
    remainder,
    round_,
    sign,
    sub,
    trunc,
)
from weft.compiler.ops.conversion import bitcast, complex_, imag, real
from weft.compiler.ops.logic import (
    and_,
    eq,
    ge,
    gt,
    is_finite,
    is_nan,
    le,
    lt,
    ne,
    not_,
    or_,
    population_count,
    select,
    shift_left,
    shift_right,
    xor,
)
from weft.compiler.ops.special import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    cbrt,
    cos,
    cosh,
    exp,
    exp2,
    expm1,
    log,
    log1p,
    log2,
    log10,
    sin,
    sinh,
    softplus,
    sqrt,
    tan,
    tanh,
)
from weft.frontends.numpy.functions.comparisons import comparison, exact_keys, extreme, foregone
from weft.frontends.numpy.functions.magnitude import conjugate
from weft.frontends.numpy.functions.number_ufuncs import frexp, gcd, lcm, ldexp, spacing
from weft.frontends.numpy.functions.special_ufuncs import SPECIAL
from weft.frontends.tracing.core import (
    broadcast_together,
    cast,
    lift,
    promotion_key,
    trace_error,
    wrap,
)
from weft.frontends.tracing.trace import ArrayLike

Emit = Callable[..., "Value | tuple[Value, ...]"]


def _on_bool(for_bool: Emit, otherwise: Emit) -> Emit:
    """NumPy computes some arithmetic on bools as logic."""

    def emit(*operands: Value) -> Value | tuple[Value, ...]:
        return (for_bool if operands[0].type.dtype.is_bool else otherwise)(*operands)

    return emit


def _on_integer(for_integer: Emit, otherwise: Emit) -> Emit:
    def emit(*operands: Value) -> Value | tuple[Value, ...]:
        exact = not operands[0].type.dtype.is_inexact
        return (for_integer if exact else otherwise)(*operands)

    return emit


def _same(x: Value) -> Value:
    return x


def _number(like: Value, number: Any) -> Value:
    return constant(number, like.type.dtype)


def _truth(x: Value) -> Value:
    return x if x.type.dtype.is_bool else ne(x, _number(x, 0))


def _logical(combine: Callable[..., Value]) -> Emit:
    return lambda x, y: combine(_truth(x), _truth(y))


def _is_infinite(x: Value) -> Value:
    if x.type.dtype.is_complex:
        return and_(not_(is_finite(x)), not_(is_nan(x)))
    return eq(abs_(x), _number(x, math.inf))


def _never(x: Value) -> Value:
    return ne(x, x)


def _always(x: Value) -> Value:
    return eq(x, x)


def _logaddexp(base: float) -> Emit:
    """log(base^x + base^y) in that base, without overflow; equal infinities are kept.

    The larger operand plus a softplus of a number that is never positive: exact in all its digits,
    and smooth to every order where the operands meet.
    """
    scale = math.log(base)

    def emit(x: Value, y: Value) -> Value:
        first, zero = ge(x, y), _number(x, 0)
        larger, smaller = select(first, x, y), select(first, y, x)
        tied = and_(eq(x, y), _is_infinite(x))
        distance = sub(select(tied, zero, smaller), select(tied, zero, larger))
        if scale == 1:
            return add(larger, softplus(distance))
        grown = softplus(mul(distance, _number(x, scale)))
        return add(larger, mul(grown, _number(x, 1 / scale)))

    return emit


def _heaviside(x: Value, at_zero: Value) -> Value:
    one, zero = _number(x, 1), _number(x, 0)
    steps = select(lt(x, zero), zero, select(gt(x, zero), one, at_zero))
    return select(is_nan(x), x, steps)


def _sign_bit(x: Value) -> Value:
    if x.type.dtype.is_float:
        bits = bitcast(x, dtype=dtypes.BY_NAME[f"i{x.type.dtype.bits}"])
        return lt(bits, _number(bits, 0))
    return lt(x, _number(x, 0))


def _divmod(x: Value, y: Value) -> tuple[Value, ...]:
    return floor_divide(x, y), remainder(x, y)


def _modf(x: Value) -> tuple[Value, ...]:
    whole = trunc(x)
    infinite = eq(abs_(x), _number(x, math.inf))
    fraction = select(infinite, _number(x, 0), sub(x, whole))
    return copysign(fraction, x), whole


def _magnitude(x: Value) -> Value:
    return abs_(x) if x.type.dtype.is_integer and x.type.dtype.is_signed else x


def _square(x: Value) -> Value:
    return mul(x, x)


def _reciprocal(x: Value) -> Value:
    """1 / x; of integers rounded towards 0, so that only 1 and -1 have one."""
    if x.type.dtype.is_inexact:
        return div(_number(x, 1), x)
    return select(eq(_magnitude(x), _number(x, 1)), x, _number(x, 0))


def _round(x: Value) -> Value:
    if x.type.dtype.is_complex:
        return complex_(round_(real(x)), round_(imag(x)))
    return round_(x)


def _power(x: Value, y: Value) -> Value:
    """A power; of a known exponent the cheaper op that NumPy takes too."""
    if isinstance(y, Constant) and y.type.dtype.is_integer and (y.array < 0).any():
        raise DTypeError(
            "an integer to a negative power is no integer; make the base or the exponent a float"
        )
    known = y.array.item() if isinstance(y, Constant) and not y.type.shape else None
    if known == 2:
        return mul(x, x)
    if known == 1:
        return x
    if x.type.dtype.is_inexact and known in (0.5, -1):
        return sqrt(x) if known == 0.5 else _reciprocal(x)
    return pow_(x, y)


def _degrees(x: Value) -> Value:
    return mul(x, _number(x, 180 / math.pi))


def _radians(x: Value) -> Value:
    return mul(x, _number(x, math.pi / 180))


UFUNCS: Final[Mapping[np.ufunc, Emit]] = MappingProxyType(
    {
        np.add: _on_bool(or_, add),
        np.subtract: sub,
        np.multiply: _on_bool(and_, mul),
        np.true_divide: div,
        np.floor_divide: floor_divide,
        np.remainder: remainder,
        np.fmod: fmod,
        np.divmod: _divmod,
        np.modf: _modf,
        np.power: _power,
        np.float_power: pow_,
        np.negative: neg,
        np.positive: _same,
        np.absolute: _on_bool(_same, abs_),
        np.fabs: abs_,
        np.sign: sign,
        np.conjugate: conjugate,
        np.square: _on_bool(_same, _square),
        np.reciprocal: _reciprocal,
        np.sqrt: sqrt,
        np.cbrt: cbrt,
        np.exp: exp,
        np.exp2: exp2,
        np.expm1: expm1,
        np.log: log,
        np.log2: log2,
        np.log10: log10,
        np.log1p: log1p,
        np.logaddexp: _logaddexp(math.e),
        np.logaddexp2: _logaddexp(2),
        np.sin: sin,
        np.cos: cos,
        np.tan: tan,
        np.arcsin: asin,
        np.arccos: acos,
        np.arctan: atan,
        np.arctan2: atan2,
        np.sinh: sinh,
        np.cosh: cosh,
        np.tanh: tanh,
        np.arcsinh: asinh,
        np.arccosh: acosh,
        np.arctanh: atanh,
        np.hypot: hypot,
        np.degrees: _degrees,
        np.rad2deg: _degrees,
        np.radians: _radians,
        np.deg2rad: _radians,
        np.maximum: extreme(maximum),
        np.minimum: extreme(minimum),
        np.fmax: extreme(maximum, ignores_nan=True),
        np.fmin: extreme(minimum, ignores_nan=True),
        np.floor: _on_integer(_same, floor),
        np.ceil: _on_integer(_same, ceil),
        np.trunc: _on_integer(_same, trunc),
        np.rint: _round,
        np.copysign: copysign,
        np.nextafter: nextafter,
        np.signbit: _sign_bit,
        np.heaviside: _heaviside,
        np.equal: comparison(eq),
        np.not_equal: comparison(ne),
        np.less: comparison(lt),
        np.less_equal: comparison(le),
        np.greater: comparison(gt),
        np.greater_equal: comparison(ge),
        np.isnan: _on_integer(_never, is_nan),
        np.isfinite: _on_integer(_always, is_finite),
        np.isinf: _on_integer(_never, _is_infinite),
        np.logical_and: _logical(and_),
        np.logical_or: _logical(or_),
        np.logical_xor: _logical(xor),
        np.logical_not: lambda x: not_(_truth(x)),
        np.bitwise_and: and_,
        np.bitwise_or: or_,
        np.bitwise_xor: xor,
        np.invert: not_,
        np.left_shift: shift_left,
        np.right_shift: shift_right,
        np.frexp: frexp,
        np.ldexp: ldexp,
        np.spacing: spacing,
        np.gcd: gcd,
        np.lcm: lcm,
        np.bitwise_count: lambda x: population_count(_magnitude(x)),
    }
)


def _dtype_of_scalar(key: Any, wanted: Any) -> Any:
    """The dtype that a Python number stands for: that of the result if it can hold its kind."""
    own = dtypes.dtype(key).numpy
    if wanted is not None and np.can_cast(own, wanted, "same_kind"):
        return wanted
    return wanted if wanted is not None and own.kind == "i" and wanted.kind == "u" else own


@lru_cache(maxsize=4096)
def _loop(
    ufunc: np.ufunc, keys: tuple[Any, ...], result: DType | None, casting: Any
) -> tuple[tuple[DType, ...], tuple[DType, ...]]:
    """The dtypes that NumPy's loop takes and gives for operands of these dtypes or Python scalar
    types, and a given dtype of the result.
    """
    has_bf16 = dtypes.bf16.numpy in keys or result is dtypes.bf16
    has_f16 = dtypes.f16.numpy in keys or result is dtypes.f16
    with_control_flow = tuple([_stand_in(key) for key in keys])
    wanted = None if result is None else _stand_in(result.numpy)
    if all(isinstance(key, type) for key in with_control_flow):
        # As in NumPy, the number of an operator with one operand does not follow the result.
        held = wanted if ufunc.nin > 1 else None
        with_control_flow = tuple([_dtype_of_scalar(key, held) for key in with_control_flow])
    signature = (*[None] * ufunc.nin, *[wanted] * ufunc.nout)
    try:
        resolved = ufunc.resolve_dtypes(
            (*with_control_flow, *[None] * ufunc.nout), signature=signature, casting=casting
        )
    except TypeError:
        names = ", ".join(getattr(key, "name", getattr(key, "__name__", "?")) for key in keys)
        made = "" if result is None else f" to make {result}"
        raise DTypeError(f"numpy.{ufunc.__name__} does not accept {names}{made}") from None
    known = [dtypes.dtype(dtype) for dtype in resolved]
    if has_bf16:
        half = dtypes.f32 if has_f16 else dtypes.bf16
        known = [half if dtype is dtypes.f16 else dtype for dtype in known]
    return tuple(known[: ufunc.nin]), tuple(known[ufunc.nin :])


def _stand_in(key: Any) -> Any:
    """What to ask NumPy about: half precision for bfloat16, which it does not know."""
    return dtypes.f16.numpy if key == dtypes.bf16.numpy else key


def emitter(ufunc: np.ufunc) -> Emit | None:
    """How a ufunc of NumPy or SciPy is computed, or None."""
    return UFUNCS.get(ufunc) or SPECIAL.get(ufunc.__name__)


def apply_ufunc(
    ufunc: np.ufunc, *operands: ArrayLike, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    """What `ufunc(*operands)` computes, as a tracer or a tuple of tracers; `dtype` is the one of
    the result.
    """
    emit = emitter(ufunc)
    if emit is None:
        raise trace_error(f"{ufunc.__name__} is not supported on traced arrays")
    keys = exact_keys(ufunc, operands, tuple([promotion_key(operand) for operand in operands]))
    wanted = None if dtype is None else dtypes.dtype(dtype)
    inputs, outputs = _loop(ufunc, keys, wanted, casting)
    answer = foregone(ufunc, operands, inputs)
    if answer is not None:
        return wrap(answer)
    values = [lift(operand, loop) for operand, loop in zip(operands, inputs, strict=True)]
    computed = emit(*broadcast_together(values))
    if isinstance(computed, tuple):
        return tuple([wrap(cast(v, d)) for v, d in zip(computed, outputs, strict=True)])
    return wrap(cast(computed, outputs[0]))
