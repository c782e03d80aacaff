"""Products of arrays whose sizes are only known when the program runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from weft.frontends.numpy.masked.array import Selected, refuse
from weft.frontends.numpy.masked.choice import Choice
from weft.frontends.numpy.masked.meeting import meet_last


def product(left: Any, right: Any) -> Any:
    """`left @ right` of vectors and matrices."""
    ranks = _rank(left), _rank(right)
    if 0 in ranks or max(ranks) > 2:
        refuse("a product of arrays of rank 0, or 3 and more")
    turned = right if ranks[1] == 1 else _turned(right)
    if _last(left) is not None or _last(turned) is not None:
        left, turned = meet_last(left, turned)
    chosen = (*_rest(left), *_rest(turned))
    one, other = _zeroed(left), _zeroed(turned)
    if ranks == (2, 2):
        made = one @ other.T
    else:
        # A sum that a loop of its own computes ends where the elements do: what is added is zero
        # behind them for all to see, also if the vector is computed before.
        dtype = np.result_type(one.dtype, other.dtype)
        wide, vector = (one, other) if ranks[0] == 2 else (other, one)
        multiplied = wide & vector if dtype == np.bool_ else wide * vector
        held = left if ranks[0] == 2 else turned
        if isinstance(held, Selected):
            multiplied = Selected(multiplied, held.chosen).replaced(0, (held.ndim - 1,))
        made = multiplied.any(-1) if dtype == np.bool_ else multiplied.sum(-1, dtype=dtype)
    return Selected(made, chosen) if any(chosen) else made


def _last(array: Any) -> Choice | None:
    """What is chosen of the last axis."""
    return array.chosen[-1] if isinstance(array, Selected) else None


def _zeroed(array: Any) -> Any:
    """The array with zeros where the elements that are summed up are not chosen."""
    return array.replaced(0, (array.ndim - 1,)) if isinstance(array, Selected) else array


def _rest(array: Any) -> tuple[Choice | None, ...]:
    return array.chosen[:-1] if isinstance(array, Selected) else (None,) * (_rank(array) - 1)


def _rank(array: Any) -> int:
    return int(np.ndim(array)) if not isinstance(array, Selected) else array.ndim


def _turned(array: Any) -> Any:
    return array.T if isinstance(array, Selected) else np.transpose(array)


def _outer(a: Any, b: Any, out: None = None) -> Any:
    if _rank(a) != 1 or _rank(b) != 1:
        refuse("np.outer of arrays that are no vectors")
    return np.multiply(a[:, None], b[None, :])


def _inner(a: Any, b: Any) -> Any:
    return product(a, b.T if _rank(b) > 1 else b)


FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "dot": lambda a, b, out=None: a * b if 0 in (_rank(a), _rank(b)) else product(a, b),
    "inner": _inner,
    "matmul": product,
    "outer": _outer,
    "vdot": lambda a, b: product(np.conj(a), b),
}
