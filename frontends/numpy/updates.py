"""Functional updates of traced arrays: `x.at[i].set(v)`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from weft.compiler.ir.errors import BoundsError
from weft.frontends.numpy.functions import indexing
from weft.frontends.numpy.functions.ufuncs import apply_ufunc
from weft.frontends.numpy.keys import with_known
from weft.frontends.tracing.trace import ArrayLike, current_trace, located

if TYPE_CHECKING:
    from weft.frontends.numpy.array import TracedArray

# What is said of indices; that they are inside only the compiler can know.
MODES: Final = ("raise", "clip", "fill")


class TracedUpdates:
    """`x.at`: index it, then choose what happens to the elements; the result is a new array."""

    __slots__ = ("_array", "_key")

    def __init__(self, array: TracedArray, key: Any = None) -> None:
        self._array = array
        self._key = key

    def __getitem__(self, key: Any) -> TracedUpdates:
        return TracedUpdates(self._array, with_known(key))

    def _apply(self, kind: str, new: ArrayLike, mode: str) -> Any:
        if mode not in MODES:
            raise BoundsError(f"mode is one of {', '.join(MODES)}, got {mode!r}")
        return current_trace().wrap(
            located(indexing.update, self._array, self._key, new, kind, mode)
        )

    def set(self, new: ArrayLike, mode: str = "raise") -> Any:
        """The array with these elements replaced; of duplicates the last wins."""
        return self._apply("set", new, mode)

    def add(self, new: ArrayLike, mode: str = "raise") -> Any:
        """The array with `new` added to these elements, as often as an index repeats."""
        return self._apply("add", new, mode)

    def subtract(self, new: ArrayLike, mode: str = "raise") -> Any:
        """The array with `new` subtracted from these elements."""
        return self._apply("add", located(apply_ufunc, np.negative, new), mode)

    def multiply(self, new: ArrayLike, mode: str = "raise") -> Any:
        """The array with these elements multiplied."""
        return self._apply("mul", new, mode)

    def min(self, new: ArrayLike, mode: str = "raise") -> Any:
        """The array with the smaller of each element and `new`."""
        return self._apply("min", new, mode)

    def max(self, new: ArrayLike, mode: str = "raise") -> Any:
        """The array with the larger of each element and `new`."""
        return self._apply("max", new, mode)

    def get(self) -> Any:
        """The elements themselves."""
        return self._array[self._key]
