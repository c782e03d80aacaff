"""Python's `max`, `min` and `sorted` of traced values: by comparison with `<` and `>`, of which the
first item wins where neither holds.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from weft.frontends.flow.branches import choose
from weft.frontends.flow.kinship import element
from weft.frontends.flow.parts import is_traced, truth
from weft.frontends.numpy.functions.namespace import BY_NUMPY
from weft.frontends.numpy.masked.array import Selected
from weft.frontends.tracing import core
from weft.frontends.tracing.trace import Tracer

Called: TypeAlias = Callable[[Any], Callable[..., Any]]
"""What is called in place of a function."""


def extreme(plain: Any, called: Called) -> Callable[..., Any]:
    """`max` or `min`."""
    is_better = operator.gt if plain is max else operator.lt

    def chosen(*args: Any, key: Any = None, **kwargs: Any) -> Any:
        given = args[0] if len(args) == 1 else args
        if key is None and isinstance(given, Selected):
            return getattr(np, plain.__name__)(given)
        if key is None and isinstance(given, Tracer) and given.type.rank == 1:
            return _extreme_of_array(plain.__name__, given)
        items = list(given)
        keys = items if key is None else [called(key)(item) for item in items]
        if not any(map(is_traced, keys)):
            following = iter(keys)
            return plain(items, key=lambda _: next(following), **kwargs)
        best, best_key = items[0], keys[0]
        for item, own in zip(items[1:], keys[1:], strict=True):
            better = is_better(own, best_key)
            best = _where(plain.__name__, better, item, best)
            best_key = best if key is None else _where(plain.__name__, better, own, best_key)
        return best

    return chosen


def _where(name: str, better: Any, item: Any, best: Any) -> Any:
    if not is_traced(better):
        return item if better else best
    holds = core.wrap(truth(better, f"what {name}() compares"))
    if _is_number(item) and _is_number(best):
        types, weak = core.number_types(item) | core.number_types(best), core.is_weak(item, best)
        made = core.lift(BY_NUMPY[np.where](holds, item, best))
        return core.with_types(core.wrap(made, weak=weak), types)
    return choose(holds, lambda: item, lambda: best, f"this {name}()")


def _is_number(item: Any) -> bool:
    return isinstance(item, int | float | np.number) or (
        isinstance(item, Tracer) and not item.type.shape
    )


def _extreme_of_array(name: str, array: Any) -> Any:
    """Of an array's elements; a NaN counts only if it is the first."""
    if not array.type.dtype.is_float:
        return getattr(np, name)(array)
    worst = -np.inf if name == "max" else np.inf
    others = getattr(np, name)(np.where(np.isnan(array), worst, array))
    return np.where(np.isnan(array[0]), array[0], others)


def ordered(called: Called) -> Callable[..., Any]:
    """`sorted`."""

    def run(iterable: Any, /, *, key: Any = None, reverse: Any = False) -> list[Any]:
        items = list(iterable)
        keys = items if key is None else [called(key)(item) for item in items]
        if not any(map(is_traced, keys)):
            following = iter(keys)
            return sorted(items, key=lambda _: next(following), reverse=reverse)
        if not all(map(_is_number, [*items, *keys])):
            raise core.trace_error(
                "sorted() of traced values takes numbers, and a key that gives numbers; use "
                "np.argsort for what goes with them"
            )
        order = _order(keys, bool(reverse))
        return [element(items, order[number]) for number in range(len(items))]

    return run


def _order(keys: Sequence[Any], is_reversed: bool) -> Any:
    """The places of the items in order; equal ones stay as they are."""
    stacked = BY_NUMPY[np.stack](list(keys))
    if not is_reversed:
        return np.argsort(stacked, kind="stable")
    return len(keys) - 1 - np.argsort(stacked[::-1], kind="stable")[::-1]
