"""How the entries of a sparse derivative are computed: products of a region, and where in these the
entries are. Recipes are run while a program is traced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from weft.compiler.ir.graph import Region
from weft.compiler.ir.types import ArrayType
from weft.compiler.transforms.colouring import Colouring
from weft.compiler.transforms.selection import Selection
from weft.frontends.api.differentiation import linearize, vjp
from weft.frontends.api.vmap import vmap
from weft.frontends.regions.closures import apply_region

Array = np.ndarray[Any, Any]
MOST_WRITTEN_OUT: Final = 4
"""How many products are in the program one by one: kernels without an axis for them are faster, but
each adds its ops to what is compiled.
"""
MOST_TERMS: Final = 4
"""Of how many gathered elements that are the same parameter an entry may be the sum."""


@dataclass(frozen=True)
class Recipe:
    """Products of a region with the vectors of a colouring of its pattern.

    Rows are the elements of its results, columns those of its marked parameters. `gathered` makes
    its first parameters of the arguments; the others are the arguments. `terms` says of each entry
    that is asked for the entries of this pattern whose sum it is, one for each line of the array,
    -1 for none; None means that the patterns are the same.
    """

    region: Region
    marked: Sequence[bool]
    pattern: Any
    colouring: Colouring
    gathered: Region | None = None
    terms: Array | None = None

    @property
    def row_types(self) -> Sequence[ArrayType]:
        return self.region.result_types

    @property
    def column_types(self) -> Sequence[ArrayType]:
        types = self.region.parameter_types
        return [type for type, mark in zip(types, self.marked, strict=True) if mark]

    def picker(self, arguments: Sequence[Any]) -> Callable[[Array], Any]:
        """A function that gives entries by their numbers, at these arguments."""
        products = [made.reshape(-1) for made in self._products(arguments)]
        owner, place = self._sources()

        def pick(numbers: Array) -> Any:
            """One gather from the parts of products that have the entries, joined if several."""
            wanted = numbers >= 0
            owners, found = owner[numbers[wanted]], place[numbers[wanted]]
            places = np.empty(numbers.size, np.int64)
            parts: list[Any] = []
            total = 0
            for group in np.unique(owners):
                inside = found[owners == group]
                # What no entry is read from need not be computed.
                low, high = int(inside.min()), int(inside.max()) + 1
                places[np.flatnonzero(wanted)[owners == group]] = inside - low + total
                parts.append(products[group][low:high])
                total += high - low
            if not np.all(wanted):
                parts.append(np.zeros(1, np.float32))
                places[~wanted] = total
            joined = parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else None
            return np.zeros(0, np.float32) if joined is None else joined[_narrow(places)]

        def picked(numbers: Array) -> Any:
            if self.terms is None:
                return pick(numbers)
            return sum(
                [pick(line[numbers]) for line in self.terms[1:]], pick(self.terms[0][numbers])
            )

        return picked

    def _sources(self) -> tuple[Array, Array]:
        """For each entry of the pattern the product that shows it, as `_products` gives them one
        after the other, and its place among the elements of this product.
        """
        colouring = self.colouring
        n_rows, n_columns = self.pattern.shape
        n_forward = colouring.n_forward * n_rows
        is_reverse = colouring.sources >= n_forward
        local = colouring.sources - np.where(is_reverse, n_forward, 0)
        colour, position = np.divmod(local, np.maximum(np.where(is_reverse, n_columns, n_rows), 1))
        forward = _located(position, colour, self.row_types)
        reverse = _located(position, colour, self.column_types)
        owner = np.where(is_reverse, reverse[0] + len(self.row_types), forward[0])
        return owner, np.where(is_reverse, reverse[1], forward[1])

    def _products(self, arguments: Sequence[Any]) -> list[Any]:
        """The forward results of each result, then the reverse results of each marked parameter."""
        colouring, types = self.colouring, self.row_types
        called, own = self._of_marked(arguments)
        nothing = np.zeros(0, np.float32)
        products: list[Any] = [nothing] * len(types)
        if colouring.n_forward:
            _, push = linearize(called, *own)
            made = iter(_each(push, _seeds(colouring.columns, self.column_types)))
            products = [next(made) if type.dtype.is_inexact else nothing for type in types]
        if colouring.n_reverse:
            _, pull = vjp(called, *own)
            seeds = zip(_seeds(colouring.rows, types), types, strict=True)
            given = [seed for seed, type in seeds if type.dtype.is_inexact]
            products += _each(lambda *cotangents: pull(list(cotangents)), given)
        return products

    def _of_marked(self, arguments: Sequence[Any]) -> tuple[Callable[..., list[Any]], list[Any]]:
        """The inexact results of the region as a function of its marked parameters, and these."""
        first = [] if self.gathered is None else apply_region(self.gathered, arguments)
        operands = [*first, *arguments]

        def called(*chosen: Any) -> list[Any]:
            remaining = iter(chosen)
            given = [
                next(remaining) if mark else operand
                for operand, mark in zip(operands, self.marked, strict=True)
            ]
            results = zip(apply_region(self.region, given), self.row_types, strict=True)
            return [result for result, type in results if type.dtype.is_inexact]

        return called, [x for x, mark in zip(operands, self.marked, strict=True) if mark]


def _each(product: Callable[..., Sequence[Any]], seeds: Sequence[Array]) -> list[Any]:
    """The products with all seeds, along a first axis."""
    count = len(seeds[0])
    if count > MOST_WRITTEN_OUT:
        return list(vmap(product)(*seeds))
    made = [product(*[seed[colour] for seed in seeds]) for colour in range(count)]
    return [np.stack(results) for results in zip(*made, strict=True)]


def after_gathers(
    split: Selection, marked: Sequence[bool], pattern: Any, colouring: Colouring, wanted: Any
) -> Recipe | None:
    """The recipe for what comes after gathers, whose columns are what was gathered and then the
    parameters; None if entries of the pattern that is wanted would be sums of many.
    """
    count = len(split.sources)
    types = split.rest.parameter_types[count:]
    sizes = [_size(type) if mark else 0 for type, mark in zip(types, marked[count:], strict=True)]
    starts = np.cumsum([0, *sizes])
    columns = [starts[number] + elements for number, elements in split.sources]
    column_of = np.concatenate([*columns, np.arange(starts[-1])])
    place = _rows_of(pattern) * wanted.shape[1] + column_of[pattern.indices]
    known = _rows_of(wanted) * wanted.shape[1] + wanted.indices
    if not known.size:
        return None
    entry = np.minimum(np.searchsorted(known, place), known.size - 1)
    order = np.argsort(entry, kind="stable")
    counts = np.bincount(entry, minlength=known.size)
    if not np.array_equal(known[entry], place) or counts.max() > MOST_TERMS:
        return None
    line = np.arange(order.size) - np.repeat(np.cumsum(counts) - counts, counts)
    terms = np.full((counts.max(), known.size), -1, np.int64)
    terms[line, entry[order]] = order
    return Recipe(split.rest, marked, pattern, colouring, split.gathered, terms)


def ranges(types: Sequence[ArrayType]) -> list[slice]:
    """Where the elements of each leaf are among those of all."""
    ends = np.cumsum([0, *map(_size, types)]).tolist()
    return list(map(slice, ends[:-1], ends[1:]))


def _rows_of(pattern: Any) -> Array:
    return np.repeat(np.arange(pattern.shape[0], dtype=np.int64), np.diff(pattern.indptr))


def _size(type: ArrayType) -> int:
    return int(np.prod([size for size in type.shape if isinstance(size, int)], dtype=np.int64))


def _narrow(places: Array) -> Array:
    return places.astype(np.int32) if places.max(initial=0) < 1 << 31 else places


def _located(position: Array, colour: Array, types: Sequence[ArrayType]) -> tuple[Array, Array]:
    """The leaf of each position among the elements of all leaves, and the place in that leaf's
    products [number of colours, *shape].
    """
    sizes = np.array([_size(type) for type in types] or [0])
    ends = np.cumsum(sizes)
    leaf = np.minimum(np.searchsorted(ends, position, side="right"), len(sizes) - 1)
    return leaf, colour * sizes[leaf] + position - (ends - sizes)[leaf]


def _seeds(colours: Array, types: Sequence[ArrayType]) -> list[Array]:
    """For each colour the sum of its unit vectors, per leaf: [number of colours, *shape]."""
    count = int(colours.max(initial=-1)) + 1
    seeds = []
    for type, own in zip(types, (colours[range] for range in ranges(types)), strict=True):
        matrix = np.zeros((count, own.size), type.dtype.numpy)
        used = np.flatnonzero(own >= 0)
        matrix[own[used], used] = 1
        seeds.append(matrix.reshape(count, *type.shape))
    return seeds
