"""Arguments of random programs, as expressions: what a test file shows is what was run.

`numbers` draws values that are few and mostly dyadic, so that integers, comparisons and ties are
exact; layouts are written as views of larger arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
FLOATS = ("f8", "f4", "f8", "f4", "f2")
INTS = ("i8", "i4", "i8", "i4", "u1", "i2", "u4", "i1", "u2", "u8")
COMPLEX = ("c16", "c8")
DTYPES = (*FLOATS * 3, *INTS, *COMPLEX * 2, "?", "?", "?")
SPECIAL = (np.inf, -np.inf, np.nan, -0.0, 0.0)


def numbers(dtype: str, shape: Sequence[int], seed: int, special: bool = False) -> Array:
    """Small numbers of a dtype: whole ones, sixteenths or all digits, by the seed."""
    random = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    if kind == "b":
        return random.random(shape) < 0.5
    if kind in "iu":
        return random.integers(0 if kind == "u" else -9, 10, shape).astype(dtype)
    if kind == "c":
        parts = [_floats(random, shape, seed) for _ in range(2)]
        return (parts[0] + 1j * parts[1]).astype(dtype)
    values = _floats(random, shape, seed)
    if special:
        values = np.where(random.random(shape) < 0.15, random.choice(SPECIAL, shape), values)
    return np.asarray(values).astype(dtype)


def _floats(random: np.random.Generator, shape: Sequence[int], seed: int) -> Array:
    if seed % 3 == 0:
        return random.integers(-5, 6, shape).astype("f8")
    if seed % 3 == 1:
        return random.integers(-64, 65, shape) / 16
    return np.asarray(random.normal(0, 1.5, shape))


def drawn(
    random: Random, dtype: str, shape: Sequence[int], special: bool = False, generic: bool = False
) -> str:
    """The text of an array of a dtype and shape that lies in memory in some way."""
    sizes, suffix = list(shape), ""
    flag = ", special=True" if special else ""
    seed = random.randrange(10**6)
    if generic:  # all digits, so that there are no ties
        seed = seed // 3 * 3 + 2
    kind = random.choice(
        ("plain", "plain", "plain", "transposed", "reversed", "strided", "offset", "broadcast")
    )
    if generic and kind == "broadcast":
        kind = "plain"  # it repeats elements
    if sizes and kind != "plain":
        axis = random.randrange(len(sizes))
        colons = ":, " * axis
        if kind == "transposed":
            sizes, suffix = sizes[::-1], ".T"
        elif kind == "reversed":
            suffix = f"[{colons}::-1]"
        elif kind == "strided":
            sizes[axis] *= 2
            suffix = f"[{colons}::2]"
        elif kind == "offset":
            sizes[axis] += 2
            suffix = f"[{colons}1:-1]"
        elif sizes[axis] > 0:
            sizes[axis] = 1
            return (
                f"np.broadcast_to(numbers({dtype!r}, {tuple(sizes)}, {seed}{flag}), {tuple(shape)})"
            )
    return f"numbers({dtype!r}, {tuple(sizes)}, {seed}{flag}){suffix}"


def sparse(format: str, rows: int, columns: int, seed: int, dtype: str = "f8") -> Any:
    """A sparse array of some small numbers, each position stored once."""
    import scipy.sparse

    random = np.random.default_rng(seed)
    dense = np.where(
        random.random((rows, columns)) < 0.4, random.integers(1, 9, (rows, columns)), 0
    )
    return getattr(scipy.sparse, f"{format}_array")(dense.astype(dtype))
