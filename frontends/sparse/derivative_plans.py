"""Plans of sparse derivatives: what is known for one kind of arguments, and one compiled program.

The program makes the products of a colouring (`sparse_recipes`) and picks the stored entries out of
them, block by block; a call adds only the arrays of SciPy around these entries.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.compiler.ir.ambient import sealed
from weft.compiler.ir.errors import DTypeError, ShapeError
from weft.compiler.ir.types import ArrayType
from weft.compiler.transforms.colouring import Colouring, colour_jacobian, colour_symmetric
from weft.compiler.transforms.selection import split_gathers
from weft.compiler.transforms.sparsity import jacobian_pattern
from weft.frontends.api.gradients import grad
from weft.frontends.api.jit import jit
from weft.frontends.eager.anywhere import start_trace
from weft.frontends.regions.closures import FlatArguments, close
from weft.frontends.sparse.derivative_recipes import Recipe, after_gathers, ranges
from weft.frontends.tracing import tree
from weft.frontends.tracing.arguments import ArgumentLeaf
from weft.frontends.tracing.caller import caller_location
from weft.frontends.tracing.conversion import converting, prepared
from weft.frontends.tracing.trace import find_trace

Array = np.ndarray[Any, Any]
Structure = Callable[[Sequence[Any]], Any]


@dataclass(frozen=True)
class DerivativeBlock:
    """The derivative of one result by one argument: a matrix with its positions, and the number of
    each of its entries among those of the whole pattern.
    """

    template: Any
    numbers: Array
    dtype: np.dtype[Any]

    def matrix(self, data: Array) -> Any:
        """A csr_array with these entries, which shares no memory with the template: users may
        change positions in place, as `eliminate_zeros` does.

        A copy with other arrays in its public attributes, because the constructor would check
        again, in ten microseconds, positions that were checked when the template was made.
        """
        result = copy.copy(self.template)
        result.data = data
        result.indices = result.indices.copy()
        result.indptr = result.indptr.copy()
        return result


class DerivativePlan:
    """What is known for one kind of arguments: the pattern, how to compute it, and its parts.

    Rows are the elements of all results one after the other, columns those of the marked leaves.
    `of_arguments` puts an item for each marked leaf into the structure of the chosen arguments.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        arguments: FlatArguments,
        marked: Sequence[bool],
        of_arguments: Structure,
        *,
        is_hessian: bool,
    ) -> None:
        self.is_hessian = is_hessian
        self.free = list(map(_is_free, arguments.leaves, arguments.values))
        self.marked = [mark for mark, free in zip(marked, self.free, strict=True) if free]
        self.fixed = {
            number: _kept(value)
            for number, (value, free) in enumerate(zip(arguments.values, self.free, strict=True))
            if not free
        }
        self.column_types = [
            x.type for x, mark in zip(arguments.leaves, marked, strict=True) if mark
        ]
        if is_hessian and any(type.dtype.is_complex for type in self.column_types):
            raise DTypeError(
                "sparse_hessian needs real arguments; split complex ones into their parts",
                location=caller_location(),
            )
        if is_hessian:
            owners = zip(arguments.argument_of, marked, strict=True)
            function = grad(function, tuple(sorted({n for n, mark in owners if mark})))
        self.called = _of_free(function, arguments, self.fixed)
        self._analyse(arguments, of_arguments)
        self._run = jit(self._entries)

    @sealed
    def _analyse(self, arguments: FlatArguments, of_arguments: Structure) -> None:
        leaves = [leaf for leaf, free in zip(arguments.leaves, self.free, strict=True) if free]
        closure = converting(
            lambda: close(
                start_trace(find_trace()),
                self.called,
                tree.flatten(tuple([0] * len(leaves)))[1],
                [leaf.type for leaf in leaves],
                [leaf.weak for leaf in leaves],
                [leaf.name for leaf in leaves],
            )
        )
        self.region = closure.region
        self.row_types = list(closure.region.result_types)
        try:
            found = jacobian_pattern(closure.region, self.marked)
        except ShapeError as error:
            raise error.at(caller_location()) from None
        self.needs_reverse = found.needs_reverse
        self.pattern = found.matrix
        if self.is_hessian:
            # An entry that can differ from zero can do so in its mirror image.
            self.pattern = found.matrix.multiply(found.matrix.T).tocsr()
            self.pattern.sort_indices()
        self.blocks = self._blocks()
        self._arrange(closure.out_tree, of_arguments)

    def _blocks(self) -> list[DerivativeBlock]:
        """The parts of the pattern by result and argument, row by row."""
        from scipy import sparse

        whole = self.pattern
        numbers = np.arange(whole.nnz, dtype=np.int32 if whole.nnz < 1 << 31 else np.int64)
        entries = sparse.csr_array((numbers, whole.indices, whole.indptr), shape=whole.shape)
        blocks = []
        for type, rows in zip(self.row_types, ranges(self.row_types), strict=True):
            for columns in ranges(self.column_types):
                part = entries[rows, columns]
                found = part.data
                part.data = np.ones(part.nnz, np.bool_)
                part.has_canonical_format  # noqa: B018 - looks, so that no copy has to
                blocks.append(DerivativeBlock(part, found, _stored_dtype(type)))
        return blocks

    def _arrange(self, out_tree: tree.TreeDef, of_arguments: Structure) -> None:
        """Where the blocks go, so that the structure is that of `jacfwd` or `hessian`."""
        width = len(self.column_types)
        numbers = range(len(self.blocks))
        rows = [
            of_arguments(numbers[row * width : (row + 1) * width])
            for row in range(len(self.row_types))
        ]
        whole = of_arguments(rows) if self.is_hessian else tree.unflatten(out_tree, rows)
        self._order, self._structure = tree.flatten(whole)

    @functools.cached_property
    def recipe(self) -> Recipe:
        """The products that show all entries: of the region as it is, or of what comes after its
        gathers if that takes fewer.
        """
        if self.is_hessian:
            made = colour_symmetric(self.pattern, reverse=self.needs_reverse)
            return Recipe(self.region, self.marked, self.pattern, made)
        whole = Recipe(self.region, self.marked, self.pattern, self._colour(self.pattern))
        split = split_gathers(self.region, self.marked)
        if split is None or whole.colouring.total < 2:
            return whole
        marked = [True] * len(split.sources) + self.marked
        found = jacobian_pattern(split.rest, marked).matrix
        after = after_gathers(split, marked, found, self._colour(found), self.pattern)
        is_better = after is not None and after.colouring.total < whole.colouring.total
        return after if after is not None and is_better else whole

    def _colour(self, pattern: Any) -> Colouring:
        # The transpose of a derivative that mixes real and complex numbers is another matrix.
        is_real = not any(type.dtype.is_complex for type in (*self.row_types, *self.column_types))
        return colour_jacobian(pattern, forward=not self.needs_reverse, reverse=is_real)

    # --- calls ---

    def has_fixed(self, values: Sequence[Any]) -> bool:
        """Whether the arguments that shape the pattern by their numbers are those of this plan."""
        return all(np.array_equal(kept, values[number]) for number, kept in self.fixed.items())

    def derivative(self, values: Sequence[Any]) -> Any:
        """The blocks at these arguments, in their structure."""
        given = [value for value, free in zip(values, self.free, strict=True) if free]
        return self._arranged(self._run(*given))

    def stored(self) -> Any:
        """The blocks of the pattern, as bools, in their structure."""
        return self._arranged([np.ones(block.template.nnz, np.bool_) for block in self.blocks])

    def _arranged(self, entries: Sequence[Array]) -> Any:
        made = [self.blocks[number].matrix(entries[number]) for number in self._order]
        return tree.unflatten(self._structure, made)

    def _entries(self, *leaves: Any) -> list[Any]:
        """The stored entries of each block."""
        picked = self.recipe.picker(leaves)
        return [picked(block.numbers).astype(block.dtype) for block in self.blocks]


def _is_free(leaf: ArgumentLeaf, value: Any) -> bool:
    """Whether an argument's numbers leave the pattern as it is: floats, and what is only a spec."""
    return leaf.type.dtype.is_inexact or isinstance(value, ArrayType)


def _of_free(
    function: Callable[..., Any], arguments: FlatArguments, fixed: Mapping[int, Any]
) -> Callable[..., Any]:
    """The function of the free leaves of its arguments, the others as they are now."""

    @functools.wraps(function, updated=())
    def called(*leaves: Any) -> Any:
        remaining = iter(leaves)
        full = [
            _kept(fixed[number]) if number in fixed else next(remaining)
            for number in range(len(arguments.leaves))
        ]
        return prepared(function)(*tree.unflatten(arguments.treedef, full))

    return called


def _kept(value: Any) -> Any:
    """A copy that no one else can write to; numbers stay what they are."""
    return np.array(value) if isinstance(value, np.ndarray) else value


def _stored_dtype(type: ArrayType) -> np.dtype[Any]:
    """The dtype of a block: SciPy has no half precision, and zeros of integers are f32."""
    return type.dtype.numpy if type.dtype.name in ("f64", "c64", "c128") else np.dtype(np.float32)
