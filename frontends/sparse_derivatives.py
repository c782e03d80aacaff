"""Sparse Jacobians and Hessians: the pattern from the graph, then few products by colouring.

Results are arrays of SciPy, so these run outside of `jit`; what they compute is compiled by it.
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from weft.compiler.ir.errors import ArgumentError, DTypeError, ShapeError, TraceError
from weft.compiler.ir.types import ArrayType
from weft.compiler.transforms.colouring import Colouring, colour_jacobian, colour_symmetric
from weft.compiler.transforms.sparsity import jacobian_pattern
from weft.frontends import tree
from weft.frontends.arguments import Leaf, parameter_names
from weft.frontends.caller import caller_location
from weft.frontends.closures import Arguments, close, flatten_arguments
from weft.frontends.compiled import jit
from weft.frontends.differentiation import (
    chosen_arguments,
    linearize,
    marked_leaves,
    require_whole,
    vjp,
)
from weft.frontends.gradients import grad
from weft.frontends.trace import find_trace
from weft.frontends.vectorize import vmap

Array = np.ndarray[Any, Any]
CACHE_SIZE: Final = 16


def sparse_jacobian(
    function: Callable[..., Any], argnums: int | Sequence[int] = 0
) -> SparseDerivative:
    """The Jacobian as a scipy.sparse.csr_array (elements of the result, elements of the argument).

    Structures are as for `jacfwd`, with such a matrix for each pair of arrays. Which entries are
    stored follows from the graph and is the same for all numbers, so some may be zero. Integer and
    bool arguments count with their values, as indices usually shape the pattern. The function is
    traced once per kind of arguments, as by `jit`.

    >>> import numpy as np, weft as wf
    >>> jacobian = wf.sparse_jacobian(lambda x: x[1:] * x[:-1] ** 2)
    >>> x = np.array([1.0, 2.0, 3.0])
    >>> jacobian(x).toarray()
    array([[ 4.,  1.,  0.],
           [ 0., 12.,  4.]])
    >>> jacobian.colouring(x).total
    2
    """
    return SparseDerivative(function, argnums, is_hessian=False)


def sparse_hessian(
    function: Callable[..., Any], argnums: int | Sequence[int] = 0
) -> SparseDerivative:
    """The second derivatives of a scalar function as a scipy.sparse.csr_array, taken to be
    symmetric; see `sparse_jacobian`.

    >>> import numpy as np, weft as wf
    >>> hessian = wf.sparse_hessian(lambda x: np.sum(x[1:] * x[:-1] ** 2))
    >>> hessian(np.array([1.0, 2.0, 3.0])).toarray()
    array([[4., 2., 0.],
           [2., 6., 4.],
           [0., 4., 0.]])
    """
    return SparseDerivative(function, argnums, is_hessian=True)


def sparsity_pattern(
    function: Callable[..., Any], argnums: int | Sequence[int] = 0
) -> Callable[..., Any]:
    """Where the Jacobian can differ from zero, as a csr_array of bools; arguments may be specs.

    >>> import weft as wf
    >>> wf.sparsity_pattern(lambda x: x[1:] * x[:-1])(wf.spec("f64[3]")).toarray()
    array([[ True,  True, False],
           [False,  True,  True]])
    """
    jacobian = sparse_jacobian(function, argnums)

    @functools.wraps(function, updated=())
    def pattern(*args: Any) -> Any:
        return jacobian.pattern(*args)

    return pattern


class SparseDerivative:
    """A function that gives the sparse Jacobian or Hessian of another one.

    `pattern` gives the entries that are stored, `colouring` says how many products they take.
    """

    def __init__(
        self, function: Callable[..., Any], argnums: int | Sequence[int], *, is_hessian: bool
    ) -> None:
        self.function = function
        self.argnums = argnums
        self.is_hessian = is_hessian
        self._cache: OrderedDict[Any, Plan] = OrderedDict()
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *args: Any) -> Any:
        arguments = self._arguments(args)
        if any(isinstance(value, ArrayType) for value in arguments.values):
            raise ArgumentError(
                f"{self._what} needs arrays; only `pattern` and `colouring` take specs",
                location=caller_location(),
            )
        plan = self._plan(arguments, len(args))
        return self._arranged(plan, plan.matrix(arguments.values), args)

    def pattern(self, *args: Any) -> Any:
        """The stored entries, as csr_arrays of bools in the structure of the derivative."""
        plan = self._plan(self._arguments(args), len(args))
        return self._arranged(plan, plan.pattern.copy(), args)

    def colouring(self, *args: Any) -> Colouring:
        """How the derivative is computed: in `n_forward` and `n_reverse` products, `total` in all,
        over the elements of all results and all arguments of `argnums` one after the other.
        """
        return self._plan(self._arguments(args), len(args)).colouring

    @property
    def _what(self) -> str:
        return "sparse_hessian" if self.is_hessian else "sparse_jacobian"

    def _arguments(self, args: Sequence[Any]) -> Arguments:
        if find_trace() is not None:
            raise TraceError(
                f"{self._what} gives arrays of SciPy, which cannot be traced; call it outside of "
                "jit, grad and vmap, or use jacfwd, jacrev or hessian",
                location=caller_location(),
            )
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return flatten_arguments(name, parameter_names(self.function), args)

    def _plan(self, arguments: Arguments, count: int) -> Plan:
        """The plan for arguments of this kind, made when it is first met."""
        key = (
            arguments.treedef,
            *[
                (
                    leaf.type,
                    leaf.weak,
                    None if _is_free(leaf, value) else np.asarray(value).tobytes(),
                )
                for leaf, value in zip(arguments.leaves, arguments.values, strict=True)
            ],
        )
        found = self._cache.get(key)
        if found is None:
            chosen = chosen_arguments(self.argnums, count, self.function)
            require_whole(arguments, chosen, self.function)
            marked = marked_leaves(arguments, chosen, self.function)
            found = Plan(self.function, arguments, marked, self.is_hessian)
            self._cache[key] = found
            if len(self._cache) > CACHE_SIZE:
                self._cache.popitem(last=False)
        self._cache.move_to_end(key)
        return found

    def _arranged(self, plan: Plan, matrix: Any, args: Sequence[Any]) -> Any:
        """The blocks of a matrix in the structure that `jacfwd` or `hessian` gives."""
        chosen = chosen_arguments(self.argnums, len(args), self.function)

        def of_arguments(items: Sequence[Any]) -> Any:
            structured = []
            for number in chosen:
                own = [item for item, n in zip(items, plan.argument_of, strict=True) if n == number]
                structured.append(tree.unflatten(tree.flatten(args[number])[1], own))
            return structured[0] if isinstance(self.argnums, int) else tuple(structured)

        rows = [of_arguments(row) for row in plan.blocks(matrix)]
        return of_arguments(rows) if self.is_hessian else tree.unflatten(plan.out_tree, rows)


def _is_free(leaf: Leaf, value: Any) -> bool:
    """Whether an argument's numbers leave the pattern as it is: floats, and what is only a spec."""
    return leaf.type.dtype.is_inexact or isinstance(value, ArrayType)


class Plan:
    """What is known for one kind of arguments: the pattern, how to compute it, and its parts.

    Rows are the elements of all results one after the other, columns those of the marked leaves.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        arguments: Arguments,
        marked: Sequence[bool],
        is_hessian: bool,
    ) -> None:
        self.is_hessian = is_hessian
        self.free = list(map(_is_free, arguments.leaves, arguments.values))
        self.marked = [mark for mark, free in zip(marked, self.free, strict=True) if free]
        self.argument_of = [n for n, m in zip(arguments.argument_of, marked, strict=True) if m]
        self.column_types = [
            x.type for x, mark in zip(arguments.leaves, marked, strict=True) if mark
        ]
        if is_hessian and any(type.dtype.is_complex for type in self.column_types):
            raise DTypeError(
                "sparse_hessian needs real arguments; split complex ones into their parts",
                location=caller_location(),
            )
        if is_hessian:
            function = grad(function, tuple(sorted(set(self.argument_of))))
        self.called = _of_free(function, arguments, self.free)
        self._analyse(arguments)
        self._run = jit(self._products)

    def _analyse(self, arguments: Arguments) -> None:
        leaves = [leaf for leaf, free in zip(arguments.leaves, self.free, strict=True) if free]
        closure = close(
            self.called,
            tree.flatten(tuple([0] * len(leaves)))[1],
            [leaf.type for leaf in leaves],
            [leaf.weak for leaf in leaves],
            [leaf.name for leaf in leaves],
        )
        self.out_tree = closure.out_tree
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

    @functools.cached_property
    def colouring(self) -> Colouring:
        """The products that show all entries."""
        if self.is_hessian:
            return colour_symmetric(self.pattern, reverse=self.needs_reverse)
        # The transpose of a derivative that mixes real and complex numbers is another matrix.
        is_real = not any(type.dtype.is_complex for type in (*self.row_types, *self.column_types))
        return colour_jacobian(self.pattern, forward=not self.needs_reverse, reverse=is_real)

    def matrix(self, values: Sequence[Any]) -> Any:
        """The derivative at these arguments, all blocks in one csr_array."""
        from scipy import sparse

        pattern, colouring = self.pattern, self.colouring
        dtype = np.result_type(np.float32, *map(_stored_dtype, self.row_types))
        found = np.zeros(0, dtype)
        if colouring.total:
            given = [value for value, free in zip(values, self.free, strict=True) if free]
            products = self._run(*given)
            found = np.concatenate([_joined(group, dtype) for group in products])
        data = found[colouring.sources]
        return sparse.csr_array(
            (data, pattern.indices.copy(), pattern.indptr.copy()), shape=pattern.shape
        )

    def blocks(self, matrix: Any) -> list[list[Any]]:
        """The parts of a matrix by result and argument, each in the dtype of its result."""
        column_ends = np.cumsum([0, *map(_size, self.column_types)])
        row_ends = np.cumsum([0, *map(_size, self.row_types)])
        rows = []
        for i, type in enumerate(self.row_types):
            band = matrix[row_ends[i] : row_ends[i + 1]] if len(self.row_types) > 1 else matrix
            if matrix.dtype.kind != "b":
                band = band.astype(_stored_dtype(type), copy=False)
            ends = zip(column_ends[:-1], column_ends[1:], strict=True)
            whole = len(self.column_types) == 1
            rows.append([band if whole else band[:, start:end] for start, end in ends])
        return rows

    def _products(self, *leaves: Any) -> tuple[list[Any], list[Any]]:
        """The forward results of each result leaf, and the reverse results of each marked one."""
        colouring = self.colouring
        own = [leaf for leaf, mark in zip(leaves, self.marked, strict=True) if mark]

        def of_marked(*chosen: Any) -> list[Any]:
            remaining = iter(chosen)
            full = [
                next(remaining) if mark else leaf
                for leaf, mark in zip(leaves, self.marked, strict=True)
            ]
            results = tree.flatten(self.called(*full))[0]
            return [
                result
                for result, type in zip(results, self.row_types, strict=True)
                if type.dtype.is_inexact
            ]

        forward: list[Any] = []
        reverse: list[Any] = []
        if colouring.n_forward:
            _, push = linearize(of_marked, *own)
            made = iter(vmap(push)(*_seeds(colouring.columns, self.column_types)))
            count = colouring.n_forward
            forward = [
                next(made) if type.dtype.is_inexact else np.zeros((count, *type.shape), np.float32)
                for type in self.row_types
            ]
        if colouring.n_reverse:
            _, pull = vjp(of_marked, *own)
            seeds = _seeds(colouring.rows, self.row_types)
            given = [
                seed for seed, t in zip(seeds, self.row_types, strict=True) if t.dtype.is_inexact
            ]
            reverse = list(vmap(lambda *cotangents: pull(list(cotangents)))(*given))
        return forward, reverse


def _of_free(
    function: Callable[..., Any], arguments: Arguments, free: Sequence[bool]
) -> Callable[..., Any]:
    """The function of the free leaves of its arguments, the others as they are now."""
    fixed = [
        None if is_free else _kept(value)
        for value, is_free in zip(arguments.values, free, strict=True)
    ]

    @functools.wraps(function, updated=())
    def called(*leaves: Any) -> Any:
        remaining = iter(leaves)
        full = [
            next(remaining) if is_free else _kept(value)
            for value, is_free in zip(fixed, free, strict=True)
        ]
        return function(*tree.unflatten(arguments.treedef, full))

    return called


def _kept(value: Any) -> Any:
    """A copy that no one else can write to; numbers stay what they are."""
    return np.array(value) if isinstance(value, np.ndarray) else value


def _size(type: ArrayType) -> int:
    return int(np.prod([size for size in type.shape if isinstance(size, int)], dtype=np.int64))


def _stored_dtype(type: ArrayType) -> np.dtype[Any]:
    """The dtype of a block: SciPy has no half precision, and zeros of integers are f32."""
    return type.dtype.numpy if type.dtype.name in ("f64", "c64", "c128") else np.dtype(np.float32)


def _seeds(colours: Array, types: Sequence[ArrayType]) -> list[Array]:
    """For each colour the sum of its unit vectors, per leaf: [number of colours, *shape]."""
    count = int(colours.max(initial=-1)) + 1
    seeds = []
    start = 0
    for type in types:
        own = colours[start : start + _size(type)]
        start += _size(type)
        matrix = np.zeros((count, own.size), type.dtype.numpy)
        used = np.flatnonzero(own >= 0)
        matrix[own[used], used] = 1
        seeds.append(matrix.reshape(count, *type.shape))
    return seeds


def _joined(leaves: Sequence[Array], dtype: np.dtype[Any]) -> Array:
    """The results of all products, flattened: each product's leaves one after the other."""
    if not leaves:
        return np.zeros(0, dtype)
    flat = [leaf.reshape(leaf.shape[0], -1).astype(dtype) for leaf in leaves]
    return np.concatenate(flat, axis=1).reshape(-1)
