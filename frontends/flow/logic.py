"""`and`, `or`, `not`, comparisons and `in` on traced values, as lazily as Python has them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from weft.compiler.ir.edit import inline
from weft.compiler.ir.graph import Op, Value
from weft.compiler.ir.opdef import Trait
from weft.compiler.ops import logic
from weft.frontends.flow.branches import choose
from weft.frontends.flow.comparisons import compared, holds_traced
from weft.frontends.flow.lookups import is_key
from weft.frontends.flow.parts import is_traced, trace_part, truth
from weft.frontends.flow.raising import is_of_data
from weft.frontends.flow.saved import unchanged
from weft.frontends.flow.variables import Taken
from weft.frontends.tracing import core
from weft.frontends.tracing.trace import Tracer, current_trace

Later = Callable[[], Any]


def and_(*operands: Later) -> Any:
    """`a and b and ...`."""
    left = operands[0]()
    for operand in operands[1:]:
        if is_traced(left):
            left = _both(left, operand)
        elif not left:
            return left
        else:
            left = operand()
    return left


def or_(*operands: Later) -> Any:
    """`a or b or ...`."""
    left = operands[0]()
    for operand in operands[1:]:
        if is_traced(left):
            left = _either(left, operand)
        elif left:
            return left
        else:
            left = operand()
    return left


def tested(operand: Any) -> Any:
    """An operand of `and` or `or` of which only the truth matters: a traced one becomes a bool, so
    numbers and bools may be mixed.
    """
    return (
        core.wrap(truth(operand, "an operand of `and` or `or`")) if is_traced(operand) else operand
    )


def not_(operand: Any) -> Any:
    """`not a`."""
    if not is_traced(operand):
        return not operand
    return core.wrap(logic.not_(truth(operand, "the operand of `not`")), weak=True)


def compare(left: Any, *rest: Any) -> Any:
    """`a < b <= c`, `a in b`: operators as text and operands in turn, each evaluated once.

    Operands after a comparison that is traced are evaluated in any case.
    """
    result: Any = True
    for name, later in zip(rest[::2], rest[1::2], strict=True):
        right = later()
        made, before = _compare(left, name, right), result
        result = _both(before, functools.partial(_same, made)) if is_traced(before) else made
        if not is_traced(result) and not result:
            return result
        left = right
    return result


def _same(value: Any) -> Any:
    return value


def _compare(left: Any, name: str, right: Any) -> Any:
    if name == "in":
        return _contains(right, left)
    if name == "not in":
        return not_(_contains(right, left))
    types = core.number_types(left) | core.number_types(right)
    if name in ("is", "is not") and {bool, int} <= types and bool in _of_several(left, right):
        raise core.trace_error(
            f"`{name}` of this number depends on values, as they decide whether it is a bool; "
            "write bool(x), or =="
        )
    if name in ("is", "is not") and core.python_type(left) is core.python_type(right) is bool:
        name = "==" if name == "is" else "!="  # there is one True
    return compared(name, left, right)


def _of_several(*operands: Any) -> set[type]:
    """The types of numbers of which values decide the type."""
    several = [types for one in operands if len(types := core.number_types(one)) > 1]
    return set().union(*several)


def _contains(container: Any, item: Any) -> Any:
    if isinstance(container, Tracer):
        return core.wrap(core.lift(np.any(container == item)), weak=True)
    is_sequence = isinstance(container, tuple | list | set | frozenset)
    if not holds_traced(item) and not (is_sequence and holds_traced(list(container))):
        return item in container
    if isinstance(container, range):
        near = and_(lambda: item >= min(container), lambda: item <= max(container))
        return container and and_(
            lambda: near, lambda: (item - container.start) % container.step == 0
        )
    if isinstance(container, dict):
        return is_key(container, item)
    if is_sequence:
        tests = [functools.partial(compared, "==", item, one) for one in container]
        return or_(lambda: False, *tests)
    return item in container


def _both(left: Any, right: Later) -> Any:
    """`left and right` for a traced left side."""
    made = _cheap(left, right)
    if made is not None:
        return _wrap(logic.and_(truth(left, "the left side of `and`"), made[0]), left, made[1])
    return choose(left, right, lambda: _like_bool(left), "this `and`")


def _either(left: Any, right: Later) -> Any:
    made = _cheap(left, right)
    if made is not None:
        return _wrap(logic.or_(truth(left, "the left side of `or`"), made[0]), left, made[1])
    return choose(left, lambda: _like_bool(left), right, "this `or`")


def _wrap(value: Value, left: Any, right_is_weak: bool) -> Any:
    """One of two bools; a Python bool if both are."""
    return core.wrap(value, weak=core.is_weak(left) and right_is_weak)


def _like_bool(left: Any) -> Any:
    if not _is_bool(left):
        return left
    return core.wrap(core.reshape(core.lift(left), ()), weak=core.is_weak(left))


def _is_bool(value: Any) -> bool:
    if isinstance(value, bool | np.bool_):
        return True
    return isinstance(value, Tracer) and value.type.dtype.is_bool and value.type.size == 1


def _cheap(left: Any, right: Later) -> tuple[Value, bool] | None:
    """The right side and whether it is a Python bool, if both are bools and it costs next to
    nothing and cannot fail, so that it may run in any case; else None.
    """
    if not _is_bool(left):
        return None
    try:
        with unchanged((right,)):
            made = trace_part(right, (), ())
    except Exception as error:
        if is_of_data(error):
            return None  # it is raised if the left side lets it
        raise
    if not isinstance(made.returned, Taken) or len(made.returned.leaves) != 1:
        return None
    (leaf,) = made.returned.leaves
    if leaf.type is None or leaf.type.shape or not leaf.type.dtype.is_bool:
        return None
    region, captured = made.close([leaf], [leaf.type])
    if not all(_is_harmless(op) for op in region.ops):
        return None
    return inline(region, captured, current_trace())[0], leaf.weak


def _is_harmless(op: Op) -> bool:
    is_small = all(not value.type.shape for value in (*op.operands, *op.results))
    return is_small and Trait.ELEMENTWISE in op.definition.traits
