"""How arrays meet whose sizes are only known when the program runs: elements that belong together
are brought to the same places. Sizes that plainly agree cost nothing; others are compared by the
program, which fails where NumPy would.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.compiler.ir import dims, dtypes
from weft.compiler.ir.build import constant
from weft.compiler.ir.dims import Size
from weft.compiler.ops import shape
from weft.frontends.numpy.masked.array import Selected
from weft.frontends.numpy.masked.choice import (
    Choice,
    Span,
    iota,
    is_same_choice,
    is_same_count,
)
from weft.frontends.numpy.masked.parts import packed
from weft.frontends.numpy.masked.requirements import require_same_size
from weft.frontends.tracing import core
from weft.frontends.tracing.bounds import linear


def meet(operands: Sequence[Any]) -> list[Any]:
    """The operands with elements that belong together in the same places: along each axis, counted
    from the last, all are chosen in the same way, or are of size 1, or none is chosen.
    """
    made = list(operands)
    for axis in range(1, max(map(_rank, operands)) + 1):
        _meet_along(made, axis, broadcasts=True)
    return made


def choices(operands: Sequence[Any]) -> tuple[Choice | None, ...]:
    """What is chosen of the result of operands that have met."""
    rank = max(map(_rank, operands))
    return tuple(
        [
            next((found for o in operands if (found := _choice(o, axis)) is not None), None)
            for axis in range(rank, 0, -1)
        ]
    )


def meet_last(left: Any, right: Any) -> list[Any]:
    """Two operands with the elements of their last axes in the same places, as many of both."""
    made = [left, right]
    _meet_along(made, 1, broadcasts=False)
    return made


def _meet_along(made: list[Any], axis: int, broadcasts: bool) -> None:
    """The same along one axis, counted from the last."""
    chosen = [number for number, operand in enumerate(made) if _choice(operand, axis) is not None]
    if not chosen:
        return
    plain = [
        size
        for o in made
        if _choice(o, axis) is None
        and (size := _size(o, axis)) is not None
        and (size != 1 or not broadcasts)
    ]
    if plain:
        for number in chosen:
            made[number] = _stretched(made[number], made[number].ndim - axis, plain[0], broadcasts)
        return
    first = made[chosen[0]]
    for number in chosen[1:]:
        other = made[number]
        ours, theirs = _choice(first, axis), _choice(other, axis)
        assert ours is not None and theirs is not None
        if is_same_choice(ours, theirs) and _size(first, axis) == _size(other, axis):
            continue
        if is_same_count(ours, theirs):
            made[number] = moved(other, other.ndim - axis, ours, _size(first, axis))
            continue
        _unify(made, chosen, axis, broadcasts)
        return


def _unify(made: list[Any], chosen: Sequence[int], axis: int, broadcasts: bool) -> None:
    """The same where sizes have to be compared when the program runs."""
    counts = [made[number].chosen[made[number].ndim - axis].count() for number in chosen]
    size = _largest([_size(made[number], axis) for number in chosen])
    total = counts[0]
    for count in counts[1:]:
        require_same_size(total, count, broadcasts=broadcasts)
        total = np.where(total == 1, count, total) if broadcasts else total
    for number, count in zip(chosen, counts, strict=True):
        operand, place = made[number], made[number].ndim - axis
        near = packed(operand, place)
        step = np.where(count == 1, 0, 1) if broadcasts else 1
        whole = taken(near.whole, iota(size) * step, place)
        made[number] = _with_choice(operand, whole, place, Span.of(0, total))


def _stretched(operand: Selected, axis: int, size: Size, broadcasts: bool) -> Any:
    """An operand that meets a plain array: its elements along the axis are as many, or one."""
    choice = operand.chosen[axis]
    assert choice is not None
    count = choice.count()
    require_same_size(count, size, broadcasts=broadcasts)
    step = np.where(count == 1, 0, 1) if broadcasts else 1
    near = packed(operand, axis)
    return _with_choice(operand, taken(near.whole, iota(size) * step, axis), axis, None)


def moved(operand: Selected, axis: int, choice: Choice, size: Any) -> Any:
    """The same elements along an axis at the places of a choice of as many."""
    own, whole = operand.chosen[axis], operand.whole
    if isinstance(own, Span) and isinstance(choice, Span) and own.step == choice.step:
        return _with_choice(operand, _shifted(whole, axis, own, choice, size), axis, choice)
    near = packed(operand, axis)
    return _with_choice(operand, spread(near.whole, axis, choice, size), axis, choice)


def spread(whole: Any, axis: int, choice: Choice, size: Any) -> Any:
    """The first elements along an axis, one after the other at the places of a choice."""
    if isinstance(choice, Span) and choice.step == 1:
        first = Span.of(0, choice.count())
        return _shifted(whole, axis, first, choice, size)
    return taken(whole, choice.ranks(size), axis)


def _shifted(whole: Any, axis: int, own: Span, wanted: Span, size: Any) -> Any:
    """The array with what is at `own.start` at `wanted.start`; what comes from outside is zero."""
    value, before = core.lift(whole), whole.shape[axis]
    offset = linear(own.start).plus(linear(wanted.start), -1)
    rank = value.type.rank
    zero = constant(0, value.type.dtype)
    sizes = tuple([size if a == axis else s for a, s in enumerate(value.type.shape)])
    nothing = [0] * rank

    def at(number: Any) -> list[Any]:
        return [number if a == axis else 0 for a in range(rank)]

    if not offset.terms and isinstance(offset.constant, int):
        low, high = -offset.constant, size - before + offset.constant
        if low == 0 and high == 0:
            return whole
        if isinstance(before, int) and isinstance(size, int) and not -before < low < size:
            return core.wrap(core.full(sizes, 0, value.type.dtype))
        return core.wrap(shape.pad(value, zero, low=at(low), high=at(high), interior=nothing))
    around = shape.pad(value, zero, low=at(size), high=at(size), interior=nothing)
    start = core.lift(own.start - wanted.start + size)
    starts = [start if a == axis else constant(0, dtypes.i64) for a in range(rank)]
    return core.wrap(shape.dynamic_slice(around, *starts, sizes=sizes))


def taken(whole: Any, places: Any, axis: int) -> Any:
    """The elements at places along an axis, which are moved inside of it."""
    if whole.shape[axis] == 0:
        value = core.lift(whole)
        sizes = [places.shape[0] if a == axis else s for a, s in enumerate(value.type.shape)]
        return core.wrap(core.full(tuple(sizes), 0, value.type.dtype))
    return np.take(whole, places, axis=axis, mode="clip")


def _with_choice(operand: Selected, whole: Any, axis: int, choice: Choice | None) -> Any:
    chosen = list(operand.chosen)
    chosen[axis] = choice
    if operand.__dict__.get("_is_gated") or not any(chosen):
        return Selected.of_gated(whole, tuple(chosen))
    return Selected(whole, tuple(chosen))


def _largest(sizes: Sequence[Size]) -> Size:
    made = sizes[0]
    for size in sizes[1:]:
        made = dims.maximum(made, size)
    return made


def _rank(operand: Any) -> int:
    return operand.ndim if isinstance(operand, Selected) else np.ndim(operand)


def _choice(operand: Any, axis: int) -> Choice | None:
    if not isinstance(operand, Selected) or axis > operand.ndim:
        return None
    return operand.chosen[operand.ndim - axis]


def _size(operand: Any, axis: int) -> Any:
    """The static size of an axis counted from the last; None if there is no such axis."""
    if axis > _rank(operand):
        return None
    sizes = operand.whole.shape if isinstance(operand, Selected) else np.shape(operand)
    return sizes[-axis]
