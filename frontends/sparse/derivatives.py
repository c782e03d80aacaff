"""Sparse Jacobians and Hessians: the pattern from the graph, then few products by colouring.

Results are arrays of SciPy, so these run outside of `jit`; what they compute is compiled by it.
Here are the functions that users call, and how a call finds its plan; plans are in `sparse_plans`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from weft.compiler.ir.errors import ArgumentError, TraceError
from weft.compiler.ir.types import ArrayType, Shape
from weft.compiler.transforms.colouring import Colouring
from weft.frontends.api.differentiation import chosen_arguments, marked_leaves, require_whole
from weft.frontends.driver.frozen.guard import Guard
from weft.frontends.driver.frozen.watch import Watch
from weft.frontends.regions.closures import flatten_arguments
from weft.frontends.sparse.derivative_plans import DerivativePlan
from weft.frontends.tracing import tree
from weft.frontends.tracing.arguments import Call, function_name, parameter_names
from weft.frontends.tracing.caller import caller_location
from weft.frontends.tracing.trace import find_trace

CACHE_SIZE: Final = 16


def sparse_jacobian(
    function: Callable[..., Any], argnums: int | Sequence[int] = 0
) -> SparseDerivative:
    """The Jacobian as a scipy.sparse.csr_array (elements of the result, elements of the argument).

    Structures are as for `jacfwd`, with such a matrix for each pair of arrays. Which entries are
    stored follows from the graph and is the same for all numbers, so some may be zero. Integer and
    bool arguments count with their values, as indices usually shape the pattern. The function is
    traced once per kind of arguments, and again when what it reads elsewhere has changed, as by
    `jit`.

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
        self._known: tuple[Known, ...] = ()  # what was used last comes first
        self._watch = Watch(function, function_name(function), "warn")
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *args: Any) -> Any:
        values, plan = self._planned(args)
        if any(isinstance(value, ArrayType) for value in values):
            raise ArgumentError(
                f"{self._what} needs arrays; only `pattern` and `colouring` take specs",
                location=caller_location(),
            )
        return plan.derivative(values)

    def pattern(self, *args: Any) -> Any:
        """The stored entries, as csr_arrays of bools in the structure of the derivative."""
        return self._planned(args)[1].stored()

    def colouring(self, *args: Any) -> Colouring:
        """How the derivative is computed: in `n_forward` and `n_reverse` products, `total` in all,
        over the elements of all results and all arguments of `argnums` one after the other; what is
        gathered from arguments comes before these, if products by it are fewer.
        """
        return self._planned(args)[1].recipe.colouring

    @property
    def _what(self) -> str:
        return "sparse_hessian" if self.is_hessian else "sparse_jacobian"

    def _planned(self, args: Sequence[Any]) -> tuple[list[Any], DerivativePlan]:
        """The leaves of the arguments, and the plan for such, made when they are first met."""
        if find_trace() is not None:
            raise TraceError(
                f"{self._what} gives arrays of SciPy, which cannot be traced; call it outside of "
                "jit, grad and vmap, or use jacfwd, jacrev or hessian",
                location=caller_location(),
            )
        values, treedef = tree.flatten(tuple(args))
        kinds = [treedef, *map(_kind, values)]
        for number, known in enumerate(self._known):
            if known[0] == kinds and known[1].has_fixed(values):
                guard = known[2]
                if guard.verify() if number else guard.check():
                    break
        else:
            known = kinds, *self._guarded_plan(args, treedef)
        if not (self._known and known is self._known[0]):
            others = [other for other in self._known if other is not known]
            self._known = (known, *others[: CACHE_SIZE - 1])
        return values, known[1]

    def _guarded_plan(
        self, args: Sequence[Any], treedef: tree.TreeDef
    ) -> tuple[DerivativePlan, Guard]:
        """A plan, and whether what its trace found outside of the arguments is still there."""
        call, plans = Call((), (), treedef, ()), list[DerivativePlan]()
        before = self._watch.look(call)
        after = self._watch.traced(before, call, lambda: plans.append(self._plan(args)))
        return plans[0], after.guard()

    def _plan(self, args: Sequence[Any]) -> DerivativePlan:
        name = getattr(self.function, "__name__", type(self.function).__name__)
        arguments = flatten_arguments(name, parameter_names(self.function), args)
        chosen = chosen_arguments(self.argnums, len(args), self.function)
        require_whole(arguments, chosen, self.function)
        marked = marked_leaves(arguments, chosen, self.function)

        def of_arguments(items: Sequence[Any]) -> Any:
            """An item for each marked leaf, in the structure of the chosen arguments."""
            owners = [n for n, mark in zip(arguments.argument_of, marked, strict=True) if mark]
            structured = []
            for number in chosen:
                own = [item for item, owner in zip(items, owners, strict=True) if owner == number]
                structured.append(tree.unflatten(tree.flatten(args[number])[1], own))
            return structured[0] if isinstance(self.argnums, int) else tuple(structured)

        return DerivativePlan(
            self.function, arguments, marked, of_arguments, is_hessian=self.is_hessian
        )


Kind = tuple[np.dtype[Any], Shape] | type | ArrayType
Known = tuple[list[Any], DerivativePlan, Guard]


def _kind(value: Any) -> Kind:
    """What a plan depends on, of one argument: as `describe_leaf` tells them apart, but quicker,
    since every call asks. Numbers that matter beside it are compared by `Plan.has_fixed`.
    """
    if isinstance(value, np.ndarray | np.generic):
        return value.dtype, value.shape
    if isinstance(value, ArrayType):
        return (value.dtype.numpy, value.shape) if value.dtype.is_inexact else value
    return (
        (np.asarray(value).dtype, np.shape(value)) if hasattr(value, "__array__") else type(value)
    )
