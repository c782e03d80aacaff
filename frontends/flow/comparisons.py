"""Comparisons in converted functions: tuples and lists of traced numbers, and whether two names are
one object where only the program knows.
"""

from __future__ import annotations

import dataclasses
import operator
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from weft.compiler.ops import logic
from weft.frontends.flow.growing import EarlierItem
from weft.frontends.flow.parts import is_traced, truth
from weft.frontends.tracing import core
from weft.frontends.tracing.conversion import conversion
from weft.frontends.tracing.trace import Tracer

OPERATORS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_MUTABLE: Final = (list, dict, set, deque, bytearray, np.ndarray, Tracer)


def compared(name: str, left: Any, right: Any) -> Any:
    """`left < right` and the like."""
    if name in ("is", "is not"):
        return is_same(left, right) is (name == "is")
    kinds = [kind for kind in (tuple, list) if isinstance(left, kind) and isinstance(right, kind)]
    if not kinds or not (holds_traced(left) or holds_traced(right)):
        return OPERATORS[name](left, right)
    if name in ("==", "!="):
        equal = _all_equal(left, right)
        return equal if name == "==" else _opposite(equal)
    return _in_order(name, left, right)


def holds_traced(value: Any) -> bool:
    """Whether something of a tuple or list is only known when the program runs."""
    if isinstance(value, tuple | list):
        return any(holds_traced(part) for part in value)
    return is_traced(value)


def _equal(left: Any, right: Any) -> Any:
    """Whether two items are equal, as a bool."""
    return True if left is right else _bool(compared("==", left, right))


def _bool(value: Any) -> Any:
    if not is_traced(value):
        return bool(value)
    return core.wrap(truth(value, "a comparison of the items of tuples"), weak=True)


def _all_equal(left: Sequence[Any], right: Sequence[Any]) -> Any:
    if len(left) != len(right):
        return False
    result: Any = True
    for one, other in zip(left, right, strict=True):
        equal = _equal(one, other)
        if not is_traced(equal) and not equal:
            return False
        result = _both(result, equal)
    return result


def _in_order(name: str, left: Sequence[Any], right: Sequence[Any]) -> Any:
    """By the first items that differ; where there are none, by the lengths."""
    result: Any = OPERATORS[name](len(left), len(right))
    for one, other in reversed(list(zip(left, right, strict=False))):
        equal = _equal(one, other)
        if not is_traced(equal):
            result = result if equal else _lesser(name, one, other)
            continue
        decided = _both(_opposite(equal), _lesser(name, one, other))
        result = _wrapped(logic.or_(core.lift(decided), core.lift(_both(equal, result))))
    return result


def _lesser(name: str, one: Any, other: Any) -> Any:
    """The order of two items, which Python asks for only if those before are equal."""
    try:
        return _bool(compared(name, one, other))
    except TypeError as error:
        raise core.trace_error(
            f"items of tuples have no order ({error}), and whether it is asked for is only known "
            "when the program runs"
        ) from error


def _both(one: Any, other: Any) -> Any:
    if not is_traced(one):
        return other if one else False
    if not is_traced(other):
        return one if other else False
    return _wrapped(logic.and_(core.lift(one), core.lift(other)))


def _opposite(value: Any) -> Any:
    return _wrapped(logic.not_(core.lift(value))) if is_traced(value) else not value


def _wrapped(value: Any) -> Tracer:
    return core.wrap(value, weak=True)


# --- identity -------------------------------------------------------------------------------------


def is_same(left: Any, right: Any) -> bool:
    """Whether both are one object; refused where that depends on values, or on the step."""
    if left is right:
        return True
    if isinstance(left, EarlierItem) or isinstance(right, EarlierItem):
        raise core.trace_error("what an earlier step has appended to a list is asked for by `is`")
    if not (_is_mutable(left) and _is_mutable(right)) or type(left) is not type(right):
        return False
    state = conversion.get()
    if state is not None and state.steps:
        raise core.trace_error(
            "whether two names are one object may depend on the step of this loop; keep a flag or "
            "a number beside them, or unroll the loop: for ... in wf.unrolled(...)"
        )
    if isinstance(left, Tracer) and _may_be_same(left, right):
        raise core.trace_error(
            "whether two names are one array depends on values here; keep a flag beside them"
        )
    return False


def _is_mutable(value: Any) -> bool:
    if isinstance(value, Tracer):
        return bool(value.type.shape)
    return isinstance(value, _MUTABLE) or (
        dataclasses.is_dataclass(value) and not isinstance(value, type)
    )


def _may_be_same(left: Tracer, right: Tracer) -> bool:
    """Whether an array from before may be both, seen in the same way."""
    if [view.get for view in left.path] != [view.get for view in right.path]:
        return False
    others = {id(one) for one in right.possible}
    return any(id(one) in others for one in left.possible) and left.memory is not right.memory
