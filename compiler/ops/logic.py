"""Elementwise questions and bits: comparisons, tests, logic, shifts, selection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from weft.compiler.ir.errors import DTypeError
from weft.compiler.ir.graph import Op
from weft.compiler.ir.opdef import OpDef, Trait
from weft.compiler.ir.rules import Maybe
from weft.compiler.ir.types import ArrayType
from weft.compiler.ops import helpers
from weft.compiler.ops.common import (
    ANY,
    BITS,
    INEXACT,
    INTEGER,
    ORDERED,
    elementwise_shape,
    same_dtype,
)
from weft.compiler.ops.elementwise import binary, comparison, predicate, unary
from weft.compiler.ops.precision import Array

is_nan = predicate(
    "is_nan",
    "Whether x is NaN; for complex x, whether either part is.",
    kinds=INEXACT,
    reference=np.isnan,
)

is_finite = predicate(
    "is_finite",
    "Whether x is neither infinite nor NaN; for complex x, whether both parts are so.",
    kinds=INEXACT,
    reference=np.isfinite,
)

eq = comparison(
    "eq",
    "x == y; NaN equals nothing.",
    kinds=ANY,
    reference=np.equal,
    traits=Trait.COMMUTATIVE,
)

ne = comparison(
    "ne",
    "x != y; NaN differs from everything.",
    kinds=ANY,
    reference=np.not_equal,
    traits=Trait.COMMUTATIVE,
)

lt: OpDef = comparison(
    "lt",
    "x < y; false beside NaN.",
    kinds=ORDERED,
    reference=np.less,
)

le = comparison(
    "le",
    "x <= y; false beside NaN.",
    kinds=ORDERED,
    reference=np.less_equal,
)

gt: OpDef = comparison(
    "gt",
    "x > y; false beside NaN.",
    kinds=ORDERED,
    reference=np.greater,
)

ge = comparison(
    "ge",
    "x >= y; false beside NaN.",
    kinds=ORDERED,
    reference=np.greater_equal,
)

and_ = binary(
    "and",
    "x and y of bools, or bit by bit of integers.",
    kinds=BITS,
    reference=np.bitwise_and,
    traits=Trait.COMMUTATIVE,
)

or_ = binary(
    "or",
    "x or y of bools, or bit by bit of integers.",
    kinds=BITS,
    reference=np.bitwise_or,
    traits=Trait.COMMUTATIVE,
)

xor = binary(
    "xor",
    "Exactly one of x and y of bools, or bit by bit of integers.",
    kinds=BITS,
    reference=np.bitwise_xor,
    traits=Trait.COMMUTATIVE,
)

not_ = unary(
    "not",
    "Not x of bools, or all bits of integers inverted.",
    kinds=BITS,
    reference=np.invert,
)

shift_left = binary(
    "shift_left",
    "x << count; a count that is negative or not below the width gives 0.",
    kinds=INTEGER,
    reference=np.left_shift,
    operands=("x", "count"),
)

shift_right = binary(
    "shift_right",
    "x >> count, keeping the sign; a count outside of the width gives -1 for negative x, else 0.",
    kinds=INTEGER,
    reference=np.right_shift,
    operands=("x", "count"),
)


def _population_count(x: Array) -> Array:
    # np.bitwise_count takes |x|, but the bits of a negative number are those of its complement.
    bits: Array = x.view(f"u{x.dtype.itemsize}")
    return np.bitwise_count(bits).astype(x.dtype)


population_count = unary(
    "population_count",
    "The number of bits of x that are set, in the dtype of x.",
    kinds=INTEGER,
    reference=_population_count,
)


def _infer_select(pred: ArrayType, on_true: ArrayType, on_false: ArrayType) -> ArrayType:
    if not pred.dtype.is_bool:
        raise DTypeError(f"pred has dtype {pred.dtype}, expected bool; compare it with 0 first")
    shape = elementwise_shape((pred, on_true, on_false))
    return ArrayType(same_dtype((on_true, on_false)), shape)


def _select_jvp(op: Op, tangents: Sequence[Maybe]) -> Maybe:
    """The tangent of the chosen side, so that nothing of the other one gets in."""
    (pred, _, _), (_, of_true, of_false), (result,) = op.operands, tangents, op.results
    zero = helpers.number(0, result)
    tangent = select(pred, of_true or zero, of_false or zero)
    return helpers.stretch(tangent, result.type.shape)


def _select_transpose(op: Op, cotangents: Sequence[Maybe], linear: Sequence[bool]) -> list[Maybe]:
    cotangent, pred = helpers.only(cotangents), op.operands[0]
    zero = helpers.number(0, cotangent)
    return helpers.operand_cotangents(
        op,
        linear,
        lambda: cotangent,
        lambda: select(pred, cotangent, zero),
        lambda: select(pred, zero, cotangent),
    )


select = OpDef(
    "select",
    "The element of on_true where pred holds, else that of on_false.",
    infer=_infer_select,
    reference=np.where,
    operands=("pred", "on_true", "on_false"),
    traits=Trait.ELEMENTWISE,
    jvp=_select_jvp,
    transpose=_select_transpose,
)

OPS: Final = (
    is_nan,
    is_finite,
    eq,
    ne,
    lt,
    le,
    gt,
    ge,
    and_,
    or_,
    xor,
    not_,
    shift_left,
    shift_right,
    population_count,
    select,
)
