"""Between which bounds integers lie: interval arithmetic whose bounds are sizes, so that a counter
below `n` is known to be inside of an axis of `n`.

What may leave its dtype is unknown afterwards: numbers wrap around.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np

from weft.compiler.ir import dims
from weft.compiler.ir.dims import Size
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.graph import Constant, Op, Value

LARGEST_CONSTANT: Final = 1 << 16  # elements that are looked at


class Interval(NamedTuple):
    """low <= number <= high; None where there is no bound."""

    low: Size | None = None
    high: Size | None = None

    def __or__(self, other: Interval) -> Interval:
        """The least interval that is known to hold both."""
        return Interval(_least(self.low, other.low), _most(self.high, other.high))

    def __and__(self, other: Interval) -> Interval:
        """What is known where both hold."""
        low = other.low if self.low is None else self.low
        if self.low is not None and other.low is not None:
            low = self.low if _is_at_most(other.low, self.low) else other.low
        high = other.high if self.high is None else self.high
        if self.high is not None and other.high is not None:
            high = self.high if _is_at_most(self.high, other.high) else other.high
        return Interval(low, high)

    def lies_in(self, size: Size) -> bool:
        """Whether all of it is from 0 to below a size."""
        if self.low is None or self.high is None:
            return False
        return _is_at_most(0, self.low) and _is_at_most(self.high, size - 1)

    def shifted(self, low: Size | None, high: Size | None) -> Interval:
        return Interval(_plus(self.low, low), _plus(self.high, high))


UNKNOWN: Final = Interval()


def _is_at_most(left: Size, right: Size) -> bool:
    room = dims.lower(right - left)
    return room is not None and room >= 0


def _least(left: Size | None, right: Size | None) -> Size | None:
    if left is None or right is None:
        return None
    return left if _is_at_most(left, right) else right if _is_at_most(right, left) else None


def _most(left: Size | None, right: Size | None) -> Size | None:
    if left is None or right is None:
        return None
    return right if _is_at_most(left, right) else left if _is_at_most(right, left) else None


def _plus(left: Size | None, right: Size | None) -> Size | None:
    return None if left is None or right is None else left + right


def within(interval: Interval, dtype: DType) -> Interval:
    """What is known of a number of a dtype that was computed as if there were no wrapping."""
    least, most = limits(dtype)
    if interval.low is None or interval.high is None:
        return Interval(0, None) if not dtype.is_signed else UNKNOWN
    low, high = dims.lower(interval.low), dims.upper(interval.high)
    if high is None and dtype.bits == 64 and isinstance(interval.high, dims.Dim):
        high = most  # a size that a call has
    if low is None or high is None or low < least or high > most:
        return Interval(0, None) if not dtype.is_signed else UNKNOWN
    return interval


def limits(dtype: DType) -> tuple[int, int]:
    """The least and the most that a dtype has."""
    if dtype.is_bool:
        return 0, 1
    info = np.iinfo(dtype.numpy)
    return int(info.min), int(info.max)


def of_constant(value: Constant) -> Interval:
    array = value.array
    if not 0 < array.size <= LARGEST_CONSTANT:
        return UNKNOWN
    return Interval(int(array.min()), int(array.max()))


def has_interval(value: Value) -> bool:
    """Whether intervals say something of a value."""
    return value.type.dtype.is_integer or value.type.dtype.is_bool


# --- what ops make ------------------------------------------------------------------------------


def _sum(op: Op, given: Sequence[Interval]) -> Interval:
    left, right = given
    return left.shifted(right.low, right.high)


def _negated(interval: Interval) -> Interval:
    low, high = interval
    return Interval(None if high is None else -high, None if low is None else -low)


def _difference(op: Op, given: Sequence[Interval]) -> Interval:
    left, right = given
    return left.shifted(*_negated(right))


def _product(op: Op, given: Sequence[Interval]) -> Interval:
    (a, b), (c, d) = given
    if a is None or b is None or c is None or d is None:
        return UNKNOWN
    if all(isinstance(bound, int) for bound in (a, b, c, d)):
        ends = [int(x) * int(y) for x in (a, b) for y in (c, d)]
        return Interval(min(ends), max(ends))
    if a == b and isinstance(a, int):
        a, b, c, d = c, d, a, b
    if c == d and isinstance(c, int):
        return Interval(a * c, b * c) if c >= 0 else Interval(b * c, a * c)
    return UNKNOWN


def _maximum(op: Op, given: Sequence[Interval]) -> Interval:
    (a, b), (c, d) = given
    low = a if c is None else c if a is None else Interval(a) & Interval(c)
    return Interval(low.low if isinstance(low, Interval) else low, _most(b, d))


def _minimum(op: Op, given: Sequence[Interval]) -> Interval:
    left, right = given
    return _negated(_maximum(op, (_negated(left), _negated(right))))


def _remainder(op: Op, given: Sequence[Interval]) -> Interval:
    """Of Python: it has the sign of the divisor."""
    _, (low, high) = given
    if low is None or high is None or not _is_at_most(1, low):
        return UNKNOWN
    return Interval(0, high - 1)


def _quotient(op: Op, given: Sequence[Interval]) -> Interval:
    (a, b), (c, d) = given
    if c != d or not isinstance(c, int) or c < 1:
        return UNKNOWN
    if c == 1:
        return given[0]
    if not (isinstance(a, int) and isinstance(b, int)):
        return UNKNOWN
    return Interval(a // c, b // c)


def _masked(op: Op, given: Sequence[Interval]) -> Interval:
    """Bits that are left are no more than either operand that is not negative."""
    for low, high in given:
        if isinstance(low, int) and low >= 0 and high is not None:
            return Interval(0, high)
    return UNKNOWN


def _moved(op: Op, given: Sequence[Interval]) -> Interval:
    return given[0]


def _joined(op: Op, given: Sequence[Interval]) -> Interval:
    result = given[0]
    for other in given[1:]:
        result = result | other
    return result


def _chosen(op: Op, given: Sequence[Interval]) -> Interval:
    return given[1] | given[2]


def _counted(op: Op, given: Sequence[Interval]) -> Interval:
    return Interval(0, op.attributes["shape"][op.attributes["axis"]] - 1)


def _dimension(op: Op, given: Sequence[Interval]) -> Interval:
    return Interval(op.attributes["dim"], op.attributes["dim"])


_RULES: Final[dict[str, Callable[[Op, Sequence[Interval]], Interval]]] = {
    "add": _sum,
    "sub": _difference,
    "mul": _product,
    "neg": lambda op, given: _negated(given[0]),
    "maximum": _maximum,
    "minimum": _minimum,
    "remainder": _remainder,
    "floor_divide": _quotient,
    "and": _masked,
    "select": _chosen,
    "iota": _counted,
    "dim_value": _dimension,
    "concatenate": _joined,
    **dict.fromkeys(
        ("broadcast", "reshape", "transpose", "reverse", "slice", "gather", "cast", "fence"), _moved
    ),
}

# What gives one of its operands' elements: bounds on one side are still such.
_CHOOSES: Final = frozenset(
    ("maximum", "minimum", "select", "concatenate", "broadcast", "reshape", "transpose", "reverse")
    + ("slice", "gather", "fence")
)
_TRUTHS: Final = frozenset(("lt", "le", "gt", "ge", "eq", "ne", "not", "or"))


def is_pure(op: Op) -> bool:
    """Whether equal operands give equal results, of an op that is known here."""
    return op.name in _RULES or op.name in _TRUTHS


def of_result(op: Op, given: Sequence[Interval]) -> Interval:
    """Between which bounds the result of an op lies, whose operands lie between these."""
    dtype = op.results[0].type.dtype
    rule = _RULES.get(op.name)
    if rule is None or not all(map(has_interval, op.operands)):
        return within(UNKNOWN, dtype)
    made = rule(op, given)
    if op.name == "gather" and op.attributes["mode"] == "fill":
        made = made | Interval(0, 0)
    return made if op.name in _CHOOSES else within(made, dtype)
