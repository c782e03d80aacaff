"""Writes to arrays whose sizes are only known when the program runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.compiler.ir.types import format_shape
from weft.frontends.numpy.masked.array import Selected, refuse
from weft.frontends.numpy.masked.choice import Choice, is_same_choice, is_same_count
from weft.frontends.numpy.masked.meeting import moved, spread, taken
from weft.frontends.numpy.masked.parts import packed
from weft.frontends.numpy.masked.requirements import require_fit
from weft.frontends.tracing import core
from weft.frontends.tracing.trace import Tracer


def written_over(target: Selected, new: Any) -> Any:
    """The whole of an array after a write to its chosen elements."""
    values: Any = new if isinstance(new, Selected) else core.wrap(core.lift(new))
    extra = values.ndim - target.ndim
    if extra > 0:
        sizes = values.whole.shape if isinstance(values, Selected) else values.shape
        if any(size != 1 for size in sizes[:extra]):
            raise core.trace_error(
                f"an array of shape {format_shape(tuple(sizes))} does not fit into {target}"
            )
        values = values[(0,) * extra]
    for axis, choice in enumerate(target.chosen):
        place = axis - target.ndim + values.ndim
        if choice is not None and place >= 0:
            values = _fitted(values, place, choice, target.whole.shape[axis])
    whole = values.whole if isinstance(values, Selected) else values
    made: Any = np.where(target.mask(), whole, target.whole)
    return made.astype(target.dtype)


def _fitted(values: Any, axis: int, choice: Choice, size: Any) -> Any:
    """New values with those along an axis in the places that are written to."""
    if not isinstance(values, Selected) or values.chosen[axis] is None:
        whole = values.whole if isinstance(values, Selected) else values
        if whole.shape[axis] == 1:
            return values
        require_fit(whole.shape[axis], choice.count())
        made = spread(whole, axis, choice, size)
        return Selected(made, values.chosen) if isinstance(values, Selected) else made
    own = values.chosen[axis]
    assert own is not None
    if is_same_choice(own, choice) and values.whole.shape[axis] == size:
        return values
    if is_same_count(own, choice):
        return moved(values, axis, choice, size)
    require_fit(own.count(), choice.count())
    near = packed(values, axis)
    ranks = choice.ranks(size) * np.where(own.count() == 1, 0, 1)
    chosen = list(near.chosen)
    chosen[axis] = choice
    whole = taken(near.whole, ranks, axis)
    return Selected(whole, tuple(chosen))


def written_at(ufunc: np.ufunc, target: Any, index: Any, values: Any = None) -> None:
    """`ufunc.at(x, i[mask], v[mask])`: places that were not chosen are behind the end of x."""
    if ufunc is not np.add and ufunc is not np.subtract:
        refuse(f"np.{ufunc.__name__}.at")
    if not isinstance(target, Tracer):
        refuse("a write to a NumPy array", "weft.numpy.zeros or np.zeros_like(x) to make it")
    new = values
    if isinstance(values, Selected):
        ours, theirs = index.chosen[0], values.chosen[0]
        assert ours is not None and theirs is not None
        new = values.whole
        if not is_same_choice(ours, theirs):
            new = _fitted(values, 0, ours, index.whole.shape[0]).whole
    places = index.replaced(target.type.shape[0])
    update = target.at[places]  # type: ignore[attr-defined]
    made = update.add(new, "fill") if ufunc is np.add else update.add(np.negative(new), "fill")
    target.assign(made.value, "x = x.at[i].add(...)")
