"""Batching: a function of one example as a function of a batch, inside of a trace."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import optree

from weft.compiler.ir.dims import Size
from weft.compiler.ir.errors import ArgumentError, ShapeError
from weft.compiler.ir.graph import Value
from weft.compiler.ir.types import ArrayType, format_shape
from weft.compiler.transforms import derive
from weft.frontends.regions.closures import FlatArguments, apply_region, close, flatten_arguments
from weft.frontends.tracing import core, tree
from weft.frontends.tracing.arguments import ArgumentLeaf, parameter_names
from weft.frontends.tracing.caller import caller_location
from weft.frontends.tracing.fixing import with_values
from weft.frontends.tracing.trace import current_trace


def batched(
    function: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    name: str | None = None,
    apply: Callable[..., Any] | None = None,
) -> Callable[..., Any]:
    """The function, called `name`, of all elements along axes of its arguments; see `api.vmap`.

    `apply` is called in place of this module's, with the same arguments.
    """
    shown = str(name or getattr(function, "__name__", type(function).__name__))
    run = apply or apply_batched

    def of_batch(*args: Any, **kwargs: Any) -> Any:
        called = functools.partial(function, **kwargs) if kwargs else function
        arguments = flatten_arguments(shown, parameter_names(function), args)
        axes = _leaf_axes(in_axes, args, shown)
        axes = [_normal(axis, leaf) for axis, leaf in zip(axes, arguments.leaves, strict=True)]
        size = _batch_size(arguments.leaves, axes, shown)
        return run(called, arguments, axes, size, out_axes)

    return of_batch


def apply_batched(
    function: Callable[..., Any],
    arguments: FlatArguments,
    axes: Sequence[int | None],
    size: Size,
    out_axes: Any,
) -> Any:
    """The results of a function of a batch, in the trace in force."""
    types = [_element(leaf.type, axis) for leaf, axis in zip(arguments.leaves, axes, strict=True)]
    whole = [v if axis is None else None for v, axis in zip(arguments.values, axes, strict=True)]
    closure = with_values(
        whole,
        lambda known: close(
            current_trace().nested(),
            function,
            arguments.treedef,
            types,
            [leaf.weak for leaf in arguments.leaves],
            [leaf.name for leaf in arguments.leaves],
            {number: whole[number] for number in known},
        ),
    )
    wanted = _leaf_axes_of_result(out_axes, closure.out_tree)
    marks = [False] * closure.n_captured + [axis is not None for axis in axes]
    batch = derive.TRANSFORMS.batch(
        closure.region, marks, size, [axis is not None for axis in wanted]
    )
    operands = [_to_front(v, axis) for v, axis in zip(arguments.values, axes, strict=True)]
    results = apply_region(batch.region, [*closure.captured, *operands])
    moved = []
    for result, has, axis in zip(results, batch.has, wanted, strict=True):
        if has and axis is None:
            raise ArgumentError(
                "vmap: out_axes says None for a result that depends on the batched arguments",
                location=caller_location(),
            )
        moved.append(result if axis is None else core.wrap(_from_front(core.lift(result), axis)))
    return tree.unflatten(closure.out_tree, moved)


def _leaf_axes(in_axes: Any, args: Sequence[Any], name: str) -> list[int | None]:
    """One axis per leaf, from a pytree prefix."""
    per_argument = in_axes if isinstance(in_axes, tuple | list) else (in_axes,) * len(args)
    if len(per_argument) != len(args):
        raise ArgumentError(
            f"vmap of {name}: in_axes has {len(per_argument)} entries for {len(args)} arguments",
            location=caller_location(),
        )
    axes: list[int | None] = []
    for prefix, argument in zip(per_argument, args, strict=True):
        axes += _broadcast_prefix(prefix, tree.flatten(argument)[1], name)
    return axes


def _leaf_axes_of_result(out_axes: Any, treedef: tree.TreeDef) -> list[int | None]:
    return _broadcast_prefix(out_axes, treedef, "the result")


def _broadcast_prefix(prefix: Any, treedef: tree.TreeDef, name: str) -> list[int | None]:
    if prefix is None or isinstance(prefix, int):
        return [prefix] * treedef.num_leaves
    example = tree.unflatten(treedef, [0] * treedef.num_leaves)
    try:
        return list(
            optree.broadcast_prefix(prefix, example, none_is_leaf=True, namespace=tree.NAMESPACE)
        )
    except ValueError as error:
        raise ArgumentError(
            f"vmap: the axes given for {name} do not match its structure: {error}",
            location=caller_location(),
        ) from None


def _normal(axis: int | None, leaf: ArgumentLeaf) -> int | None:
    if axis is None:
        return None
    rank = leaf.type.rank
    if not -rank <= axis < rank:
        raise ShapeError(
            f"vmap: axis {axis} is out of range for the argument {leaf.name} of type {leaf.type}; "
            "say None in in_axes for an argument that is not batched",
            location=caller_location(),
        )
    return axis % rank


def _batch_size(leaves: Sequence[ArgumentLeaf], axes: Sequence[int | None], name: str) -> Size:
    sizes = [
        (leaf, leaf.type.shape[axis])
        for leaf, axis in zip(leaves, axes, strict=True)
        if axis is not None
    ]
    if not sizes:
        raise ArgumentError(
            f"vmap of {name}: no argument is batched (in_axes is None for all)",
            location=caller_location(),
        )
    first, size = sizes[0]
    for leaf, other in sizes[1:]:
        if other != size:
            raise ShapeError(
                f"vmap of {name}: the batched axes differ: {first.name} of shape "
                f"{format_shape(first.type.shape)} has {size}, {leaf.name} of shape "
                f"{format_shape(leaf.type.shape)} has {other}",
                location=caller_location(),
            )
    return size


def _element(type: ArrayType, axis: int | None) -> ArrayType:
    if axis is None:
        return type
    return type.with_shape((*type.shape[:axis], *type.shape[axis + 1 :]))


def _to_front(array: Any, axis: int | None) -> Any:
    if axis in (None, 0):
        return array
    value = core.lift(array)
    order = [axis, *[a for a in range(value.type.rank) if a != axis]]
    return core.wrap(core.transpose(value, order))


def _from_front(value: Value, axis: int) -> Value:
    position = core.normalize_axis(axis, value.type.rank)
    order = list(range(1, value.type.rank))
    order.insert(position, 0)
    return core.transpose(value, order)
