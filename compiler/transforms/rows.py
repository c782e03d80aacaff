"""Sets of inputs, one per element of an array: what the analysis of sparsity propagates.

A matrix of bools with a row per element and a column per input, stored sparse. Elements are counted
in row-major order. An axis whose size is not known has one element, which stands for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.integer[Any]]
Mask = NDArray[np.bool_]


class Rows:
    """Immutable; `matrix` is a scipy.sparse.csr_array of bools that holds no explicit False."""

    __slots__ = ("matrix",)

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix

    @property
    def count(self) -> int:
        """The number of elements."""
        return int(self.matrix.shape[0])

    @property
    def n_inputs(self) -> int:
        return int(self.matrix.shape[1])

    @property
    def total(self) -> int:
        """The sizes of all sets together."""
        return int(self.matrix.nnz)

    def take(self, index: Ints) -> Rows:
        """An element for each entry of `index`, with the set of the element there; -1: no input."""
        flat = index.reshape(-1)
        if flat.size == self.count and np.array_equal(flat, np.arange(self.count)):
            return self
        inside = flat >= 0
        starts = np.concatenate([[0], np.cumsum(inside)])
        return Rows(_relation(flat[inside], starts, self.count) @ self.matrix)

    def merge(self, targets: Ints, sources: Ints, count: int) -> Rows:
        """`count` elements; each of `targets` has the inputs of the one of `sources` beside it."""
        order = np.argsort(targets, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(targets, minlength=count))])
        return Rows(_relation(sources[order], starts, self.count) @ self.matrix)

    def keep(self, mask: Mask) -> Rows:
        """The sets of the marked elements; the others have no inputs."""
        return self.take(np.where(mask.reshape(-1), np.arange(self.count), -1))

    def together(self) -> Rows:
        """One element with the inputs of all."""
        return self.merge(np.zeros(self.count, np.int64), np.arange(self.count), 1)

    def repeat(self, count: int) -> Rows:
        """`count` elements, each with the inputs of all of these."""
        return self.together().take(np.zeros(count, np.int64))

    def along(self, other: Rows) -> Rows:
        """The inputs of `other`'s elements, for elements of which these rows say on which of
        `other`'s they depend.
        """
        return Rows(self.matrix @ other.matrix)

    def turned(self) -> Rows:
        """Elements and inputs exchanged."""
        return Rows(self.matrix.T.tocsr())


def _relation(columns: Ints, starts: Ints, width: int) -> Any:
    """The matrix that has True in these columns of its rows; a column may be named twice."""
    from scipy import sparse

    shape = (starts.size - 1, width)
    return sparse.csr_array((np.ones(columns.size, np.bool_), columns, starts), shape=shape)


def inputs(first: int, count: int, n_inputs: int) -> Rows:
    """Elements that are inputs themselves, from number `first` on."""
    columns = np.arange(first, first + count)
    return Rows(_relation(columns, np.arange(count + 1), n_inputs))


def none(count: int, n_inputs: int) -> Rows:
    """Elements without inputs."""
    return Rows(_relation(np.zeros(0, np.int64), np.zeros(count + 1, np.int64), n_inputs))


def union(rows: Sequence[Rows]) -> Rows:
    """For each element the inputs that any of several sets hold for it."""
    total = rows[0].matrix
    for other in rows[1:]:
        if other.matrix is not total:
            total = total + other.matrix
    return Rows(total)


def stack(rows: Sequence[Rows]) -> Rows:
    """The elements of several, one after the other."""
    from scipy import sparse

    return Rows(sparse.vstack([item.matrix for item in rows], format="csr"))
