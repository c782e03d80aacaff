"""Rules that add what was put into zeros to an array where it goes, without the zeros: gradients of
what is read from arrays are of that form, and in loops the array can be changed in place.

Where several elements go to one place, these are added in another order, and a sum with 0.0 that is
left out may have kept a -0.0. Proofs are examples.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from weft.compiler.ir import dims
from weft.compiler.ir.build import constant
from weft.compiler.ir.dtypes import f32, i64
from weft.compiler.ir.graph import Op, Value
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ops import helpers
from weft.compiler.ops.arithmetic import add
from weft.compiler.ops.indexing import scatter
from weft.compiler.ops.shape import (
    broadcast,
    dynamic_slice,
    dynamic_update_slice,
    pad,
    reshape,
    slice_,
)
from weft.compiler.rewrite.pattern import uniform_value
from weft.compiler.rewrite.rule import Exactness, Examples, Rule, example
from weft.compiler.rewrite.rules_shape import made_by, one_made_by


def _on_either_side(join: Callable[[Value, Value], Value | None]) -> Callable[[Op], Value | None]:
    """A sum of an array and of what `join` takes as its second operand."""

    def apply(op: Op) -> Value | None:
        first, second = op.operands
        if first.type != second.type:
            return None
        joined = join(first, second)
        return join(second, first) if joined is None else joined

    return apply


def _scattered(array: Value, part: Value) -> Value | None:
    updates: list[Op] = []
    while not helpers.is_zero(part):
        inner = made_by(part, scatter)
        if inner is None or inner.attributes["kind"] != "add":
            return None
        updates.append(inner)
        part = inner.operands[0]
    for op in reversed(updates):
        array = scatter(array, *op.operands[1:], **op.attributes)
    return array if updates else None


def _padded(array: Value, part: Value) -> Value | None:
    """Only what was scattered: a window as such is added in one pass over all."""
    inner = made_by(part, pad)
    if inner is None or not helpers.is_zero(inner.operands[1]) or any(inner.attributes["interior"]):
        return None
    low, window = inner.attributes["low"], inner.operands[0]
    ends = (*low, *inner.attributes["high"])
    if made_by(window, scatter) is None or any((dims.lower(size) or 0) < 0 for size in ends):
        return None
    if not all(isinstance(size, int) for size in low):
        return None
    limits = [first + size for first, size in zip(low, window.type.shape, strict=True)]
    before = slice_(array, starts=low, limits=limits, strides=[1] * len(low))
    scattered = _scattered(before, window)
    starts = [constant(first, i64) for first in low]
    return None if scattered is None else dynamic_update_slice(array, scattered, *starts)


def _filled(array: Value, part: Value) -> Value | None:
    """A window of zeros of an array, to which what the window has is added."""
    outer, inner = made_by(array, dynamic_update_slice), made_by(part, pad)
    if outer is None or inner is None or any(inner.attributes["interior"]):
        return None
    before, zeros, *starts = outer.operands
    window, value = inner.operands
    is_same = zeros.type == window.type and helpers.is_zero(zeros) and helpers.is_zero(value)
    if not is_same or [uniform_value(start) for start in starts] != [*inner.attributes["low"]]:
        return None
    return dynamic_update_slice(before, window, *starts)


def _put(array: Value, part: Value) -> Value | None:
    """A window of an array of which it is half at most."""
    inner = made_by(part, dynamic_update_slice)
    if inner is None or not helpers.is_zero(inner.operands[0]):
        return None
    _, window, *starts = inner.operands
    room = dims.lower(array.type.size - 2 * window.type.size)
    if room is None or room < 0:
        return None
    before = dynamic_slice(array, *starts, sizes=window.type.shape)
    return dynamic_update_slice(array, add(before, window), *starts)


def _zeros(*shape: int) -> Value:
    return broadcast(constant(0.0, f32), shape=shape, dims=())


def _row(x: Value, u: Value) -> Value:
    """A row of zeros like x, to which u is added."""
    return scatter(helpers.zeros(x.type), u, constant(2, i64), axes=[0], kind="add")


def _padded_row(x: Value, u: Value) -> Value:
    narrow = slice_(x, starts=[0, 1], limits=[4, 3], strides=[1, 1])
    part = slice_(u, starts=[1], limits=[3], strides=[1])
    return pad(_row(narrow, part), constant(0.0, f32), low=[0, 1], high=[0, 0], interior=[0, 0])


def _window(x: Value, u: Value) -> Value:
    window = reshape(u, shape=(1, 3))
    return dynamic_update_slice(_zeros(4, 3), window, constant(1, i64), constant(0, i64))


def _zeroed_and_filled(x: Value, u: Value) -> Value:
    window = reshape(u, shape=(1, 3))
    zeroed = dynamic_update_slice(x, _zeros(1, 3), constant(1, i64), constant(0, i64))
    return add(zeroed, pad(window, constant(0.0, f32), low=[1, 0], high=[2, 0], interior=[0, 0]))


def _rule(
    name: str,
    join: Callable[[Value, Value], Value | None],
    part: Callable[[Value, Value], Value],
    maker: OpDef,
) -> Rule:
    types = ("f32[4, 3]", "f32[3]")
    cases = (
        example(*types, lambda x, u: add(x, part(x, u))),
        example(*types, lambda x, u: add(part(x, u), x)),
    )
    proof, fits = Examples(cases), one_made_by(maker)
    return Rule(name, (add,), _on_either_side(join), Exactness.STABLE, proof, fits=fits)


RULES: Final[tuple[Rule, ...]] = (
    _rule("sum with scattered", _scattered, _row, scatter),
    _rule("sum with scattered in a window", _padded, _padded_row, pad),
    _rule("sum with a window", _put, _window, dynamic_update_slice),
    Rule(
        "sum with a window of zeros",
        (add,),
        _on_either_side(_filled),
        Exactness.STABLE,
        Examples((example("f32[4, 3]", "f32[3]", _zeroed_and_filled),)),
        fits=one_made_by(pad),
    ),
)
