"""Rules that change rounding for the better: no less accurate anywhere, and finite where the form
as written overflows.

Each is proved by a SymPy identity on its domain, and measured against mpmath there.
"""

from __future__ import annotations

import math
from typing import Final

from weft.compiler.ir import dims
from weft.compiler.ir.graph import Constant, Result, Value
from weft.compiler.ops import logic
from weft.compiler.ops.arithmetic import abs_, add, div, mul, neg, pow_, sub
from weft.compiler.ops.conversion import stop_gradient
from weft.compiler.ops.helpers import expand_axes, number
from weft.compiler.ops.reduction import reduce_max, reduce_sum
from weft.compiler.ops.shape import broadcast, reshape
from weft.compiler.ops.special import exp, expm1, log, log1p, rsqrt, sigmoid, softplus, sqrt, tanh
from weft.compiler.rewrite.pattern import literal
from weft.compiler.rewrite.rule import Exactness, Examples, Identity, Rule, example, rule
from weft.compiler.rewrite.rules_arithmetic import is_float

STABLE: Final = Exactness.STABLE
REAL_LINE: Final = Identity({"x": (-30.0, 30.0)})
POSITIVE: Final = Identity({"x": (0.0, 1e6)})
FLOAT: Final = {"x": is_float}


# --- softmax --------------------------------------------------------------------------------------


def _is_shifted(x: Value) -> bool:
    """Whether something's maximum was subtracted already, however it was brought into shape."""
    if not isinstance(x, Result) or x.op.definition is not sub:
        return False
    seen = x.op.operands[1]
    while isinstance(seen, Result):
        if seen.op.definition is reduce_max:
            return True
        if seen.op.definition is logic.select:
            seen = seen.op.operands[1]
        elif seen.op.definition in (broadcast, reshape, stop_gradient):
            seen = seen.op.operands[0]
        else:
            return False
    return False


def _shift(x: Value, axes: tuple[int, ...]) -> tuple[Value, Value]:
    """x less its maximum along axes, and that maximum; 0 in its place where it is infinite."""
    highest = reduce_max(x, axes=axes)
    safe = logic.select(logic.is_finite(highest), highest, number(0, x))
    return sub(x, expand_axes(safe, axes, x.type.shape)), safe


def _log_sum_exp(x: Value, result: Value) -> Value | None:
    axes = _axes_of_sum(result)
    if axes is None:
        return None
    shifted, highest = _shift(x, axes)
    return add(log(reduce_sum(exp(shifted), axes=axes)), highest)


def _axes_of_sum(result: Value) -> tuple[int, ...] | None:
    """The axes of the sum of exponentials behind a value; None if they may be empty."""
    seen = result
    while isinstance(seen, Result):
        if seen.op.definition is reduce_sum:
            axes: tuple[int, ...] = seen.op.attributes["axes"]
            sizes = [seen.op.operands[0].type.shape[axis] for axis in axes]
            return axes if axes and all((dims.lower(s) or 0) > 0 for s in sizes) else None
        seen = seen.op.operands[-1]
    return None


def _is_over_own_sum(x: Value, axes: tuple[int, ...], places: tuple[int, ...]) -> bool:
    """Whether a sum along axes was stretched back to where it came from."""
    return places == tuple(axis for axis in range(x.type.rank) if axis not in axes)


def _softmax(x: Value, result: Value) -> Value | None:
    axes = _axes_of_sum(result)
    assert isinstance(result, Result)
    stretched = result.op.operands[1]
    assert isinstance(stretched, Result)
    if axes is None or not _is_over_own_sum(x, axes, stretched.op.attributes["dims"]):
        return None
    shifted, _ = _shift(x, axes)
    top = exp(shifted)
    return div(top, expand_axes(reduce_sum(top, axes=axes), axes, x.type.shape))


SOFTMAX: Final = (
    rule(
        "softmax",
        lambda x: div(exp(x), broadcast(reduce_sum(exp(x)))),
        _softmax,
        where={"x": is_float},
        when=lambda x: not _is_shifted(x),
        exactness=STABLE,
        proof=Identity({"x": (-20.0, 20.0)}, shape="rows"),
    ),
    rule(
        "log(softmax)",
        lambda x, s: log(div(exp(x), broadcast(reduce_sum(exp(s))))),
        # By the quotient's operands: the broadcast stays as it is.
        lambda x, result: sub(x, _log_of_stretched(result)),
        where={"x": is_float},
        exactness=STABLE,
        proof=Identity({"x": (-20.0, 20.0), "s": (-20.0, 20.0)}, shape="rows"),
    ),
    rule(
        "log(sum(exp))",
        lambda x: log(reduce_sum(exp(x))),
        _log_sum_exp,
        where={"x": is_float},
        when=lambda x: not _is_shifted(x),
        exactness=STABLE,
        proof=Identity({"x": (-20.0, 20.0)}, shape="rows"),
    ),
)


def _log_of_stretched(result: Value) -> Value:
    """log(broadcast(s)) as broadcast(log(s)), from log(x / broadcast(s))."""
    assert isinstance(result, Result)
    quotient = result.op.operands[0]
    assert isinstance(quotient, Result)
    stretched = quotient.op.operands[1]
    assert isinstance(stretched, Result)
    return broadcast(log(stretched.op.operands[0]), **stretched.op.attributes)


# --- powers ---------------------------------------------------------------------------------------


MOST_SEEN: Final = 16
_KEEP_SIGN: Final = (add, mul, div, sqrt, reduce_sum, reduce_max, broadcast, reshape)


def _is_never_negative(x: Value) -> bool:
    """Whether elements are 0 or more, or NaN, by how they are made: sums of squares and such."""
    stack, seen = [x], 0
    while stack and seen < MOST_SEEN:
        value, seen = stack.pop(), seen + 1
        if isinstance(value, Constant):
            if not is_float(value) or not bool((value.array >= 0).all()):
                return False
            continue
        if not isinstance(value, Result) or not is_float(value):
            return False
        op = value.op
        is_square = op.definition is mul and op.operands[0] is op.operands[1]
        if is_square or op.definition in (abs_, exp):
            continue
        if op.definition not in _KEEP_SIGN:
            return False
        stack.extend(op.operands)
    return not stack


def _is_broken_number(c: Value) -> bool:
    """Whether a value is one number that is not whole, and whose half is exact."""
    if not isinstance(c, Constant) or c.type.rank or not is_float(c):
        return False
    value = float(c.array)
    return math.isfinite(value) and not value.is_integer() and abs(value) > 1e-3


def _half(c: Value) -> Value:
    assert isinstance(c, Constant)
    return number(float(c.array) / 2, c)


def _tiny(x: Value) -> Value:
    return number(1e-20, x)


RULES: Final[tuple[Rule, ...]] = (
    *SOFTMAX,
    rule(
        "log(1 + exp(x))",
        lambda x: log(add(exp(x), literal(1))),
        softplus,
        where=FLOAT,
        exactness=STABLE,
        proof=REAL_LINE,
    ),
    rule(
        "log1p(exp(x))",
        lambda x: log1p(exp(x)),
        softplus,
        where=FLOAT,
        exactness=STABLE,
        proof=REAL_LINE,
    ),
    rule(
        "log(1 + x)",
        lambda x: log(add(x, literal(1))),
        log1p,
        where=FLOAT,
        exactness=STABLE,
        proof=Identity({"x": (-1.0, 1e6)}),
    ),
    rule(
        "exp(x) - 1",
        lambda x: sub(exp(x), literal(1)),
        expm1,
        where=FLOAT,
        exactness=STABLE,
        proof=REAL_LINE,
    ),
    rule(
        "exp(x) + -1",
        lambda x: add(exp(x), literal(-1)),
        expm1,
        where=FLOAT,
        exactness=STABLE,
        proof=REAL_LINE,
    ),
    rule(
        "1 / (1 + exp(-x))",
        lambda x: div(literal(1), add(exp(neg(x)), literal(1))),
        sigmoid,
        where=FLOAT,
        exactness=STABLE,
        proof=REAL_LINE,
    ),
    rule(
        "x / (1 + exp(-x))",
        lambda x: div(x, add(exp(neg(x)), literal(1))),
        lambda x: mul(x, sigmoid(x)),
        where=FLOAT,
        exactness=STABLE,
        proof=REAL_LINE,
    ),
    rule(
        "exp(x) / (1 + exp(x))",
        lambda x: div(exp(x), add(exp(x), literal(1))),
        sigmoid,
        where=FLOAT,
        exactness=STABLE,
        proof=REAL_LINE,
    ),
    rule(
        "(1 + tanh(x / 2)) / 2",
        lambda x: mul(add(tanh(mul(x, literal(0.5))), literal(1)), literal(0.5)),
        sigmoid,
        where=FLOAT,
        exactness=STABLE,
        proof=REAL_LINE,
    ),
    rule(
        "1 - sigmoid(x)",
        lambda x: sub(literal(1), sigmoid(x)),
        lambda x: sigmoid(neg(x)),
        where=FLOAT,
        exactness=STABLE,
        proof=REAL_LINE,
    ),
    rule(
        "log(sigmoid(x))",
        lambda x: log(sigmoid(x)),
        lambda x: neg(softplus(neg(x))),
        where=FLOAT,
        exactness=STABLE,
        proof=REAL_LINE,
    ),
    rule(
        "1 / sqrt(x)",
        lambda x: div(literal(1), sqrt(x)),
        rsqrt,
        where=FLOAT,
        exactness=STABLE,
        proof=POSITIVE,
    ),
    rule(
        "x ** 2",
        lambda x: pow_(x, literal(2)),
        lambda x: mul(x, x),
        where=FLOAT,
        exactness=STABLE,
        proof=REAL_LINE,
    ),
    rule(
        "x ** 3",
        lambda x: pow_(x, literal(3)),
        lambda x: mul(mul(x, x), x),
        where=FLOAT,
        exactness=STABLE,
        proof=REAL_LINE,
    ),
    rule(
        "x ** -1",
        lambda x: pow_(x, literal(-1)),
        lambda x: div(number(1, x), x),
        where=FLOAT,
        exactness=STABLE,
        proof=POSITIVE,
    ),
    rule(
        "x ** 0.5",
        lambda x: pow_(x, literal(0.5)),
        sqrt,  # so NumPy does too, for a number as exponent
        where=FLOAT,
        exactness=STABLE,
        proof=POSITIVE,
    ),
    rule(
        "sqrt(x) ** c",  # the error of an adaptive method, from which its step follows
        lambda x, c: pow_(sqrt(x), c),
        lambda x, c: pow_(x, _half(c)),
        where={"x": _is_never_negative, "c": _is_broken_number},
        exactness=STABLE,
        proof=Examples(
            (
                example("f32[9]", lambda x: pow_(sqrt(mul(x, x)), number(-1 / 3, x))),
                example(
                    "f64[9]",
                    lambda x: pow_(
                        sqrt(add(div(reduce_sum(mul(x, x), axes=(0,)), number(9, x)), _tiny(x))),
                        number(0.2, x),
                    ),
                ),
            )
        ),
    ),
)
