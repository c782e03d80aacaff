"""Full derivatives: Jacobians by columns or rows, Hessians, and Hessian-vector products."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from weft.compiler.ir import dims
from weft.compiler.ir.dims import Dim
from weft.compiler.ir.errors import ShapeError
from weft.compiler.ir.types import ArrayType
from weft.frontends.api.differentiation import (
    chosen_arguments,
    jvp,
    linearize,
    marked_leaves,
    require_whole,
    vjp,
    zeros_of,
)
from weft.frontends.api.gradients import grad
from weft.frontends.api.vmap import vmap
from weft.frontends.eager.anywhere import eager
from weft.frontends.numpy.functions.diagonals import eye
from weft.frontends.regions.closures import flatten_arguments
from weft.frontends.tracing import core, tree
from weft.frontends.tracing.arguments import describe_leaf, parameter_names
from weft.frontends.tracing.caller import caller_location
from weft.frontends.tracing.conversion import prepared


def jacfwd(function: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """The Jacobian by forward mode, one pass per input element; best for few inputs.

    The result has the structure of the function's result, each leaf replaced by the structure of
    the argument with arrays of shape (result shape, argument shape).

    >>> import numpy as np, weft as wf
    >>> wf.jacfwd(lambda x: x**2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """

    @functools.wraps(function, updated=())
    def jacobian_of(*args: Any) -> Any:
        return _jacfwd(function, argnums, *args)

    return jacobian_of


@eager
def _jacfwd(function: Callable[..., Any], argnums: int | Sequence[int], *args: Any) -> Any:
    called, chosen, put = _select(function, argnums, args)
    value, push = linearize(called, *chosen)
    out_tree = tree.flatten(value)[1]
    leaves, treedef = tree.flatten(tuple(chosen))
    types = [describe_leaf(f"argument {i}", leaf, "jacfwd").type for i, leaf in enumerate(leaves)]
    columns: list[list[Any]] = []
    for number, type in enumerate(types):

        def along(direction: Any, number: int = number) -> Any:
            tangents = [direction if i == number else zeros_of(t) for i, t in enumerate(types)]
            return tree.flatten(push(*tree.unflatten(treedef, tangents)))[0]

        columns.append([_fold_last(leaf, type) for leaf in vmap(along, out_axes=-1)(_basis(type))])
    per_result = list(zip(*columns, strict=True))
    made = [put(tree.unflatten(treedef, list(row))) for row in per_result]
    return tree.unflatten(out_tree, made)


def jacrev(function: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """The Jacobian by reverse mode, one pass per result element; best for few results. See
    `jacfwd`.
    """

    @functools.wraps(function, updated=())
    def jacobian_of(*args: Any) -> Any:
        return _jacrev(function, argnums, *args)

    return jacobian_of


@eager
def _jacrev(function: Callable[..., Any], argnums: int | Sequence[int], *args: Any) -> Any:
    called, chosen, put = _select(function, argnums, args)
    value, pull = vjp(called, *chosen)
    leaves, out_tree = tree.flatten(value)
    types = [leaf.type for leaf in leaves]
    made = []
    for number, type in enumerate(types):

        def along(direction: Any, number: int = number) -> Any:
            cotangents = [direction if i == number else zeros_of(t) for i, t in enumerate(types)]
            return pull(tree.unflatten(out_tree, cotangents))

        rows = vmap(along)(_basis(type))
        made.append(put(tree.map_tree(lambda row, type=type: _fold_first(row, type), rows)))
    return tree.unflatten(out_tree, made)


jacobian = jacrev


def hessian(function: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """The second derivatives of a scalar function: forward mode over reverse mode.

    >>> import numpy as np, weft as wf
    >>> wf.hessian(lambda x: x[0] ** 2 + 5 * x[0] * x[1])(np.array([2.0, 3.0]))
    array([[2., 5.],
           [5., 0.]])
    """
    return jacfwd(grad(function, argnums), argnums)


def hvp(function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """The Hessian of a scalar function times a vector, for the cost of a few gradients.

    >>> import numpy as np, weft as wf
    >>> wf.hvp(lambda x: np.sum(x**3), (np.array([1.0, 2.0]),), (np.array([1.0, 0.0]),))
    array([6., 0.])
    """
    numbers: int | tuple[int, ...] = 0 if len(primals) == 1 else tuple(range(len(primals)))
    return jvp(grad(function, numbers), primals, tangents)[1]


def _select(
    function: Callable[..., Any], argnums: int | Sequence[int], args: Sequence[Any]
) -> tuple[Callable[..., Any], list[Any], Callable[[Any], Any]]:
    """The function of the chosen arguments alone, those arguments, and how their derivatives are
    returned.
    """
    name = getattr(function, "__name__", "function")
    arguments = flatten_arguments(name, parameter_names(function), args)
    numbers = chosen_arguments(argnums, len(args), function)
    require_whole(arguments, numbers, function)
    marked_leaves(arguments, numbers, function)

    def called(*chosen: Any) -> Any:
        full = list(args)
        for number, value in zip(numbers, chosen, strict=True):
            full[number] = value
        return prepared(function)(*full)

    called.__name__ = name
    single = isinstance(argnums, int)
    return called, [args[n] for n in numbers], lambda made: made[0] if single else made


def _basis(type: ArrayType) -> Any:
    """The unit vectors of a type, along a first axis."""
    size = dims.product(type.shape)
    if isinstance(size, Dim):
        raise ShapeError(
            f"a Jacobian of {type} needs its number of elements, which is only known at run time",
            location=caller_location(),
        )
    unit = eye(size, dtype=type.dtype.numpy)
    return core.wrap(core.reshape(core.lift(unit), (size, *type.shape)))


def _fold_first(rows: Any, type: ArrayType) -> Any:
    value = core.lift(rows)
    return core.wrap(core.reshape(value, (*type.shape, *value.type.shape[1:])))


def _fold_last(columns: Any, type: ArrayType) -> Any:
    value = core.lift(columns)
    return core.wrap(core.reshape(value, (*value.type.shape[:-1], *type.shape)))
