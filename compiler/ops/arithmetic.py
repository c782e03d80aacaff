"""Elementwise arithmetic: sums, products, division and its remainders, rounding, extremes.

Integers wrap on overflow and divide by zero to 0, as in NumPy; nothing here raises for a value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from weft.compiler.ir.build import constant
from weft.compiler.ir.graph import Constant, Op, Value
from weft.compiler.ir.opdef import OpDef, Trait
from weft.compiler.ir.rules import JvpRule, Maybe
from weft.compiler.ir.types import ArrayType
from weft.compiler.ops import helpers
from weft.compiler.ops.common import (
    FLOAT,
    INEXACT,
    NUMBER,
    ORDERED,
    REAL,
    elementwise_shape,
    require_kind,
    same_dtype,
)
from weft.compiler.ops.elementwise import binary, flat, one, unary
from weft.compiler.ops.precision import Array, in_double, widen
from weft.compiler.ops.primitives import ops

neg: OpDef = unary(
    "neg",
    "-x; wraps for unsigned integers and for the least signed one.",
    kinds=NUMBER,
    reference=np.negative,
    transpose=lambda op, cotangents, linear: [neg(helpers.only(cotangents))],
)


def _abs_jvp(op: Op, tangents: Sequence[Maybe]) -> Maybe:
    """sign(x) dx, the real part of conj(sign(z)) dz: flat at 0, where sign is 0."""
    (tangent,), (x,) = tangents, op.operands
    assert tangent is not None
    if not x.type.dtype.is_complex:
        return mul(tangent, sign(x))
    return ops.real(mul(tangent, ops.conj(sign(x))))


abs_ = unary(
    "abs",
    "|x|, real also for complex x; the least signed integer stays as it is.",
    kinds=NUMBER,
    reference=in_double(np.abs),
    result=lambda dtype: dtype.real,
    jvp=_abs_jvp,
)


def _sign(x: Array) -> Array:
    # ml_dtypes' bfloat16 kernel keeps the sign of -0.0 where NumPy's do not; in double all agree.
    return np.sign(widen(x))


def _sign_jvp(op: Op, tangents: Sequence[Maybe]) -> Maybe:
    """Zero for floats; z / |z| turns with the part of dz across z, and stays where z is 0."""
    (tangent,), (z,), (direction,) = tangents, op.operands, op.results
    assert tangent is not None
    if not z.type.dtype.is_complex:
        return None
    across = ops.imag(mul(tangent, ops.conj(direction)))
    turned = div(across, helpers.unless_zero(abs_(z)))
    return mul(ops.complex_(helpers.number(0, turned), turned), direction)


sign: OpDef = unary(
    "sign",
    "-1, 0 or 1 by the sign of x (0 for -0.0 too), NaN for NaN; x / |x| for complex x.",
    kinds=NUMBER,
    reference=_sign,
    jvp=_sign_jvp,
)


def _sum_jvp(right: Callable[[Value], Value]) -> JvpRule:
    """The jvp of x + y and x - y: a missing tangent adds nothing."""

    def jvp(op: Op, tangents: Sequence[Maybe]) -> Maybe:
        left, other = tangents
        if left is not None and other is not None:
            tangent = op.definition(left, other)
        elif left is not None:
            tangent = left
        else:
            assert other is not None
            tangent = right(other)
        return helpers.stretch(tangent, op.results[0].type.shape)

    return jvp


def _add_transpose(op: Op, cotangents: Sequence[Maybe], linear: Sequence[bool]) -> list[Maybe]:
    cotangent = helpers.only(cotangents)
    return helpers.operand_cotangents(op, linear, lambda: cotangent, lambda: cotangent)


def _sub_transpose(op: Op, cotangents: Sequence[Maybe], linear: Sequence[bool]) -> list[Maybe]:
    cotangent = helpers.only(cotangents)
    narrow = op.operands[1].type.shape
    return helpers.operand_cotangents(
        op, linear, lambda: cotangent, lambda: neg(helpers.unstretch(cotangent, narrow))
    )


def _mul_jvp(op: Op, tangents: Sequence[Maybe]) -> Maybe:
    """The product rule, which for a square is one product: 2x dx."""
    (x, y), (dx, dy) = op.operands, tangents
    if x is y and dx is not None:
        return mul(dx, helpers.scale(x, 2))
    target = op.results[0].type.shape
    left = None if dx is None else helpers.stretch(mul(dx, y), target)
    right = None if dy is None else helpers.stretch(mul(x, dy), target)
    return helpers.accumulate(left, right)


def _mul_transpose(op: Op, cotangents: Sequence[Maybe], linear: Sequence[bool]) -> list[Maybe]:
    cotangent, (x, y) = helpers.only(cotangents), op.operands

    def times(factor: Value) -> Value:
        product = mul(cotangent, factor)
        return product if isinstance(factor, Constant) else helpers.masked_as(cotangent, product)

    return helpers.operand_cotangents(op, linear, lambda: times(y), lambda: times(x))


def _div_jvp(op: Op, tangents: Sequence[Maybe]) -> Maybe:
    """(dx - z dy) / y."""
    (dx, dy), (_, y), (z,) = tangents, op.operands, op.results
    if dy is None:
        assert dx is not None
        return helpers.stretch(div(dx, y), z.type.shape)
    drop = mul(z, dy)
    return div(neg(drop) if dx is None else sub(dx, drop), y)


def _div_transpose(op: Op, cotangents: Sequence[Maybe], linear: Sequence[bool]) -> list[Maybe]:
    x, y = op.operands
    cotangent = helpers.only(cotangents)
    quotient = div(cotangent, y)
    if not isinstance(y, Constant):
        quotient = helpers.masked_as(cotangent, quotient)
    return [helpers.unstretch(quotient, x.type.shape), None]


add: OpDef = binary(
    "add",
    "x + y.",
    kinds=NUMBER,
    reference=np.add,
    traits=Trait.COMMUTATIVE,
    jvp=_sum_jvp(lambda tangent: tangent),
    transpose=_add_transpose,
)

sub: OpDef = binary(
    "sub",
    "x - y.",
    kinds=NUMBER,
    reference=np.subtract,
    jvp=_sum_jvp(neg),
    transpose=_sub_transpose,
)

mul: OpDef = binary(
    "mul",
    "x * y.",
    kinds=NUMBER,
    reference=np.multiply,
    traits=Trait.COMMUTATIVE,
    multilinear=(0, 1),
    jvp=_mul_jvp,
    transpose=_mul_transpose,
)

div: OpDef = binary(
    "div",
    "x / y of floats or complex numbers.",
    kinds=INEXACT,
    reference=np.divide,
    jvp=_div_jvp,
    transpose=_div_transpose,
    cost=4,
)


def _pow(x: Array, y: Array) -> Array:
    if x.dtype.kind != "i":
        return in_double(np.power)(x, y)  # type: ignore[no-any-return]
    of_unit = np.where(x == -1, np.where(y % 2 == 0, 1, -1), np.where(x == 1, 1, 0))
    # NumPy refuses a negative integer exponent even where its result is not used.
    return np.where(y < 0, of_unit.astype(x.dtype), np.power(x, np.maximum(y, 0)))


def _pow_by_base(x: Value, y: Value, z: Value) -> Value:
    """y * x ** (y - 1), and 0 for 0 ** 0, where the power alone would be infinite."""
    if isinstance(y, Constant):
        return _pow_by_base_constant(x, y)
    zero = helpers.number(0, x)
    both_zero = ops.and_(ops.eq(x, zero), ops.eq(y, zero))
    exponent = ops.select(both_zero, zero, sub(y, helpers.number(1, y)))
    return mul(y, pow_(x, exponent))


def _pow_by_base_constant(x: Value, y: Constant) -> Value:
    exponent = np.where(y.array == 0, y.array, y.array - 1)
    if np.all(exponent == 0):
        return y
    power = x if np.all(exponent == 1) else pow_(x, constant(exponent, y.type.dtype))
    return mul(y, power)


def _pow_by_exponent(x: Value, y: Value, z: Value) -> Value:
    """z * log(x), and z * 0 for x = 0: 0 ** y is 0 on the side of y where it is finite."""
    if not isinstance(x, Constant):
        return mul(z, ops.log(helpers.unless_zero(x)))
    base = widen(x.array)
    with np.errstate(all="ignore"):
        logarithm = np.log(np.where(base == 0, 1, base))
    return mul(z, constant(logarithm, x.type.dtype))


pow_ = binary(
    "pow",
    "x ** y; integers wrap, and a negative integer exponent gives 0 unless x is 1 or -1.",
    kinds=NUMBER,
    reference=_pow,
    derivatives=(_pow_by_base, _pow_by_exponent),
    cost=40,
)

floor_divide = binary(
    "floor_divide",
    "The quotient rounded down; integers give 0 for y = 0 and wrap for the least one over -1.",
    kinds=REAL,
    reference=np.floor_divide,
    jvp=flat,
    cost=4,
)


def _less_quotient(x: Value, y: Value, z: Value) -> Value:
    """-n of z = x - n * y, from z: a quotient of its own could round to the next n."""
    return round_(div(sub(z, x), y))


remainder = binary(
    "remainder",
    "What floor_divide leaves, with the sign of y; integers give 0 for y = 0, floats NaN.",
    kinds=REAL,
    reference=np.remainder,
    derivatives=(one, _less_quotient),
    cost=4,
)

fmod = binary(
    "fmod",
    "What division rounded towards zero leaves, with the sign of x; integers give 0 for y = 0.",
    kinds=REAL,
    reference=np.fmod,
    derivatives=(one, _less_quotient),
    cost=20,
)


def _extreme_jvp(beats: Callable[[Value, Value], Value]) -> JvpRule:
    """The tangent of the operand that wins; on a tie half of each, or nothing against a constant.

    So maximum(x, 0) is the usual relu, flat at its kink. A select, not a factor 0, keeps an
    infinite slope behind the operand that loses out of it: sqrt(maximum(x, 0)) is flat below 0, not
    NaN.
    """

    def term(tangent: Value, own: Value, other: Value) -> Value:
        nothing = helpers.number(0, own)
        if isinstance(other, Constant):
            return ops.select(beats(own, other), tangent, nothing)
        half = mul(tangent, helpers.number(0.5, own))
        shared = ops.select(ops.eq(own, other), half, tangent)
        return ops.select(beats(other, own), nothing, shared)

    def jvp(op: Op, tangents: Sequence[Maybe]) -> Maybe:
        (x, y), (dx, dy) = op.operands, tangents
        left = None if dx is None else term(dx, x, y)
        right = None if dy is None else term(dy, y, x)
        return helpers.accumulate(left, right)

    return jvp


maximum = binary(
    "maximum",
    "The larger of x and y, NaN if either is; of -0.0 and 0.0 either one.",
    kinds=ORDERED,
    reference=np.maximum,
    traits=Trait.COMMUTATIVE,
    jvp=_extreme_jvp(lambda x, y: ops.gt(x, y)),
)

minimum = binary(
    "minimum",
    "The smaller of x and y, NaN if either is; of -0.0 and 0.0 either one.",
    kinds=ORDERED,
    reference=np.minimum,
    traits=Trait.COMMUTATIVE,
    jvp=_extreme_jvp(lambda x, y: ops.lt(x, y)),
)


def _infer_clamp(low: ArrayType, x: ArrayType, high: ArrayType) -> ArrayType:
    operands = (low, x, high)
    for operand, name in zip(operands, ("low", "x", "high"), strict=True):
        require_kind(operand, REAL, name)
    return ArrayType(same_dtype(operands), elementwise_shape(operands))


def _clamp_jvp(op: Op, tangents: Sequence[Maybe]) -> Maybe:
    """The tangent of x strictly between the bounds, else that of the bound that holds it."""
    low, x, high = op.operands
    holds: tuple[Callable[[], Value], ...] = (
        lambda: ops.and_(ops.le(x, low), ops.lt(low, high)),
        lambda: ops.and_(ops.gt(x, low), ops.lt(x, high)),
        lambda: ops.or_(ops.ge(x, high), ops.ge(low, high)),
    )
    total: Maybe = None
    for tangent, condition in zip(tangents, holds, strict=True):
        if tangent is not None:
            term = ops.select(condition(), tangent, helpers.number(0, x))
            total = helpers.accumulate(total, helpers.stretch(term, op.results[0].type.shape))
    return total


clamp = OpDef(
    "clamp",
    "minimum(maximum(x, low), high): so high where low is above it, and NaN for NaN.",
    infer=_infer_clamp,
    reference=lambda low, x, high: np.minimum(np.maximum(x, low), high),
    operands=("low", "x", "high"),
    traits=Trait.ELEMENTWISE,
    jvp=_clamp_jvp,
)


def _hypot_jvp(op: Op, tangents: Sequence[Maybe]) -> Maybe:
    """(x dx + y dy) / z, flat at the origin as |x| is at 0; quotients first, as they are small."""
    (z,) = op.results
    radius = helpers.unless_zero(z)
    total: Maybe = None
    for tangent, x in zip(tangents, op.operands, strict=True):
        if tangent is not None:
            total = helpers.accumulate(total, mul(tangent, div(x, radius)))
    return total


hypot = binary(
    "hypot",
    "sqrt(x*x + y*y) without overflow on the way; infinite if either operand is, even beside NaN.",
    kinds=FLOAT,
    reference=in_double(np.hypot),
    traits=Trait.COMMUTATIVE,
    jvp=_hypot_jvp,
    cost=10,
)

copysign: OpDef = binary(
    "copysign",
    "The magnitude of x with the sign bit of y.",
    kinds=FLOAT,
    reference=np.copysign,
    derivatives=(lambda x, y, z: mul(sign(x), copysign(helpers.number(1, y), y)), None),
)

nextafter = binary(
    "nextafter",
    "The float of this dtype that follows x in the direction of y.",
    kinds=FLOAT,
    reference=np.nextafter,
    derivatives=(one, None),
)

floor = unary(
    "floor",
    "The largest whole number that is not above x.",
    kinds=FLOAT,
    reference=np.floor,
    jvp=flat,
)

ceil = unary(
    "ceil",
    "The smallest whole number that is not below x.",
    kinds=FLOAT,
    reference=np.ceil,
    jvp=flat,
)

trunc = unary(
    "trunc",
    "The whole part of x, rounded towards zero.",
    kinds=FLOAT,
    reference=np.trunc,
    jvp=flat,
)

round_ = unary(
    "round",
    "The whole number nearest to x, the even one of two equally near.",
    kinds=FLOAT,
    reference=np.rint,
    jvp=flat,
)

OPS: Final = (
    neg,
    abs_,
    sign,
    add,
    sub,
    mul,
    div,
    pow_,
    floor_divide,
    remainder,
    fmod,
    maximum,
    minimum,
    clamp,
    hypot,
    copysign,
    nextafter,
    floor,
    ceil,
    trunc,
    round_,
)
