"""Elementwise primitives on one element: the table that lowers each to LLVM instructions.

A rule takes the function under construction, the operands' elements (one value, or a pair of them
for complex numbers; scalars, or vectors of any number of lanes) and the op's attributes. The table
has a rule for real and one for complex elements of each primitive; what it has not is computed by
the ops of its scalar form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import numpy as np

from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.errors import LoweringError
from weft.compiler.ir.graph import Constant, Op, Value
from weft.compiler.ir.infer import describe
from weft.compiler.lower.llvm import math
from weft.compiler.lower.llvm.emit.arrays import Element
from weft.compiler.lower.llvm.emit.function import Function, V
from weft.compiler.lower.llvm.emit.types import of_dtype
from weft.compiler.lower.llvm.scalar import (
    arithmetic,
    cipher,
    complex_circular,
    complex_powers,
    conversion,
    division,
    logic,
)
from weft.compiler.lower.llvm.scalar import complex_arithmetic as parts
from weft.compiler.lower.llvm.scalar.halves import is_half, narrow, widen
from weft.compiler.lower.scalar_form import scalar_region
from weft.compiler.record import record

# Rules differ in the number and kind of their operands, which Callable cannot say.
Emit: TypeAlias = Callable[..., Any]


@record
class ScalarRule:
    """How a primitive is lowered; None where its type rule refuses the dtypes."""

    real: Emit | None
    complex: Emit | None = None
    takes_halves: bool = False  # else f16 and bf16 are computed in f32 and rounded at the end


def _function(name: str, complex: Emit | None = None) -> ScalarRule:
    """A function of the library of vector mathematics."""

    def emit(f: Function, *operands: V, **attributes: Any) -> V:
        return math.call(f, name, *operands, **attributes)

    return ScalarRule(emit, complex)


def _same(f: Function, x: Element, **attributes: Any) -> Element:
    return x


def _rounded_value(f: Function, x: V) -> V:
    """What LLVM contracts with nothing; a half is rounded as it is made."""
    return x if is_half(x.type) else f.intrinsic("arithmetic.fence", x)


def _pow(f: Function, x: V, y: V) -> V:
    return math.call(f, "pow", x, y) if x.type.is_float else arithmetic.power(f, x, y)


RULES: Final[Mapping[str, ScalarRule]] = MappingProxyType(
    {
        # arithmetic
        "neg": ScalarRule(arithmetic.neg, parts.neg, takes_halves=True),
        "abs": ScalarRule(arithmetic.absolute, parts.absolute, takes_halves=True),
        "sign": ScalarRule(arithmetic.sign, parts.sign),
        "add": ScalarRule(Function.add, parts.add),
        "sub": ScalarRule(Function.sub, parts.sub),
        "mul": ScalarRule(Function.mul, parts.mul),
        "div": ScalarRule(division.divide, parts.div),
        "pow": ScalarRule(_pow, complex_powers.power),
        "floor_divide": ScalarRule(division.floor_divide),
        "remainder": ScalarRule(division.remainder),
        "fmod": ScalarRule(division.fmod),
        "maximum": ScalarRule(arithmetic.maximum),
        "minimum": ScalarRule(arithmetic.minimum),
        "clamp": ScalarRule(arithmetic.clamp),
        "hypot": _function("hypot"),
        "copysign": ScalarRule(arithmetic.copysign, takes_halves=True),
        "nextafter": ScalarRule(arithmetic.nextafter, takes_halves=True),
        "floor": ScalarRule(Function.floor),
        "ceil": ScalarRule(arithmetic.ceil),
        "trunc": ScalarRule(Function.trunc),
        "round": ScalarRule(Function.round),
        # logic
        "is_nan": ScalarRule(logic.is_nan, parts.is_nan),
        "is_finite": ScalarRule(logic.is_finite, parts.is_all_finite),
        "eq": ScalarRule(logic.compare("eq"), parts.eq),
        "ne": ScalarRule(logic.compare("ne"), parts.ne),
        "lt": ScalarRule(logic.compare("lt")),
        "le": ScalarRule(logic.compare("le")),
        "gt": ScalarRule(logic.compare("gt")),
        "ge": ScalarRule(logic.compare("ge")),
        "and": ScalarRule(logic.bitwise("and")),
        "or": ScalarRule(logic.bitwise("or")),
        "xor": ScalarRule(logic.bitwise("xor")),
        "not": ScalarRule(logic.invert),
        "shift_left": ScalarRule(logic.shift_left),
        "shift_right": ScalarRule(logic.shift_right),
        "population_count": ScalarRule(logic.population_count),
        "select": ScalarRule(logic.select, logic.select, takes_halves=True),
        # conversion
        "cast": ScalarRule(conversion.cast, conversion.cast, takes_halves=True),
        "bitcast": ScalarRule(conversion.bitcast, takes_halves=True),
        "real": ScalarRule(None, parts.real),
        "imag": ScalarRule(None, parts.imag),
        "conj": ScalarRule(None, parts.conj),
        "complex": ScalarRule(parts.pair),
        "stop_gradient": ScalarRule(_same, _same, takes_halves=True),
        "probe": ScalarRule(_same, _same, takes_halves=True),
        "fence": ScalarRule(_same, _same, takes_halves=True),
        "rounded": ScalarRule(_rounded_value, takes_halves=True),
        # special
        "sqrt": _function("sqrt", complex_powers.sqrt),
        "rsqrt": _function("rsqrt", complex_powers.rsqrt),
        "cbrt": _function("cbrt"),
        "exp": _function("exp", complex_powers.exp),
        "exp2": _function("exp2", complex_powers.exp2),
        "expm1": _function("expm1", complex_powers.expm1),
        "log": _function("log", complex_powers.log),
        "log2": _function("log2", complex_powers.log2),
        "log10": _function("log10", complex_powers.log10),
        "log1p": _function("log1p", complex_powers.log1p),
        "sin": _function("sin", complex_circular.sin),
        "cos": _function("cos", complex_circular.cos),
        "tan": _function("tan", complex_circular.tan),
        "asin": _function("asin", complex_circular.asin),
        "acos": _function("acos", complex_circular.acos),
        "atan": _function("atan", complex_circular.atan),
        "atan2": _function("atan2"),
        "sinh": _function("sinh", complex_circular.sinh),
        "cosh": _function("cosh", complex_circular.cosh),
        "tanh": _function("tanh", complex_circular.tanh),
        "asinh": _function("asinh", complex_circular.asinh),
        "acosh": _function("acosh", complex_circular.acosh),
        "atanh": _function("atanh", complex_circular.atanh),
        "sigmoid": _function("sigmoid"),
        "softplus": _function("softplus"),
        "erf": _function("erf"),
        "erfc": _function("erfc"),
        "erfinv": _function("erfinv"),
        "lgamma": _function("lgamma"),
        "digamma": _function("digamma"),
        "polygamma": _function("polygamma"),
        "i0e": _function("i0e"),
        "i1e": _function("i1e"),
        # random
        "threefry2x32": ScalarRule(cipher.threefry2x32),
    }
)


def lower(f: Function, op: Op, operands: Sequence[Element]) -> tuple[Element, ...]:
    """The elements of an elementwise op's results, from those of its operands."""
    rule = RULES.get(op.name)
    is_complex = any(isinstance(operand, tuple) for operand in operands)
    emit = None if rule is None else rule.complex if is_complex else rule.real
    if rule is None or emit is None:
        return _expanded(f, op, operands)
    if rule.takes_halves or not any(_is_half_value(operand) for operand in operands):
        return (emit(f, *operands, **op.attributes),)
    # LLVM may narrow an operation to f16 itself; fused there, it would miss a rounding.
    with arithmetic.exact(f):
        wide = [widen(f, operand) for operand in operands if isinstance(operand, V)]
        made = emit(f, *wide, **op.attributes)
        target = of_dtype(op.result.type.dtype)
        return (narrow(f, made, target) if is_half(target) else made,)


def has_rule(op: Op) -> bool:
    """Whether the table has the op, for the kind of numbers that it is on."""
    rule = RULES.get(op.name)
    is_complex = any(operand.type.dtype.is_complex for operand in op.operands)
    return rule is not None and (rule.complex if is_complex else rule.real) is not None


def _expanded(f: Function, op: Op, operands: Sequence[Element]) -> tuple[Element, ...]:
    """The elements of an op that the table has not, by the ops of its scalar form."""
    region = scalar_region(op)
    if region is None:
        error = LoweringError("it has neither a rule nor a scalar form", op)
        raise error.at(op.location, describe(op.definition, op.operands))
    first = operands[0]
    lanes = (first[0] if isinstance(first, tuple) else first).type.lanes
    wide = [widen(f, x) if isinstance(x, V) else x for x in operands]
    elements: dict[Value, Element] = dict(zip(region.parameters, wide, strict=True))

    def element(value: Value) -> Element:
        if isinstance(value, Constant):
            return constant(f, value.array[()], value.type.dtype, lanes)
        return elements[value]

    with arithmetic.exact(f) if any(map(_is_half_value, operands)) else nullcontext():
        for inner in region.ops:
            made = lower(f, inner, [element(operand) for operand in inner.operands])
            elements.update(zip(inner.results, made, strict=True))
    return tuple(
        _rounded(f, element(value), result.type.dtype)
        for value, result in zip(region.results, op.results, strict=True)
    )


def _rounded(f: Function, x: Element, dtype: DType) -> Element:
    target = of_dtype(dtype)
    return narrow(f, x, target) if isinstance(x, V) and is_half(target) else x


def _is_half_value(x: Element) -> bool:
    return isinstance(x, V) and is_half(x.type)


def constant(f: Function, value: Any, dtype: DType, lanes: int) -> Element:
    """A number known now as an element of a dtype, in all lanes."""
    type = of_dtype(dtype).with_lanes(lanes)
    if dtype.is_complex:
        number = complex(value.item())
        return f.const(number.real, type), f.const(number.imag, type)
    return f.const(value.item(), type)


# --- reductions ---------------------------------------------------------------------------------

_COMBINERS: Final[Mapping[str, ScalarRule]] = MappingProxyType(
    {
        "sum": RULES["add"],
        "prod": RULES["mul"],
        "max": RULES["maximum"],
        "min": RULES["minimum"],
        "any": RULES["or"],
        "all": RULES["and"],
    }
)


def combine(f: Function, kind: str, x: Element, y: Element, dtype: DType) -> Element:
    """Two partial results of a reduction (sum, prod, max, min, any, all) as one, in the dtype that
    it accumulates in: f32 for f16 and bf16.
    """
    rule = _COMBINERS[kind]
    emit = rule.complex if dtype.is_complex else rule.real
    assert emit is not None, f"{kind} has no order for {dtype}"
    result: Element = emit(f, x, y)
    return result


def identity(kind: str, dtype: DType) -> np.generic:
    """What a reduction starts with: combined with x it gives x. For f16 and bf16 in f32."""
    held = dtype.working
    result: np.generic = held.numpy.type(_start(kind, held))
    return result


def _start(kind: str, dtype: DType) -> int | float:
    if kind not in ("max", "min"):
        return int(kind in ("prod", "all"))
    if dtype.is_bool:
        return int(kind == "min")
    if dtype.is_float:
        return -np.inf if kind == "max" else np.inf
    limits = np.iinfo(dtype.numpy)
    return limits.min if kind == "max" else limits.max
