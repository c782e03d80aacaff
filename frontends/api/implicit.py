"""Derivatives of solutions: of a root, a fixed point, a linear system, without going through the
solver.

If residual(x, *args) = 0 defines x, then dx = -(d residual/dx)^-1 (d residual/d args) d args,
whatever found x. The linear system is solved densely, so both modes and all orders work.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from weft.compiler.ir import dims
from weft.compiler.ir.dims import Size
from weft.compiler.ops.arithmetic import neg, sub
from weft.compiler.ops.linalg import solve
from weft.compiler.ops.shape import concatenate, slice_
from weft.frontends.api.control import stop_gradient
from weft.frontends.api.custom import custom_jvp
from weft.frontends.api.differentiation import jvp
from weft.frontends.api.jacobians import jacfwd
from weft.frontends.eager.anywhere import eager
from weft.frontends.tracing import core, tree
from weft.frontends.tracing.conversion import prepared

__all__ = ["fixed_point", "linear_solve", "root"]


def root(residual: Callable[..., Any], solver: Callable[..., Any]) -> Callable[..., Any]:
    """The function `solver(*args)`, which finds x with `residual(x, *args) = 0`, with derivatives
    of x.

    The residual has as many elements as x; x may be a pytree. The residual takes everything traced
    as an argument.

    >>> import numpy as np, weft as wf
    >>> def newton(a):
    ...     return wf.fori_loop(0, 20, lambda i, x: 0.5 * (x + a / x), a)
    >>> square_root = wf.implicit.root(lambda x, a: x * x - a, newton)
    >>> float(wf.grad(square_root)(4.0))
    0.25
    """

    solution = _solution(residual)

    @eager
    @functools.wraps(solver, updated=())
    def solved(*args: Any) -> Any:
        return solution(stop_gradient(prepared(solver)(*stop_gradient(args))), *args)

    return solved


def fixed_point(step: Callable[..., Any], solver: Callable[..., Any]) -> Callable[..., Any]:
    """The function `solver(*args)`, which finds x with `x = step(x, *args)`, with derivatives of x.

    >>> import numpy as np, weft as wf
    >>> step = lambda h, w: np.tanh(w * h + 0.3)
    >>> find = lambda w: wf.fori_loop(0, 200, lambda i, h: step(h, w), 0.0 * w)
    >>> round(float(wf.grad(wf.implicit.fixed_point(step, find))(0.5)), 6)
    0.599932
    """

    def residual(x: Any, *args: Any) -> Any:
        following = prepared(step)(x, *args)
        return tree.map_tree(
            lambda new, old: core.wrap(sub(core.lift(new), core.lift(old))), following, x
        )

    return root(residual, solver)


@eager
def linear_solve(matvec: Callable[..., Any], b: Any, solver: Callable[..., Any], *args: Any) -> Any:
    """x with `matvec(x, *args) = b`, found by `solver(b, *args)`, with derivatives of x."""

    def residual(x: Any, b: Any, *args: Any) -> Any:
        return tree.map_tree(
            lambda left, right: core.wrap(sub(core.lift(left), core.lift(right))),
            prepared(matvec)(x, *args),
            b,
        )

    return root(residual, solver)(b, *args)


def _solution(residual: Callable[..., Any]) -> Callable[..., Any]:
    """The identity on a solution x, with derivatives of x with respect to the other arguments."""

    @custom_jvp
    def solution(x: Any, *args: Any) -> Any:
        return x

    @solution.defjvp
    def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
        # Not the argument x, which was made constant, but the result: it depends on the others.
        x, args = solution(*primals), primals[1:]
        flat, treedef, shapes = _ravel(x)

        def of_flat(vector: Any) -> Any:
            return _ravel(prepared(residual)(_unravel(vector, treedef, shapes), *args))[0]

        def of_args(*others: Any) -> Any:
            return _ravel(prepared(residual)(x, *others))[0]

        _, change = jvp(of_args, tuple(args), _with_zeros(args, tangents[1:]))
        matrix = core.lift(jacfwd(of_flat)(flat))
        column = core.lift(change)
        size = column.type.shape[0]
        step = solve(matrix, core.reshape(column, (size, 1)))
        moved = core.wrap(neg(core.reshape(step, (size,))))
        return x, _unravel(moved, treedef, shapes)

    return solution


def _with_zeros(args: Any, tangents: Any) -> tuple[Any, ...]:
    """Tangents for all arguments: integers have None, which stands for themselves here."""
    return tuple(
        tree.map_tree(lambda x: x, arg) if tangent is None else tangent
        for arg, tangent in zip(args, tangents, strict=True)
    )


def _ravel(arrays: Any) -> tuple[Any, tree.TreeDef, list[Any]]:
    """The elements of a pytree of arrays as one vector, and how to undo it."""
    leaves, treedef = tree.flatten(arrays)
    values = core.promote(*leaves)
    shapes = [value.type.shape for value in values]
    vectors = [core.reshape(v, (dims.product(s),)) for v, s in zip(values, shapes, strict=True)]
    joined = vectors[0] if len(vectors) == 1 else concatenate(*vectors, axis=0)
    return core.wrap(joined), treedef, shapes


def _unravel(vector: Any, treedef: tree.TreeDef, shapes: list[Any]) -> Any:
    value = core.lift(vector)
    start: Size = 0
    leaves = []
    for shape in shapes:
        size = dims.product(shape)
        part = slice_(value, starts=(start,), limits=(start + size,), strides=(1,))
        leaves.append(core.wrap(core.reshape(part, shape)))
        start = start + size
    return tree.unflatten(treedef, leaves)
