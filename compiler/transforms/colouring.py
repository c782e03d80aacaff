"""Computing a sparse matrix from few products with vectors: colourings of its rows and columns.

Columns that have no row in common share a colour: one product with the sum of their unit vectors
shows all of them. A symmetric matrix needs fewer, since an entry may be read from either of its two
places. The terms and the star colouring are those of Gebremedhin, Manne and Pothen, "What color is
your Jacobian?" (SIAM Review 47, 2005).
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from weft.compiler.record import record

Ints = NDArray[np.integer[Any]]

MOST_CONFLICTS: Final = 20_000_000
"""How many pairs of items in one place are looked at to find a better order."""


@record
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
    ways = [nothing, *[lengths > cut for cut in _cuts(lengths)], every] if reverse else [nothing]
    bounds = [_least_total(pattern, in_reverse) for in_reverse in ways]
    # Of the ways with the fewest products the first one, colouring only what can be that.
    least: tuple[int, int] | None = None
    for bound, number in sorted(zip(bounds, range(len(ways)), strict=True)):
        if least is None or (bound, number) < least:
            colouring = _colour(pattern, ways[number])
            if least is None or (colouring.total, number) < least:
                least, best = (colouring.total, number), colouring
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
    their number.

    The order in which they come suits bands. Where it needs more colours than some place has items,
    another order is tried: by saturation, or fullest first where that would take too long.
    """
    n_places, n_items = shape
    places_of = _groups(items, places, n_items)
    natural = [item for item in range(n_items) if places_of[item]]
    result = _greedy(natural, places_of, n_places)
    lengths = np.bincount(places, minlength=1).astype(np.int64)
    if result[1] == lengths.max():
        return result
    if np.sum(lengths**2) <= MOST_CONFLICTS:
        other = _by_saturation(natural, places_of, _groups(places, items, n_places))
    else:
        fullest = sorted(natural, key=lambda item: -len(places_of[item]))
        other = _greedy(fullest, places_of, n_places)
    return other if other[1] < result[1] else result


def _groups(keys: Ints, values: Ints, count: int) -> list[list[int]]:
    """The values that belong to each key."""
    ordered = values[np.argsort(keys, kind="stable")].tolist()
    ends = np.cumsum(np.bincount(keys, minlength=count)).tolist()[:count]
    return [ordered[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def _greedy(
    order: Sequence[int], places_of: Sequence[Sequence[int]], n_places: int
) -> tuple[Ints, int]:
    """Each item gets the first colour that none of its places has seen; sets of colours are bits
    of an int.
    """
    seen = [0] * n_places
    bit_of = [0] * len(places_of)
    for item in order:
        taken = 0
        for place in places_of[item]:
            taken |= seen[place]
        bit = bit_of[item] = _lowest_free(taken)
        for place in places_of[item]:
            seen[place] |= bit
    return _as_colours(bit_of)


def _by_saturation(
    items: Sequence[int], places_of: Sequence[Sequence[int]], items_of: Sequence[Sequence[int]]
) -> tuple[Ints, int]:
    """Next comes always the item that has the fewest colours left (Brelaz, 1979)."""
    taken = [0] * len(places_of)
    bit_of = [0] * len(places_of)
    queue = [(0, -len(places_of[item]), item) for item in items]
    heapq.heapify(queue)
    while queue:
        saturation, _, item = heapq.heappop(queue)
        if bit_of[item] or -saturation != taken[item].bit_count():
            continue
        bit = bit_of[item] = _lowest_free(taken[item])
        for place in places_of[item]:
            for other in items_of[place]:
                if not (bit_of[other] or taken[other] & bit):
                    taken[other] |= bit
                    entry = (-taken[other].bit_count(), -len(places_of[other]), other)
                    heapq.heappush(queue, entry)
    return _as_colours(bit_of)


def _as_colours(bit_of: Sequence[int]) -> tuple[Ints, int]:
    """Colours as numbers, -1 for no bit, and how many there are."""
    colours = np.array([bit.bit_length() - 1 for bit in bit_of], np.int64)
    return colours, int(colours.max(initial=-1)) + 1


def _lowest_free(taken: int) -> int:
    """The lowest bit that is not set, as an int with that bit."""
    return ~taken & (taken + 1)


# --- symmetric matrices -------------------------------------------------------------------------


def colour_symmetric(pattern: Any, *, reverse: bool = False) -> Colouring:
    """A colouring of a symmetric pattern, for products of one mode alone: a star colouring, or one
    of the columns if that is better.

    In a star colouring neighbours differ, and no path of four has only two colours; then each entry
    (i, j) is alone in its product in row i or, as (j, i), in row j.
    """
    size = pattern.shape[0]
    row_of = np.repeat(np.arange(size), np.diff(pattern.indptr))
    column_of = pattern.indices
    is_off = row_of != column_of
    neighbours = _groups(row_of[is_off], column_of[is_off], size)
    used = np.flatnonzero(np.diff(pattern.indptr)).tolist()
    fullest = sorted(used, key=lambda vertex: -len(neighbours[vertex]))
    colourings = [_star(order, neighbours, size) for order in (used, fullest)]
    if np.diff(pattern.indptr).max(initial=0) < min(count for _, count in colourings):
        colourings.append(_colour_apart(column_of, row_of, pattern.shape))
    colours, count = min(colourings, key=lambda result: result[1])
    # Entries that share row and colour with another are read from their mirror image.
    row_and_colour = row_of.astype(np.int64) * max(count, 1) + colours[column_of]
    _, group, members = np.unique(row_and_colour, return_inverse=True, return_counts=True)
    shared = members[group] > 1
    here = colours[column_of].astype(np.int64) * size + row_of
    mirrored = colours[row_of].astype(np.int64) * size + column_of
    sources = np.where(shared, mirrored, here)
    unused = np.full(size, -1)
    if reverse:
        return Colouring(unused, colours, 0, count, sources)
    return Colouring(colours, unused, count, 0, sources)


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
    for vertex in order:
        taken = 0
        for near in neighbours[vertex]:
            taken |= bit_of[near] | closing[near] if bit_of[near] else seen[near]
        bit = bit_of[vertex] = _lowest_free(taken)
        for near in neighbours[vertex]:
            if seen[near] & bit:
                # A vertex without a colour never has two neighbours of one colour.
                closing[vertex] |= bit_of[near]
                closing[first[near][bit]] |= bit_of[near]
            else:
                first[near][bit] = vertex
            seen[near] |= bit
    return _as_colours(bit_of)
