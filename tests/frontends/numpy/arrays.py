"""Draws the arguments of NumPy's functions: arrays of all dtypes and layouts, axes, numbers.

Dtype, shape and layout are drawn by hypothesis, which makes them small when a test fails; the
elements come from a seeded generator, because drawing each of them would take most of the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
from hypothesis import strategies as st

from tests.frontends.numpy.checking import Known, Weak

Array = np.ndarray[Any, Any]
T = TypeVar("T")

BOOL = ("bool",)
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGER = (*SIGNED, *UNSIGNED)
FLOAT = ("float16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
REAL = (*INTEGER, *FLOAT)
INEXACT = (*FLOAT, *COMPLEX)
NUMBER = (*REAL, *COMPLEX)
ALL = (*BOOL, *NUMBER)
# What numpy.linalg computes in.
LINEAR = ("float32", "float64", "complex64", "complex128", "int32")
WITHOUT_COMPLEX = (*BOOL, *REAL)

SPECIAL = (np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, -1.0, 0.5)
LAYOUTS = ("C", "F", "reversed", "strided")


class Draw(Protocol):
    """What hypothesis passes to a function that draws."""

    def __call__(self, strategy: st.SearchStrategy[T], /) -> T: ...


# --- arrays ---------------------------------------------------------------------------------------


def shape(
    draw: Draw, least_rank: int = 0, most_rank: int = 3, least: int = 0, most: int = 3
) -> tuple[int, ...]:
    """A shape; sizes of 0 are rarer than others."""
    sizes = st.sampled_from([s for s in (2, 3, 1, 2, 3, 1, 0, 4, 5, 6) if least <= s <= most])
    return tuple(draw(st.lists(sizes, min_size=least_rank, max_size=most_rank)))


def array(
    draw: Draw,
    dtypes: Sequence[str] = ALL,
    of: Sequence[int] | None = None,
    *,
    values: str = "any",
    **sizes: int,
) -> Array:
    """An array of one of the dtypes, of a given shape or of a drawn one (see `shape`).

    `values` is "any" (NaN, infinities, the largest integers), "finite" (moderate numbers), "small"
    (few different numbers near 0), "positive" or "unit" (between 1/2 and 2).
    """
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    target = shape(draw, **sizes) if of is None else tuple(of)
    generator = np.random.default_rng(draw(st.integers(0, 999)))
    return laid_out(draw, elements(generator, dtype, target, values))


def elements(
    generator: np.random.Generator, dtype: np.dtype[Any], target: tuple[int, ...], values: str
) -> Array:
    """Elements of one kind, as `array` describes them."""
    return np.asarray(_elements(generator, dtype, target, values))


def _elements(
    generator: np.random.Generator, dtype: np.dtype[Any], target: tuple[int, ...], values: str
) -> Any:
    if dtype.kind == "b":
        return generator.integers(0, 2, target) == 1
    if dtype.kind in "iu":
        return _integers(generator, dtype, target, values)
    if dtype.kind == "c":
        # What infinities give in complex arithmetic is not agreed upon, within NumPy neither.
        kind = "finite" if values == "any" else values
        real, imaginary = (_floats(generator, target, kind) for _ in range(2))
        return (real + 1j * imaginary).astype(dtype)
    return _floats(generator, target, values).astype(dtype)


def _integers(
    generator: np.random.Generator, dtype: np.dtype[Any], target: tuple[int, ...], values: str
) -> Array:
    limits = np.iinfo(dtype)
    if values in ("positive", "unit"):
        return generator.integers(1, 3 if values == "unit" else 8, target).astype(dtype)
    reach = 2 if values == "small" else 7
    moderate = generator.integers(max(limits.min, -reach), reach + 1, target).astype(dtype)
    if values != "any":
        return moderate
    edges = np.array([limits.min, limits.max, 0, 1], dtype)
    return np.where(generator.random(target) < 0.25, generator.choice(edges, target), moderate)


def _floats(generator: np.random.Generator, target: tuple[int, ...], values: str) -> Array:
    """Multiples of 1/8, which half precision holds; in one array of three some special numbers."""
    if values == "unit":
        return np.exp2(generator.integers(-8, 9, target) / 8).round(3)
    if values == "positive":
        return generator.integers(1, 64, target) / 8
    if values == "small":
        return generator.integers(-4, 5, target) / 2
    moderate = generator.integers(-64, 65, target) / 8
    if values != "any" or generator.random() < 0.6:
        return moderate
    return np.where(generator.random(target) < 0.3, generator.choice(SPECIAL, target), moderate)


def laid_out(draw: Draw, made: Array) -> Array:
    """The same elements in another order in memory."""
    layout = draw(st.sampled_from(LAYOUTS)) if made.ndim else "C"
    backwards = (slice(None, None, -1),) * made.ndim
    if layout == "reversed":
        return made[backwards].copy()[backwards]
    if layout == "strided":
        return np.repeat(made, 2, axis=-1)[..., ::2]
    return made.copy(order="F" if layout == "F" else "C")


def like(draw: Draw, other: Array, dtypes: Sequence[str] = ALL, values: str = "any") -> Array:
    """An array of a shape that broadcasts with that of another."""
    return array(draw, dtypes, broadcastable(draw, other.shape), values=values)


def broadcastable(draw: Draw, other: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that broadcasts to another: leading axes left out, some sizes 1."""
    kept = other[draw(st.integers(0, len(other))) :]
    return tuple(draw(st.sampled_from([size, size, 1])) for size in kept)


def operand(
    draw: Draw,
    dtypes: Sequence[str] = ALL,
    of: Sequence[int] | None = None,
    *,
    values: str = "any",
    scalars: Sequence[Any] = (2, -1, 0, 1.5, -0.25),
    **sizes: int,
) -> Any:
    """An array, known or traced, or a number: of Python, known or traced, or of NumPy."""
    kind = draw(st.sampled_from(("array",) * 4 + ("known", "python", "weak", "generic")))
    if kind == "python":
        return draw(st.sampled_from(scalars))
    if kind == "weak":
        return Weak(draw(st.sampled_from(scalars)))
    if kind == "generic":
        return array(draw, dtypes, (), values=values)[()]
    made = array(draw, dtypes, of, values=values, **sizes)
    return Known(made) if kind == "known" else made


def plain(given: Any) -> Any:
    """What NumPy sees of an argument."""
    if isinstance(given, Known):
        return given.array
    return given.number if isinstance(given, Weak) else given


# --- other arguments ------------------------------------------------------------------------------


def choice(draw: Draw, *items: T) -> T:
    """One of the items."""
    return draw(st.sampled_from(items))


def integer(draw: Draw, least: int, most: int) -> int:
    """An integer between two, inclusive."""
    return draw(st.integers(least, most))


def chance(draw: Draw) -> bool:
    """True or False."""
    return draw(st.booleans())


def an_axis(draw: Draw, rank: int) -> int:
    """An axis, counted from the start or the end; once in a while one that there is not."""
    if rank == 0 or draw(st.integers(0, 30)) == 30:
        return draw(st.sampled_from((0, -1, rank, -rank - 1)))
    return draw(st.integers(-rank, rank - 1))


def axes(draw: Draw, rank: int) -> int | tuple[int, ...] | None:
    """All axes (None), one axis, or several."""
    kind = draw(st.sampled_from(("one", "none", "several")))
    if kind == "none":
        return None
    return an_axis(draw, rank) if kind == "one" else distinct_axes(draw, rank)


def distinct_axes(draw: Draw, rank: int, least: int = 0) -> tuple[int, ...]:
    """Some of the axes in any order."""
    order = draw(st.permutations(range(rank)))
    chosen = order[: draw(st.integers(min(least, rank), rank))]
    return tuple(a - rank if draw(st.booleans()) else a for a in chosen)


def options(draw: Draw, **strategies: st.SearchStrategy[Any]) -> dict[str, Any]:
    """Some of the keyword arguments."""
    return {name: draw(item) for name, item in strategies.items() if draw(st.booleans())}


keepdims = st.booleans()
"""For `options(draw, keepdims=keepdims)`."""


def a_dtype(dtypes: Sequence[str] = ALL) -> st.SearchStrategy[Any]:
    """A dtype by its name, as a type, or as NumPy's object."""
    return st.sampled_from([form(d) for d in dtypes for form in (str, np.dtype, _type_of)])


def _type_of(name: str) -> Any:
    return np.dtype(name).type
