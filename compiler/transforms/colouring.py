"""Computing a sparse matrix from few products with vectors: colourings of its rows and columns.

Columns that have no row in common share a colour: one product with the sum of their unit vectors
shows all of them. A symmetric matrix needs fewer, since an entry may be read from either of its two
places. The terms and the star colouring are those of Gebremedhin, Manne and Pothen, "What color is
your Jacobian?" (SIAM Review 47, 2005).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True)
class Colouring:
    """Which columns go into which forward product, which rows into which reverse one, and where the
    entries of the matrix are found in the results.

    `columns` and `rows` hold a colour each, -1 for what is in no product. `sources` says for each
    stored entry its place in the forward results [n_forward, number of rows], followed by the
    reverse results [n_reverse, number of columns], all flattened.
    """

    columns: Ints
    rows: Ints
    n_forward: int
    n_reverse: int
    sources: Ints

    @property
    def total(self) -> int:
        """The number of products."""
        return self.n_forward + self.n_reverse


def colour_jacobian(pattern: Any, *, forward: bool = True, reverse: bool = True) -> Colouring:
    """A colouring with few products in the modes that are allowed.

    Forward alone, reverse alone, or the fullest rows in reverse and the others forward: a single
    full row makes all columns conflict, but is one reverse product. `pattern` is a csr_array.
    """
    lengths = np.diff(pattern.indptr)
    every, nothing = np.ones(lengths.size, np.bool_), np.zeros(lengths.size, np.bool_)
    if not forward:
        return _colour(pattern, every)
    best = _colour(pattern, nothing)
    if not reverse:
        return best
    for in_reverse in [*[lengths > cut for cut in _cuts(lengths)], every]:
        if _least_total(pattern, in_reverse) < best.total:
            made = _colour(pattern, in_reverse)
            best = made if made.total < best.total else best
    return best


def _cuts(lengths: Ints) -> list[int]:
    """Lengths of rows above which to take them out: halves of the longest."""
    longest = int(lengths.max(initial=0))
    return [longest >> i for i in range(1, longest.bit_length())]


def _least_total(pattern: Any, in_reverse: NDArray[np.bool_]) -> int:
    """A bound from below: entries of one row need a forward product each, those of one column a
    reverse one.
    """
    lengths = np.diff(pattern.indptr)
    reverse_columns = pattern.indices[np.repeat(in_reverse, lengths)]
    longest_row = int(lengths[~in_reverse].max(initial=0))
    return longest_row + int(np.bincount(reverse_columns, minlength=1).max())


def _colour(pattern: Any, in_reverse: NDArray[np.bool_]) -> Colouring:
    """The colouring with the marked rows in reverse products."""
    n_rows, n_columns = pattern.shape
    row_of = np.repeat(np.arange(n_rows), np.diff(pattern.indptr))
    column_of = pattern.indices
    is_reverse = in_reverse[row_of]
    columns, n_forward = _colour_apart(column_of[~is_reverse], row_of[~is_reverse], pattern.shape)
    rows, n_reverse = _colour_apart(row_of[is_reverse], column_of[is_reverse], (n_columns, n_rows))
    forward_place = columns[column_of].astype(np.int64) * n_rows + row_of
    reverse_place = n_forward * n_rows + rows[row_of].astype(np.int64) * n_columns + column_of
    sources = np.where(is_reverse, reverse_place, forward_place)
    return Colouring(columns, rows, n_forward, n_reverse, sources)


def _colour_apart(items: Ints, places: Ints, shape: tuple[int, int]) -> tuple[Ints, int]:
    """Colours such that items with a place in common differ, given as pairs of item and place, and
    their number. The better of two orders: as they come, which suits bands, and fullest first.
    """
    n_places, n_items = shape
    counts = np.bincount(items, minlength=n_items)
    order = np.argsort(items, kind="stable")
    ends = np.cumsum(counts)
    places_of = [group.tolist() for group in np.split(places[order], ends[:-1] if n_items else [])]
    natural = [item for item in range(n_items) if counts[item]]
    made = _greedy(natural, places_of, n_places, n_items)
    if made[1] == np.bincount(places, minlength=1).max():
        return made
    fullest = sorted(natural, key=lambda item: -counts[item])
    other = _greedy(fullest, places_of, n_places, n_items)
    return other if other[1] < made[1] else made


def _greedy(
    order: Sequence[int], places_of: Sequence[Sequence[int]], n_places: int, n_items: int
) -> tuple[Ints, int]:
    """Each item gets the first colour that none of its places has seen; sets of colours are bits
    of an int.
    """
    seen = [0] * n_places
    colours = np.full(n_items, -1)
    count = 0
    for item in order:
        taken = 0
        for place in places_of[item]:
            taken |= seen[place]
        bit = _lowest_free(taken)
        for place in places_of[item]:
            seen[place] |= bit
        colours[item] = bit.bit_length() - 1
        count = max(count, bit.bit_length())
    return colours, count


def _lowest_free(taken: int) -> int:
    """The lowest bit that is not set, as an int with that bit."""
    return ~taken & (taken + 1)


# --- symmetric matrices -------------------------------------------------------------------------


def colour_symmetric(pattern: Any) -> Colouring:
    """A star colouring of the columns of a symmetric pattern, for forward products alone.

    Neighbours differ in colour, and so does one of any path of four from the other two colours;
    then each entry (i, j) is alone in its product in row i or, as (j, i), in row j.
    """
    size = pattern.shape[0]
    row_of = np.repeat(np.arange(size), np.diff(pattern.indptr))
    column_of = pattern.indices
    is_off = row_of != column_of
    neighbours = [
        group.tolist()
        for group in np.split(
            column_of[is_off], np.cumsum(np.bincount(row_of[is_off], minlength=size))[:-1]
        )
    ]
    used = [vertex for vertex in range(size) if pattern.indptr[vertex + 1] > pattern.indptr[vertex]]
    fullest = sorted(used, key=lambda vertex: -len(neighbours[vertex]))
    made = [_star(order, neighbours, size) for order in (used, fullest)]
    colours, count = min(made, key=lambda result: result[1])
    # Entries that share row and colour with another are read from their mirror image.
    place = row_of.astype(np.int64) * max(count, 1) + colours[column_of]
    _, group, members = np.unique(place, return_inverse=True, return_counts=True)
    shared = members[group] > 1
    here = colours[column_of].astype(np.int64) * size + row_of
    mirrored = colours[row_of].astype(np.int64) * size + column_of
    sources = np.where(shared, mirrored, here)
    return Colouring(colours, np.full(size, -1), count, 0, sources)


def _star(order: Sequence[int], neighbours: Sequence[Sequence[int]], size: int) -> tuple[Ints, int]:
    """A greedy star colouring: each vertex gets the first colour that is not forbidden.

    Forbidden are the colours of neighbours; of all neighbours of a neighbour w without a colour;
    and of each neighbour of w that has another neighbour in the colour of w, which would complete a
    path of four in two colours. The last are kept in `closing[w]`, renewed as colours are given.
    """
    bit_of = [0] * size
    seen = [0] * size
    first: list[dict[int, int]] = [{} for _ in range(size)]
    closing = [0] * size
    count = 0
    for vertex in order:
        taken = 0
        for near in neighbours[vertex]:
            taken |= bit_of[near] | closing[near] if bit_of[near] else seen[near]
        bit = bit_of[vertex] = _lowest_free(taken)
        count = max(count, bit.bit_length())
        for near in neighbours[vertex]:
            if seen[near] & bit:
                # A vertex without a colour never has two neighbours of one colour.
                closing[vertex] |= bit_of[near]
                closing[first[near][bit]] |= bit_of[near]
            else:
                first[near][bit] = vertex
            seen[near] |= bit
    return np.array([bit.bit_length() - 1 for bit in bit_of], np.int64), count
