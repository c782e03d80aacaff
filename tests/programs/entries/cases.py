"""The cases of an entry: its own arguments, the same as other kinds of numbers, its other ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import optree

from tests.programs.entries.entry import Entry

PLAIN: Final = "plain"


def with_nan(x: Any) -> Any:
    made = x.copy()
    made.reshape(-1)[made.size // 2 :][:1] = np.nan
    return made


def strided(x: Any) -> Any:
    """The same numbers at every second place of memory, backwards."""
    wide = np.zeros(tuple(2 * n for n in x.shape), x.dtype)
    made = wide[tuple(slice(None, None, -2) for _ in x.shape)]
    made[...] = x
    return made


# What is done to every array of floats.
VARIANTS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "f32": lambda x: x.astype(np.float32),
    "strided": strided,
    "whole numbers": lambda x: np.round(4 * np.nan_to_num(x)).astype(np.int64),
    "nan": with_nan,
    "one": lambda x: x[:1],
    "empty": lambda x: x[:0],
}


def cases(entry: Entry) -> list[str]:
    """Their names."""
    varied = [] if not any(map(is_floats, leaves(entry.arguments()))) else list(VARIANTS)
    return [PLAIN, *varied, *entry.others]


def arguments(entry: Entry, case: str) -> tuple[Any, ...]:
    if case == PLAIN:
        return entry.arguments()
    if case in entry.others:
        return entry.others[case](np.random.default_rng(7))
    return varied(entry.arguments(), VARIANTS[case])


def varied(given: tuple[Any, ...], change: Callable[[Any], Any]) -> tuple[Any, ...]:
    values: Any = given
    made: Any = optree.tree_map(lambda leaf: change(leaf) if is_floats(leaf) else leaf, values)
    return tuple(made)


def is_floats(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind == "f" and x.ndim > 0


def leaves(tree: Any) -> list[Any]:
    return list(optree.tree_leaves(tree))
